"""Simulators: how a run is played."""
