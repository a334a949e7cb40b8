"""Brute force for migrations."""
