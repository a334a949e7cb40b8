"""Problems of kind `rescale` on which methods are checked, with their proven optima."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.check_problems.base import EnumeratedCheckProblems
from edrp.check_problems.migration.rescale_brute_force import brute_force_rescale, keyed_deployments
from edrp.datasets.families.migration.rescale import random_rescale, rescaled, zipf_tasks
from edrp.datasets.families.placement.rules import with_rules
from edrp.migration.rescale.documents import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem

UNRULED = 16
"""First seed of problems with rules."""


class RescaleCheckProblems(EnumeratedCheckProblems):
    """Kind `rescale`: both latencies, both transports, free and even ranges, with and without a current deployment; rules."""

    seeds = range(25)

    @staticmethod
    def draw(seed: int) -> RescaleProblem:
        """A small problem, the last ones with rules and even smaller."""
        small: dict[str, Any] = {"keyed": (1, 1), "tasks": (3, 4), "nodes": (2, 3)}
        return random_rescale(seed) if seed < UNRULED else with_rules(random_rescale(seed, **small), seed)

    @staticmethod
    def brute_force(problem: RescaleProblem) -> float | None:
        """Least objective; with rules of the plain evaluation of every deployment."""
        if not problem.rules:
            return brute_force_rescale(problem)[0]
        evaluations = (problem.evaluate(deployment) for deployment in keyed_deployments(problem))
        return min((evaluation.objective for evaluation in evaluations if evaluation.feasible), default=None)

    def infeasible(self) -> dict[str, Any]:
        """A task that is too heavy, a split that does not work out, no room, a limit."""
        return {
            "heavy task": _work([9, 1, 1], 13.0),
            "even ranges": _work([4, 4, 1, 1], 14.0, ranges="even", most=2),
            "no room": _work([1, 1, 1], 15.0, slots=1.0, nodes=("a",)),
            "limit": _work([1, 1, 1], 15.0, limits={"response_time": 0.01}),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one task, one node, no traffic, no state, no room to spare, replicas that stay on one node."""
        equal = {"work": [1, 1, 1, 1], "state_size": [0, 0, 0, 0]}
        return {
            "one task": _work([3], 5.0),
            "no traffic": _work([1, 2, 1], 0.0),
            "no state": _work([1, 1, 1, 1], 15.0, tasks=equal),
            "no room to spare": _work([1, 1], 15.0, slots=1.0, nodes=("a", "b")),
            "one node": _work([1, 2, 1], 12.0, nodes=("a",), slots=2.0),
            "tasks without work": _work([0, 3, 0, 3], 15.0),
        }

    def large(self) -> Any:
        """Operators with 64 tasks on four nodes."""
        return rescaled(64, np.random.default_rng(3), zipf_tasks, 1.5)

    def start(self, problem: RescaleProblem) -> Any:
        """The current deployment; where there is none, one replica of each operator on the first node that may run it."""
        if problem.current is not None:
            return problem.current
        named = {}
        for operator in problem.application.operators:
            node = (operator.candidates or tuple(problem.network.by_name))[0]
            named[operator.name] = [node if operator.tasks is None else {"node": node, "tasks": (0, operator.tasks.count)}]
        return KeyedDeployment(named)


def _work(
    work: list[float],
    load: float,
    *,
    nodes: tuple[str, ...] = ("a", "b", "c"),
    slots: float = 2.0,
    most: int = 3,
    tasks: dict[str, Any] | None = None,
    limits: dict[str, float] | None = None,
    ranges: str = "free",
) -> RescaleProblem:
    """One operator that serves 10 tuples/s in each replica, all on the first node now."""
    described = tasks or {"work": work, "state_size": [1e6] * len(work)}
    operator = {
        "name": "work",
        "latency": {"model": "mm1", "service_rate": 10.0},
        "external_rate": load,
        "cost": 1.0,
        "max_replicas": most,
        "tasks": described,
    }
    return RescaleProblem(
        application={"operators": [operator]},
        network={
            "nodes": [{"name": name, "resources": slots} for name in nodes],
            "between_zones": {"delay": 0.01},
            "store": {"bandwidth": 1e6},
        },
        ranges=ranges,
        weights={"response_time": 0.5, "cost": 0.2, "moved_state": 0.3},
        limits={"response_time": 2.0, "cost": 10.0, "moved_state": 1e7, **(limits or {})},
        current={"work": [{"node": nodes[0], "tasks": (0, len(described["work"]))}]},
    )
