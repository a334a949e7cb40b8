"""Generated deployment and latency-aware placement problems."""
