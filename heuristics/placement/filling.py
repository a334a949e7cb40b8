"""Replicas given out operator by operator, all replicas of one in a single step: what simple placement rules share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.heuristics.notes import listed, shortened
from edrp.heuristics.placement.start import overloaded, stable_degrees
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.metrics.base import LIMIT_SLACK
from edrp.placement.problem import PlacementProblem


@dataclass(slots=True)
class Filling:
    """Where replicas are so far, and what is left for others.

    Attributes
    ----------
    compiled
        The problem.
    counts : shape (operators, nodes)
        Replicas given out.
    free : shape (nodes, resources)
        What they leave of the nodes' resources; negative where they use more than there is.
    notes
        What could not be done, in words.
    """

    compiled: Compiled
    counts: Ints
    free: Floats
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, compiled: Compiled, counts: Ints | None = None) -> Self:
        """With these replicas, or none."""
        counts = np.zeros(compiled.candidate.shape, np.int64) if counts is None else counts
        return cls(compiled, counts, compiled.capacity - counts.T @ compiled.demand)

    def room(self, operator: int, nodes: Ints) -> Ints:
        """How many more replicas of an operator each of these nodes can take, at most all that it may have."""
        demand = self.compiled.demand[operator]
        most = int(self.compiled.max_replicas[operator])
        with np.errstate(over="ignore"):
            fitting = self.free[np.ix_(nodes, demand > 0)] / demand[demand > 0]
        fewest = np.floor(fitting + LIMIT_SLACK).min(axis=1, initial=most)
        return np.maximum(fewest, 0).astype(np.int64)

    def add(self, operator: int, nodes: Ints, shares: Ints, wanted: int) -> None:
        """Put `shares` more replicas of an operator on these nodes; note what is then missing to `wanted`."""
        self.counts[operator, nodes] += shares
        self.free[nodes] -= shares[:, None] * self.compiled.demand[operator]
        missing = wanted - int(self.counts[operator].sum())
        if missing:
            self.notes.append(f"{missing} of {wanted} replicas of {self.compiled.operators[operator]} find no node")


def filled(room: Ints, replicas: int) -> Ints:
    """How many replicas each node gets when each goes to the first node that has room.

    Examples
    --------
    >>> filled(np.array([2, 0, 3, 4]), 4).tolist()
    [2, 0, 2, 0]
    """
    return np.diff(np.minimum(np.cumsum(room), replicas), prepend=0)


def dealt(held: Ints, room: Ints, replicas: int) -> Ints:
    """How many replicas each node gets when each goes to the node that holds the fewest and has room, ties to the first.

    Parameters
    ----------
    held, room : shape (nodes,)
        Replicas that nodes hold already, and how many more they can take.
    replicas
        To be dealt; where there is not room for all, the rest is left over.

    Examples
    --------
    >>> dealt(np.array([0, 2, 0]), np.array([9, 9, 9]), 5).tolist()
    [3, 0, 2]
    >>> dealt(np.zeros(3, np.int64), np.array([1, 9, 0]), 3).tolist()
    [1, 2, 0]
    """
    if int(room.sum()) <= replicas:
        return room.copy()
    low, high = int(held.min()), int(held.max()) + replicas + 1
    while high - low > 1:  # up to `low` all can be filled, up to `high` not
        middle = (low + high) // 2
        low, high = (middle, high) if _raised(held, room, middle).sum() <= replicas else (low, middle)
    shares = _raised(held, room, low)
    next_in_line = np.flatnonzero((held <= low) & (shares < room))
    shares[next_in_line[: replicas - int(shares.sum())]] += 1
    return shares


def _raised(held: Ints, room: Ints, level: int) -> Ints:
    return np.minimum(np.maximum(level - held, 0), room)


class PlacementRule(Method):
    """A method that gives out replicas by a simple rule; it holds nothing where that breaks a limit.

    Attributes
    ----------
    parameters
        Dataclass of the method's parameters.
    """

    kinds: tuple[str, ...] = ("edrp", "latency-aware")

    def run(self, problem: PlacementProblem, options: Options) -> Answer:
        """Apply the rule once."""
        parameters = self.read_parameters(options)
        compiled = compile_problem(problem)
        if (hopeless := overloaded(compiled)) is not None:
            return hopeless
        filling = self.fill(compiled, parameters)
        notes = shortened(filling.notes)
        if not filling.counts.any(axis=1).all():
            return Answer("none", "finished", notes=notes)
        deployment = compiled.deployment(filling.counts)
        evaluation = problem.evaluate(deployment)
        if evaluation.feasible:
            return Answer("feasible", "finished", deployment, evaluation.objective, notes=notes)
        return Answer("none", "finished", notes=(*notes, f"{self.name} breaks {listed(evaluation.broken)}"))

    @abstractmethod
    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """Give out the replicas."""


def least_stable(compiled: Compiled) -> Ints:
    """Least number of replicas that each operator may have and that keeps it stable, shape (operators,)."""
    return stable_degrees(compiled).argmax(axis=1)
