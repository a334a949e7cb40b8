"""`fixed-tasks`: the least peak load of given tasks on equal nodes.

The least peak load: proof by patterns where they are few, else a search and bounds that come nearer to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints, UInts
from edrp.core.budget import deadline, look, now, spend
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.problem import RULES
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.tolerances import LIMIT_SLACK, SAME_VALUE
from edrp.formulations.placement.fixed_tasks.pattern_pairs import best_of_patterns, max_patterns
from edrp.formulations.placement.fixed_tasks.pattern_program import PatternPool, bound_on_mean, compose
from edrp.formulations.placement.fixed_tasks.patterns import PatternLister
from edrp.formulations.placement.handover import answer_with_bound, leaving_out_rules, rules_left_out
from edrp.placement.compilation import compile_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.fixed_tasks import (
    FixedTasks,
    fixed_tasks_refusal,
    given_cost,
    load_limits,
    minimised,
    read_fixed_tasks,
)
from edrp.placement.metrics.base import PEAKS, TRAFFIC

STEP_WORK = 4e-9
"""Units of work for an exchange that is tried, per operator."""

FIRST_TEMPERATURE, LAST_TEMPERATURE = 0.03, 1e-5
"""Shares of a mean load."""


def first_counts(tasks: FixedTasks, placed: Ints | None = None) -> Ints | None:
    """Every task on the emptiest node that has room, shape (nodes, operators); None if they do not fit.

    Parameters
    ----------
    placed : shape (nodes, operators)
        Tasks that have their places.
    """
    arrays = tasks.arrays
    counts = np.zeros((tasks.nodes, tasks.operators), np.int64) if placed is None else placed.copy()
    free = tasks.room - np.where(arrays.demand.any(axis=0), counts @ arrays.demand, 0.0)
    loads = (counts @ arrays.use).sum(axis=1)
    size = np.where(np.isfinite(tasks.room) & (tasks.room > 0), arrays.demand / np.maximum(tasks.room, 1e-300), 0.0).max(
        axis=1, initial=0.0
    )
    for i in np.lexsort((-arrays.use.sum(axis=1), -size)):
        for _ in range(int(arrays.totals[i] - counts[:, i].sum())):
            fits = (free >= arrays.demand[i] * (1 - LIMIT_SLACK)).all(axis=1)
            if not fits.any():
                return None
            node = int(np.where(fits, loads + counts[:, i] * 1e-9, np.inf).argmin())
            counts[node, i] += 1
            free[node] -= arrays.demand[i]
            loads[node] += arrays.use[i].sum() + size[i] / 1e3
    return counts


def lower_loads(tasks: FixedTasks, counts: Ints, goal: Floats, steps: int, random: UInts, heat: float = 1.0) -> bool:
    """Change counts until no node's load exceeds the goal, shape (shared,); False if that was not reached.

    The counts are then those that came nearest. With little heat, a share of the usual first temperature, the search stays near
    where it began.
    """
    totals = np.maximum(tasks.totals, tasks.arrays.sent.sum(axis=0)) / tasks.nodes
    scale = np.where(totals > 0, totals, 1.0)
    room = tasks.room * (1 + LIMIT_SLACK)
    first = max(LAST_TEMPERATURE, heat * FIRST_TEMPERATURE)
    spend(STEP_WORK * steps * (tasks.operators + 4))
    limits = goal * (1 + LIMIT_SLACK)
    excess = _native.lower_excess(tasks.arrays, room, limits, 1.0 / scale, counts, first, steps, random)
    return bool(excess <= 0)


FIRST_STEPS, MAX_EXCHANGE_STEPS = 20_000, 3_000_000
"""Steps of one exchange search, at first and where shorter ones no longer lower the peak."""

MAX_COMPOSED = 3_000
"""Patterns up to which an integer program over all of them is tried."""


class PeakInterval:
    """The interval between bound and peak shrinks from both sides.

    Parameters
    ----------
    shared
        Shared resources whose largest load is minimised; none if any placement will do.
    limits : shape (shared,)
        Largest load of a node; infinite for none.

    Attributes
    ----------
    counts : shape (nodes, operators) or None, the best placement so far.
    value, bound : its peak load, and that of any placement at least.
    impossible : bool, whether it is proven that nothing keeps room and limits.
    patterns : int, most patterns that were listed or found.
    """

    def __init__(
        self,
        tasks: FixedTasks,
        shared: Sequence[int],
        limits: Floats,
        options: Options,
        report: Callable[[], None] = lambda: None,
    ) -> None:
        self.tasks, self.shared, self.limits, self.options, self.report = tasks, list(shared), limits, options, report
        self.pool = PatternPool(tasks)
        self.random = np.array([options.seed], np.uint64)
        self.counts: Ints | None = None
        self.joined: Ints | None = None
        self.aim = np.inf
        self.impossible, self.patterns, self.value = False, 0, np.inf
        fixed = [k for k in self.shared if not tasks.streamed[k]]
        self.bound = float((tasks.totals[fixed] / tasks.nodes).max(initial=0.0))
        self.lister, self.max_patterns = PatternLister(tasks), max_patterns(tasks)

    def hold(self, counts: Ints) -> None:
        """Keep a placement if it keeps room and limits and is better than what is held."""
        arrays = self.tasks.arrays
        complete = np.array_equal(counts.sum(axis=0), arrays.totals)
        fits = (counts @ arrays.demand <= self.tasks.room * (1 + LIMIT_SLACK)).all()
        if complete and fits and (self.tasks.loads(counts) <= self.limits * (1 + LIMIT_SLACK)).all():
            self._take(counts.astype(np.int64))

    def run(self) -> StoppedBecause:
        """Prove, or come as near as time allows; returns why it ended."""
        try:
            with deadline(now() + self.options.remaining):
                if self.counts is None:
                    self._begin()
                if self.counts is not None:
                    self._prove()
        except OutOfTimeError:
            return "time_limit"
        except KeyboardInterrupt:
            return "interrupted"
        return "time_limit" if self.options.remaining <= 0 and not self.impossible and not self.closed else "finished"

    def _begin(self) -> None:
        """Find any placement within the limits, or prove that there is none."""
        counts = first_counts(self.tasks)
        if counts is not None:
            self.hold(counts)
        if self.counts is not None or self._decided():
            return
        if counts is not None:
            steps = FIRST_STEPS
            while not lower_loads(self.tasks, counts, self.limits, steps, self.random) and steps < MAX_EXCHANGE_STEPS:
                look("a placement")
                steps *= 4
            self.hold(counts)
        if self.counts is None:
            self._prove_impossible()

    def _decided(self) -> bool:
        """Whether there are so few patterns that they could tell whether there is a placement."""
        patterns = self.lister.within(self.limits, self.max_patterns) if self.max_patterns else None
        if patterns is None:
            return False
        best = best_of_patterns(self.tasks, patterns, np.zeros(len(patterns)))
        if best is None:
            self.impossible = True
        else:
            self.hold(best[1])
        return True

    def _prove_impossible(self) -> None:
        """Look for a placement with proof."""
        patterns = self.lister.within(self.limits, MAX_COMPOSED)
        if patterns is not None:
            counts, self.impossible = compose(self.tasks, patterns, self.options.remaining)
        elif np.isinf(bound_on_mean(self.tasks, self.pool, self.limits, 0)):
            counts, self.impossible = None, True
        else:
            counts, _ = compose(self.tasks, self.pool.select(self.limits), self.options.remaining)
        if counts is not None:
            self.hold(counts)

    @property
    def closed(self) -> bool:
        """Whether the gap is small enough."""
        return self.value - self.bound <= max(self.options.gap, SAME_VALUE) * max(self.value, 0.0)

    @property
    def _below(self) -> float:
        """A peak just low enough to close the gap if it is a bound: many patterns may have the very peak that is held."""
        return self.value * (1 - 0.9 * max(self.options.gap, SAME_VALUE))

    def _prove(self) -> None:
        """Prove, or narrow the interval until neither side moves."""
        self.report()
        if self.closed or (self.max_patterns and self._prove_by_enumeration()):
            return
        self._search(FIRST_STEPS)
        if self.closed or (self.max_patterns and self._prove_by_enumeration()):
            return
        self._bound_by_users_alone()
        steps, pause, wait = 10 * FIRST_STEPS, 0, 0
        while not self.closed:
            look("a proof")
            before = self.value - self.bound
            if wait == 0:
                self._raise_bound()
                pause = 0 if self.value - self.bound <= 0.95 * before else 2 * pause + 1
                wait = pause + 1
            wait -= 1
            self._search_from_users_alone(steps)
            self._search(steps)
            if not self.closed:
                self._enumerate()
            # An integer program over the patterns found so far, for a peak below what is held.
            units = min(5.0, self.options.remaining)
            threshold = self.bound + 0.7 * (self.value - self.bound)
            if not self.closed and units > 0.1:
                counts, _ = compose(self.tasks, self.pool.select(self._limits(threshold)), units)
                if counts is not None:
                    self._take(counts)
            self.report()
            if self.value - self.bound > 0.9 * before:
                if steps >= MAX_EXCHANGE_STEPS and np.isinf(self.options.remaining):
                    return
                steps = min(4 * steps, MAX_EXCHANGE_STEPS)

    def _limits(self, value: float) -> Floats:
        limits = self.limits.copy()
        limits[self.shared] = np.minimum(limits[self.shared], value)
        return limits

    def _take(self, counts: Ints) -> None:
        value = float(self.tasks.loads(counts)[:, self.shared].max(initial=0.0))
        if self.counts is None or value < self.value:
            self.value, self.counts = value, counts

    def _prove_by_enumeration(self) -> bool:
        """List patterns within a threshold, lowered until they are few enough; return whether this closed the gap."""
        above, threshold = np.inf, self._below
        for _ in range(40):
            patterns = self.lister.within(self._limits(threshold), self.max_patterns)
            if patterns is None:
                above = threshold
                threshold = self.bound + 0.25 * (threshold - self.bound)
            else:
                self.patterns = max(self.patterns, len(patterns))
                values = self.tasks.loads(patterns)[:, self.shared].max(axis=1)
                best = best_of_patterns(self.tasks, patterns, values)
                if best is not None:
                    self._take(best[1])
                    self.bound = self.value
                    return True
                self.bound = threshold
                self.report()
                threshold = self._below if np.isinf(above) else 0.5 * (self.bound + above)
            if threshold - self.bound <= SAME_VALUE * threshold or self.closed:
                return self.closed
        return self.closed

    def _bound_by_users_alone(self) -> None:
        """Place only the operators that use what is minimised, where these are few: a bound, and places that others may keep."""
        users = self.tasks.users(self.shared)
        if users.size == self.tasks.operators:
            return
        options = self.options.within(self.options.remaining / 2)
        alone = PeakInterval(self.tasks.restricted_to(users), self.shared, self.limits, options)
        if alone.run() == "interrupted":
            raise KeyboardInterrupt
        self.bound = max(self.bound, alone.bound)
        if alone.counts is not None:
            placed = np.zeros((self.tasks.nodes, self.tasks.operators), np.int64)
            placed[:, users] = alone.counts
            self.joined, self.aim = first_counts(self.tasks, placed), alone.value
            self._search_from_users_alone(FIRST_STEPS)

    def _search_from_users_alone(self, steps: int) -> None:
        """Exchange tasks, starting where the users of what is minimised have the places that they take without others."""
        if self.joined is not None and self.aim < self.value * (1 - SAME_VALUE):
            counts = self.joined.copy()
            if lower_loads(self.tasks, counts, self._limits(self.aim), steps, self.random):
                self._take(counts)

    def _search(self, steps: int) -> None:
        """Exchange tasks for lower and lower peaks; the aim is taken back towards what is held where it is not met."""
        assert self.counts is not None
        share = 0.5
        while share > 1e-3 and not self.closed and self.options.remaining > 0:
            goal = self.bound + (1 - share) * (self.value - self.bound)
            counts = self.counts.copy()
            if lower_loads(self.tasks, counts, self._limits(goal), steps, self.random, 2 * share):
                self._take(counts)
            else:
                share *= 0.5
            self.pool.add(counts)

    def _raise_bound(self) -> None:
        """The linear program over patterns just below the peak, then at thresholds between bound and peak."""
        assert self.counts is not None
        loads = self.tasks.loads(self.counts).max(axis=0)
        k = max(self.shared, key=lambda k: float(loads[k]))
        threshold, end = self._below, now() + self.options.remaining / 4
        for _ in range(6):
            mean = bound_on_mean(self.tasks, self.pool, self._limits(threshold), k, end - now())
            if mean >= threshold:
                self.bound = max(self.bound, threshold)
            else:
                self.bound = max(self.bound, mean)
                above = threshold
            if self.closed or mean >= threshold:
                return
            threshold = 0.5 * (self.bound + above)

    def _enumerate(self) -> None:
        """Solve integer programs over all patterns below the peak, where these are few, by bisection over their values."""
        patterns = self.lister.within(self._limits(self.value * (1 - SAME_VALUE)), MAX_COMPOSED)
        if patterns is None:
            return
        self.patterns = max(self.patterns, len(patterns))
        loads = self.tasks.loads(patterns)[:, self.shared].max(axis=1, initial=0.0)
        values = np.unique(loads[loads >= self.bound * (1 - SAME_VALUE)])
        while values.size and not self.closed:
            look("a proof")
            middle = values[values.size // 2]
            some = patterns[loads <= middle * (1 + LIMIT_SLACK)]
            counts, impossible = compose(self.tasks, some, self.options.remaining)
            if impossible:
                values = values[values.size // 2 + 1 :]
                self.bound = max(self.bound, float(values[0]) if values.size else self.value)
            elif counts is None:
                return
            else:
                self._take(counts)
                values = values[values < self.value * (1 - SAME_VALUE)]
        self.bound = max(self.bound, self.value if not values.size else 0.0)


class FixedTasksMethod(Method):
    """Peak loads of shared resources, one after the other, where all numbers of replicas are given and nodes are equal."""

    name = "fixed-tasks"
    kinds = ("edrp",)
    takes = frozenset({TRAFFIC, PEAKS, RULES})
    exact = True
    summary = "given numbers of replicas on equal nodes: least peak load by patterns of nodes; hundreds of tasks"

    def obstacle(self, problem: EdrpProblem) -> str | None:
        """Numbers of replicas that are open, nodes that differ, other metrics."""
        with rules_left_out(problem) as relaxed:
            return fixed_tasks_refusal(relaxed, self.name, peaks=1)

    @leaving_out_rules
    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Prove the least peak load, or return what was reached with a bound when time runs out."""
        compiled = compile_problem(problem)
        degrees = compiled.max_replicas
        stable = np.isfinite(compiled.latency[np.arange(degrees.size), degrees]).all()
        if not stable or given_cost(compiled) > compiled.limit["cost"] * (1 + LIMIT_SLACK):
            return Answer("infeasible", "finished")
        tasks, shared = read_fixed_tasks(problem), minimised(compiled)
        weight = max(compiled.weight[metric] for metric in compiled.contention.metrics)
        constant = compiled.weight["cost"] * given_cost(compiled)

        def report() -> None:
            options.tell(constant + weight * search.value, constant + weight * search.bound)

        search = PeakInterval(tasks, shared, load_limits(compiled), options, report)
        build_seconds = options.seconds
        for known in (options.start, problem.current):
            if known is not None and problem.evaluate(known).feasible:
                search.hold(compiled.counts(known).T)
        stopped = search.run()
        size: dict[str, Any] = {"patterns": max(search.patterns, len(search.pool.patterns))}
        if search.impossible:
            return Answer("infeasible", "finished", size=size, build_seconds=build_seconds)
        if search.counts is None:
            return Answer("none", "time_limit" if stopped == "finished" else stopped, size=size, build_seconds=build_seconds)
        deployment = compiled.deployment(np.ascontiguousarray(search.counts.T))
        gap = weight * max(0.0, search.value - search.bound)
        return answer_with_bound(problem, deployment, gap, options.gap, stopped, size, build_seconds)


METHODS = (FixedTasksMethod(),)
"""Methods of this module, for the registry."""
