"""The posterior of a taste: kinds of preference (`kinds`, `smooth`), approximations, updates by answers."""
