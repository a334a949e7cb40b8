"""A search that exchanges tasks between nodes until no node exceeds given loads (simulated annealing on what exceeds them)."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints, UInts
from edrp.core.budget import spend
from edrp.core.kernel_helpers import below, copy_matrix, uniform
from edrp.core.kernels import inlined, kernel
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.fixed_tasks import FixedTasks, LoadArrays, fill_loads

STEP_WORK = 4e-9
"""Units of work for an exchange that is tried, per operator."""

FIRST_TEMPERATURE, LAST_TEMPERATURE = 0.03, 1e-5
"""Shares of a mean load."""


def first_counts(tasks: FixedTasks, placed: Ints | None = None) -> Ints | None:
    """Every task on the emptiest node that has room, shape (nodes, operators); None if they do not fit.

    Parameters
    ----------
    placed : shape (nodes, operators)
        Tasks that have their places.
    """
    arrays = tasks.arrays
    counts = np.zeros((tasks.nodes, tasks.operators), np.int64) if placed is None else placed.copy()
    free = tasks.room - np.where(arrays.demand.any(axis=0), counts @ arrays.demand, 0.0)
    loads = (counts @ arrays.use).sum(axis=1)
    size = np.where(np.isfinite(tasks.room) & (tasks.room > 0), arrays.demand / np.maximum(tasks.room, 1e-300), 0.0).max(
        axis=1, initial=0.0
    )
    for i in np.lexsort((-arrays.use.sum(axis=1), -size)):
        for _ in range(int(arrays.totals[i] - counts[:, i].sum())):
            fits = (free >= arrays.demand[i] * (1 - LIMIT_SLACK)).all(axis=1)
            if not fits.any():
                return None
            node = int(np.where(fits, loads + counts[:, i] * 1e-9, np.inf).argmin())
            counts[node, i] += 1
            free[node] -= arrays.demand[i]
            loads[node] += arrays.use[i].sum() + size[i] / 1e3
    return counts


def lower_loads(tasks: FixedTasks, counts: Ints, goal: Floats, steps: int, random: UInts, heat: float = 1.0) -> bool:
    """Change counts until no node's load exceeds the goal, shape (shared,); False if that was not reached.

    The counts are then those that came nearest. With little heat, a share of the usual first temperature, the search stays near
    where it began.
    """
    totals = np.maximum(tasks.totals, tasks.arrays.sent.sum(axis=0)) / tasks.nodes
    scale = np.where(totals > 0, totals, 1.0)
    room = tasks.room * (1 + LIMIT_SLACK)
    first = max(LAST_TEMPERATURE, heat * FIRST_TEMPERATURE)
    spend(STEP_WORK * steps * (tasks.operators + 4))
    excess = _lower(tasks.arrays, room, goal * (1 + LIMIT_SLACK), 1.0 / scale, counts, first, steps, random)
    return bool(excess <= 0)


@inlined
def _excess(loads: np.ndarray, goal: np.ndarray, weight: np.ndarray) -> float:
    total = 0.0
    for k in range(loads.size):
        if loads[k] > goal[k]:
            total += (loads[k] - goal[k]) * weight[k]
    return total


@inlined
def _has_room(left: np.ndarray, demand: np.ndarray, i: int, j: int) -> bool:
    """Whether there is room for a task of operator i after one of operator j (-1 for none) has gone."""
    for m in range(left.size):
        freed = demand[j, m] if j >= 0 else 0.0
        if left[m] + freed < demand[i, m]:
            return False
    return True


@inlined
def _pick(pattern: np.ndarray, random: np.ndarray) -> int:
    """An operator that has tasks here, or -1."""
    first = below(random, pattern.size)
    for step in range(pattern.size):
        i = (first + step) % pattern.size
        if pattern[i] > 0:
            return i
    return -1


@inlined
def _shift(pattern: np.ndarray, left: np.ndarray, demand: np.ndarray, i: int, change: int) -> None:
    pattern[i] += change
    for m in range(left.size):
        left[m] -= change * demand[i, m]


@kernel
def _lower(
    arrays: LoadArrays,
    room: np.ndarray,
    goal: np.ndarray,
    weight: np.ndarray,
    counts: np.ndarray,
    temperature: float,
    steps: int,
    random: np.ndarray,
) -> float:
    """Simulated annealing by moves and swaps of single tasks; returns the least excess, whose counts are left behind."""
    nodes = len(counts)
    shared = goal.size
    demand = arrays.demand
    left = np.empty((nodes, room.size))
    loads = np.zeros((nodes, shared))
    excess = np.zeros(nodes)
    for w in range(nodes):
        _fill_left(counts[w], room, demand, left[w])
        fill_loads(counts[w], arrays, loads[w])
        excess[w] = _excess(loads[w], goal, weight)
    total = excess.sum()
    best, least_peak = counts.copy(), total
    one, two = np.zeros(shared), np.zeros(shared)
    cooling = (LAST_TEMPERATURE / temperature) ** (1.0 / max(1, steps))
    for _ in range(steps):
        if total <= 1e-14:
            break
        temperature *= cooling
        u, v, i, j = _draw(counts, left, demand, excess, random)
        if i < 0:
            continue
        _exchange(counts, left, demand, u, v, i, j)
        fill_loads(counts[u], arrays, one)
        fill_loads(counts[v], arrays, two)
        after_u, after_v = _excess(one, goal, weight), _excess(two, goal, weight)
        change = after_u + after_v - excess[u] - excess[v]
        if change <= 0 or uniform(random) < np.exp(-change / temperature):
            excess[u], excess[v] = after_u, after_v
            total = max(0.0, total + change)
            if total < least_peak - 1e-15:
                total = excess.sum()
                least_peak = total
                copy_matrix(counts, best)
        else:
            _exchange(counts, left, demand, v, u, i, j)
    copy_matrix(best, counts)
    return least_peak if least_peak > 1e-14 else 0.0


@inlined
def _fill_left(pattern: np.ndarray, room: np.ndarray, demand: np.ndarray, left: np.ndarray) -> None:
    """Room that a node with this pattern has left."""
    for m in range(room.size):
        left[m] = room[m]
        for i in range(pattern.size):
            left[m] -= pattern[i] * demand[i, m]


@inlined
def _draw(
    counts: np.ndarray, left: np.ndarray, demand: np.ndarray, excess: np.ndarray, random: np.ndarray
) -> tuple[int, int, int, int]:
    """Draw nodes u and v, an operator of u and one of v (-1 for a move) that can be exchanged; the first is -1 if they cannot."""
    u = below(random, excess.size)
    if excess[u] <= 0 and uniform(random) < 0.7:
        return u, u, -1, -1
    v = below(random, excess.size)
    i = _pick(counts[u], random)
    if u == v or i < 0:
        return u, v, -1, -1
    j = -1
    if uniform(random) < 0.7:
        j = _pick(counts[v], random)
        if j == i:
            return u, v, -1, -1
    if not _has_room(left[v], demand, i, j) or (j >= 0 and not _has_room(left[u], demand, j, i)):
        return u, v, -1, -1
    return u, v, i, j


@inlined
def _exchange(counts: np.ndarray, left: np.ndarray, demand: np.ndarray, u: int, v: int, i: int, j: int) -> None:
    """Move a task of operator i from u to v, and one of operator j back (-1 for none)."""
    _shift(counts[u], left[u], demand, i, -1)
    _shift(counts[v], left[v], demand, i, 1)
    if j >= 0:
        _shift(counts[v], left[v], demand, j, -1)
        _shift(counts[u], left[u], demand, j, 1)
