"""Pipelines on hosts with GPUs from the tests of Cosmos-Xenna's autoscaler.

Origin: github.com/nvidia-cosmos/cosmos-xenna at 7f0fcee09f347822aaeb824dc8786b2d2791d1e2, Apache 2.0, the numbers alone:
`cosmos_xenna/pipelines/v1/smoke_test_autoscaling_algorithm.py` for the two small ones, whose video stages give their rates, and
`src/benchmark_large_autoscaling_problem.rs`, where every worker serves one task per second. All stages return one task for each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from edrp.placement.edrp import EdrpProblem

MAX_WORKERS = 10_000
"""Workers of a stage at most; Cosmos-Xenna has no limit."""


class Stage(NamedTuple):
    """CPUs and GPUs of a worker, tasks/s that it serves, and workers per host where their number is fixed."""

    cpus: float
    gpus: float
    rate: float
    per_host: int | None = None


HOSTS = {"why_not_scaling_down": (10, 182), "fragmentation_with_large_models": (3, 182), "benchmark_large": (1000, 240)}
"""Number of hosts, and CPUs of each, which has eight GPUs."""

GPUS = 8

PIPELINES = {
    "why_not_scaling_down": (
        Stage(0.25, 0, 0.67, 4),
        Stage(1, 0, 4000),
        Stage(3, 0, 0.77),
        Stage(1, 0.25, 3.55),
        Stage(5, 0, 0.28),
        Stage(16, 0, 0.034),
        Stage(1, 4, 0.033),
        Stage(1, 1, 0.98),
        Stage(0.25, 0, 0.016, 8),
    ),
    "fragmentation_with_large_models": (
        Stage(0.25, 0, 0.45, 4),
        Stage(1, 0, 4000),
        Stage(1, 0.1, 0.42),
        Stage(1, 0.25, 1.8),
        Stage(5, 0, 0.28),
        Stage(3, 0, 0.082),
        Stage(1, 8, 0.033),
        Stage(1, 1, 0.98),
        Stage(0.25, 0, 0.016, 8),
    ),
    "benchmark_large": (
        Stage(1, 0, 1, 4),
        Stage(1, 0, 1),
        Stage(4, 0, 1),
        Stage(1, 0.25, 1),
        Stage(6, 0, 1),
        Stage(4, 0, 1),
        Stage(1, 0, 1),
        Stage(1, 0.25, 1),
        Stage(4, 0, 1),
        Stage(1, 1, 1),
        Stage(0.25, 0, 1, 8),
    ),
}


def xenna_pipeline(name: str, *, fixed_stages_limit: bool = True) -> EdrpProblem:
    """Return a pipeline at one task per second as a problem of kind `edrp`.

    Parameters
    ----------
    name
        One of `PIPELINES`.
    fixed_stages_limit
        Whether stages with a fixed number of workers serve their rates only, too; otherwise any rate.

    Examples
    --------
    >>> pipeline = xenna_pipeline("why_not_scaling_down")
    >>> len(pipeline.application.operators), pipeline.application.operators[6].resources
    (9, {'cpu': 1.0, 'gpu': 4.0})
    """
    hosts, cpus = HOSTS[name]
    operators: list[dict[str, Any]] = []
    for number, stage in enumerate(PIPELINES[name]):
        workers = {"max_replicas": MAX_WORKERS}
        if stage.per_host is not None:
            workers = dict.fromkeys(("min_replicas", "max_replicas"), stage.per_host * hosts)
        operator = {"name": f"stage{number}", "resources": {"cpu": stage.cpus, "gpu": stage.gpus}, "cost": 1.0, **workers}
        if stage.per_host is None or fixed_stages_limit:
            operator["latency"] = {"model": "mm1", "service_rate": stage.rate}
        operators.append(operator)
    operators[0]["external_rate"] = 1.0
    streams = [{"source": f"stage{k}", "target": f"stage{k + 1}"} for k in range(len(operators) - 1)]
    nodes = [{"name": f"host{u}", "resources": {"cpu": cpus, "gpu": {"units": GPUS}}} for u in range(hosts)]
    return EdrpProblem(
        application={"operators": operators, "streams": streams},
        network={"nodes": nodes, "between_zones": {"delay": 1e-4}},
        weights={"cost": 1.0},
        limits={"cost": 1e6},
    )
