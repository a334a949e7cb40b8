"""Latency coordinates: latencies between all nodes from a few measurements."""
