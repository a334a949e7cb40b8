"""The verdict on an instance, a solution and a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from time import monotonic
from typing import Any

from .column_generation import check_column_generation
from .containers import evaluate_enactment, evaluate_leasing
from .deployment import evaluate_deployment
from .eliminate import check_eliminate
from .fields import DECISIONS, FIELDS, check_fields
from .latency_aware import evaluate_latency_aware
from .link_allocation import evaluate_link_allocation
from .maps import check_label_setting, evaluate_map
from .migration import evaluate_migration
from .pmc import check_pmc
from .program_format import Stated, check_program
from .reading import (
    MALFORMED,
    MAX_SECONDS,
    SAME,
    VERSION,
    Refused,
    Unknown,
    fraction,
    instance_hash,
    need,
    parse,
    read_document,
    read_lines,
    read_text,
)
from .relations import check_instance
from .ssm import check_ssm

Check = Callable[[dict[str, Any], Any, dict[str, Any], Iterator[Any]], str]


DECISION = {
    "edrp": "deployment",
    "latency-aware": "deployment",
    "migration": "intervals",
    "migration-policy": "intervals",
    "rescale": "deployment",
    "enactment": "hosts",
    "leasing": "hosts",
    "link-allocation": "allocations",
}
"""Field of a solution document that holds the decision, by kind; of other kinds the whole document is the decision."""

EVALUATE: dict[str, Callable[[dict[str, Any], Any], Fraction]] = {
    "edrp": evaluate_deployment,
    "latency-aware": evaluate_latency_aware,
    "migration": evaluate_migration,
    "link-allocation": evaluate_link_allocation,
    "mapping": evaluate_map,
    "enactment": evaluate_enactment,
    "leasing": evaluate_leasing,
}
"""Objective of a decision that keeps to all limits, by kind of problem; `Refused` where it does not."""

FORMATS: dict[str, Check] = {
    "program": check_program,
    "ssm": check_ssm,
    "pmc": check_pmc,
    "eliminate": check_eliminate,
    "column-generation": check_column_generation,
    "label-setting": check_label_setting,
}
"""Functions of problem, decision, header and the remaining lines (parsed), by format."""

KINDS = {
    "ssm": "migration",
    "pmc": "migration-policy",
    "eliminate": "edrp",
    "column-generation": "latency-aware",
    "label-setting": "mapping",
}


PROVEN, STATED = "proven: ", "proven about a stated program only: "
"""Beginnings of verdicts: proven about the instance, or only about a program that the certificate states."""

UNCHECKED = "that the decision is feasible and worth this was not checked"


def exit_code(text: str) -> int:
    """The exit code of a verdict: 0 where it is about the instance, 4 about a program that the certificate states, else 2."""
    return 0 if text.startswith(PROVEN) else 4 if text.startswith(STATED) else 2


def check(problem: dict[str, Any], solution: dict[str, Any], lines: Iterable[str]) -> str:
    """Say what a certificate proves of a solution; `Refused` where something does not hold."""
    later_lines = _within_time(lines)
    header: Any = next(later_lines, None)
    kind = problem.get("kind")
    need(isinstance(header, dict), "the certificate is empty, or its first line is no object")
    need(header.get("format") in FORMATS, f"format {str(header.get('format'))[:40]!r} is none of {', '.join(FORMATS)}")
    need(header.get("version") == VERSION, f"version {str(header.get('version'))[:40]}; version {VERSION} is read")
    need(kind == KINDS.get(header["format"], kind), f"this format is for problems of kind {KINDS.get(header['format'])}")
    need(instance_hash(problem) in header.get("instance", ()), "the certificate is of another instance")
    if kind in FIELDS:
        check_instance(problem)
    need(solution.get("kind") == f"{kind}-solution", f"the solution is no {kind}-solution")
    need(header.get("claim") in ("optimal", "infeasible"), "claim: must be optimal or infeasible")
    status = str(solution.get("status"))[:40]
    need(header["claim"] == status, f"the certificate claims {header['claim']}, the solution {status}")
    decision = solution.get(DECISION[str(kind)]) if kind in DECISION else solution
    is_checked, answer = header["claim"] == "infeasible", "the problem is infeasible"
    if not is_checked:
        forms = DECISIONS.get(str(kind), {"": ""})
        decided = {entry.partition(":")[0] for entry in forms[""].split()}
        check_fields(forms, {name: solution[name] for name in decided & solution.keys()})
        objective = solution.get("objective")
        need(not isinstance(objective, str), f"objective: {str(objective)[:40]!r} is no number")
        is_checked = _check_value(problem, decision, fraction(objective), fraction(header.get("bound")))
        answer = f"the answer is optimal, its objective is {float(fraction(objective)):.6g}"
    claim = FORMATS[header["format"]](problem, decision, header, later_lines)
    if not isinstance(claim, Stated):
        return f"{answer}: {claim}"
    return Stated(f"if it is that of the instance, {answer}: {claim}" + ("" if is_checked else f"; {UNCHECKED}"))


def _within_time(lines: Iterable[str]) -> Iterator[Any]:
    """The lines parsed, as long as there is time."""
    started = monotonic()
    for line in lines:
        need(monotonic() - started < MAX_SECONDS, f"more than {MAX_SECONDS} s")
        yield parse(line)


def _check_value(problem: dict[str, Any], decision: Any, objective: Fraction, bound: Fraction) -> bool:
    """The decision keeps to the limits, and its value is the stated objective, and the bound; whether it could be evaluated."""
    evaluate = EVALUATE.get(problem["kind"])
    try:
        value, is_checked = (objective, False) if evaluate is None else (evaluate(problem, decision), True)
    except Unknown:
        value, is_checked = objective, False  # which the format may refuse
    allowed = SAME * max(Fraction(1), abs(value))
    need(abs(value - objective) <= allowed, f"the decision is worth {float(value)!r}, the solution says {float(objective)!r}")
    need(abs(value - bound) <= allowed, f"the decision is worth {float(value)!r}, the certificate says {float(bound)!r}")
    return is_checked


def check_files(instance: str, solution: str, certificate: str) -> str:
    """Say what a certificate proves of a solution, given the paths of the files; `Refused` where something does not hold."""
    problem, answer = (read_document(path, read_text(path)) for path in (instance, solution))
    return check(problem, answer, read_lines(certificate))


def verdict(judge: Callable[..., str], *paths: str) -> str:
    """Say in one line what a judge finds proven in files, or the first thing that does not hold."""
    try:
        text = judge(*paths)
        text = f"{STATED if isinstance(text, Stated) else PROVEN}{text}"
    except (Refused, OSError, UnicodeDecodeError) as error:
        text = f"not proven: {error}"
    except MemoryError:
        text = "not proven: this takes more memory than there is"
    except MALFORMED as error:
        text = f"not proven: something is malformed ({type(error).__name__}: {str(error)[:100]})"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)  # names may hold what a terminal obeys
