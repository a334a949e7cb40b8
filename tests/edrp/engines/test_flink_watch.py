"""`edrp watch flink` without --apply: what is observed, predicted and advised stands in a journal, and nothing is changed."""

import json
import os
import shlex
import signal

import pytest
from fake_engine import ROOT, FakeEngine
from fake_flink import JOB, FakeClock, word_count
from watching import RESCALE, words

from edrp.engines.clock import SystemClock, stopping_on_signals
from edrp.engines.watch_journal import WatchJournal


def test_a_dry_run_advises_and_changes_nothing(watch):
    flink = FakeEngine(offered=lambda seconds: 100 + seconds / 2)
    result = watch(flink, "--rounds", 3).ended(0)
    assert "dry run, nothing is changed" in result.out
    assert "1: 125.097 tuples/s" in result.out
    assert "counter 1 → 2 (46% busy" in result.out
    assert "not applied: dry run" in result.out
    assert {method for method, _ in flink.asked} == {"GET"}
    assert [entry["kind"] for entry in watch.entries()] == [
        *("start", "observation", "advice", "prediction"),
        *("observation", "outcome", "advice", "prediction"),
        *("observation", "outcome", "advice", "prediction", "stop"),
    ]


def test_outcomes_say_error_and_whether_the_interval_covered_it(watch):
    watch(FakeEngine(offered=lambda seconds: 150.0), "--rounds", 2)
    (outcome,) = watch.entries("outcome")
    counter = next(found for found in outcome["judgements"] if found["quantity"] == "counter")
    assert outcome["covered"]
    assert counter["covered"]
    assert counter["measured"] == pytest.approx(0.75, abs=0.01)
    assert counter["error"] == pytest.approx(counter["measured"] - counter["predicted"]["value"])


def slower(flink, seconds):
    """A load under which the counter becomes slower than anybody could know."""

    def offered(now):
        if now > seconds:
            flink.named("counter").service_rate = 140.0
        return 120.0

    return offered


def test_intervals_that_miss_widen_and_those_that_fit_narrow_again(watch):
    flink = FakeEngine()
    flink.offered = slower(flink, 60)
    result = watch(flink, "--rounds", 5)
    assert "missed: counter" in result.out
    widths = [outcome["widths"]["counter"] for outcome in watch.entries("outcome")]
    assert widths[0] > 1.5
    assert widths[1] < widths[0]
    assert [outcome["covered"] for outcome in watch.entries("outcome")] == [False, True, True, True]
    first, second = (entry["busy"]["counter"] for entry in watch.entries("prediction")[:2])
    assert second["high"] - second["low"] > 1.5 * (first["high"] - first["low"])


def test_a_journal_that_is_there_goes_on(watch):
    flink = FakeEngine()
    flink.offered = slower(flink, 60)
    watch(flink, "--rounds", 2)
    width = watch.entries("outcome")[-1]["widths"]["counter"]
    watch(flink, "--rounds", 1)
    assert [entry["round"] for entry in watch.entries("observation")] == [1, 2, 3]
    assert watch.entries("outcome")[-1]["widths"]["counter"] == pytest.approx(0.9 * width)


def test_a_load_that_falls_is_no_miss(watch):
    watch(FakeEngine(offered=lambda seconds: 150.0 if seconds < 60 else 60.0), "--rounds", 2)
    assert watch.entries("outcome")[0]["covered"]


def test_the_journal_of_another_job_is_refused(watch):
    class Other(FakeEngine):
        def job(self):
            return super().job() | {"name": "clicks"}

    watch(FakeEngine(), "--rounds", 1)
    other = Other()
    result = watch(other, "--rounds", 1, "--job", JOB, clock=FakeClock(other, start=1.8e9)).ended(2)
    assert "the journal is of job 'words', and this is 'clicks'" in words(result.err)


def test_a_line_that_was_cut_off_is_dropped_and_said(watch):
    flink = FakeEngine()
    watch(flink, "--rounds", 1)
    whole = watch.journal.read_bytes()
    watch.journal.write_bytes(whole[:-20])
    assert "last line was cut off" in words(watch(flink, "--rounds", 1).ended(0).err)
    assert len(watch.entries("observation")) == 2


def test_a_damaged_line_is_refused(watch):
    watch(FakeEngine(), "--rounds", 1)
    watch.journal.write_bytes(watch.journal.read_bytes().replace(b"125", b"126").replace(b"keep", b"move"))
    result = watch(FakeEngine(), "--rounds", 1).ended(2)
    assert "line 3 is damaged" in words(result.err)
    assert "name a new journal" in words(result.err)


def test_a_file_that_is_no_journal_is_left_alone(watch):
    watch.journal.write_text("my notes\n")
    assert watch(FakeEngine(), "--rounds", 1).code == 2
    assert watch.journal.read_text() == "my notes\n"


def test_two_watches_do_not_share_a_journal(watch):
    with WatchJournal(watch.journal):
        result = watch(FakeEngine(), "--rounds", 1)
    assert result.code == 2
    assert "in use by another watch" in words(result.err)


def test_a_clock_that_runs_back_is_said(watch):
    flink = FakeEngine()
    watch(flink, "--rounds", 1)
    result = watch(flink, "--rounds", 1, clock=FakeClock(flink, start=1_600_000_000.0)).ended(2)
    assert "ahead of this clock" in words(result.err)


REFUSED = [
    ({"instead": {"/config": {"name": "another service"}}}, ("not the REST API of Flink",)),
    ({"jobs": [{"jid": j * 32, "name": j, "state": "RUNNING"} for j in "ab"]}, ("2 jobs run", "--job")),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED, ids=[said[0] for _, said in REFUSED])
def test_what_cannot_be_watched_is_said_in_one_line(watch, changes, said):
    result = watch(FakeEngine(**changes), "--rounds", 1).ended(2)
    assert len(result.err.strip().splitlines()) == 1
    assert all(word in words(result.err) for word in said)


NEEDS = [
    (("--cooldown", "60", "--replicas", "1:4"), "--max-downtime"),
    (("--max-downtime", "2", "--replicas", "1:4"), "--cooldown"),
    (("--max-downtime", "2", "--cooldown", "60", "--replicas", "4:1"), "FLOOR:CEILING"),
    (("--max-downtime", "2", "--cooldown", "60", "--replicas", "a=1:4", "--replicas", "a=1:5"), "a second time"),
]


@pytest.mark.parametrize(("options", "missing"), NEEDS, ids=[missing for _, missing in NEEDS])
def test_nothing_is_applied_without_limits(watch, options, missing):
    flink = FakeEngine()
    assert missing in words(watch(flink, "--apply", "rescale", *options).ended(2).err)
    assert not flink.asked


def test_every_operator_that_may_change_needs_a_floor_and_a_ceiling(watch):
    limits = ("--apply", "rescale", "--max-downtime", "2", "--cooldown", "60", "--rounds", "1")
    result = watch(FakeEngine(), *limits, "--replicas", "counter=1:4").ended(2)
    assert "operator parser: has no floor and ceiling" in words(result.err)
    operators = word_count(parser={"name": "it's; parser"}, counter={"inputs": (("it's; parser", "HASH"),)})
    named = FakeClock(FakeEngine(operators), start=1.75e9)
    result = watch(named.flink, *limits, "--replicas", "counter=1:4", clock=named)
    command = words(result.err).partition("give ")[2].partition(", or")[0]
    assert shlex.split(command) == ["--replicas", "it's; parser=1:4"]
    later = FakeClock(FakeEngine(), start=1.8e9)
    result = watch(later.flink, *limits, "--replicas", "countr=1:4", clock=later)
    assert "--replicas countr: is no operator of the job" in words(result.err)


def test_another_machine_needs_to_be_allowed(run, tmp_path):
    address = "http://jobmanager.invalid:8081"
    result = run("watch", "flink", "--rest", address, "--journal", tmp_path / "run.jsonl", *RESCALE).ended(2)
    assert "--allow-remote" in words(result.err)
    result = run("watch", "flink", "--rest", address, "--journal", tmp_path / "run.jsonl", *RESCALE, "--allow-remote")
    assert "cannot be reached" in words(result.err)


def test_what_fails_in_between_is_tried_again(watch):
    """The JobManager gives no description of the job from second 90 to 120."""
    flink = FakeEngine()
    clock = FakeClock(flink)

    def fail():
        flink.instead = {ROOT: 503} if 90 < flink.seconds < 120 else {}

    clock.during = fail
    assert "HTTP 503" in words(watch(flink, "--rounds", 3, clock=clock).ended(0).out)
    assert [entry["kind"] for entry in watch.entries()].count("error") == 1
    assert len(watch.entries("observation")) == 2


def test_a_job_that_vanishes_ends_the_watch(watch):
    flink = FakeEngine()
    clock = FakeClock(flink)
    clock.during = lambda: flink.instead.update({ROOT: 404} if flink.seconds > 90 else {})
    assert "vanished" in words(watch(flink, "--rounds", 5, clock=clock).ended(2).err)
    assert watch.entries()[-1]["kind"] == "error"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_watch_with_a_whole_journal(watch, number):
    """In the second observation, by the real handlers."""
    flink = FakeEngine()

    class Clock(FakeClock, SystemClock):
        def __init__(self):
            SystemClock.__init__(self)
            self.flink, self.start, self.during = flink, 1.7e9, lambda: None

        stopping = SystemClock.stopping
        stop = SystemClock.stop

        def sleep(self, seconds):
            if self.stopping is None:
                flink.elapse(seconds)
                if flink.seconds > 90:
                    os.kill(os.getpid(), number)

    result = watch(flink, clock=Clock()).ended(0)
    assert f"Stopped ({signal.Signals(number).name}) after 1 observations" in result.out
    assert watch.entries()[-1]["kind"] == "stop"


def test_a_stop_cuts_waiting_short():
    clock = SystemClock()
    with stopping_on_signals(clock):
        os.kill(os.getpid(), signal.SIGTERM)
        clock.sleep(3600)
    assert clock.stopping == "SIGTERM"


def test_goals_are_read(watch, tmp_path):
    goals = tmp_path / "goals.json"
    goals.write_text(json.dumps({"busy_limit": 0.4}))
    assert "counter 1 → 2" in watch(FakeEngine(), "--rounds", 1, "--goals", goals).out
