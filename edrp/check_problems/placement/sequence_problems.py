"""Sequences of deployments on which methods are checked, with their proven optima."""

from __future__ import annotations

from typing import Any

from edrp.check_problems.base import EnumeratedCheckProblems
from edrp.check_problems.placement.sequence_brute_force import brute_force_sequence
from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.datasets.families.placement.sequence import elastic_sequence
from edrp.placement.sequence import EdrpSequence


def tiny_sequence(seed: int) -> EdrpSequence:
    """A random sequence whose deployments are few."""
    return random_sequence(seed, combinations=60)


class EdrpSequenceCheckProblems(EnumeratedCheckProblems):
    """Kind `edrp-sequence`."""

    seeds = range(10)
    draw = staticmethod(tiny_sequence)
    brute_force = staticmethod(brute_force_sequence)

    def feasible(self) -> dict[str, Any]:
        """Return random problems on several nodes, and some on one, where only numbers of replicas count."""
        alone = {f"one node {seed}": random_sequence(seed, nodes=(1, 1), combinations=30) for seed in (0, 1, 2, 3)}
        return {**super().feasible(), **{label: problem for label, problem in alone.items() if self.optimum(problem) is not None}}

    def infeasible(self) -> dict[str, Any]:
        """One period is overloaded; no change keeps the limit on downtime."""
        work = {"name": "work", "latency": {"model": "mm1", "service_rate": 10.0}, "external_rate": 5.0, "max_replicas": 2}
        common: dict[str, Any] = {
            "application": {"operators": [work]},
            "network": {"nodes": [{"name": "a"}, {"name": "b"}], "between_zones": {"delay": 0.01}},
            "weights": {"response_time": 1.0},
        }
        rates = [{"duration": 60.0, "external_rates": {"work": rate}} for rate in (5.0, 25.0, 5.0)]
        slow = [{"duration": 60.0, "limits": {"response_time": limit, "downtime": 1.0}} for limit in (1.0, 0.15)]
        return {
            "overload": EdrpSequence(**common, limits={"response_time": 1.0}, periods=rates),
            "downtime": EdrpSequence(
                **common, limits={"response_time": 1.0}, periods=slow, synchronisation_time=2.0, initial={"work": ["a"]}
            ),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one period, no prices, prices above all that changes bring, an initial deployment to be left."""
        work = {"name": "work", "latency": {"model": "mm1", "service_rate": 10.0}, "external_rate": 5.0, "max_replicas": 2}
        common: dict[str, Any] = {
            "application": {"operators": [{**work, "cost": 1.0}]},
            "network": {"nodes": [{"name": "a"}, {"name": "b", "resources": 1}], "between_zones": {"delay": 0.01}},
            "limits": {"response_time": 1.0, "cost": 4.0},
        }
        rates = [{"duration": 60.0, "external_rates": {"work": rate}} for rate in (5.0, 15.0, 5.0)]
        return {
            "one period": EdrpSequence(**common, periods=rates[:1]),
            "free changes": EdrpSequence(**common, periods=rates),
            "dear changes": EdrpSequence(**common, periods=rates, changes={"change": 1e6}),
            "to be left": EdrpSequence(**common, periods=rates, changes={"started_replicas": 9.0}, initial={"work": ["b", "b"]}),
        }

    def rare(self) -> list[Any]:
        """Return more vectors of replicas than can be listed, on branches between which the bound is not tight."""
        work = {"latency": {"model": "mm1", "service_rate": 1.0}, "cost": 1.0, "max_replicas": 16}
        names = [f"o{i}" for i in range(8)]
        streams = [{"source": "o0", "target": name} for name in names[1:]]
        rates = [{"duration": 60.0, "external_rates": {"o0": rate}} for rate in (2.0, 9.0, 5.0, 3.0)]
        return [
            EdrpSequence(
                application={
                    "operators": [{**work, "name": name, "external_rate": 1.0 if name == "o0" else 0.0} for name in names],
                    "streams": streams,
                },
                network={"nodes": [{"name": "a", "resources": 100}]},
                limits={"response_time": 100.0, "cost": 200.0},
                periods=rates,
                changes={"change": 1.0, "started_replicas": 0.1},
            )
        ]

    def large(self) -> Any:
        """Six operators on eight nodes over a day."""
        return elastic_sequence(0, operators=6, nodes=8, periods=24)
