"""Programs of problems by name, the methods that hand them to a solver, and `solve_formulation` for those that users add to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, overload

from edrp.backends import OWN_BACKENDS, Backend, ProgramResult, SolverOptions, backends, rounded
from edrp.backends.registry import get_backend
from edrp.backends.solving import solve_program
from edrp.core.arguments import check_arguments
from edrp.core.arrays import Floats
from edrp.core.budget import interruptible, running, units_left
from edrp.core.errors import EdrpError, Fault, InvalidArgumentError, ProblemTooLargeError, UnsupportedProblemError
from edrp.core.kinds import find_kind, get_kind, kinds
from edrp.core.methods import Method, Options, alternative
from edrp.core.solution import Answer, within_gap
from edrp.core.solve import MAX_EXPLANATION, NO_REASON, Seconds, checked_solution
from edrp.core.tolerances import OPTIMALITY_GAP, STAGE_SLACK
from edrp.core.wording import suggestion
from edrp.enactment.snapshot import CHANGES
from edrp.formulations.clashes import explain_infeasible_program, note_on_own_demands
from edrp.formulations.formulation import Formulation, best_rated, to_answer
from edrp.migration.rescale.metrics import RESCALE_PARTS
from edrp.placement.metrics.base import PARTS

if TYPE_CHECKING:
    from edrp.enactment.leasing import LeasingProblem
    from edrp.enactment.snapshot import EnactmentProblem
    from edrp.formulations.enactment.leasing import LeasingFormulation
    from edrp.formulations.enactment.snapshot import EnactmentFormulation
    from edrp.formulations.mapping.link_allocation import LinkAllocationFormulation
    from edrp.formulations.mapping.path_mapping import MappingFormulation
    from edrp.formulations.migration.intervals import MigrationFormulation
    from edrp.formulations.migration.rescale.formulation import RescaleFormulation
    from edrp.formulations.placement.formulation import PlacementFormulation
    from edrp.mapping.link_allocation import LinkAllocationProblem
    from edrp.mapping.path_mapping import MappingProblem
    from edrp.migration.rescale.problem import RescaleProblem
    from edrp.migration.single_step import MigrationProblem
    from edrp.placement.problem import PlacementProblem


@overload
def formulate(problem: PlacementProblem, program: str | None = None) -> PlacementFormulation: ...
@overload
def formulate(problem: MigrationProblem, program: str | None = None) -> MigrationFormulation: ...
@overload
def formulate(problem: RescaleProblem, program: str | None = None) -> RescaleFormulation: ...
@overload
def formulate(problem: EnactmentProblem, program: str | None = None) -> EnactmentFormulation: ...
@overload
def formulate(problem: LeasingProblem, program: str | None = None) -> LeasingFormulation: ...
@overload
def formulate(problem: MappingProblem, program: str | None = None) -> MappingFormulation: ...
@overload
def formulate(problem: LinkAllocationProblem, program: str | None = None) -> LinkAllocationFormulation: ...
@overload
def formulate(problem: Any, program: str | None = None) -> Formulation: ...
def formulate(problem: Any, program: str | None = None) -> Formulation:
    """Formulate a problem as a program.

    Parameters
    ----------
    program
        For deployments "compact" (small, any problem), "literal" (EDRP, eqs. 13–23) or "restricted" (rEDRP,
        section 7.2); for migrations "intervals", for rescalings "ranges", for snapshots of enactment "hosts", for leases
        over time "leases", for tasks on servers and links "walks", for flows on links "paths"; None for the first that there
        is for the kind.

    Raises
    ------
    EdrpError
        For another name.
    UnsupportedProblemError, ProblemTooLargeError
        When this program cannot express the problem, or would not fit in memory.
    """
    check_arguments("edrp.formulate", problem=problem, program=program)
    kind = find_kind(problem.kind)
    if kind is None or not kind.formulations:
        raise UnsupportedProblemError(f"there is no program for problems of kind {problem.kind!r}")
    name = next(iter(kind.formulations)) if program is None else program
    if name not in kind.formulations:
        raise EdrpError(f"no program {name!r} for problems of kind {problem.kind!r}{suggestion(name, kind.formulations)}")
    try:
        formulation: Formulation = kind.builder(name)(problem, name)
    except ProblemTooLargeError as error:
        remedy = error.remedy or alternative(problem, "", error.instead or None)
        raise ProblemTooLargeError(error.why, remedy) from None
    return formulation


@dataclass(frozen=True, slots=True)
class ProgramParameters:
    """`tie_break`: whether to choose among equal optima by the formulation's tie breaks.

    For deployments these are the cost, then the number of replicas that move.
    """

    tie_break: bool = False


class ProgramMethod(Method):
    """One backend on the program that `Options.program` names, for every kind that has programs."""

    exact = True
    takes = PARTS | RESCALE_PARTS | {CHANGES}
    parameters = ProgramParameters

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.name, self.summary, self.undivided = backend.name, backend.summary, backend.undivided

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds that have programs."""
        return tuple(name for name, kind in kinds().items() if kind.formulations)

    @property
    def origin(self) -> type:
        """Class of the backend."""
        return type(self.backend)

    def obstacle(self, problem: Any) -> str | None:
        """Return the reason why no program of the kind can express the problem; None if one can."""
        refuse = get_kind(problem.kind).refuse_formulation
        return None if refuse is None else refuse(problem)

    def run(self, problem: Any, options: Options) -> Answer:
        """Formulate, start from the given or the current deployment where it is feasible, solve."""
        get_backend(self.backend)  # a missing package is reported before any work
        parameters = self.read_parameters(options)
        known = None if options.program is not None else self._found_directly(problem, options)
        if known is not None:
            return known
        formulation = formulate(problem, options.program)
        method = f"{self.name} ({formulation.name} program)"
        result = self._solve(formulation, options, best_rated(problem, (options.start, formulation.current))[1])
        if result.status == "optimal" and parameters.tie_break:
            result = self._break_ties(formulation, result, options)
        return replace(to_answer(formulation, result), method=method)

    def _found_directly(self, problem: Any, options: Options) -> Answer | None:
        """What is known before a program is built, where it is proven."""
        kind = get_kind(problem.kind)
        bound, found = (None, None) if kind.find_directly is None else kind.find_directly(problem)
        if bound is None or found is None:
            return None
        objective, decision = best_rated(problem, (options.start, found))
        if decision is None or not within_gap(objective, bound, options.gap):
            return None
        method = f"{self.name} ({next(iter(kind.formulations))} program)"
        return Answer("optimal", "finished", decision, objective, bound, method=method).resting_on("solver's word")

    def _solve(self, formulation: Formulation, options: Options, start: Any) -> ProgramResult:
        features = self.backend.features
        report = options.progress if "progress" in features else None
        point = formulation.encode(start) if "start" in features and start is not None else None
        return solve_program(
            formulation.program,
            self.backend,
            work_limit=None if options.limit == inf else options.remaining,
            gap=options.gap,
            threads=options.threads,
            seed=options.seed,
            start=point,
            allowed=allowed_by(formulation),
            # Passed on in seconds since the method started; a backend reports its own.
            progress=report and (lambda seconds, incumbent, bound: report(options.seconds, incumbent, bound)),
        )

    def _break_ties(self, formulation: Formulation, first: ProgramResult, options: Options) -> ProgramResult:
        """Hold the objective and minimise the first tie break, then hold both and minimise the next (lexicographic order)."""
        program, best = formulation.program, first
        stages = [program.objective, *formulation.tie_breaks()]
        for number, (earlier, later) in enumerate(pairwise(stages)):
            assert best.values is not None
            value = earlier.value(best.values)
            program.add_row(f"tie {number}", earlier, upper=value + STAGE_SLACK * max(1.0, abs(value)))
            program.minimise(later)
            result = self._solve(formulation, options, formulation.decode(best.values))
            if result.values is None:
                break
            best = result
        program.minimise(formulation.model_objective)
        # Continuous columns may have used up the slack of the rows that hold the stages: they are made optimal again.
        last = rounded(program.arrays(), best)
        assert first.objective is not None
        assert last.objective is not None
        if last.objective > first.objective + STAGE_SLACK * max(1.0, abs(first.objective)):
            return first
        return replace(first, values=last.values, seconds=first.seconds + best.seconds)


METHODS = tuple(ProgramMethod(backends()[name]) for name in OWN_BACKENDS)
"""One method per backend of this package, for the registry."""

HIGHS = METHODS[0]


def allowed_by(formulation: Formulation) -> Callable[[Floats], bool]:
    """Whether the evaluator finds no limit broken by the decision of a point, however little it exceeds it.

    What contradicts itself passes, so that it is reported.
    """
    problem = formulation.problem

    def allowed(values: Floats) -> bool:
        decision = formulation.decode(values)
        return not problem.evaluate(decision).broken or bool(problem.inconsistency(decision))

    return allowed


SOLVER_OPTIONS = [field.name for field in fields(SolverOptions) if field.name not in ("work_limit", "start", "allowed")]


def solve_formulation(formulation: Formulation, backend: str = "highs", *, start: Any = None, **options: Any) -> Any:
    """Solve a formulation, own rows and terms included, and return a checked solution.

    The evaluator knows the problem's own limits only: it checks them, the metrics and the objective, not rows
    that were added, and `notes` name those, since the answer is about the program with them. With own objective terms,
    `objective` stays the problem's, nothing is proven about it (status "feasible"), and `notes` say whether the objective with
    them was minimised to the end. Where own rows leave nothing feasible, `clashes` name those that cannot be met together with
    each other and the problem's limits.

    Parameters
    ----------
    backend
        Name of a registered backend, such as "highs".
    start
        Decision to start from; plain dicts and lists will do.
    **options
        Options of `edrp.backends.solve_program`: `time_limit`, `work_limit`, `gap`, `threads`, `seed`, `progress`.

    Raises
    ------
    InvalidInstanceError
        `start` is no decision about the problem.
    VerificationError
        Backend and evaluator disagree: a defect.
    """
    started = perf_counter()
    limits = {name: options.pop(name, None) for name in ("time_limit", "work_limit")}
    check_arguments("edrp.solve_formulation", formulation=formulation, backend=backend, **limits)
    for name in options:
        if name not in SOLVER_OPTIONS:
            why = "is no option" + suggestion(name, ("start", "time_limit", "work_limit", *SOLVER_OPTIONS))
            raise InvalidArgumentError([Fault(name, "", why)], "edrp.solve_formulation")
    point = None if start is None else formulation.encode(formulation.problem.read_decision(start, "start"))
    with running(**limits) as run, interruptible(run):
        result = solve_program(formulation.program, backend, start=point, allowed=allowed_by(formulation), **options)
        answer = to_answer(formulation, result)
        answer = replace(answer, notes=(*answer.notes, *note_on_own_demands(formulation)))
        seconds = perf_counter() - started + formulation.build_seconds
        reasons, times = NO_REASON, Seconds(seconds)
        if answer.status == "infeasible":
            reasons = explain_infeasible_program(formulation, backend, min(MAX_EXPLANATION, max(0.0, units_left())))
            times = Seconds(seconds, explaining=perf_counter() - started + formulation.build_seconds - seconds)
    method = f"{backend} ({formulation.name} program)"
    seed, gap = options.get("seed", 0), options.get("gap", OPTIMALITY_GAP)
    return checked_solution(formulation.problem, method, answer, times, seed, reasons, gap)
