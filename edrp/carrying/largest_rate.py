"""The largest multiple of a load that any deployment carries, with a proof of both sides."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from edrp.backends.base import ProgramResult
from edrp.backends.registry import get_backend
from edrp.backends.solving import solve_program
from edrp.carrying.monotone import refuse_falling
from edrp.core.arguments import check_arguments, refuse_other_kinds
from edrp.core.budget import interruptible, running, units_left
from edrp.core.errors import OutOfTimeError, ProblemWarning, UnsupportedProblemError, VerificationError
from edrp.core.files import write_whole
from edrp.core.folders import filling
from edrp.core.instances import save
from edrp.core.methods import get_method
from edrp.core.solution import Status, StoppedBecause
from edrp.core.solve import solve
from edrp.core.tolerances import OPTIMALITY_GAP, RATE_GAP, RATE_STEP, SAME_VALUE
from edrp.formulations.methods import ProgramMethod
from edrp.formulations.placement.carrying.classes import carry_by_classes
from edrp.formulations.placement.carrying.program import carrying_program, highest_in_time, highest_multiple
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem, EdrpSolution
from edrp.placement.throughput import Carried, GrowingLoad

BEST_WORK = 20.0
"""Units of work at most for the best deployment."""

STEP_GROWTH = 10.0
"""Factor of the step to the next multiple that is asked for where a solver can say nothing of one."""

FIRST_WORK, PATIENCE_GROWTH = 0.5, 2.0
"""Units of work of the first program, and the factor by which later ones get more where one has said nothing."""

SEARCH, SEARCH_WORK, MAX_FRUITLESS = "iterated-local-search", 0.5, 4
"""Method that looks for fast deployments where programs are hard, its units of work for each, and after how many it gives up."""

WIDE = 1.01
"""Ratio of both sides above which questions in the middle are asked where programs are hard."""

ANY_GAP = 1e9
"""Gap of a program of which any feasible point will do."""


@dataclass(frozen=True)
class LargestRate:
    """The largest multiple of a load; `best` is solved for when it is first asked for.

    Attributes
    ----------
    status : "optimal" where `bound` proves that nothing carries more than `multiple`, but for 1e-5 of it, else "feasible";
        "unbounded" where nothing limits it; "infeasible" where that is proven at rate 0; "none" where nothing was found.
    stopped_because : why the search ended.
    multiple : the supremum of the multiples that `deployment` carries; infinite if unbounded, None without a deployment.
    attained : whether the deployment carries `multiple` itself; a queue only approaches its service rate.
    bound : a multiple above which it is proven that nothing is feasible; None where nothing is proven.
    deployment : a deployment that carries every multiple below `multiple`.
    binding : what keeps the deployment from carrying more, in words.
    clashes, remedies : why nothing is feasible and what would help, in words.
    method, solves, seconds : backend, number of programs that it solved, and time that it took.
    notes : sentences for the user.
    load, margin, seed : what was asked for.
    """

    status: Status
    stopped_because: StoppedBecause
    multiple: float | None
    attained: bool
    bound: float | None
    deployment: Deployment | None
    binding: str
    clashes: tuple[str, ...]
    remedies: tuple[str, ...]
    method: str
    solves: int
    seconds: float
    notes: tuple[str, ...]
    margin: float
    seed: int
    load: GrowingLoad = field(repr=False, compare=False)

    @property
    def finite(self) -> bool:
        """Whether there is a largest multiple."""
        return self.multiple is not None and math.isfinite(self.multiple)

    @property
    def gap(self) -> float | None:
        """`bound` / `multiple` − 1, 0 where they are the same but for rounding; None without a bound."""
        if self.bound is None or not self.multiple:
            return None
        gap = self.bound / self.multiple - 1
        return gap if gap > SAME_VALUE else 0.0

    @property
    def rates(self) -> dict[str, float]:
        """Tuples/s of every source at `multiple`; none where there is no such."""
        factor = dict.fromkeys(self.load.growing, self.multiple or 0.0)
        return {name: rate * factor.get(name, 1.0) for name, rate in self.load.sources.items()} if self.finite else {}

    @property
    def just_below(self) -> float:
        """The multiple a margin below the largest one; 0 where there is none."""
        return (self.multiple or 0.0) * (1 - self.margin) if self.finite else 0.0

    def problem_at(self, multiple: float) -> EdrpProblem:
        """The problem at a multiple, with a limit of 1 on peak load where there are shared resources."""
        return self.load.at(multiple)

    @cached_property
    def best(self) -> EdrpSolution:
        """The deployment that is best by the usual weights a margin below the largest multiple, solved for at first use.

        That takes at most `BEST_WORK` units of work, and raises an UnsupportedProblemError where there is no finite multiple.
        """
        if not self.finite:
            raise UnsupportedProblemError(f"there is no largest rate below which a deployment could be best: {self.status}")
        return solve(self.problem_at(self.just_below), start=self.deployment, seed=self.seed, work_limit=BEST_WORK)

    def certify(self, folder: str | Path, *, force: bool = False) -> tuple[str, ...]:
        """Write instance, solution and certificate of both sides to a folder; return in words which has no certificate, and why.

        "carried" is the problem a margin below the largest rate, which asks for nothing but a deployment; "beyond" is just above
        the bound, and infeasible. `edrp check NAME.json NAME.solution.json NAME.cert` checks each, in exact arithmetic. `force`
        replaces files that others wrote; an UnwritableError says that files cannot be written there.
        """
        sides: dict[str, tuple[EdrpProblem, Deployment | None]] = {}
        if self.finite:
            sides["carried"] = without_objective(self.problem_at(self.just_below)), self.deployment
        if self.bound is not None or self.status == "infeasible":
            sides["beyond"] = self.problem_at((self.bound or 0.0) * (1 + RATE_STEP)), None
        notes = []
        with filling(folder, force=force) as stage, warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)
            for name, (problem, start) in sides.items():
                solution = solve(problem, self.method, start=start, certify=True)
                save(problem, stage / f"{name}.json")
                save(solution, stage / f"{name}.solution.json")
                if solution.certificate is None:
                    notes.append(f"{name}: {'; '.join(solution.notes) or solution.status}")
                else:
                    write_whole(stage / f"{name}.cert", solution.certificate)
        return tuple(notes)

    def to_document(self) -> dict[str, Any]:
        """The answer as JSON; infinite numbers are null, as the status says."""
        document = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "load"}
        document |= {"multiple": self.multiple if self.finite else None, "gap": self.gap, "rates": self.rates}
        return {**document, "deployment": None if self.deployment is None else dict(self.deployment)}


def without_objective(problem: EdrpProblem) -> EdrpProblem:
    """The problem with an objective that is 0 for every feasible deployment, if its limits allow that.

    That is the downtime of an initial placement; where the downtime has a limit, the current deployment stays, and so does it.
    """
    if problem.limits.of("downtime") is not None and problem.current is not None:
        return problem
    limits = problem.limits.replace(downtime=1.0)
    return problem.replace(weights={"downtime": 1.0}, limits=limits, current=None, priorities=())


def largest_rate(
    problem: EdrpProblem,
    *,
    scale: Sequence[str] | None = None,
    method: str = "auto",
    seed: int = 0,
    time_limit: float | None = None,
    work_limit: float | None = None,
    margin: float = 1e-3,
    start: Deployment | None = None,
    certificate: str | Path | None = None,
) -> LargestRate:
    """Find the largest multiple of the rates for which a deployment exists.

    That is the supremum over all deployments that meet rules, resources and limits, with no replica overloaded and no shared
    resource asked for more than its capacity. A program minimises its reciprocal; where that is inexact, further programs ask
    for a deployment that carries more than the best one so far, until there is none.

    Parameters
    ----------
    problem
        The load of multiple 1.
    scale
        Names of the sources that grow, "source → target" for streams with a rate of their own; None for all.
    method
        A backend, such as "highs"; "auto" for the default one.
    seed, time_limit, work_limit
        As in `edrp.solve`.
    margin
        Share of the multiple by which `LargestRate.best` and the certificate stay below it.
    start
        A deployment to start from, if any.
    certificate
        Folder for what `LargestRate.certify` writes; a note says which side has no certificate.

    Raises
    ------
    InvalidInstanceError
        The problem has no source, or `scale` names what is none.
    UnsupportedProblemError
        The problem is of another kind, the method is no backend, or a deployment may carry a high rate and not a low one.

    Examples
    --------
    >>> queue = {"model": "mm1", "service_rate": 60}
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "work", "external_rate": 100, "max_replicas": 3, "latency": queue}]},
    ...     network={"nodes": [{"name": "a", "resources": 2}]}, weights={"cost": 1}, limits={"cost": 1},
    ... )
    >>> largest = largest_rate(problem)
    >>> largest.status, largest.multiple, largest.attained, largest.rates
    ('optimal', 1.2, False, {'work': 120.0})
    """
    limits = {"time_limit": time_limit, "work_limit": work_limit}
    check_arguments("edrp.largest_rate", problem=problem, method=method, seed=seed, **limits)
    refuse_other_kinds("edrp.largest_rate", problem, EdrpProblem)
    started = perf_counter()
    load = GrowingLoad(problem, tuple(scale or ()))
    refuse_falling(load)
    search = _Search(load, _backend(method, problem), seed)
    if start is not None:
        search._take(problem.read_decision(start, "start"))
    with running(**limits) as run, interruptible(run):
        with suppress(OutOfTimeError):  # while a program was made
            search.run()
        search.verify()
        cut: StoppedBecause = "interrupted" if run.interrupted else "time_limit" if run.over else "work_limit"
        largest = search.answer(cut if search.stopped or run.interrupted else "finished", perf_counter() - started, margin)
    return largest if certificate is None else replace(largest, notes=(*largest.notes, *largest.certify(certificate)))


def _backend(method: str, problem: EdrpProblem) -> str:
    """Name of the backend of a method, which takes the problem."""
    chosen = get_method("highs" if method == "auto" else method, problem.kind)
    if not isinstance(chosen, ProgramMethod):
        why = f"the largest rate is the optimum of a program, and method {method!r} solves none"
        raise UnsupportedProblemError(why, 'use a backend such as "highs", or "auto"')
    get_backend(chosen.backend)
    return chosen.name


class _Search:
    """The search between a multiple that a deployment carries and one that is proven to be out of reach."""

    def __init__(self, load: GrowingLoad, method: str, seed: int) -> None:
        self.load, self.method, self.seed = load, method, seed
        self.carried = Carried(None)
        self.deployment: Deployment | None = None
        self.highest = math.inf
        self.solves = 0
        self.graded = self.infeasible = self.hard = False
        self.stopped = True
        self.step, self.patience = RATE_STEP, FIRST_WORK
        self.notes: list[str] = []

    @property
    def closed(self) -> bool:
        """Whether nothing is left between both sides but a step."""
        multiple = self.carried.multiple
        return multiple is not None and self.highest <= multiple * (1 + RATE_GAP) * (1 + SAME_VALUE)

    @property
    def status(self) -> Status:
        """The best that can be claimed."""
        if self.infeasible:
            return "infeasible"
        if self.carried.multiple is None:
            return "none"
        if math.isinf(self.carried.multiple):
            return "unbounded"
        return "optimal" if self.closed else "feasible"

    @property
    def bound(self) -> float | None:
        """The multiple above which nothing is feasible."""
        return None if math.isinf(self.highest) or self.infeasible else max(self.highest, self.carried.multiple or 0.0)

    def answer(self, stopped_because: StoppedBecause, seconds: float, margin: float) -> LargestRate:
        """The deployment and the bound found; where nothing is feasible, the solution at rate 0 says why."""
        why = solve(self.load.start) if self.status == "infeasible" else None
        return LargestRate(
            status=self.status,
            stopped_because=stopped_because,
            multiple=self.carried.multiple,
            attained=self.carried.attained,
            bound=self.bound,
            deployment=self.deployment,
            binding=self.carried.binding,
            clashes=why.clashes if why else (),
            remedies=why.remedies if why else (),
            method=self.method,
            solves=self.solves,
            seconds=seconds,
            notes=tuple(dict.fromkeys(self.notes)) if self.status in ("feasible", "none") else (),
            margin=margin,
            seed=self.seed,
            load=self.load,
        )

    def run(self) -> None:
        """Narrow both sides until they meet; limits on metrics that grow with the rate count from when one binds."""
        self.highest = highest_in_time(self.load, max(0.0, highest_multiple(self.load)))
        limit = units_left() if math.isfinite(units_left()) else None
        if classes := carry_by_classes(self.load, backend=self.method, seed=self.seed, work_limit=limit):
            self.highest, self.solves = min(self.highest, classes.bound), classes.solves
            if classes.deployment is not None:
                self._take(classes.deployment)
        while not self.closed and math.isfinite(self.carried.multiple or 0.0) and self.step <= 1 and not self.infeasible:
            lowest, optimal = self._question()
            if lowest >= self.highest > 0:
                break
            before = self.carried.multiple, self.highest, self.graded
            result = self._ask(lowest, optimal)
            if result.stopped_because != "finished" and not self.hard:
                self.hard = True
                self._climb()
            if result.status == "infeasible":
                self.infeasible = self.deployment is None
                self.highest = min(self.highest, lowest)
            if before == (self.carried.multiple, self.highest, self.graded):
                self.patience *= PATIENCE_GROWTH
                self.step *= 1.0 if self._wide else STEP_GROWTH
        self.stopped = False

    def _climb(self) -> None:
        """Search for fast deployments just above the multiple that is carried, where the response time has a limit."""
        problem, fruitless, seed = self.load.problem, 0, self.seed
        if "response_time" not in self.load.graded or get_method(SEARCH, problem.kind).refusal(problem) is not None:
            return
        while fruitless < MAX_FRUITLESS and not self.closed and (work := min(SEARCH_WORK, units_left())) > 0:
            multiple = self.carried.multiple or 0.0
            above = self.load.at(min(max(multiple * (1 + RATE_STEP), self.load.extremes[0]), self.load.extremes[1]))
            fast = above.replace(weights={"response_time": 1.0}, priorities=())
            solution, seed = solve(fast, SEARCH, start=self.deployment, seed=seed, work_limit=work), seed + 1
            if solution.deployment is not None:
                self._take(solution.deployment)
            fruitless = fruitless + 1 if (self.carried.multiple or 0.0) <= multiple else 0

    def verify(self) -> None:
        """Evaluate the deployment just below what it is said to carry; that it is not feasible there is a defect."""
        multiple = min(self.carried.multiple or 0.0, self.load.extremes[1]) * (1 - RATE_STEP)
        if self.deployment is not None and (broken := self.load.at(multiple).evaluate(self.deployment).broken):
            message = f"method {self.method}: {self.carried.multiple!r} is not carried, {'; '.join(broken)} at {multiple!r}"
            raise VerificationError(message, self.carried, self.deployment)

    @property
    def _wide(self) -> bool:
        """Whether programs are hard, and both sides so far apart that any answer in between tells more than an optimum."""
        return self.hard and self.deployment is not None and 0 < (self.carried.multiple or 0.0) * WIDE < self.highest < math.inf

    def _question(self) -> tuple[float, bool]:
        """The multiple to ask for next, and whether the largest one is asked for or any that is as large."""
        if self.deployment is None:
            return 0.0, not (self.hard or self.graded)
        multiple = self.carried.multiple or 0.0
        if self._wide:
            return math.sqrt(multiple * self.highest), False
        return multiple * (1 + self.step) or self.step, True

    def _ask(self, lowest: float, optimal: bool) -> ProgramResult:
        """Solve for the largest multiple from `lowest` on, or for any; take what was found and what was proven."""
        highest = self.highest if self.highest > 0 else math.inf
        formulation, unit = carrying_program(self.load, lowest, highest, graded=self.graded)

        def carries(values: Any) -> bool:
            """Whether the deployment of a point carries as much by plain code."""
            multiple = self.load.carried(formulation.decode(values)).multiple
            return multiple is not None and multiple >= lowest * (1 - SAME_VALUE)

        result = solve_program(
            formulation.program,
            self.method,
            work_limit=min(self.patience, units_left()),
            gap=OPTIMALITY_GAP if optimal else ANY_GAP,
            seed=self.seed if "seed" in get_backend(self.method).features else 0,
            allowed=carries if self.graded or not self.load.graded else None,
        )
        self.solves += 1
        self.notes += result.notes
        if result.bound is not None and result.bound > 0 and result.status != "infeasible":
            self.highest = min(self.highest, unit / result.bound)
        if result.values is not None:
            self._take(formulation.decode(result.values))
        return result

    def _take(self, deployment: Deployment) -> None:
        """Keep a deployment that carries more than the best one; more than was proven to be possible is a defect."""
        carried = self.load.carried(deployment)
        self.graded = bool(self.load.graded) and (carried.multiple is None or carried.multiple < carried.within)
        if carried.multiple is None or (self.carried.multiple is not None and carried.multiple <= self.carried.multiple):
            return
        self.carried, self.deployment = carried, deployment
        if carried.multiple > self.highest * (1 + RATE_STEP):
            message = f"method {self.method}: proves that nothing carries {self.highest!r}, but {carried.multiple!r} is carried"
            raise VerificationError(message, self.highest, deployment)
