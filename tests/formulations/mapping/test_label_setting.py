"""Exact mapping: label setting, the program and enumeration agree; bounds are bounds; stopping, refusals, limits met exactly."""

from typing import Any

import numpy as np
import pytest

from edrp.check_problems.mapping.problems import brute_force_mapping
from edrp.core.errors import UnsupportedProblemError
from edrp.core.methods import Options
from edrp.core.program import Linear
from edrp.core.solution import Answer
from edrp.datasets.families.mapping.path_mapping import random_mapping_problem
from edrp.datasets.families.mapping.platforms import mapping_problem
from edrp.formulations.mapping import label_setting
from edrp.formulations.mapping.label_setting import METHODS, segment
from edrp.formulations.mapping.lagrangian import relaxed_bound
from edrp.formulations.mapping.layered_graph import map_to_moves, moves_to_map
from edrp.formulations.mapping.path_mapping import formulate_mapping
from edrp.formulations.methods import solve_formulation
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays
from edrp.mapping.path_tasks import PathMap

(LABELS,) = METHODS


def solved(problem: MappingProblem, **options: Any) -> Answer:
    answer = LABELS.run(problem, Options(**options))
    if answer.decision is not None:
        evaluation = problem.evaluate(answer.decision)
        assert evaluation.feasible, evaluation.broken
        assert evaluation.objective == pytest.approx(answer.objective)
    return answer


def diamond(**fields: Any) -> MappingProblem:
    """From a to d, cheap over b, costly over c; every server has room for one of two components."""
    links = [("a", "b", 1), ("b", "d", 1), ("a", "c", 5), ("c", "d", 5)]
    network = {
        "nodes": [{"name": name, "capacity": 1} for name in "abcd"],
        "links": [{"source": u, "target": v, "bandwidth": 2, "cost": cost} for u, v, cost in links],
    }
    components = [{"name": name, "capacity": 1} for name in ("first", "second")]
    task = {"source": "a", "delivery": "d", "bandwidths": [1, 1, 1], "components": components}
    return MappingProblem(network=network, task=task, **fields)


@pytest.mark.parametrize("problems", [24, pytest.param(60, marks=pytest.mark.slow)])
def test_label_setting_the_program_and_enumeration_agree(problems: int) -> None:
    """Problems in all readings; among them infeasible ones, and some that need resources to be tracked."""
    rounds, infeasible, readings = [], 0, set()
    for seed in range(problems):
        problem = random_mapping_problem(seed)
        optimum, maps = brute_force_mapping(problem)
        answer, program = solved(problem), solve_formulation(formulate_mapping(problem))
        assert answer.status == program.status == ("infeasible" if optimum is None else "optimal"), seed
        if optimum is None:
            infeasible += 1
            continue
        assert answer.objective == pytest.approx(optimum, abs=1e-9), seed
        assert program.objective == pytest.approx(optimum, abs=1e-9), seed
        assert answer.bound == pytest.approx(optimum, abs=1e-9), seed
        assert all(problem.evaluate(decision).objective == pytest.approx(optimum, abs=1e-9) for decision in maps), seed
        rounds.append(answer.size["rounds"])
        readings.add((problem.empty_hops, problem.bandwidth, any(node.uplink for node in problem.network.nodes)))
    assert problems / 6 <= infeasible <= problems / 2
    assert len(readings) == 8
    assert sum(count > 1 for count in rounds) >= problems / 8


@pytest.mark.slow
def test_bounds_weights_and_good_maps_leave_the_optimum_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems are solved before the search looks for weights of resources and for good maps; here it does so at once."""
    monkeypatch.setattr(label_setting, "EASY", 1)
    monkeypatch.setattr(label_setting, "HARD", 2)
    weighed = 0
    for seed in range(100, 180):
        problem = tenths(random_mapping_problem(seed))
        optimum, _ = brute_force_mapping(problem)
        answer = solved(problem)
        assert answer.status == ("infeasible" if optimum is None else "optimal"), seed
        assert answer.objective == (None if optimum is None else pytest.approx(optimum, abs=1e-9)), seed
        weighed += answer.size["rounds"] >= 3
    assert weighed >= 10


def tenths(problem: MappingProblem) -> MappingProblem:
    document = problem.model_dump(mode="json")
    amounts = {"capacity", "total_capacity", "bandwidth", "cost", "uplink", "downlink"}
    network, task = document["network"], document["task"]
    for described in (*network["nodes"], *network["links"], *task["components"]):
        described.update({name: described[name] / 10 for name in amounts & described.keys() if described[name] is not None})
    task["bandwidths"] = [rate / 10 for rate in task["bandwidths"]]
    return problem.replace(network=network, task=task, public_cost=problem.public_cost / 10)


def line(source: str, services: str, delivery: str, **fields: Any) -> MappingProblem:
    """a - b - c; only a hosts service x, only c service z; all hops take 2 of the 3 that a link carries."""
    nodes = [{"name": name, "capacity": 9, "services": list(hosted)} for name, hosted in (("a", "x"), ("b", ""), ("c", "z"))]
    links = [{"source": u, "target": v, "bandwidth": 3, "cost": 1} for u, v in ("ab", "bc")]
    components = [{"name": str(i), "service": service} for i, service in enumerate(services)]
    task = {"source": source, "delivery": delivery, "bandwidths": [2] * (len(services) + 1), "components": components}
    return MappingProblem(network={"nodes": nodes, "links": links}, task=task, **fields)


def test_both_readings_of_empty_hops_by_hand() -> None:
    """c → b → a, a → b → c: b is passed once in each hop."""
    assert solved(line("c", "xz", "c", max_empty_hops=1)).objective == 4.0
    assert solved(line("c", "xz", "c", max_empty_hops=0)).status == "infeasible"
    assert solved(line("c", "xz", "c", max_empty_hops=1, empty_hops="total")).status == "infeasible"
    assert solved(line("c", "xz", "c", max_empty_hops=2, empty_hops="total")).objective == 4.0


def test_both_readings_of_bandwidth_by_hand() -> None:
    """Each direction of a link counts by itself; b → a is used twice where service x is needed before and after z."""
    assert solved(line("a", "z", "a")).objective == 4.0
    assert solved(line("b", "xzx", "b")).status == "infeasible"
    assert solved(line("b", "xzx", "b", bandwidth="per_edge")).objective == 6.0


def test_limits_may_be_met_exactly_and_not_be_exceeded() -> None:
    """Tenths add up to one with rounding; a millionth less is too little."""
    nodes = [{"name": "a", "capacity": 1.0}, {"name": "b", "capacity": 0.0}]
    components = [{"name": f"c{i}", "capacity": 0.1} for i in range(10)]
    task = {"source": "b", "delivery": "b", "bandwidths": [0.1] * 11, "components": components}
    network = {"nodes": nodes, "links": [{"source": "a", "target": "b", "bandwidth": 0.1}]}
    problem = MappingProblem(network=network, task=task)
    assert solved(problem).status == solve_formulation(formulate_mapping(problem)).status == "optimal"
    for less in ({"capacity": 1 - 1e-6}, {"bandwidth": 0.1 - 1e-7}):
        fewer = [{**nodes[0], **less}, nodes[1]] if "capacity" in less else nodes
        slower = [{**network["links"][0], **(less if "bandwidth" in less else {})}]
        changed = problem.replace(network={"nodes": fewer, "links": slower})
        assert solved(changed).status == solve_formulation(formulate_mapping(changed)).status == "infeasible"


def test_a_hop_over_the_public_network_costs_its_price_and_needs_both_ends() -> None:
    """One component on a, the other on d: one public hop; none where d cannot receive."""
    problem = diamond()
    assert solved(problem).objective == 2.0
    nodes = [{"name": name, "capacity": 1, "uplink": 1 if name in "ab" else 0} for name in "abcd"]
    public = problem.replace(network={"nodes": nodes, "links": []}, public_cost=0.75)
    answer = solved(public)
    assert (answer.objective, sum(answer.decision.public)) == (0.75, 1)
    closed = [{**node, "downlink": 0.5 if node["name"] == "d" else None} for node in nodes]
    assert solved(public.replace(network={"nodes": closed, "links": []})).status == "infeasible"


def test_stopped_early_it_holds_a_bound_and_a_feasible_map() -> None:
    """Thirty components on 120 servers, stopped at once, soon, and in time; the optimum is between bound and objective."""
    problem = mapping_problem(120, components=30, seed=5)
    proven = solved(problem)
    assert proven.status == "optimal"
    assert solved(problem, work_limit=0.0).bound <= proven.objective
    for units in (0.02, 0.1):
        answer = solved(problem, work_limit=units)
        assert answer.bound <= proven.objective + 1e-9
        assert answer.objective is None or answer.objective >= proven.objective - 1e-9
    loose = solved(problem, gap=0.1)
    assert (loose.status, loose.size["labels"] < proven.size["labels"]) == ("optimal", True)
    assert 0.9 * proven.objective - 1e-9 <= loose.bound <= proven.objective <= loose.objective <= 1.12 * loose.bound
    started = solved(problem, work_limit=0.02, start=proven.decision)
    assert started.objective == proven.objective


def test_progress_is_reported_with_rising_bounds() -> None:
    calls: list[tuple[float, float | None, float | None]] = []
    answer = solved(mapping_problem(120, components=30, seed=5), progress=lambda *each: calls.append(each))
    bounds = [bound for _, _, bound in calls if bound is not None]
    assert bounds[0] < bounds[-1] <= answer.objective
    assert bounds == sorted(bounds)


def test_the_relaxed_bound_is_a_bound_and_looser_than_the_optimum() -> None:
    ratios = []
    for seed in range(12):
        problem = mapping_problem(30, seed=seed)
        bound, answer = relaxed_bound(problem), solved(problem)
        if answer.objective is not None:
            assert bound <= answer.objective + 1e-9
            ratios.append(answer.objective / bound)
    assert np.mean(ratios) > 1.2
    with pytest.raises(UnsupportedProblemError, match="no sum over links"):
        relaxed_bound(diamond(cost="load-balance"))


def test_rows_of_ones_own_and_maps_as_starting_points() -> None:
    problem = diamond()
    formulation = formulate_mapping(problem)
    start = PathMap(nodes=("a", "c"), routes=(("a",), ("a", "c"), ("c", "d")))
    point = formulation.encode(start)
    assert formulation.decode(point) == start
    assert formulation.objective_at(point, start) == 10.0
    there_and_back = PathMap(nodes=("a", "b"), routes=(("a",), ("a", "b", "a", "b"), ("b", "d")))
    assert formulation.encode(there_and_back) is None
    formulation.program.add_row("not b", Linear.of(formulation.program["place"][:, 1]), upper=0)
    formulation.program.add_row("not d", Linear.of(formulation.program["place"][:, 3]), upper=0)
    solution = solve_formulation(formulation, start=start)
    assert (solution.objective, solution.nodes) == (10.0, ("a", "c"))


def test_loops_apart_from_a_walk_are_left_out_when_it_is_read() -> None:
    """Solvers may leave loops of links that cost nothing."""
    formulation = formulate_mapping(diamond())
    map_of_two = PathMap(nodes=("a", "b"), routes=(("a",), ("a", "b"), ("b", "d")))
    point = formulation.encode(map_of_two)
    arcs = list(zip(formulation.tables.network.source.tolist(), formulation.tables.network.target.tolist(), strict=True))
    for arc in ((0, 2), (2, 0), (2, 3), (3, 2)):
        point[formulation.program["arc"][:2, arcs.index(arc)]] = 1.0
    assert formulation.decode(point) == map_of_two


@pytest.mark.parametrize("cost", ["load-balance", "public-hops", "public-hops-links"])
def test_other_costs_are_refused_with_what_takes_them(cost: str) -> None:
    problem = diamond(cost=cost)
    for refuse in (LABELS.resolve, formulate_mapping):
        with pytest.raises(UnsupportedProblemError, match=r"use .*least-cost-map, which proves nothing"):
            refuse(problem)


def ladder(components: int, **fields: Any) -> MappingProblem:
    """From one end of a ladder to the other; servers have room for two components each."""
    steps = range(components // 2 + 1)
    names = [f"{side}{step}" for side in "ab" for step in steps]
    links = [(f"{side}{step}", f"{side}{step + 1}", cost) for side, cost in (("a", 1), ("b", 3)) for step in steps[:-1]]
    links += [(f"a{step}", f"b{step}", 2) for step in steps]
    network = {
        "nodes": [{"name": name, "capacity": 2} for name in names],
        "links": [{"source": u, "target": v, "bandwidth": 4, "cost": cost} for u, v, cost in links],
    }
    task = {
        "source": "a0",
        "delivery": f"a{steps[-1]}",
        "bandwidths": [1] * (components + 1),
        "components": [{"name": f"c{index}", "capacity": 1} for index in range(components)],
    }
    return MappingProblem(network=network, task=task, **fields)


def test_segments_keep_to_what_the_rest_of_a_map_leaves() -> None:
    """All segments of a map: put together they are the map, and each is a feasible map of its own task."""
    problem = ladder(20)
    tables = mapping_arrays(problem)
    moves = map_to_moves(tables, solved(problem, work_limit=0.2).decision)
    number = 0
    while (part := segment(tables, moves, number, 6)) is not None:
        assert [*part.before, *part.moves, *part.after] == moves
        search = label_setting.MapLabelSearch(part.tables, 1e-9, lambda: 1.0)
        search.offer(part.moves)
        assert search.moves == part.moves
        number += 1
    assert number == 6


def test_a_long_task_has_a_map_soon_that_gets_no_worse_by_segments() -> None:
    problem = ladder(24)
    tables = mapping_arrays(problem)
    search = label_setting.MapLabelSearch(tables, 1e-9, lambda: 1.0)
    search.run_briefly()
    assert search.moves is not None
    before = search.cost
    search._improve(search.moves)
    assert search.cost <= before
    assert problem.evaluate(moves_to_map(tables, search.moves)).feasible
    assert search.bound <= search.cost


def test_a_cheaper_label_with_fewer_empty_hops_left_displaces_none() -> None:
    problem = random_mapping_problem(1063, max_servers=5, max_components=4)
    assert solved(problem).objective == pytest.approx(brute_force_mapping(problem)[0]) == 9.0


@pytest.mark.parametrize(
    ("downlink", "bandwidth", "feasible"), [(7, "cumulative", False), (8, "cumulative", True), (7, "per_edge", True)]
)
def test_a_downlink_carries_all_hops_that_come_to_its_server(downlink: float, bandwidth: str, feasible: bool) -> None:
    """From a to b there is the public network alone, and from c back to b the link is too narrow."""
    nodes = [{"name": "a", "capacity": 0, "uplink": 9}, {"name": "b", "capacity": 2, "downlink": downlink}]
    network = {
        "nodes": [*nodes, {"name": "c", "capacity": 2, "uplink": 9, "downlink": 0}],
        "links": [{"source": "b", "target": "c", "cost": 1, "bandwidth": 3}],
    }
    components = [{"name": f"c{need}{at}", "capacity": need} for at, need in enumerate((1, 2, 1))]
    task = {"source": "a", "delivery": "b", "components": components, "bandwidths": [4, 3, 4, 1]}
    answer = solved(MappingProblem(network=network, task=task, public_cost=2.0, bandwidth=bandwidth))
    assert (answer.status, answer.objective) == (("optimal", 5.0) if feasible else ("infeasible", None))
