"""The convex programs of the paper, and how they are solved."""
