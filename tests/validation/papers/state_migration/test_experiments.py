"""The experiments of state migration on small made-up series, and on the departures where that is quick."""

from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from edrp.heuristics.migration.node_change import EvenSplit, Sticky
from edrp.mdp.partitions import OldNodes, Tasks, gain_between
from edrp.mdp.single_step.ssm import best_migration
from edrp.report.estimates import Estimate
from edrp.report.statements import claim
from edrp.validation.papers.state_migration import experiments, task_loads
from edrp.validation.papers.state_migration import report as migration_report
from edrp.validation.papers.state_migration.experiments import (
    PolicyRow,
    discount_grid,
    precomputation_grid,
    saving,
    task_grid,
    tolerance_grid,
)
from edrp.validation.papers.state_migration.report import (
    MEASURED_ELSEWHERE,
    ORDER,
    discount_statements,
    task_statements,
    tolerance_statements,
)
from edrp.validation.papers.state_migration.task_loads import KeyLoads, MigrationSeries, Tweets, WordLoads, real_series, zipf_work
from edrp.validation.simulation.migration.policies import (
    MTM,
    OMS,
    SINGLE_STEP,
    Followed,
    NodeCountCourse,
    follow_hashing,
    follow_policy,
    follow_rule,
    plan,
    policy_model,
    prepare,
    single_step,
)


@pytest.fixture(scope="module")
def series() -> MigrationSeries:
    """Two to four nodes, an hour at a time, with a rhythm that can be learnt."""
    generator = np.random.default_rng(11)
    counts = np.tile([2, 2, 3, 4, 4, 3], 200)
    noisy = np.where(generator.random(counts.size) < 0.1, generator.integers(2, 5, counts.size), counts)
    return MigrationSeries("toy", noisy, KeyLoads(zipf_work(0.5, 500)), "made up")


@pytest.fixture(scope="module")
def changing(series: MigrationSeries) -> MigrationSeries:
    """The same node counts under words that trend."""
    return replace(series, loads=WordLoads(Tweets(1200, 0.5), series.node_counts * 100.0), changing=True)


@pytest.fixture(scope="module")
def rows(series: MigrationSeries) -> list[PolicyRow]:
    return list(tolerance_grid([series], (0.3, 0.6), tasks=16, migrations=60, hashing_runs=5))


def cost(value: float, migrations: int = 40) -> Followed:
    return Followed("flat", np.full(migrations, value), np.zeros(migrations), np.zeros(migrations))


def test_migrations_follow_the_month_that_is_learnt_from() -> None:
    """Only changes count, the count before the first of them included, and nothing of the month is seen again."""
    counts = np.concatenate([np.full(719, 3), [2], [2, 2, 4, 4, 3, 2]])
    made = MigrationSeries("made", counts, KeyLoads(np.ones(5)), "made up")
    assert made.learnt.size == 720
    assert made.migrations().tolist() == [2, 4, 3, 2]
    assert made.migration_hours().tolist() == [719, 722, 724, 725]
    assert made.migrations(2).tolist() == [2, 4, 3]
    assert made.transition_matrix().node_counts.tolist() == [2, 3, 4]
    assert made.transition_matrix().never_left == (2, 4)


def test_keys_make_tasks_of_equal_totals(series: MigrationSeries) -> None:
    for number in (8, 64):
        tasks = series.tasks(number)
        assert tasks.work.size == number
        assert tasks.work.sum() == pytest.approx(1)
        assert tasks.state_size.sum() == 500 * 100


def test_all_three_series_are_read(shared_data: Path) -> None:
    found = real_series(shared_data)
    assert [series.name for series in found] == [
        f"{name} {kind}" for name in ("flights", "taxi", "Twitter") for kind in ("WC", "FP")
    ]
    assert all(series.migrations().size == 101 and series.changing for series in found)


def test_without_a_folder_only_departures_are_used(series: MigrationSeries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDRP_DATA", raising=False)
    monkeypatch.setattr(task_loads, "departures", lambda *, changing: series)
    monkeypatch.setattr(task_loads, "departure_patterns", lambda *, changing: series)
    assert real_series() == (series, series)


def test_following_ssm_costs_what_each_step_costs(series: MigrationSeries) -> None:
    """Partition by partition, against SSM on assignments with all their nodes."""
    tasks = series.tasks(16)
    course = NodeCountCourse.of(tasks, series.migrations(20), 0.5)
    run = follow_policy(SINGLE_STEP, single_step, course)
    intervals = list(zip(course.start()[:-1].tolist(), course.start()[1:].tolist(), strict=True))
    total = tasks.state_size.sum()
    for share, nodes in zip(run.moved_share, course.counts[1:].tolist(), strict=True):
        found = best_migration(tasks, OldNodes.of(intervals), len(intervals), nodes, 0.5, False)
        assert found is not None
        assert share == pytest.approx(1 - found[0] / total)
        intervals = [each for each in found[1] if each is not None]
    assert not run.broken.any()


def test_knowing_the_future_is_best_and_preparing_for_it_is_better_than_not(rows: list[PolicyRow]) -> None:
    """OMS ≤ MTM-aware ≤ SSM up to noise, at every τ; nobody else keeps the limit and costs less than OMS on intervals."""
    for tolerance in (0.3, 0.6):
        means = {row.policy: row.followed.mean for row in rows if row.tolerance == tolerance}
        assert means[OMS] <= min(means[SINGLE_STEP], means[MTM], means["balanced packing"]) + 1e-12
        assert means[MTM] <= 1.02 * means[SINGLE_STEP]
        assert means[SINGLE_STEP] <= means["balanced packing"] <= means["even split"]
    kept = [row for row in rows if row.policy in (SINGLE_STEP, MTM, OMS, "balanced packing")]
    assert not any(row.followed.broken.any() for row in kept)


def test_every_policy_of_the_comparison_is_there(rows: list[PolicyRow]) -> None:
    """Rules with their violations, planners with their savings and how they were prepared."""
    assert set(ORDER) < {row.policy for row in rows}
    for row in rows:
        assert row.followed.moved_share.shape == (60,)
        assert (row.saving is not None) == (row.policy in (MTM, OMS))
        assert row.note == "exact" or row.saving is None
    assert any(row.followed.broken_share > 0 for row in rows if row.policy == "consistent hashing")


@pytest.mark.slow
def test_projected_costs_that_cannot_be_enumerated_are_fitted_or_not_used(series: MigrationSeries) -> None:
    model = policy_model(series.tasks(12), series.transition_matrix(), 0.5, 0.8)
    prepared = prepare(model, max_states=10)
    assert prepared.how in ("fitted", "restricted", "SSM")
    course = NodeCountCourse.of(model.tasks, series.migrations(10), 0.5)
    assert not follow_policy(MTM, prepared.action, course).broken.any()


@pytest.mark.slow
def test_plans_that_cannot_be_enumerated_are_searched_for(series: MigrationSeries) -> None:
    course = NodeCountCourse.of(series.tasks(12), series.migrations(12), 0.5)
    base = follow_policy(SINGLE_STEP, single_step, course)
    exact, searched = plan(course), plan(course, [base], max_states=10)
    assert (exact.how, searched.how) == ("exact", "search")
    best, found = exact.follow(course), searched.follow(course)
    assert best.mean <= found.mean + 1e-12
    assert found.mean <= min(base.mean, 1.05 * best.mean)


def test_more_tasks_cost_less(series: MigrationSeries) -> None:
    known = [PolicyRow("toy WC", 0.2, number, 0.8, cost(1 / number)) for number in (32, 128)]
    known = [replace(row, followed=replace(row.followed, name=MTM)) for row in known]
    grid = list(task_grid([series], (32, 128, 256), migrations=40, known=known))
    assert [(row.tasks, row.policy) for row in grid] == [
        (32, SINGLE_STEP), (32, MTM), (128, SINGLE_STEP), (128, MTM), (256, SINGLE_STEP)
    ]  # fmt: skip
    assert grid[2].followed.mean < grid[0].followed.mean
    verdicts = {claim.sentence: claim.holds for claim in task_statements(grid)}
    assert verdicts.pop("SSM's cost falls with the number of tasks, in both applications")
    assert verdicts.pop("the cost of MTM-aware migration falls with the number of tasks")
    assert len(verdicts) == 1


def test_rules_move_nothing_when_nothing_changes() -> None:
    course = NodeCountCourse.of(Tasks.of(np.ones(16), np.ones(16)), np.array([4, 4, 4]), 0.2)
    for run in (follow_rule(EvenSplit(), course), follow_rule(Sticky(), course), follow_hashing(course, 3)):
        assert run.mean == 0
    assert saving(cost(0.0), cost(0.0)).mean == 0


def test_savings_come_with_an_interval_that_holds_them() -> None:
    flat = saving(cost(0.05), cost(0.1))
    assert (flat.mean, flat.low, flat.high) == pytest.approx((0.5, 0.5, 0.5))
    generator = np.random.default_rng(0)
    noise = generator.random(100) * 0.1
    noisy = Followed("noisy", 0.05 + noise, np.zeros(100), np.zeros(100))
    base = Followed("base", 0.1 + generator.random(100) * 0.1, np.zeros(100), np.zeros(100))
    estimate = saving(noisy, base)
    assert estimate.low < estimate.mean < estimate.high
    assert saving(noisy, base) == estimate


def test_claims_tell_what_does_not_hold(rows: list[PolicyRow]) -> None:
    claims = {claim.sentence: claim for claim in tolerance_statements(rows)}
    assert claims["SSM, MTM-aware migration and OMS never break the load limit"].holds
    spoiled = Followed(MTM, np.full(60, 0.9), np.ones(60), np.zeros(60))
    base = next(row.followed for row in rows if row.policy == SINGLE_STEP)
    bad = [*rows, PolicyRow("toy WC", 0.3, 16, 0.8, spoiled, saving(spoiled, base))]
    caught = {claim.sentence: claim for claim in tolerance_statements(bad)}
    assert not caught["SSM, MTM-aware migration and OMS never break the load limit"].holds
    assert not caught["MTM-aware migration is nowhere worse than SSM beyond noise"].holds


def test_figures_and_tables_are_made_of_the_rows(
    series: MigrationSeries, rows: list[PolicyRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that `edrp reproduce migration` prints and draws, on the small series."""
    discounts = list(discount_grid([series], (0.0, 0.5, 0.8), tasks=16, migrations=30))
    assert len(list(discount_statements(discounts))) == 3
    monkeypatch.setattr(migration_report, "real_series", lambda data, changing: (series,))
    monkeypatch.setattr(experiments, "precomputation_grid", lambda *_, **__: precomputation_grid([series], (0.5,), tasks=12))
    monkeypatch.setattr(experiments, "tolerance_grid", lambda *_, **__: iter(rows))
    monkeypatch.setattr(experiments, "discount_grid", lambda *_, **__: iter(discounts))
    monkeypatch.setattr(experiments, "MAX_PREPARED_TASKS", 0)
    console = Console(width=80, record=True, file=StringIO())
    made = migration_report.run(console, out=tmp_path / "figures", migrations=20, task_numbers=(64,))
    assert made.tolerance == rows
    assert [row.tolerance for row in made.precomputation] == [0.5]
    for name, _ in migration_report.FIGURES.values():
        assert (tmp_path / "figures" / name).stat().st_size > 10_000
    printed = console.export_text()
    assert "consistent hashing" in printed
    assert "holds" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert "…" not in printed
    assert printed.count("not judged without a cluster") == len(MEASURED_ELSEWHERE)


def test_measured_statements_take_the_place_of_those_not_judged(
    series: MigrationSeries, rows: list[PolicyRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration_report, "real_series", lambda data, changing: (series,))
    for grid in ("tolerance_grid", "precomputation_grid", "discount_grid"):
        monkeypatch.setattr(experiments, grid, lambda *_, grid=grid, **__: iter(rows if grid == "tolerance_grid" else ()))
    monkeypatch.setattr(experiments, "MAX_PREPARED_TASKS", 0)
    console = Console(width=200, record=True, file=StringIO())
    measured = claim("live migration is quick", holds=True, found="0.1 s")
    migration_report.run(console, migrations=20, task_numbers=(64,), measured=[measured])
    printed = console.export_text()
    assert "holds: live migration is quick (0.1 s)" in printed
    assert "not judged" not in printed


def test_decisions_take_the_work_of_their_moment(changing: MigrationSeries) -> None:
    """Loads differ from one migration to the next, costs are shares of the state then, and no policy breaks a limit."""
    load = changing.load(16, 40)
    course = load.course(0.4, 40)
    assert not np.allclose(course.tasks[1].work / course.tasks[1].work.sum(), course.tasks[-1].work / course.tasks[-1].work.sum())
    base = follow_policy(SINGLE_STEP, single_step, course)
    model = policy_model(load.learnt, changing.transition_matrix(), 0.4, 0.8)
    prepared = prepare(model, changing=True)
    assert prepared.how == "exact, extended"
    run = follow_policy(MTM, prepared.action, course)
    best = plan(course, [base, run]).follow(course)
    assert best.mean <= min(base.mean, run.mean) + 1e-12
    for followed in (base, run, best):
        assert not followed.broken.any()
        for step, before, after in zip(course.migrations, followed.path, followed.path[1:], strict=False):
            loads = [step.tasks.work[a:b].sum() for a, b in pairwise(after.tolist())]
            assert len(loads) == step.nodes
            assert max(loads) <= (1 + step.tolerance) * step.tasks.work.sum() / step.nodes * (1 + 1e-6)
            assert before[-1] == after[-1] == 16
    constant = follow_policy(MTM, prepare(model).action, NodeCountCourse.of(load.learnt, load.counts, 0.4))
    assert constant.moved_share.tolist() != run.moved_share.tolist()


def test_without_a_look_ahead_mtm_aware_migration_is_ssm(changing: MigrationSeries) -> None:
    """With γ = 0 it moves the least state at each step, from whatever partition."""
    load = changing.load(16, 15)
    course = load.course(0.4, 15)
    prepared = prepare(policy_model(load.learnt, changing.transition_matrix(), 0.4, 0.0), changing=True)
    run = follow_policy(MTM, prepared.action, course)
    for step, before, after in zip(course.migrations, run.path, run.path[1:], strict=False):
        best = single_step(before, step)
        gains = [gain_between(step.tasks.state_before, before, chosen) for chosen in (after, best)]
        assert gains[0] == pytest.approx(gains[1])


def test_a_policy_without_a_look_ahead_is_judged_by_its_long_run() -> None:
    """Ties alone may make it differ from SSM over few migrations."""

    def verdict(long_run: Estimate | None) -> bool:
        row = PolicyRow("toy WC", 0.2, 16, 0.0, cost(0.1), Estimate(-0.05, -0.09, -0.01), long_run)
        return next(judged.holds for judged in discount_statements([row]) if "γ = 0" in judged.sentence)

    assert verdict(Estimate(0.0, -0.01, 0.01))
    assert not verdict(Estimate(0.02, 0.01, 0.03))
    assert not verdict(None)


def test_tolerance_is_widened_where_no_partition_keeps_it_and_there_alone() -> None:
    """A task of half of the work: three nodes cannot share it within 20 %, two can."""
    even, heavy = Tasks.of(np.ones(12), np.ones(12)), Tasks.of([11, *[1] * 11], np.ones(12))
    course = NodeCountCourse.of((even, heavy, heavy, even), np.array([2, 3, 2, 3]), 0.2)
    assert course.tolerances == pytest.approx([0.5, 0.2, 0.2])
    assert course.widened(0.2) == 1
    run = follow_policy(SINGLE_STEP, single_step, course)
    assert not run.broken.any()
    assert run.path[1].tolist()[:2] == [0, 1]


def test_discount_rows_that_are_known_are_taken_over(series: MigrationSeries) -> None:
    known = [PolicyRow("toy WC", 0.2, 16, 0.8, Followed(MTM, np.full(9, 0.5), np.zeros(9), np.zeros(9)))]
    grid = list(discount_grid([series], (0.5, 0.8), tasks=16, migrations=9, known=known))
    assert [row.discount for row in grid] == [None, 0.5, 0.8]
    assert grid[2] is known[0]
    assert grid[1].followed.mean < 0.5
