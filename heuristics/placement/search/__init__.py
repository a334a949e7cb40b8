"""Hill climbing, ant system, both together, and iterated local search, written once over engines."""
