"""Placements simulated: throughput, queueing, replay through time, a day of replanning."""
