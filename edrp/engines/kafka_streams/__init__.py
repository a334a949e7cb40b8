"""Kafka Streams: metrics of tasks and state stores, read only."""
