"""Where operators run and with how many replicas: documents, problems, metrics and compiled arrays."""
