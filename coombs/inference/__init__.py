"""The posterior of a taste: its kinds, its approximations, online updates."""
