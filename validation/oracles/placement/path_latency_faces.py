"""Path latency of one placement, as everything that computes it sees it: evaluation, program and the arrays of searches."""

from __future__ import annotations

import numpy as np

from edrp.backends import solve_program
from edrp.core.arrays import Ints
from edrp.formulations.methods import formulate
from edrp.heuristics.placement.annealing import energies
from edrp.heuristics.placement.count_annealing import BestCounts, anneal_counts
from edrp.heuristics.placement.count_evaluation import CountedDeployment
from edrp.heuristics.placement.problem_arrays import placement_arrays
from edrp.heuristics.placement.search.count_arrays import NOBODY, count_arrays, count_paths, path_latency
from edrp.heuristics.placement.search.count_state import CountState, put
from edrp.heuristics.placement.search.instance_arrays import instance_arrays
from edrp.heuristics.placement.search.instance_state import longest_path
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
    6
    """
    roomy = [node.replace(resources=None) for node in problem.network.nodes]
    free = problem.replace(network=problem.network.replace(nodes=roomy), current=None)
    compiled = compile_problem(free)
    counts = compiled.counts(deployment)
    return {
        "evaluation": free.evaluate(deployment).metrics["path_latency"],
        "program": _program(free, deployment),
        "replicas": float(energies(compiled, counts)[0]),
        "replicas by counts": _counted(compiled, counts),
        "instances": _instances(compiled, counts),
        "instances by counts": _counts(compiled, counts),
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


def _counted(compiled: Compiled, counts: Ints) -> float:
    arrays = placement_arrays(compiled)
    deployment = CountedDeployment.from_matrix(arrays, counts)
    anneal_counts(arrays, deployment, BestCounts.empty(*counts.shape), np.zeros(1, np.uint64), 0, 1.0, 1.0)
    return float(deployment.values[0])


def _instances(compiled: Compiled, counts: Ints) -> float:
    place = np.concatenate([np.repeat(np.arange(row.size), row) for row in counts])
    return float(longest_path(instance_arrays(compiled).paths, place, np.zeros(place.size)))


def _counts(compiled: Compiled, counts: Ints) -> float:
    paths = count_paths(compiled)
    arrays = count_arrays(compiled, paths)
    state = CountState.nothing(arrays)
    for a, s in zip(*np.nonzero(counts), strict=True):
        put(arrays, state, a, s, counts[a, s])
    return float(path_latency(paths, state.counts, NOBODY, 0, 0, 0))
