"""Properties that hold of any document: an answer, a refusal, or nothing in time, and no two answers that differ."""

from __future__ import annotations

import atexit
import io
import json
import re
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from edrp.batch import solve_batch
from edrp.certificates import checker
from edrp.check_problems.placement.enumeration import lexicographic_optimum
from edrp.cli.app import ExitCode, outcome_code, run
from edrp.cli.display.solution import print_solution
from edrp.core.budget import running
from edrp.core.errors import EdrpError, UnsupportedProblemError
from edrp.core.instances import loads
from edrp.core.kinds import get_kind, kinds
from edrp.core.methods import get_method
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.core.solve import solve
from edrp.core.spark import spark_session
from edrp.core.tolerances import PROVEN_OPTIMA_AGREEMENT, SAME_VALUE
from edrp.mdp.fitted.method import ESTIMATE_NOTE
from edrp.placement.problem import PENALTIES

ALLOWED = (ExitCode.SOLVED, ExitCode.BAD_INPUT, ExitCode.INFEASIBLE, ExitCode.NOTHING_FOUND)
"""Exit codes of commands that do what they promise, whatever they are given."""

PROVEN = (ExitCode.SOLVED, ExitCode.NOTHING_FOUND)
"""Exit codes of a check of a certificate: what is claimed is proven, or so is a stated program."""

Way = Callable[[Any, Path, str], None]
"""Uses a problem, which is in a file, with a work limit as text."""


def use(way: str, problem: Any, text: str, work_limit: float) -> None:
    """Use a problem in a way.

    Raises
    ------
    AssertionError
        Naming the command that does not end as it should.
    """
    with TemporaryDirectory() as folder, suppress(FileNotFoundError):
        file = Path(folder) / "problem.json"
        file.write_text(text)
        WAYS[way][0](problem, file, f"{work_limit:g}")


def _command(*arguments: object, allowed: tuple[ExitCode, ...] = ALLOWED) -> None:
    said, code = io.StringIO(), 0
    try:
        with redirect_stdout(said), redirect_stderr(said):
            run([str(argument) for argument in arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    assert code in allowed, f"edrp {arguments[0]} ends with {code}: {' '.join(said.getvalue().split())}"


def _certificate(problem: Any, file: Path, limit: str) -> None:
    answer, certificate = file.with_name("answer.json"), file.with_name("answer.cert")
    _command("solve", file, "--out", answer, "--certificate", certificate, "--work-limit", limit)
    if certificate.exists():
        _command("check", file, answer, certificate, allowed=PROVEN)


def _batch(problem: Any, limit: str, **place: Any) -> None:
    rows = solve_batch({"one": problem, "other": problem}, work_limit=float(limit), certify=False, **place)
    table = rows.toArrow() if "spark" in place else rows
    for row in table.to_pylist():
        assert row["outcome"] != "failed", f"a row fails: {row['error_message']}"
        if row["outcome"] == "refused":
            continue
        alone, objective = solve(problem, work_limit=float(limit), seed=row["seed"]), row["objective"]
        assert row["status"] == alone.status, f"a row is {row['status']}, alone it is {alone.status}"
        same = objective == alone.objective or abs(objective - alone.objective) <= SAME_VALUE * max(1.0, abs(objective))
        assert same, f"a row has objective {objective!r}, alone it is {alone.objective!r}"


@cache
def _session() -> Any:
    """A session for all problems of this process."""
    context = spark_session("local[1]", memory="512m", in_python=True)
    session = context.__enter__()
    atexit.register(context.__exit__, None, None, None)
    return session


PLANNED = ("edrp-sequence", "migration", "migration-policy", "rescale")
WAYS: dict[str, tuple[Way, tuple[str, ...]]] = {
    "n_jobs": (lambda problem, file, limit: _batch(problem, limit, n_jobs=2), tuple(kinds())),
    "Spark": (lambda problem, file, limit: _batch(problem, limit, spark=_session()), tuple(kinds())),
    "certificate": (_certificate, tuple(kinds())),
    "explain": (lambda problem, file, limit: _command("explain", file, "--work-limit", limit), tuple(kinds())),
    "explore": (
        lambda problem, file, limit: _command("explore", file, "--out", file.with_name("page.html"), "--work-limit", limit),
        tuple(kinds()),
    ),
    "plan": (lambda problem, file, limit: _command("plan", file), PLANNED),
    "front": (lambda problem, file, limit: _command("front", file, "cost", "response_time", "--points", 3), ("edrp",)),
}
"""Ways with the kinds that can be used so."""

GRACE = 2.0
"""Units of work beyond the limit within which an answer must be there."""

UNDIVIDED_GRACE = 10.0
"""Units of work beyond the limit for methods with a step that no work limit stops (`Method.undivided`), and for `auto`."""


@dataclass(frozen=True, slots=True)
class Case:
    """One document, and how it is solved: by each of several methods under one work limit.

    Attributes
    ----------
    pair : the features that meet in it, in words, if it is so small that exact methods which finish must end with a proof.
    listed : whether all decisions of such a problem are compared, too.
    ways : further ways in which it is used, by name.
    """

    text: str
    methods: tuple[str, ...] = ("auto",)
    work_limit: float = 1.0
    seed: int = 0
    pair: str = ""
    ways: tuple[str, ...] = ()
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Find:
    """A case in which something did not hold.

    Attributes
    ----------
    signature : what it was and where: finds with the same one are likely to have the same cause.
    reason : what it was, in full.
    """

    case: Case
    signature: str
    reason: str

    def to_json(self) -> str:
        """The find as JSON; `from_json` reads it back."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Find:
        """Read what `to_json` wrote."""
        fields = json.loads(text)
        case = fields.pop("case")
        return cls(Case(**{**case, **{name: tuple(case.get(name, ())) for name in ("methods", "ways")}}), **fields)


@dataclass(slots=True)
class Verdict:
    """The outcome of a case: the exit codes of its methods, and what did not hold."""

    codes: list[ExitCode] = field(default_factory=list)
    finds: list[Find] = field(default_factory=list)


def judge(case: Case) -> Verdict:
    """Solve a case and note what does not hold.

    Examples
    --------
    >>> judge(Case('{"kind": "migration", "work": []}')).codes
    [<ExitCode.BAD_INPUT: 2>]
    """
    with warnings.catch_warnings(action="error", category=RuntimeWarning):  # an overflow that nobody meant
        return _judged(case)


def _judged(case: Case) -> Verdict:
    verdict, problem = Verdict(), None
    try:
        problem = loads(case.text)
    except EdrpError as error:
        verdict.codes.append(outcome_code(error))
    except Exception:
        verdict.finds.append(_crash(case, "reading"))
    if problem is not None:
        judged_before: set[object] = set()
        solutions = [
            one for method in case.methods if (one := _solved(case, problem, method, verdict, judged_before)) is not None
        ]
        wrong = _contradictions(problem, solutions)
        if case.pair:
            wrong += [fault for solution in solutions for fault in (_left_open(problem, solution), _misjudged(problem, solution))]
            wrong += _against_all_decisions(problem, solutions) if case.listed else ()
        verdict.finds += [Find(case, _summary(why), why) for why in wrong if why]
        for way in case.ways:
            try:
                use(way, problem, case.text, case.work_limit)
            except Exception:
                verdict.finds.append(_crash(case, way))
    if case.pair:
        verdict.finds = [replace(find, signature=f"{case.pair}: {find.signature}") for find in verdict.finds]
    return verdict


def _solved(case: Case, problem: Problem, method: str, verdict: Verdict, judged_before: set[object]) -> Solution | None:
    """The checked answer of one method, or None where it has none to give; shown unless one with the same decision was seen."""
    solution: Solution | None = None
    try:
        with running() as run:
            solution = solve(problem, method, work_limit=case.work_limit, seed=case.seed)
        code = outcome_code(solution)
        read = type(solution).model_validate_json(json.dumps(solution.to_document(), allow_nan=False))
        if solution.holds_decision and read.objective != solution.objective:
            raise AssertionError(f"objective {solution.objective!r} was read back as {read.objective!r}")
        result = solution.status, repr(solution.decision)
        if result not in judged_before:
            judged_before.add(result)
            print_solution(Console(file=io.StringIO(), width=200), "case", problem, solution)
    except EdrpError as error:
        code = outcome_code(error)
        if code not in ALLOWED:
            verdict.finds.append(Find(case, _crash(case, method).signature, f"{method}: {error}"))
        if isinstance(error, UnsupportedProblemError) and not _names_another(problem, str(error)):
            verdict.finds.append(Find(case, f"{method} names no method that takes the problem", f"{method}: {error}"))
    except Exception:
        verdict.finds.append(_crash(case, method))
        return None
    grace = UNDIVIDED_GRACE if method == "auto" or get_method(method).undivided else GRACE
    if run.work > case.work_limit + grace:
        signature = f"work limit: {method} of {problem.kind}"
        verdict.finds.append(Find(case, signature, f"{signature}: {run.work:.1f} units with a limit of {case.work_limit:g}"))
    verdict.codes.append(code)
    if solution is not None and code not in ALLOWED:
        verdict.finds.append(Find(case, f"exit code {code}: {method}", f"{method}: {solution.status}"))
    return solution


def _names_another(problem: Problem, refusal: str) -> bool:
    """Whether a refusal names a method that takes the problem, or says that none does."""
    named = re.search(r"(?:;|, or) use ([\w-]+)", refusal)
    return get_method(named[1], problem.kind).refusal(problem) is None if named else "no method takes" in refusal


def _left_open(problem: Any, solution: Solution) -> str:
    """The fault of an exact method that finished without a proof, or ""."""
    problems: Any = get_kind(problem.kind).check_problems
    method = get_method(re.split("[:, ]", solution.method)[0], problem.kind)
    finished = problems().provable and method.resolve(problem).exact and solution.stopped_because == "finished"
    is_open = finished and solution.status not in ("optimal", "infeasible")
    return f"{solution.method} finishes and says {solution.status}: {problem.kind}" if is_open else ""


def _misjudged(problem: Any, solution: Solution) -> str:
    """How the checker of certificates, which evaluates a decision exactly and by itself, contradicts an answer, or ""."""
    if solution.decision is None or solution.objective is None:
        return ""
    document, found = checker.parse(problem.model_dump_json()), checker.parse(json.dumps(solution.to_document()))
    try:
        if problem.kind in checker.EVALUATE:
            value = float(checker.EVALUATE[problem.kind](document, found.get(checker.DECISION.get(problem.kind), found)))
            stated = solution.objective
        elif problem.kind == "rescale":
            placed = {name: [*solution.decision.replicas(name).elements()] for name in problem.application.by_name}
            value, stated = float(checker.penalties(checker.read_rules(document), placed)), solution.metrics.get(PENALTIES, 0.0)
        else:
            return ""
    except checker.Refused as why:
        unknown = isinstance(why, (checker.Unknown, checker.Unsupported))
        return "" if unknown else f"{solution.method}: the checker refuses the decision of {problem.kind}: {why}"
    slack = max(SAME_VALUE * max(1.0, abs(value)), problem.resolution)
    return "" if abs(value - stated) <= slack else f"{solution.method} says {stated!r}, the checker {value!r}: {problem.kind}"


def _against_all_decisions(problem: Any, solutions: list[Solution]) -> list[str]:
    """Answers that contradict the optimum over all decisions, which are listed and judged by plain code."""
    problems: Any = get_kind(problem.kind).check_problems
    if not problems().provable:
        return []
    optimum = lexicographic_optimum(problem) if getattr(problem, "priorities", ()) else problems().optimum(problem)
    finds = []
    for solution in solutions:
        held = solution.decision is not None
        value = problems().value(problem, solution.decision) if held else None
        slack = max(PROVEN_OPTIMA_AGREEMENT * max(1.0, abs(optimum or 0.0)), 2 * problem.resolution)
        wrong = solution.status == "infeasible" if optimum is not None else held
        if getattr(problem, "priorities", ()) and solution.status != "optimal":
            continue  # what comes first may be left undone for the sake of what comes later
        if optimum is not None and not wrong:
            too_high = solution.status == "optimal" and (value is None or value > optimum + slack)
            bounds = solution.bound is not None and solution.bound > optimum + slack
            wrong = too_high or bounds or (value is not None and value < optimum - slack)
        if wrong:
            said = f"{solution.method} says {solution.status} {value!r} with bound {solution.bound!r}"
            finds.append(f"{said}, of all decisions the best is {optimum!r}: {problem.kind}")
    return finds


def _contradictions(problem: Problem, solutions: list[Solution]) -> list[str]:
    finds = []
    # Objectives that are in part estimated by simulation may be below the optimum; the notes say so.
    compared = [solution for solution in solutions if not any(ESTIMATE_NOTE in note for note in solution.notes)]
    feasible = [
        solution for solution in compared if solution.status in ("optimal", "feasible") and solution.objective is not None
    ]
    for one in compared:
        if one.status == "infeasible" and feasible:
            finds.append(f"{one.method} says infeasible, {feasible[0].method} holds a decision: {problem.kind}")
        bound, _ = _first_stage(one)
        for other in feasible:
            _, value = _first_stage(other)
            slack = max(PROVEN_OPTIMA_AGREEMENT * max(1.0, abs(value or 0.0)), 2 * problem.resolution)
            if one is not other and bound is not None and bound > (value or 0.0) + slack:
                finds.append(f"{one.method} bounds by {bound!r}, {other.method} reaches {value!r}: {problem.kind}")
    return finds


def _first_stage(solution: Solution) -> tuple[float | None, float | None]:
    """Bound and value that can be compared: of later stages only those whose earlier ones are as good."""
    if solution.stages:
        return solution.stages[0].bound, solution.stages[0].value
    return solution.bound, solution.objective


def _summary(reason: str) -> str:
    return " ".join(word for word in reason.split() if not any(sign.isdigit() for sign in word))


SOURCES = re.escape(str(Path(__file__).parents[3]))
ROOMS = "formulations|heuristics|mdp|datasets|validation"
FOLDERS = re.compile(rf'File "(?:[^"]*/(?=site-packages/(?!edrp/))|{SOURCES}/(?:edrp/(?=(?:{ROOMS})/))?)')
"""Folders of this machine that hold other packages or the sources, in a stack; a find leaves them out."""


def _crash(case: Case, during: str) -> Find:
    """Return the find of the exception that is being handled: its type, and the innermost line of this package."""
    text = FOLDERS.sub('File "', traceback.format_exc())
    lines = [line.strip() for line in text.splitlines()]
    others = ("fuzzing/oracle.py", "site-packages")
    own_lines = [line for line in lines if line.startswith("File ") and not any(other in line for other in others)]
    place = own_lines[-1].split("/", 1)[-1] if own_lines else ""
    words: list[Any] = place.replace('"', "").replace(",", "").split()
    where = f"{words[0].rsplit('/', 1)[-1]} in {words[-1]}" if words else "?"
    return Find(case, f"{lines[-1].split(':')[0]} at {where}", f"{during}\n{text}")
