"""A weight of a peak load: proofs under limits on it, for ranges of the peak load that become smaller.

Over classes of nodes a limit on a peak load can be proven with, a maximum over nodes in the objective cannot. But all
placements whose peak load lies in a range cost at least what the rest of the objective costs under the range's upper end as a
limit, and the weight of its lower end. Where that is no better than the best placement known, the range is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Options
from edrp.core.problem import derived_once
from edrp.core.solution import Answer, Proof, StoppedBecause
from edrp.core.tolerances import EQUAL_LOADS, LIMIT_SLACK, MIN_RANGE_PEAK
from edrp.formulations.placement.proof import answer_with_bound, nothing_found
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import Weights
from edrp.placement.metrics.peak_load import PEAK_LOAD
from edrp.placement.scales import cost_scale

ROUNDED = 1 - EQUAL_LOADS
"""Share of a peak load that is below it in spite of rounding."""

BELOW = (1 - LIMIT_SLACK) * ROUNDED
"""Share of a peak load that, as a limit, no longer allows it."""

WIDE = 1.01
"""Upper by lower end of a range above which it is halved, where no proof under a limit says how low it reaches."""

SUB_GAP = 0.25
"""Share of the allowed gap that proofs under a limit may leave."""


class PeakRange(NamedTuple):
    """Placements whose peak load lies between two values.

    Attributes
    ----------
    low, high : values of the peak load; infinite where it has no upper end.
    rest : lower bound on the rest of the objective for all of them.
    stuck : whether a proof under `high` as a limit, or a higher one, has left a gap, so that the range is not looked at again.
    """

    low: float
    high: float
    rest: float
    stuck: bool = False


class PeakRangeSearch:
    """Branch and bound over ranges of the peak load."""

    def __init__(
        self, problem: EdrpProblem, metric: str, prove: Callable[[EdrpProblem, Options], Answer], options: Options
    ) -> None:
        self.problem, self.metric, self.prove, self.options = problem, metric, prove, options
        compiled = compile_problem(problem)
        self.weight = compiled.weight[metric]
        self.others = sum(term.weight for term in problem.terms if term.metric != metric)
        self.best: Deployment | None = None
        self.objective = np.inf
        self.closed = np.inf
        self.proofs = 0
        self.proof: Proof | None = None
        high = float(compiled.limit[metric])
        self.ranges = [PeakRange(min(least_peak(compiled, metric), high), high, 0.0)]
        self.in_hand: list[PeakRange] = []
        self._hold(options.start)
        self._hold(problem.current)

    def run(self) -> Answer:
        """Close ranges, the one with the least bound first."""
        stopped: StoppedBecause = "finished"
        while open_ranges := [part for part in self.ranges if not part.stuck]:
            if self.options.remaining <= 0:
                stopped = "time_limit"
                break
            part = min(open_ranges, key=self._bound)
            self.ranges.remove(part)
            self.in_hand = [part]
            try:
                answer = self._work(part)
            except OutOfTimeError:
                stopped = "time_limit"
                break
            self.in_hand = []
            if answer is not None and answer.stopped_because == "interrupted":
                stopped = "interrupted"
                break
        return self._answer(stopped)

    @property
    def bound(self) -> float:
        """Lower bound proven for all placements."""
        return min([self.closed, *map(self._bound, self.ranges + self.in_hand)])

    @property
    def _cutoff(self) -> float:
        """Objective at which a placement is no better than the best by more than the gap."""
        return self.objective - 0.5 * self.options.gap * abs(self.objective) if self.best is not None else np.inf

    def _bound(self, part: PeakRange) -> float:
        return part.rest + self.weight * part.low

    def _work(self, part: PeakRange) -> Answer | None:
        """Cut off what cannot be better, then prove under a limit what is left, or half of it."""
        high = min(part.high, (self._cutoff - part.rest) / self.weight)
        if high < part.high:
            self.closed = min(self.closed, part.rest + self.weight * max(high, part.low))
            if high <= part.low:
                return None
        if high < MIN_RANGE_PEAK:
            self.ranges.append(part._replace(high=high, stuck=True))
            return None
        if self.others <= 0 and np.isfinite(high) and high > WIDE * part.low:
            middle = 0.5 * (part.low + high)
            self.ranges.append(part._replace(low=middle, high=high))
            high = middle
        return self._proven(part._replace(high=high))

    def _proven(self, part: PeakRange) -> Answer:
        """Prove the least rest of the objective in a range, and keep what is left of it."""
        self.proofs += 1
        options = replace(self.options.within(self.options.remaining), start=None, gap=SUB_GAP * self.options.gap)
        problem = self._limited(part.high)
        with derived_once(problem):
            answer = self.prove(problem, options)
        if answer.proof == "solver's word":
            self.proof = answer.proof
        if answer.status == "infeasible":
            return answer
        if answer.bound is not None:
            part = part._replace(rest=max(part.rest, self.others * answer.bound))
        self._hold(answer.decision)
        peak = np.inf if answer.decision is None else self.problem.evaluate(answer.decision).metrics[self.metric]
        reached = min(peak, part.high)
        below = max(part.low, BELOW * reached)
        if answer.decision is not None and (answer.status == "optimal" or self.others <= 0):
            # The limit `below` allows all up to here, by its slack.
            self.closed = min(self.closed, part.rest + self.weight * max(part.low, ROUNDED * reached))
            if below > part.low:
                self.ranges.append(part._replace(high=below))
        else:
            self._park(part, below)
        return answer

    def _park(self, part: PeakRange, below: float) -> None:
        """Keep the upper half of a range without a proof, and look for placements in the lower one."""
        middle = 0.5 * (part.low + below)
        if np.isfinite(middle) and middle > WIDE * part.low:
            self.ranges += [part._replace(low=middle, stuck=True), part._replace(high=middle)]
        else:
            self.ranges.append(part._replace(stuck=True))

    def _limited(self, high: float) -> EdrpProblem:
        """The problem without the weight, and with a limit instead; money is to be saved where nothing else has a weight."""
        weights = {t.metric: t.weight / self.others for t in self.problem.terms if t.metric != self.metric and t.weight > 0}
        limits = self.problem.limits if np.isinf(high) else self.problem.limits.with_limit(self.metric, high)
        compiled = compile_problem(self.problem)
        if not weights and np.isinf(compiled.limit["cost"]):
            # The weight of money asks for a limit that normalises it; this one excludes nothing.
            limits = limits.with_limit("cost", 2 * cost_scale(compiled))
        return self.problem.replace(weights=Weights.of_metrics(weights or {"cost": 1.0}), limits=limits)

    def _hold(self, deployment: Deployment | None) -> None:
        """Keep a deployment where it is feasible and better than the best."""
        if deployment is None:
            return
        evaluation = self.problem.evaluate(deployment)
        if evaluation.feasible and evaluation.objective < self.objective:
            self.best, self.objective = deployment, evaluation.objective
            self.options.tell(self.objective, min(self.bound, self.objective))

    def _answer(self, stopped: StoppedBecause) -> Answer:
        size = {"proofs": self.proofs}
        if self.best is not None:
            gap = self.objective - self.bound
            answer = answer_with_bound(self.problem, self.best, gap, self.options.gap, stopped, size, 0.0)
            return answer.resting_on(self.proof)
        if not self.ranges:
            return Answer("infeasible", "finished", size=size, proof=self.proof)
        return nothing_found(stopped, self.bound, size).resting_on(self.proof)


def least_peak(compiled: Compiled, metric: str) -> float:
    """Lower bound on a peak load: what replicas use in all, by all there is, and what one of them uses, by the largest node."""
    contention, peak = compiled.contention, 0.0
    sizes = np.arange(contention.replica_use.shape[1])
    for k, name in enumerate(contention.metrics[1:]):
        if metric not in (PEAK_LOAD, name):
            continue
        use, capacity = contention.replica_use[:, :, k], contention.capacity[:, k]
        stable = np.isfinite(compiled.latency) & (sizes > 0)
        total = np.where(stable, sizes * use, np.inf).min(axis=1).sum()
        single = np.where(stable, use, np.inf).min(axis=1).max()
        peak = max(peak, float(total / capacity.sum()), float(single / capacity.max()))
    return peak
