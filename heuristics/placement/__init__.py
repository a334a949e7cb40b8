"""Searches for placements, and the baselines that users run today."""
