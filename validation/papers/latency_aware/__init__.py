"""Latency-aware placement: Tables 2 to 4, Figs. 6 to 8; coordinates, replanning, production topologies."""
