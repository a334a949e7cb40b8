"""The searches as methods, with their starts, stopping rules and reports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.budget import now, passed
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Options
from edrp.core.solution import Answer, StoppedBecause
from edrp.heuristics.placement.deployment_starts import best_start, given_starts, random_fit
from edrp.heuristics.placement.filling import PlacementHeuristic, checked_answer
from edrp.heuristics.placement.quotient_annealing import cluster_start
from edrp.heuristics.placement.search.count_engine import CountEngine, suits_counts
from edrp.heuristics.placement.search.deployment_engine import DeploymentEngine, too_many_pairs
from edrp.heuristics.placement.search.search_engine import (
    ClimbingParameters,
    ColonyParameters,
    KickParameters,
    PlacementValue,
    SearchEngine,
)
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled

MAX_LISTED_CANDIDATES = 32
"""Number of candidates up to which `search_deployments` considers all (edrp/native/heuristics/placement/change_lists.hpp)."""


class SearchRun:
    """One run of a method: its engine, its clock, and its reports of better placements."""

    def __init__(self, engine: SearchEngine, options: Options) -> None:
        self.engine = engine
        self.options = options
        self.reported = np.inf

    def drive(self, steps: Iterator[PlacementValue], units: float) -> StoppedBecause:
        """Run the steps of a search until it ends or its units of work are spent; report feasible placements."""
        until = now() + units
        for value in steps:
            if value.violations == 0 and value.objective < self.reported:
                self.reported = value.objective
                self.options.tell(value.objective)
            if passed(until):
                return "time_limit"
        return "finished"

    def restart(self, steps: Callable[[int], Iterator[PlacementValue]], stopped: StoppedBecause) -> StoppedBecause:
        """Search again while the limit lasts: from random placements, and every second time from the best one.

        The engine ends with the best placement of all searches.
        """
        compiled, engine, options = self.engine.compiled, self.engine, self.options
        value, counts, generator = engine.value(), engine.counts(), np.random.default_rng([options.seed, 1])
        try:
            while stopped == "finished" and options.goes_on and (value.violations or value.objective > 0):
                seed = int(generator.integers(2**31))
                engine.reset(random_fit(compiled, generator) if seed % 2 else counts, generator)
                stopped = self.drive(steps(seed), options.remaining)
                if engine.value() < value:
                    value, counts = engine.value(), engine.counts()
        finally:
            if value < engine.value():
                engine.reset(counts, generator)
        return stopped


class SearchMethod(PlacementHeuristic):
    """Base of methods over an engine; starts are the given and current placements, or the engine's own.

    Attributes
    ----------
    parameters
        Dataclass of the method's parameters.
    """

    def obstacle(self, problem: Any) -> str | None:
        """Refuse deployments of very many replicas, where they are not counted by node."""
        if problem.kind != "edrp" and not problem.rules:
            return None
        return too_many_pairs(compile_problem(problem))

    def place(self, compiled: Compiled, parameters: Any, options: Options) -> Answer:
        """Search; the answer is the best placement visited, as the problem evaluates it."""
        starts = given_starts(compiled, options)
        try:
            starts += self.additional_starts(compiled, options)
            engine = self.engine(compiled)
            self._begin(engine, starts, np.random.default_rng(options.seed))
        except OutOfTimeError as error:
            return best_start(compiled, starts, error)
        try:
            stopped = self.search(SearchRun(engine, options), parameters)
        except KeyboardInterrupt:
            stopped = "interrupted"
        except OutOfTimeError:
            stopped = "time_limit"
        return checked_answer(compiled, engine.counts(), stopped)

    def engine(self, compiled: Compiled) -> SearchEngine:
        """The engine that the method drives."""
        return make_engine(compiled)

    @staticmethod
    def _begin(engine: SearchEngine, starts: list[Ints], random: np.random.Generator) -> None:
        """Start from the best of some placements, or from the engine's own where there are none."""
        values = []
        for start in starts:
            engine.reset(start, random)
            values.append(engine.value())
        best = values.index(min(values)) if values else None
        if best is None or best != len(values) - 1:
            engine.reset(None if best is None else starts[best], random)

    def additional_starts(self, compiled: Compiled, options: Options) -> list[Ints]:
        """Return further placements to start from, which depend on the method."""
        return []

    @abstractmethod
    def search(self, run: SearchRun, parameters: Any) -> StoppedBecause:
        """Drive the engine's searches."""


def make_engine(compiled: Compiled) -> SearchEngine:
    """Choose the engine for a problem: counts where co-location decides the objective, else or with rules whole deployments.

    Examples
    --------
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> engine = make_engine(compile_problem(paper_problem("T-R7", 0.7)))
    >>> engine.reset(None, np.random.default_rng(0))
    >>> first = engine.value()
    >>> [*engine.climb("repaired")][-1] < first
    True
    """
    whole = compiled.problem.kind == "edrp" or len(compiled.rules) > 0
    if whole or (too_many_pairs(compiled) is None and not suits_counts(compiled)):
        return DeploymentEngine(compiled)
    return CountEngine(compiled)


class HillClimbing(SearchMethod):
    """Hill climbing (latency-aware placement, 4.3.1): makes the best single change until none improves."""

    name = "hill-climbing"
    summary = "move, swap, move all of a node (replicate, retire) while that is better; the fastest answer"
    parameters = ClimbingParameters

    def search(self, run: SearchRun, parameters: ClimbingParameters) -> StoppedBecause:
        """Climb once."""
        return run.drive(run.engine.climb(parameters.rule), run.options.remaining)


class AntSystem(SearchMethod):
    """Ant system (latency-aware placement, 4.3.2): draws placements at random, guided by the pheromone of good ones."""

    name = "ant-system"
    summary = "placements drawn by pheromone and co-location, eqs. 2 to 5 of latency-aware placement"
    parameters = ColonyParameters

    def engine(self, compiled: Compiled) -> SearchEngine:
        """Choose the engine: on few nodes, ants that draw a node for each replica are faster and more often feasible."""
        few = len(compiled.nodes) <= MAX_LISTED_CANDIDATES and too_many_pairs(compiled) is None
        return DeploymentEngine(compiled) if few else make_engine(compiled)

    def search(self, run: SearchRun, parameters: ColonyParameters) -> StoppedBecause:
        """Run one colony."""
        return run.drive(run.engine.colony(parameters, run.options.seed), run.options.remaining)


class Hybrid(AntSystem):
    """Hybrid (latency-aware placement, 4.3.3): the ant system, then hill climbing from its best, half of the time each."""

    name = "hybrid"
    summary = "ant system, then hill climbing from its best placement"

    def search(self, run: SearchRun, parameters: ColonyParameters) -> StoppedBecause:
        """Run one colony, then one climb."""
        first = run.drive(run.engine.colony(parameters, run.options.seed), run.options.remaining / 2)
        then = run.drive(run.engine.climb(parameters.rule), run.options.remaining)
        return first if then == "finished" else then


class IteratedLocalSearch(SearchMethod):
    """Iterated local search (not in the paper): climb, disturb, climb again, and continue from nearly best placements."""

    name = "iterated-local-search"
    summary = "hill climbing again and again from a disturbed placement; the recommended heuristic"
    parameters = KickParameters

    def additional_starts(self, compiled: Compiled, options: Options) -> list[Ints]:
        """Add a start over classes of equal nodes on clusters, unless moves of current replicas count."""
        if compiled.current is not None and compiled.weight["downtime"] > 0:
            return []  # the climb from there would not come near to what runs now again
        start = cluster_start(compiled, options.seed, lambda: options.remaining <= 0)
        return [] if start is None else [start]

    def search(self, run: SearchRun, parameters: KickParameters) -> StoppedBecause:
        """Kick as often as the parameters ask; under a limit in one run after the other while it lasts."""
        stopped = run.drive(run.engine.kicks(parameters, run.options.seed), run.options.remaining)
        if parameters.kicks is None:
            stopped = run.restart(lambda seed: run.engine.kicks(parameters, seed), stopped)
        return stopped


METHODS = (HillClimbing(), AntSystem(), Hybrid(), IteratedLocalSearch())
"""Methods for problems of kinds `edrp` and `latency-aware`."""
