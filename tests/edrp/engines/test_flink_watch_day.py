"""`edrp watch flink --decide day`: what is offered, forecast and decided stands in the journal, and changes go through the guards."""

import csv
import json

import pytest
from fake_engine import FakeClock, FakeEngine
from watching import LIMITS, words

START = 1_700_006_400.0
"""Midnight, UTC."""

STEP = 600


def day_rate(seconds: float) -> float:
    """190 tuples/s from 6 to 18 o'clock, 60 else."""
    return 190.0 if 6 <= seconds / 3600 % 24 < 18 else 60.0


@pytest.fixture
def history(tmp_path):
    """Writes a history of some days up to midnight, or other rows."""

    def write(days=8, rows=None, rate=day_rate):
        path = tmp_path / "history.csv"
        steps = range(-days * 86400 // STEP, 0)
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["time", "rate"])
            writer.writerows(rows if rows is not None else [(START + k * STEP, rate(k * STEP)) for k in steps])
        return path

    return write


def watched(watch, history, flink, hour, *options, rounds=3, apply=True):
    clock = FakeClock(flink, start=START + hour * 3600)
    given = ("--apply", "rescale", *LIMITS) if apply else ()
    return watch(flink, "--decide", "day", "--history", history, "--rounds", rounds, *given, *options, clock=clock)


def engine(hour, rate=day_rate, **changes):
    flink = FakeEngine(offered=lambda seconds: rate(hour * 3600 + seconds), **changes)
    flink.silence = 2.0
    return flink


def test_it_changes_in_the_night_before_the_morning(watch, history):
    flink = engine(5.75)
    result = watched(watch, history(), flink, 5.75, "--late-price", 1, rounds=20)
    assert result.code == 0, result.err
    print(result.out); assert 0
    begin, done = (entry for entry in watch.entries("action") if entry["step"] in ("begin", "done"))
    assert START + 5.75 * 3600 < begin["at"] < done["at"] < START + 6 * 3600
    print(result.out)
    assert 0
