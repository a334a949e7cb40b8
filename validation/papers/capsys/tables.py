"""Tables of the report of CAPSys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edrp.datasets.placement.capsys import BANDWIDTH, CAPSYS_SLOTS, CAPSYS_WORKERS, DELAY, PROFILE_RATE, RESOURCES, SPEEDUP, UNITS
from edrp.placement.edrp import EdrpProblem
from edrp.report.formatting import NONE, signed
from edrp.report.tables import Table, facts_table
from edrp.validation.papers.capsys.inference import PlanRow, target_rate
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
    shown = []
    for row in rows:
        label = f"ours: {row.name}" + ("\nproven" if row.proven else "") if row.ours else row.name
        tasks = ", ".join(str(row.replicas.get(operator, 0)) for operator in operators)
        shown.append((label, str(row.slots), tasks, *_predictions(row)))
    right = ("slots", "predicted\n[records/s]", "compute\n[%]", "network\n[%]", "latency\n[ms]")
    columns = ("Plan", "slots", "tasks", *right[1:], "held back by, or breaks")
    note = (
        f"Tasks of {', '.join(operators)}. Shares are those of the fullest worker at the target. Latency is infinite where a "
        "task is asked for more than it serves."
    )
    return Table("Q3: measured plans and joint optima", columns, tuple(shown), right, note=note, open=True)


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


UNKNOWN = (
    f"The rate at which the queries were measured is not in the data. For Q3 it is taken to be {PROFILE_RATE:g} records/s, as in "
    "CAPSys's artifact; the bytes per record agree with it.",
    "Q3 was measured on m5d.2xlarge, the plans ran on c5d.4xlarge. One number, the ratio of their clocks, stands for all "
    "differences between them (`--speedup`); caches, memory bandwidth and the image library may scale otherwise.",
    "A task is taken to be one thread that serves a record in the measured compute per record. Compute includes what other "
    "threads do (windows of Q2 use 1.8 cores each, inference 1.05), so that service rates of such tasks are not known; a window "
    "that stores state in RocksDB may wait for its disk as well.",
    "Two hardware threads of a core are one core here (`--cores`). Garbage collection, network buffers, skewed keys and limits "
    "of the disk are in no number that we have.",
    "Latency is that of M/M/1 queues at the full rate plus a delay between workers. CAPSys's latencies were measured with "
    "backpressure, where records wait in network buffers: numbers cannot be compared, only their order.",
    "The file's plan of CAPSys has ten tasks on each of two workers with eight slots, 27 in all, where the paper has 26 slots. "
    "Our plans keep to eight.",
    "Which of ODRP's plans is called by which name differs: the artifact calls the plan of 26 slots ODRP-Weighted, that of 32 "
    "ODRP-Latency. Rows carry the names in the file.",
)
"""Sentences on the limits of the comparison."""


def unknown_table() -> Table:
    """Build the table of what the paper leaves open, which limits the comparison."""
    return Table("What the model cannot know", ("",), tuple((sentence,) for sentence in UNKNOWN), open=True)


def setting_table(problem: EdrpProblem) -> Table:
    """The numbers that the inference problem rests on."""
    capacity = problem.network.nodes[0].capacity
    facts = {
        "workers, slots of each": f"{CAPSYS_WORKERS}, {CAPSYS_SLOTS}",
        "target": f"{target_rate(problem):g} records/s",
        "rate of the measurement": f"{PROFILE_RATE:g} records/s",
        "workers against those of the measurement": f"{SPEEDUP:g} times as fast, unless told otherwise",
        "compute of a worker": f"{capacity['compute']:g} {UNITS['compute']}",
        "network of a worker": f"{BANDWIDTH:g} {UNITS['network']}",
        "delay between workers": f"{1e3 * DELAY:g} ms",
    }
    for operator in problem.application.operators:
        rate = operator.latency.true_rate(1) if operator.latency is not None else 0.0
        facts[f"a task of {operator.name} serves"] = f"{rate:,.1f} records/s"
    return facts_table("Numbers of the model of Q3", facts)
