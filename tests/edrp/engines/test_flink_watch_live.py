"""`edrp watch flink --apply live`: tasks move between the workers of live operators, within the limits of a watch."""

import re

import pytest
from fake_flink import FakeOperator
from fake_live import FakeBalance, FakeLive, FakeLiveOperator
from watching import words

from edrp.engines.flink.migrating.control_log import ControlLog
from edrp.engines.flink.migrating.moves import TaskMove

LIMITS = ("--max-downtime", "4", "--cooldown", "150", "--replicas", "count=1:3")
LIVE = ("--apply", "live", "--every", "20", *LIMITS)
HEAVY = (4.0, 3.0, 2.0, 2.0, *[0.5] * 8)
"""Shares of the tuples of 12 tasks: six of them are on the first worker."""


@pytest.fixture
def cluster(tmp_path):
    """A function that starts a cluster with a control log."""
    log = tmp_path / "control.log"
    log.touch()

    def start(weights=HEAVY, **options):
        tasks = len(weights)
        return FakeBalance(log=log, live=[FakeLiveOperator("count", tasks)], weights=weights, **options)

    return start


def busiest_over_mean(flink):
    """Tuples of the busiest worker with tasks over the mean, by the tasks that workers hold now."""
    flink.share()
    used = [share for worker, share in enumerate(flink.counter.shares) if worker in flink.count.workers]
    return max(used) * len(used)


def test_an_uneven_operator_is_balanced_while_it_runs(watch, cluster):
    flink = cluster(rate=230.0)
    result = watch(flink, *LIVE, "--rounds", 3).ended(0)
    assert busiest_over_mean(flink) <= 1.2
    assert re.search(r"tasks? of count move", words(result.out)), result.out
    advice = watch.entries("advice")[0]
    assert advice["moved_tasks"]["count"] > 0
    assert advice["blocked"] == []
    steps = watch.steps()
    assert steps[0] == "begin"
    assert steps[-1] == "done"
    assert next(entry["what"] for entry in watch.entries("action") if entry["step"] == "migration") == "plan"
    assert {method for method, _ in flink.asked} == {"GET"}


def test_what_was_predicted_of_the_balance_comes_true(watch, cluster):
    watch(cluster(rate=230.0), *LIVE, "--rounds", 2)
    (outcome,) = watch.entries("outcome")
    assert outcome["covered"], outcome["judgements"]
    judged = {judgement["quantity"]: judgement for judgement in outcome["judgements"]}
    assert judged["count"]["measured"] <= 0.7
    assert judged["downtime"]["measured"] == pytest.approx(0.04)  # the longest wait that the job tells


def test_too_much_for_two_workers_is_given_to_three(watch, cluster):
    flink = cluster(weights=(1.0,) * 12, rate=350.0)
    result = watch(flink, *LIVE, "--rounds", 1).ended(0)
    assert sorted(flink.count.workers.count(worker) for worker in range(3)) == [4, 4, 4]
    assert watch.entries("advice")[0]["changes"] == {"count": [2, 3]}
    assert "applying: done" in result.out
    assert "count 3" in result.out


def test_a_worker_too_many_gives_its_tasks_away(watch, cluster):
    flink = cluster(weights=(1.0,) * 12, rate=100.0)
    watch(flink, *LIVE, "--rounds", 1).ended(0)
    assert len(set(flink.count.workers)) == 1


@pytest.mark.parametrize(("bounds", "workers"), [("count=1:2", 2), ("count=1:9", 3)])
def test_no_more_workers_than_the_bounds_and_the_job_allow(watch, cluster, bounds, workers):
    flink = cluster(weights=(1.0,) * 12, rate=390.0)
    watch(flink, "--apply", "live", *LIMITS[:4], "--replicas", bounds, "--rounds", 2).ended(0)
    assert len(set(flink.count.workers)) == workers


def test_a_balanced_operator_is_left_alone(watch, cluster):
    flink = cluster(weights=(1.0,) * 12, rate=230.0)
    watch(flink, *LIVE, "--rounds", 2).ended(0)
    assert flink.log.read_text() == ""
    assert [entry["wanted"] for entry in watch.entries("advice")] == [False, False]


def test_a_task_that_no_plan_divides_is_named_and_stays(watch, cluster):
    """One task has nearly everything to do: no move helps."""
    flink = cluster(weights=(20.0, *[0.1] * 11), rate=180.0)
    result = watch(flink, *LIVE, "--rounds", 1).ended(0)
    assert flink.log.read_text() == ""
    assert watch.entries("advice")[0]["verdict"] == "stuck"
    assert "busy_limit: the busiest worker of count is" in words(result.out)


def unaligned(flink):
    flink.config["unaligned_checkpoints"] = True


def without_log(flink):
    flink.log.unlink()


def somebody_else(flink):
    flink.questions_per_step = 10**6
    with ControlLog(flink.log) as control:
        control.append_plan([[TaskMove("count", 11, flink.count.table[11], flink.count.group(2))]], "0" * 16, 0, "live")


def large_tasks(flink):
    flink.count.size = 10**9


BLOCKED = [
    (large_tasks, "raise --pace above 200,000,000"),
    (unaligned, "takes unaligned checkpoints"),
    (without_log, "name the control log of the job as this machine sees it"),
    (somebody_else, "is under way, 0 of 1 step done, sent by process"),
]


@pytest.mark.parametrize(("prepare", "why"), BLOCKED, ids=[prepare.__name__ for prepare, _ in BLOCKED])
def test_what_speaks_against_moves_is_said_and_nothing_is_sent(watch, cluster, prepare, why):
    flink = cluster(rate=230.0)
    prepare(flink)
    before = flink.log.read_bytes() if flink.log.exists() else b""
    assert why in words(watch(flink, *LIVE, "--pace", 10_000_000, "--rounds", 1).ended(0).out)
    assert watch.entries("action") == []
    assert (flink.log.read_bytes() if flink.log.exists() else b"") == before


def test_a_job_without_live_operators_is_refused(watch, tmp_path):
    log = tmp_path / "control.log"
    log.touch()
    flink = FakeLive(log=log)
    flink.metrics = lambda: {flink.key(operator.name): {} for operator in flink.operators}
    assert "has no live operator" in words(watch(flink, *LIVE, "--rounds", 1).ended(2).err)


def test_limits_of_a_watch_hold(watch, cluster):
    flink = cluster(rate=230.0)
    result = watch(flink, "--apply", "live", "--max-downtime", 0, *LIMITS[2:], "--rounds", 1)
    assert "above --max-downtime 0" in words(result.out)
    watch(flink, *LIVE, "--rounds", 1)
    moved = flink.log.read_text()
    flink.weights = HEAVY[::-1]
    result = watch(flink, *LIVE, "--rounds", 1)
    assert "cooldown: " in words(result.out)
    assert flink.log.read_text() == moved


@pytest.fixture
def failing(watch, cluster):
    """A cluster through which half as much gets once tasks have moved."""
    flink = cluster(rate=230.0)
    carried = flink.elapse

    def elapse(seconds):
        moved_once = watch.journal.exists() and "done" in watch.steps() and flink.log.read_text().count("plan ") == 1
        flink.slowed = 0.5 if moved_once else 1.0
        carried(seconds)

    flink.elapse = elapse
    return flink


def test_moves_after_which_less_gets_through_are_taken_back(watch, failing):
    before = list(failing.count.workers)
    result = watch(failing, *LIVE, "--rounds", 3)
    assert "rolling back: done" in words(result.out), result.out
    assert failing.count.workers == before


def test_moves_of_somebody_else_are_not_taken_back(watch, failing):
    watch(failing, *LIVE, "--rounds", 2)
    failing.log.write_text(failing.log.read_text().replace(" watch\n", " 0123456789abcdef\n"))
    moved = list(failing.count.workers)
    result = watch(failing, *LIVE, "--rounds", 1)
    assert "rolling back failed: " in words(result.out), result.out
    assert "somebody else has moved tasks since" in words(result.out)
    assert failing.count.workers == moved


def test_an_operator_without_a_plan_does_not_keep_others_from_theirs(watch, tmp_path):
    log = tmp_path / "control.log"
    log.touch()
    operators = [FakeLiveOperator("count", 12), FakeLiveOperator("join", 2, rates={0: 700_000.0, 1: 1000.0})]
    flink = FakeBalance(log=log, live=operators, weights=HEAVY, rate=230.0)
    watch(flink, "--apply", "live", *LIMITS[:4], "--replicas", "1:2", "--rounds", 1).ended(0)
    (advice,) = watch.entries("advice")
    assert set(advice["moved_tasks"]) == {"count"}
    assert any(why.startswith("join on 2 workers: there is no such plan") for why in advice["broken"])
    assert busiest_over_mean(flink) <= 1.2


def test_options_of_moves_need_their_mode(watch, cluster):
    assert "goes with --apply live" in words(watch(cluster(), "--pace", 1000, "--rounds", 1).ended(2).err)


def test_tasks_that_are_no_neighbours_move_as_well(watch, cluster):
    flink = cluster(rate=230.0)
    flink.count.table = [flink.count.group(int(task not in (0, 1, 2, 5))) for task in range(12)]
    before = busiest_over_mean(flink)
    result = watch(flink, *LIVE, "--rounds", 1).ended(0)
    assert busiest_over_mean(flink) <= 1.2 < before, result.out


def test_operators_that_are_not_live_keep_their_replicas(watch, cluster):
    flink = cluster(rate=230.0)
    _, router, count = flink.operators
    flink.operators.insert(2, FakeOperator("parser", service_rate=240.0, inputs=((router.name, "REBALANCE"),)))
    count.inputs = (("parser", "HASH"),)
    watch(flink, *LIVE, "--replicas", "parser=1:4", "--rounds", 1).ended(0)
    (advice,) = watch.entries("advice")
    assert "busy_limit: parser is" in " ".join(advice["broken"])
    assert advice["changes"] == {}
    assert set(advice["moved_tasks"]) == {"count"}
    assert busiest_over_mean(flink) <= 1.2


def test_a_plan_that_the_job_does_not_carry_out_is_a_failure_and_the_watch_goes_on(watch, cluster):
    flink = cluster(rate=230.0)
    flink.refuses = lambda *move: True
    result = watch(flink, *LIVE, "--rounds", 2).ended(0)
    assert "applying failed: " in words(result.out)
    assert "somebody else moved them" in words(result.out)
    assert [entry["round"] for entry in watch.entries("observation")] == [1, 2]
