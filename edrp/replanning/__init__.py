"""Placement that is watched while it runs."""

from edrp.replanning.replanner import Replanner, ReplanningDecision, ReplanningPolicy, decide

__all__ = ["Replanner", "ReplanningDecision", "ReplanningPolicy", "decide"]
