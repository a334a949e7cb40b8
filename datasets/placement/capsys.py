"""Six queries on four workers with eight slots each, and deployments of one of them, as CAPSys (EuroSys 2025) measured them.

The files `capsys/queries_4x8.json` and `capsys/q3_inf_plans.json` belong to a folder of data that the user names. A task's
compute is given in ms/s, its access to state in bytes/s and what it sends in MB/s; rates of records are not.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.traces.data_folder import data_file
from edrp.placement.edrp import EdrpProblem

QUERIES, PLANS = "capsys/queries_4x8.json", "capsys/q3_inf_plans.json"

WORKERS, SLOTS = 4, 8

RESOURCES = ("compute", "state", "network")
"""Shared resources by priority."""

FIELDS = ("compute_ms_per_s", "state_bytes_per_s", "network_mb_per_s")
"""Use of them by a task."""


@dataclass(frozen=True, slots=True)
class MeasuredPlan:
    """A deployment that was measured on workers with eight slots each.

    Attributes
    ----------
    input_rate : records/s that all sources together are to read.
    tasks : by operator, tasks on each node.
    """

    input_rate: float
    tasks: dict[str, Counter[str]]

    @property
    def slots(self) -> int:
        """Number of tasks, each of which takes a slot."""
        return sum(counts.total() for counts in self.tasks.values())


def capsys_queries(
    data: str | Path | None = None, *, scale: int = 1, workers: int = WORKERS, slots: int = SLOTS
) -> dict[str, EdrpProblem]:
    """The queries as problems of fixed tasks, by name: peak compute, then peak state access, then peak network.

    Parameters
    ----------
    data
        Folder that holds `capsys/queries_4x8.json`; default: what EDRP_DATA names.
    scale
        Every number of tasks is multiplied by it; what a task uses stays.
    workers, slots
        Size of the cluster.

    Raises
    ------
    InvalidInstanceError
        The file is missing or of another form.
    """
    return {name: _problem(query, scale, workers, slots) for name, query in _read(QUERIES, data).items()}


def capsys_plans(data: str | Path | None = None) -> dict[str, MeasuredPlan]:
    """Deployments of Q3 with inference, by the name that the measurements give them.

    Raises
    ------
    InvalidInstanceError
        The file is missing or of another form.
    """
    plans = {}
    for name, plan in _read(PLANS, data).items():
        tasks: dict[str, Counter[str]] = {}
        for entry in plan["tasks"]:
            tasks.setdefault(entry["operator"], Counter())[entry["node"]] += entry["count"]
        plans[name] = MeasuredPlan(plan["input_rate"], tasks)
    return plans


def _read(name: str, data: str | Path | None) -> dict[str, Any]:
    path = data_file(name, data)
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInstanceError([Fault(str(path), "", f"must be JSON: {error}")]) from error
    return content


def _problem(query: list[dict[str, Any]], scale: int, workers: int, slots: int) -> EdrpProblem:
    """A node's capacity of each resource is what the whole query uses, so that a load is a share of the query."""
    totals = [sum(operator[field] * operator["parallelism"] for operator in query) * scale for field in FIELDS]
    used = [name for name, total in zip(RESOURCES, totals, strict=True) if total]
    operators = [
        {
            "name": operator["name"],
            "min_replicas": operator["parallelism"] * scale,
            "max_replicas": operator["parallelism"] * scale,
            "usage": {
                name: {"per_replica": operator[field]}
                for name, field in zip(RESOURCES[:2], FIELDS[:2], strict=True)
                if operator[field]
            },
        }
        for operator in query
    ]
    # Streams are given in MB/s, not in records: a tuple stands for a megabyte.
    streams = [
        {
            "source": operator["name"],
            "target": target,
            "rate": operator["network_mb_per_s"] * operator["parallelism"] * scale,
            "partitioning": operator["ships"].lower(),
            "usage": {"network": 1.0},
        }
        for operator in query
        for target in operator["to"]
    ]
    capacity = {name: total for name, total in zip(RESOURCES, totals, strict=True) if total}
    return EdrpProblem.model_validate(
        {
            "application": {"operators": operators, "streams": streams},
            "network": {
                "nodes": [{"name": f"tm{u}", "resources": slots, "capacity": capacity} for u in range(workers)],
                "between_zones": {"delay": 0.0},
            },
            "priorities": [{"metric": f"peak_loads.{name}"} for name in used],
        }
    )
