"""Spark Structured Streaming: progress of queries, read only."""
