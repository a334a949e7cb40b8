"""`equal-nodes`: proven optima on clusters, where nodes are equal and only counts, classes and shared nodes matter.

A weight of a peak load: proofs under limits on it, for ranges of the peak load that become smaller.

Over classes of nodes a limit on a peak load can be proven with, a maximum over nodes in the objective cannot. But all
placements whose peak load lies in a range cost at least what the rest of the objective costs under the range's upper end as a
limit, and the weight of its lower end. Where that is no better than the best placement known, the range is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.budget import now
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.problem import RULES, derived_once
from edrp.core.solution import Answer, Proof, StoppedBecause
from edrp.core.tolerances import EQUAL_LOADS, EQUAL_OBJECTIVES, LIMIT_SLACK, MIN_RANGE_PEAK
from edrp.formulations.placement.compact import estimated_columns
from edrp.formulations.placement.equal_nodes.codes import MAX_OPEN
from edrp.formulations.placement.equal_nodes.downtimes import compiled_quotient
from edrp.formulations.placement.equal_nodes.labels import Pattern
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.packing import realise
from edrp.formulations.placement.equal_nodes.realisation import realise_by_program, realise_moves
from edrp.formulations.placement.equal_nodes.search import BestOnNodes, CaseSearch, EqualNodesParameters
from edrp.formulations.placement.equal_nodes.state_graph import list_steps
from edrp.formulations.placement.equal_nodes.staying_replicas import promised_downtime
from edrp.formulations.placement.handover import (
    answer_with_bound,
    finish_by_program,
    leaving_out_rules,
    nothing_found,
    rules_left_out,
    worked_until_limit,
)
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import Weights
from edrp.placement.metrics.base import PACKAGE_METRICS
from edrp.placement.metrics.peak_load import PEAK_LOAD
from edrp.placement.node_classes import MAX_CLASSES, find_node_classes
from edrp.placement.scales import cost_scale, max_objective

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

    def _bound(self, part: PeakRange) -> float:
        return part.rest + self.weight * part.low

    def _work(self, part: PeakRange) -> Answer | None:
        """Cut off what cannot be better, then prove under a limit what is left, or half of it."""
        cutoff = self.objective - 0.5 * self.options.gap * abs(self.objective) if self.best is not None else np.inf
        high = min(part.high, (cutoff - part.rest) / self.weight)
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
        elif np.isfinite(middle := 0.5 * (part.low + below)) and middle > WIDE * part.low:
            # The upper half is kept without a proof, and placements are looked for in the lower one.
            self.ranges += [part._replace(low=middle, stuck=True), part._replace(high=middle)]
        else:
            self.ranges.append(part._replace(stuck=True))
        return answer

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


PACKING_SHARE, PACKING_SECONDS = 0.2, 1.0
"""Share of the time, and seconds in any case, for programs that may be of no use: hard packings, moves that take longer."""


MAX_COMPACT_COLUMNS = 1_000
"""Columns of the compact program up to which it takes over where nothing is left to branch on."""

TAKEN_OVER = "over classes of nodes nothing was left to branch on; the compact program took over"
"""Links, tuples in flight, availability and peak loads depend on which replicas share a node, which classes only bound."""


class EqualNodes(Method):
    """Exact method for clusters of up to three classes of equal nodes; any DAG, capacities, limits."""

    name = "equal-nodes"
    kinds = ("edrp",)
    takes = PACKAGE_METRICS | {RULES}
    exact = True
    summary = "classes of equal nodes: states of open operators, prices, label search; the fastest proof on clusters"
    parameters = EqualNodesParameters

    def obstacle(self, problem: EdrpProblem) -> str | None:
        """Refuse what is not modelled over classes, and networks whose nodes differ."""
        with rules_left_out(problem) as relaxed:
            return self._refusal(relaxed)

    def _refusal(self, problem: EdrpProblem) -> str | None:
        if problem.current is not None and problem.reconfiguration == "storm":
            return "equal-nodes does not take Storm's reconfiguration into account"
        peaks = problem.weighted_peaks
        if len(peaks) > 1:
            return f"equal-nodes takes the weight of one peak load into account, not of {' and '.join(peaks)}"
        if find_node_classes(problem) is None:
            return f"the network has more than {MAX_CLASSES} classes of equal nodes, which equal-nodes does not take"
        widest = max(len(opened) for opened in list_steps(compiled_quotient(problem).model)[1])
        if widest > MAX_OPEN:
            return f"{widest} operators wait for others at the same time, equal-nodes takes up to {MAX_OPEN}"
        return None

    @leaving_out_rules
    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Prove the optimum, or return incumbent, bound and gap when time runs out."""
        compiled = compile_problem(problem)
        answer = self._over_classes(problem, compiled, options)
        if estimated_columns(compiled) > MAX_COMPACT_COLUMNS:
            return answer
        return finish_by_program(problem, answer, options, self.name, TAKEN_OVER)

    def _over_classes(self, problem: EdrpProblem, compiled: Compiled, options: Options) -> Answer:
        """The answer over classes of nodes; under a weight of a peak load by proofs of problems without it."""
        for metric in problem.weighted_peaks:
            return PeakRangeSearch(problem, metric, self.run, options).run()
        if not np.isfinite(compiled.latency).any(axis=1).all():
            return Answer("infeasible", "finished")
        parameters = self.read_parameters(options)
        return _EqualNodesSearch(problem, compiled, compiled_quotient(problem), parameters, options).run()


class _EqualNodesSearch:
    """Search of all cases, the most promising first."""

    def __init__(
        self, problem: EdrpProblem, compiled: Compiled, quotient: Quotient, parameters: EqualNodesParameters, options: Options
    ) -> None:
        self.problem, self.compiled, self.quotient, self.options = problem, compiled, quotient, options
        self.build_seconds = options.seconds
        self.deployment: Deployment | None = None
        self.incumbent = BestOnNodes(max_objective(compiled) + 1e-6, self._offer, self._prove_on_nodes)
        self.cases = [
            CaseSearch(case, used, parameters, self.incumbent, lambda: options.remaining <= 0, mirrored)
            for case, used, mirrored in _cases(quotient)
        ]
        self.closed_bound, self.packing_seconds, self.trusting = np.inf, 0.0, False
        self.branches = self.labels = self.states = 0
        for known in (problem.current, options.start):
            if known is not None:
                self._hold(known)

    def run(self) -> Answer:
        """Work on the case with the least bound until it is no better than the incumbent."""
        answer = self._answer(worked_until_limit(self.options, self._work))
        return answer.resting_on("solver's word") if self.trusting else answer

    def _work(self) -> StoppedBecause:
        for work in (CaseSearch.raise_first, CaseSearch.raise_more, lambda case: case.prove(self._allowed)):
            for case in sorted(self.cases, key=lambda case: case.bound):
                if not self._proven(case) and self.options.remaining > 0:
                    work(case)
                    self._report()
        self._branch()
        return "finished"

    def _branch(self) -> None:
        """Split the case with the least bound until none is left below the incumbent."""
        while self.options.remaining > 0:
            case = min(self.cases, key=lambda case: case.bound, default=None)
            if case is None or self._proven(case):
                return
            branches = case.branches(self._allowed)
            for one in branches:
                one.look()
            self.cases.remove(case)
            self.branches += len(branches)
            for one in branches:
                self.labels, self.states = max(self.labels, one.labels), max(self.states, one.states)
                if self._proven(one):
                    self.closed_bound = min(self.closed_bound, one.bound)
                else:
                    self.cases.append(one)
            if not branches:
                self.closed_bound = min(self.closed_bound, case.bound)
            self._report()

    @property
    def bound(self) -> float:
        """Lower bound proven over all cases."""
        return min([self.closed_bound, *(case.bound for case in self.cases)])

    def _proven(self, case: CaseSearch) -> bool:
        return case.bound >= self._allowed(self.incumbent.objective)

    def _allowed(self, objective: float) -> float:
        """Half of the gap is left to rounding."""
        return objective if self.deployment is None else objective - 0.5 * self.options.gap * abs(objective)

    def _offer(self, quotient: Quotient, pattern: Pattern, seconds: float) -> bool:
        """Try a placement over classes on the nodes; whether it is realised."""
        if quotient.choices.downtime.any():
            later = self.compiled.weight["downtime"] * (seconds - promised_downtime(quotient, pattern))
            if not pattern.objective + later < self.incumbent.objective:
                return False
            counts, *_ = realise_moves(quotient, pattern, seconds)
            return self._reaches(counts, pattern)
        if self._reaches(realise(quotient, pattern), pattern):
            return True
        if self.packing_seconds > max(PACKING_SECONDS, PACKING_SHARE * self.options.elapsed):
            return False
        began, counts = now(), realise_by_program(quotient, pattern)
        self.packing_seconds += now() - began
        return self._reaches(counts, pattern)

    def _reaches(self, counts: Ints | None, pattern: Pattern) -> bool:
        return counts is not None and self._hold(self.compiled.deployment(counts)) <= pattern.objective + EQUAL_OBJECTIVES

    def _prove_on_nodes(self, quotient: Quotient, pattern: Pattern) -> bool:
        """Realise with ever shorter downtime; return whether nothing better than the best remains."""
        weight, limit = self.compiled.weight["downtime"], quotient.longest_downtime
        promised = promised_downtime(quotient, pattern)
        while pattern.objective < self._allowed(self.incumbent.objective):
            spare = self._allowed(self.incumbent.objective) - pattern.objective
            longest = min(limit, promised + spare / weight) if weight else limit
            (counts, none, trusting), best = realise_moves(quotient, pattern, longest), self.incumbent.objective
            self.trusting |= trusting
            if counts is None:
                return none
            self._hold(self.compiled.deployment(counts))
            if self.incumbent.objective >= best:
                return False
        return True

    def _hold(self, deployment: Deployment) -> float:
        """Keep a deployment that is feasible, where it is better than what is held; returns its objective, or infinity."""
        evaluation = self.problem.evaluate(deployment)
        if not evaluation.feasible:
            return np.inf
        ties = self.quotient.model.cost - self.compiled.weight["cost"]
        objective = evaluation.objective + ties * evaluation.metrics["cost"]
        if objective < self.incumbent.objective:
            self.incumbent.objective, self.incumbent.found, self.deployment = objective, True, deployment
        return objective

    def _report(self) -> None:
        objective = None if self.deployment is None else self.incumbent.objective
        self.options.tell(objective, min(self.bound, self.incumbent.objective))

    def _answer(self, stopped: StoppedBecause) -> Answer:
        size = {
            "classes": len(self.quotient.members),
            "states": max([self.states, *(case.states for case in self.cases)]),
            "labels": max([self.labels, *(case.labels for case in self.cases)]),
            "branches": self.branches,
        }
        bound = self.bound
        if self.deployment is None:
            return nothing_found(stopped, bound, size, self.build_seconds, self.incumbent.objective)
        # Bounds include the tie term, which is below anything that counts.
        gap = self.incumbent.objective - bound
        return answer_with_bound(self.problem, self.deployment, gap, self.options.gap, stopped, size, self.build_seconds)


def _cases(quotient: Quotient) -> list[tuple[Quotient, int, bool]]:
    """One case per set of classes: all of them are used, and no others; whether these are mirror images of one another.

    Sets that some operator cannot run on are left out, and those that are mirror images of an earlier one.
    """
    choices, cases = quotient.choices, []
    classes = range(len(quotient.members))
    # What runs now tells classes apart.
    alike = not choices.downtime.any() and all(quotient.exchangeable(0, k) for k in classes)
    for inside in range(1, 1 << len(classes)):
        if alike and inside & (inside + 1):
            continue
        rows = (choices.classes & ~inside) == 0
        if np.unique(choices.operator[rows]).size == quotient.operators:
            several = inside.bit_count() > 1
            cases.append((replace(quotient, choices=choices.select(rows)), inside if several else 0, several and alike))
    return cases


METHODS: tuple[Any, ...] = (EqualNodes(),)
"""Methods of this module, for the registry."""
