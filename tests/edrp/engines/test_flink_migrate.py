"""`edrp migrate flink`: plans are sent, followed through crashes of job and command, gone on with, and taken back."""

import json
import re

import pytest
from fake_flink import DiedError, FakeClock, serving
from fake_live import FakeLive, FakeLiveOperator
from hypothesis import given
from hypothesis import strategies as st
from migrating import Migrate, reader_of
from watching import words

from edrp.engines.flink.migrating.control_log import ControlLog
from edrp.engines.flink.migrating.discovery import CheckpointSettings, ControlState, LiveJob, LiveOperator, TaskLoad
from edrp.engines.flink.migrating.driver import Transfer, carry_out
from edrp.engines.flink.migrating.moves import TaskMove, forecasts, task_moves
from edrp.engines.flink.migrating.plan_files import migration_steps
from edrp.mdp.transfer.migration_plan import plan_migration

TASKS = 12


def migration_plan(*steps, tasks=TASKS):
    """A plan of moves (first, end, source, target), as `edrp plan` writes it."""
    moves = [{"moves": [dict(zip(("first", "end", "source", "target"), move, strict=True)) for move in step]} for step in steps]
    return {"kind": "migration-plan", "roles": [{"to_stay": list(range(tasks)), "to_move_out": []}], "steps": moves}


def rescale_plan(*steps, starts=None, keeps=None):
    """A plan of moves (operator, tasks, source, target)."""
    moves = [{"moves": [dict(zip(("operator", "tasks", "source", "target"), m, strict=True)) for m in step]} for step in steps]
    role = {"node": "tm-a", "keeps": keeps or {}, "gives": {}, "starts": starts or {}, "stops": {}}
    return {"kind": "rescale-plan", "roles": [role], "steps": moves}


TO_THIRD = migration_plan([(4, 5, 0, 2), (9, 10, 1, 2)], [(5, 6, 0, 2)], [(10, 12, 1, 2)])
AFTER = [0, 0, 0, 0, 2, 2, 1, 1, 1, 2, 2, 2]
BEFORE = [0] * 6 + [1] * 6


@pytest.fixture
def sent(migrate):
    """The command with a plan for the third worker."""
    migrate.file = migrate.plan(TO_THIRD)
    return migrate


@pytest.fixture
def slow(sent):
    """The same with a job that takes its time for each step."""
    sent.flink.questions_per_step = 4
    return sent


def die(migrate: Migrate, *options, waits):
    """The command, which is killed when it waits for the so-maniest time; the plan is sent after the second."""
    with pytest.raises(DiedError):
        migrate(*options, "--apply", clock=FakeClock(migrate.flink, waits_until_death=waits))


def workers(migrate: Migrate, number=0):
    return migrate.flink.live[number].workers


def test_a_dry_run_says_what_would_be_sent_and_sends_nothing(sent):
    result = sent("--plan", sent.file, "--pace", 10_000).ended(0)
    assert re.search(r"0 +count 4: 0 → 2; count 9: 1 → 2 +2 +2,000 +0.02", result.out)
    assert re.search(r"2 +count 10–11: 1 → 2 +2 +2,000 +0.12", result.out)
    assert "5 tasks in 3 steps, 5,000 bytes, about 0.24 s at 10,000 bytes/s" in result.out
    assert "dry run, nothing is sent" in result.out
    assert sent.log.read_text() == ""
    assert not sent.journal.exists()
    assert {method for method, _ in sent.flink.asked} == {"GET"}


def test_senders_wait_for_their_pace_after_a_piece_and_so_delay_the_next_task():
    sizes = (20_000, 20_000, 200_000, 20_000)
    loads = {task: TaskLoad(1, 1, size, 1) for task, size in enumerate(sizes)}
    live = LiveOperator("count", 4, 8, ("a", "b"), (0,) * 4, loads)
    job = LiveJob("key", "words", "", ControlState(0, None, {}), {"count": live}, CheckpointSettings(5.0, True, False, True), 1.0)
    steps = [[TaskMove("count", task, 0, 4) for task in tasks] for tasks in ((0, 1), (2,), (3,))]
    planned = forecasts(tuple(map(tuple, steps)), job, 100_000)
    first, second = 0.2, 0.4 + 3 * 65_536 / 100_000
    ends = [first + 0.02, second + 0.02, 2.4 + 0.02]
    assert [sum(step.seconds for step in planned[: i + 1]) for i in range(3)] == pytest.approx(ends)
    assert [step.size for step in planned] == [40_000, 200_000, 20_000]


def test_a_plan_is_sent_and_followed_until_its_tasks_are_where_it_leads(sent):
    result = sent("--plan", sent.file, "--apply", "--pace", 10_000).ended(0)
    assert workers(sent) == AFTER
    assert "is done: 5 tasks in 3 steps" in result.out
    assert [entry["kind"] for entry in sent.entries()] == ["plan", "step", "step", "step", "done"]
    step = sent.entries("step")[0]
    assert (step["planned_seconds"], step["seconds"]) == (pytest.approx(0.02), 0.25)
    assert (step["planned_bytes"], step["bytes"]) == (2000, 2000)
    assert (step["held"], step["wait"], step["refused"]) == (3, 0.04, 0)


def test_tasks_spread_over_the_key_groups_of_their_worker(sent):
    sent("--plan", sent.file, "--apply")
    moved = [group for task, group in enumerate(sent.flink.live[0].table) if AFTER[task] == 2]
    assert len(moved) == len(set(moved)) == 5


def test_the_same_command_finds_nothing_to_do_afterwards(sent):
    sent("--plan", sent.file, "--apply")
    before = sent.log.read_text()
    assert "nothing moves" in sent("--plan", sent.file, "--apply").ended(0).out
    assert sent.log.read_text() == before


def test_over_a_network(sent, monkeypatch):
    clock = FakeClock(sent.flink)
    monkeypatch.setattr("edrp.cli.migrate.SystemClock", lambda: clock)
    with serving(sent.flink) as address:
        result = sent.run("migrate", "flink", "--rest", address, "--plan", sent.file, "--apply")
    assert result.code == 0, result.err
    assert workers(sent) == AFTER


@pytest.mark.parametrize("job_after_kill", [None, "cd" * 16])
def test_a_job_that_restarts_is_waited_for(sent, job_after_kill):
    sent.flink.kills, sent.flink.job_after_kill, sent.flink.checkpoint_every = [3], job_after_kill, 1
    result = sent("--plan", sent.file, "--apply", "--job", sent.flink.job_id).ended(0)
    assert workers(sent) == AFTER
    kinds = [entry["kind"] for entry in sent.entries()]
    assert kinds.count("interrupted") == kinds.count("running again") == 1
    assert [entry["step"] for entry in sent.entries("step")] == [0, 1, 2]
    assert len(re.findall("what it took was lost in a restart", result.out)) == sum(
        "seconds" not in entry for entry in sent.entries("step")
    )


def test_a_job_that_goes_back_to_a_checkpoint_repeats_its_steps(sent):
    sent.flink.kills, sent.flink.checkpoint_every = [3], 100
    sent.flink.follow()
    sent("--plan", sent.file, "--apply").ended(0)
    assert workers(sent) == AFTER
    assert [entry["done"] for entry in sent.entries("gone back")] == [0]
    assert [entry["step"] for entry in sent.entries("step")] == [0, 1, 0, 1, 2]


def test_a_job_that_restarts_after_a_plan_has_not_forgotten_that_it_is_done(sent):
    sent("--plan", sent.file, "--apply")
    sent.flink.save()
    sent.flink.kill()
    sent("--plan", sent.plan(migration_plan([(0, 1, 0, 1)]), "next.json"), "--apply").ended(0)
    assert workers(sent) == [1, *AFTER[1:]]


@pytest.mark.parametrize("command", ["--plan", "--abort"])
def test_a_job_that_restarts_when_the_plan_is_done_does_not_confuse_who_follows(slow, command):
    """The job dies before the command has seen that the plan is over."""
    die(slow, "--plan", slow.file, waits=5)
    clock = FakeClock(slow.flink)

    def sleep(seconds):
        follows = "abort " in slow.log.read_text() if command == "--abort" else slow.entries("going on")
        if follows and slow.flink.position.state == "running" and not slow.flink.forgotten:
            while slow.flink.position.state == "running":
                slow.flink.follow()
            slow.flink.save()
            slow.flink.kill()
        slow.flink.elapse(seconds)

    clock.sleep = sleep
    options = ("--abort",) if command == "--abort" else ("--plan", slow.file)
    slow(*options, "--apply", clock=clock).ended(0)
    assert workers(slow) == (BEFORE if command == "--abort" else AFTER)


def test_a_job_that_does_not_come_back_is_given_up_in_one_line(sent):
    sent.flink.kills = [2]
    clock = FakeClock(sent.flink)
    sent.flink.kill = lambda: setattr(sent.flink, "restarting", 10**6)
    result = sent("--plan", sent.file, "--apply", clock=clock).ended(2)
    assert len(result.err.strip().splitlines()) == 1
    assert "did not run again within 300 s" in result.err
    assert "run the same command again to follow it" in result.err
    assert clock.waits < 1000


def test_a_step_that_hangs_is_given_up_in_one_line(sent):
    sent.flink.refuses = lambda *move: setattr(sent.flink, "stuck", True) or False
    result = sent("--plan", sent.file, "--apply").ended(2)
    assert "was not installed within 120 s; is a worker overloaded?" in words(result.err)


@pytest.mark.parametrize("waits", [3, 5])
def test_a_command_that_died_goes_on_when_it_is_run_again(sent, waits):
    die(sent, "--plan", sent.file, waits=waits)
    assert sent.log.read_text()
    sent("--plan", sent.file, "--apply").ended(0)
    assert workers(sent) == AFTER
    assert sent.log.read_text().count("plan ") == 1


def test_a_method_goes_on_as_well(migrate):
    command = ("--method", "ssm", "--workers", 3, "--max-move-ins", 1)
    migrate.flink.questions_per_step = 4
    die(migrate, *command, waits=8)
    result = migrate(*command, "--apply")
    assert "is under way and followed" in result.out
    assert migrate.log.read_text().count("plan ") == 1
    assert sorted(map(workers(migrate).count, range(3))) == [4, 4, 4]


def test_a_stop_ends_the_command_and_not_the_plan(sent):
    result = sent("--plan", sent.file, "--apply", clock=FakeClock(sent.flink, waits_until_stop=2)).ended(130)
    assert "stopped by SIGTERM; the job goes on with plan" in words(result.err)
    assert sent("--plan", sent.file, "--apply").code == 0
    assert workers(sent) == AFTER


def test_a_plan_of_somebody_else_is_named(slow):
    die(slow, "--plan", slow.file, waits=5)
    other = slow.plan(migration_plan([(0, 1, 0, 1)]), "other.json")
    before = slow.log.read_text()
    for apply in ((), ("--apply",)):
        result = slow("--plan", other, *apply).ended(2)
        assert re.search(r"plan [0-9a-f]{12} is under way, \d of 3 steps done, sent by process \d+ on ", result.err)
        assert "give that plan again to follow it, or --abort to take it back" in result.err
    assert slow.log.read_text() == before


@pytest.mark.parametrize("waits", [3, 6])
@pytest.mark.parametrize(("kills", "every"), [((), 1), ((1,), 1), ((2,), 1), ((2,), 100), ((3,), 100)])
def test_an_aborted_plan_is_taken_back(slow, waits, kills, every):
    slow.flink.kills, slow.flink.checkpoint_every = list(kills), every
    die(slow, "--plan", slow.file, waits=waits)
    slow("--abort", "--apply").ended(0)
    assert workers(slow) == BEFORE
    before = slow.log.read_text()
    slow("--abort", "--apply")
    assert slow.log.read_text() == before


@pytest.mark.parametrize("waits", range(3, 11, 2))
def test_taking_back_goes_on_after_a_death_as_well(slow, waits):
    die(slow, "--plan", slow.file, waits=5)
    die(slow, "--abort", waits=waits)
    for _ in range(2):
        slow("--abort", "--apply")
    assert workers(slow) == BEFORE


def test_an_abort_is_shown_before(slow):
    die(slow, "--plan", slow.file, waits=6)
    before = slow.log.read_text()
    result = slow("--abort")
    assert "would be aborted" in result.out
    assert "dry run" in result.out
    assert slow.log.read_text() == before


def test_a_job_that_reads_another_log_is_noticed_and_the_plan_aborted(sent, tmp_path):
    other = tmp_path / "other.log"
    other.touch()
    result = sent("--plan", sent.file, "--apply", "--control", other).ended(2)
    assert "did not take plan" in result.err
    assert f"does the job read {other}? It says {sent.log.as_uri()}" in words(result.err)
    assert "abort " in other.read_text()
    assert workers(sent) == BEFORE


def test_moves_that_the_job_refuses_are_no_success(sent):
    def refuse(name, task, source, target):
        return True

    sent.flink.refuses = refuse
    result = sent("--plan", sent.file, "--apply").ended(2)
    assert "5 tasks are not where it leads: somebody else moved them; plan again" in words(result.err)


ASSIGNMENTS = st.lists(st.integers(0, TASKS), min_size=2, max_size=2).map(sorted)


def intervals(cuts, order):
    """Intervals of three workers, in an order."""
    parts = [(0, cuts[0]), (cuts[0], cuts[1]), (cuts[1], TASKS)]
    return [parts[position] for position in order]


@given(
    cuts=st.tuples(ASSIGNMENTS, ASSIGNMENTS),
    orders=st.tuples(st.permutations(range(3)), st.permutations(range(3))),
    max_move_ins=st.sampled_from([None, 1, 2]),
    kills=st.lists(st.integers(1, 20), max_size=3),
    every=st.integers(1, 5),
)
def test_tables_are_those_of_random_plans(cuts, orders, max_move_ins, kills, every, tmp_path_factory):
    log = tmp_path_factory.mktemp("log") / "control.log"
    log.touch()
    before, after = (intervals(*given) for given in zip(cuts, orders, strict=True))
    live = FakeLiveOperator("count", TASKS)
    owner = {task: worker for worker, (first, end) in enumerate(before) for task in range(first, end)}
    live.table = [live.group(owner[task]) for task in range(TASKS)]
    flink = FakeLive(log=log, live=[live], kills=kills, checkpoint_every=every)
    plan = plan_migration(before, after, [1.0] * TASKS, [1.0] * TASKS, uplink=1.0, max_move_ins=max_move_ins)
    reader, told = reader_of(flink), []
    job = reader.discover()
    with ControlLog(log) as control:
        steps = task_moves(migration_steps(plan, "count", "0" * 16), job, None, "plan")
        carry_out(reader, control, job, steps, "0" * 16, Transfer(), lambda kind, **facts: told.append((kind, facts)))
    wanted = {task: worker for worker, (first, end) in enumerate(after) for task in range(first, end)}
    assert flink.live[0].workers == [wanted[task] for task in range(TASKS)]
    assert {facts["step"] for kind, facts in told if kind == "step"} == set(range(len(steps)))


def test_all_operators_move_at_once_by_a_plan_between_taskmanagers(migrate):
    nodes = ("tm-a", "tm-b", "tm-b", "tm-c")
    migrate.flink = FakeLive(
        log=migrate.log, live=[FakeLiveOperator("count", 8, nodes, used=1), FakeLiveOperator("join", 4, nodes, used=1)]
    )
    plan = migrate.plan(
        rescale_plan([("count", [4, 8], "tm-a", "tm-b"), ("join", [0, 1], "tm-a", "tm-c")], [("join", [1, 2], "tm-a", "tm-b/1")])
    )
    migrate("--plan", plan, "--apply").ended(0)
    assert workers(migrate) == [0, 0, 0, 0, 1, 2, 1, 2]
    assert workers(migrate, 1) == [3, 2, 0, 0]


def test_a_task_goes_to_the_worker_with_the_least_work(migrate):
    live = FakeLiveOperator("count", 6, ("tm-a", "tm-b", "tm-b"), used=1, rates={2: 900.0})
    migrate.flink = FakeLive(log=migrate.log, live=[live])
    migrate.flink.elapse(100)
    migrate("--plan", migrate.plan(rescale_plan([("count", [2, 6], "tm-a", "tm-b")])), "--apply")
    assert workers(migrate) == [0, 0, 1, 2, 2, 2]


def test_ssm_balances_measured_work(migrate):
    migrate.flink = FakeLive(log=migrate.log, live=[FakeLiveOperator("count", TASKS, rates=dict.fromkeys(range(6), 500.0))])
    migrate("--method", "ssm", "--workers", 3, "--tolerance", 0.25, "--apply", "--max-move-ins", 1).ended(0)
    work = [sum(500 if task < 6 else 100 for task in range(TASKS) if workers(migrate)[task] == w) for w in range(3)]
    assert max(work) <= 1.25 * 3600 / 3
    assert sum(now != then for now, then in zip(workers(migrate), BEFORE, strict=True)) == len(migrate.entries("step"))


def test_only_what_happens_while_loads_are_observed_counts(migrate):
    live = migrate.flink.live[0]
    migrate.flink.elapse(1000)
    tasks = dict.fromkeys(range(TASKS), 50 * 3)
    live.rates = tasks
    counted = migrate.flink.worker_metrics

    def since(operator, worker):
        for what, text in counted(operator, worker):
            rows = [row.split(":") for row in text.split(";") if row] if what == "loads" else []
            extra = max(0, migrate.flink.seconds - 1002)
            rows = [[t, n, str(int(b) + round(900 * extra) * (int(t) < 2)), size, k] for t, n, b, size, k in rows]
            yield what, ";".join(map(":".join, rows)) if what == "loads" else text

    migrate.flink.worker_metrics = since
    out = migrate.folder / "out"
    migrate("--method", "ssm", "--workers", 3, "--tolerance", 0.5, "--seconds", 100, "-o", out)
    work = json.loads((out / "problem.json").read_text())["work"]
    assert work[0] == pytest.approx(1050, rel=0.05)
    assert work[5] == pytest.approx(150, rel=0.05)


def test_problem_and_plan_are_written_as_other_commands_read_them(migrate):
    out = migrate.folder / "out"
    shown = migrate("--method", "ssm", "--workers", 3, "--max-move-ins", 1, "-o", out).out
    migrate.run("solve", out / "problem.json").ended(0)
    again = migrate.folder / "again.json"
    assert migrate.run("plan", out / "problem.json", out / "solution.json", "-o", again, "--max-move-ins", 1).code == 0
    for plan in (again, out / "plan.json"):
        table = migrate("--plan", plan).out
        assert [line for line in table.splitlines() if "→ 2" in line] == [line for line in shown.splitlines() if "→ 2" in line]


def test_rescale_plans_all_operators_between_workers_at_once(migrate):
    nodes = ("tm-a", "tm-a", "tm-b")
    live = [FakeLiveOperator("count", 8, nodes, used=1), FakeLiveOperator("join", 6, nodes, used=3)]
    live[0].table = [live[0].group((0, 1)[task % 2]) for task in range(8)]
    migrate.flink = FakeLive(log=migrate.log, live=live)
    out = migrate.folder / "out"
    migrate("--method", "rescale", "--workers", 3, "--tolerance", 0.2, "--apply", "-o", out).ended(0)
    counts = [[workers(migrate, number).count(worker) for worker in range(3)] for number in range(2)]
    assert max(counts[0]) == 3
    assert counts[1] == [2, 2, 2]
    assert migrate.run("plan", out / "problem.json", out / "solution.json").code == 0


def test_oms_prepares_for_later_numbers_of_workers(migrate):
    result = migrate("--method", "oms", "--workers", 3, "--then", 2, "--then", 3, "--tolerance", 0.5).ended(0)
    assert "dry run" in result.out
    assert "goes with --method oms" in migrate("--method", "ssm", "--then", 2).err


@pytest.mark.slow  # compiles the kernels of policies
def test_a_stored_policy_decides(migrate):
    problem = {"kind": "migration-policy", "work": [1.0] * TASKS, "state_size": [1.0] * TASKS, "intervals": [[0, TASKS]]}
    problem |= {"nodes": 3, "tolerance": 0.5, "node_counts": [2, 3], "transitions": [[0.0, 1.0], [1.0, 0.0]], "discount": 0.5}
    file = migrate.plan(problem, "problem.json")
    folder = migrate.folder / "policy"
    assert migrate.run("policy", "precompute", file, "--out", folder, "--threads", 1).code == 0
    migrate("--method", "pmc", "--policy", folder, "--workers", 3, "--apply").ended(0)
    assert max(map(workers(migrate).count, range(3))) <= 1.5 * 12 / 3
    migrate.flink.live[0] = FakeLiveOperator("count", 8)
    assert "is a policy for 12 tasks, and count has 8" in words(migrate("--method", "pmc", "--policy", folder).err)
