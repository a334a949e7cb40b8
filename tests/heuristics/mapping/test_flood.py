"""The compiled mapping protocol: what its methods find, prove and count; limits, public network and final choice by hand."""

from typing import Any

import numpy as np
import pytest

from edrp import _native
from edrp.check_problems.mapping.problems import brute_force_mapping
from edrp.core.errors import InvalidInstanceError
from edrp.core.methods import Options
from edrp.core.solution import Answer
from edrp.core.solve import checked
from edrp.datasets.families.mapping.path_mapping import random_mapping_problem
from edrp.datasets.families.mapping.platforms import bimodal_scenario, mapping_problem
from edrp.heuristics.mapping.map_rules import Rules
from edrp.heuristics.mapping.methods import METHODS, Flood, FloodResult
from edrp.mapping.mapping_arrays import COSTS, CostName, MappingArrays
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays

BY_NAME = {method.name: method for method in METHODS}
HEURISTICS = [name for name in BY_NAME if name != "process-map"]


def solved(problem: MappingProblem, name: str = "least-cost-map", seed: int = 0, **parameters: Any) -> Answer:
    answer = BY_NAME[name].run(problem, Options(seed=seed, parameters=parameters))
    assert checked(problem, answer)[1] == ""
    return answer


def flooded(problem: MappingProblem, seed: int = 0, **rules: Any) -> FloodResult:
    tables = mapping_arrays(problem)
    return build_flood(tables, **rules).run(tables.task, seed)


def build_flood(tables: MappingArrays, jitter: float = 0.0, **rules: Any) -> Flood:
    read = {"cost": tables.cost, "max_empty_hops": tables.max_empty_hops, "total_hops": tables.total_hops}
    read |= {"cumulative": tables.cumulative, "public_cost": tables.public_cost, **rules}
    return Flood(tables.network, Rules(**read), jitter=jitter)


def server(name: str, capacity: float = 9, **fields: Any) -> dict[str, Any]:
    return {"name": name, "capacity": capacity, **fields}


def link(ends: str, cost: float = 1, bandwidth: float = 10, **fields: Any) -> dict[str, Any]:
    return {"source": ends[0], "target": ends[1], "cost": cost, "bandwidth": bandwidth, **fields}


def build_problem(
    nodes: list[dict[str, Any]],
    links: list[dict[str, Any]],
    ends: str,
    needs: list[float],
    bandwidths: list[float] | None = None,
    **fields: Any,
) -> MappingProblem:
    components = [{"name": f"c{index}", "capacity": need} for index, need in enumerate(needs)]
    rates = bandwidths or [1.0] * (len(needs) + 1)
    task = {"source": ends[0], "delivery": ends[1], "components": components, "bandwidths": rates}
    return MappingProblem(network={"nodes": nodes, "links": links}, task=task, **fields)


def bimodal_problem(index: int, cost: str = "public-hops", **fields: Any) -> MappingProblem:
    """Five components of a task on forty servers with both networks."""
    scenario = bimodal_scenario(servers=40, links=39, tasks=index + 1, seed=1)
    task = scenario.path_task(index)
    hosted = {service for server in scenario.network.nodes for service in server.services or ()}
    components = [component for component in task.components if component.service in hosted][:5]
    return MappingProblem(network=scenario.network, task=task.replace(components=components), cost=cost, **fields)


@pytest.mark.parametrize("cost", COSTS)
def test_the_enumeration_proves_what_brute_force_finds(cost: CostName) -> None:
    """Random problems of every kind, some with the public network, one in three without a map."""
    for seed in range(40):
        problem = random_mapping_problem(seed, max_servers=5, max_components=4, cost=cost)
        answer, (best, _) = solved(problem, "process-map"), brute_force_mapping(problem)
        assert answer.status == ("infeasible" if best is None else "optimal"), seed
        if best is not None:
            assert answer.objective == answer.bound == pytest.approx(best, abs=1e-9), seed


@pytest.mark.parametrize("name", HEURISTICS)
def test_answers_are_feasible_and_never_better_than_the_enumeration(name: str) -> None:
    """Small networks in all readings of the limits; where the enumeration proves that there is no map, none is found."""
    mapped = proven = 0
    for seed in range(24):
        readings = {"empty_hops": ("per_edge", "total")[seed % 2], "bandwidth": ("cumulative", "per_edge")[seed // 2 % 2]}
        problem = mapping_problem(6, components=3, seed=seed, max_empty_hops=1, **readings)
        best, answer = solved(problem, "process-map"), solved(problem, name, seed=seed)
        assert best.status in ("optimal", "infeasible")
        proven += best.status == "optimal"
        if answer.status == "feasible":
            mapped += 1
            assert best.objective <= answer.objective + 1e-9
        else:
            assert answer.notes == ("no map of the whole task reached its delivery",)
    assert 0.3 * proven <= mapped <= proven < 24


@pytest.mark.parametrize("rules", [{}, {"jitter": 1.0}, {"pruning": "annealed"}, {"pruning": "random"}])
def test_every_map_is_acknowledged_once_and_the_specification_goes_once_from_server_to_server(rules: dict[str, Any]) -> None:
    for problem in (mapping_problem(20, components=4, seed=3), bimodal_problem(2)):
        messages = flooded(problem, **rules).messages
        assert messages["map"] == messages["ack"] > 5
        assert messages["spec"] - messages["ask"] <= min(messages["map"], 1 + len(problem.network.nodes) ** 2)
        assert messages["ask"] < len(problem.network.nodes)


def test_any_whole_number_is_a_seed() -> None:
    for seed in (-1, 2**63, 2**70 + 3):
        assert solved(mapping_problem(12, components=3, seed=3), "annealed-least-cost-map", seed).status == "feasible"


@pytest.mark.parametrize(("seed", "counter"), [(0, 0), (1, 2), (7, 2**40), (2**63 - 1, 2**62)])
def test_draws_are_those_of_splitmix64(seed: int, counter: int) -> None:
    state = seed * 0xD1342543DE82EF95 + (counter + 1) * 0x9E3779B97F4A7C15
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        state = ((state ^ (state % 2**64 >> shift)) * factor) % 2**64
    assert _native.draw_by_counter(seed, counter) == (state >> 11) / 2**53


def test_maps_of_another_layout_are_refused() -> None:
    with pytest.raises(TypeError, match="argument 1: an array of parent, node, arc"):
        _native.mark_map_ancestors(np.zeros(3, [("parent", np.int32)]), np.zeros(1, np.int32), np.zeros(3, np.bool_))


def test_links_that_pass_messages_in_order_leave_nobody_without_the_specification() -> None:
    assert flooded(mapping_problem(20, components=4, seed=3)).messages["ask"] == 0


@pytest.mark.parametrize(
    "rules", [{"jitter": 0.5}, {"pruning": "annealed"}, {"pruning": "random", "neighbours": 2, "max_messages": 2_000}]
)
def test_the_same_seed_gives_the_same_messages_and_another_one_others(rules: dict[str, Any]) -> None:
    problem = mapping_problem(20, components=4, seed=3)
    results = {seed: flooded(problem, seed, **rules) for seed in range(6)}
    again = flooded(problem, 3, **rules)
    assert (again[:], again.messages) == (results[3][:], results[3].messages)
    assert len({(result.messages["spec"], tuple(result.facts)) for result in results.values()}) > 1


def test_a_flood_serves_one_task_after_another_and_reads_what_is_free_again() -> None:
    """Arrays that one task leaves behind do not affect the next, larger or smaller."""
    problems = [mapping_problem(20, components=count, seed=3) for count in (6, 2, 4)]
    tables = [mapping_arrays(problem) for problem in problems]
    flood = build_flood(tables[0])
    for problem, arrays in zip(problems, tables, strict=True):
        fresh = flooded(problem)
        shared = flood.run(arrays.task)
        assert (shared[:], shared.messages) == (fresh[:], fresh.messages)
    before = flood.run(tables[0].task)
    host = before[0].nodes[0]
    flood.network.capacity[host] = 0.0
    after = flood.run(tables[0].task)
    assert all(host not in decision.nodes for decision in after)
    assert host in before[0].nodes, "a result is not changed by later runs"


def test_no_message_is_sent_beyond_the_cap_and_then_nothing_is_proven() -> None:
    problem = mapping_problem(6, components=3, seed=1)
    whole = solved(problem, "process-map")
    assert whole.status == "optimal"
    sent = whole.size["map_messages"]
    exactly = solved(problem, "process-map", max_messages=sent)
    assert (exactly.status, exactly.stopped_because) == ("optimal", "finished")
    capped = solved(problem, "process-map", max_messages=sent - 1)
    assert capped.size["map_messages"] == capped.size["ack_messages"] == sent - 1
    assert (capped.stopped_because, capped.bound) == ("iteration_limit", None)
    assert capped.notes[0] == f"no map was sent after the first {sent - 1}"
    nothing = solved(problem, "process-map", max_messages=1)
    assert (nothing.status, nothing.size["complete_maps"]) == ("none", 0)


def test_servers_passed_count_against_the_hop_or_against_all_hops() -> None:
    """A line a-b-c-d-e, whose ends and middle alone can host: b and d are passed, one on each hop."""
    nodes = [server(name, 0) for name in "abcde"]
    nodes[2] = server("c", 1)
    line = [link(ends) for ends in ("ab", "bc", "cd", "de")]
    for limit, reading, feasible in ((1, "per_edge", True), (0, "per_edge", False), (2, "total", True), (1, "total", False)):
        problem = build_problem(nodes, line, "ae", [1], max_empty_hops=limit, empty_hops=reading)
        for method in ("process-map", "least-cost-map"):
            answer = solved(problem, method)
            assert (answer.decision is not None) == feasible, (limit, reading, method)
            if feasible:
                assert answer.decision.routes == (("a", "b", "c"), ("c", "d", "e"))


def test_a_link_that_is_used_twice_needs_the_bandwidth_of_both_hops() -> None:
    """From a over b and back to a; each way passes each direction once, then a third time over a-b."""
    nodes = [server("a", 1), server("b", 2)]
    needs, rates = [2.0, 1.0], [4.0, 3.0, 2.0]
    for bandwidth, reading, feasible in ((6, "cumulative", True), (5, "cumulative", False), (5, "per_edge", True)):
        problem = build_problem(nodes, [link("ab", bandwidth=bandwidth)], "ab", needs, rates, bandwidth=reading)
        assert [(decision.nodes, decision.facts.links) for decision in flooded(problem, pruning="none")][:1] == (
            [((1, 0), 3)] if feasible else []
        )


def test_cheaper_maps_that_have_used_up_their_empty_hops_hide_costlier_ones_unless_split() -> None:
    """To v over a is cheap and fast, but passes a server more, and v has to be passed too."""
    nodes = [*(server(name, 0) for name in "sav"), server("w", 1)]
    links = [link("sa", delay=0.1), link("av", delay=0.1), link("sv", 5, delay=1.0), link("vw", delay=0.1)]
    problem = build_problem(nodes, links, "sw", [1], max_empty_hops=1)
    assert solved(problem).status == "none"
    assert solved(problem, "process-map").objective == 6.0
    split = solved(problem, split_by_hops=True)
    assert (split.status, split.objective, split.decision.routes[0]) == ("feasible", 6.0, ("s", "v", "w"))


def test_the_public_network_joins_servers_that_no_link_joins() -> None:
    """The source itself may use it; no server relays what came over it; downlinks may refuse."""
    nodes = [server("a", 0, uplink=5), server("b", 1, uplink=5, downlink=5), server("c", 1)]
    problem = build_problem(nodes, [], "ac", [1, 1], [5, 4, 3], cost="public-hops")
    answer = solved(problem)
    assert (answer.decision.nodes, answer.decision.public) == (("b", "c"), (True, True, False))
    assert solved(problem.replace(task=problem.task.replace(bandwidths=(6, 4, 3)))).status == "none"
    narrow = [nodes[0], server("b", 1, uplink=5, downlink=4), nodes[2]]
    assert solved(problem.replace(network={"nodes": narrow})).status == "none"
    relay = [nodes[0], server("b", 0), server("c", 1)]
    beyond = build_problem(relay, [link("bc")], "ac", [1], [5, 1], cost="public-hops")
    assert [decision.routes for decision in flooded(beyond, pruning="none")] == [((0, 2), (2,))]


@pytest.mark.parametrize(
    ("uplink", "reading", "feasible"), [(7, "cumulative", False), (8, "cumulative", True), (7, "per_edge", True)]
)
def test_an_uplink_carries_all_hops_that_leave_its_server(uplink: float, reading: str, feasible: bool) -> None:
    """From b to c the link is too narrow, from c back to b it is not, and d is reached over the public network alone."""
    nodes = [server("b", 1, uplink=uplink), server("c", 2), server("d", 0)]
    problem = build_problem(nodes, [link("bc", bandwidth=3)], "bd", [2, 1], [4, 3, 4], cost="public-hops", bandwidth=reading)
    answer = solved(problem)
    assert (answer.decision is not None) == feasible
    if feasible:
        assert answer.decision.routes == (("b", "c"), ("c", "b"), ("b", "d"))
        assert answer.decision.public == (True, False, True)


@pytest.mark.parametrize(
    ("downlink", "reading", "feasible"), [(7, "cumulative", False), (8, "cumulative", True), (7, "per_edge", True)]
)
def test_a_downlink_carries_all_hops_that_come_to_its_server(downlink: float, reading: str, feasible: bool) -> None:
    """From a to b there is the public network alone, and from c back to b the link is too narrow."""
    nodes = [server("a", 0, uplink=9), server("b", 2, downlink=downlink), server("c", 2, uplink=9, downlink=0)]
    problem = build_problem(
        nodes, [link("bc", bandwidth=3)], "ab", [1, 2, 1], [4, 3, 4, 1], cost="public-hops", bandwidth=reading
    )
    assert {decision.nodes for decision in flooded(problem, pruning="none")} == ({(1, 2, 1)} if feasible else set())
    answer = solved(problem, "process-map")
    assert answer.status == ("optimal" if feasible else "infeasible")
    if feasible:
        assert answer.decision.public == (True, False, True, False)


@pytest.mark.parametrize("method", ["process-map", "least-cost-map"])
def test_what_fills_an_uplink_to_the_last_may_round_above_it(method: str) -> None:
    """From b to c and, back at b, on to d: 0.1 + 0.2 is more than 0.3 in binary numbers."""
    nodes = [server("b", 1, uplink=0.3), server("c", 2), server("d", 0)]
    problem = build_problem(nodes, [link("bc", bandwidth=0.15)], "bd", [2, 1], [0.2, 0.15, 0.1], cost="public-hops")
    problem = problem.replace(bandwidth="cumulative")
    assert 0.1 + 0.2 > 0.3
    assert solved(problem, method).decision.public == (True, False, True)


def test_among_maps_of_nearly_the_least_load_dedicated_hops_decide() -> None:
    """On d, reached over the public network, the load is least; on b, which links reach, it is 0.05 more, then 0.15."""
    nodes = [server("a", 0, uplink=9), server("b", 20), server("d", 40)]
    problem = build_problem(nodes, [link("ab"), link("bd")], "ad", [2.0], cost="load-balance", max_empty_hops=0)
    assert solved(problem).decision.nodes == ("b",)
    assert solved(problem, "process-map").decision.nodes == ("d",), "the objective is the load alone"
    heavier = problem.replace(task=problem.task.replace(components=({"name": "c", "capacity": 6.0},)))
    assert solved(heavier).decision.nodes == ("d",), "0.15 more is no tie"


def test_a_task_without_components_is_a_way_from_its_source_to_its_delivery() -> None:
    nodes, links = [server(name, 0) for name in "abc"], [link("ab"), link("bc")]
    assert solved(build_problem(nodes, links, "ac", [])).decision.routes == (("a", "b", "c"),)
    assert solved(build_problem(nodes, links, "aa", [])).decision.routes == (("a",),)
    assert solved(build_problem(nodes, links, "ac", [], max_empty_hops=0), "process-map").status == "infeasible"


def test_parameters_that_cannot_be_are_refused_with_what_would_be_right() -> None:
    problem = mapping_problem(6, components=2, seed=0)
    with pytest.raises(InvalidInstanceError, match="jitter: must be at most 1"):
        solved(problem, jitter=2)
    with pytest.raises(InvalidInstanceError, match="neighbours: must be at least 1"):
        solved(problem, "random-neighbor", neighbours=0)
    with pytest.raises(InvalidInstanceError, match="cooling: must be at least 0"):
        solved(problem, "annealed-least-cost-map", cooling=-1)
    with pytest.raises(InvalidInstanceError) as refused:
        flooded(problem, pruning="some", max_messages=0)
    assert [fault.place for fault in refused.value.faults] == ["pruning", "max_messages"]
    with pytest.raises(InvalidInstanceError, match="jitter: must be between 0 and 1"):
        flooded(problem, jitter=-0.5)
