"""Seats: how an operator can sit on its representative node.

Seat r − 1 holds all r replicas on the node; the last seat is split: one replica there, at least one
elsewhere. The relaxation's states are seats, so that replicas that share the representative's node are
counted, and a split operator is never at distance zero from its neighbours (of paths through instances only where they
begin or end). Seats of one node may be
grouped to save states; a group is as cheap and as small as the best of its seats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK
from edrp.formulations.placement.elimination.model import EliminationModel

if TYPE_CHECKING:
    from edrp.formulations.placement.elimination.box import Box


class SeatGroups(NamedTuple):
    """Groups of seats that an operator has left: node, replicas there at least, whether surely split, group."""

    node: Ints
    taken: Ints
    split: Bools
    group: Ints


def possible_seats(model: EliminationModel, alive: Bools) -> Bools:
    """Seats that stability, capacity and rules allow, shape (operators, nodes, 1 + most replicas)."""
    max_replicas = model.latency.shape[1] - 1
    seats, stable = np.zeros((*alive.shape, max_replicas + 1), bool), model.stable
    for r in range(1, max_replicas + 1):
        need = r * model.demand[:, None, :]
        fits = (need <= model.capacity[None] * (1 + LIMIT_SLACK)).all(axis=2)
        seats[:, :, r - 1] = alive & fits & stable[:, :, r]
    alone = (model.demand[:, None, :] <= model.capacity[None] * (1 + LIMIT_SLACK)).all(axis=2)
    spread = stable[:, :, 2:].any(axis=2) & (alive.sum(axis=1, keepdims=True) > 1)
    seats[:, :, max_replicas] = alive & alone & spread
    return seats & np.isfinite(model.seat_prices) if model.rules.own else seats


def seat_groups(model: EliminationModel, box: Box, alpha: float, money: float) -> list[Ints]:
    """A group number for every seat of each operator.

    More replicas on the node get a group of their own only where they can lower the objective.
    """
    max_replicas = model.latency.shape[1] - 1
    groups = []
    for i in range(model.operators):
        group = np.zeros(max_replicas + 1, np.int64)
        stable = [r for r in range(1, max_replicas + 1) if np.isfinite(box.latency[i, r])]
        speed = model.speedup[box.alive[i]].min(initial=np.inf)
        latest, number = stable[0] if stable else 1, 0
        for r in stable[1:]:
            saved = alpha * (box.latency[i, latest] - box.latency[i, r]) / speed
            if model.replica_prices is not None:
                prices = model.replica_prices[i][:, box.alive[i]]
                saved += (latest * prices[latest] - r * prices[r]).max(initial=-np.inf)
            if saved > money * model.replica_cost[i] * (r - latest):
                latest, number = r, number + 1
            group[r - 1] = number
        group[max_replicas] = number + 1
        groups.append(group)
    return groups


def seat_candidates(box: Box, i: int, group: Ints) -> SeatGroups:
    """The groups of seats that are left for operator i."""
    last_seat = group.size - 1
    node, count, split, number = [], [], [], []
    for g in np.unique(group):
        members = np.flatnonzero(group == g)
        possible = box.anchor[i][:, members]
        nodes = np.flatnonzero(possible.any(axis=1))
        replicas = np.where(members == last_seat, 1, members + 1)
        node.append(nodes)
        count.append(np.where(possible[nodes], replicas, np.iinfo(np.int64).max).min(axis=1))
        split.append(~(possible[nodes] & (members != last_seat)).any(axis=1))
        number.append(np.full(nodes.size, g))
    order = np.lexsort((np.concatenate(number), np.concatenate(node)))
    return SeatGroups(*(np.concatenate(part)[order] for part in (node, count, split, number)))


def grouped_unary(unary: Floats, candidates: SeatGroups, group: Ints) -> Floats:
    """Least unary cost among the seats of each candidate, from shape (nodes, seats)."""
    best = np.full(candidates.node.size, np.inf)
    for seat, number in enumerate(group):
        best = np.where(candidates.group == number, np.minimum(best, unary[candidates.node, seat]), best)
    return best


def seat_marginals(unary: Floats, candidates: SeatGroups, group: Ints, group_marginals: Floats, marginal: Floats) -> Floats:
    """Min-marginals of seats, shape (nodes, seats), from those of their groups; infinite where no seat is left."""
    least_other = np.full((unary.shape[0], int(group.max()) + 1), np.inf)
    # A seat dropped since the candidates were listed costs infinitely much in both; it stays dropped.
    finite = np.isfinite(group_marginals)
    least_other[candidates.node[finite], candidates.group[finite]] = marginal[finite] - group_marginals[finite]
    return least_other[:, group] + unary


def stream_delays(model: EliminationModel, box: Box, stream: int, tail: SeatGroups, head: SeatGroups) -> Floats:
    """Least delay of a stream between candidates of its ends, shape (tail, head), in seconds.

    A split end has a replica on another node too, which is at least as far as its nearest other node. A path through
    instances passes one replica of each operator: there only its first and its last may be the other one.
    """
    i, j = int(model.source[stream]), int(model.target[stream])
    delay = model.delay[np.ix_(tail.node, head.node)]
    if tail.split.any() and not (model.instance_paths and len(model.incoming[i])):
        other = _nearest_other(model.delay[np.flatnonzero(box.alive[i])][:, head.node], np.flatnonzero(box.alive[i]), tail.node)
        delay = np.where(tail.split[:, None], np.maximum(delay, other), delay)
    if head.split.any() and not (model.instance_paths and len(model.outgoing[j])):
        nodes = np.flatnonzero(box.alive[j])
        other = _nearest_other(model.delay[tail.node][:, nodes].T, nodes, head.node).T
        delay = np.where(head.split[None, :], np.maximum(delay, other), delay)
    return delay


def _nearest_other(distance: Floats, nodes: Ints, chosen: Ints) -> Floats:
    """Least distance to each column from any of `nodes` but the chosen one, shape (chosen, columns)."""
    if len(nodes) < 2:
        return np.zeros((chosen.size, distance.shape[1]))
    nearest = distance.argmin(axis=0)
    two = np.partition(distance, 1, axis=0)[:2]
    return np.where(chosen[:, None] == nodes[nearest][None], two[1][None], two[0][None])
