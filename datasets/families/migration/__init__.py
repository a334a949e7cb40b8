"""Generated migration problems."""
