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

The pair of partitions with the least cost between them plus prices of their intervals is found by `least_pair`, on places of
both classes that can be open together (edrp/native/mdp/sequence/price_relaxation.cpp).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.budget import spend
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
        return cls(left, right, low, high, offset, _native.lay_out_place_pairs(left, right, low, high, offset))


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
        return float(_native.least_pair(self._pairs[t], -self._prices[t], self._prices[t + 1], state_before, self._room))

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
        _native.arc_minima(self._pairs[t], *prices, state_before, self._room, self._reached, left_excess, right_excess)
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
            _native.trace_pair(pairs, self._room, *arcs)
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
