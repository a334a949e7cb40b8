"""Proven optima of latency-aware placements, shipped as reference data.

`benchmarks/latency_aware_exact.py` proves them again and writes the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from edrp.datasets.placement.latency_aware_test_bed import paper_problem, random_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem

NAME = "latency_aware_optima.json"


@dataclass(frozen=True, slots=True)
class ReferenceOptimum:
    """A problem that `edrp.datasets.placement.latency_aware_test_bed` makes, its optimum, and a placement that reaches it.

    Attributes
    ----------
    problem : LatencyAwareProblem
    name : str, name of the topology: "T-R7" as in Table 1, or "seed 3" of `random_problem`.
    load : float, need of all instances, as a share of the cluster's cores.
    operators : int, number of instances, as Table 1 counts them.
    optimum : float, proven minimum of the objective (latency-aware placement, eq. 1) with the paper's weights.
    deployment : Deployment
    """

    problem: LatencyAwareProblem
    name: str
    load: float
    operators: int
    optimum: float
    deployment: Deployment


@cache
def latency_aware_optima() -> tuple[ReferenceOptimum, ...]:
    """Read the reference optima that the package ships."""
    text = files("edrp.datasets.placement").joinpath("reference", NAME).read_text(encoding="utf-8")
    return tuple(_read(entry) for entry in json.loads(text)["optima"])


def described_problem(name: str, load: float, operations: int | None = None) -> LatencyAwareProblem:
    """The problem of that name: a topology of Table 1, or "seed N" of `random_problem` with `operations` operations."""
    if name.startswith("seed "):
        return random_problem(int(name.removeprefix("seed ")), operations=operations, load=load)
    return paper_problem(name, load)


def _read(entry: dict[str, Any]) -> ReferenceOptimum:
    problem = described_problem(entry["name"], entry["load"], entry["operations"])
    deployment = Deployment({name: tuple(nodes) for name, nodes in entry["deployment"].items()})
    return ReferenceOptimum(problem, entry["name"], entry["load"], entry["operators"], entry["optimum"], deployment)
