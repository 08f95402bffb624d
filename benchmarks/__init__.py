"""Measurements, each beside what a user would do otherwise."""
