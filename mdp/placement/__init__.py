"""Deployments over time: courses over known periods, and policies for random loads."""
