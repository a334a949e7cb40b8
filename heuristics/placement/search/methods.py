"""The searches as methods: where they start, how long they run, what they report; each is one screen over an engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from edrp.core.methods import Method, Options
from edrp.core.solution import Answer, StoppedBecause
from edrp.heuristics.placement.search.engine import Engine, Value, engine_of
from edrp.heuristics.placement.search.method_parameters import ClimbingParameters, ColonyParameters, KickParameters
from edrp.heuristics.placement.start import Placement, overloaded, placement_of
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled


class Run:
    """One run of a method: its engine, its clock, and whoever wants to hear of better placements."""

    def __init__(self, engine: Engine, options: Options) -> None:
        self.engine = engine
        self.options = options
        self.reported = np.inf

    def drive(self, steps: Iterator[Value], seconds: float) -> StoppedBecause:
        """Take the steps of a search until it ends or its seconds do; an interrupt ends the whole run."""
        until = perf_counter() + seconds
        for value in steps:
            self.report(value)
            if perf_counter() >= until:
                return "time_limit"
        return "finished"

    def report(self, value: Value) -> None:
        """Tell of a placement that breaks nothing and is the best so far."""
        if value.violations == 0 and value.objective < self.reported:
            self.reported = value.objective
            if self.options.progress is not None:
                self.options.progress(self.options.elapsed, value.objective, None)


class Search(Method):
    """A method over an engine; it starts from the given or the current placement, or from the engine's opening.

    Attributes
    ----------
    parameters
        Dataclass of the method's parameters.
    """

    kinds = ("edrp", "latency-aware")

    def refusal(self, problem: Any) -> str | None:
        """Takes all problems but deployments of very many replicas."""
        if problem.kind != "edrp":
            return None
        from edrp.heuristics.placement.search.replica_engine import too_many_pairs

        return too_many_pairs(compile_problem(problem))

    def run(self, problem: Any, options: Options) -> Answer:
        """Search; the answer is the best placement met, as the problem evaluates it."""
        parameters = self.read_parameters(options)
        compiled = compile_problem(problem)
        if (hopeless := overloaded(compiled)) is not None:
            return hopeless
        engine = engine_of(compiled)
        begin(engine, starts(compiled, options), np.random.default_rng(options.seed))
        try:
            stopped = self.search(Run(engine, options), parameters)
        except KeyboardInterrupt:
            stopped = "interrupted"
        return Placement.of_counts(compiled, engine.counts()).answer(compiled, stopped)

    @abstractmethod
    def search(self, run: Run, parameters: Any) -> StoppedBecause:
        """Drive the engine's searches."""


def starts(compiled: Compiled, options: Options) -> list[Placement]:
    """The given and the current placement, where there are such and this problem allows them.

    Examples
    --------
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> starts(compile_problem(paper_problem("T-M3", 0.2)), Options())
    []
    """
    given = [start for start in (options.start, compiled.problem.current) if start is not None]
    placements = [placement_of(compiled, deployment) for deployment in given]
    return [placement for placement in placements if placement is not None]


def begin(engine: Engine, placements: list[Placement], random: np.random.Generator) -> None:
    """Stand on the best of some placements, or on the engine's opening where there are none."""
    values = []
    for placement in placements:
        engine.reset(placement, random)
        values.append(engine.value())
    best = min(range(len(values)), key=values.__getitem__, default=None)
    if best is None or best != len(values) - 1:
        engine.reset(None if best is None else placements[best], random)


class HillClimbing(Search):
    """Latency-aware placement, 4.3.1: the best single change for as long as there is one that is better.

    Examples
    --------
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> HillClimbing().run(paper_problem("T-R7", 0.7), Options()).status
    'feasible'
    """

    name = "hill-climbing"
    summary = "move, swap, move all of a node (replicate, retire) while that is better; the fastest answer"
    parameters = ClimbingParameters

    def search(self, run: Run, parameters: ClimbingParameters) -> StoppedBecause:
        """Climb once."""
        return run.drive(run.engine.climb(parameters.rule), run.options.remaining)


class AntSystem(Search):
    """Latency-aware placement, 4.3.2: placements drawn at random, guided by the pheromone of good ones.

    Examples
    --------
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> few = Options(parameters={"iterations": 20})
    >>> AntSystem().run(paper_problem("T-M3", 0.2), few).status
    'feasible'
    """

    name = "ant-system"
    summary = "placements drawn by pheromone and co-location, eqs. 2 to 5 of latency-aware placement"
    parameters = ColonyParameters

    def search(self, run: Run, parameters: ColonyParameters) -> StoppedBecause:
        """One colony."""
        return run.drive(run.engine.colony(parameters, run.options.seed), run.options.remaining)


class Hybrid(Search):
    """Latency-aware placement, 4.3.3: the ant system, then hill climbing from its best, half of the time for each.

    Examples
    --------
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> problem, few = paper_problem("T-R7", 0.7), Options(parameters={"iterations": 20})
    >>> Hybrid().run(problem, few).objective <= AntSystem().run(problem, few).objective
    True
    """

    name = "hybrid"
    summary = "ant system, then hill climbing from its best placement"
    parameters = ColonyParameters

    def search(self, run: Run, parameters: ColonyParameters) -> StoppedBecause:
        """One colony, one climb."""
        first = run.drive(run.engine.colony(parameters, run.options.seed), run.options.remaining / 2)
        then = run.drive(run.engine.climb(parameters.rule), run.options.remaining)
        return first if then == "finished" else then


class IteratedLocalSearch(Search):
    """Beyond the paper: climb, disturb, climb again, and go on from what is about as good as the best.

    Examples
    --------
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> problem = paper_problem("T-R7", 0.7)
    >>> IteratedLocalSearch().run(problem, Options()).objective < HillClimbing().run(problem, Options()).objective
    True
    """

    name = "iterated-local-search"
    summary = "hill climbing again and again from a disturbed placement; the recommended heuristic"
    parameters = KickParameters

    def search(self, run: Run, parameters: KickParameters) -> StoppedBecause:
        """Kick as often as the parameters say."""
        return run.drive(run.engine.kicks(parameters, run.options.seed), run.options.remaining)


METHODS = (HillClimbing(), AntSystem(), Hybrid(), IteratedLocalSearch())
"""For the registry."""
