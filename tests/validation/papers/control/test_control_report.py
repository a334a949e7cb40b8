"""Policies on traced days: what they know, what they cost next to the bound, and the report of it."""

from pathlib import Path

import numpy as np
import pytest
from fake_flink import FakeFlink, word_count
from test_flink_fit import fitted

from edrp.core.solve import solve
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.edrp import EdrpProblem
from edrp.validation.papers.control.days import DAY_STEPS, HISTORY, SERVICE, TAXI, TracedDay, control_job, traced_days
from edrp.validation.papers.control.report import (
    KNOWING,
    OPTIMUM,
    ROLLING,
    RULES,
    AutoscalerControl,
    Moment,
    ds2,
    follow,
    hold_peak,
    known_rates,
    look_ahead,
    report,
    run_days,
)
from edrp.validation.simulation.placement.fluid_job import clairvoyant_day

HOURS = np.arange(DAY_STEPS) * 24 / DAY_STEPS
SHAPE = 100.0 - 80.0 * np.cos(2 * np.pi * HOURS / 24)


def short_day(seed: int, periods: int = 18) -> TracedDay:
    """The morning of a day that is like those before it, but for noise."""
    noise = np.random.default_rng(seed).lognormal(0.0, 0.04, (16, DAY_STEPS))
    days = SHAPE * noise
    return TracedDay("generated", f"day {seed}", days[:-1].ravel(), days[-1, 36 : 36 + periods])


@pytest.fixture(scope="module")
def rows():
    return run_days([short_day(1)], (0.6, 6.0))


def test_no_policy_costs_less_than_the_bound(rows):
    assert {row.policy for row in rows} == {*RULES, ROLLING, KNOWING, OPTIMUM}
    assert all(row.ratio >= 1 - LIMIT_SLACK for row in rows)


def test_courses_of_the_bound_come_near_to_it_and_known_rates_help(rows):
    by_policy = {policy: [row.ratio for row in rows if row.policy == policy] for policy in (OPTIMUM, KNOWING, ROLLING)}
    assert max(by_policy[OPTIMUM]) < 1.01
    assert sum(by_policy[KNOWING]) < sum(by_policy[ROLLING])


def test_the_report_has_a_column_for_each_silence_and_judges_all_claims(rows):
    made = report(rows)
    assert made.shown[0].columns == ("policy", "generated\n0.6 s", "generated\n6 s")
    assert len(made.records["days"]) == len(rows)
    assert [statement.verdict for statement in made.statements[:2]] == ["holds", "holds"]
    assert len(made.statements) == 2 + 1 + len(RULES) + 1


@pytest.mark.parametrize("rate", [5.0, 35.0, 36.0, 140.0, 300.0])
def test_ds2_is_the_method_of_that_name(rate):
    job = control_job(0.6)
    operators = [
        {"name": name, "latency": {"model": "capacity-curve", "replicas": [1], "capacities": [each]}, "max_replicas": most}
        for name, (each, most) in SERVICE.items()
    ]
    operators[0]["external_rate"] = rate
    streams = [{"source": "parser", "target": "join"}, {"source": "join", "target": "counter"}]
    network = {"nodes": [{"name": "cluster"}]}
    problem = EdrpProblem(
        application={"operators": operators, "streams": streams}, network=network, weights={"cost": 1.0}, limits={"cost": 1.0}
    )
    answer = solve(problem, "ds2").deployment
    chosen = ds2(job)(Moment(0, rate, 0.0, None, None))
    assert dict(zip(job.names, chosen.tolist(), strict=True)) == {name: answer.degree(name) for name in job.names}


def test_a_policy_knows_the_periods_before_and_the_backlog():
    seen: list[Moment] = []
    day, job = short_day(2, 4), control_job(6.0)

    def watch(moment: Moment):
        seen.append(moment)
        return job.fewest(10.0) if moment.number < 2 else job.fewest(180.0)

    follow(watch, job, day)
    assert [moment.last_rate for moment in seen] == [day.history[-1], *day.rates[:3]]
    assert [moment.last_change for moment in seen] == [None, None, None, 2]
    assert seen[0].running is None
    assert seen[1].backlog > 0


def test_the_static_peak_never_changes_and_is_never_late():
    day, job = short_day(3), control_job(6.0)
    cost = job.course(day.rates, follow(hold_peak(job, day.rates), job, day))
    assert (cost.changes, cost.late) == (0, 0.0)


def test_known_rates_end_with_the_day():
    day = short_day(4, 10)
    assert [known.shape for known in known_rates(day)] == [(1, 10 - number) for number in range(10)]
    job = control_job(0.6)
    course = follow(look_ahead(job, known_rates(day)), job, day)
    assert job.course(day.rates, course).cost >= clairvoyant_day(job, day.rates).bound * (1 - LIMIT_SLACK)


def test_days_are_scaled_by_the_weeks_before_them_alone(tmp_path: Path):
    """A day that is twice as busy as all before it has twice their peak."""
    counts = np.tile(np.repeat((SHAPE / 10).round(), 10), HISTORY + 1)
    counts[-1440:] *= 2
    (tmp_path / "nyc_taxi_2013_trips_per_minute.txt").write_text("\n".join(str(int(count)) for count in counts))
    (day,) = traced_days(TAXI, 5, 1, 180.0, tmp_path)
    assert day.history.size == HISTORY * DAY_STEPS
    assert (day.history.max(), day.rates.max()) == (180.0, 360.0)


def test_the_autoscaler_knows_of_more_than_the_job_takes_in_by_what_is_offered():
    """Busy shares end at 100 %, at which the rule alone changes nothing."""
    fit = fitted(FakeFlink(rates=(200.0,)))
    control = AutoscalerControl(4, 8)
    assert control.plan(fit, 200.0)["counter"] == 1
    assert control.plan(fit, 400.0)["counter"] > 1
    assert control.plan(fit, 1e6)["counter"] == 8


def test_the_autoscaler_takes_replicas_away_only_when_that_was_wanted_for_long():
    idle, busy = (fitted(FakeFlink(word_count(counter={"replicas": 3}), rates=(rate,))) for rate in (30.0, 400.0))
    control = AutoscalerControl(3, 8)
    counts = [control.plan(fit, rate)["counter"] for fit, rate in ((idle, 30.0), (idle, 30.0), (busy, 400.0), (idle, 30.0))]
    assert counts == [3, 3, 3, 3]
    assert [control.plan(idle, 30.0)["counter"] for _ in range(2)] == [3, 2]
