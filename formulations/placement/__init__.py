"""Deployments and latency-aware placements as programs, and the exact algorithms for them."""
