"""Live migration on a real cluster of Flink: against Flink's own ways to change, in several orders, at rest, and Fig. 15."""
