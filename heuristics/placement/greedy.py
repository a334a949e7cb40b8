"""Baselines that search a little: greedy first fit with replication of the bottleneck, and random placements."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from edrp.core.budget import spend
from edrp.core.methods import Options
from edrp.core.problem import Evaluation
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.placement.deployment_starts import first_fit, random_fit
from edrp.heuristics.placement.filling import Filling, PlacementHeuristic, checked_answer
from edrp.heuristics.placement.search.deployment_engine import repaired
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment

OFFER_WORK = 5e-5
"""Units of work for an operator or stream of a deployment that is filled and evaluated by plain code."""


class Greedy(PlacementHeuristic):
    """First fit in topological order, then one more replica for the slowest operator while that pays.

    Of the nodes with room, those come first on which rules with a penalty are violated least. Where the first fit breaks limits,
    another one begins with the operators that the fewest nodes have room for.
    """

    name = "greedy"
    summary = "first fit in topological order, then replication of the bottleneck while it pays"

    def place(self, compiled: Compiled, parameters: Any, options: Options) -> Answer:
        """Build one deployment; keep the current one where that is as good."""
        best = _Best(compiled, options)
        if compiled.problem.current is not None:
            best.offer(compiled.problem.current)
        counts = first_fit(compiled, wishes=True)
        reached = best.offer(compiled.deployment(counts))
        if reached[0]:
            other = first_fit(compiled, wishes=True, constrained_first=True)
            if (value := best.offer(compiled.deployment(other))) < reached:
                counts, reached = other, value
        try:
            while _replicate_bottleneck(compiled, counts):
                if options.remaining <= 0:
                    return best.answer("time_limit")
                before, reached = reached, best.offer(compiled.deployment(counts))
                if reached >= before:
                    break
        except KeyboardInterrupt:
            return best.answer("interrupted")
        return best.answer("finished")


def _replicate_bottleneck(compiled: Compiled, counts: np.ndarray) -> bool:
    """Add a replica to the operator with the largest latency that can take one, on the nearest node that fits."""
    degree = counts.sum(axis=1)
    latency = compiled.latency[np.arange(degree.size), degree]
    more = compiled.latency[np.arange(degree.size), np.minimum(degree + 1, compiled.max_replicas)]
    able = (degree < compiled.max_replicas) & np.isfinite(more)
    filling = Filling.of(compiled, counts)
    for i in np.argsort(-latency, kind="stable"):
        if not able[i]:
            continue
        home = np.flatnonzero(counts[i])[:1]
        nodes = np.flatnonzero(compiled.stable_nodes(degree + 1)[i])
        nodes = nodes[np.argsort(compiled.links.delay_from(home)[0, nodes], kind="stable")]
        nodes = nodes[(filling.free[nodes] >= compiled.demand[i] * (1 - LIMIT_SLACK)).all(axis=1)]
        if filling.rules is not None:
            nodes = nodes[filling.room(int(i), nodes) > 0]
        if nodes.size:
            counts[i, filling.by_wishes(int(i), nodes)[0]] += 1
            return True
    return False


@dataclass(frozen=True, slots=True)
class RandomParameters:
    """Parameters of random placement; `samples` is the number of placements drawn."""

    samples: Annotated[int, Field(ge=1)] = 100


class Random(PlacementHeuristic):
    """The best of some random first-fit placements, the floor of any comparison."""

    name = "random"
    summary = "best of 100 random first-fit placements; the floor of any comparison"
    parameters = RandomParameters

    def place(self, compiled: Compiled, parameters: RandomParameters, options: Options) -> Answer:
        """Draw placements, evaluate them, and keep the best."""
        generator = np.random.default_rng(options.seed)
        best = _Best(compiled, options)
        try:
            for sample in range(parameters.samples):
                if sample and options.remaining <= 0:
                    return best.answer("time_limit")
                best.offer(compiled.deployment(random_fit(compiled, generator)))
        except KeyboardInterrupt:
            return best.answer("interrupted")
        return best.answer("finished")


class _Best:
    """The best deployment found so far; improvements are reported."""

    def __init__(self, compiled: Compiled, options: Options) -> None:
        self.compiled, self.options = compiled, options
        self.rank = (np.iinfo(np.int64).max, inf)
        self.deployment: Deployment | None = None
        self.evaluation: Evaluation | None = None

    def offer(self, deployment: Deployment) -> tuple[int, float]:
        """Evaluate a deployment and keep it if it is better; return its broken limits and objective."""
        application = self.compiled.problem.application
        spend(OFFER_WORK * (len(application.operators) + len(application.streams)))
        evaluation = self.compiled.problem.evaluate(deployment)
        rank = len(evaluation.broken), evaluation.objective
        if rank < self.rank:
            self.rank, self.deployment, self.evaluation = rank, deployment, evaluation
            if evaluation.feasible:
                self.options.tell(evaluation.objective)
        return rank

    def answer(self, stopped: StoppedBecause) -> Answer:
        """Build the answer: feasible if the evaluator confirms it, if need be after a repair of broken rules, else none."""
        assert self.evaluation is not None, "something is offered before the answer is asked for"
        assert self.deployment is not None
        if self.evaluation.feasible:
            return Answer("feasible", stopped, self.deployment, self.evaluation.objective)
        counts = repaired(self.compiled, self.compiled.counts(self.deployment), self.options)
        return checked_answer(self.compiled, counts, stopped)


METHODS = (Greedy(), Random())
"""Methods for problems of kinds `edrp` and `latency-aware`."""
