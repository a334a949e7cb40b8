"""Deployments over time: courses of whole deployments over known periods."""
