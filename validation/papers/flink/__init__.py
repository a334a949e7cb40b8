"""Advice for Apache Flink against a real cluster: predictions, control, places."""
