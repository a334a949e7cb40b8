"""`edrp watch flink --decide day`: offered load, forecast and decision stand in the journal, and guards apply to changes."""

import csv

import pytest
from fake_engine import FakeEngine
from fake_flink import FakeClock
from watching import LIMITS, puts, words

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
    flink = engine(5.87)
    result = watched(watch, history(), flink, 5.87, "--late-price", 1, rounds=5).ended(0)
    assert "wait: counter 1 → 2 is planned for 06:00; a change now costs" in result.out
    assert "change: counter 1 → 2 is best until 17:" in result.out, result.out
    begin, done = (entry for entry in watch.entries("action") if entry["step"] in ("begin", "done"))
    assert START + 5.87 * 3600 < begin["at"] < done["at"] < START + 6 * 3600
    assert puts(flink) == [2]


def test_the_journal_says_what_was_forecast_and_decided(watch, history):
    watched(watch, history(), engine(5.0), 5.0, rounds=1, apply=False)
    assert [entry["kind"] for entry in watch.entries()] == ["start", "observation", "offered", "decision", "prediction", "stop"]
    (offered,), (decision,) = watch.entries("offered"), watch.entries("decision")
    assert (offered["rate"], offered["backlog"], offered["evidence"]) == (pytest.approx(60), None, "measured rate")
    assert decision["change"] is False
    assert decision["later"] == [{"at": START + 6 * 3600, "replicas": {**decision["replicas"], "counter": 2}}]
    assert decision["forecast"]["middle"][:8] == pytest.approx([60] * 6 + [190] * 2)
    assert decision["measured_silence"] is False


def test_the_silence_of_a_change_is_that_of_past_changes(watch, history):
    flink = engine(5.95)
    watched(watch, history(), flink, 5.95, "--late-price", 1, rounds=6)
    measured = [
        judged["measured"]
        for outcome in watch.entries("outcome")
        for judged in outcome["judgements"]
        if judged["quantity"] == "downtime"
    ]
    last = watch.entries("decision")[-1]
    assert len(measured) == 1
    assert last["measured_silence"]
    assert last["prices"]["silence"] == pytest.approx(measured[0])


@pytest.mark.parametrize(
    ("reports", "evidence"),
    [
        (("pendingRecords", "currentEmitEventTimeLag"), "pending records"),
        (("currentEmitEventTimeLag",), "event-time lag"),
        ((), "unknown"),
    ],
)
def test_the_offered_rate_follows_from_what_the_source_reports(watch, history, reports, evidence):
    """200 tuples/s are processed of 240, and 10 ms of lag are taken for each tuple that waits."""
    flink = engine(12, rate=lambda seconds: 240.0, reports=reports)
    result = watched(watch, history(), flink, 12, rounds=1, apply=False)
    (offered,) = watch.entries("offered")
    assert offered["processed"] == pytest.approx(200, rel=0.01)
    assert offered["evidence"] == evidence
    if evidence == "unknown":
        assert offered["rate"] is None
        assert "at least 200 tuples/s; how much is unknown" in words(result.out)
    elif evidence == "pending records":
        assert offered["rate"] == pytest.approx(240, rel=0.02)
        assert offered["backlog"] == pytest.approx(40 * 60, rel=0.02)
    else:
        assert offered["backlog"] == pytest.approx(0.010 * 40 * 60 * 200, rel=0.02)


def test_a_load_above_the_capacity_is_met_at_once(watch, history):
    """No history has seen this morning: 190 tuples/s at five o'clock."""
    flink = engine(5, rate=lambda seconds: 240.0, reports=("pendingRecords",))
    result = watched(watch, history(), flink, 5, rounds=1)
    assert "change: 240 tuples/s are offered, and what runs takes 160; a change now saves" in words(result.out)
    assert puts(flink) == [2]


@pytest.mark.parametrize("reports", [("pendingRecords",), ()])
def test_backlog_of_its_own_change_leads_to_no_other(watch, history, reports):
    """After a silence of half a minute, thousands of tuples wait, which take minutes to process."""
    flink = engine(12, rate=lambda seconds: 230.0 if seconds < 12.02 * 3600 else 300.0, reports=reports)
    flink.silence = 30.0
    past = history(rate=lambda seconds: 290.0)
    result = watched(watch, past, flink, 12, "--max-downtime", 60, "--cooldown", 0, rounds=3)
    assert "wait: the job catches up with the change of 12:01 until about 12:0" in words(result.out), result.out
    assert puts(flink) == [2]


def test_a_journal_that_is_there_goes_on_with_its_rates(watch, history):
    flink, path = engine(5, rate=lambda seconds: 90.0), history()
    watched(watch, path, flink, 5, rounds=12, apply=False)
    flink.seconds = 0.0
    first = watch.entries("decision")[0]["forecast"]["middle"][:5]
    watched(watch, path, flink, 5.5, rounds=1, apply=False)
    last = watch.entries("decision")[-1]["forecast"]["middle"][0]
    assert first == pytest.approx([60] * 5)
    assert 60 < last < 90


def test_guards_stay(watch, history):
    flink = engine(12, rate=lambda seconds: 240.0, reports=("pendingRecords",))
    result = watched(watch, history(), flink, 12, "--max-downtime", "0.1", rounds=1)
    assert "not applied: downtime: up to" in words(result.out)
    assert not puts(flink)


def test_a_short_history_says_what_it_is_good_for(watch, history):
    rows = [(START + k * STEP, 60.0) for k in range(-72, 0)]
    result = watched(watch, history(rows=rows), engine(0), 0, rounds=1, apply=False)
    assert "the history covers 0.5 seasons: until it covers one, the load is expected to stay" in words(result.out)


REFUSED = [
    (("--decide", "day"), "--decide day: needs --history FILE"),
    (("--horizon", 3600), "--horizon: goes with --decide day"),
    (("--decide", "day", "--history", "HISTORY", "--horizon", 7200), "7200 s is longer than the history of 1200 s"),
    (("--decide", "day", "--history", "HISTORY", "--horizon", 60), "60 s is shorter than a step of the history, 600 s"),
    (("--decide", "day", "--history", "HISTORY", "--season", 1000), "season 1000 must be a multiple of the step of 600 s"),
    (("--decide", "day", "--history", "nowhere.csv"), "nowhere.csv: there is no such file"),
    (("--decide", "day", "--history", "HISTORY", "--apply", "live", *LIMITS), "live moves are not planned"),
]


@pytest.mark.parametrize(("options", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_options_that_do_not_fit_are_refused(watch, history, options, said):
    path = history(rows=[(START - 2 * STEP, 60.0), (START - STEP, 60.0)])
    flink = engine(0)
    result = watch(flink, *(path if option == "HISTORY" else option for option in options)).ended(2)
    assert said in words(result.err)
    assert not flink.asked


def test_a_history_of_the_future_is_refused(watch, history):
    flink = engine(0)
    result = watch(flink, "--decide", "day", "--history", history(), clock=FakeClock(flink, start=START - 86400)).ended(2)
    assert "ahead of this clock" in words(result.err)
