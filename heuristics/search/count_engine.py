"""The engine of topologies with many instances: counts per operator and node, never single instances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from edrp.compiled import Compiled
from edrp.heuristics.search.count_filling import Taste
from edrp.heuristics.search.count_kicks import CLIMBING, DONE, Memory, build, keep, search_on
from edrp.heuristics.search.count_paths import paths_of
from edrp.heuristics.search.count_state import Counts, add
from edrp.heuristics.search.count_tables import count_tables
from edrp.heuristics.search.engine import Value
from edrp.heuristics.search.parameters import ColonyParameters, KickParameters, Rule
from edrp.heuristics.start import Placement

WORK = 40_000
"""Places compared in one step; takes up to about 2 ms."""


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
        """Stand on a given placement, or fill node by node what joins most; `random` plays no part."""
        self._now, self._memory = Counts.nothing(self._tables), Memory.nothing(self._tables)
        if start is None:
            self._build(Taste.greedy(self._tables, np.zeros(1, np.uint64)))
        else:
            self._stand(start.counts(self._compiled))

    def climb(self, rule: Rule) -> Iterator[Value]:
        """Batches move, trade places, or leave a node for an empty one of another class, until nothing is better."""
        yield from self._search(Taste.greedy(self._tables, np.zeros(1, np.uint64)), rule, 0, np.inf)

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[Value]:
        """Climb; then empty up to three nodes, fill anew and climb, again and again."""
        random = np.random.SeedSequence(seed).generate_state(1, np.uint64)
        yield from self._search(Taste.greedy(self._tables, random), "repaired", parameters.kicks, parameters.tolerance)

    def colony(self, parameters: ColonyParameters, seed: int) -> Iterator[Value]:
        raise NotImplementedError

    def value(self) -> Value:
        """Of the best placement met since `reset`."""
        violations, overload, objective = self._memory.best_value
        return Value(int(violations), float(overload), float(objective))

    def counts(self) -> NDArray[np.int64]:
        """The same placement, shape (operators, nodes)."""
        return self._memory.best.copy()

    def _build(self, taste: Taste) -> None:
        build(self._tables, self._now, self._paths, self._memory, taste)

    def _stand(self, counts: NDArray[np.int64]) -> None:
        for a, s in zip(*np.nonzero(counts), strict=True):
            add(self._tables, self._now, a, s, counts[a, s])
        keep(self._tables, self._now, self._paths, self._memory)

    def _search(self, taste: Taste, rule: Rule, kicks: int, tolerance: float) -> Iterator[Value]:
        memory = self._memory
        memory.tally[DONE], memory.tally[CLIMBING], done = 0, 1, False
        while not done:
            arguments = (taste, rule == "repaired", kicks, tolerance, WORK)
            done = search_on(self._tables, self._now, self._paths, memory, *arguments)
            yield self.value()
