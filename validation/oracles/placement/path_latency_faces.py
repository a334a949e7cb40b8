"""Path latency of one placement (latency-aware placement, section 4.2): by enumeration, and as its users see it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from edrp import _native
from edrp.backends.solving import solve_program
from edrp.core.arrays import Ints
from edrp.formulations.methods import formulate
from edrp.heuristics.placement.annealing import energies
from edrp.heuristics.placement.search.count_arrays import NO_OPERATOR, count_arrays, count_paths
from edrp.heuristics.placement.search.count_engine import CountState
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.metrics.path_latency import MILLISECONDS


def path_latencies(problem: LatencyAwareProblem, deployment: Deployment) -> dict[str, float]:
    """Seconds by what computes them; resources play no part."""
    roomy = [node.replace(resources=None) for node in problem.network.nodes]
    free = problem.replace(network=problem.network.replace(nodes=roomy), current=None)
    compiled = compile_problem(free)
    counts = compiled.counts(deployment)
    return {
        "evaluation": free.evaluate(deployment).metrics["path_latency"],
        "program": _program(free, deployment),
        "replicas": float(energies(compiled, counts)[0]),
        "counts": _counts(compiled, counts),
    }


def _program(problem: LatencyAwareProblem, deployment: Deployment) -> float:
    """The minimum over the program with the deployment fixed."""
    formulation = formulate(problem)
    integer, point = formulation.program.arrays().integer, formulation.encode(deployment)
    for value in (0.0, 1.0):
        formulation.program.fix(np.flatnonzero(integer & (point == value)), value)
    formulation.program.minimise(formulation.metric("path_latency"))
    objective = solve_program(formulation.program).objective
    return float("nan") if objective is None else objective / MILLISECONDS


def _counts(compiled: Compiled, counts: Ints) -> float:
    paths = count_paths(compiled)
    arrays = count_arrays(compiled, paths)
    state = CountState.nothing(arrays)
    for a, s in zip(*np.nonzero(counts), strict=True):
        _native.put_instances(arrays, state, a, s, counts[a, s])
    return float(_native.path_latency(paths, state.counts, NO_OPERATOR, 0, 0, 0))


Instance = tuple[str, str]
"""An operator and the node of one of its instances; instances on one node are equal."""


def slowest_instance_path(problem: LatencyAwareProblem, deployment: Deployment) -> float:
    """Seconds on the links of the slowest path that a tuple can take."""
    starts = [(operator, node) for operator in deployment for node in deployment[operator]]
    paths = (path for start in starts for path in _paths(problem, deployment, (start,)))
    return max(sum(problem.network.delay(u, v) for (_, u), (_, v) in pairwise(path)) for path in paths)


def _paths(problem: LatencyAwareProblem, deployment: Deployment, path: tuple[Instance, ...]) -> Iterator[tuple[Instance, ...]]:
    """The path, and all that go on from its end along streams that close no cycle."""
    yield path
    for stream in problem.application.streams:
        if stream.source == path[-1][0] and (stream.source, stream.target) not in problem.application.feedback:
            for node in deployment[stream.target]:
                yield from _paths(problem, deployment, (*path, (stream.target, node)))
