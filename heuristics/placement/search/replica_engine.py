"""The engine for EDRP: replicas one by one, in deployments that are evaluated as annealing does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edrp.core.arrays import Ints, UInts
from edrp.core.errors import UnsupportedProblemError
from edrp.heuristics.placement.count_annealing import pairs_per_operator
from edrp.heuristics.placement.problem_arrays import tables_of
from edrp.heuristics.placement.replica_state import State
from edrp.heuristics.placement.search.engine import Value
from edrp.heuristics.placement.search.method_parameters import ColonyParameters, KickParameters, Rule
from edrp.heuristics.placement.search.replica_ants import Trails, deposit, march, refresh_trails
from edrp.heuristics.placement.search.replica_climbing import search
from edrp.heuristics.placement.search.replica_memory import WAITING, Memory, stand
from edrp.heuristics.placement.start import Placement, first_fit
from edrp.placement.compiled import Compiled

WORK = 200_000
"""Operators, streams and pairs of replicas looked at between two looks at the clock: about 1 ms."""

ANTS = 30
"""Pairs of a replica and a node that an ant weighs in the time of one look at a change."""


TOO_MANY_PAIRS = 10_000
"""Pairs of replicas per operator, over its streams, from which looking at them one by one is hopeless."""


def too_many_pairs(compiled: Compiled) -> str | None:
    """Why a problem is too large for this engine; None if it is not."""
    pairs = pairs_per_operator(compiled)
    if pairs <= TOO_MANY_PAIRS:
        return None
    return (
        f"replicas are looked at one by one, and operators need {pairs:,.0f} pairs of them on average, "
        f"more than {TOO_MANY_PAIRS:,}; annealing counts them by node"
    )


class ReplicaEngine:
    """An EDRP problem under search (see `Engine`).

    Raises
    ------
    UnsupportedProblemError
        Where operators need so many replicas that only annealing, which counts them by node, answers in time.

    Examples
    --------
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.datasets import layered
    >>> engine = ReplicaEngine(compile_problem(layered(6, seed=0)))
    >>> engine.reset(None, np.random.default_rng(0))
    >>> steps = list(engine.climb("repaired"))
    >>> engine.value().violations
    0
    """

    def __init__(self, compiled: Compiled) -> None:
        if (why := too_many_pairs(compiled)) is not None:
            raise UnsupportedProblemError(why)
        self.compiled = compiled
        self.tables = tables_of(compiled)
        self.now, self.old = State.empty(self.tables), State.empty(self.tables)
        self.memory = Memory.empty(self.tables)

    def reset(self, start: Placement | None, random: np.random.Generator) -> None:
        """Stand on a given placement, or on first fit."""
        self.given = start is not None
        self.memory.best[:] = np.inf
        self._stand(first_fit(self.compiled) if start is None else start, 1.0)

    def climb(self, rule: Rule) -> Iterator[Value]:
        """Hill climbing from where it stands: again and again, until no operator has a better change."""
        eye = 0.0 if rule == "printed" else 1.0
        self._stand_on_best(eye)
        before = np.full(3, np.inf)
        while not np.array_equal(before, self.memory.value):
            before = self.memory.value.copy()
            yield from self._search(0, 0.0, eye, seeded(0))

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[Value]:
        """Iterated local search from where it stands."""
        self._stand_on_best(1.0)
        yield from self._search(parameters.kicks, parameters.tolerance, 1.0, seeded(seed))

    def _search(self, kicks: int, tolerance: float, eye: float, random: UInts) -> Iterator[Value]:
        memory, looks = self.memory, self._looks()
        memory.queue[:], memory.queued[:] = np.arange(memory.queue.size), True
        memory.counters[WAITING] = memory.queue.size
        while kicks >= 0:
            kicks = search(self.tables, self.now, self.old, memory, random, kicks, tolerance, eye, looks)
            yield self.value()

    def colony(self, parameters: ColonyParameters, seed: int) -> Iterator[Value]:
        """The ant system; a given placement deposits the current placement's pheromone."""
        trails = Trails.of(self.tables, parameters)
        self._stand_on_best(trails.eye)
        if self.given:
            deposit(self.now, self.memory, trails, parameters.current_deposits)
        refresh_trails(trails, 1.0)
        random, idle = seeded(seed), 0
        most = max(1, ANTS * self._looks() // (self.tables.candidate.shape[1] * int(self.tables.max_replicas.sum())))
        for _ in range(parameters.iterations):
            idle += 1
            for first in range(0, parameters.ants, most):
                ants = min(most, parameters.ants - first)
                last = first + ants == parameters.ants
                if march(self.tables, self.now, self.memory, trails, random, ants, last):
                    idle = 0
                yield self.value()
            if idle >= parameters.stagnation:
                return

    def value(self) -> Value:
        """Of the best placement met since `reset`."""
        violations, overload, objective = self.memory.best.tolist()
        return Value(int(violations), overload, objective)

    def counts(self) -> Ints:
        """Replicas per operator and node of that placement."""
        return self._best().counts(self.compiled)

    def _best(self) -> Placement:
        return Placement(self.memory.best_place, self.memory.best_degree)

    def _stand_on_best(self, eye: float) -> None:
        placement = self._best()
        if eye == 0.0:
            self.memory.best[:] = np.inf
        self._stand(Placement(placement.place.copy(), placement.degree.copy()), eye)

    def _stand(self, placement: Placement, eye: float) -> None:
        self.now.set(placement)
        stand(self.tables, self.now, self.memory, eye)
        for copy, array in zip(self.old, self.now, strict=True):
            copy[...] = array

    def _looks(self) -> int:
        """Changes that fit in one step: each walks over all operators and streams, and over the pairs of two operators."""
        operators, streams = len(self.compiled.operators), len(self.compiled.stream_rate)
        pairs = float(np.square(self.compiled.max_replicas, dtype=float).mean()) * 2 * streams / operators
        return max(1, int(WORK / (operators + streams + 2 * pairs)))


def seeded(seed: int) -> UInts:
    """A stream of random numbers for kernels."""
    return np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
