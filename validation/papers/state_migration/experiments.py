"""Costs of migration policies on real series: the grids behind Figs. 9 to 12 and 14 (state migration, section 6).

The paper's "τ = 1.2" is read as 1 + τ, that is τ = 0.2 of Definition 3.1; the grid goes on to τ = 1.2.
Every interval of a partition holds a task, in all policies on partitions. Where loads change and no partition keeps the limit,
τ is as much larger as it must be (`NodeCountCourse.of`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from edrp.heuristics.migration.node_change import BalancedPacking, EvenSplit, Sticky, StickyByWork
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.report.estimates import RESAMPLES, Estimate, percentile_estimate
from edrp.report.progress import Tell
from edrp.validation.papers.state_migration.task_loads import WORD_COUNT, CourseLoad, MigrationSeries
from edrp.validation.simulation.migration import policies

TOLERANCES = (0.2, 0.3, 0.4, 0.5, 0.8, 1.2)
TASK_NUMBERS = (64, 128, 256, 512, 1024)
MAX_PREPARED_TASKS = 128
"""Tasks up to which MTM-aware migration is prepared for Fig. 12; more take minutes."""

PRECOMPUTED = (0.14, 0.16, 0.18, 0.2)
"""Tolerances at which the partitions of 64 tasks can be enumerated: PMC itself."""

DISCOUNTS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
TOLERANCE, TASKS, DISCOUNT = 0.2, 64, 0.8
"""Defaults of the paper, in our reading."""

LONG_RUN = 3000
"""Migrations over which savings are estimated once more: a prepared policy follows them quickly."""

MIGRATIONS_PER_BLOCK = 10
"""Neighbouring migrations that are drawn together, since the cost of one depends on those before it."""


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """The run of one policy in one setting; no discount for policies that know none.

    Attributes
    ----------
    saving : share of SSM's cost that it saves on the same migrations; None for SSM itself and for rules that may break the limit.
    long_saving : the same over all migrations of the series, at most 3,000; None for plans.
    prepare_seconds, note : time before the first decision, and how it was prepared.
    widened : migrations whose τ had to be larger.
    unevenness : load of the heaviest task relative to the mean, on average over the migrations.
    """

    series: str
    tolerance: float
    tasks: int
    discount: float | None
    followed: policies.Followed
    saving: Estimate | None = None
    long_saving: Estimate | None = None
    prepare_seconds: float = 0.0
    note: str = ""
    application: str = WORD_COUNT
    widened: int = 0
    unevenness: float = 1.0

    @property
    def policy(self) -> str:
        """Name of the policy."""
        return self.followed.name


def tolerance_grid(
    series: Iterable[MigrationSeries],
    tolerances: Sequence[float] = TOLERANCES,
    *,
    tasks: int = TASKS,
    migrations: int = 100,
    hashing_runs: int = 100,
    tell: Tell = str,
) -> Iterator[PolicyRow]:
    """All policies against τ: Figs. 9 and 10."""
    for history in series:
        load = _load(history, tasks, migrations)
        for tolerance in tolerances:
            course = load.course(tolerance, migrations)
            setting = _Setting(history, tolerance, tasks, course)
            tell(f"{history.name}, τ = {tolerance:g}: rules")
            runs = [policies.follow_rule(EvenSplit(matching), course) for matching in (False, True)]
            runs.append(policies.follow_hashing(course, hashing_runs))
            runs += [
                policies.follow_rule(rule, course) for rule in (Sticky(), StickyByWork(), BalancedPacking(allow_empty=False))
            ]
            base = _single_step(course)
            yield from (setting.row(run) for run in (*runs, base))
            prepared = _mtm_aware(setting, load, DISCOUNT, base, tell)
            yield prepared
            tell(f"{history.name}, τ = {tolerance:g}: the future known")
            planned = policies.plan(course, (base, prepared.followed))
            run = planned.follow(course)
            yield setting.row(run, saving=saving(run, base), prepare_seconds=planned.seconds, note=planned.how)


def task_grid(
    series: Iterable[MigrationSeries],
    numbers: Sequence[int] = TASK_NUMBERS,
    *,
    migrations: int = 100,
    known: Sequence[PolicyRow] = (),
    tell: Tell = str,
) -> Iterator[PolicyRow]:
    """SSM against the number of tasks that the same keys are hashed to, and MTM-aware migration for at most 128: Fig. 12.

    Rows of MTM-aware migration that are `known` already are not computed again.
    """
    for history in series:
        for number in numbers:
            tell(f"{history.name}: {number} tasks")
            load = history.load(number, migrations)
            course = load.course(TOLERANCE, migrations)
            setting, base = _Setting(history, TOLERANCE, number, course), _single_step(course)
            yield setting.row(base)
            if number <= MAX_PREPARED_TASKS:
                yield _mtm_aware(setting, load, DISCOUNT, base, tell, known)


class PrecomputedRow(NamedTuple):
    """Seconds of PMC in one setting, and the number of partitions whose costs it computes."""

    series: str
    tolerance: float
    partitions: int
    seconds: float


def precomputation_grid(
    series: Iterable[MigrationSeries], tolerances: Sequence[float] = PRECOMPUTED, *, tasks: int = TASKS, tell: Tell = str
) -> Iterator[PrecomputedRow]:
    """PMC against τ, on all cores, where there is a partition for each number of nodes and not too many: Fig. 11."""
    for history in series:
        learnt = history.load(tasks, 1).learnt
        for tolerance in tolerances:
            model = policies.policy_model(learnt, history.transition_matrix(), tolerance, DISCOUNT)
            partitions = sum(model.size.states)
            if 0 not in model.size.states and partitions <= policies.MAX_PARTITIONS:
                tell(f"{history.name}, τ = {tolerance:g}: PMC on {partitions} partitions")
                began = perf_counter()
                iterate(model, Threads(os.cpu_count() or 1))
                yield PrecomputedRow(history.name, tolerance, partitions, perf_counter() - began)


def discount_grid(
    series: Iterable[MigrationSeries],
    discounts: Sequence[float] = DISCOUNTS,
    *,
    tasks: int = TASKS,
    migrations: int = 100,
    known: Sequence[PolicyRow] = (),
    tell: Tell = str,
) -> Iterator[PolicyRow]:
    """MTM-aware migration against γ; SSM is γ = 0: Fig. 14. Rows that are `known` already are not computed again."""
    for history in series:
        load = _load(history, tasks, migrations)
        course = load.course(TOLERANCE, migrations)
        setting, base = _Setting(history, TOLERANCE, tasks, course), _single_step(course)
        yield setting.row(base)
        for discount in discounts:
            yield _mtm_aware(setting, load, discount, base, tell, known)


class _Setting(NamedTuple):
    """Values that the rows of a course have in common."""

    history: MigrationSeries
    tolerance: float
    tasks: int
    course: policies.NodeCountCourse

    def row(self, followed: policies.Followed, discount: float | None = None, **more: Any) -> PolicyRow:
        history, tolerance, tasks, course = self
        uneven = np.mean([load.work.max() / load.work.mean() for load in course.tasks])
        more |= {"application": history.application, "widened": course.widened(tolerance), "unevenness": float(uneven)}
        return PolicyRow(history.name, tolerance, tasks, discount, followed, **more)


def _load(history: MigrationSeries, tasks: int, migrations: int) -> CourseLoad:
    """The loads of a run, and of the long run where they cost little."""
    return history.load(tasks, migrations if history.loads.costly else max(migrations, LONG_RUN))


def _single_step(course: policies.NodeCountCourse) -> policies.Followed:
    return policies.follow_policy(policies.SINGLE_STEP, policies.single_step, course)


def _mtm_aware(
    setting: _Setting, load: CourseLoad, discount: float, base: policies.Followed, tell: Tell, known: Sequence[PolicyRow] = ()
) -> PolicyRow:
    series, tolerance, tasks, course = setting
    wanted = (policies.MTM, series.name, tolerance, tasks, discount)
    for row in known:
        if (row.policy, row.series, row.tolerance, row.tasks, row.discount) == wanted:
            return row
    tell(f"{series.name}, τ = {tolerance:g}, γ = {discount:g}: projected costs")
    model = policies.policy_model(load.learnt, series.transition_matrix(), tolerance, discount)
    prepared = policies.prepare(model, changing=series.changing)
    run = policies.follow_policy(policies.MTM, prepared.action, course)
    long_saving = None
    if not series.loads.costly:
        long_course = load.course(tolerance, LONG_RUN)
        long_saving = saving(policies.follow_policy(policies.MTM, prepared.action, long_course), _single_step(long_course))
    savings = {"saving": saving(run, base), "long_saving": long_saving}
    return setting.row(run, discount, **savings, prepare_seconds=prepared.seconds, note=prepared.how)


def saving(policy: policies.Followed, against: policies.Followed, seed: int = 0) -> Estimate:
    """Share of another policy's cost that a policy saves on the same course, by a circular block bootstrap.

    >>> from edrp.report.formatting import SHARE
    >>> def cost(value):
    ...     return policies.Followed("", np.full(50, value), np.zeros(50), np.zeros(50))
    >>> SHARE.with_interval(saving(cost(0.09), cost(0.1)))
    '10.0 % (10.0 to 10.0)'
    """
    costs = np.stack([policy.moved_share, against.moved_share])
    migrations = costs.shape[1]
    block = min(MIGRATIONS_PER_BLOCK, migrations)
    begins = np.random.default_rng(seed).integers(0, migrations, (RESAMPLES, -(-migrations // block)))
    drawn = (begins[:, :, None] + np.arange(block)).reshape(RESAMPLES, -1)[:, :migrations] % migrations
    own_cost, other_cost = costs[:, drawn].sum(axis=2)
    base = costs[1].sum()
    value = float(1 - costs[0].sum() / base) if base > 0 else 0.0
    return percentile_estimate(value, 1 - own_cost / np.where(other_cost > 0, other_cost, np.inf))
