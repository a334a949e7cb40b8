"""Experiments on local clusters of Flink; `lab` holds the jobs that they run."""
