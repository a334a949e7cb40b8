"""Experiments on local clusters of Flink."""
