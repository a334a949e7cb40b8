"""The largest multiple of its load that a placement carries."""
