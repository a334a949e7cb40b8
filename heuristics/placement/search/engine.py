"""What the searches need of a problem, whatever its arrays look like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from edrp.core.arrays import Ints
from edrp.heuristics.placement.search.method_parameters import ColonyParameters, KickParameters, Rule
from edrp.heuristics.placement.start import Placement
from edrp.placement.compiled import Compiled

LARGEST_SCAN = 1_000_000
"""Changes of single instances from which a look at all of them takes too long (several ms)."""


class Value(NamedTuple):
    """How good a placement is; tuples compare as the repaired rule does.

    Attributes
    ----------
    violations : limits broken, one per node and resource overloaded.
    overload : sum over these of the excess relative to the capacity.
    objective : as the problem's evaluation has it, but for rounding.

    Examples
    --------
    >>> Value(1, 0.2, 5.0) < Value(1, 0.3, 1.0) < Value(2, 0.1, 0.0)
    True
    """

    violations: int
    overload: float
    objective: float


class Engine(Protocol):
    """One problem under search, in arrays, with the best placement met since `reset`.

    A search is an iterator: each step is a bounded piece of compiled work (2 ms at most), after which it yields the
    value of the best placement met so far. Whoever drives it looks at the clock in between, reports what improved, and
    may drop the iterator at any step: `value` and `counts` are of the best placement all the same, and the next search
    goes on from there. Steps cut up the work, nothing else: the same seed ends in the same placement however many
    there were.
    """

    def reset(self, start: Placement | None, random: np.random.Generator) -> None:
        """Stand on a given placement, or on the engine's own greedy opening; either may break limits."""
        ...

    def climb(self, rule: Rule) -> Iterator[Value]:
        """Hill climbing from where it stands, up to a local optimum."""
        ...

    def colony(self, parameters: ColonyParameters, seed: int) -> Iterator[Value]:
        """The ant system; the placement where it stands deposits the current placement's pheromone."""
        ...

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[Value]:
        """Iterated local search from where it stands: kick, climb, accept."""
        ...

    def value(self) -> Value:
        """Of the best placement met since `reset`."""
        ...

    def counts(self) -> Ints:
        """The same placement as replicas per operator and node, shape (operators, nodes)."""
        ...


def engine_of(compiled: Compiled) -> Engine:
    """The engine for a problem: EDRP's own for EDRP, counts where there are many instances or nodes, else one by one.

    Examples
    --------
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> engine = engine_of(compile_problem(paper_problem("T-R7", 0.7)))
    >>> engine.reset(None, np.random.default_rng(0))
    >>> opening = engine.value()
    >>> [*engine.climb("repaired")][-1] < opening
    True
    """
    if compiled.problem.kind == "edrp":
        from edrp.heuristics.placement.search.replica_engine import ReplicaEngine

        return ReplicaEngine(compiled)
    from edrp.heuristics.placement.search.count_engine import CountEngine, crowded
    from edrp.heuristics.placement.search.instance_engine import ScoreEngine, scan_size

    if crowded(compiled) or scan_size(compiled) > LARGEST_SCAN:
        return CountEngine(compiled)
    return ScoreEngine(compiled)
