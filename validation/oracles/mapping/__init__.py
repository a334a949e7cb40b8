"""Brute force, check problems and audits for mapping and link allocation."""
