"""Brute force, bounds, check problems and a SimPy reference for enactment."""
