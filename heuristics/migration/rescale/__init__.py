"""Methods for replicas, key ranges and nodes together: a search, and what users do today."""
