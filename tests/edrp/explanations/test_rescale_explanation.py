"""Explanations of a rescaling: reasons and remedies, each by solving the changed problem."""

import numpy as np
import pytest

import edrp
from edrp.cli.display.explanation import remedy_table
from edrp.datasets.families.migration.rescale import random_rescale, rescaled, zipf_tasks
from edrp.explanations.rescale import explain_rescale, heaviest_replica, longest_transfer
from edrp.migration.rescale.documents import replica_loads
from edrp.migration.rescale.problem import RescaleProblem


def one_operator(work, load, *, slots=4.0, most=2, weights=None, card=1e6):
    """Serves 10 tuples/s in each replica; all on node a now."""
    return RescaleProblem(
        application={
            "operators": [
                {
                    "name": "work",
                    "latency": {"model": "mm1", "service_rate": 10.0},
                    "external_rate": load,
                    "cost": 1.0,
                    "max_replicas": most,
                    "tasks": {"work": work, "state_size": [1e6] * len(work)},
                }
            ]
        },
        network={
            "nodes": [{"name": name, "resources": slots, "up_rate": card, "down_rate": card} for name in "ab"],
            "between_zones": {"delay": 0.0},
        },
        transfer="direct",
        weights=weights or {"response_time": 1.0},
        limits={"response_time": 4.0, "cost": 10.0, "downtime": 10.0, "moved_state": 1e7},
        current={"work": [{"node": "a", "tasks": (0, len(work))}]},
    )


def remedies(problem, deployment):
    return {remedy.what: remedy for remedy in explain_rescale(problem, deployment).remedies}


def gain(problem, deployment, words):
    (remedy,) = [remedy for what, remedy in remedies(problem, deployment).items() if words in what]
    return remedy


def test_a_replica_whose_latency_is_finite_at_any_rate_is_not_the_heaviest():
    problem = one_operator([1, 1], 8.0)
    (work,) = problem.application.operators
    slow = work.replace(name="slow", latency={"model": "polynomial", "coefficients": [1.0, 0.1]})  # 1 tuple/s by the DS2 rule
    both = problem.replace(
        application=problem.application.replace(operators=(work, slow)),
        current=dict.fromkeys(("work", "slow"), problem.current["work"]),
    )
    assert both.evaluate(both.current).feasible
    heaviest = heaviest_replica(both, both.current)
    assert (heaviest.operator, heaviest.used) == ("work", pytest.approx(0.8))
    alone = problem.replace(application=problem.application.replace(operators=(slow,)), current={"slow": problem.current["work"]})
    assert heaviest_replica(alone, alone.current) is None


def test_nothing_is_gained_over_what_is_infeasible():
    problem = one_operator([1, 1, 1], 12.0, most=1)
    found = explain_rescale(problem, problem.current)
    assert not found.evaluation.feasible
    (more,) = [remedy for remedy in found.remedies if "one more replica" in remedy.what]
    assert more.evaluation.feasible, "two replicas serve the load"
    assert more.gain is None
    shown = remedy_table(found)
    assert [(row[2], row[-1]) for row in shown.rows[:2]] == [("", "infeasible"), ("", "proven")]


def test_splitting_the_hottest_task_helps_where_it_is_most_of_a_replica():
    problem = one_operator([6, 1, 1], 12.0)
    best = edrp.solve(problem)
    found = explain_rescale(problem, best.deployment)
    assert (found.heaviest.operator, found.heaviest.tasks, found.heaviest.rate) == ("work", (0, 1), 9.0)
    assert found.heaviest.hottest == ((0, 1.0),)
    assert found.heaviest.used == pytest.approx(0.9)
    split = gain(problem, best.deployment, "task 0 of work split in two")
    halved = edrp.solve(one_operator([3, 3, 1, 1], 12.0))
    assert split.evaluation.metrics["response_time"] == pytest.approx(halved.metrics["response_time"])
    assert split.gain == pytest.approx((1.0 - 1 / (10 - 7.5)) / 4)
    assert split.proven


def test_one_more_replica_helps_although_it_is_forbidden():
    problem = one_operator([1, 1, 1, 1], 16.0)
    best = edrp.solve(problem)
    more = gain(problem, best.deployment, "one more replica of work (3), which its max_replicas of 2 forbids")
    assert more.evaluation.metrics["cost"] == 3.0
    assert more.gain == pytest.approx(0.0), "two of four tasks stay together"
    problem = one_operator([1] * 6, 16.0)
    best = edrp.solve(problem)
    assert gain(problem, best.deployment, "one more replica").gain == pytest.approx((1 / 2 - 1 / (10 - 16 / 3)) / 4)


def test_a_faster_card_and_room_help_where_they_decide():
    weights = {"response_time": 0.5, "downtime": 0.5}
    problem = one_operator([1] * 6, 12.0, slots=1.0, weights=weights)
    best = edrp.solve(problem)
    found = explain_rescale(problem, best.deployment)
    assert (found.longest.name, found.longest.direction, found.longest.size, found.longest.seconds) == ("a", "sends", 2e6, 2.0)
    assert gain(problem, best.deployment, "twice the up_rate of a").gain == pytest.approx(0), "the other card is as slow"
    nodes = [node.replace(down_rate=1e9) for node in problem.network.nodes]
    quick = problem.replace(network=problem.network.replace(nodes=nodes))
    assert gain(quick, best.deployment, "twice the up_rate of a").gain == pytest.approx(0.1625 - 0.10625), "three tasks move"
    assert found.fullest.used == 1.0
    room = gain(problem, best.deployment, "room for one more replica of work where resources of node a are used up")
    assert room.evaluation.metrics["moved_state"] == 0, "both replicas stay on the node that holds the state"
    assert room.gain == pytest.approx(best.objective - 0.5 * 0.25 / 4)


def test_a_deployment_that_is_not_the_best_is_said_to_be_so():
    problem = one_operator([1] * 6, 12.0)
    uneven = {"work": [{"node": "a", "tasks": (0, 2)}, {"node": "b", "tasks": (2, 6)}]}
    found = explain_rescale(problem, uneven)
    best = edrp.solve(problem)
    assert found.better.objective == pytest.approx(best.objective)
    assert explain_rescale(problem, best.deployment).better is None
    assert all(remedy.gain <= best.objective for remedy in found.remedies), "gains are counted from the better one"


def test_by_way_of_the_store_the_slowest_operator_is_named(examples):
    problem = edrp.load(examples / "rescale.json").replace(transfer="store")
    moved = {**{name: problem.current[name] for name in problem.current}, "count": [{"node": "rack2-a", "tasks": [0, 8]}]}
    longest = longest_transfer(problem, problem.read_decision(moved, "deployment"))
    assert (longest.name, longest.direction) == ("count", None)
    assert longest.seconds == problem.evaluate(moved).metrics["downtime"]


@pytest.mark.parametrize("seed", range(6))
def test_no_replica_uses_more_than_the_heaviest(seed):
    problem = random_rescale(seed)
    if problem.current is None:
        return
    heaviest = heaviest_replica(problem, problem.current)
    used = [
        load.rate / operator.latency.true_rate(problem.current.degree(operator.name))
        for operator in problem.application.operators
        if operator.latency is not None and operator.latency.model != "polynomial"
        for load in replica_loads(problem.application, problem.current, operator.name)
    ]
    assert (None if heaviest is None else heaviest.used) == (pytest.approx(max(used)) if used else None)


def test_the_longest_transfer_is_the_downtime_without_its_other_parts():
    problem = rescaled(24, np.random.default_rng(5), zipf_tasks, 1.5)
    nodes = [node.replace(spawn_time=0.0) for node in problem.network.nodes]
    problem = problem.replace(network=problem.network.replace(nodes=nodes), synchronisation_time=0.0)
    solution = edrp.solve(problem, "repair-ranges")
    longest = longest_transfer(problem, solution.deployment)
    assert (0.0 if longest is None else longest.seconds) == pytest.approx(solution.metrics["downtime"])


def test_the_command_explains_a_rescaling(run, examples, write):
    result = run("explain", examples / "rescale.json").ended(0)
    for words in ("Heaviest replica: count on", "Fullest node:", "Longest transfer:", "What would help, each solved again"):
        assert words in result.out
    broken = one_operator([9, 1, 1], 13.0).model_dump(mode="json")
    assert "task 0 alone brings" in run("explain", write(broken)).ended(3).out
