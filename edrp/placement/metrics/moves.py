"""Replicas, and bytes of state, on nodes that do not hold the state of their operator today."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.core.arrays import Floats
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
        """Σ over operators and nodes without their state of the replicas there; 0 without `current`."""
        if problem.current is None:
            return 0.0
        held = state_holders(problem)
        return float(sum(node not in held[name] for name, nodes in deployment.items() for node in nodes))

    def linearise(self, model: MetricModel) -> Expression:
        """The same over replicas."""
        return _moved(model, per_replica=1.0, whole=np.zeros(len(model.replicas)))

    def zero_because(self, problem: Any) -> str:
        """Nothing runs yet."""
        return NO_CURRENT if problem.current is None else ""


class MovedState:
    """Bytes of state on nodes that do not hold it today, and have to get them.

    Each replica has an equal part of the `state_size` of its operator, which is that of all replicas together. What nodes that
    keep the operator get in addition, where the number of replicas falls, is not counted.
    """

    name, unit = "moved_state", "bytes"
    weight_text = "of the state on nodes that do not hold it now"
    limit_text = "maximum of the state on nodes that do not hold it now"

    def evaluate(self, problem: Any, deployment: Deployment) -> float:
        """Σ over operators of state_size × the share of replicas on nodes that do not hold it; 0 without `current`."""
        if problem.current is None:
            return 0.0
        held, moved = state_holders(problem), 0.0
        for name, nodes in deployment.items():
            away = sum(node not in held[name] for node in nodes)
            moved += problem.application.by_name[name].state_size * away / len(nodes)
        return moved

    def linearise(self, model: MetricModel) -> Expression:
        """The same over replicas of operators whose number is fixed, and shares of others."""
        sizes = [operator.state_size for operator in model.problem.application.by_name.values()]  # type: ignore[attr-defined]
        return _moved(model, per_replica=0.0, whole=np.array(sizes, float))

    def zero_because(self, problem: Any) -> str:
        """Nothing runs yet, or there is no state."""
        stateful = any(operator.state_size for operator in problem.application.operators)
        return NO_CURRENT if problem.current is None else "" if stateful else "no operator has a state_size"


def _moved(model: MetricModel, per_replica: float, whole: Floats) -> Expression:
    """What is on nodes that do not hold the state of the operator: by replica, and in all of each operator."""
    problem: Any = model.problem
    held = state_holders(problem)
    nodes = tuple(problem.network.by_name)
    away = np.array([[problem.current is not None and node not in on for node in nodes] for on in held.values()], float)
    return model.place_sums(per_replica * away, whole[:, None] * away, np.zeros(len(nodes), np.int64))[0]
