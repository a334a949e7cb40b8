"""Placements built node by node over counts: the operator that joins most of what a node already runs comes next."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, UInts
from edrp.core.kernel_helpers import uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import COUNTED_LOAD_SLACK
from edrp.heuristics.placement.replica_counts import strain, variable
from edrp.heuristics.placement.search.count_arrays import CountArrays
from edrp.heuristics.placement.search.count_state import OPEN, CountState, fitting, put, waiting

MIN_PARTS = 64
"""Minimum number of batches in which an operator's instances are placed, so that operators mix on a node."""

WAITING_WEIGHT = 1e-3
"""Weight of the potential gain by instances that still wait, relative to the gain by placed ones."""

PAPER_VIOLATION_PENALTY = 10_000.0
"""Score of one violation (latency-aware placement, 4.3.2)."""


class FillingRule(NamedTuple):
    """Rule by which the next operator on a node is chosen: the one of largest weight, or one drawn by weight.

    The weight is worth^`power` · mean trail^`trail_power`, where worth is the gain per share of the node. With `noise` 1
    operators are drawn in proportion to it, with 0 the largest one is taken, and in between chance counts for less.

    Attributes
    ----------
    noise : shape (1,).
    first : shape (1,); index of the node in use that is filled first.
    trail : shape (operators, operators); pheromone between operators. Its mean is over the instances on the node.
    random : shape (1,); state of the random numbers.
    trail_sum, useless : shapes (operators,) and (classes,); scratch.
    """

    power: float
    trail_power: float
    noise: Floats
    first: Ints
    trail: Floats
    random: UInts
    trail_sum: Floats
    useless: Bools

    @classmethod
    def of(cls, t: CountArrays, random: UInts, power: float = 1.0, trail_power: float = 0.0, trail: Floats | None = None) -> Self:
        """Create a rule that takes the largest worth, or draws by worth and pheromone where there is a trail."""
        return cls(
            power=power,
            trail_power=trail_power,
            noise=np.full(1, 0.0 if trail is None else 1.0),
            first=np.zeros(1, np.int64),
            trail=np.zeros((1, 1)) if trail is None else trail,
            random=random,
            trail_sum=np.zeros(1 if trail is None else len(trail)),
            useless=np.zeros(t.class_start.size - 1, np.bool_),
        )


@inlined
def _log_weight(t: CountArrays, c: CountState, rule: FillingRule, a: int, d: int) -> float:
    """Logarithm of the weight of operator a for node d, with the noise that makes the largest one a draw."""
    share = 1e-9
    for m in range(t.demand.shape[1]):
        if t.demand[a, m] > 0 and t.capacity[d, m] < np.inf:
            share = max(share, t.demand[a, m] / t.capacity[d, m])
    future = t.pair[a, a] * waiting(t, c, a)
    for j in range(t.start[a], t.start[a + 1]):
        future += t.pair[a, t.neighbours[j]] * waiting(t, c, t.neighbours[j])
    worth = c.joined[a, d] + 2.0 * t.pair[a, a] * c.counts.replicas[a, d] + WAITING_WEIGHT * future
    log_weight = rule.power * np.log((worth + 1e-12 * t.score_apart) / share)
    if rule.trail_power > 0 and c.total[d] > 0:
        log_weight += rule.trail_power * np.log(rule.trail_sum[a] / c.total[d])
    if rule.noise[0] > 0:
        log_weight -= rule.noise[0] * np.log(-np.log(uniform(rule.random) + 1e-300) + 1e-300)
    return log_weight


@inlined
def _fill_node(t: CountArrays, c: CountState, rule: FillingRule, d: int) -> bool:
    """Place waiting instances on node d as long as some fit; return whether any did."""
    placed = 0
    operators = rule.trail_sum.size if rule.trail_power > 0 else 0
    for a in range(operators):
        rule.trail_sum[a] = 0.0
        for b in range(operators):
            rule.trail_sum[a] += c.counts.replicas[b, d] * rule.trail[a, b]
    while True:
        best, max_weight = variable(-1), -np.inf
        for a in range(c.counts.degree.size):
            if waiting(t, c, a) == 0 or fitting(t, c, a, d, variable(1)) == 0:
                continue
            log_weight = _log_weight(t, c, rule, a, d)
            if best < 0 or log_weight > max_weight:
                best, max_weight = a, log_weight
        if best < 0:
            return placed > 0
        part = min(max(1, t.instances[best] // MIN_PARTS), waiting(t, c, best))
        q = fitting(t, c, best, d, part)
        put(t, c, best, d, q)
        placed += q
        for a in range(operators):
            rule.trail_sum[a] += q * rule.trail[a, best]


@inlined
def _next_node(t: CountArrays, c: CountState, rule: FillingRule, previous: int) -> int:
    """Choose the empty node that can take most waiting instances, preferably in the zone of the previous one; -1: none."""
    best, max_value = variable(-1), 0.0
    for k in range(c.empty_number.size):
        if c.empty_number[k] == 0 or rule.useless[k]:
            continue
        d = c.empty[t.class_start[k] + c.empty_number[k] - 1]
        share, count = 1.0, 0.0
        for a in range(c.counts.degree.size):
            count += waiting(t, c, a) * t.candidate[a, d]
        for m in range(t.demand.shape[1]):
            need = 0.0
            for a in range(c.counts.degree.size):
                need += waiting(t, c, a) * t.candidate[a, d] * t.demand[a, m]
            if need > 0:
                share = min(share, t.capacity[d, m] / need)
        value = share * count * (1.0 + 1e-6 * (previous >= 0 and t.zone[d] == t.zone[previous]))
        if rule.noise[0] > 0:
            value *= 1.0 + rule.noise[0] * uniform(rule.random)
        if value > max_value:
            best, max_value = d, value
    return best


@inlined
def _squeeze(t: CountArrays, c: CountState) -> None:
    """Place the instances that find no room where they cause the least overload."""
    for a in range(c.counts.degree.size):
        while waiting(t, c, a) > 0:
            q, best, min_violations, min_overload = max(1, waiting(t, c, a) // MIN_PARTS), variable(-1), 0, np.inf
            for d in range(c.total.size):
                if not t.candidate[a, d]:
                    continue
                for m in range(c.counts.used.shape[1]):
                    c.counts.used[d, m] += q * t.demand[a, m]
                violations, overload = strain(t.capacity, c.counts.used, d, COUNTED_LOAD_SLACK)
                for m in range(c.counts.used.shape[1]):
                    c.counts.used[d, m] -= q * t.demand[a, m]
                if best < 0 or violations < min_violations or (violations == min_violations and overload < min_overload):
                    best, min_violations, min_overload = d, violations, overload
            put(t, c, a, best, q)


@inner_loop
def fill(t: CountArrays, c: CountState, rule: FillingRule, first: int) -> None:
    """Place all waiting instances: on node `first` (-1 for none), on nodes in use, on empty ones, and finally anywhere."""
    before = c.counters[OPEN]
    turn, previous = -1 if first >= 0 else 0, variable(-1)
    for k in range(rule.useless.size):
        rule.useless[k] = False
    while True:
        unplaced = 0
        for a in range(c.counts.degree.size):
            unplaced += waiting(t, c, a)
        if unplaced == 0:
            return
        d = first
        if turn >= 0:
            d = c.opened[(rule.first[0] + turn) % before] if turn < before else _next_node(t, c, rule, previous)
        if d < 0:
            _squeeze(t, c)
            return
        filled = _fill_node(t, c, rule, d)
        if turn < 0:
            before = c.counters[OPEN]
        elif filled:
            previous = d
        elif turn >= before:
            rule.useless[t.class_of[d]] = True
        turn += 1


@inlined
def empty_node(t: CountArrays, c: CountState, s: int) -> None:
    """Take every instance away from node s."""
    for a in range(c.counts.degree.size):
        if c.counts.replicas[a, s] > 0:
            put(t, c, a, s, -c.counts.replicas[a, s])
