"""Placement, replication and reconfiguration of data-stream applications."""
