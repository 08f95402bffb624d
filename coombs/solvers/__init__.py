"""How to minimise: convex programs in item space, and the methods that solve them."""
