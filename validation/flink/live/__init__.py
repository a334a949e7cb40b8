"""Live migration on a local cluster of Flink: what it costs beside Flink's own ways, and what is left of tuples under kill -9."""
