"""Lower bounds on a migration sequence for any number of partitions: prices that decouple its steps.

Give every interval of a step's partition a price; pay the prices of a partition when it is entered, and get them back
when it is left. Over the whole course nothing changes, but each migration c(P, Q) − prices(P) + prices(Q) may now choose
its own P and Q (`least_pair`), and the sum of these minima is a lower bound: a Lagrangian relaxation of "the Q of one
migration is the P of the next, interval by interval".

Prices are found by block-coordinate ascent. The *excess* of an interval, the additional cost of a migration that has to
use it, is handed on to the migration that shares the interval: the giver's minimum stays what it is, the receiver's can only
rise. A partition has one interval at each position, so the excess of all intervals at one position may be handed on
whole, at k positions one k-th of it; positions are taken by residue classes of a random stride. Passes go forwards and
backwards over the course. The bound never falls, needs no step length, and usually ends within a few parts in a
thousand of the optimum.

Intervals whose use would raise the bound above a known cost are forbidden; the classes shrink until they can be listed.

Two consecutive partitions at once: the pair (P, Q) with the least cost between them plus prices of their intervals.

Both partitions are chosen together, from left to right, by the order of all their boundaries. A state is the interval
that is open in each of them, begun at some *place* of its class, and whether the older of the two is already matched
(the newer cannot be). The next boundary closes one of the two intervals; what the two have shared since the newer
began may then be kept. Boundaries at the same task close P first, so that each pair is met once. All classes of
partitions, however large, are graphs of a few thousand places: there are as many states as places that can be open
together, and a pair is found in time proportional to states × arcs out of a place.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.budget import spend
from edrp.core.kernels import inlined, inner_loop
from edrp.mdp.best_response import PRICED_ARC_UNITS
from edrp.mdp.fitted.policies import PricedClass
from edrp.mdp.partitions import Boundaries
from edrp.mdp.sequence.course import Course, PathSearchTimeoutError
from edrp.mdp.trie import Trie, single_partition_trie, without_arcs

LEFT_SIDE, RIGHT_SIDE = 0, 1

STATE_ARC_UNITS = 2.5e-9
"""Units of work per state and arc out of its places, of a pass over all states."""

PLACE_PAIR_UNITS = 1.5e-9
"""Units of work per pair of places, to find which can be open together."""


class PairSide(NamedTuple):
    """One of the two classes of partitions.

    Attributes
    ----------
    boundary, arc_start, arc_target : as in `Trie`.
    level : shape (places,), position of each place.
    reach : shape (places,), greatest boundary at which an interval that begins there can end.
    """

    boundary: Ints
    arc_start: Ints
    arc_target: Ints
    level: Ints
    reach: Ints

    @classmethod
    def of(cls, graph: Trie) -> PairSide:
        """Create a side from the graph of a class."""
        level = np.repeat(np.arange(graph.nodes + 1), np.diff(graph.level))
        last = graph.arc_target[np.maximum(graph.arc_start[1:] - 1, 0)]
        reach = np.where(np.diff(graph.arc_start) > 0, graph.boundary[last], graph.boundary)
        return cls(graph.boundary, graph.arc_start, graph.arc_target, level, reach)


class PlacePairs(NamedTuple):
    """Places of two classes that can be open together.

    Attributes
    ----------
    left, right : the classes.
    low, high : shape (left places, right positions), range [low, high) of right places at each position that can be open together
        with each left place.
    offset : shape (left places, right positions), offset of a right place to get the number of the state.
    count : number of states.
    """

    left: PairSide
    right: PairSide
    low: Ints
    high: Ints
    offset: Ints
    count: int  # type: ignore[assignment] # hides that of tuples, which nobody needs

    @property
    def work(self) -> float:
        """Units of work of a pass over all states."""
        sides = self.left, self.right
        return STATE_ARC_UNITS * self.count * sum(side.arc_target.size / side.boundary.size for side in sides)

    @classmethod
    def of(cls, left: PairSide, right: PairSide) -> PlacePairs:
        """Find all states of two classes."""
        spend(PLACE_PAIR_UNITS * left.boundary.size * right.boundary.size)
        positions = int(right.level[-1]) + 1
        low, high, offset = (np.zeros((left.boundary.size, positions), np.int64) for _ in range(3))
        return cls(left, right, low, high, offset, _lay_out(left, right, low, high, offset))


class PairChoices(NamedTuple):
    """Best ways to go on from each state; room for any pair of classes with at most as many states.

    Attributes
    ----------
    value : shape (states, 2), least cost less all state, from the state on, if the older open interval is free, and if it is
        matched.
    choice : shape (states, 2), how: 4·arc + 2·side whose interval closes + whether what the two intervals share is kept.
    """

    value: Floats
    choice: Ints32

    @classmethod
    def room(cls, states: int) -> PairChoices:
        """Allocate uninitialised arrays for a number of states."""
        return cls(np.empty((states, 2)), np.empty((states, 2), np.int32))


@inner_loop
def _lay_out(left: PairSide, right: PairSide, low: np.ndarray, high: np.ndarray, offset: np.ndarray) -> int:
    """Fill the ranges of right places at each position, sorted by boundary; return the number of states."""
    count, last = 0, left.boundary.size - 1
    for u in range(last + 1):
        a, k, reached = left.boundary[u], 0, 0
        furthest = left.boundary[last] if u == last else left.reach[u] - 1
        for v in range(right.boundary.size):
            if v == 0 or right.level[v] != k:
                k, reached = right.level[v], 0
                low[u, k], high[u, k] = v, v
            reached = max(reached, right.reach[v], right.boundary[v])
            if reached < a:
                low[u, k], high[u, k] = v + 1, v + 1
            elif right.boundary[v] <= furthest:
                high[u, k] = v + 1
        for k in range(low.shape[1]):
            offset[u, k] = count - low[u, k]
            count += high[u, k] - low[u, k]
    return count


@inner_loop
def least_pair(
    pairs: PlacePairs, left_price: np.ndarray, right_price: np.ndarray, state_before: np.ndarray, choices: PairChoices
) -> float:
    """Find the least c(P, Q) plus prices of both partitions; fills `choices`.

    Parameters
    ----------
    left_price, right_price
        Shape (arcs,) of the left and of the right class.
    state_before
        Shape (m + 1,), bytes.
    choices
        Room for at least `pairs.count` states.
    """
    left, right, value, choice = pairs.left, pairs.right, choices.value, choices.choice
    last = left.boundary.size - 1
    for u in range(last, -1, -1):
        a = left.boundary[u]
        right_most = left.boundary[last] if u == last else left.reach[u] - 1
        for k in range(pairs.low.shape[1] - 1, -1, -1):
            for v in range(pairs.high[u, k] - 1, pairs.low[u, k] - 1, -1):
                state, c = pairs.offset[u, k] + v, right.boundary[v]
                if u == last and v == right.boundary.size - 1:
                    value[state, 0], value[state, 1] = 0.0, 0.0
                    continue
                since, left_is_newer = state_before[max(a, c)], a > c
                free, matched, how_free, how_matched = np.inf, np.inf, 0, 0
                for e in range(left.arc_start[u], left.arc_start[u + 1]):
                    w = left.arc_target[e]
                    b = left.boundary[w]
                    if b <= c:
                        continue
                    if b > right.reach[v]:
                        break
                    to = pairs.offset[w, k] + v
                    apart = left_price[e] + value[to, 0]
                    together = left_price[e] + value[to, 1]
                    if apart < free:
                        free, how_free = apart, 4 * e
                    if together - (state_before[b] - since) < free:
                        free, how_free = together - (state_before[b] - since), 4 * e + 1
                    onwards = together if left_is_newer else apart
                    if onwards < matched:
                        matched, how_matched = onwards, 4 * e
                for e in range(right.arc_start[v], right.arc_start[v + 1]):
                    w = right.arc_target[e]
                    b = right.boundary[w]
                    if b < a:
                        continue
                    if b > right_most:
                        break
                    to = pairs.offset[u, k + 1] + w
                    apart = right_price[e] + value[to, 0]
                    together = right_price[e] + value[to, 1]
                    if apart < free:
                        free, how_free = apart, 4 * e + 2
                    if together - (state_before[b] - since) < free:
                        free, how_free = together - (state_before[b] - since), 4 * e + 3
                    onwards = apart if left_is_newer else together
                    if onwards < matched:
                        matched, how_matched = onwards, 4 * e + 2
                value[state, 0], value[state, 1] = free, matched
                choice[state, 0], choice[state, 1] = how_free, how_matched
    return state_before[-1] + value[pairs.offset[0, 0], 0]


@inner_loop
def trace_pair(pairs: PlacePairs, choices: PairChoices, left_arcs: np.ndarray, right_arcs: np.ndarray) -> None:
    """Write the arcs of the pair that `least_pair` found, in order, to arrays of shape (nodes,) of each class."""
    left, right = pairs.left, pairs.right
    u, v, matched, i, j = 0, 0, 0, 0, 0
    while i < left_arcs.size or j < right_arcs.size:
        left_is_newer = left.boundary[u] > right.boundary[v]
        how = choices.choice[pairs.offset[u, right.level[v]] + v, matched]
        closes_left = how & 2 == 0
        if how & 1 == 1:
            matched = 1
        elif closes_left != left_is_newer:  # the older closes, and what was the newer has not been matched
            matched = 0
        if closes_left:
            left_arcs[i] = how >> 2
            u = left.arc_target[how >> 2]
            i += 1
        else:
            right_arcs[j] = how >> 2
            v = right.arc_target[how >> 2]
            j += 1


@inner_loop
def arc_minima(
    pairs: PlacePairs,
    left_price: np.ndarray,
    right_price: np.ndarray,
    state_before: np.ndarray,
    choices: PairChoices,
    reached: np.ndarray,
    left_least: np.ndarray,
    right_least: np.ndarray,
) -> None:
    """Compute, for each arc, the least c(P, Q) plus prices of the pairs that contain it; call `least_pair` before.

    Parameters
    ----------
    pairs, left_price, right_price, state_before, choices
        As given to `least_pair`, and what it found.
    reached
        Room of shape (states, 2).
    left_least, right_least
        Filled, shape (arcs,) of each class; infinite where no pair contains the arc.
    """
    left, right, value = pairs.left, pairs.right, choices.value
    last = left.boundary.size - 1
    left_least[:], right_least[:] = np.inf, np.inf
    for state in range(pairs.count):
        reached[state, 0], reached[state, 1] = np.inf, np.inf
    reached[pairs.offset[0, 0], 0] = state_before[-1]
    for u in range(last + 1):
        a = left.boundary[u]
        right_most = left.boundary[last] if u == last else left.reach[u] - 1
        for k in range(pairs.low.shape[1]):
            for v in range(pairs.low[u, k], pairs.high[u, k]):
                state, c = pairs.offset[u, k] + v, right.boundary[v]
                free, matched = reached[state, 0], reached[state, 1]
                if min(free, matched) == np.inf:
                    continue
                since, left_is_newer = state_before[max(a, c)], a > c
                for e in range(left.arc_start[u], left.arc_start[u + 1]):
                    w = left.arc_target[e]
                    b = left.boundary[w]
                    if b <= c:
                        continue
                    if b > right.reach[v]:
                        break
                    to, shared, price = pairs.offset[w, k] + v, state_before[b] - since, left_price[e]
                    _pass_on(free, matched, price, shared, left_is_newer, reached, to)
                    left_least[e] = min(left_least[e], _through(free, matched, price, shared, left_is_newer, value, to))
                for e in range(right.arc_start[v], right.arc_start[v + 1]):
                    w = right.arc_target[e]
                    b = right.boundary[w]
                    if b < a:
                        continue
                    if b > right_most:
                        break
                    to, shared, price = pairs.offset[u, k + 1] + w, state_before[b] - since, right_price[e]
                    _pass_on(free, matched, price, shared, not left_is_newer, reached, to)
                    right_least[e] = min(right_least[e], _through(free, matched, price, shared, not left_is_newer, value, to))


@inlined
def _pass_on(free: float, matched: float, price: float, shared: float, newer_closes: bool, reached: np.ndarray, to: int) -> None:
    reached[to, 0] = min(reached[to, 0], price + (free if newer_closes else min(free, matched)))
    reached[to, 1] = min(reached[to, 1], price + (min(free - shared, matched) if newer_closes else free - shared))


@inlined
def _through(free: float, matched: float, price: float, shared: float, newer_closes: bool, value: np.ndarray, to: int) -> float:
    apart, together = price + value[to, 0], price + value[to, 1]
    best = free + min(apart, together - shared)
    return min(best, matched + (together if newer_closes else apart))


STRIDE_RANGE = (4, 9)
"""Range of strides, the end excluded: longer ones raise the bound more per pass, shorter ones more per second."""


class PriceRelaxation:
    """Prices of all intervals, and the bound that they prove.

    Parameters
    ----------
    course
        Feasible at every step.
    out_of_time
        Function that is called now and then; once it returns True, any method may raise.

    Raises
    ------
    PathSearchTimeoutError
        When `out_of_time` returns True; the bound stays valid.

    Attributes
    ----------
    graphs : graph of what is left of each class; the first is the current partition alone.
    bound : in bytes: no path through what is left costs less.
    """

    def __init__(self, course: Course, seed: int = 0, out_of_time: Callable[[], bool] = lambda: False) -> None:
        self.course = course
        self.bound = 0.0
        self._out_of_time = out_of_time
        self._generator = np.random.default_rng(seed)
        self._take([single_partition_trie(course.start), *(step.members.graph for step in course.steps)])
        self._prices = [np.zeros(graph.arc_target.size) for graph in self.graphs]
        self._evaluate()

    def _take(self, graphs: list[Trie]) -> None:
        """Replace the classes by smaller ones."""
        self.graphs = graphs
        sides = {id(graph): PairSide.of(graph) for graph in graphs}
        pairs: dict[tuple[int, int], PlacePairs] = {}
        self._pairs: list[PlacePairs] = []
        for left, right in pairwise(graphs):
            key = id(left), id(right)
            if key not in pairs:
                pairs[key] = PlacePairs.of(sides[key[0]], sides[key[1]])
            self._pairs.append(pairs[key])
        max_states = max(pairs.count for pairs in self._pairs)
        self._room, self._reached = PairChoices.room(max_states), np.empty((max_states, 2))
        positions = [np.repeat(np.arange(graph.nodes + 1), np.diff(graph.level)) for graph in graphs]
        self._positions = [
            np.repeat(position, np.diff(graph.arc_start)) for position, graph in zip(positions, graphs, strict=True)
        ]

    def _evaluate(self) -> None:
        """Compute the least costs of all migrations, each by itself."""
        self.bound = sum(self._solve(t) for t in range(len(self._pairs)))

    def _solve(self, t: int) -> float:
        self._spend(t)
        state_before = self.course.steps[t].state_before
        return float(least_pair(self._pairs[t], -self._prices[t], self._prices[t + 1], state_before, self._room))

    def _spend(self, t: int) -> None:
        """Count the work of a pass over the states of a migration; raise where that exceeds the limit."""
        spend(self._pairs[t].work)
        if self._out_of_time():
            raise PathSearchTimeoutError

    def _excess(self, t: int) -> tuple[Floats, Floats]:
        """Compute the rise of the least cost of a migration if it has to use an interval; infinite if it cannot."""
        bound = self._solve(t)
        self._spend(t)
        prices, state_before = (-self._prices[t], self._prices[t + 1]), self.course.steps[t].state_before
        left_excess, right_excess = np.empty_like(prices[LEFT_SIDE]), np.empty_like(prices[RIGHT_SIDE])
        arc_minima(self._pairs[t], *prices, state_before, self._room, self._reached, left_excess, right_excess)
        return left_excess - bound, right_excess - bound

    def ascend(self) -> None:
        """Raise the bound by one pass forwards and one backwards."""
        stride, last = int(self._generator.integers(*STRIDE_RANGE)), len(self._pairs) - 1
        for t in range(last):
            self._hand_on(t, RIGHT_SIDE, stride)
        for t in range(last, 0, -1):
            self._hand_on(t, LEFT_SIDE, stride)
        self._evaluate()

    def _hand_on(self, t: int, side: int, stride: int) -> None:
        """Pass on the excess of one side's intervals, for positions by residue class."""
        step = t if side == LEFT_SIDE else t + 1
        positions, nodes = self._positions[step], self.graphs[step].nodes
        for residue in self._generator.permutation(min(stride, nodes)):
            excess = self._excess(t)[side]
            share = excess / -(-(nodes - residue) // stride)
            shift = np.where((positions % stride == residue) & np.isfinite(excess), share, 0.0)
            self._prices[step] += shift if side == LEFT_SIDE else -shift

    def attaining(self) -> list[tuple[int, Boundaries]]:
        """Yield the partitions of the pairs that attain the bound, with the number of their step."""
        attained = []
        for t, pairs in enumerate(self._pairs):
            self._solve(t)
            arcs = np.zeros(self.graphs[t].nodes, np.int64), np.zeros(self.graphs[t + 1].nodes, np.int64)
            trace_pair(pairs, self._room, *arcs)
            for step, graph, path in ((t - 1, self.graphs[t], arcs[LEFT_SIDE]), (t, self.graphs[t + 1], arcs[RIGHT_SIDE])):
                if step >= 0:
                    attained.append((step, np.concatenate([[0], graph.boundary[graph.arc_target[path]]])))
        return attained

    def after(self, step: int, partitions: Boundaries) -> Boundaries:
        """Find the best next partitions from those of the previous step, with prices as later costs; one row each."""
        graph, state_before = self.graphs[step + 1], self.course.steps[step].state_before
        spend(PRICED_ARC_UNITS * len(partitions) * graph.arc_target.size)
        return PricedClass(graph, self._prices[step + 1]).best_responses(state_before, partitions)[1]

    def before(self, step: int, partitions: Boundaries) -> Boundaries:
        """Find the best previous partitions for those of the next step, with prices as earlier costs; one row each."""
        graph, state_before = self.graphs[step + 1], self.course.steps[step + 1].state_before
        spend(PRICED_ARC_UNITS * len(partitions) * graph.arc_target.size)
        return PricedClass(graph, -self._prices[step + 1]).best_responses(state_before, partitions)[1]

    def forbid(self, cost: float) -> bool:
        """Forbid all intervals of partitions through which no path costs less than `cost`.

        Returns
        -------
        bool
            Whether any path is left; if not, no path costs less than `cost`.
        """
        excess = [np.zeros(price.size) for price in self._prices]
        for t in range(len(self._pairs)):
            left_excess, right_excess = self._excess(t)
            excess[t] += left_excess
            excess[t + 1] += right_excess
        smaller = [self.graphs[0]]
        for t in range(1, len(self.graphs)):
            graph, arcs = without_arcs(self.graphs[t], self.bound + excess[t] < cost)
            if graph.count == 0:
                return False
            smaller.append(graph)
            self._prices[t] = self._prices[t][arcs]
        self._take(smaller)
        self._evaluate()
        return True
