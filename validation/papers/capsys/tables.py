"""Tables of the report of CAPSys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edrp.datasets.placement.capsys import RESOURCES, UNITS
from edrp.report.formatting import NONE, signed
from edrp.report.tables import Table
from edrp.validation.papers.capsys.inference import PlanRow
from edrp.validation.papers.capsys.queries import ALONE, DRAWS, OPTIMUM, QueryRow

DIGITS = {"compute": 1, "state": 0, "network": 2}
"""Decimals of each resource."""


def query_table(rows: Sequence[QueryRow]) -> Table:
    """The load of the fullest worker by query and way to place it, and how much that is above the proven optimum."""
    optimum = {(row.query, row.tasks): row for row in rows if row.placement == OPTIMUM}
    shown = []
    for row in rows:
        best = optimum[row.query, row.tasks]
        cells = [_peak(row, best, resource) for resource in RESOURCES]
        name = f"{row.query}, {row.tasks} tasks" if row is best else ""
        proof = "proven" if row.proven else ""
        shown.append((name, row.placement, *cells, NONE if row.seconds is None else f"{row.seconds:.3f}", proof))
    right = (*(f"{resource}\n[{UNITS[resource]}]" for resource in RESOURCES), "processor\n[s]")
    note = (
        "What the fullest worker is asked for, and by how much that is above the optimum of compute, then state, then network. "
        f"“{ALONE}” need not go together. Flink: means of {DRAWS} random orders of tasks, the worst in brackets."
    )
    return Table("Six queries on four workers", ("Query", "Placement", *right, ""), tuple(shown), right, note=note, open=True)


def _peak(row: QueryRow, best: QueryRow, resource: str) -> str:
    if resource not in row.peaks:
        return NONE
    digits = DIGITS[resource]
    text = f"{row.peaks[resource]:,.{digits}f}"
    if row.worst is not None:
        text += f" ({row.worst[resource]:,.{digits}f})"
    if row is best:
        return text
    return f"{text}\n{signed(100 * (row.peaks[resource] / best.peaks[resource] - 1), 1)} %" if best.peaks[resource] else text


def plan_table(rows: Sequence[PlanRow]) -> Table:
    """Deployments of Q3: the measured ones as our model sees them, then our optima."""
    operators = list(dict.fromkeys(operator for row in rows for operator in row.replicas))
    shown = tuple((_label(row), str(row.slots), _tasks(row, operators), *_predictions(row)) for row in rows)
    right = ("slots", "predicted\n[records/s]", "compute\n[%]", "network\n[%]", "latency\n[ms]")
    columns = ("Plan", "slots", "tasks", *right[1:], "held back by, or breaks")
    note = (
        f"Tasks of {', '.join(operators)}. Shares are those of the fullest worker at the target. Latency is infinite where a "
        "task is asked for more than it serves."
    )
    return Table("Q3: measured plans and joint optima", columns, shown, right, note=note, open=True)


def _label(row: PlanRow) -> str:
    return f"ours: {row.name}" + ("\nproven" if row.proven else "") if row.ours else row.name


def _tasks(row: PlanRow, operators: Sequence[str]) -> str:
    return ", ".join(str(row.replicas.get(operator, 0)) for operator in operators)


def _predictions(row: PlanRow) -> Iterator[str]:
    yield f"{row.rate:.0f}\n{100 * row.rate / row.target:.0f} %"
    for resource in ("compute", "network"):
        yield f"{100 * row.peaks[resource]:.1f}" if resource in row.peaks else NONE
    yield f"{1e3 * row.latency:.1f}" if math.isfinite(row.latency) else "∞"
    yield "\n".join(filter(None, (row.bottleneck, *(words for words in row.broken if "overloaded" not in words))))


def query_records(rows: Sequence[QueryRow]) -> Iterator[Mapping[str, Any]]:
    """Rows of a CSV file: uses in the unit of the resource, empty where the query has none."""
    for row in rows:
        kinds = {"peak": row.peaks, "worst": row.worst or {}}
        peaks = {f"{resource}_{kind}": values.get(resource) for kind, values in kinds.items() for resource in RESOURCES}
        named = {"query": row.query, "tasks": row.tasks, "placement": row.placement}
        yield {**named, **peaks, "seconds": row.seconds, "proven": row.proven, "note": row.note}


def plan_records(rows: Sequence[PlanRow]) -> Iterator[Mapping[str, Any]]:
    """Rows of a CSV file: records/s, seconds and shares; an infinite latency is empty."""
    for row in rows:
        yield {
            "plan": row.name.replace("\n", ", "),
            "ours": row.ours,
            "slots": row.slots,
            "tasks": " ".join(f"{operator}={count}" for operator, count in row.replicas.items()),
            "target_rate": row.target,
            "predicted_rate": row.rate,
            "latency": row.latency if math.isfinite(row.latency) else None,
            "peak_compute": row.peaks.get("compute"),
            "peak_network": row.peaks.get("network"),
            "bottleneck": row.bottleneck,
            "broken": "; ".join(row.broken),
            "proven": row.proven,
            "seconds": row.seconds,
        }
