"""Instances on leased hosts at one moment (cost-efficient enactment, eq. 1), exactly."""
