"""Deployments over time: for known periods, and as a policy."""
