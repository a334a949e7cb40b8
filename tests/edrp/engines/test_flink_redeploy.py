"""`edrp watch flink --apply redeploy`: stopped with a savepoint, run again with other replicas and places, never lost."""

import json

import pytest
from fake_engine import JAR, FakeEngine
from fake_flink import HANG_UP, FakeClock
from watching import LIMITS, words

NETWORK = {"nodes": [{"name": "tm-a"}, {"name": "tm-b"}], "links": [{"source": "tm-a", "target": "tm-b", "delay": 0.05}]}


@pytest.fixture
def redeploy(watch, tmp_path):
    """Watch with two sites that are far apart, each with a named resource."""
    network = tmp_path / "network.json"
    network.write_text(json.dumps(NETWORK))
    program = ("--program", JAR, "--savepoints", "s3://bucket/savepoints", "--program-arg", "--places={places}")
    program += ("--program-arg", "--counter={replicas:counter}", "--program-arg", "--all={replicas}")

    def call(flink, *options, clock=None):
        words = ("--apply", "redeploy", *LIMITS, *program, "--network", network)
        return watch(flink, *words, *options, clock=clock)

    return call


def busy(kind_of=FakeEngine, **changes):
    """A cluster of the default scheduler whose counter is 90 % busy."""
    resources = {"tm-a": {"site-a": 8.0}, "tm-b": {"site-b": 8.0}}
    fields = {"offered": lambda seconds: 180.0, "scheduler": "Default", "external": resources, "managers": ("tm-a", "tm-b")}
    return kind_of(**{**fields, **changes})


def requests(flink):
    return [path.rpartition("/")[2] for _, path, _ in flink.sent]


def test_replicas_and_places_change_by_a_savepoint(watch, redeploy):
    flink = busy()
    flink.named("Sink: writer").node = "tm-b"
    result = redeploy(flink, "--rounds", 2).ended(0)
    assert requests(flink) == ["checkpoints", "stop", "run"]
    body = flink.sent[-1][2]
    assert body["savepointPath"] == "s3://bucket/savepoints/savepoint-1"
    assert body["allowNonRestoredState"] is False
    counts = dict(part.split(":") for part in body["flinkConfiguration"]["pipeline.jobvertex-parallelism-overrides"].split(","))
    assert counts[flink.key("counter")] == "2"
    assert body["programArgsList"][1:] == ["--counter=2", "--all=Source: reader=1,parser=1,counter=2,Sink: writer=1"]
    assert "counter=site-a" in body["programArgsList"][0]
    assert "Sink: writer=site-a" in body["programArgsList"][0]
    assert watch.steps() == ["begin", "checkpoint", "stopping", "savepoint", "run", "started", "read back", "done"]
    assert watch.entries("action")[-1]["after"]["Sink: writer"] == ["tm-a"]
    assert watch.entries("observation")[1]["operators"]["counter"]["nodes"] == ["tm-a", "tm-a"]
    assert "stopped with savepoint s3://bucket/savepoints/savepoint-1" in result.out


def test_the_savepoint_is_in_the_journal_before_anything_restarts(watch, redeploy):
    flink = busy()
    seen = []
    flink.before["POST", "/run"] = lambda: seen.extend(watch.entries("action"))
    redeploy(flink, "--rounds", 1)
    (savepoint,) = [entry for entry in seen if entry["step"] == "savepoint"]
    assert savepoint["location"] == "s3://bucket/savepoints/savepoint-1"


def reasons(watch):
    return [words(entry["why"]) for entry in watch.entries("action") if entry["step"] == "failed"]


def test_a_plan_that_is_refused_runs_as_before(watch, redeploy):
    flink = busy()
    flink.before["POST", "/run"] = lambda: 500
    redeploy(flink, "--rounds", 2).ended(0)
    assert requests(flink) == ["checkpoints", "stop", "run"]  # the second request to run; the first was refused
    assert flink.named("counter").replicas == 1
    assert "the new plan was refused; the job runs as before" in reasons(watch)[0]
    assert len(watch.entries("observation")) == 2


def counters(body, flink):
    """Replicas of the counter that a request to run the job asks for."""
    counts = body["flinkConfiguration"]["pipeline.jobvertex-parallelism-overrides"]
    return int(dict(part.split(":") for part in counts.split(","))[flink.key("counter")])


def test_a_plan_that_finds_no_slots_is_given_up_and_the_job_runs_as_before(watch, redeploy):
    """Another job has taken the slots while this one was stopped."""
    flink = busy()
    flink.runnable = lambda body: counters(body, flink) == 1
    result = redeploy(flink, "--rounds", 2).ended(0)
    assert watch.steps()[-6:] == ["run", "started", "cancelling", "run", "started", "failed"]
    assert [counters(body, flink) for _, path, body in flink.sent if path.endswith("/run")] == [2, 1]
    assert [method for method, _, _ in flink.sent].count("PATCH") == 1
    assert (flink.state, flink.waits, flink.named("counter").replicas) == ("RUNNING", False, 1)
    (why,) = reasons(watch)
    assert "the new plan did not run (the start of the job was not done within 60 s)" in why
    assert f"the job runs as before ({flink.job_id}), from savepoint s3://bucket/savepoints/savepoint-1" in why
    assert len(watch.entries("observation")) == 2
    assert "which never ran, is cancelled, and the old plan started again" in words(result.out)


def test_a_plan_that_ends_at_once_is_given_up_too(watch, redeploy):
    flink = busy()

    def end(body):
        if counters(body, flink) == 2:
            flink.before["GET", f"/jobs/{body['jobId']}"] = lambda: setattr(flink, "state", "FAILED")
        return True

    flink.runnable = end
    redeploy(flink, "--rounds", 2).ended(0)
    assert "the new plan did not run (job 'words' is FAILED" in reasons(watch)[0]
    assert (flink.state, flink.named("counter").replicas) == ("RUNNING", 1)
    assert "PATCH" not in [method for method, _, _ in flink.sent]


def test_a_job_that_waits_for_its_old_slots_is_said_to(watch, redeploy):
    flink = busy(runnable=lambda body: False)
    redeploy(flink, "--rounds", 1).ended(0)
    assert f"({flink.job_id}, from savepoint s3://bucket/savepoints/savepoint-1) was started, and runs once" in reasons(watch)[0]
    assert flink.state == "RUNNING"


def test_slots_that_another_job_takes_in_the_meantime_keep_the_job_running(watch, redeploy):
    flink = busy()
    flink.before["POST", "/checkpoints"] = lambda: flink.taken.update({"tm-a": 7, "tm-b": 8})
    redeploy(flink, "--rounds", 1).ended(0)
    assert "the plan needs 2 slots; the job has 1, and 0 are free; start TaskManagers; nothing was changed" in reasons(watch)[0]
    assert requests(flink) == ["checkpoints"]


def test_a_job_that_started_without_an_answer_is_found(watch, redeploy):
    flink = busy()

    def run_silently():
        flink.rescale({operator.name: 2 if operator.name == "counter" else 1 for operator in flink.operators})
        flink.job_id, flink.state = watch.entries("action")[-1]["body"]["jobId"], "RUNNING"
        return HANG_UP

    flink.before["POST", "/run"] = run_silently
    redeploy(flink, "--rounds", 2).ended(0)
    assert watch.steps()[-2:] == ["read back", "done"]
    assert watch.steps().count("run") == 1


def test_a_job_that_does_not_start_again_is_never_forgotten(watch, redeploy):
    flink = busy()
    flink.before["POST", "/run"] = lambda: HANG_UP
    result = redeploy(flink, "--rounds", 2).ended(2)
    assert "stopped with savepoint s3://bucket/savepoints/savepoint-1" in words(result.err)
    assert "curl -sS -X POST" in words(result.err)
    result = redeploy(flink, "--rounds", 2).ended(2)
    assert "'words' was stopped with savepoint s3://bucket/savepoints/savepoint-1 and not started again" in words(result.err)


def test_a_savepoint_that_fails_leaves_the_job_alone(watch, redeploy):
    class Failing(FakeEngine):
        def answer(self, path):
            failure = {"status": {"id": "COMPLETED"}, "operation": {"failure-cause": {"class": "CheckpointException"}}}
            return failure if path == self.savepoint else super().answer(path)

    flink = busy(kind_of=Failing)
    redeploy(flink, "--rounds", 2).ended(0)
    assert "the savepoint failed (CheckpointException)" in reasons(watch)[0]
    assert "run" not in requests(flink)


def test_a_stop_request_without_an_answer_is_looked_up(watch, redeploy):
    flink = busy()
    flink.before["POST", "/stop"] = lambda: HANG_UP  # it never arrived
    redeploy(flink, "--rounds", 1)
    assert "no savepoint was triggered, nothing was changed" in reasons(watch)[0]


def test_what_could_not_be_started_again_is_not_stopped(watch, redeploy):
    flink = busy()
    flink.instead["/jars"] = {"files": []}
    redeploy(flink, "--rounds", 1)
    assert "has no program '1234_words.jar'; upload the jar first; nothing was changed" in reasons(watch)[0]
    assert not flink.sent


def test_a_signal_in_between_waits_until_the_job_runs_again(watch, redeploy):
    flink = busy()
    clock = FakeClock(flink)
    flink.before["POST", "/stop"] = lambda: clock.stop("SIGTERM")
    result = redeploy(flink, clock=clock).ended(0)
    assert watch.steps()[-1] == "done"
    assert flink.state == "RUNNING"
    assert "Stopped (SIGTERM) after 1 observations" in result.out


@pytest.mark.parametrize("step", ["run", "cancelling"])
def test_a_watch_that_was_killed_in_between_says_where_the_savepoint_is(watch, redeploy, step):
    """In between, or while it goes back to the old numbers."""
    flink = busy()
    if step == "run":
        flink.before["POST", "/run"] = lambda: watch.kill() or HANG_UP
    else:
        flink.runnable = lambda body: counters(body, flink) == 1
        flink.before["PATCH", ""] = watch.kill
    assert redeploy(flink).code == 130
    assert watch.steps()[-1] == step
    said = words(redeploy(flink).ended(2).err)
    assert "stopped with savepoint s3://bucket/savepoints/savepoint-1 and not started again" in said


def test_a_cluster_that_runs_other_numbers_is_said_and_left_alone(watch, redeploy):
    flink = busy(obeys=lambda replicas: 1)
    redeploy(flink, "--rounds", 1).ended(0)
    assert "operator counter was to run 2 on tm-a, and runs 1 on tm-a" in reasons(watch)[0]


def test_places_that_no_resource_leads_to_are_said(redeploy):
    flink = busy(external={"tm-a": {"gpu": 1.0}, "tm-b": {"gpu": 1.0}})
    result = redeploy(flink, "--rounds", 1)
    assert "no resource is advertised by exactly the TaskManagers of its places" in words(result.out)
    assert not flink.sent


def test_programs_that_demand_resources_of_their_operators_names(watch):
    """As much of each operator's resource as the plan has replicas there, as TaskManagers that were started for it advertise."""
    amounts = {"reader": 1.0, "parser": 1.0, "counter": 2.0, "writer": 1.0}
    flink = busy(external={"tm-a": amounts}, managers=("tm-a",))
    options = ("--apply", "redeploy", *LIMITS, "--program", JAR, "--savepoints", "/savepoints", "--rounds", "1")
    options += ("--program-arg", "{replicas}", "--demand", "Source: reader=reader", "--demand", "Sink: writer=writer")
    result = watch(flink, *options)
    assert watch.steps()[-1] == "done", result.out
    flink = busy(external={"tm-a": amounts | {"counter": 3.0}}, managers=("tm-a",), slots=8)
    flink.managers = ("tm-a", "tm-b")
    flink.external["tm-b"] = {"counter": 1.0}
    result = watch(flink, *options, clock=FakeClock(flink, start=1.8e9))
    assert "no TaskManagers advertise resource 'counter' for exactly its places" in words(result.out)


def test_replicas_that_nobody_would_tell_the_program_are_said(watch):
    """Flink 2 does not override them; 1.20 does."""
    options = ("--apply", "redeploy", *LIMITS, "--program", JAR, "--savepoints", "/savepoints", "--rounds", "1")
    flink = busy(external={})
    assert "give --program-arg with {replicas:counter}" in words(watch(flink, *options).out)
    assert not flink.sent
    flink = busy(external={}, version="1.20.1")
    watch(flink, *options, clock=FakeClock(flink, start=1.8e9))
    assert flink.named("counter").replicas == 2


def test_places_are_refused_under_the_adaptive_scheduler(redeploy):
    flink = busy(scheduler="Adaptive")
    result = redeploy(flink, "--rounds", 1)
    assert "the adaptive scheduler ignores demands for places" in words(result.out)
    assert not flink.sent


NEEDS = [((), "--program JAR_ID"), (("--program", JAR), "--savepoints FOLDER")]


@pytest.mark.parametrize(("options", "missing"), NEEDS, ids=[missing for _, missing in NEEDS])
def test_nothing_is_stopped_that_could_not_be_started(watch, options, missing):
    flink = busy()
    assert missing in words(watch(flink, "--apply", "redeploy", *LIMITS, *options).ended(2).err)
    assert not flink.asked
