"""Building a placement over counts node by node: what joins most of what a node already runs comes next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, UInts
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.kernel_helpers import uniform
from edrp.heuristics.placement.search.count_arrays import CountTables
from edrp.heuristics.placement.search.count_state import OPEN, Counts, add, room, strain
from edrp.heuristics.placement.search.method_parameters import ColonyParameters

PARTS = 64
"""In how many parts an operator's instances are given out at least, so that operators mix on a node."""

OUTLOOK = 1e-3
"""What an instance could gain by others that still wait counts as this share of what it gains by those that are there."""


class Taste(NamedTuple):
    """How the next operator on a node is chosen.

    By the largest w = worth^`power` · mean trail^`trail_power`, where worth is the gain per share of the node and the
    trail (operators, operators) is that between the operator and the instances on the node; with `noise` 1, drawn in
    proportion to w, and between with less chance. `random` is the state of the draws; `scent` and `useless` are room
    to count in.
    """

    power: float
    trail_power: float
    noise: Floats
    trail: Floats
    random: UInts
    scent: Floats
    useless: Bools

    @classmethod
    def greedy(cls, t: CountTables, random: UInts) -> Taste:
        """Always the largest worth."""
        return cls(1.0, 0.0, np.zeros(1), np.zeros((1, 1)), random, np.zeros(1), np.zeros(t.class_start.size - 1, np.bool_))


@inlined
def _appeal(t: CountTables, c: Counts, taste: Taste, a: int, d: int) -> float:
    """Logarithm of the weight of operator a for node d, with the noise that makes the largest one a draw."""
    share = 1e-9
    for m in range(t.demand.shape[1]):
        if t.demand[a, m] > 0 and t.capacity[d, m] < np.inf:
            share = max(share, t.demand[a, m] / t.capacity[d, m])
    outlook = t.pair[a, a] * c.left[a]
    for j in range(t.start[a], t.start[a + 1]):
        outlook += t.pair[a, t.neighbours[j]] * c.left[t.neighbours[j]]
    worth = c.joined[a, d] + 2.0 * t.pair[a, a] * c.held[a, d] + OUTLOOK * outlook
    appeal = taste.power * np.log((worth + 1e-12 * t.everything) / share)
    if taste.trail_power > 0 and c.total[d] > 0:
        appeal += taste.trail_power * np.log(taste.scent[a] / c.total[d])
    if taste.noise[0] > 0:
        appeal -= taste.noise[0] * np.log(-np.log(uniform(taste.random) + 1e-300) + 1e-300)
    return appeal


@inlined
def _fill_node(t: CountTables, c: Counts, taste: Taste, d: int) -> bool:
    """Give node d what waits, as long as something fits; whether anything did."""
    taken = 0
    for a in range(taste.scent.size):
        taste.scent[a] = 0.0
        for b in range(taste.scent.size):
            taste.scent[a] += c.held[b, d] * taste.trail[a, b]
    while True:
        best, most = -1, -np.inf
        for a in range(c.left.size):
            if c.left[a] == 0 or room(t.demand, t.capacity, t.candidate, c.used, a, d, 1) == 0:
                continue
            appeal = _appeal(t, c, taste, a, d)
            if best < 0 or appeal > most:
                best, most = a, appeal
        if best < 0:
            return taken > 0
        part = min(max(1, t.instances[best] // PARTS), c.left[best])
        q = room(t.demand, t.capacity, t.candidate, c.used, best, d, part)
        add(t, c, best, d, q)
        taken += q
        for a in range(taste.scent.size):
            taste.scent[a] += q * taste.trail[a, best]


@inlined
def _next_node(t: CountTables, c: Counts, taste: Taste, previous: int) -> int:
    """The empty node that holds most of what waits, preferably in the zone of the previous one; -1 for none."""
    best, most = -1, 0.0
    for k in range(c.spare.size):
        if c.spare[k] == 0 or taste.useless[k]:
            continue
        d = c.empty[t.class_start[k] + c.spare[k] - 1]
        share, fitting = 1.0, 0.0
        for a in range(c.left.size):
            fitting += c.left[a] * t.candidate[a, d]
        for m in range(t.demand.shape[1]):
            need = 0.0
            for a in range(c.left.size):
                need += c.left[a] * t.candidate[a, d] * t.demand[a, m]
            if need > 0:
                share = min(share, t.capacity[d, m] / need)
        value = share * fitting * (1.0 + 1e-6 * (previous >= 0 and t.zone[d] == t.zone[previous]))
        if value > most:
            best, most = d, value
    return best


@inlined
def _squeeze(t: CountTables, c: Counts) -> None:
    """Place what finds no room where it overloads least."""
    for a in range(c.left.size):
        while c.left[a] > 0:
            q, best, fewest, least = max(1, c.left[a] // PARTS), -1, 0, np.inf
            for d in range(c.total.size):
                if not t.candidate[a, d]:
                    continue
                for m in range(c.used.shape[1]):
                    c.used[d, m] += q * t.demand[a, m]
                violations, overload = strain(t.capacity, c.used, d)
                for m in range(c.used.shape[1]):
                    c.used[d, m] -= q * t.demand[a, m]
                if best < 0 or violations < fewest or (violations == fewest and overload < least):
                    best, fewest, least = d, violations, overload
            add(t, c, a, best, q)


@inner_loop
def fill(t: CountTables, c: Counts, taste: Taste, first: int) -> None:
    """Place all instances that wait: on the first node, in use, empty, at last where there is no room; -1 for no first."""
    if first >= 0:
        _fill_node(t, c, taste, first)
    before = c.tally[OPEN]
    turn, previous = 0, -1
    for k in range(taste.useless.size):
        taste.useless[k] = False
    while True:
        waiting = 0
        for a in range(c.left.size):
            waiting += c.left[a]
        if waiting == 0:
            return
        d = c.opened[turn] if turn < before else _next_node(t, c, taste, previous)
        if d < 0:
            _squeeze(t, c)
            return
        if _fill_node(t, c, taste, d):
            previous = d
        elif turn >= before:
            taste.useless[t.class_of[d]] = True
        turn += 1


@inlined
def empty_node(t: CountTables, c: Counts, s: int) -> None:
    """Take every instance away from node s."""
    for a in range(c.left.size):
        if c.held[a, s] > 0:
            add(t, c, a, s, -c.held[a, s])


LEAST_SCORE = 1e-6
"""Score below which an ant deposits no more than at it."""


class Trails:
    """Pheromone between operators, shape (operators, operators) (latency-aware placement, eqs. 2–5)."""

    def __init__(self, tables: CountTables, parameters: ColonyParameters) -> None:
        self._tables = tables
        self._parameters = parameters
        operators = tables.instances.size
        self.trail = np.full((operators, operators), max(parameters.initial_pheromone, parameters.minimum_pheromone))

    def taste(self, random: UInts) -> Taste:
        """How an ant chooses (eq. 2)."""
        operators, classes = self._tables.instances.size, self._tables.class_start.size - 1
        return Taste(
            power=self._parameters.heuristic_power,
            trail_power=self._parameters.pheromone_power,
            noise=np.ones(1),
            trail=self.trail,
            random=random,
            scent=np.zeros(operators),
            useless=np.zeros(classes, np.bool_),
        )

    def evaporate(self) -> None:
        """Leave a share of the pheromone, at least the minimum (eq. 4)."""
        self.trail = np.maximum(self._parameters.persistence * self.trail, self._parameters.minimum_pheromone)

    def deposit(self, held: Ints, score: float, times: float) -> None:
        """What an ant that built `held` (operators, nodes) leaves (eq. 5), so many times."""
        shares = held[:, held.any(axis=0)] / self._tables.instances[:, None]
        self.trail = self.trail + times * self._parameters.deposit / max(score, LEAST_SCORE) * (shares @ shares.T)
