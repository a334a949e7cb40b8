"""Solving one task in this process: the one function that every path of a batch ends in."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from edrp.batch.rows import SolutionTrace, answered, died, failed
from edrp.batch.tasks import Task
from edrp.core.budget import compiling_under_limits
from edrp.core.certificates import CertificateRequest
from edrp.core.errors import Fault, InvalidInstanceError, UnsupportedProblemError
from edrp.core.instances import loads
from edrp.core.methods import get_method
from edrp.core.solve import solve

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
        with compiling_under_limits():  # kernels that the first row waits for serve all the others
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
