"""Plans: every byte that has to move moves once, in steps that hold few tasks, as fast as the links allow."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.datasets.families.migration.migration_families import random_migration
from edrp.mdp import nodes_of_tasks, plan_migration
from edrp.mdp.transfer.rescale_plan import plan_changes


@given(st.integers(0, 500), st.sampled_from([None, 1, 2]))
@settings(max_examples=15, deadline=None)
def test_a_plan_leads_from_one_assignment_to_the_other(seed, most):
    problem = random_migration(seed, tasks=30, nodes=6)
    solution = edrp.solve(problem)
    if solution.intervals is None:
        return
    plan = plan_migration(problem.intervals, solution.intervals, problem.work, problem.state_size, uplink=2.0, max_move_ins=most)
    holder = nodes_of_tasks(problem.intervals, 30)
    for step in plan.steps:
        for move in step.moves:
            assert (holder[move.first : move.end] == move.source).all()
            holder[move.first : move.end] = move.target
        sent = sum(transfer.size for phase in step.schedule.phases for transfer in phase.transfers)
        assert sent == pytest.approx(sum(move.size for move in step.moves))
        come = np.bincount([move.target for move in step.moves for _ in range(move.first, move.end)], minlength=1)
        assert most is None or come.max() <= most
    assert (holder == nodes_of_tasks(solution.intervals, 30)).all()
    moved = sum(move.size for step in plan.steps for move in step.moves)
    assert moved == pytest.approx(solution.metrics["moved_state"])


def test_roles_say_what_stays_and_moves():
    problem = edrp.MigrationProblem(work=[1] * 4, state_size=[1] * 4, intervals=[(0, 4)], nodes=2, tolerance=0)
    plan = plan_migration([(0, 4)], edrp.solve(problem).intervals, problem.work, problem.state_size, uplink=1.0)
    assert [[part.tolist() for part in role] for role in plan.roles] == [[[0, 1], [2, 3], []], [[], [], [2, 3]]]
    assert plan.total_seconds == 2.0


def test_command_prints_steps_and_phases(run, examples, tmp_path):
    path = examples / "migration.json"
    result = run("plan", path, "--uplink", "1e8", "--max-move-ins", "1").ended(0)
    assert "step 1: 1 s in 1 phase" in result.out
    assert "4 s in all" in result.out
    run("solve", path, "-o", tmp_path / "solution.json")
    again = run("plan", path, tmp_path / "solution.json", "--uplink", "1e8", "--max-move-ins", "1")
    assert again.out == result.out


def test_command_refuses_what_is_no_migration(run, examples, tmp_path):
    assert run("plan", examples / "word_count.json").code == 2
    run("solve", examples / "word_count.json", "-m", "greedy", "-o", tmp_path / "other.json")
    result = run("plan", examples / "migration.json", tmp_path / "other.json").ended(2)
    assert "must be migration-solution" in result.err


def test_command_says_why_nothing_can_be_planned(run, write):
    problem = {"kind": "migration", "work": [1, 9], "state_size": [1, 1], "intervals": [[0, 2]], "nodes": 2, "tolerance": 0.2}
    assert "task 1 alone has work 9" in run("plan", write(problem)).ended(3).out


def test_the_plan_of_a_day_leads_through_all_its_deployments(run, examples, tmp_path):
    path = examples / "day.json"
    run("solve", path, "-m", "myopic", "-o", tmp_path / "solution.json")
    result = run("plan", path, tmp_path / "solution.json", "-o", tmp_path / "plan.json").ended(0)
    assert "4 changes until 24:00: 4 replicas started, 0 bytes of state moved, 0 s of downtime" in result.out
    problem, plan = edrp.load(path), json.loads((tmp_path / "plan.json").read_text())
    solution = edrp.load_solution(tmp_path / "solution.json")
    running, due = Counter({(name, node): nodes.count(node) for name, nodes in plan["first"].items() for node in nodes}), 0.0
    steps = iter([*plan["changes"], None])
    step = next(steps)
    for number, deployment in enumerate(solution.decision):
        if step is not None and step["at"] == due:
            assert step["period"] == number
            for action in step["actions"]:
                running.update({(action["operator"], node): count for node, count in action["starts"].items()})
                running.subtract({(action["operator"], node): count for node, count in action["stops"].items()})
            assert step["deployment"] == {name: list(nodes) for name, nodes in deployment.items()}
            step = next(steps)
        assert +running == Counter((name, node) for name, nodes in deployment.items() for node in nodes)
        due += problem.periods[number].duration
    assert step is None
    assert (plan["duration"], plan["price"]) == (due, solution.metrics["changing"])


def test_the_plan_of_a_day_says_what_moves_and_begins_with_what_runs():
    work = {"name": "work", "state_size": 6.0, "cost": 1.0, "max_replicas": 2}
    problem = edrp.EdrpSequence(
        application={"operators": [work, {**work, "name": "rest"}]},
        network={"nodes": [{"name": "a"}, {"name": "b"}], "between_zones": {"delay": 0.01}},
        weights={"cost": 1.0},
        limits={"cost": 4.0},
        periods=[{"duration": 60}, {"duration": 30}],
        changes={"change": 5.0, "moved_state": 2.0},
        synchronisation_time=1.5,
        initial={"work": ["a"], "rest": ["a"]},
    )
    plan = plan_changes(problem, [{"work": ["a", "b"], "rest": ["b"]}, {"work": ["b"], "rest": ["b"]}])
    assert (plan.running, plan.first) == (True, problem.initial)
    assert [(change.at, change.period, change.price) for change in plan.changes] == [
        (0.0, 0, 5 + 2 * 9.0),
        (60.0, 1, 5 + 2 * 3.0),
    ]
    assert [[action.moved_state for action in change.actions] for change in plan.changes] == [[3.0, 6.0], [3.0]]
    assert plan.totals == {"started_replicas": 2, "moved_state": 12.0, "downtime": 3.0, "price": 34.0}


def test_options_of_transfers_do_not_go_with_a_day(run, examples):
    result = run("plan", examples / "day.json", "--max-move-ins", "1").ended(2)
    assert "goes with migrations and rescalings" in result.err
