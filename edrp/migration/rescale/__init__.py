"""Replicas, key ranges and nodes of all operators, decided together: documents, metrics and arrays of the kind `rescale`."""
