"""One row of results per instance and method: the fixed schema that every path writes, and how one task becomes a row.

The columns are described in `COLUMNS`, from which `docs/reference/results.md` is generated.
"""

from __future__ import annotations

import json
import math
import platform
import traceback
from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edrp.batch.tasks import Task
from edrp.core.certificates import CertificateRequest
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError, ProblemTooLargeError, UnsupportedProblemError, encodable
from edrp.core.instances import loads
from edrp.core.methods import get_method
from edrp.core.solution import Solution
from edrp.core.solve import solve

SCHEMA_VERSION = 3
"""Raised when a column changes; folders of another version are refused."""

Outcome = Literal["solved", "infeasible", "nothing found", "refused", "failed"]

_TRACE = pa.list_(pa.struct([("seconds", pa.float64()), ("objective", pa.float64()), ("bound", pa.float64())]))
_TEXTS = pa.list_(pa.string())

COLUMNS: dict[str, tuple[pa.DataType, str]] = {
    "key": (pa.string(), "identity of the row: hash of id, instance, method, parameters and seed"),
    "id": (pa.string(), "of the instance, as given"),
    "instance_hash": (pa.string(), "SHA-256 of the instance's text"),
    "kind": (pa.string(), "of problem; null where the instance cannot be read"),
    "method": (pa.string(), "as asked for"),
    "parameters": (pa.string(), "JSON: arguments of the method, time limit and gap included"),
    "outcome": (pa.string(), "solved, infeasible, nothing found, refused (another kind, or too large for the method) or failed"),
    "status": (pa.string(), "what we hold: optimal, feasible, infeasible, unbounded or none"),
    "stopped_because": (pa.string(), "why it stopped: finished, time_limit, work_limit, iteration_limit, interrupted or error"),
    "objective": (pa.float64(), "what is minimised, as re-evaluated"),
    "bound": (pa.float64(), "proven: nothing is better than this"),
    "gap": (pa.float64(), "(objective - bound) / |objective|"),
    "metrics": (pa.map_(pa.string(), pa.float64()), "every metric as re-evaluated, SI units"),
    "broken": (_TEXTS, "limits that the decision breaks, in words"),
    "clashes": (_TEXTS, "why nothing is feasible: limits that clash, in words"),
    "build_seconds": (pa.float64(), "time to build tables and programs"),
    "solve_seconds": (pa.float64(), "time to solve"),
    "wall_seconds": (pa.float64(), "time of the whole row: reading, building, solving, checking"),
    "size": (pa.map_(pa.string(), pa.int64()), "columns, rows and nonzeros of the program, or other counts"),
    "run_seed": (pa.int64(), "as given for the batch"),
    "seed": (pa.int64(), "what the method got: from the run's seed and the instance's id"),
    "found_by": (pa.string(), "full name of what found the answer, where `method` chose another"),
    "versions": (pa.map_(pa.string(), pa.string()), "of the packages that the answer depends on"),
    "notes": (_TEXTS, "sentences for the user"),
    "warnings": (_TEXTS, "what the instance states without effect or in an unlikely unit; null where it cannot be read"),
    "trace": (_TRACE, "incumbents and bounds over time, as far as the method reports them"),
    "solution": (pa.string(), "the solution document, JSON; null where instance, method or worker failed"),
    "proof": (pa.string(), "what optimum, infeasibility or bound rest on; null where nothing is claimed"),
    "certificate": (pa.string(), "text of the checked certificate, for `edrp check`; null where there is none"),
    "error_type": (pa.string(), "null where there is a decision; else what went wrong"),
    "error_place": (pa.string(), "where in the instance, for a broken one; where in the code, for a defect"),
    "error_message": (pa.string(), "why, and what would be right"),
    "host": (pa.string(), "machine that solved it"),
    "finished_at": (pa.timestamp("us", tz="UTC"), "when the row was done"),
}
"""Name, type and meaning of each column, in order."""

RESULT_SCHEMA = pa.schema(
    [pa.field(name, kind) for name, (kind, _) in COLUMNS.items()], metadata={"edrp.results": str(SCHEMA_VERSION)}
)

TIMING = ("build_seconds", "solve_seconds", "wall_seconds", "trace", "host", "finished_at")
"""Columns that differ from run to run; within `solution` it is the field `seconds`."""

STOPS = {
    "finished": "nothing found: ",
    "time_limit": "nothing found within the time limit: ",
    "work_limit": "nothing found within the work limit: ",
    "iteration_limit": "nothing found within the iteration limit: ",
    "interrupted": "interrupted with nothing found: ",
    "error": "the solver failed: ",
}


def warned_instances(tables: Iterable[pa.Table]) -> dict[str, int]:
    """Each warning of the rows of a batch, with the number of instances that it is about, the most frequent first.

    The tables, which have the columns `id` and `warnings`, are looked at one after the other.

    >>> texts = ["weights.cost has no effect: no operator and no link has a cost"]
    >>> warned_instances([pa.table({"id": ["a", "a", "b"], "warnings": [texts, texts, []]})])
    {'weights.cost has no effect: no operator and no link has a cost': 1}
    """
    warned: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
    for table in tables:
        rows = table.filter(pc.greater(pc.list_value_length(table["warnings"]), 0))
        for name, texts in zip(rows["id"].to_pylist(), rows["warnings"].to_pylist(), strict=True):
            for text in set(texts):
                warned[text].append(hash(name))
    counts = {text: len(np.unique(np.array(names, np.int64))) for text, names in warned.items()}
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


@dataclass(slots=True)
class SolutionTrace:
    """Collects what a method reports on its way, keeping only what improves; an infinite bound or objective is none.

    >>> trace = SolutionTrace()
    >>> trace(0.5, 10.0, None); trace(0.6, 10.0, None); trace(0.7, 9.0, 2.0)
    >>> [step["seconds"] for step in trace.steps]
    [0.5, 0.7]
    >>> trace(0.8, 9.0, float("inf")); trace.steps[-1]["bound"] is None
    True
    """

    steps: list[dict[str, float | None]] = field(default_factory=list)

    def __call__(self, seconds: float, objective: float | None, bound: float | None) -> None:
        """Called by the method."""
        objective, bound = (None if value is None or not math.isfinite(value) else value for value in (objective, bound))
        last = self.steps[-1] if self.steps else {"objective": None, "bound": None}
        if objective != last["objective"] or bound != last["bound"]:
            self.steps.append({"seconds": seconds, "objective": objective, "bound": bound})


def answered(solution: Solution) -> dict[str, Any]:
    """Columns that a solution fills, the error columns of one without a decision included."""
    has_decision = solution.status in ("optimal", "feasible")
    row: dict[str, Any] = {
        "outcome": "solved" if has_decision else "infeasible" if solution.status == "infeasible" else "nothing found",
        "status": solution.status,
        "stopped_because": solution.stopped_because,
        "objective": solution.objective,
        "bound": solution.bound,
        "gap": solution.gap,
        "metrics": solution.metrics,
        "broken": list(solution.broken),
        "clashes": list(solution.clashes),
        "build_seconds": solution.seconds.get("build"),
        "solve_seconds": solution.seconds.get("solve"),
        "size": solution.size,
        "found_by": solution.method,
        "versions": solution.versions,
        "notes": list(solution.notes),
        "solution": json.dumps(solution.to_document(), ensure_ascii=False, allow_nan=False),
        "proof": solution.proof,
        "certificate": solution.certificate,
    }
    if not has_decision:
        reason = "; ".join(solution.clashes or solution.notes)
        if solution.status == "infeasible":
            row |= {"error_type": "Infeasible", "error_message": reason or "no decision meets all limits"}
        else:
            row |= {"error_type": "NothingFound", "error_message": f"{STOPS[solution.stopped_because]}{reason}".rstrip(": ")}
    return row


def failed(error: BaseException) -> dict[str, Any]:
    """Columns of a row whose instance or method failed with `error`.

    >>> failed(ValueError("no"))["error_type"]
    'ValueError'
    """
    outcome: Outcome = "refused" if isinstance(error, (UnsupportedProblemError, ProblemTooLargeError)) else "failed"
    if isinstance(error, InvalidInstanceError):
        faults = [f"{fault.place}: {fault.why}" + (f" (got {fault.value})" if fault.value else "") for fault in error.faults]
        return _error(outcome, "InvalidInstanceError", "; ".join(faults), error.faults[0].place if error.faults else None)
    if isinstance(error, EdrpError):
        return _error(outcome, type(error).__name__, str(error))
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}, in {frames[-1].name}" if frames else None
    return _error(outcome, type(error).__name__, str(error), place)


def died(error_type: str, message: str) -> dict[str, Any]:
    """Columns of a row whose worker ended without an answer.

    >>> died("WorkerDied", "killed by SIGKILL")["outcome"]
    'failed'
    """
    return _error("failed", error_type, message)


def _error(outcome: Outcome, error_type: str, message: str, place: str | None = None) -> dict[str, Any]:
    return {
        "outcome": outcome,
        "status": "none",
        "stopped_because": "error",
        "error_type": error_type,
        "error_place": None if place is None else encodable(place),
        "error_message": encodable(message),
    }


Row = dict[str, Any]


def solve_task(task: Task) -> Row:
    """Read the instance, solve it, check the answer; whatever goes wrong becomes columns of the row.

    Returns
    -------
    dict
        Columns of `RESULT_SCHEMA` by name; those that have no value are missing.
    """
    row = task.identity
    begin = perf_counter()
    try:
        row |= _solved(task, row)
    except Exception as error:
        row |= failed(error)
    return row | _stamp(perf_counter() - begin)


def lost(task: Task, error_type: str, message: str, wall_seconds: float) -> Row:
    """The row of a task whose worker gave no answer."""
    return task.identity | died(error_type, message) | _stamp(wall_seconds)


def _solved(task: Task, row: Row) -> Row:
    if task.instance.fault:
        raise InvalidInstanceError([Fault("instance", "", task.instance.fault)])
    problem = loads(task.instance.text)
    row["kind"] = problem.kind
    arguments = dict(task.choice.arguments)
    warnings = problem.warnings()
    row["warnings"] = [fault.sentence for fault in warnings]
    if arguments.pop("strict", False) and warnings:
        raise InvalidInstanceError(warnings)
    method = get_method(task.choice.name)
    if problem.kind not in method.kinds:
        why = f"method {method.name!r} takes problems of kind {', '.join(method.kinds)}, not {problem.kind}"
        raise UnsupportedProblemError(why)
    trace = SolutionTrace()
    certify = arguments.pop("certify", False) and CertificateRequest(task.instance.text)
    solution = solve(problem, task.choice.name, seed=row["seed"], progress=trace, certify=certify, **arguments)
    if solution.holds_decision:
        trace(sum(solution.seconds.values()), solution.objective, solution.bound)
    return {**answered(solution), "trace": trace.steps}


def _stamp(wall_seconds: float) -> Row:
    return {"wall_seconds": wall_seconds, "host": platform.node(), "finished_at": datetime.now(UTC)}
