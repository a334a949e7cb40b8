"""Costs of migration policies on real series: the grids behind Figs. 9, 10, 12 and 14 (state migration, section 6).

The paper's "τ = 1.2" is read as 1 + τ, that is τ = 0.2 of Definition 3.1; the grid goes on to τ = 1.2.
Every interval of a partition holds a task, in all policies on partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edrp.heuristics.migration import BalancedPacking, EvenSplit, Sticky, StickyByWork
from edrp.report.estimates import RESAMPLES, Estimate, percentile_estimate
from edrp.report.progress import Tell
from edrp.validation.papers.state_migration.node_count_series import MigrationSeries
from edrp.validation.simulation.migration.policies import MTM, SINGLE_STEP, plan, policy_model, prepare, single_step
from edrp.validation.simulation.migration.policy_runs import (
    Followed,
    NodeCountCourse,
    follow_hashing,
    follow_policy,
    follow_rule,
)

TOLERANCES = (0.2, 0.3, 0.4, 0.5, 0.8, 1.2)
TASK_NUMBERS = (64, 128, 256, 512, 1024)
DISCOUNTS = (0.2, 0.4, 0.6, 0.8, 0.9)
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
    """

    series: str
    tolerance: float
    tasks: int
    discount: float | None
    followed: Followed
    saving: Estimate | None = None
    long_saving: Estimate | None = None
    prepare_seconds: float = 0.0
    note: str = ""

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
        for tolerance in tolerances:
            course = NodeCountCourse(history.tasks(tasks), history.migrations(migrations), tolerance)
            tell(f"{history.name}, τ = {tolerance:g}: rules")
            runs = [follow_rule(EvenSplit(matching), course) for matching in (False, True)]
            runs.append(follow_hashing(course, hashing_runs))
            runs += [follow_rule(rule, course) for rule in (Sticky(), StickyByWork(), BalancedPacking(allow_empty=False))]
            base = _single_step(course)
            yield from (PolicyRow(history.name, tolerance, tasks, None, run) for run in (*runs, base))
            prepared = _mtm_aware(history, course, DISCOUNT, base, tell)
            yield prepared
            tell(f"{history.name}, τ = {tolerance:g}: the future known")
            planned = plan(course, (base, prepared.followed))
            run = planned.follow(course)
            yield PolicyRow(history.name, tolerance, tasks, None, run, saving(run, base), None, planned.seconds, planned.how)


def task_grid(
    series: Iterable[MigrationSeries],
    numbers: Sequence[int] = TASK_NUMBERS,
    *,
    migrations: int = 100,
    tell: Tell = str,
) -> Iterator[PolicyRow]:
    """SSM against the number of tasks that the same keys are hashed to: Fig. 12."""
    for history in series:
        for number in numbers:
            tell(f"{history.name}: {number} tasks")
            course = NodeCountCourse(history.tasks(number), history.migrations(migrations), TOLERANCE)
            yield PolicyRow(history.name, TOLERANCE, number, None, _single_step(course))


def discount_grid(
    series: Iterable[MigrationSeries],
    discounts: Sequence[float] = DISCOUNTS,
    *,
    tasks: int = TASKS,
    migrations: int = 100,
    tell: Tell = str,
) -> Iterator[PolicyRow]:
    """MTM-aware migration against γ; SSM is γ = 0: Fig. 14."""
    for history in series:
        course = NodeCountCourse(history.tasks(tasks), history.migrations(migrations), TOLERANCE)
        base = _single_step(course)
        yield PolicyRow(history.name, TOLERANCE, tasks, None, base)
        for discount in discounts:
            yield _mtm_aware(history, course, discount, base, tell)


def _single_step(course: NodeCountCourse) -> Followed:
    return follow_policy(SINGLE_STEP, single_step(course.tasks, course.tolerance), course)


def _mtm_aware(series: MigrationSeries, course: NodeCountCourse, discount: float, base: Followed, tell: Tell) -> PolicyRow:
    tell(f"{series.name}, τ = {course.tolerance:g}, γ = {discount:g}: projected costs")
    prepared = prepare(policy_model(course.tasks, series.transition_matrix(), course.tolerance, discount))
    run = follow_policy(MTM, prepared.action, course)
    long_course = course._replace(counts=series.migrations(LONG_RUN))
    long_saving = saving(follow_policy(MTM, prepared.action, long_course), _single_step(long_course))
    setting = (series.name, course.tolerance, course.tasks.work.size, discount)
    return PolicyRow(*setting, run, saving(run, base), long_saving, prepared.seconds, prepared.how)


def saving(policy: Followed, against: Followed, seed: int = 0) -> Estimate:
    """Share of another policy's cost that a policy saves on the same course, by a circular block bootstrap.

    >>> from edrp.report.formatting import SHARE
    >>> def cost(value):
    ...     return Followed("", np.full(50, value), np.zeros(50), np.zeros(50))
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
