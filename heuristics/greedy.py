"""Baselines: greedy first fit with replication of the bottleneck, and random placements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.compiled import Compiled, compile_problem
from edrp.documents import Deployment
from edrp.heuristics.start import Placement, first_fit, overloaded, random_fit
from edrp.methods import Options
from edrp.problems.base import Evaluation
from edrp.problems.edrp import EdrpProblem
from edrp.solution import Answer, StoppedBecause


class Greedy:
    """First fit in topological order, then one more replica for the slowest operator while that pays."""

    name = "greedy"
    kinds: tuple[str, ...] = ("edrp",)
    exact = False
    summary = "first fit in topological order, then replication of the bottleneck while it pays"

    def refusal(self, problem: EdrpProblem) -> str | None:
        """Takes every problem."""
        return None

    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Build one deployment; keep the current one if it is better."""
        compiled = compile_problem(problem)
        if (hopeless := overloaded(compiled)) is not None:
            return hopeless
        best = compiled.deployment(first_fit(compiled).counts(compiled))
        value = problem.evaluate(best)
        stopped: StoppedBecause = "finished"
        while (grown := _replicate_bottleneck(compiled, best)) is not None:
            if options.remaining <= 0:
                stopped = "time_limit"
                break
            candidate = problem.evaluate(grown)
            if _rank(candidate) >= _rank(value):
                break
            best, value = grown, candidate
        if problem.current is not None and _rank(problem.evaluate(problem.current)) < _rank(value):
            best = problem.current
        return Placement.of_counts(compiled, compiled.counts(best)).answer(compiled, stopped)


def _rank(evaluation: Evaluation) -> tuple[int, float]:
    return len(evaluation.broken), evaluation.objective


def _replicate_bottleneck(compiled: Compiled, deployment: Deployment) -> Deployment | None:
    """One more replica for the operator with the largest latency that can take one, on the first node that fits."""
    counts = compiled.counts(deployment)
    degree = counts.sum(axis=1)
    latency = compiled.latency[np.arange(degree.size), degree]
    free = compiled.capacity - counts.T @ compiled.demand
    for i in np.argsort(-latency, kind="stable"):
        if degree[i] == compiled.max_replicas[i] or not np.isfinite(compiled.latency[i, degree[i] + 1]):
            continue
        home = np.flatnonzero(counts[i])[0]
        nodes = compiled.candidates(int(i))
        nodes = nodes[np.argsort(compiled.delay[home, nodes], kind="stable")]
        for u in nodes[(free[nodes] >= compiled.demand[i] * (1 - 1e-9)).all(axis=1)]:
            counts[i, u] += 1
            return compiled.deployment(counts)
    return None


@dataclass(frozen=True, slots=True)
class RandomParameters:
    """`samples`: how many random placements to draw."""

    samples: int = 100


class Random:
    """The best of some random first-fit placements: what no thought at all gives."""

    name = "random"
    kinds: tuple[str, ...] = ("edrp",)
    exact = False
    summary = "best of 100 random first-fit placements; the floor of any comparison"

    def refusal(self, problem: EdrpProblem) -> str | None:
        """Takes every problem."""
        return None

    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Draw, evaluate, keep the best."""
        compiled = compile_problem(problem)
        if (hopeless := overloaded(compiled)) is not None:
            return hopeless
        generator = np.random.default_rng(options.seed)
        best: tuple[tuple[int, float], Placement] | None = None
        stopped: StoppedBecause = "finished"
        for _ in range(RandomParameters(**options.parameters).samples):
            placement = random_fit(compiled, generator)
            rank = _rank(problem.evaluate(compiled.deployment(placement.counts(compiled))))
            if best is None or rank < best[0]:
                best = (rank, placement)
            if options.remaining <= 0:
                stopped = "time_limit"
                break
        if best is None:
            return Answer("none", stopped)
        return best[1].answer(compiled, stopped)
