"""Path latency of one placement, as everything that computes it sees it: evaluation, program and the arrays of searches."""

from __future__ import annotations

import numpy as np

from edrp.backends import solve_program
from edrp.core.arrays import Ints
from edrp.formulations.methods import formulate
from edrp.heuristics.placement.annealing import energies
from edrp.heuristics.placement.search.count_arrays import NOBODY, count_arrays, count_paths, path_latency
from edrp.heuristics.placement.search.count_state import CountState, put
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.metrics.path_latency import MILLISECONDS


def path_latencies(problem: LatencyAwareProblem, deployment: Deployment) -> dict[str, float]:
    """Seconds by what computes them; resources play no part.

    Examples
    --------
    >>> from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
    >>> problem = random_latency_aware_problem(3, operators=(2, 3), nodes=(2, 3))
    >>> everything_on_one = {o.name: [(o.candidates or ["n0"])[0]] * o.instances for o in problem.application.operators}
    >>> len(path_latencies(problem, Deployment(everything_on_one)))
    4
    """
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
        put(arrays, state, a, s, counts[a, s])
    return float(path_latency(paths, state.counts, NOBODY, 0, 0, 0))
