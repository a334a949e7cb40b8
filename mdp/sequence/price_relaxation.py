"""Lower bounds on a migration sequence for any number of partitions: prices that decouple its steps.

Give every interval of a step's partition a price; pay the prices of a partition when it is entered, and get them back
when it is left. Over the whole course nothing changes, but each migration c(P, Q) − prices(P) + prices(Q) may now choose
its own P and Q (`pairs`), and the sum of these minima is a lower bound: a Lagrangian relaxation of "the Q of one
migration is the P of the next, interval by interval".

Prices are found by block-coordinate ascent. The *excess* of an interval, the additional cost of a migration that has to
use it, is handed on to the migration that shares the interval: the giver's minimum stays what it is, the receiver's can only
rise. A partition has one interval at each position, so the excess of all intervals at one position may be handed on
whole, at k positions one k-th of it; positions are taken by residue classes of a random stride. Passes go forwards and
backwards over the course. The bound never falls, needs no step length, and usually ends within a few parts in a
thousand of the optimum.

Intervals whose use would raise the bound above a known cost are forbidden; the classes shrink until they can be listed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import spend
from edrp.mdp.best_response import PRICED_ARC_UNITS
from edrp.mdp.fitted.priced_class import PricedClass
from edrp.mdp.partitions import Boundaries
from edrp.mdp.sequence.course import Course
from edrp.mdp.sequence.dynamic_program import PathSearchTimeoutError
from edrp.mdp.sequence.partition_pairs import (
    LEFT_SIDE,
    RIGHT_SIDE,
    PairChoices,
    PairSide,
    PlacePairs,
    arc_minima,
    least_pair,
    trace_pair,
)
from edrp.mdp.sequence.subtrie import single_partition_trie, without_arcs
from edrp.mdp.trie import Trie

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
