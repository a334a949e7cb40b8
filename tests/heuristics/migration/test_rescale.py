"""The search for replicas, ranges and nodes, and the baselines that it is compared with."""

import numpy as np
import pytest

import edrp
from edrp.auto.choices import choose_for_rescale
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.budget import deadline, now
from edrp.core.methods import get_method
from edrp.core.problem import derived_once
from edrp.datasets.families.migration.rescale import random_rescale, rescaled, zipf_tasks
from edrp.datasets.families.placement.rules import with_rules
from edrp.datasets.migration.skew import zipf_work
from edrp.heuristics.migration.rescale.annealed_ranges import RangeSearch
from edrp.heuristics.migration.rescale.range_arrays import METRICS, OBJECTIVE_VALUE, range_arrays
from edrp.heuristics.migration.rescale.range_starts import packed_start, present_start, ranges_on, repaired_starts
from edrp.migration.rescale.arrays import compile_rescale

BASELINES = ("keep", "repair-ranges", "edrp-then-ssm", "ds2-even-ranges", "even-ranges", "sticky-ranges")


@pytest.fixture(scope="module")
def scale_out():
    return rescaled(24, np.random.default_rng(5), zipf_tasks, 1.5)


@pytest.mark.parametrize("part", ["plain", "scenarios", "rules"])
@pytest.mark.parametrize("seed", range(30))
def test_kernels_and_evaluation_say_the_same(seed, part):
    problem = random_rescale(seed, scenarios=part == "scenarios", tasks=(3, 5))
    problem = with_rules(problem, seed) if part == "rules" else problem
    arrays = compile_rescale(problem)
    for start in [present_start(arrays, problem.current), *(packed_start(arrays, share) for share in (0.0, 1.0))]:
        if start is None:
            continue
        search = RangeSearch(range_arrays(arrays), [start])
        evaluation = problem.evaluate(arrays.deployment(start))
        assert search.feasible == evaluation.feasible
        if evaluation.feasible:
            assert search.objective == pytest.approx(evaluation.objective, rel=1e-9, abs=1e-9)
            for value, name in zip(search.now.values, METRICS, strict=False):
                assert value == pytest.approx(evaluation.metrics.get(name, 0.0), rel=1e-9, abs=1e-6), name


def test_what_remains_downloads_its_share_of_the_state_that_leaves():
    """An operator without tasks goes from three replicas to two: both fetch a sixth of its 6 MB more, and z sends a third."""
    problem = edrp.RescaleProblem(
        application={"operators": [{"name": "plain", "external_rate": 1.0, "state_size": 6e6, "max_replicas": 3}]},
        network={"nodes": [{"name": name} for name in "xyz"], "store": {"bandwidth": 1e6}},
        weights={"downtime": 1.0},
        limits={"downtime": 100.0},
        current={"plain": ["x", "y", "z"]},
    )
    arrays = compile_rescale(problem)
    search = RangeSearch(range_arrays(arrays), [[[(0, 0, 0), (1, 0, 0)]]])
    assert search.objective * 100.0 == pytest.approx(2.0 + 1.0)
    assert problem.evaluate(arrays.deployment([[(0, 0, 0), (1, 0, 0)]])).metrics["downtime"] == pytest.approx(3.0)


@pytest.mark.parametrize(("node", "load"), [(0, 0.0), (1, 0.25)])
def test_what_stays_on_a_node_does_not_use_the_network(node, load):
    stream = {"source": "a", "target": "b", "usage": {"network": 1.0}}
    problem = edrp.RescaleProblem(
        application={"operators": [{"name": "a", "external_rate": 10.0}, {"name": "b"}], "streams": [stream]},
        network={"nodes": [{"name": name, "capacity": {"network": 40.0}} for name in "xy"], "between_zones": {"delay": 0.01}},
        weights={"peak_load": 1.0},
        limits={"peak_load": 1.0},
    )
    arrays, start = compile_rescale(problem), [[(0, 0, 0)], [(node, 0, 0)]]
    assert RangeSearch(range_arrays(arrays), [start]).objective == load
    assert problem.evaluate(arrays.deployment(start)).metrics["peak_load"] == load


@pytest.mark.parametrize(("seed", "scenarios"), [*((seed, False) for seed in range(12)), *((seed, True) for seed in range(6))])
def test_the_search_finds_the_optima_of_tiny_problems(seed, scenarios):
    problem = random_rescale(seed, scenarios=scenarios)
    optimum, _ = brute_force(problem)
    solution = edrp.solve(problem, "range-annealing", seed=3)
    assert solution.status == ("none" if optimum is None else "feasible")
    if optimum is not None:
        assert solution.objective == pytest.approx(optimum, abs=1e-7)


def test_the_search_is_never_worse_than_the_baselines(scale_out):
    found = edrp.solve(scale_out, "range-annealing")
    assert found.status == "feasible"
    answers = {name: edrp.solve(scale_out, name) for name in BASELINES}
    known = {name: answer.objective for name, answer in answers.items() if answer.objective is not None}
    assert known
    assert all(found.objective <= objective + 1e-9 for objective in known.values()), (found.objective, known)
    assert answers["keep"].status == "none"
    assert "is overloaded on" in answers["keep"].notes[0]


def test_a_start_is_not_lost(scale_out):
    best = edrp.solve(scale_out, "range-annealing")
    again = edrp.solve(scale_out, "range-annealing", start=best.deployment, seed=9, runs=1, steps=1)
    assert again.objective <= best.objective + 1e-12


def test_even_ranges_are_even_and_ds2_decides_how_many(scale_out):
    load = scale_out.application.load
    even = tuple(
        o if o.tasks is None else o.replace(tasks=o.tasks.replace(work=(1.0,) * 24)) for o in scale_out.application.operators
    )
    problem = scale_out.replace(application=scale_out.application.replace(operators=even))
    for name in ("even-ranges", "ds2-even-ranges"):
        solution = edrp.solve(problem, name)
        assert solution.deployment is not None, solution.notes
        for operator in problem.application.operators:
            if operator.tasks is None:
                continue
            ends = [replica.tasks[1] for replica in solution.deployment.ranges(operator.name)]
            assert ends == [-(-24 * (k + 1) // len(ends)) for k in range(len(ends))]
            if name == "ds2-even-ranges":
                assert len(ends) == np.ceil(load(operator.name) / (0.7 * operator.latency.service_rate) - 1e-9)


def test_the_fewest_bytes_are_those_of_ssm():
    """On distinct nodes with one range each, given nodes that all hold something now."""
    from edrp.datasets.families.migration.migration_families import random_migration

    compared = 0
    for seed in range(60):
        migration = random_migration(seed, tasks=9, nodes=3)
        held = [interval for interval in migration.intervals if interval[0] < interval[1]]
        if len(held) != 3 or len(migration.intervals) != 3:
            continue
        problem = one_operator(migration, held)
        arrays = compile_rescale(problem)
        ranges = ranges_on(arrays, 0, [0, 1, 2], migration.tolerance)
        known = edrp.solve(migration.replace(allow_empty=False), "ssm")
        assert (ranges is None) == (known.status == "infeasible")
        if ranges is not None:
            assert problem.evaluate(arrays.deployment([ranges])).metrics["moved_state"] == pytest.approx(known.objective)
            compared += 1
    assert compared >= 3


def one_operator(migration, held):
    from edrp.migration.rescale.problem import RescaleProblem

    tasks = {"work": migration.work, "state_size": migration.state_size}
    return RescaleProblem(
        application={"operators": [{"name": "work", "tasks": tasks, "max_replicas": 3}]},
        network={"nodes": [{"name": f"n{u}"} for u in range(3)]},
        weights={"moved_state": 1.0},
        limits={"moved_state": 1e9},
        current={"work": [{"node": f"n{u}", "tasks": interval} for u, interval in enumerate(held)]},
    )


@pytest.fixture(scope="module")
def hundred_thousand():
    problem = rescaled(100, np.random.default_rng(2), zipf_tasks, 1.5)
    random = np.random.default_rng(3)
    many = {"work": random.uniform(0.5, 1.5, 100_000).tolist(), "state_size": random.uniform(0.0, 1e4, 100_000).tolist()}
    operators = tuple(o if o.tasks is None else o.replace(tasks=many) for o in problem.application.operators)
    return problem.replace(application=problem.application.replace(operators=operators), current=None)


def test_one_hundred_thousand_tasks_are_taken(hundred_thousand):
    assert edrp.solve(hundred_thousand, "range-annealing", runs=1, steps=2000).status == "feasible"
    assert edrp.solve(hundred_thousand, "repair-ranges").status == "feasible"


def test_a_run_stops_at_its_time_limit_and_keeps_the_best(scale_out):
    with derived_once(scale_out):
        arrays = compile_rescale(scale_out)
        search = RangeSearch(range_arrays(arrays), [packed_start(arrays, 0.0)])
    before = search.objective
    assert search.anneal(edrp.Options(work_limit=0.0), 4, 1000, (0.05, 1e-3)) == "time_limit"
    assert search.objective == before
    assert np.isfinite(search.best.values[OBJECTIVE_VALUE])


def twice(problem):
    """Two applications side by side on twice as many nodes."""
    streams, nodes = problem.application.streams, problem.network.nodes
    operators = [*problem.application.operators, *(o.replace(name=f"{o.name}'") for o in problem.application.operators)]
    copies = [stream.replace(source=f"{stream.source}'", target=f"{stream.target}'") for stream in streams]
    placed = {name: problem.current[name] for name in problem.current}
    return problem.replace(
        application={"operators": operators, "streams": [*streams, *copies]},
        network=problem.network.replace(nodes=[*nodes, *(node.replace(name=f"{node.name}'") for node in nodes)]),
        limits={**problem.limits.model_dump(), "cost": 2 * problem.limits.cost, "downtime": 2 * problem.limits.downtime},
        current={**placed, **{f"{name}'": held for name, held in placed.items()}},
    )


@pytest.mark.parametrize("factor", [0.5, 1.5, 2.0])
@pytest.mark.parametrize("ranges", ["free", "even"])
@pytest.mark.parametrize("current", [True, False])
def test_a_repair_answers_without_kernels(factor, ranges, current):
    """On 16 nodes, up to ten operators, 256 tasks each."""
    problem = twice(rescaled(256, np.random.default_rng(1), zipf_work, factor)).replace(ranges=ranges)
    problem = problem if current else problem.replace(current=None)
    assert edrp.solve(problem, "repair-ranges").status == "feasible"


def test_a_repair_comes_first_and_its_first_answer_does_not_wait_for_time(scale_out):
    portfolio = choose_for_rescale(scale_out)
    assert portfolio.stages[0].method.name == "repair-ranges"
    assert [method.name for method in portfolio.rules] == ["keep", "repair-ranges"]
    with derived_once(scale_out):
        assert compile_rescale(scale_out).compiled.delay.shape == (3, 3)
        with deadline(now() - 1):
            answer = get_method("repair-ranges").run(scale_out, edrp.Options(work_limit=0.0))
    assert answer.status == "feasible"


@pytest.mark.parametrize("seed", range(60))
def test_what_is_repaired_is_stable_and_holds_every_task(seed):
    """Also where limits or rooms are so tight that it breaks one of them."""
    problem = random_rescale(seed)
    if problem.clashes():
        assert edrp.solve(problem, "repair-ranges").status == "none"
        return
    arrays = compile_rescale(problem)
    for replicas in repaired_starts(arrays):
        broken = problem.evaluate(arrays.deployment(replicas)).broken
        assert not any("overloaded" in why or "tolerance" in why or "ranges" in why or "replicas" in why for why in broken)


def test_what_runs_and_has_room_to_spare_is_kept_by_repair():
    problem = rescaled(64, np.random.default_rng(3), zipf_tasks, 0.5)
    arrays = compile_rescale(problem)
    repaired = arrays.deployment(repaired_starts(arrays)[0])
    assert problem.evaluate(repaired).metrics["moved_state"] == 0


@pytest.mark.parametrize("ranges", ["free", "even"])
def test_a_slow_node_gets_what_it_serves(ranges):
    """The first three tasks bring 12 tuples/s, the others 6; n0 holds all and serves less than 10 at half the speed."""
    tasks = {"work": [2.0, 2.0, 2.0, 1.0, 1.0, 1.0], "state_size": [1.0] * 6}
    queue = {"model": "mm1", "service_rate": 20.0}
    problem = edrp.RescaleProblem(
        application={"operators": [{"name": "k", "external_rate": 18.0, "latency": queue, "tasks": tasks, "max_replicas": 2}]},
        network={"nodes": [{"name": "n0", "speedup": 0.5}, {"name": "n1"}]},
        ranges=ranges,
        weights={"moved_state": 1.0},
        limits={"moved_state": 10.0},
        current={"k": [{"node": "n0", "tasks": [0, 6]}]},
    )
    arrays = compile_rescale(problem)
    assert sorted(ranges_on(arrays, 0, [0, 1], 1.0)) == [(0, 3, 6), (1, 0, 3)]
    assert all(problem.evaluate(arrays.deployment(start)).feasible for start in repaired_starts(arrays))
    slow = problem.network.replace(nodes=[{"name": name, "speedup": 0.4} for name in ("n0", "n1")])
    (why,) = problem.replace(network=slow, ranges="even").clashes()
    words = "with 2 replicas at most no even ranges keep all of them stable at a speed-up of 0.4, the largest of its nodes"
    assert why == f"k: {words}"
