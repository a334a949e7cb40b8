"""Brute force, bounds and plain twins for placements."""
