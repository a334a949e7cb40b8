"""Brute force, check problems, audits and references that share nothing with the methods."""
