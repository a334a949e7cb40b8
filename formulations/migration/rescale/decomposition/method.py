"""`range-decomposition`: bounds of rescalings at any time, answers found on the way, and proofs where these meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from edrp.core.budget import spend
from edrp.core.methods import Method, Options
from edrp.core.problem import SCENARIOS
from edrp.core.solution import Answer, StoppedBecause, within_gap
from edrp.formulations.migration.rescale.columns import estimated_ranges
from edrp.formulations.migration.rescale.decomposition.alternatives import Replicas
from edrp.formulations.migration.rescale.decomposition.ascent import PriceAscent
from edrp.formulations.migration.rescale.decomposition.combining import complete
from edrp.formulations.migration.rescale.decomposition.model import BoundModel, build_bound_model
from edrp.formulations.migration.rescale.decomposition.relaxation import PriceRelaxation, Relaxed
from edrp.formulations.placement.handover import finish_by_program, nothing_found, worked_until_limit
from edrp.migration.rescale.arrays import compile_rescale
from edrp.migration.rescale.documents import KeyedDeployment
from edrp.migration.rescale.metrics import RESCALE_PARTS
from edrp.migration.rescale.problem import RescaleProblem

FIRST_SHARE, LATER_SHARE = 0.35, 0.15
"""Shares of a time limit for the search before the bound, and twice again from what the bound has found."""

CLOSER_SHARE = 0.3
"""Share of a time limit that is left to ranges of shares at least, before the last search."""

SEARCH_RUNS, LAST_RUNS = 3, 10
"""Runs of the search each time, and at the end, when prices raise the bound no further."""

WORTH_A_SEARCH = 1e-4
"""Relative gain of a search at the end for which it is repeated."""

MAX_PROGRAM = 3_000
"""Columns of the program over ranges up to which it takes over where prices prove nothing more."""

PRICE_EVALUATIONS, MAX_PRICE_EVALUATIONS = 400, 1_000_000
"""Evaluations of prices without a time limit, and with one."""

PARTS = (1.0, 0.5, 0.25)
"""Parts of the gap, from below, of which all alternatives are listed; the next one where they are too many."""

MAX_RULED = 20_000
"""Deployments within a part of the gap up to which these are evaluated under rules, which leave many of them out."""

EVALUATION_UNITS = 5e-4
"""Units of work per deployment that is evaluated under rules."""

TAKEN_OVER = "prices raised the bound no further; the program over ranges took over"


@dataclass(frozen=True, slots=True)
class DecompositionParameters:
    """Numbers of price changes per phase.

    Attributes
    ----------
    rounds : evaluations of prices at most; None for as many as a time limit allows, and 400 without one.
    """

    rounds: int | None = None

    def __post_init__(self) -> None:
        if self.rounds is not None and self.rounds < 1:
            raise ValueError(f"rounds must be at least 1, got {self.rounds}")


class RangeDecomposition(Method):
    """Lagrangean decomposition by operator: prices of paths, slots, transfers and traffic, a dynamic program along the tasks."""

    name = "range-decomposition"
    kinds = ("rescale",)
    takes = RESCALE_PARTS - {SCENARIOS}  # its prices are of one load
    exact = True
    summary = "bounds at any time: prices take the problem apart into one dynamic program along the tasks for each operator"
    parameters = DecompositionParameters

    def __init__(self, heuristic: Method | None = None) -> None:
        self.heuristic = heuristic

    def run(self, problem: RescaleProblem, options: Options) -> Answer:
        """Prove the optimum, or return answer, bound and gap when time runs out or prices raise the bound no further."""
        parameters: DecompositionParameters = self.read_parameters(options)
        if clashes := problem.clashes():
            return Answer("infeasible", "finished", notes=clashes)
        rounds = parameters.rounds or (PRICE_EVALUATIONS if options.limit == np.inf else MAX_PRICE_EVALUATIONS)
        answer = _BoundedSearch(problem, options, self.heuristic).run(rounds)
        if estimated_ranges(problem) > MAX_PROGRAM:
            return answer
        return finish_by_program(problem, answer, replace(options, parameters={}), self.name, TAKEN_OVER)


class _BoundedSearch:
    """The best answer and the best bound, which is that of keeping everything or of changing something."""

    def __init__(self, problem: RescaleProblem, options: Options, heuristic: Method | None) -> None:
        self.problem, self.options, self.heuristic = problem, options, heuristic
        self.decision: KeyedDeployment | None = None
        self.objective, self.bound = np.inf, -np.inf
        self.evaluations, self.ceiling = 0, np.inf
        for start in (options.start, problem.current):
            if start is not None:
                self._hold(start)
        current = problem.current
        self.keeping = np.inf if current is None else self._value(current)

    def run(self, rounds: int) -> Answer:
        """Search, raise the bound, and search again from what it has found."""
        return self._answer(worked_until_limit(self.options, lambda: self._work(rounds)))

    def _work(self, rounds: int) -> StoppedBecause:
        """Search, then raise the bound, first without ranges of shares."""
        self._search(FIRST_SHARE)
        model = build_bound_model(compile_rescale(self.problem))
        self.ceiling = model.ceiling
        if model.hopeless:
            self.bound = np.inf
            return "finished"
        ascent = self._raised(model, rounds, 2 * LATER_SHARE + CLOSER_SHARE, None)
        if not self._proven() and ascent.relaxed.choices:
            self._search(LATER_SHARE, model.arrays.deployment([choice.replicas for choice in ascent.relaxed.choices]))
        closer = model.with_ranges()
        if not self._proven() and closer.sets.ranges and np.isfinite(ascent.bound):
            ascent = self._raised(closer, rounds - self.evaluations, LATER_SHARE, ascent)
        if not self._proven() and np.isfinite(ascent.bound):
            self._complete(ascent)
        self._search_on()
        return "finished" if ascent.finished or self._proven() else "iteration_limit"

    def _raised(self, model: BoundModel, rounds: int, reserved: float, before: PriceAscent | None) -> PriceAscent:
        """Raise the bound over the states of a model, but for a reserved share of a time limit."""
        target = self.objective if self.decision is not None else min(self.ceiling, 1.0)
        ascent = PriceAscent(PriceRelaxation(model), target, before)

        def note(relaxed: Relaxed) -> bool:
            """Keep bound and choices of an evaluation; whether nothing is left to be proven, or no time for it."""
            self.evaluations += 1
            limit = self.options.limit
            spent = limit < np.inf and self.options.remaining < reserved * limit
            if relaxed.choices:
                self._hold(model.arrays.deployment([choice.replicas for choice in relaxed.choices]))
            self.bound = max(self.bound, min(ascent.bound, self.keeping))
            self._report()
            return self._proven() or spent

        if not note(ascent.relaxed):
            ascent.run(rounds, note)
        return ascent

    def _complete(self, ascent: PriceAscent) -> None:
        """Look at all that the gap leaves open, or at what is in the lower part of it."""
        for part in PARTS if self.decision is not None else ():
            least, told = ascent.bound + part * (self._aim() - ascent.bound), count(1)

            def improve(replicas: list[Replicas], least: float = least, told: Iterator[int] = told) -> float:
                self._hold(ascent.model.arrays.deployment(replicas))
                if self.problem.rules:
                    spend(EVALUATION_UNITS)
                    if next(told) > MAX_RULED:
                        return -np.inf
                return min(least, self._aim())

            reached = complete(ascent.relaxation, ascent.blocks, ascent.best, least, improve)
            if reached is not None and reached > -np.inf:
                self.bound = max(self.bound, min(reached, self.keeping))
                self._report()
                return

    def _aim(self) -> float:
        """A bound that proves the answer."""
        return self.objective - 0.4 * self.options.gap * abs(self.objective)

    def _proven(self) -> bool:
        """Whether the answer is as good as the bound, or nothing is feasible."""
        if self.decision is None:
            return self.bound > self.ceiling
        return self.objective - self.bound <= 0.5 * self.options.gap * abs(self.objective)

    def _search_on(self) -> None:
        """Search from the best answer, with other random numbers each time, until that gains little or time is up."""
        before = np.inf
        for number in count(1):
            if self._proven() or self.options.remaining <= 0 or self.objective > (1 - WORTH_A_SEARCH) * before:
                return
            before = self.objective
            self._search(LATER_SHARE, runs=LAST_RUNS, seed=self.options.seed + number)
            if self.decision is None:
                return

    def _search(
        self, share: float, start: KeyedDeployment | None = None, *, runs: int = SEARCH_RUNS, seed: int | None = None
    ) -> None:
        """Let the search go on from what is known, for a share of a time limit."""
        if self.heuristic is None:
            return
        part = self.options.within(share * self.options.limit)
        start = start or self.decision or self.options.start
        seed = self.options.seed if seed is None else seed
        answer = self.heuristic.run(self.problem, replace(part, start=start, seed=seed, parameters={"runs": runs}))
        if answer.decision is not None:
            self._hold(answer.decision)
            self._report()

    def _value(self, deployment: KeyedDeployment) -> float:
        evaluation = self.problem.evaluate(deployment)
        return evaluation.objective if evaluation.feasible else np.inf

    def _hold(self, deployment: KeyedDeployment) -> None:
        """Keep a deployment that is feasible and better than what is held."""
        objective = self._value(deployment)
        if objective < self.objective:
            self.objective, self.decision = objective, deployment

    def _report(self) -> None:
        self.options.tell(None if self.decision is None else self.objective, min(self.bound, self.objective))

    def _answer(self, stopped: StoppedBecause) -> Answer:
        size = {"evaluations": self.evaluations}
        if self.decision is None:
            if self.bound == np.inf or self.bound > self.ceiling:
                return Answer("infeasible", "finished", size=size)
            return nothing_found(stopped, self.bound, size)
        bound = min(self.bound, self.objective) if np.isfinite(self.bound) or self.bound > 0 else None
        proven = bound is not None and within_gap(self.objective, bound, self.options.gap)
        return Answer(
            status="optimal" if proven else "feasible",
            stopped_because="finished" if proven else stopped,
            decision=self.decision,
            objective=self.objective,
            bound=bound,
            size=size,
        )
