"""Documents of the kind `rescale`: what is read and refused, what the evaluation says, and EDRP and SSM as special cases."""

import copy
import json

import numpy as np
import pytest

import edrp
from edrp.datasets.families.migration.migration_families import random_migration
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.errors import InvalidInstanceError
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.metrics import Cost, Downtime, ResponseTime
from edrp.validation.oracles.migration.rescale_special_cases import as_one_operator, without_tasks


@pytest.fixture
def document(examples):
    return json.loads((examples / "rescale.json").read_text())


def faults(document) -> dict[str, str]:
    with pytest.raises(InvalidInstanceError) as caught:
        edrp.loads(json.dumps(document))
    return {fault.place: fault.why for fault in caught.value.faults}


def operator(document, name):
    return next(operator for operator in document["application"]["operators"] if operator["name"] == name)


def test_the_reader_names_every_fault_with_its_place(document):
    wrong = copy.deepcopy(document)
    count = operator(wrong, "count")
    count["tasks"]["state_size"].pop()
    count["tasks"]["work"] = [0.0] * len(count["tasks"]["work"])
    found = faults(wrong)
    assert "has another length than work" in found["application.operators[1].tasks.state_size"]
    assert "gives no task any work" in found["application.operators[1].tasks.work"]


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ([(0, 5), (4, 8)], "task 4 is held twice; the ranges must hold each of the 8 tasks once"),
        ([(0, 4), (5, 8)], "task 4 is held by no replica"),
        ([(0, 4), (4, 9)], "task 8 does not exist"),
        ([(0, 3)], "tasks 3 to 7 are held by no replica"),
    ],
)
def test_ranges_that_overlap_or_leave_keys_out_are_refused(document, ranges, said):
    wrong = copy.deepcopy(document)
    wrong["current"]["count"] = [{"node": "rack1-a", "tasks": tasks} for tasks in ranges]
    assert said in faults(wrong)["current.count"]


def test_tasks_without_work_array_empty_ranges_and_wrong_forms_are_refused(document):
    missing = copy.deepcopy(document)
    del operator(missing, "count")["tasks"]["work"]
    assert "missing" in faults(missing)["application.operators[1].tasks.work"]
    empty = copy.deepcopy(document)
    empty["current"]["count"][0]["tasks"] = [3, 3]
    assert any("holds no task" in why for why in faults(empty).values())
    plain = copy.deepcopy(document)
    plain["current"]["count"] = ["rack1-a"]
    assert "'count' has tasks: give node and tasks" in faults(plain)["current.count[0]"]
    keyed = copy.deepcopy(document)
    keyed["current"]["read"] = [{"node": "rack1-a", "tasks": [0, 1]}]
    assert "splits its load evenly: give the node alone" in faults(keyed)["current.read[0]"]
    half = copy.deepcopy(document)
    half["current"]["count"][0] = {"node": "rack1-a"}
    assert faults(half) == {"current.count[0].tasks": "missing; this field is required"}
    number = copy.deepcopy(document)
    number["current"]["count"][0] = 3
    assert faults(number) == {"current.count[0]": "must be text, or an object of node and tasks"}
    double = copy.deepcopy(document)
    operator(double, "count")["state_size"] = 5.0
    assert "is that of the tasks already" in faults(double)["application.operators[1].state_size"]


LIMITED = {"range-annealing": {"work_limit": 0.2}}
"""Options of methods that would search on."""


@pytest.mark.parametrize("method", ["auto", "highs", "range-annealing", "repair-ranges"])
def test_a_current_deployment_over_capacity_is_legal_and_left(document, method):
    for node in document["network"]["nodes"]:
        node["resources"] = 2
    here = document["network"]["nodes"][0]["name"]
    everything = [{"node": here, "tasks": [0, 4]}, {"node": here, "tasks": [4, 8]}]
    document["current"] = {**{name: [here] for name in document["current"]}, "count": everything, "join": everything}
    problem = edrp.loads(json.dumps(document))
    assert not problem.evaluate(problem.current).feasible
    solution = edrp.solve(problem, method, **LIMITED.get(method, {}))
    assert solution.status == ("optimal" if method in ("auto", "highs") else "feasible")
    assert solution.actions
    assert sum(solution.deployment.nodes(name).count(here) for name in document["current"]) <= 2


@pytest.mark.parametrize("method", ["auto", "highs", "range-annealing", "repair-ranges"])
def test_even_ranges_can_be_asked_for_where_current_ones_are_not_even(document, method):
    document["ranges"] = "even"
    problem = edrp.loads(json.dumps(document))
    assert "ranges: those of count are not even" in " ".join(problem.evaluate(problem.current).broken)
    solution = edrp.solve(problem, method, **LIMITED.get(method, {}))
    assert solution.status == ("optimal" if method in ("auto", "highs") else "feasible")
    ends = [replica.tasks[1] for replica in solution.deployment.ranges("count")]
    assert ends == [-(-8 * (k + 1) // len(ends)) for k in range(len(ends))]


def test_shares_follow_the_work_of_tasks():
    queue = {"model": "mm1", "service_rate": 10.0}
    work = {"name": "work", "latency": queue, "external_rate": 12.0, "max_replicas": 2, "cost": 1.0}
    problem = RescaleProblem(
        application={"operators": [{**work, "tasks": {"work": [6, 1, 1], "state_size": [1e6, 2e6, 4e6]}}]},
        network={
            "nodes": [{"name": "a", "up_rate": 1e6}, {"name": "b", "down_rate": 5e5, "spawn_time": 0.25}],
            "between_zones": {"delay": 0.0},
        },
        synchronisation_time=1.0,
        transfer="direct",
        weights={"response_time": 1.0},
        limits={"response_time": 1.0},
        current={"work": [{"node": "a", "tasks": [0, 3]}]},
    )
    split = {"work": [{"node": "a", "tasks": [0, 1]}, {"node": "b", "tasks": [1, 3]}]}
    metrics = problem.evaluate(split).metrics
    assert metrics["response_time"] == 1 / (10.0 - 9.0), "the heavy task brings three quarters of 12 tuples/s"
    assert problem.replace(operator_latency="mean").evaluate(split).metrics["response_time"] == pytest.approx(0.75 + 0.25 / 7)
    assert metrics["moved_state"] == 6e6
    assert metrics["downtime"] == 1.0 + 6e6 / 5e5 + 0.25, "the slower of both cards decides"
    assert problem.evaluate(problem.current).metrics["downtime"] == 0.0
    broken = problem.replace(utilisation=0.8, tolerance=0.2).evaluate(split).broken
    assert broken == ("work is overloaded on a: 9 tuples/s for task 0", "tolerance: task 0 of work, 0.75 of the work against 0.6")


def test_by_way_of_the_store_tasks_are_uploaded_and_downloaded(document):
    """EDRP, eqs. 25–31, with the bytes of the tasks."""
    problem = edrp.loads(json.dumps({**document, "transfer": "store"}))
    current = {name: list(problem.current[name]) for name in problem.current}
    moved = {**current, "count": [{"node": "rack2-a", "tasks": [0, 8]}]}
    size = sum(operator(document, "count")["tasks"]["state_size"])
    store, spawn = document["network"]["store"], document["network"]["nodes"][2]["spawn_time"]
    leaving = sum(operator(document, "count")["tasks"]["state_size"][:3])
    expected = document["synchronisation_time"] + 4 * store["delay"] + max(leaving, size - leaving) / store["bandwidth"]
    expected += size / store["bandwidth"] + spawn
    assert problem.evaluate(moved).metrics["downtime"] == pytest.approx(expected)


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 60))])
def test_without_tasks_it_is_edrp(seed):
    rescale, plain = without_tasks(random_problem(seed, operators=(3, 4), nodes=(3, 4), combinations_limit=2e3))
    random = np.random.default_rng(seed)
    nodes = list(plain.network.by_name)
    for _ in range(20):
        places = {
            o.name: [str(random.choice(o.candidates or nodes)) for _ in range(int(random.integers(1, o.max_replicas + 1)))]
            for o in plain.application.operators
        }
        ours, theirs = rescale.evaluate(places), plain.evaluate(places)
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-12)
        assert sorted(ours.broken) == sorted(theirs.broken)
        for metric in (ResponseTime, Cost, Downtime):
            assert ours.metrics[metric.name] == theirs.metrics[metric.name]
    found, known = edrp.solve(rescale, "highs"), edrp.solve(plain, "highs")
    assert (found.status == "infeasible") == (known.status == "infeasible")
    assert found.objective == pytest.approx(known.objective, rel=1e-7)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 60))])
def test_one_operator_on_equal_nodes_of_one_seat_is_ssm(seed):
    migration = random_migration(seed).replace(allow_empty=False)
    if migration.nodes > len(migration.work) or sum(migration.work) == 0 or sum(migration.state_size) == 0:
        migration = random_migration(seed + 100, tasks=8, nodes=3).replace(allow_empty=False)
    ours, theirs = edrp.solve(as_one_operator(migration), "highs"), edrp.solve(migration, "ssm")
    assert ours.status == theirs.status
    if ours.status == "optimal":
        assert ours.metrics["moved_state"] == pytest.approx(theirs.objective, abs=1e-6 * sum(migration.state_size))
