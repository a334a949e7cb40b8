"""Plans of rescalings: every byte of the decision moves once, no card is overdriven, few tasks stand still at a time."""

import json
from itertools import pairwise

import numpy as np
import pytest

import edrp
from edrp.datasets.families.migration.rescale import random_rescale, rescaled, zipf_tasks
from edrp.errors import InvalidInstanceError
from edrp.mdp.transfer.rescale_plan import plan_rescale, schedule_on_cards
from edrp.migration.rescale.documents import moved_bytes
from edrp.migration.rescale.problem import RescaleProblem

CARDS = {"equal": lambda _: (1e8, 1e8), "different": lambda u: (1e7 * (u + 1), 3e7 * (4 - u % 3)), "one without limit": None}


def scale_out(cards: str):
    problem = rescaled(48, np.random.default_rng(7), zipf_tasks, 2.0)
    rates = CARDS[cards] or (lambda u: (None, None) if u == 0 else (2e7, 5e7))
    nodes = [n.replace(up_rate=rates(u)[0], down_rate=rates(u)[1]) for u, n in enumerate(problem.network.nodes)]
    return problem.replace(network=problem.network.replace(nodes=nodes), synchronisation_time=0.0)


def everywhere(problem, seed: int):
    """A deployment with ranges and nodes drawn at random, so that much moves; the source, too, which is given a state."""
    random, nodes = np.random.default_rng(seed), list(problem.network.by_name)
    named = {}
    for operator in problem.application.operators:
        if operator.tasks is None:
            named[operator.name] = [str(node) for node in random.choice(nodes, 2)]
            continue
        count = operator.tasks.count
        inner = random.choice(np.arange(1, count), min(3, count - 1), replace=False)
        ends = [0, *sorted(inner.tolist()), count]
        named[operator.name] = [{"node": str(random.choice(nodes)), "tasks": pair} for pair in pairwise(ends)]
    return problem.read_decision(named, "deployment")


@pytest.mark.parametrize("cards", CARDS)
@pytest.mark.parametrize("most", [None, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_a_plan_moves_what_the_decision_moves_and_overdrives_no_card(cards, most, seed):
    problem = scale_out(cards)
    source = problem.application.operators[0].replace(state_size=3e7)
    problem = problem.replace(application=problem.application.replace(operators=(source, *problem.application.operators[1:])))
    after = everywhere(problem, seed)
    plan = plan_rescale(problem, after, max_move_ins=most)
    owners = {o.name: problem.current.owners(o.name, o.tasks.count) for o in problem.application.operators if o.tasks is not None}
    sent = dict.fromkeys(owners, 0.0)
    for step in plan.steps:
        arriving = dict.fromkeys(plan.nodes, 0)
        for move in step.moves:
            arriving[move.target] += move.count
            if move.tasks is not None:
                held = owners[move.operator][slice(*move.tasks)]
                assert held == [move.source] * move.count
                owners[move.operator][slice(*move.tasks)] = [move.target] * move.count
                sent[move.operator] += move.size
        assert most is None or max(arriving.values()) <= most
        check_cards(problem, plan, step)
    for name, held in owners.items():
        assert held == after.owners(name, len(held))
        moved = moved_bytes(problem.application, problem.current, after, name)
        assert sent[name] == pytest.approx(sum(moved.arriving.values()))
    total = sum(move.size for step in plan.steps for move in step.moves)
    assert total == pytest.approx(problem.evaluate(after).metrics["moved_state"])
    assert total == pytest.approx(sum(role.sent for role in plan.roles)) == pytest.approx(sum(r.received for r in plan.roles))


def check_cards(problem, plan, step):
    """Phases follow one another, send the bytes of the step, and no card is asked for more than its rate."""
    clock, delivered = 0.0, {}
    for phase in step.schedule.phases:
        assert phase.start == pytest.approx(clock)
        clock = phase.start + phase.duration
        out, into = dict.fromkeys(plan.nodes, 0.0), dict.fromkeys(plan.nodes, 0.0)
        for transfer in phase.transfers:
            source, target = plan.nodes[transfer.source], plan.nodes[transfer.target]
            out[source] += transfer.size
            into[target] += transfer.size
            delivered[source, target] = delivered.get((source, target), 0.0) + transfer.size
        for node in problem.network.nodes:
            assert out[node.name] <= (node.up_rate or np.inf) * phase.duration * (1 + 1e-9) + 1e-6
            assert into[node.name] <= (node.down_rate or np.inf) * phase.duration * (1 + 1e-9) + 1e-6
    wanted: dict = {}
    for move in step.moves:
        wanted[move.source, move.target] = wanted.get((move.source, move.target), 0.0) + move.size
    assert {pair: size for pair, size in delivered.items() if size} == pytest.approx({p: s for p, s in wanted.items() if s})


@pytest.mark.parametrize("cards", CARDS)
@pytest.mark.parametrize("seed", range(5))
def test_a_plan_takes_as_long_as_the_problem_says(cards, seed):
    """Without synchronisation, code and starts the downtime is the transfer time."""
    problem = scale_out(cards)
    nodes = [node.replace(spawn_time=0.0) for node in problem.network.nodes]
    problem = problem.replace(network=problem.network.replace(nodes=nodes))
    after = everywhere(problem, seed)
    plan = plan_rescale(problem, after)
    assert len(plan.steps) == 1
    assert plan.total_seconds == pytest.approx(problem.evaluate(after).metrics["downtime"])
    assert plan.total_seconds == pytest.approx(plan.transfer_seconds) == pytest.approx(max(r.seconds for r in plan.roles))


@pytest.mark.parametrize("seed", range(40))
def test_plans_of_random_rescalings_take_as_long_as_their_transfers(seed):
    problem = random_rescale(seed)
    if problem.current is None:
        return
    problem = problem.replace(transfer="direct")
    after = everywhere(problem, seed)
    plan = plan_rescale(problem, after)
    assert plan.total_seconds == pytest.approx(plan.transfer_seconds)
    assert sum(m.size for s in plan.steps for m in s.moves) == pytest.approx(problem.evaluate(after).metrics["moved_state"])


def test_roles_say_who_keeps_gives_receives_starts_and_stops():
    problem = RescaleProblem(
        application={
            "operators": [
                {"name": "count", "tasks": {"work": [1] * 4, "state_size": [8.0] * 4}, "max_replicas": 3},
                {"name": "sink"},
            ]
        },
        network={"nodes": [{"name": "a", "up_rate": 4.0}, {"name": "b", "down_rate": 2.0}, {"name": "c"}]},
        transfer="direct",
        weights={"moved_state": 1.0},
        limits={"moved_state": 100.0},
        current={"count": [{"node": "a", "tasks": (0, 4)}], "sink": ["c"]},
    )
    after = {"count": [{"node": "a", "tasks": (0, 2)}, {"node": "b", "tasks": (2, 4)}], "sink": ["b"]}
    plan = plan_rescale(problem, problem.read_decision(after, "deployment"))
    a, b, c = plan.roles
    assert (a.keeps, a.gives, a.receives, a.starts, a.stops) == ({"count": ((0, 2),)}, {"count": ((2, 4),)}, {}, {}, {})
    assert (b.keeps, b.receives, b.starts) == ({}, {"count": ((2, 4),)}, {"count": 1, "sink": 1})
    assert (c.starts, c.stops, c.sent) == ({}, {"sink": 1}, 0.0)
    assert (a.seconds, b.seconds) == (4.0, 8.0), "16 bytes at 4 and at 2 bytes/s"
    assert [str(move) for move in plan.steps[0].moves] == ["tasks 2–3 of count from a to b, 16 bytes"]
    by_two = plan_rescale(problem, problem.read_decision(after, "deployment"), max_move_ins=1)
    assert [[move.tasks for move in step.moves] for step in by_two.steps] == [[(2, 3)], [(3, 4)]]
    nothing = plan_rescale(problem, problem.current)
    assert (nothing.steps, nothing.total_seconds) == ((), 0.0)


def test_cards_without_limits_take_no_time():
    schedule = schedule_on_cards([[0, 3.0], [0, 0]], np.full(2, np.inf), np.full(2, np.inf))
    assert schedule.total_seconds == 0.0
    assert schedule.phases[0].transfers[0].size == 3.0


def test_what_cannot_be_planned_is_refused_with_its_place():
    problem = rescaled(24, np.random.default_rng(5), zipf_tasks, 1.5)
    with pytest.raises(InvalidInstanceError, match="current: a plan leads from what runs"):
        plan_rescale(problem.replace(current=None), problem.current)
    with pytest.raises(InvalidInstanceError, match="transfer: transfers are planned from node to node"):
        plan_rescale(problem.replace(transfer="store"), problem.current)


def test_the_command_prints_a_plan_and_writes_it(run, examples, tmp_path):
    path = examples / "rescale.json"
    problem = edrp.load(path)
    run("solve", path, "-o", tmp_path / "solution.json")
    result = run("plan", path, tmp_path / "solution.json", "--max-move-ins", "1", "-o", tmp_path / "plan.json").ended(0)
    assert "all at once it would take" in result.out
    written = json.loads((tmp_path / "plan.json").read_text())
    solution = json.loads((tmp_path / "solution.json").read_text())
    assert written["kind"] == "rescale-plan"
    sizes = [move["size"] for step in written["steps"] for move in step["moves"]]
    assert sum(sizes) == pytest.approx(sum(move["size"] for move in solution["moves"]))
    assert [role["node"] for role in written["roles"]] == list(problem.network.by_name)
    assert run("plan", path, tmp_path / "solution.json", "-o", tmp_path / "plan.json").code == 2
    refused = run("plan", path, tmp_path / "solution.json", "--uplink", "1e8").ended(2)
    assert "the nodes of a rescaling have `up_rate`" in refused.err
