"""Placement that is watched while it runs."""

from edrp.replanning.decision import ReplanningDecision
from edrp.replanning.replanner import Replanner, ReplanningPolicy, decide

__all__ = ["Replanner", "ReplanningDecision", "ReplanningPolicy", "decide"]
