"""Pipelines on hosts with GPUs from the tests of Cosmos-Xenna's autoscaler.

Origin: github.com/nvidia-cosmos/cosmos-xenna at 7f0fcee09f347822aaeb824dc8786b2d2791d1e2, Apache 2.0, the numbers alone:
`cosmos_xenna/pipelines/v1/smoke_test_autoscaling_algorithm.py` for the two small ones, whose video stages give their rates, and
`src/benchmark_large_autoscaling_problem.rs`, where every worker serves one task per second. All stages return one task for each.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edrp.placement.edrp import EdrpProblem


class Pipeline(NamedTuple):
    """Hosts, and for each stage what a worker needs and serves."""

    hosts: tuple[int, float, int]  # how many, with CPUs and GPUs of each
    cpus: Sequence[float]
    gpus: Sequence[float]
    rates: Sequence[float]  # tasks/s
    ends: tuple[int, int] = (4, 8)  # workers per host of the first and the last stage, where fixed


PIPELINES = {name: Pipeline(*row) for name, row in json.loads(Path(__file__).with_suffix(".json").read_text()).items()}


def pipeline_problem(pipeline: Pipeline) -> EdrpProblem:
    """Return a pipeline at one task per second as a problem of kind `edrp`."""
    hosts, host_cpus, host_gpus = pipeline.hosts
    operators, last = list[dict[str, Any]](), len(pipeline.rates) - 1
    for k, (cpus, gpus, rate) in enumerate(zip(pipeline.cpus, pipeline.gpus, pipeline.rates, strict=True)):
        fixed = {0: pipeline.ends[0], last: pipeline.ends[1]}.get(k, 0) * hosts
        operator = {"name": f"stage{k}", "resources": {"cpu": cpus, "gpu": gpus}, "cost": 1.0, "external_rate": float(k == 0)}
        operator |= {"min_replicas": fixed or 1, "max_replicas": fixed or 10_000}  # Xenna has no limit
        operators.append(operator | {"latency": {"model": "mm1", "service_rate": rate}})
    streams = [{"source": f"stage{k}", "target": f"stage{k + 1}"} for k in range(last)]
    nodes = [{"name": f"host{u}", "resources": {"cpu": host_cpus, "gpu": {"units": host_gpus}}} for u in range(hosts)]
    return EdrpProblem(
        application={"operators": operators, "streams": streams},
        network={"nodes": nodes, "between_zones": {"delay": 1e-4}},
        weights={"cost": 1.0},
        limits={"cost": 1e6},
    )
