"""Deployments over time: courses for known loads, and policies for random ones."""
