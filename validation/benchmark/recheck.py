"""Alarms: answers that do not hold when evaluated once more, and answers that beat a proof."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from edrp.batch.source import read_instances
from edrp.batch.tasks import text_hash
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError
from edrp.core.instances import loads
from edrp.core.kinds import SOLUTION, get_kind
from edrp.core.kinds import kinds as all_kinds
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.core.tolerances import RECHECKED_VALUE
from edrp.validation.benchmark.measures import in_decisive_stages

ESTIMATED = ("migration-policy",)
"""Kinds whose objective rests on what a method expects of the future: objectives of different methods are not comparable."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """One defect: an instance, the method and seed whose row shows it, and what is wrong."""

    id: str
    method: str
    run_seed: int
    what: str

    def __str__(self) -> str:
        return f"{self.method} on {self.id}, seed {self.run_seed}: {self.what}"


def find_alarms(rows: pa.Table, instances: Mapping[str, Problem | str]) -> list[Alarm]:
    """Every defect that result rows show, instance by instance.

    Parameters
    ----------
    rows
        Rows of the schema `RESULT_SCHEMA`.
    instances
        Problems or their JSON text, by id: those that the rows are of.

    Raises
    ------
    InvalidInstanceError
        For a row of another instance than the one of that id.
    """
    texts = {instance.id: instance.text for instance in read_instances(instances)} if instances else {}
    columns = ["id", "instance_hash", "kind", "method", "run_seed", "outcome", "status", "objective", "bound", "solution"]
    columns += ["error_type", "error_message"]
    by_id: dict[str, list[dict[str, Any]]] = {}
    for row in rows.select(columns).to_pylist():
        by_id.setdefault(row["id"], []).append(row)
    comparable: dict[str, list[dict[str, Any]]] = {}
    for row in in_decisive_stages(rows.select(columns)).to_pylist():
        comparable.setdefault(row["id"], []).append(row)
    alarms = []
    for name, instance_rows in by_id.items():
        if name not in texts or any(row["instance_hash"] != text_hash(texts[name]) for row in instance_rows):
            raise InvalidInstanceError([Fault("rows", name, "are not of the instance of that id")])
        problem = _problem(texts[name])
        for row in instance_rows:
            alarms += [Alarm(name, row["method"], row["run_seed"], fault) for fault in _faults(row, problem)]
        if instance_rows[0]["kind"] not in ESTIMATED:
            alarms += _beaten(name, comparable[name])
    return alarms


def _problem(text: str) -> Problem | None:
    """The problem itself; None for a broken instance, of which there is no solution either."""
    try:
        return loads(text)
    except EdrpError:
        return None


def _faults(row: Mapping[str, Any], problem: Problem | None) -> Iterable[str]:
    if row["error_type"] == "VerificationError":
        yield f"solver and evaluator disagree: {row['error_message']}"
    if row["outcome"] != "solved":
        return
    if problem is None or row["solution"] is None:
        missing = "readable instance" if problem is None else "solution document"
        yield f"an answer that cannot be evaluated again: there is no {missing}"
        return
    if row["kind"] in unchecked_kinds([row["kind"]]):
        return
    try:
        kind = json.loads(row["solution"])["kind"].removesuffix(SOLUTION)
        evaluation = problem.evaluate(get_kind(kind).solution.model_validate_json(row["solution"]).decision)
        if evaluation.broken:
            yield f"claimed {row['status']}, but evaluated once more it breaks {'; '.join(evaluation.broken)}"
        if row["objective"] is None or abs(evaluation.objective - row["objective"]) > _slack(evaluation.objective):
            yield f"claimed objective {row['objective']!r}, evaluated once more {evaluation.objective!r}"
        if row["bound"] is not None and row["bound"] > evaluation.objective + _slack(evaluation.objective):
            yield f"bound {row['bound']!r} above its own objective {evaluation.objective!r}"
    except Exception as error:  # whatever a wrong document makes the evaluator do is the row's fault
        yield f"the solution document cannot be evaluated: {type(error).__name__}: {error}"


def unchecked_kinds(kinds: Iterable[str]) -> list[str]:
    """Kinds of problems whose solution documents do not say what was decided, so that nothing can be evaluated again.

    A kind offers it as the property `decision` of its solution.

    >>> unchecked_kinds(["edrp", "migration"])
    []
    """
    known = all_kinds()
    documents = {name: known[name].solution if name in known else Solution for name in kinds}
    return [name for name, document in documents.items() if document.decision is Solution.decision]


def _beaten(name: str, rows: Iterable[Mapping[str, Any]]) -> Iterable[Alarm]:
    """Bounds, proven optima and proofs of infeasibility that the best answer to the same instance refutes."""
    rows = list(rows)
    solved = [row for row in rows if row["outcome"] == "solved" and row["objective"] is not None]
    if not solved:
        return
    best = min(solved, key=lambda row: row["objective"])
    by = f"{best['method']} (seed {best['run_seed']}) has an answer of {best['objective']!r}"
    for row in rows:
        if row is best:
            continue
        if row["outcome"] == "infeasible":
            yield Alarm(name, row["method"], row["run_seed"], f"called infeasible, but {by}")
        for claim, value in (("optimum", row["objective"] if row["status"] == "optimal" else None), ("bound", row["bound"])):
            if value is not None and best["objective"] < value - _slack(value):
                yield Alarm(name, row["method"], row["run_seed"], f"the proven {claim} {value!r} is beaten: {by}")
                break


def _slack(value: float) -> float:
    return RECHECKED_VALUE * max(abs(value), 1e-9)
