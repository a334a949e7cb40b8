"""The engine of topologies with many instances: counts per operator and node, never single instances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edrp.core.arrays import Ints, UInts
from edrp.heuristics.placement.search.acceptance import OBJECTIVE
from edrp.heuristics.placement.search.count_arrays import count_tables, paths_of
from edrp.heuristics.placement.search.count_filling import Taste, Trails
from edrp.heuristics.placement.search.count_kicks import BEST_CLOCK, CLIMBING, DONE, KEPT_CLOCK, Memory, build, keep, search_on
from edrp.heuristics.placement.search.count_moves import LEAST
from edrp.heuristics.placement.search.count_state import Counts, add
from edrp.heuristics.placement.search.engine import Value
from edrp.heuristics.placement.search.method_parameters import ColonyParameters, KickParameters, Rule
from edrp.heuristics.placement.start import Placement
from edrp.placement.compiled import Compiled

WORK = 40_000
"""Places compared in one step; takes up to about 2 ms."""

FILLINGS = 20
"""Fillings tried beyond the greedy one while nodes are overloaded."""

MANY_INSTANCES = 500
"""Instances from which counting them is worth while on any network."""

MANY_NODES = 64
"""Nodes from which it is on networks described by zones, where many nodes are equal."""


def crowded(compiled: Compiled) -> bool:
    """Whether this engine is made for a problem: many instances, or a cluster of many equal nodes.

    Examples
    --------
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.placement.latency_aware import LatencyAwareProblem
    >>> racks = {"nodes": [{"name": f"host{u}", "zone": f"rack{u % 4}"} for u in range(80)]}
    >>> racks |= {"within_zone": {"delay": 5e-5}, "between_zones": {"delay": 2.5e-4}}
    >>> problem = LatencyAwareProblem(application={"operators": [{"name": "read", "instances": 3}]}, network=racks)
    >>> crowded(compile_problem(problem))
    True
    """
    cluster = bool(compiled.problem.network.classes) and len(compiled.nodes) >= MANY_NODES
    return cluster or int(compiled.max_replicas.sum()) >= MANY_INSTANCES


class CountEngine:
    """Searches for topologies of any number of instances on any number of nodes; the work grows with operators and nodes.

    Equal empty nodes are one place to go, and instances move by the batch: as many as there are and fit, which for a
    given pair of nodes is always best, or none.
    """

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._paths = paths_of(compiled)
        self._tables = count_tables(compiled, self._paths)
        self._now, self._memory = Counts.nothing(self._tables), Memory.nothing(self._tables)

    def reset(self, start: Placement | None, random: np.random.Generator) -> None:
        """Stand on a given placement, or fill node by node what joins most; with some noise where that finds no room."""
        self._now, self._memory = Counts.nothing(self._tables), Memory.nothing(self._tables)
        if start is not None:
            self._stand(start.counts(self._compiled))
            return
        taste = Taste.greedy(self._tables, random.integers(2**63, size=1).astype(np.uint64))
        self._build(taste)
        for _ in range(FILLINGS):
            if self.value().violations == 0:
                break
            taste.noise[0] = 1.0
            self._build(taste)

    def climb(self, rule: Rule) -> Iterator[Value]:
        """Batches move, trade places, or leave a node for an empty one of another class, until nothing is better."""
        yield from self._search(Taste.greedy(self._tables, np.zeros(1, np.uint64)), rule, 0, np.inf)

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[Value]:
        """Climb; then place anew what up to three nodes run, or two operators that belong together, and climb again."""
        random = _stream(seed)
        yield from self._search(Taste.greedy(self._tables, random), "repaired", parameters.kicks, parameters.tolerance)

    def colony(self, parameters: ColonyParameters, seed: int) -> Iterator[Value]:
        """The ant system, where trails join operators instead of leading to nodes.

        Equal nodes can trade names, so that a trail from an operator to a node would say nothing that holds for the next
        ant. Ants fill node by node, and the trail between an operator and those on the node takes the place of the trail in
        eq. 2; an ant leaves on the trail of two operators its deposit times the share of their pairs that it co-locates.
        Ants overload nodes only where nothing has room, at any load.
        """
        best, ants = self._memory, Trails(self._tables, parameters)
        ants.deposit(best.best, float(best.best_value[OBJECTIVE]), parameters.current_deposits)
        random = _stream(seed)
        stagnant = 0
        for _ in range(parameters.iterations):
            before, built = self.value(), []
            for _ in range(parameters.ants):
                self._build(ants.taste(random))
                built.append((self._now.held.copy(), float(best.value[OBJECTIVE])))
                yield self.value()
            ants.evaporate()
            for held, objective in built:
                ants.deposit(held, objective, 1.0)
            if parameters.rule == "repaired":
                ants.deposit(best.best, float(best.best_value[OBJECTIVE]), parameters.elitist_deposits)
            stagnant = 0 if self.value() < before else stagnant + 1
            if stagnant == parameters.stagnation:
                break

    def value(self) -> Value:
        """Of the best placement met since `reset`."""
        violations, overload, objective = self._memory.best_value
        return Value(int(violations), float(overload), float(objective))

    def counts(self) -> Ints:
        """The same placement, shape (operators, nodes)."""
        return self._memory.best.copy()

    def _nothing_is_better(self) -> bool:
        """Whether all is on one node that costs no more than any."""
        violations, _, objective = self.value()
        return violations == 0 and objective <= self._tables.node_price.min() + LEAST * self._tables.everything

    def _build(self, taste: Taste) -> None:
        build(self._tables, self._now, self._paths, self._memory, taste)

    def _stand(self, counts: Ints) -> None:
        self._now = Counts.nothing(self._tables)
        self._memory.tally[BEST_CLOCK] = self._memory.tally[KEPT_CLOCK] = 0
        for a, s in zip(*np.nonzero(counts), strict=True):
            add(self._tables, self._now, a, s, counts[a, s])
        keep(self._tables, self._now, self._paths, self._memory)

    def _search(self, taste: Taste, rule: Rule, kicks: int, tolerance: float) -> Iterator[Value]:
        memory = self._memory
        if not np.array_equal(self._now.held, memory.best):  # whoever drove the search before dropped it
            self._stand(memory.best)
        memory.tally[DONE], memory.tally[CLIMBING], done = 0, 1, False
        while not (done or self._nothing_is_better()):
            arguments = (taste, rule == "repaired", kicks, tolerance, WORK)
            done = search_on(self._tables, self._now, self._paths, memory, *arguments)
            yield self.value()


def _stream(seed: int) -> UInts:
    """State of the random numbers inside kernels."""
    return np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
