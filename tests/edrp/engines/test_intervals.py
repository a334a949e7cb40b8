"""Intervals of service rates hold what they should, on counters of replicas whose speeds and noise are drawn at random."""

import random

import pytest

from edrp.engines.estimates import BusyPoint, next_duration, service_rate
from edrp.engines.fit import fit_job
from edrp.engines.model import busy_share
from edrp.engines.observation import (
    CheckpointObservation,
    Observation,
    OperatorObservation,
    OperatorWindow,
    StreamObservation,
    SubtaskWindow,
)

SERVICE, SECONDS = 100.0, 5.0


def capture(draw, replicas, windows, busy, noise, spread):
    """A job whose operator has replicas that differ in speed, and windows that differ for each of them."""
    records = round(busy * SERVICE * SECONDS)
    speeds = [SERVICE * draw.gauss(1.0, spread) for _ in range(replicas)]

    def work(speed):
        working = min(SECONDS, records / speed / draw.gauss(1.0, noise))
        return SubtaskWindow("node", records, records, 0, 0, working, SECONDS - working, 0.0)

    sent = SubtaskWindow("node", 0, records * replicas, 0, 0, None, 0.0, 0.0)
    seen = {
        "source": [OperatorWindow(SECONDS, (sent,)) for _ in range(windows)],
        "worker": [OperatorWindow(SECONDS, tuple(work(speed) for speed in speeds)) for _ in range(windows)],
    }
    operators = (
        OperatorObservation(name, name, ("node",) * rows[0].parallelism, 128, None, "", tuple(rows), (0.0, 0.0), ())
        for name, rows in seen.items()
    )
    streams = (StreamObservation("source", "worker", "rebalance"),)
    nothing = CheckpointObservation(None, (), 0, None)
    return Observation("flink", "2.3.0", "job", "job", True, None, tuple(operators), streams, (), nothing, ())


@pytest.fixture(scope="module")
def rescales():
    """For each of many rescales: the interval predicted for a busy share, that of one replica afterwards, and the largest."""
    draw = random.Random(1)
    rows = []
    for _ in range(400):
        before, after, windows = draw.randint(1, 4), draw.randint(1, 4), draw.randint(4, 16)
        noise, spread = draw.choice((0.03, 0.06, 0.1)), draw.choice((0.01, 0.02, 0.03, 0.04))
        fitted = fit_job(capture(draw, before, windows, draw.uniform(0.45, 0.85), noise, spread)).operators[1]
        changed = capture(draw, after, windows, draw.uniform(0.45, 0.85), noise, spread)
        measured = [
            sum(window.subtasks[u].busy for window in changed.operators[1].windows) / windows / SECONDS for u in range(after)
        ]
        factor = fit_job(changed).operators[1].rate / fitted.rate
        low, high = (busy_share(fitted, after, factor, rate) for rate in (fitted.service.high, fitted.service.low))
        rows.append((low, high, measured[0], max(measured)))
    return rows


def test_predicted_busy_shares_are_covered_as_often_as_is_said(rescales):
    covered = sum(low <= one <= high for low, high, one, _ in rescales) / len(rescales)
    assert 0.85 <= covered <= 0.95


def test_the_busiest_of_several_replicas_is_covered_nearly_as_often(rescales):
    covered = sum(low <= busiest <= high for low, high, _, busiest in rescales) / len(rescales)
    assert 0.8 <= covered <= 0.95


def test_intervals_are_as_narrow_as_what_was_measured():
    def width(noise, replicas, windows):
        draw = random.Random(2)
        fits = [fit_job(capture(draw, replicas, windows, 0.6, noise, 0.0)).operators[1].service for _ in range(20)]
        return sum((fit.high - fit.low) / 2 / fit.value for fit in fits) / len(fits)

    assert width(0.1, 1, 1) > 0.15
    assert width(0.1, 4, 12) < 0.08
    assert width(0.02, 4, 12) < 0.05
    assert width(0.02, 4, 12) < width(0.1, 4, 12) < width(0.1, 1, 4)


def test_replicas_that_differ_widen_the_interval():
    alike = service_rate([BusyPoint(100.0, 0.5, replica) for replica in range(4)] * 5)[0]
    unlike = service_rate([BusyPoint(100.0, 0.5 + 0.05 * replica, replica) for replica in range(4)] * 5)[0]
    assert unlike.high - unlike.low > 2 * (alike.high - alike.low)


@pytest.mark.parametrize("remaining", [0.0, 1.0], ids=["waiting vanishes", "waiting stays"])
def test_intercepts_cover_both_ends_of_what_waiting_can_do(remaining):
    """At low load a tenth of the time is waiting that counts as busy; the truth is with or without it when all time is busy."""
    draw, truth, covered = random.Random(3), SERVICE * (1.0 - 0.1 * remaining), 0
    for _ in range(200):
        rates = [draw.uniform(3.0, 22.0) for _ in range(12)]
        points = [BusyPoint(rate, (rate / SERVICE + 0.1) * draw.gauss(1.0, 0.05)) for rate in rates]
        estimate, method = service_rate(points)
        assert method == "intercept"
        covered += estimate.low <= truth <= estimate.high
    assert covered >= 0.85 * 200


def test_loads_that_say_nothing_about_the_slope_make_no_line():
    points = [BusyPoint(10.0, 0.2), BusyPoint(12.0, 0.3), BusyPoint(16.0, 0.2), BusyPoint(18.0, 0.25)]
    assert service_rate(points)[1] == "understated"


@pytest.mark.parametrize(("measurements", "spread"), [(1, 0.45), (1, 0.6), (5, 0.45), (5, 0.6)])
def test_the_next_restart_is_covered_by_one_or_several_before(measurements, spread):
    """Times differ by factors; whatever the machine does to them, within what is expected of shared cores."""
    draw, covered = random.Random(4), 0
    for _ in range(1000):
        times = [0.3 * draw.lognormvariate(0.0, spread) for _ in range(measurements + 1)]
        estimate = next_duration(times[1:])
        covered += estimate.low <= times[0] <= estimate.high
    assert 0.8 <= covered / 1000 <= 0.97


def test_times_that_were_not_measured_have_no_interval():
    assert next_duration([]) is None
    assert next_duration([0.0]) is None
