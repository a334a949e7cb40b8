"""Enactment in simulation: a scenario lived through under a policy, a reference in SimPy, the paper's tables and figures."""
