"""Explanations of solutions: what decides, how far limits are, and what would be better."""
