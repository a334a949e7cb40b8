"""Live migration measured on a local cluster of Flink: against Flink's own ways, in several orders, at rest, and Fig. 15."""
