"""The manufacturing application, its arrival patterns, and real departures as its load."""
