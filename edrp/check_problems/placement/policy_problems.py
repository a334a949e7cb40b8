"""Policies of deployments on which methods are checked, with their proven optima."""

from __future__ import annotations

from typing import Any

from edrp.check_problems.base import EnumeratedCheckProblems
from edrp.check_problems.placement.policy_brute_force import brute_force_policy
from edrp.datasets.families.placement.policy import elastic_levels
from edrp.datasets.families.placement.random_sequence import random_policy
from edrp.placement.policy import EdrpPolicyProblem

QUEUE = {"model": "mm1", "service_rate": 10.0}
WORK: dict[str, Any] = {"name": "work", "latency": QUEUE, "external_rate": 5.0, "max_replicas": 2, "cost": 1.0}


def two_levels(high: float = 15.0, **changes: Any) -> EdrpPolicyProblem:
    """One operator on two nodes that needs a second replica at the higher of two levels, unless that is beyond two."""
    fields: dict[str, Any] = {
        "application": {"operators": [WORK]},
        "network": {"nodes": [{"name": "a"}, {"name": "b", "resources": 1}], "between_zones": {"delay": 0.01}},
        "limits": {"response_time": 1.0, "cost": 4.0},
        "levels": [{"name": "low"}, {"name": "high", "external_rates": {"work": high}}],
        "transitions": [[0.8, 0.2], [0.5, 0.5]],
        "period": 60.0,
        "discount": 0.8,
        "level": "low",
    }
    return EdrpPolicyProblem(**{**fields, **changes})


class EdrpPolicyCheckProblems(EnumeratedCheckProblems):
    """Kind `edrp-policy`."""

    seeds = range(12)
    draw = staticmethod(random_policy)
    brute_force = staticmethod(brute_force_policy)

    def infeasible(self) -> dict[str, Any]:
        """A level that may follow is overloaded; a change that will be needed takes too long."""
        tight = [{"name": "low"}, {"name": "high", "limits": {"response_time": 0.15, "cost": 4.0, "downtime": 1.0}}]
        return {
            "overload": two_levels(25.0),
            "overload without a future": two_levels(25.0, discount=0.0),
            "downtime": two_levels(
                levels=tight, synchronisation_time=2.0, limits={"response_time": 0.25, "cost": 1.0}, current={"work": ["a"]}
            ),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one level, no future, free and expensive changes, a level that never comes, one to leave."""
        never = [{"name": "low"}, {"name": "high", "external_rates": {"work": 99.0}}]
        return {
            "one level": two_levels(levels=[{"name": "low"}], transitions=[[1.0]]),
            "no future": two_levels(discount=0.0, changes={"started_replicas": 9.0}, current={"work": ["b"]}),
            "free changes": two_levels(),
            "expensive changes": two_levels(changes={"change": 1e6}),
            "never": two_levels(levels=never, transitions=[[1.0, 0.0], [0.5, 0.5]]),
            "to be left": two_levels(level="high", changes={"started_replicas": 9.0}, current={"work": ["b", "b"]}),
        }

    def large(self) -> Any:
        """Six operators on eight nodes."""
        return elastic_levels(0, operators=6)
