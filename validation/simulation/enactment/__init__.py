"""Enactment in simulation: a scenario lived through under a policy, the paper's tables and figures."""
