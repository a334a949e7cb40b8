"""Six queries on four workers with eight slots each, and deployments of one of them, as CAPSys (EuroSys 2025) measured them.

The files `capsys/queries_4x8.json` and `capsys/q3_inf_plans.json` belong to a folder of data that the user names. A task's
compute is given in ms/s, its access to state in bytes/s and what it sends in MB/s; rates of records are not. That of the third
query, inference on images, is taken from CAPSys's artifact, so that it becomes a problem of placement and replication.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.tolerances import TASK_QUOTA_SLACK
from edrp.datasets.traces.data_folder import data_file
from edrp.placement.edrp import EdrpProblem

Fields = dict[str, Any]
Result = TypeVar("Result")

QUERIES_FILE, PLANS_FILE = "capsys/queries_4x8.json", "capsys/q3_inf_plans.json"

CAPSYS_WORKERS, CAPSYS_SLOTS = 4, 8

RESOURCES = ("compute", "state", "network")
"""Shared resources by priority."""

FIELDS = ("compute_ms_per_s", "state_bytes_per_s", "network_mb_per_s")
"""Fields of the file with the use of each shared resource by a task."""

QUERIES_FORMAT = f"queries by name, each a list of operators with name, parallelism, {', '.join(FIELDS)}, ships and to"
PLANS_FORMAT = "plans by name, each with input_rate and tasks, a list of operator, node and count"
"""Description of the form of the second file, for messages."""

UNITS = dict(zip(RESOURCES, ("ms/s", "bytes/s", "MB/s"), strict=True))

INFERENCE_QUERY = "Q3"
"""Name of the query whose deployments were measured."""

PROFILE_RATE = 570.0
"""Records/s at which the third query was measured, by CAPSys's artifact (600, scaled by 570/600). The bytes agree: a source
sends 391 kB per record, and an image of 128 × 128 × 3 numbers of eight bytes has 393 kB."""

SPEEDUP = 1.16
"""How much faster the deployments' workers are: c5d.4xlarge runs at 3.6 GHz on all cores, m5d.2xlarge, where the query was
measured, at 3.1 GHz."""

CORES = 8
"""Cores of a c5d.4xlarge, which has two threads on each."""

BANDWIDTH = 1250.0
"""MB/s that a worker can send: 10 Gbit/s."""

DELAY = 1e-4
"""Seconds between two workers, an assumption; it matters little next to processing."""


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
    data: str | Path | None = None, *, scale: float = 1.0, workers: int = CAPSYS_WORKERS, slots: int = CAPSYS_SLOTS
) -> dict[str, EdrpProblem]:
    """Read the queries as problems of fixed tasks, by name: peak compute, then peak state access, then peak network.

    Parameters
    ----------
    data
        Folder that holds `capsys/queries_4x8.json`; default: what EDRP_DATA names.
    scale
        The number of tasks of a query is multiplied by it, rounded down, and shared out in proportion to the measured numbers;
        what a task uses stays.

    Raises
    ------
    InvalidInstanceError
        The file is missing or of another form.
    """

    def problems(content: Fields) -> dict[str, EdrpProblem]:
        return {name: _problem(_scaled(query, scale), workers, slots) for name, query in content.items()}

    return _read(QUERIES_FILE, data, QUERIES_FORMAT, problems)


def inference_problem(
    data: str | Path | None = None, *, rate: float = 710.0, speedup: float = SPEEDUP, cores: int = CORES
) -> EdrpProblem:
    """Read the third query as a problem of placement and replication: numbers and nodes of tasks are open.

    A task is a queue (M/M/1) that serves a record in the measured compute per record. It also shares the cores and the network
    card of its worker. A task costs 1, so that the cost is the number of slots.

    Parameters
    ----------
    rate
        Records/s that all sources together are to read.
    speedup
        How much faster the workers are than those on which the query was measured.

    Raises
    ------
    InvalidInstanceError
        The file is missing, of another form, or has no third query.
    """
    return _read(QUERIES_FILE, data, QUERIES_FORMAT, lambda queries: _inference(queries, rate, speedup, cores))


def _inference(queries: Fields, rate: float, speedup: float, cores: int) -> EdrpProblem:
    if INFERENCE_QUERY not in queries:
        raise InvalidInstanceError([Fault(QUERIES_FILE, ", ".join(queries), f"must hold query {INFERENCE_QUERY}")])
    query = queries[INFERENCE_QUERY]
    reached = {target for operator in query for target in operator["to"]}
    operators = []
    for operator in query:
        compute = operator["compute_ms_per_s"] * operator["parallelism"] / PROFILE_RATE / speedup
        operators.append(
            {
                "name": operator["name"],
                "max_replicas": max(1, CAPSYS_WORKERS * CAPSYS_SLOTS - len(query) + 1),
                "cost": 1.0,
                "external_rate": 0.0 if operator["name"] in reached else rate,
                "latency": {"model": "mm1", "service_rate": 1000.0 / compute},
                "usage": {"compute": {"per_tuple": compute}},
            }
        )
    nodes = _workers(CAPSYS_WORKERS, CAPSYS_SLOTS, {"compute": 1000.0 * cores, "network": BANDWIDTH})
    priorities = [{"metric": "cost"}, {"metric": "response_time"}]
    return _built(query, operators, lambda rate: {"usage": {"network": rate / PROFILE_RATE}}, nodes, DELAY, priorities)


def capsys_plans(data: str | Path | None = None) -> dict[str, MeasuredPlan]:
    """Read the measured deployments of Q3 (inference), by the names that the measurements use.

    Raises
    ------
    InvalidInstanceError
        The file is missing or of another form.
    """
    return _read(PLANS_FILE, data, PLANS_FORMAT, _plans)


def _read(name: str, data: str | Path | None, form: str, make: Callable[[Any], Result]) -> Result:
    """Read a file and convert its content by `make`; `form` describes its form in error messages."""
    path = data_file(name, data)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInstanceError([Fault(str(path), "", f"must be JSON: {error}")]) from error
    try:
        return make(content)
    except (AttributeError, KeyError, TypeError) as error:
        why = f"must hold {form}; something is missing or of another type ({error})"
        raise InvalidInstanceError([Fault(str(path), "", why)]) from error


def _plans(content: Fields) -> dict[str, MeasuredPlan]:
    plans = {}
    for name, plan in content.items():
        tasks: dict[str, Counter[str]] = {}
        for entry in plan["tasks"]:
            tasks.setdefault(entry["operator"], Counter())[entry["node"]] += entry["count"]
        plans[name] = MeasuredPlan(float(plan["input_rate"]), tasks)
    return plans


def _scaled(query: list[Fields], scale: float) -> list[Fields]:
    """Scale the number of tasks of a query: at least one of each operator, the rest by largest remainders."""
    quotas = [operator["parallelism"] * scale for operator in query]
    numbers = [max(1, int(quota)) for quota in quotas]
    missing = max(0, int(sum(quotas) + TASK_QUOTA_SLACK) - sum(numbers))
    for i in sorted(range(len(query)), key=lambda i: numbers[i] - quotas[i])[:missing]:
        numbers[i] += 1
    return [{**operator, "parallelism": number} for operator, number in zip(query, numbers, strict=True)]


def _workers(workers: int, slots: int, capacity: dict[str, float]) -> list[Fields]:
    return [{"name": f"tm{u}", "resources": slots, "capacity": capacity} for u in range(workers)]


def _built(
    query: list[Fields],
    operators: list[Fields],
    carried: Callable[[float], Fields],
    nodes: list[Fields],
    delay: float,
    priorities: list[Fields],
) -> EdrpProblem:
    """Build a problem; `carried` gives what a stream carries and uses, by its rate in MB/s."""
    streams = [
        {
            "source": operator["name"],
            "target": target,
            "partitioning": operator["ships"].lower(),
            **carried(operator["network_mb_per_s"] * operator["parallelism"]),
        }
        for operator in query
        for target in operator["to"]
    ]
    application, network = {"operators": operators, "streams": streams}, {"nodes": nodes, "between_zones": {"delay": delay}}
    return EdrpProblem.model_validate({"application": application, "network": network, "priorities": priorities})


def _problem(query: list[Fields], workers: int, slots: int) -> EdrpProblem:
    """Build a problem in which a node's capacity of each resource is the use of the whole query."""
    totals = [sum(operator[field] * operator["parallelism"] for operator in query) for field in FIELDS]
    operators = [
        {
            "name": operator["name"],
            "min_replicas": operator["parallelism"],
            "max_replicas": operator["parallelism"],
            "usage": {
                name: {"per_replica": operator[field]}
                for name, field in zip(RESOURCES[:2], FIELDS[:2], strict=True)
                if operator[field]
            },
        }
        for operator in query
    ]
    capacity = {name: total for name, total in zip(RESOURCES, totals, strict=True) if total}
    priorities = [{"metric": f"peak_loads.{name}", "slack": 0.0} for name in capacity]
    nodes = _workers(workers, slots, capacity)
    # Streams are given in MB/s, not in records: a tuple stands for a megabyte.
    return _built(query, operators, lambda rate: {"rate": rate, "usage": {"network": 1.0}}, nodes, 0.0, priorities)
