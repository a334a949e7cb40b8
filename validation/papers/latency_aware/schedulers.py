"""Every scheduler of latency-aware placement, section 6, on its topologies: what each placement takes and carries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edrp.core.solve import solve
from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.heuristics.placement.simple_rules import Even, EvenParameters
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.report.progress import Tell
from edrp.validation.simulation.placement.queueing import end_to_end_latencies
from edrp.validation.simulation.placement.throughput import carried

TOPOLOGIES = ("T-M1", "T-M2", "T-M3", "T-R1", "T-R2", "T-R3", "T-R4", "T-R5", "T-R6", "T-R7")
"""Those of Tables 2 and 3; the paper compares no cyclic ones either."""

LOADS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Shares of the cluster's cores: the axis along which schedulers scale out."""

EVEN = "even"
RESOURCE_AWARE = "resource-aware"
SEARCHES = ("hill-climbing", "ant-system", "hybrid")
METHODS = (*SEARCHES, RESOURCE_AWARE, "iterated-local-search")
"""Methods in the order of the tables, and the search that this package recommends."""

SIMULATED_SHARE = 0.6
"""Share of a topology's rates at which latencies are simulated: all schedulers but the even one can take it."""


@dataclass(frozen=True, slots=True)
class SchedulerPlacement:
    """One placement; of the even scheduler with load 0, and as seed the workers.

    It reserves cores of supervisors and carries tuples/s of the source; the least and the mean seconds end to end are None
    where nothing was simulated.
    """

    topology: str
    load: float
    method: str
    seed: int
    reserved: float
    throughput: float
    least: float | None = None
    mean: float | None = None


def placements(
    topologies: Sequence[str] = TOPOLOGIES,
    *,
    loads: Sequence[float] = LOADS,
    seeds: int = 5,
    simulated: Sequence[str] = (),
    tell: Tell = str,
) -> list[SchedulerPlacement]:
    """Place every topology with every scheduler, and simulate end-to-end latencies of some.

    The even scheduler does not look at needs: it deals the executors to a fixed number of workers, here one
    to all. The others place each topology at each load and use what they need; the resource-aware one draws nothing.
    """
    placed: list[SchedulerPlacement] = []
    for topology in topologies:
        tell(topology)
        latencies = topology in simulated
        lowest = paper_problem(topology, min(loads))
        placed += [_placed(lowest, topology, 0.0, EVEN, workers, deal, latencies) for workers, deal in _even(lowest)]
        for load in loads:
            problem = paper_problem(topology, load)
            for method in METHODS:
                for seed in range(1 if method == RESOURCE_AWARE else seeds):
                    deployment = solve(problem, method, seed=seed, time_limit=1.0).deployment
                    if deployment is not None:
                        placed.append(_placed(problem, topology, load, method, seed, deployment, latencies))
    return placed


def _even(problem: LatencyAwareProblem) -> Iterator[tuple[int, Deployment]]:
    """The even scheduler's deal for every number of workers, whether supervisors are overloaded or not."""
    compiled = compile_problem(problem)
    for workers in range(1, len(compiled.nodes) + 1):
        yield workers, compiled.deployment(Even().fill(compiled, EvenParameters(workers=workers)).counts)


def _placed(
    problem: LatencyAwareProblem,
    topology: str,
    load: float,
    method: str,
    seed: int,
    deployment: Deployment,
    simulated: bool,
) -> SchedulerPlacement:
    measures = carried(problem, deployment)
    if not simulated:
        return SchedulerPlacement(topology, load, method, seed, measures.reserved, measures.throughput)
    seconds = end_to_end_latencies(problem, deployment, rate_share=SIMULATED_SHARE, seed=seed)
    least_seconds, mean = (float(seconds.min()), float(seconds.mean())) if seconds.size else (None, None)
    return SchedulerPlacement(topology, load, method, seed, measures.reserved, measures.throughput, least_seconds, mean)


def factors(placements_made: Sequence[SchedulerPlacement], topology: str, method: str, reference: str) -> np.ndarray:
    """Throughput of each placement over the reference's where that takes as much (section 6.2.1); none without a reference.

    Between placements of the reference it is interpolated, beyond them the nearest one counts, as in the paper. Several
    placements of the reference that take the same are averaged.
    """
    mine = [placed for placed in placements_made if placed.topology == topology and placed.method == method]
    other = [placed for placed in placements_made if placed.topology == topology and placed.method == reference]
    if not mine or not other:
        return np.zeros(0)
    taken = np.array(sorted({placed.reserved for placed in other}))
    reached = np.array([np.mean([placed.throughput for placed in other if placed.reserved == cores]) for cores in taken])
    return np.array([placed.throughput / np.interp(placed.reserved, taken, reached) for placed in mine])
