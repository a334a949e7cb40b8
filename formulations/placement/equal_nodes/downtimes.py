"""Downtime of choices when an application already runs: the least over all configurations that are such a choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edrp.core.arrays import Bools, Ints
from edrp.core.problem import derived
from edrp.core.tolerances import LIMIT_SLACK
from edrp.formulations.placement.elimination.model import build_model
from edrp.formulations.placement.equal_nodes.model import OperatorChoices, Quotient, build_quotient, fitting_replicas
from edrp.formulations.placement.equal_nodes.moves import Moves, MoveTimes
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import NO_NODE, Compiled
from edrp.placement.node_classes import find_node_classes
from edrp.placement.problem import PlacementProblem


def with_downtimes(quotient: Quotient) -> Quotient:
    """The quotient with the least downtime of every choice, those beyond the limit taken away.

    Choices of one node where the operator runs now are apart, a row for each node: operators on different nodes cannot be
    brought together without a move.
    """
    rows = _Rows(quotient)
    for j in range(quotient.operators):
        rows.add_operator(j)
    choices = rows.choices()
    limit = float(quotient.model.limits[2]) * (1 + LIMIT_SLACK)
    if quotient.model.downtime == 0 and (choices.downtime <= limit).all():
        return quotient  # downtime does not count, and hardly any placement takes too long
    choices = choices.select(np.flatnonzero(choices.downtime <= limit))
    least_change = _least_change(quotient.model.compiled, choices)
    stays = np.zeros((quotient.operators, rows.owner.size), np.int64)
    return replace(quotient, choices=choices, least_downtime=least_change, longest_downtime=limit, stays=stays, moves=rows.moves)


def _least_change(compiled: Compiled, choices: OperatorChoices) -> float:
    """Least downtime of any change, in seconds.

    A choice that can be had for nothing may also be had otherwise, with some replica that starts on another node.
    """
    changes = choices.downtime[choices.downtime > 0]
    if not changes.size or not compiled.synchronisation_time:
        return 0.0
    start = compiled.synchronisation_time + 4 * compiled.store_delay.min() + compiled.spawn_time.min()
    return float(min(changes.min(), start))


class _Rows:
    """Choices with their downtimes, operator by operator."""

    def __init__(self, quotient: Quotient) -> None:
        self.quotient, self.compiled, self.owner = quotient, quotient.model.compiled, quotient.owner
        max_on_node = np.array([most_on_node(quotient, j) for j in range(quotient.operators)])
        self.moves = Moves(self.compiled, quotient.model.order, max_on_node)
        self.source: list[int] = []
        self.downtime: list[float] = []
        self.anchor: list[int] = []

    def choices(self) -> OperatorChoices:
        """Return the choices added so far, with their downtimes."""
        chosen = self.quotient.choices.select(np.array(self.source, np.int64))
        return replace(chosen, downtime=np.array(self.downtime), anchor=np.array(self.anchor, np.int64))

    def add_operator(self, j: int) -> None:
        """Add the choices of one operator."""
        choices, most = self.quotient.choices, self.moves.most[j][self.owner]
        for row in np.flatnonzero(choices.operator == j):
            replicas = int(choices.replicas[row])
            times = self.moves.times(j, replicas)
            if choices.single[row]:
                self._add_single(int(row), times, self.quotient.within(choices.classes[row]))
                continue
            running_nodes = np.flatnonzero(times.before)
            if times.before.sum() == replicas and np.bitwise_or.reduce(1 << self.owner[running_nodes]) == choices.classes[row]:
                self._add(int(row), 0.0, NO_NODE)  # the replicas may stay as they are
            else:
                self._add(int(row), self.moves.spread(j, replicas, self.quotient.room(int(row), most)), NO_NODE)

    def _add(self, row: int, downtime: float, anchor: int) -> None:
        if np.isfinite(downtime):
            self.source.append(row)
            self.downtime.append(downtime)
            self.anchor.append(anchor)

    def _add_single(self, row: int, times: MoveTimes, inside: Bools) -> None:
        """Add one row for each node where the operator runs now, and one for any other node of the class."""
        replicas = int(self.quotient.choices.replicas[row])
        fresh = np.flatnonzero(inside & (times.before == 0))
        for node in [*np.flatnonzero(inside & (times.before > 0)), *fresh[:1]]:
            others = [u for u in np.flatnonzero(times.before) if u != node]
            upload = max((float(times.upload[u, 0]) for u in others), default=-np.inf)
            moved = max(float(times.code[node]), upload) + float(times.download[node, replicas]) if others else 0.0
            same = not others and times.before[node] == replicas
            downtime = 0.0 if same else self.compiled.synchronisation_time + moved
            self._add(row, downtime, int(node) if times.before[node] else NO_NODE)


def most_on_node(quotient: Quotient, j: int) -> Ints:
    """Replicas of an operator that a node of each class holds at most, shape (classes,)."""
    return fitting_replicas(quotient.demand[j], quotient.capacity, np.full(len(quotient.members), int(quotient.model.degrees[j])))


@derived
def compiled_quotient(problem: PlacementProblem) -> Quotient:
    """The quotient of a problem; inside `derived_once` it is built once.

    The problem has few classes. Without the placement at which nothing changes, where there is a current one.
    """
    number = find_node_classes(problem)
    assert number is not None
    quotient = build_quotient(build_model(compile_problem(problem)), number)
    return quotient if problem.current is None else with_downtimes(quotient)
