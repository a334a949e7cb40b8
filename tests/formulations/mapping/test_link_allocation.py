"""Links shared among flows: the program against brute force, the greedy rule and its compiled kernel, bad input."""

from collections import deque
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.check_problems.mapping.problems import brute_force_link_allocation
from edrp.cli.display.mapping import allocation_parts
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.core.methods import Options, run_method
from edrp.core.program import Linear
from edrp.datasets.families.mapping.link_allocation import random_link_allocation_problem
from edrp.formulations.mapping import route_selection
from edrp.formulations.mapping.link_allocation import formulate_link_allocation
from edrp.formulations.mapping.route_selection import RouteSelection, route_choices
from edrp.formulations.methods import solve_formulation
from edrp.heuristics.mapping.reallocation import GreedyReallocation, reallocate
from edrp.mapping.link_allocation import FlowAllocation, LinkAllocationProblem
from edrp.mapping.mapping_arrays import FlowArrays, NetworkArrays, network_arrays
from edrp.mapping.server_network import ServerNetwork

SQUARE = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("a", "c")]
"""Four servers in a ring, and a link across."""


def square(flows: list[dict[str, Any]], bandwidth: float = 5.0, uplink: float = 0.0, **fields: Any) -> LinkAllocationProblem:
    """Flows between the servers of a ring with a link across; without a public network unless there is an uplink."""
    links = [{"source": u, "target": v, "bandwidth": bandwidth} for u, v in fields.pop("links", SQUARE)]
    nodes = [{"name": name, "capacity": 0.0, "uplink": uplink} for name in "abcde"]
    return LinkAllocationProblem(**{"network": {"nodes": nodes, "links": links}, "flows": flows, "public_share": 0.5, **fields})


def flow(name: str, ends: str, rate: float = 4.0, price: float = 1.0, route: str | None = None) -> dict[str, Any]:
    """A flow between the servers that two letters name, on a route given by its letters."""
    way = None if route is None else list(route)
    return {"name": name, "source": ends[0], "target": ends[1], "rate": rate, "price": price, "route": way}


def solved(problem: LinkAllocationProblem, backend: str = "highs") -> Any:
    return solve_formulation(formulate_link_allocation(problem), backend)


def greedy(problem: LinkAllocationProblem) -> Any:
    return GreedyReallocation().run(problem, Options())


def routes(decision: tuple[FlowAllocation, ...]) -> list[str | None]:
    """Servers of each flow's route in a row; None for the public network."""
    return [None if allocation.route is None else "".join(allocation.route) for allocation in decision]


def delivered(problem: LinkAllocationProblem, decision: tuple[FlowAllocation, ...]) -> list[float]:
    """Return the delivered share of each flow, in the order of the document."""
    by_flow = {allocation.flow: allocation for allocation in decision}
    shares = [by_flow[flow.name] for flow in problem.flows]
    return [
        flow.rate if got.route else problem.public_share * got.public_rate
        for flow, got in zip(problem.flows, shares, strict=True)
    ]


def test_the_program_is_brute_force_on_80_random_problems() -> None:
    """Optimum and infeasibility; the greedy rule is never better, and the optimum for most."""
    infeasible, gaps = 0, []
    for seed in range(40, 120):
        problem = random_link_allocation_problem(seed)
        best, solution, answer = brute_force_link_allocation(problem), solved(problem), greedy(problem)
        if best is None:
            infeasible += 1
            assert solution.status == "infeasible", seed
            assert answer.decision is None, seed
            continue
        assert solution.status == "optimal", seed
        assert solution.objective == pytest.approx(best, rel=1e-8, abs=1e-8), seed
        if answer.decision is not None:
            assert answer.objective >= best - 1e-9, seed
            gaps.append(answer.objective - best)
    assert 1 < infeasible < 20
    assert len(gaps) >= 78 - infeasible
    assert np.mean(np.array(gaps) < 1e-9) > 0.8


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_no_flow_ends_worse_than_it_began(seed: int) -> None:
    """The greedy decision keeps to all limits as long as the current one does; no flow loses what it has."""
    problem = random_link_allocation_problem(seed, servers=(3, 6), flows=(2, 9))
    before, answer = problem.current, greedy(problem)
    if not problem.evaluate(before).feasible:
        return
    assert answer.status == "feasible"
    assert problem.evaluate(answer.decision).feasible
    pairs = zip(delivered(problem, before), delivered(problem, answer.decision), strict=True)
    assert all(after >= now * (1 - 1e-12) for now, after in pairs)
    held = zip(problem.flows, answer.decision, strict=True)
    assert all(len(got.route) <= len(flow.route) for flow, got in held if flow.route is not None)


def test_priority_is_price_times_rate() -> None:
    """The direct link goes to the flow that pays most per second; the next takes two links."""
    flows = [flow("slow", "ac", rate=2.0, price=1.5), flow("fast", "ac", rate=5.0, price=1.0), flow("valuable", "ac", 3.0, 1.4)]
    assert routes(greedy(square(flows)).decision) == ["abc", "ac", "abc"]
    assert routes(greedy(square(flows, max_links=1)).decision) == [None, "ac", None]
    # Forwarding is paid by the price: 1.45 are enough for one server between for the first flow only.
    assert routes(greedy(square(flows, forwarding_price=1.45)).decision) == ["abc", "ac", None]


def test_a_route_is_released_only_for_a_shorter_one() -> None:
    """The printed rule shares out all links again: the valuable flow would take a-b, and the other one find no way any more."""
    flows = [flow("held", "ac", route="abc"), flow("valuable", "ab", price=9.0)]
    assert routes(greedy(square(flows, links=SQUARE[:2])).decision) == ["abc", None]
    # Once it moves to the direct link, what it held is free for others, those of the next servers too.
    assert routes(greedy(square(flows)).decision) == ["ac", "ab"]
    assert routes(greedy(square([flows[0], flow("next", "bc")])).decision) == ["ac", "bc"]


def test_what_breaks_a_limit_now_is_released_first() -> None:
    """A link that lost bandwidth keeps the flow of highest priority; the other one finds two links."""
    lost = [flow("first", "ac", route="ac"), flow("second", "ac", price=2.0, route="ac")]
    assert routes(greedy(square(lost)).decision) == ["abc", "ac"]
    narrow = square(lost, links=[("a", "c")])
    assert "keep: flow first has a dedicated route" in greedy(narrow).notes[0]
    assert solved(narrow).status == "infeasible"
    assert narrow.clashes() == ("keep and bandwidth: each flow alone can keep a dedicated route, but not all of them together",)
    assert narrow.replace(flows=narrow.flows[:1], max_links=1).clashes()[0].startswith("keep and bandwidth")
    wide = flow("wide", "ac", rate=6.0, route="ac")
    narrow = "keep: no route of flow wide from a to c with at most 1 link has 6 bytes/s"
    assert square([wide], max_links=1).clashes() == (narrow,)
    assert routes(greedy(square(lost, links=[("a", "c")], keep=False)).decision) == [None, "ac"]


def test_values_by_hand() -> None:
    """The optimum moves a cheap flow out of the way, which the greedy rule never does; public rates go to who pays most."""
    held = [flow("held", "ac", rate=3.0, route="ac"), flow("blocked", "ac", rate=5.0, price=0.5)]
    ring = square(held, bandwidth=3.0, uplink=1.0, links=SQUARE)
    widened = ring.replace(
        network=ring.network.replace(links=(ring.network.links[-1].replace(bandwidth=5.0), *ring.network.links[:2]))
    )
    assert routes(greedy(widened).decision) == ["ac", None]
    assert greedy(widened).objective == pytest.approx(0.5 * (5 - 0.5))
    assert routes(solved(widened).allocations) == ["abc", "ac"]
    assert solved(widened).objective == pytest.approx(0.0)
    public = square([flow("cheap", "ab"), flow("valuable", "ac", price=3.0)], uplink=5.0, links=[])
    assert [allocation.public_rate for allocation in solved(public).allocations] == pytest.approx([1.0, 4.0])
    assert [allocation.public_rate for allocation in greedy(public).decision] == pytest.approx([2.5, 2.5])
    metrics = solved(public).metrics
    assert metrics["lost_revenue"] == pytest.approx(4 * (1 + 3) - 0.5 * (1 * 1 + 4 * 3))
    assert metrics["compliance"] == pytest.approx(6.5 / 16)
    assert metrics["delivered_share"] == pytest.approx(2.5 / 8)


def test_decisions_are_points_of_the_program() -> None:
    """Written as columns and read back; a route that takes an arc beyond the limit has no columns."""
    problem = square([flow("f", "ac"), flow("g", "ac", rate=2.0)], uplink=2.0, max_links=2)
    formulation = formulate_link_allocation(problem)
    known = (FlowAllocation(flow="f", route=("a", "b", "c")), FlowAllocation(flow="g", public_rate=2.0))
    start = formulation.encode(known)
    assert start is not None
    assert formulation.decode(start) == known
    assert formulation.objective_at(start, known) == problem.evaluate(known).objective == 1.0
    assert formulation.encode((FlowAllocation(flow="f", route=("a", "b", "a", "d", "c")), known[1])) is None
    assert formulation.current == problem.current
    formulation.program.add_row("public", Linear.of(formulation.program["dedicated"]), upper=0)
    assert solve_formulation(formulation, start=known).metrics["dedicated_flows"] == 0


def test_cycles_apart_from_a_route_are_not_read_back() -> None:
    """Rows of the program allow them; they are neither part of the decision nor of what it costs."""
    links = [("a", "b"), ("b", "c"), ("c", "d"), ("b", "d"), ("b", "e")]
    problem = square([flow("f", "ae", price=9.0)], links=links, forwarding_price=1.0)
    formulation, known = formulate_link_allocation(problem), (FlowAllocation(flow="f", route=("a", "b", "e")),)
    point, network = formulation.encode(known), formulation.network
    assert point is not None
    for column, arc in zip(formulation.program["arc"], formulation.arc, strict=True):
        if (network.names[network.source[arc]], network.names[network.target[arc]]) in [("b", "c"), ("c", "d"), ("d", "b")]:
            point[column] = 1.0
    assert point[formulation.program["arc"]].sum() == 5
    assert formulation.decode(point) == known
    assert formulation.objective_at(point, known) == problem.evaluate(known).objective == 4.0


@pytest.mark.parametrize(
    ("changes", "place", "why"),
    [
        ({"source": "x"}, "flows[1].source", "is no node of the network"),
        ({"target": "a"}, "flows[1].target", "must be another server than the source"),
        ({"name": "f"}, "flows[1].name", "already the name of flows[0]"),
        ({"rate": 0.0}, "flows[1].rate", "must be above 0 bytes/s"),
        ({"price": -1.0}, "flows[1].price", "must be at least 0 money/bytes"),
        ({"route": ["a", "b"]}, "flows[1].route", "must lead from a to c"),
        ({"route": ["a"]}, "flows[1].route", "must lead from a to c"),
        ({"route": ["a", "b", "d", "c"]}, "flows[1].route", "needs a link b → d, and there is none"),
    ],
)
def test_bad_flows_are_refused_by_place(changes: dict[str, Any], place: str, why: str) -> None:
    with pytest.raises(InvalidInstanceError) as raised:
        square([flow("f", "ac"), {**flow("g", "ac"), **changes}])
    assert [(fault.place, why in fault.why) for fault in raised.value.faults] == [(place, True)]


@pytest.mark.parametrize(("field", "value"), [("max_links", 0), ("public_share", 0.0), ("forwarding_price", -1), ("flows", [])])
def test_bad_limits_are_refused_by_place(field: str, value: object) -> None:
    with pytest.raises(InvalidInstanceError) as raised:
        square(**{"flows": [flow("f", "ac")], field: value})
    assert [fault.place for fault in raised.value.faults] == [field]


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        ([], "flow f: is given nothing"),
        ([{"flow": "f"}, {"flow": "f"}], "flow f: is there twice"),
        ([{"flow": "f"}, {"flow": "g"}], "no flow of the problem: g"),
        ([{"flow": "f", "route": ["a", "d", "b", "c"]}], "needs a link d → b"),
        ([{"flow": "f", "public_rate": 5.0}], "5 on the public network against a rate of 4"),
        ([{"flow": "f", "public_rate": 3.0}], "uplink of a: 3 used of 2"),
        ([{"flow": "f", "route": ["a", "c"], "public_rate": 1.0}], "a route, and rate on the public network too"),
        ([{"flow": "f", "route": ["a", "b", "c", "d", "a", "c"]}], "max_links: flow f has 5 links against 3"),
        ([{"flow": "f", "route": ["a", "b", "c"]}], "flow f would pay 2 of its price 1"),
        ([{"flow": "f", "route": ["a", "c"]}], "bandwidth of a → c: 4 used of 3"),
    ],
)
def test_the_evaluator_names_what_is_broken(decision: list[dict[str, Any]], why: str) -> None:
    problem = square([flow("f", "ac")], bandwidth=3.0, uplink=2.0, max_links=3, forwarding_price=2.0)
    broken = problem.evaluate(tuple(FlowAllocation(**fields) for fields in decision)).broken
    assert any(why in fault for fault in broken), broken


def plain_reallocation(
    network: NetworkArrays, flows: FlowArrays, held: list[list[int]], max_links: int, price: float
) -> tuple[list[list[int]], dict[tuple[int, int], float], int]:
    """The rule in plain words: routes as server lists, the bandwidth that is free then, how many flows changed."""
    ends = list(zip(network.source.tolist(), network.target.tolist(), strict=True))
    free = dict(zip(ends, network.bandwidth.tolist(), strict=True))
    ways, changed = [list(way) for way in held], 0

    def shortest(source: int, target: int, rate: float, limit: float) -> list[int] | None:
        waiting = deque([[source]])
        seen = {source}
        while waiting:
            way = waiting.popleft()
            for u, v in sorted(free):
                if u == way[-1] and v not in seen and len(way) <= limit and free[u, v] >= rate * (1 - 1e-9):
                    if v == target:
                        return [*way, v]
                    seen.add(v)
                    waiting.append([*way, v])
        return None

    for server in range(len(network.names)):
        mine = [f for f in range(flows.rate.size) if flows.source[f] == server and flows.rate[f] > 0]
        mine = sorted((f for f in mine if flows.target[f] != server), key=lambda f: -flows.price[f] * flows.rate[f])
        for direct in (True, False):
            for f in mine:
                afford = flows.price[f] * (1 + 1e-9) // price + 1 if price else max_links
                shorter = len(ways[f]) - 2 if ways[f] else max_links
                limit = min(shorter, 1 if direct else min(max_links, afford))
                route = shortest(server, int(flows.target[f]), float(flows.rate[f]), limit)
                if route:
                    for arc in pairwise(route):
                        free[arc] -= float(flows.rate[f])
                    for arc in pairwise(ways[f]):
                        free[arc] += float(flows.rate[f])
                    ways[f], changed = route, changed + 1
    return ways, free, changed


def drawn_state(seed: int) -> tuple[NetworkArrays, FlowArrays, list[list[int]]]:
    """A random network, flows of which some do not run or stay on a server, and routes from an earlier allocation."""
    random = np.random.default_rng(seed)
    servers, count = int(random.integers(2, 9)), int(random.integers(1, 25))
    names = [f"n{index}" for index in range(servers)]
    pairs = [(u, v) for u in names for v in names if u != v and random.random() < 0.4]
    links = [{"source": u, "target": v, "bandwidth": float(random.integers(0, 12))} for u, v in pairs]
    document = {"nodes": [{"name": name, "capacity": 0} for name in names], "links": links, "symmetric": False}
    network = network_arrays(ServerNetwork(**document))
    flows = FlowArrays(
        source=random.integers(0, servers, count).astype(np.int32),
        target=random.integers(0, servers, count).astype(np.int32),
        rate=random.integers(0, 5, count) * float(random.choice([1.0, 0.7])),
        price=random.integers(1, 4, count).astype(float),
        links=np.zeros(count, np.int32),
        arcs=np.zeros((count, 5), np.int32),
    )
    reallocate(network, flows, int(random.integers(1, 6)))
    ended = random.random(count) < 0.4
    for index in np.flatnonzero(ended):
        network.bandwidth[flows.route(index)] += flows.rate[index]
        flows.links[index] = 0
    flows.rate[ended & (random.random(count) < 0.5)] = 0.0
    return network, flows, [drawn_way(network, flows, index) for index in range(count)]


def drawn_way(network: NetworkArrays, flows: FlowArrays, index: int) -> list[int]:
    """Servers on the route of a flow by number; none where it has no route."""
    arcs = flows.route(index)
    return [int(network.source[arcs[0]]), *network.target[arcs].tolist()] if arcs.size else []


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_the_kernel_is_the_plain_rule(seed: int, max_links: int, price: float) -> None:
    """Same routes, same free bandwidth, same number of changes; a second run finds nothing to undo."""
    network, flows, held = drawn_state(seed)
    ways, free, changed = plain_reallocation(network, flows, held, max_links, price)
    assert reallocate(network, flows, max_links, price) == changed
    assert [drawn_way(network, flows, index) for index in range(flows.rate.size)] == ways
    assert network.bandwidth.tolist() == pytest.approx(list(free.values()), abs=1e-12)
    assert network.bandwidth.min(initial=0.0) >= -1e-8


def test_routes_need_room_in_the_table() -> None:
    network, flows, _ = drawn_state(0)
    with pytest.raises(ValueError, match="max_links must be no more"):
        reallocate(network, flows, 6)


def test_tables_show_what_changes_first() -> None:
    problem = square([flow("same", "ab", route="ab"), flow("moved", "ac"), flow("left", "ac")], uplink=4.0, max_links=1)
    table, metrics = allocation_parts(problem, solved(problem))
    assert [(name, now, before, through) for name, now, before, _, through in table.rows] == [
        ("moved", "a → c", "public network", "100 %"),
        ("same", "a → b", "the same", "100 %"),
        ("left", "public network", "the same", "50 %"),
    ]
    assert "compliance" in [row[0] for row in metrics.rows]


def test_route_selection_agrees_with_the_program_over_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its tree, and by HiGHS where the tree is given no work; infeasible problems are among them."""
    statuses = set()
    for seed in range(24):
        problem = random_link_allocation_problem(seed, servers=(3, 6), flows=(3, 9))
        monkeypatch.setattr(route_selection, "TREE_WORK", 0.0 if seed % 3 == 0 else 0.1)
        answer, reference = run_method(RouteSelection(), problem, Options()), solved(problem)
        assert answer.status == reference.status, seed
        statuses.add(answer.status)
        if answer.decision is not None:
            evaluation = problem.evaluate(answer.decision)
            assert evaluation.feasible, (seed, evaluation.broken)
            assert answer.objective == pytest.approx(evaluation.objective)
            assert evaluation.objective == pytest.approx(reference.objective)
            assert answer.bound == pytest.approx(evaluation.objective, abs=1e-6)
    assert statuses == {"optimal", "infeasible"}


def test_routes_that_others_are_as_good_as_are_left_out() -> None:
    """A direct link for all flows decides each; where it is scarce, the way round remains, and passing servers may cost."""
    flows = [flow("one", "ab"), flow("two", "ab")]
    wide = route_choices(square(flows, bandwidth=9.0))
    assert wide is not None
    assert wide.decided == [True, True]
    assert [len(own) for own in wide.routes] == [1, 1]
    narrow = route_choices(square(flows))
    assert narrow is not None
    assert not any(narrow.decided)
    assert [len(own) for own in narrow.routes] == [3, 3]  # direct, over c, and over d and c


def test_flows_of_many_routes_are_left_to_the_program_over_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route_selection, "MAX_ROUTES", 2)
    problem = square([flow("one", "ab"), flow("two", "ab")])
    with pytest.raises(UnsupportedProblemError, match="use highs"):
        edrp.solve(problem, "route-selection")
    assert edrp.solve(problem).method == "auto: highs (paths program)"


@pytest.mark.parametrize("method", ["auto", "highs", "scipy", "scip", "route-selection"])
@pytest.mark.parametrize("uplink", [0.007, 5e-05, 0.0])
def test_a_share_far_below_a_tolerance_is_no_reward_beside_a_route(method, uplink):
    problem = square([flow("f", "ab", 549924000.0, 8.0), flow("g", "ab", 185196e6, 8.0)], 185196e6, uplink, links=[("a", "b")])
    solution = edrp.solve(problem, method)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(549924000.0 * 8.0 - 0.5 * 8.0 * uplink, rel=1e-9)
