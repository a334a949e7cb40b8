"""Bounds, queueing theory and a reference simulator for enactment."""
