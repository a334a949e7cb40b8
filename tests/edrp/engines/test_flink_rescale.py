"""`edrp watch flink --apply rescale`: what is done, in which order, and everything that keeps it from being done."""

from itertools import pairwise
from pathlib import Path

import pytest
from fake_engine import ROOT, FakeEngine
from fake_flink import HANG_UP, FakeClock, word_count
from watching import LIMITS, RESCALE, puts, words

REQUIREMENTS = f"{ROOT}/resource-requirements"


def busy(**changes):
    """A cluster whose counter is 90 % busy, so that it is to get a second replica."""
    return FakeEngine(**{"offered": lambda seconds: 180.0, **changes})


def requests(flink):
    return [(method, path.removeprefix(f"{ROOT}/")) for method, path, _ in flink.sent]


def test_a_rescale_is_followed_by_a_checkpoint_and_read_back(watch):
    """One before it would not count: Flink waits for the next, and then replays all since the last."""
    flink = busy()
    result = watch(flink, *RESCALE, "--rounds", 2).ended(0)
    assert requests(flink) == [("PUT", "resource-requirements"), ("POST", "checkpoints")]
    assert flink.sent[0][2][flink.key("counter")] == {"parallelism": {"lowerBound": 1, "upperBound": 2}}
    assert watch.steps() == ["begin", "requirements", "checkpoint", "read back", "done"]
    assert flink.replayed == [pytest.approx(0.5)]  # what came while the checkpoint was made
    assert watch.entries("observation")[1]["operators"]["counter"]["replicas"] == 2
    assert watch.entries("outcome")[0]["covered"]
    assert "applying: done" in result.out
    asked = [path for _, path in flink.asked]
    put = flink.asked.index(("PUT", REQUIREMENTS))
    assert asked[put - 1] == REQUIREMENTS == asked[put + 1]  # read, set, read back


def test_the_tutorial_shows_what_is_printed(watch):
    page = (Path(__file__).resolve().parents[3] / "docs" / "tutorials" / "flink.md").read_text(encoding="utf-8")
    (shown,) = [block.split("```")[0] for block in page.split("```text\n")[1:]]
    flink = FakeEngine(word_count(parser={"service_rate": 800.0}), offered=lambda seconds: 140.0 + seconds / 2)
    result = watch(flink, *RESCALE, "--rounds", 5)
    assert words(result.out).startswith(words(shown))


def failed(watch, result, *said):
    """Assert that the change was given up, that the journal says why, and that the watch went on."""
    assert result.code == 0, result.err
    (entry,) = [entry for entry in watch.entries("action") if entry["step"] == "failed"]
    assert all(word in words(entry["why"]) for word in said), entry["why"]
    assert watch.entries()[-1]["kind"] == "stop"


def test_checkpoints_are_triggered_until_one_counts(watch):
    """Slots come late, or Flink waits after the rescale before: then what came before is no use."""
    flink = busy(slots_after=3.0)
    watch(flink, *RESCALE, "--rounds", 1).ended(0)
    assert watch.steps()[-1] == "done"
    assert 2 < requests(flink).count(("POST", "checkpoints")) < 8
    assert flink.replayed == [pytest.approx(0.5)]


def test_other_jobs_of_the_cluster_do_not_tell_whether_this_one_is_rescaled(watch):
    class Shared(FakeEngine):
        def answer(self, path):
            found = super().answer(path)
            if path == "/jobs/overview":
                other = {"jid": "0" * 32, "name": "other", "state": "RUNNING", "tasks": {"running": 7, "total": 7}}
                found["jobs"].insert(0, other)
            return found

    flink = Shared(offered=lambda seconds: 180.0)
    watch(flink, *RESCALE, "--job", flink.job_id, "--rounds", 1).ended(0)
    assert requests(flink) == [("PUT", "resource-requirements"), ("POST", "checkpoints")]


def test_numbers_that_change_places_are_seen_by_operator(watch):
    """As many replicas in all as before: the sum, which is told at once, does not show it."""
    flink = busy(operators=word_count(parser={"replicas": 2}))
    watch(flink, *RESCALE, "--rounds", 1).ended(0)
    assert [flink.named(name).replicas for name in ("parser", "counter")] == [1, 2]
    assert requests(flink) == [("PUT", "resource-requirements"), ("POST", "checkpoints")]


def test_checkpoints_that_fail_leave_the_rescale_to_flink_and_are_said(watch):
    flink = busy(failing=True)
    result = watch(flink, *RESCALE, "--rounds", 1).ended(0)
    assert watch.steps()[-1] == "done"
    assert flink.replayed[0] > flink.max_delay
    assert "the checkpoint failed (CheckpointException)" in words(result.out)
    assert "another one is tried" in words(result.out)


def unsure(**changes):
    """A busy cluster whose last checkpoint failed."""
    return busy(**{"checkpoints": 9, "failed": 9, **changes})


def test_after_a_checkpoint_that_failed_one_has_to_succeed_first(watch):
    flink = unsure()
    watch(flink, *RESCALE, "--rounds", 1).ended(0)
    assert requests(flink) == [("POST", "checkpoints"), ("PUT", "resource-requirements"), ("POST", "checkpoints")]
    assert watch.steps()[-1] == "done"


def test_a_job_without_checkpoints_is_not_rescaled(watch):
    """It would begin with nothing."""
    flink = busy()
    flink.instead[f"{ROOT}/checkpoints"] = 404
    failed(watch, watch(flink, *RESCALE, "--rounds", 1), "/checkpoints", "HTTP 404")
    assert not flink.sent


def test_a_stale_checkpoint_is_not_enough(watch):
    class Stale(FakeEngine):
        def checkpoint(self):
            return {**super().checkpoint(), "id": 7}

    flink = Stale(offered=lambda seconds: 180.0, failed=9)
    failed(watch, watch(flink, *RESCALE, "--rounds", 1), "newest complete checkpoint is 7, older than 8", "nothing was changed")
    assert not puts(flink)


FAILURE = {"status": {"id": "COMPLETED"}, "operation": {"failureCause": {"class": "CheckpointException"}}}


@pytest.mark.parametrize(
    ("request_", "answer", "said"),
    [
        (("GET", "/checkpoints/c1"), FAILURE, ("the checkpoint failed (CheckpointException)",)),
        (("POST", "/checkpoints"), 404, ("POST", "HTTP 404")),
        (("PUT", "/resource-requirements"), 409, ("HTTP 409", "the requirements are as before")),
        (("PUT", "/resource-requirements"), {}, ("read back are not those that were set", "as before")),  # it does nothing
    ],
)
def test_what_is_refused_or_fails_changes_nothing(watch, request_, answer, said):
    flink = unsure()
    flink.before[request_] = lambda: answer
    failed(watch, watch(flink, *RESCALE, "--rounds", 1), *said)
    assert flink.bounds["counter"] == (1, 1)


def test_a_checkpoint_that_takes_for_ever_is_not_enough(watch):
    flink = unsure(checkpoint_polls=10_000)
    failed(watch, watch(flink, *RESCALE, "--rounds", 1), "the checkpoint was not done within 60 s")
    assert not puts(flink)


def test_requirements_that_somebody_else_changed_are_left_alone(watch):
    flink = unsure()
    flink.before["POST", "/checkpoints"] = lambda: flink.bounds.update(counter=(1, 4))
    failed(watch, watch(flink, *RESCALE, "--rounds", 1), "not those observed", "somebody else changes the job")
    assert not puts(flink)
    assert flink.bounds["counter"] == (1, 4)


def test_a_job_that_vanishes_while_it_is_changed_ends_the_watch(watch):
    flink = busy()

    def vanish():
        flink.instead[ROOT] = 404
        return 404

    flink.before["PUT", "/resource-requirements"] = vanish
    assert "the job has vanished" in words(watch(flink, *RESCALE, "--rounds", 3).ended(2).err)
    assert watch.steps()[-1] == "failed"


def test_a_cluster_that_runs_other_numbers_is_set_back(watch):
    flink = busy(obeys=lambda replicas: 1)
    failed(watch, watch(flink, *RESCALE, "--rounds", 1), "counter 2", "counter 1", "the requirements were set back")
    assert puts(flink) == [2, 1]
    assert flink.bounds["counter"] == (1, 1)
    assert not [path for method, path in flink.asked if method in ("PATCH", "DELETE") or path.endswith(("/stop", "/savepoints"))]


def test_a_connection_that_breaks_after_the_request_was_sent(watch):
    """The rescale may have arrived: that is looked up and said."""
    flink = busy()

    def half_done():
        flink._require({flink.key(name): {"parallelism": {"lowerBound": 1, "upperBound": 2}} for name in flink.bounds})
        return HANG_UP

    flink.before["PUT", "/resource-requirements"] = half_done
    failed(watch, watch(flink, *RESCALE, "--rounds", 1), "hangs up without an answer", "neither the old nor the new")


def test_a_throughput_that_stays_below_is_rolled_back_once(watch):
    """The second replica makes the counter slower than one was, which nobody could know."""
    flink = busy()
    rescale = flink.rescale

    def slow_down(replicas):
        rescale(replicas)
        flink.named("counter").service_rate = 60.0 if replicas["counter"] > 1 else 200.0

    flink.rescale = slow_down
    result = watch(flink, *RESCALE, "--rounds", 8).ended(0)
    assert puts(flink)[:2] == [2, 1]
    below = [entry["below"] for entry in watch.entries("outcome")]
    assert below[:2] == [True, True]
    actions = [entry for entry in watch.entries("action") if entry["step"] == "begin"]
    assert [entry["rollback"] for entry in actions][:2] == [False, True]
    assert sum(entry["rollback"] for entry in actions) == 1
    assert "the throughput is below" in result.out
    assert "rolling back: done" in result.out
    assert "were rolled back before" in words(result.out)


def test_changes_wait_for_the_cooldown(watch):
    """The load grows by 3/s each second; observations take 60 s, the cooldown 150."""
    flink = FakeEngine(word_count(parser={"service_rate": 5000.0}), offered=lambda seconds: 120.0 + 2 * seconds)
    result = watch(flink, *RESCALE, "--rounds", 6)
    times = [entry["at"] for entry in watch.entries("action") if entry["step"] == "begin"]
    assert len(times) > 1
    assert min(b - a for a, b in pairwise(times)) >= 150
    assert "not applied: cooldown:" in words(result.out)


def test_the_cooldown_outlives_the_watch(watch):
    flink = FakeEngine(word_count(parser={"service_rate": 5000.0}), offered=lambda seconds: 180.0 + 2 * seconds)
    watch(flink, *RESCALE, "--rounds", 1)
    assert puts(flink) == [2]
    result = watch(flink, *RESCALE, "--rounds", 1)
    assert "cooldown" in result.out
    assert len(puts(flink)) == 1


def test_a_downtime_that_was_longer_than_predicted_counts_against_the_next_change(watch):
    flink = busy(silence=3.0)
    flink.offered = lambda seconds: 180.0 if seconds < 180 else 360.0
    result = watch(flink, *RESCALE, "--rounds", 5)
    first = watch.entries("outcome")[0]
    downtime = next(found for found in first["judgements"] if found["quantity"] == "downtime")
    assert downtime["measured"] == pytest.approx(3.0 + 0.51)
    assert not downtime["covered"]
    assert "missed: downtime of at most 2.15 s predicted, 3.51 s measured" in words(result.out)
    assert "above --max-downtime 4" in words(result.out)
    assert puts(flink) == [2]


def test_floor_and_ceiling_hold(watch):
    flink = FakeEngine(word_count(counter={"replicas": 4}), offered=lambda seconds: 60.0)
    watch(flink, "--apply", "rescale", *LIMITS[:4], "--replicas", "counter=3:4", "--replicas", "1:2", "--rounds", 1)
    assert puts(flink) in ([], [3])
    flink = busy(offered=lambda seconds: 300.0)
    clock = FakeClock(flink, start=1.8e9)
    result = watch(flink, "--apply", "rescale", *LIMITS[:4], "--replicas", "1:1", "--rounds", 1, clock=clock).ended(0)
    assert "raise max_replicas" in words(result.out)
    assert not flink.sent


def test_after_two_misses_nothing_is_applied_until_one_fits(watch):
    """Every minute the counter becomes slower, twice, and then stays as it is."""
    rates = (200.0, 150.0, 110.0, 110.0, 110.0)
    flink = FakeEngine(offered=lambda seconds: 100.0)

    def offered(seconds):
        flink.named("counter").service_rate = rates[min(int(seconds // 60.01), 4)]
        return 100.0

    flink.offered = offered
    result = watch(flink, *RESCALE, "--rounds", 3)
    assert [entry["covered"] for entry in watch.entries("outcome")] == [False, False]
    assert "2 predictions in a row missed" in words(result.out)
    assert not flink.sent
    result = watch(flink, *RESCALE, "--rounds", 1)  # the journal remembers, and this one fits
    assert watch.entries("outcome")[-1]["covered"]
    assert puts(flink) == [2]


def test_the_wrong_scheduler_is_said(watch):
    flink = busy(scheduler="Default")
    result = watch(flink, *RESCALE, "--rounds", 1)
    assert "cannot rescale it live" in words(result.out)
    assert not flink.sent


def test_reactive_mode_is_said_before_anything_is_asked_for(watch):
    flink = busy()
    flink.instead["/config"] = {"flink-version": "2.3.0", "features": {"web-rescale": False}}
    flink.instead["/jobmanager/config"] = [{"key": "scheduler-mode", "value": "reactive"}]
    result = watch(flink, *RESCALE, "--rounds", 1).ended(0)
    assert "replicas follow the slots (reactive mode)" in words(result.out)
    assert "Flink refuses to be asked for others" in words(result.out)
    assert not flink.sent


def test_counters_that_run_back_are_no_rates(watch):
    class Back(FakeEngine):
        def vertex(self, operator):
            answer = super().vertex(operator)
            if 70 < self.seconds < 80:
                for subtask in answer["subtasks"]:
                    subtask["metrics"]["read-records"] = 0
            return answer

    flink = Back(offered=lambda seconds: 180.0 if seconds > 60 else 100.0)
    assert "ran back without a restart" in words(watch(flink, *RESCALE, "--rounds", 2).ended(0).out)
    assert not flink.sent


def test_a_stop_before_the_request_changes_nothing(watch):
    flink = unsure()
    clock = FakeClock(flink)
    flink.before["POST", "/checkpoints"] = lambda: clock.stop("SIGTERM")
    failed(watch, watch(flink, *RESCALE, clock=clock), "stopped by SIGTERM; nothing was changed")
    assert not puts(flink)


def test_a_stop_after_the_request_waits_until_it_is_read_back(watch):
    flink = busy()
    clock = FakeClock(flink)
    flink.before["PUT", "/resource-requirements"] = lambda: clock.stop("SIGINT")
    result = watch(flink, *RESCALE, clock=clock).ended(0)
    assert watch.steps()[-2:] == ["read back", "done"]
    assert "Stopped (SIGINT) after 1 observations" in result.out


def test_a_watch_that_was_killed_in_between_is_said(watch):
    flink = busy()
    flink.obeys = lambda replicas: 1  # so that it has to wait
    flink.before["PUT", "/resource-requirements"] = watch.kill
    assert watch(flink, *RESCALE).code == 130
    assert watch.steps()[-1] == "requirements"
    result = watch(flink, *RESCALE, "--rounds", 1)
    assert "the watch ended in between" in result.out
    assert watch.steps()[2] == "failed"
