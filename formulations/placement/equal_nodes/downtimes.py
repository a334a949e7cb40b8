"""Downtime of choices when an application already runs: the least over all configurations that are such a choice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.problem import derived
from edrp.core.tolerances import LIMIT_SLACK
from edrp.formulations.placement.elimination.model import build_model
from edrp.formulations.placement.equal_nodes.model import OperatorChoices, Quotient, build_quotient, fitting_replicas
from edrp.formulations.placement.equal_nodes.moves import Moves
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import NO_NODE, Compiled
from edrp.placement.node_classes import find_node_classes
from edrp.placement.problem import PlacementProblem


def with_downtimes(quotient: Quotient) -> Quotient:
    """The quotient with the least downtime of every choice, those beyond the limit taken away.

    Choices of one node where the operator runs now are apart, a row for each node: operators on different nodes cannot be
    brought together without a move.
    """
    moves = Moves(
        quotient.model.compiled, quotient.model.order, np.array([most_on_node(quotient, j) for j in range(quotient.operators)])
    )
    listed = [entry for row in range(quotient.choices.operator.size) for entry in _downtimes(quotient, moves, row)]
    listed = [entry for entry in listed if np.isfinite(entry[1])]
    rows, downtime, anchor = np.array(listed).reshape(-1, 3).T
    choices = replace(quotient.choices.select(rows.astype(np.int64)), downtime=downtime, anchor=anchor.astype(np.int64))
    limit = float(quotient.model.limits[2]) * (1 + LIMIT_SLACK)
    if quotient.model.downtime == 0 and (choices.downtime <= limit).all():
        return quotient  # downtime does not count, and hardly any placement takes too long
    choices = choices.select(np.flatnonzero(choices.downtime <= limit))
    least_change = _least_change(quotient.model.compiled, choices)
    stays = np.zeros((quotient.operators, quotient.owner.size), np.int64)
    return replace(quotient, choices=choices, least_downtime=least_change, longest_downtime=limit, stays=stays, moves=moves)


def _least_change(compiled: Compiled, choices: OperatorChoices) -> float:
    """Least downtime of any change, in seconds.

    A choice that can be had for nothing may also be had otherwise, with some replica that starts on another node.
    """
    changes = choices.downtime[choices.downtime > 0]
    if not changes.size or not compiled.synchronisation_time:
        return 0.0
    start = compiled.synchronisation_time + 4 * compiled.store_delay.min() + compiled.spawn_time.min()
    return float(min(changes.min(), start))


def _downtimes(quotient: Quotient, moves: Moves, row: int) -> Iterator[tuple[int, float, int]]:
    """A row of the choices, its least downtime and its anchor.

    Of one node: a row for each node where the operator runs now, and one for any other node of the class.
    """
    choices, synchronisation = quotient.choices, quotient.model.compiled.synchronisation_time
    j, replicas = int(choices.operator[row]), int(choices.replicas[row])
    times = moves.times(j, replicas)
    running_nodes = np.flatnonzero(times.before)
    if not choices.single[row]:
        used = np.bitwise_or.reduce(1 << quotient.owner[running_nodes])
        if times.before.sum() == replicas and used == choices.classes[row]:
            yield row, 0.0, NO_NODE  # the replicas may stay as they are
        else:
            yield row, moves.spread(j, replicas, quotient.room(row, moves.most[j][quotient.owner])), NO_NODE
        return
    inside = quotient.within(choices.classes[row])
    fresh = np.flatnonzero(inside & (times.before == 0))
    for node in [*np.flatnonzero(inside & (times.before > 0)), *fresh[:1]]:
        others = [u for u in running_nodes if u != node]
        upload = max((float(times.upload[u, 0]) for u in others), default=-np.inf)
        moved = max(float(times.code[node]), upload) + float(times.download[node, replicas]) if others else 0.0
        same = not others and times.before[node] == replicas
        yield row, 0.0 if same else synchronisation + moved, int(node) if times.before[node] else NO_NODE


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
