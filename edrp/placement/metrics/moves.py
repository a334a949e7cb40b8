"""Replicas, and bytes of state, on nodes that do not hold the state of their operator today."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.core.expressions import Expression
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.own import MetricModel

NO_CURRENT = "`current` is not given, and in an initial placement nothing moves"


def state_holders(problem: Any) -> dict[str, frozenset[str]]:
    """Nodes that hold the state of each operator today: those that run it, or an operator with the same state (`state_of`).

    Examples
    --------
    >>> from edrp import EdrpProblem
    >>> operators = [{"name": "leader"}, {"name": "follower", "state_of": "leader"}]
    >>> network, now = {"nodes": [{"name": "a"}, {"name": "b"}]}, {"leader": ["a"], "follower": ["b"]}
    >>> problem = EdrpProblem(application={"operators": operators}, network=network, current=now, weights={"moves": 1})
    >>> sorted(state_holders(problem)["leader"])
    ['a', 'b']
    """
    owners = {operator.name: operator.state_of or operator.name for operator in problem.application.operators}
    held: dict[str, set[str]] = {owner: set() for owner in owners.values()}
    for name, owner in owners.items() if problem.current is not None else ():
        held[owner] |= set(problem.current[name])
    return {name: frozenset(held[owner]) for name, owner in owners.items()}


def reads_state(problem: Any) -> bool:
    """Whether a metric of a problem, other than downtime, is about state."""
    even = [f"evenness.{name}" for name, entry in getattr(problem, "evenness", {}).items() if entry.of == "state"]
    return not {Moves.name, MovedState.name, *even}.isdisjoint(problem.metrics)


class Moves:
    """Number of replicas on nodes that do not hold the state of their operator today.

    A further replica on a node that runs the operator is no move: all it needs is there. Nor is one that takes the place of a
    replica of another operator with the same state, such as a leader where a follower was.
    """

    name, unit = "moves", "1"
    weight_text = "of the replicas on nodes that do not hold the state of their operator now"
    limit_text = "maximum number of replicas on nodes that do not hold the state of their operator now"

    def evaluate(self, problem: Any, deployment: Deployment) -> float:
        """Σ over operators of what is on nodes without their state; 0 without `current`."""
        held, moved = state_holders(problem), 0.0
        for name, nodes in deployment.items() if problem.current is not None else ():
            away = sum(node not in held[name] for node in nodes)
            per_replica, whole = self._parts(problem.application.by_name[name])
            moved += per_replica * away + whole * away / len(nodes)
        return moved

    def linearise(self, model: MetricModel) -> Expression:
        """The same over replicas, and over shares of operators whose number of replicas is not fixed."""
        problem: Any = model.problem
        held, nodes = state_holders(problem), tuple(problem.network.by_name)
        away = np.array([[problem.current is not None and node not in on for node in nodes] for on in held.values()], float)
        parts = np.array([self._parts(operator) for operator in problem.application.by_name.values()])
        return model.place_sums(parts[:, :1] * away, parts[:, 1:] * away, np.zeros(len(nodes), np.int64))[0]

    def _parts(self, operator: Any) -> tuple[float, float]:
        """What counts of an operator: of each replica, and in all, of which each replica has an equal part."""
        return 1.0, 0.0

    def zero_because(self, problem: Any) -> str:
        """Nothing runs yet."""
        return NO_CURRENT if problem.current is None else ""


class MovedState(Moves):
    """Bytes of state on nodes that do not hold it today, and have to get them.

    Each replica has an equal part of the `state_size` of its operator, which is that of all replicas together. What nodes that
    keep the operator get in addition, where the number of replicas falls, is not counted.
    """

    name, unit = "moved_state", "bytes"
    weight_text = "of the state on nodes that do not hold it now"
    limit_text = "maximum of the state on nodes that do not hold it now"

    def _parts(self, operator: Any) -> tuple[float, float]:
        return 0.0, operator.state_size

    def zero_because(self, problem: Any) -> str:
        """Nothing runs yet, or there is no state."""
        stateful = any(operator.state_size for operator in problem.application.operators)
        return super().zero_because(problem) or ("" if stateful else "no operator has a state_size")
