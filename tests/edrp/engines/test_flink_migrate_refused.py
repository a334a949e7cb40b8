"""What `edrp migrate flink` refuses: one line with the remedy, and the job untouched."""

import pytest
from fake_flink import serving
from fake_live import FakeLive, FakeLiveOperator
from test_flink_migrate import migration_plan, rescale_plan
from watching import words

from edrp.engines.flink.migrating.control_log import ControlLog

MOVE = (4, 5, 0, 2)
GOOD = migration_plan([MOVE])


def refused(migrate, *options):
    """What is said, after which nothing must have happened."""
    before = migrate.log.read_text(), [list(live.table) for live in migrate.flink.live]
    result = migrate(*options)
    assert result.code == 2, result.out
    assert len(result.err.strip().splitlines()) == 1
    assert (migrate.log.read_text(), [list(live.table) for live in migrate.flink.live]) == before
    assert {method for method, _ in migrate.flink.asked} <= {"GET"}
    return words(result.err)


PLANS = [
    (migration_plan([(4, 5, 1, 2)]), "task 4 of count is on worker 0, the plan moves it from worker 1; plan again"),
    (migration_plan([MOVE], tasks=16), "is a plan for 16 tasks of count, which has 12; plan again"),
    (migration_plan([(0, 10**15, 0, 2)]), "moves task 999999999999999 of count, which has 12 tasks"),
    (migration_plan([(11, 13, 1, 2)]), "moves task 12 of count, which has 12 tasks"),
    (
        migration_plan([(4, 5, 0, 3)]),
        "names worker 3 of count, which has workers 0 to 2; plan for these, or give the job a higher",
    ),
    (rescale_plan([("counts", [4, 5], "tm-a", "tm-c")]), "operator 'counts' is not live in job 'words'; live are count"),
    (
        rescale_plan([("count", [4, 5], "tm-a", "tm-z")]),
        "names tm-z, where count has no worker; its workers are on tm-a, tm-b, tm-c",
    ),
    (rescale_plan([("count", [4, 5], "tm-b", "tm-c")]), "task 4 of count is on tm-a/0, the plan moves it from tm-b; plan again"),
    (
        rescale_plan([("count", [4, 5], "tm-a", "tm-c")], keeps={"count": [[0, 4]]}),
        "is a plan for 4 tasks of count, which has 12",
    ),
    (rescale_plan([], starts={"reader": 1}), "also starts or stops replicas of reader, which no migration does; plan with"),
    (rescale_plan([("count", None, "tm-a", "tm-c")]), "moves state of count, which has no tasks"),
    ({"kind": "migration", "work": [1]}, "is of kind 'migration', not a plan; write it with `edrp plan FILE -o plan.json`"),
    ({"steps": []}, "is no plan: it has no kind"),
    ({"kind": "migration-plan", "steps": [{"moves": [{"first": 0}]}], "roles": []}, "is damaged at steps.0.moves.0.end"),
    (migration_plan([(5, 5, 0, 2)]), "is damaged: it moves tasks 5 to 5"),
    ('{"kind": "migration-plan", "steps": [', "is no plan: it is not JSON"),
    ("", "is empty"),
]


@pytest.mark.parametrize(("plan", "said"), PLANS, ids=[said for _, said in PLANS])
def test_plans_that_do_not_suit_the_job(migrate, plan, said):
    assert said in refused(migrate, "--plan", migrate.plan(plan), "--apply")


def test_a_dry_run_refuses_as_well(migrate):
    plan, said = PLANS[0]
    assert said in refused(migrate, "--plan", migrate.plan(plan))


def test_a_plan_that_is_missing(migrate):
    assert "there is no such file" in refused(migrate, "--plan", migrate.folder / "none.json")


CHECKPOINTS = [
    (404, "takes no checkpoints, without which a crash loses all; set execution.checkpointing.interval"),
    ({"mode": "exactly_once", "interval": (1 << 63) - 1}, "takes no checkpoints"),
    ({"mode": "at_least_once", "interval": 5000}, "set execution.checkpointing.mode to EXACTLY_ONCE"),
    ({"mode": "exactly_once", "interval": 5000, "unaligned_checkpoints": True}, "unaligned.enabled to false"),
]


@pytest.mark.parametrize(("config", "said"), CHECKPOINTS)
def test_jobs_whose_checkpoints_carry_no_moves(migrate, config, said):
    migrate.flink.config = config
    assert said in refused(migrate, "--plan", migrate.plan(GOOD), "--apply")


def test_a_job_of_which_no_checkpoint_is_complete(migrate):
    migrate.flink.instead[f"/jobs/{migrate.flink.job_id}/checkpoints"] = {"latest": {"completed": None}, "history": []}
    assert "no checkpoint of job 'words' is complete yet" in refused(migrate, "--plan", migrate.plan(GOOD), "--apply")


def test_two_commands_at_once(migrate):
    with ControlLog(migrate.log):
        assert "another command moves tasks of this job" in refused(migrate, "--plan", migrate.plan(GOOD), "--apply")


def test_a_task_that_takes_longer_than_the_time_between_checkpoints(migrate):
    migrate.flink.live[0].size = 80_000
    said = refused(migrate, "--plan", migrate.plan(GOOD), "--apply", "--pace", 10_000)
    assert "task 4 of count has 80,000 bytes, 8 s at 10,000 bytes/s, but checkpoints are 5 s apart" in said
    assert "raise --pace above 16,000, or the interval" in said
    assert migrate("--plan", migrate.plan(GOOD), "--apply", "--pace", 16_000).code == 0


def test_a_log_that_is_not_here(migrate):
    migrate.flink.uri = "s3://bucket/control.log"
    assert "name the same file as this machine sees it" in refused(migrate, "--plan", migrate.plan(GOOD), "--apply")
    migrate.flink.uri = "file:///nowhere/control.log"
    assert "which is not here; name the control log" in refused(migrate, "--plan", migrate.plan(GOOD))


def test_a_file_that_is_no_control_log_is_left_alone(migrate):
    notes = migrate.folder / "notes"
    notes.write_text("# my notes\nbuy bread\n")
    assert "line 2 is of no control log" in refused(migrate, "--plan", migrate.plan(GOOD), "--apply", "--control", notes)
    migrate.flink.uri = notes.as_uri()
    assert "line 2 is of no control log" in refused(migrate, "--plan", migrate.plan(GOOD), "--apply")
    assert notes.read_text() == "# my notes\nbuy bread\n"


def test_a_jobmanager_that_starts_is_waited_for(migrate):
    migrate.flink.instead["/jobs/overview"] = 503
    assert "the JobManager is starting" in refused(migrate, "--plan", migrate.plan(GOOD))


def test_a_job_without_live_operators(migrate):
    bare = {migrate.flink.key(operator.name): {} for operator in migrate.flink.operators}
    migrate.flink.metrics = lambda: bare
    said = refused(migrate, "--plan", migrate.plan(GOOD))
    assert "has no live operator; its program needs Live.process(…) in place of keyBy(…).process(…)" in said


def test_routers_that_never_agree(migrate):
    metrics = migrate.flink.metrics

    def differing():
        found = metrics()
        for name in found[migrate.flink.key("Source: reader -> count-router")]:
            if name == "1.count-router.live.table":
                found[migrate.flink.key("Source: reader -> count-router")][name] = "0"
        return found

    migrate.flink.metrics = differing
    assert "routers of operator 'count' do not agree on its table; try again" in refused(migrate, "--plan", migrate.plan(GOOD))


def test_metrics_of_another_version(migrate):
    migrate.flink.worker_metrics = lambda live, worker: [("operator", "count"), ("tasks", "12"), ("groups", "x"), ("loads", "")]
    assert "what no live operator of this version does" in refused(migrate, "--plan", migrate.plan(GOOD))


def test_jobs_that_are_not_told_apart(migrate):
    migrate.flink.jobs = [{"jid": letter * 32, "name": letter, "state": "RUNNING"} for letter in "ab"]
    assert "2 jobs run: a (" in refused(migrate, "--plan", migrate.plan(GOOD))
    migrate.flink.jobs = []
    assert "no job runs; start one" in refused(migrate, "--plan", migrate.plan(GOOD))


def test_several_operators(migrate):
    migrate.flink = FakeLive(log=migrate.log, live=[FakeLiveOperator("count", 12), FakeLiveOperator("join", 12)])
    assert "2 operators are live: count, join; name one with --operator" in refused(migrate, "--plan", migrate.plan(GOOD))
    assert "operator 'jion' is not live" in refused(migrate, "--plan", migrate.plan(GOOD), "--operator", "jion")
    assert migrate("--plan", migrate.plan(GOOD), "--operator", "join", "--apply").code == 0
    assert migrate.flink.live[1].workers[4] == 2


def test_no_flink_at_the_address(run, monkeypatch, tmp_path):
    with serving(FakeLive(log=tmp_path / "log")) as address:
        pass
    assert "cannot be reached" in run("migrate", "flink", "--rest", address, "--abort").ended(2).err


def test_what_answers_is_no_flink(migrate):
    migrate.flink.instead["/jobs/overview"] = {"hello": 1}
    assert "is not the REST API of Flink" in refused(migrate, "--abort")


MEASURED = [
    (("--method", "ssm", "--workers", 4), "count has 3 workers, and 4 are wanted; give the job a higher parallelism first"),
    (("--method", "pmc"), "needs --policy FOLDER"),
    (("--method", "ssm", "--workers", "x"), "must be NUMBER or OPERATOR=NUMBER"),
    (("--method", "ssm", "--workers", 1, "--workers", 2), "a second time"),
]


@pytest.mark.parametrize(("options", "said"), MEASURED)
def test_wishes_that_cannot_be_planned(migrate, options, said):
    assert said in refused(migrate, *options, "--apply")


def test_loads_that_cannot_be_balanced(migrate):
    migrate.flink.live[0].rates = {3: 9000.0}
    said = refused(migrate, "--method", "ssm", "--workers", 3, "--apply")
    assert "there is no such plan (task 3 alone has work" in said
    assert "raise --tolerance, or give other --workers" in said
    assert "there is no such plan" in refused(migrate, "--method", "rescale", "--workers", 3, "--apply")


def test_a_job_without_tuples(migrate):
    migrate.flink.live[0].rates = dict.fromkeys(range(12), 0.0)
    assert "has done no work that could be planned from" in refused(migrate, "--method", "ssm")


def test_a_table_without_ranges(migrate):
    live = migrate.flink.live[0]
    live.table = [live.group(task % 2) for task in range(12)]
    said = refused(migrate, "--method", "ssm")
    assert "tasks of count on worker 0 are not neighbours (task 0, task 2," in said
    assert "plan with --method rescale, which takes any table" in said
    assert migrate("--method", "rescale").code == 0


OPTIONS = [
    ((), "needs one of --plan FILE, --method METHOD and --abort"),
    (("--plan", "p", "--abort"), "needs one of --plan FILE, --method METHOD and --abort"),
    (("--abort", "--max-move-ins", 1), "--max-move-ins: goes with --method"),
    (("--abort", "-o", "out"), "--out: goes with --method"),
    (("--abort", "--apply", "--rest", "http://jobmanager:8081"), "another machine; add --allow-remote"),
]


@pytest.mark.parametrize(("options", "said"), OPTIONS)
def test_options_that_do_not_go_together(migrate, options, said):
    assert said in refused(migrate, *options)
    assert migrate.flink.asked == []


def test_a_journal_of_something_else(migrate):
    migrate.journal.write_text("my notes\n")
    assert "line 1 is damaged or of no migration" in refused(migrate, "--plan", migrate.plan(GOOD), "--apply")
    assert migrate.journal.read_text() == "my notes\n"


def test_nothing_to_abort(migrate):
    assert "no plan is under way in job 'words'" in refused(migrate, "--abort", "--apply")
    assert migrate("--plan", migrate.plan(GOOD), "--apply").code == 0
    assert "no plan is under way in job 'words'" in refused(migrate, "--abort", "--apply")
