"""Links described by zones, routes over physical links, and least numbers of replicas: every method against brute force."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest

import edrp
from edrp.certificates.checker.network import read_pairs
from edrp.core.errors import InvalidInstanceError, ProblemTooLargeError, UnsupportedProblemError
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.formulations.methods import formulate
from edrp.formulations.placement.compact import estimated_columns
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import LinkArrays
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.network import LinkClass, Network, Node
from edrp.replanning.measurements import with_measurements

ZONED = {
    "nodes": [
        {"name": "a1", "zone": "a"},
        {"name": "a2", "zone": "a"},
        {"name": "b1", "zone": "b"},
        {"name": "b2", "zone": "b"},
        {"name": "stray1"},
        {"name": "stray2"},
    ],
    "links": [{"source": "a1", "target": "b1", "delay": 0.5, "cost": 9.0, "availability": 0.5}],
    "within_zone": {"delay": 0.1, "cost": 1.0, "availability": 0.99},
    "between_zones": {"delay": 0.3, "cost": 2.0, "availability": 0.9},
}


def with_zones(seed: int) -> EdrpProblem:
    """A random problem whose links are mostly described by zones, and whose operators need up to all of their replicas."""
    problem, random = random_problem(seed, operators=(2, 3), nodes=(3, 3)), np.random.default_rng([seed, 77])
    network = problem.network
    nodes = tuple(node.replace(zone=[None, "left", "right"][int(random.integers(3))]) for node in network.nodes)
    classes = {
        name: LinkClass(delay=float(random.uniform(0, 0.1)), cost=float(random.uniform(0, 0.01)), availability=0.999)
        for name in ("within_zone", "between_zones")
        if name == "between_zones" or any(node.zone for node in nodes)
    }
    kept = tuple(link for link in network.links if random.random() < 0.3)
    operators = tuple(
        operator.replace(min_replicas=int(random.integers(1, operator.max_replicas + 1)))
        for operator in problem.application.operators
    )
    return problem.replace(
        application=problem.application.replace(operators=operators), network=network.replace(nodes=nodes, links=kept, **classes)
    )


def written_out(problem: EdrpProblem) -> EdrpProblem:
    """The same problem with every link listed."""
    network = problem.network
    names = [node.name for node in network.nodes]
    links = [
        {"source": u, "target": v, **network.link(u, v).model_dump(exclude={"source", "target"})}
        for u, v in product(names, names)
        if u != v
    ]
    listed = network.replace(links=tuple(links), symmetric=False, routed=False, within_zone=None, between_zones=None)
    return problem.replace(network=listed)


def one_stream(network: Network) -> EdrpProblem:
    application = {"operators": [{"name": "x"}, {"name": "y"}], "streams": [{"source": "x", "target": "y"}]}
    return EdrpProblem(application=application, network=network, weights={"cost": 1.0}, limits={"cost": 1.0})


def test_listed_links_come_first_then_what_holds_for_the_zones() -> None:
    network = Network(**ZONED)
    assert (network.delay("a1", "b1"), network.delay("b1", "a1")) == (0.5, 0.5)
    assert network.delay("a1", "a2") == 0.1
    assert network.delay("a2", "b1") == 0.3
    assert network.delay("stray1", "stray2") == 0.3  # nodes without a zone share none
    assert network.delay("a1", "a1") == network.link_cost("a1", "a1") == 0.0
    assert (network.link_cost("a1", "a2"), network.link_cost("a1", "b2"), network.link_cost("b1", "a1")) == (1.0, 2.0, 9.0)


def test_without_a_class_pairs_have_no_link() -> None:
    network = Network(**{**ZONED, "between_zones": None})
    assert network.link("a2", "b1") is None
    assert network.delay("a2", "b1") == float("inf")
    with pytest.raises(InvalidInstanceError, match=r"no link joins a1 with b2, stray1, stray2; .* but stream x → y may need"):
        one_stream(network)


def test_links_of_one_zone_need_zones() -> None:
    with pytest.raises(InvalidInstanceError, match=r"within_zone: joins nodes of one zone, but no node has a zone"):
        Network(nodes=[{"name": "a"}, {"name": "b"}], within_zone={"delay": 0.1})


def test_pairs_of_replicas_are_counted_as_if_every_link_were_listed() -> None:
    network = Network(**ZONED)
    names = [node.name for node in network.nodes]
    random = np.random.default_rng(3)
    for _ in range(50):
        sources, targets = (
            Counter({name: int(n) for name, n in zip(names, random.integers(0, 4, len(names)), strict=True) if n})
            for _ in range(2)
        )
        found: Counter[float] = Counter()
        for link, pairs in network.links_between(sources, targets):
            found[link.delay] += pairs
        wanted: Counter[float] = Counter()
        for u, v in product(sources, targets):
            if u != v:
                wanted[network.delay(u, v)] += sources[u] * targets[v]
        assert found == wanted


@pytest.mark.parametrize("seed", range(4))
def test_compiled_tables_and_evaluation_are_those_of_listed_links(seed: int) -> None:
    problem = with_zones(seed)
    other = written_out(problem)
    tables, listed = compile_problem(problem), compile_problem(other)
    for name in ("delay", "link_cost", "link_availability"):
        np.testing.assert_array_equal(getattr(tables, name), getattr(listed, name))
    random = np.random.default_rng(seed)
    drawn = {
        operator.name: random.choice(operator.candidates or list(problem.network.by_name), operator.max_replicas).tolist()
        for operator in problem.application.operators
    }
    a, b = problem.evaluate(Deployment(drawn)), other.evaluate(Deployment(drawn))
    assert a.metrics == pytest.approx(b.metrics, rel=1e-12)
    assert len(a.broken) == len(b.broken)


def test_what_is_read_without_tables_is_what_the_tables_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes of a zone tell what all of it would, unless links are listed; blocks are as small as here on large networks."""
    monkeypatch.setattr("edrp.placement.compiled.BLOCK", 8)
    random = np.random.default_rng(0)
    for seed in range(60):
        network = with_zones(seed).network
        zones = [None, "left"] if network.within_zone else [None, None]
        added = tuple(Node(name=f"more{u}", zone=zones[u % 2]) for u in range(int(random.integers(4))))
        network = network.replace(nodes=(*network.nodes, *added))
        links = LinkArrays(network, tuple(random.permutation(list(network.by_name)).tolist()), [None, 2.0][seed % 2])
        sources = random.permutation(len(links.nodes))[: 1 + seed % 5]
        read = links.longest_delay, links.highest_cost, links.slowest_from(sources).tolist()
        assert read == (links.delay.max(), links.cost.max(), links.delay[sources].max(axis=0).tolist())


def test_greedy_places_on_sixteen_thousand_nodes_in_zones_without_tables_over_their_pairs() -> None:
    problem = copies(3, 16_384)
    compiled = compile_problem(problem)
    with pytest.raises(ProblemTooLargeError, match=r"tables over the pairs of 16384 nodes need 6\.0 GiB"):
        _ = compiled.delay
    for rule in ("greedy", "first-fit", "even"):
        solution = edrp.solve(problem, rule)
        assert solution.status == "feasible", rule
    with pytest.raises(ProblemTooLargeError, match=r"need 10\.0 GiB.*; narrow the operators' candidates, or use greedy"):
        edrp.solve(problem, "annealing", work_limit=1.0)


WIRED = {
    "nodes": [{"name": name} for name in ("gw", "fog", "dc1", "dc2")],
    "links": [
        {"source": "gw", "target": "fog", "delay": 0.125, "bandwidth": 4e6, "cost": 1.0, "availability": 0.5},
        {"source": "fog", "target": "dc1", "delay": 0.25, "bandwidth": 8e6, "cost": 2.0, "availability": 0.5},
        {"source": "dc1", "target": "dc2", "delay": 0.5},
        {"source": "gw", "target": "dc1", "delay": 1.0},
    ],
    "routed": True,
}
"""Physical links, of which the last one is slower than the way around it."""


def test_routes_add_delays_and_costs_and_take_the_narrowest_link() -> None:
    network = Network(**WIRED)
    assert network.route("gw", "dc1") == ("gw", "fog", "dc1")
    assert network.link("gw", "dc1") == LinkClass(delay=0.375, bandwidth=4e6, cost=3.0, availability=0.25)
    assert network.route("dc2", "gw") == ("dc2", "dc1", "fog", "gw")
    assert (network.delay("dc2", "gw"), network.link_cost("dc2", "gw"), network.delay("gw", "gw")) == (0.875, 3.0, 0.0)
    assert network.link("dc1", "dc2").bandwidth is None
    one_way = network.replace(symmetric=False)
    assert (one_way.route("gw", "dc2"), one_way.route("dc2", "gw"), one_way.delay("dc2", "gw")) == (
        ("gw", "fog", "dc1", "dc2"),
        (),
        float("inf"),
    )
    assert network.to_graph()["dc2"]["gw"]["delay"] == 0.875
    assert network.replace(routed=False).delay("gw", "dc1") == 1.0


@pytest.mark.parametrize(
    ("fields", "through"),
    [
        (({"cost": 2.0}, {"cost": 1.0, "bandwidth": 1.0}), "y"),
        (({"bandwidth": 1.0}, {"bandwidth": 2.0}), "y"),
        (({}, {}), "x"),
    ],
)
def test_of_equal_delays_the_cheapest_route_is_taken_then_the_widest_then_the_first_node(fields, through) -> None:
    """Sums that differ by their rounding alone are equal: 0.1 + 0.2 and 0.15 + 0.15."""
    delays = {"x": (0.1, 0.2), "y": (0.15, 0.15)}
    links = [
        {"source": source, "target": target, "delay": delay, **fields[name == "y"]}
        for name in "xy"
        for (source, target), delay in zip((("a", name), (name, "b")), delays[name], strict=True)
    ]
    network = Network(nodes=[{"name": name} for name in "axyb"], links=links, routed=True)
    assert network.route("a", "b") == ("a", through, "b")


def routed_network(random: np.random.Generator, *, joined: bool = False) -> Network:
    """A random network of few different delays, prices and bandwidths, so that many routes are equally fast."""
    names = [f"n{u}" for u in range(int(random.integers(4, 9)))]
    pairs = {tuple(random.permutation(names)[:2].tolist()) for _ in range(2 * len(names))}
    pairs = {pair for pair in pairs if pair[::-1] not in pairs or pair < pair[::-1]}
    pairs |= {pair for pair in pairwise(names) if pair[::-1] not in pairs} if joined else set()
    links = [
        {
            "source": u,
            "target": v,
            "delay": float(random.choice([0.0, 0.1, 0.2, 0.3])),
            "cost": float(random.choice([0.0, 0.1])),
            "bandwidth": [None, 1e6, 2e6][int(random.integers(3))],
            "availability": float(random.choice([1.0, 0.99])),
        }
        for u, v in sorted(pairs)
    ]
    nodes = [{"name": name} for name in names]
    return Network(nodes=nodes, links=links, symmetric=joined or bool(random.integers(2)), routed=True)


@pytest.mark.parametrize("seed", range(40))
def test_evaluator_arrays_and_checker_take_the_same_routes(seed: int) -> None:
    random = np.random.default_rng([seed, 5])
    network = routed_network(random)
    names = random.permutation(list(network.by_name)).tolist()[: 3 + seed % 3]
    tables = LinkArrays(network, tuple(names))
    checked = read_pairs({"network": network.model_dump()})
    graph = nx.DiGraph([(*ends, {"delay": link.delay}) for ends, link in network._links.items()])
    graph.add_nodes_from(network.by_name)
    shortest = dict(nx.all_pairs_dijkstra_path_length(graph, weight="delay"))
    for (i, u), (j, v) in product(enumerate(names), repeat=2):
        link, path = network.link(u, v), network.route(u, v)
        assert tables.delay[i, j] == network.delay(u, v) == pytest.approx(shortest[u].get(v, np.inf), abs=1e-12)
        assert tables.cost[i, j] == network.link_cost(u, v)
        assert (u == v) or ((u, v) in checked) == (link is not None) == (len(path) > 1)
        if link is not None:
            assert tables.availability[i, j] == link.availability
            hops = [network._links[hop] for hop in pairwise(path)]
            assert link.delay == pytest.approx(sum(hop.delay for hop in hops), abs=1e-12)
            assert link.cost == pytest.approx(sum(hop.cost for hop in hops), abs=1e-12)
            assert link.availability == pytest.approx(np.prod([hop.availability for hop in hops]), rel=1e-12)
            assert (link.bandwidth or np.inf) == min(hop.bandwidth or np.inf for hop in hops)
            route = checked[u, v]
            assert all(abs(route[name] - Fraction(getattr(link, name))) < 1e-12 for name in ("delay", "cost", "availability"))


@pytest.mark.parametrize("kind", ["edrp", "latency-aware", "rescale"])
def test_routed_problems_are_solved_as_if_every_route_were_listed(kind: str) -> None:
    random = np.random.default_rng(1)
    operators = [{"name": "read", "candidates": ["n0", "n1"]}, {"name": "work"}, {"name": "write", "candidates": ["n3"]}]
    streams = [{"source": "read", "target": "work", "rate": 5.0}, {"source": "work", "target": "write", "rate": 5.0}]
    fields = {"application": {"operators": operators, "streams": streams}, "network": routed_network(random, joined=True)}
    goals = {"weights": {"response_time": 0.5, "cost": 0.5}, "limits": {"response_time": 2.0, "cost": 5.0}}
    if kind == "rescale":
        problem = edrp.RescaleProblem(**{**fields, "network": fields["network"].model_dump()}, **goals)
    else:
        problem = edrp.LatencyAwareProblem(**fields) if kind == "latency-aware" else EdrpProblem(**fields, **goals)
    solution, listed = edrp.solve(problem), edrp.solve(written_out(problem))
    assert solution.status == listed.status == "optimal"
    assert solution.objective == pytest.approx(listed.objective, rel=1e-9)
    if kind != "rescale":
        assert edrp.solve(problem, "highs", certify=True).proof == "checked certificate"


def test_pairs_without_a_route_are_all_named() -> None:
    links = [{"source": "a", "target": "b", "delay": 1.0}, {"source": "c", "target": "d", "delay": 1.0}]
    network = Network(nodes=[{"name": name} for name in "abcd"], links=links, routed=True)
    with pytest.raises(InvalidInstanceError, match=r"no route joins a, b with c, d, but stream x → y may need one; add links or"):
        one_stream(network)


def test_zones_describe_no_links_of_a_routed_network() -> None:
    with pytest.raises(InvalidInstanceError, match=r"between_zones: describes pairs of nodes, but with `routed` only"):
        Network(**WIRED, between_zones={"delay": 1.0})


def test_measured_delays_of_pairs_stand_above_routes() -> None:
    """Every other pair keeps the route that it had."""
    operators = [{"name": "read", "candidates": ["gw"]}, {"name": "write", "candidates": ["dc2"]}]
    application = {"operators": operators, "streams": [{"source": "read", "target": "write", "rate": 1.0}]}
    problem = edrp.LatencyAwareProblem(application=application, network=WIRED)
    now = with_measurements(problem, delays={("gw", "dc2"): 0.75}).network
    assert (now.delay("gw", "dc2"), now.delay("fog", "dc2"), now.link("dc2", "gw").cost) == (0.75, 0.75, 3.0)
    around = with_measurements(problem, vanished=["fog"]).network
    assert around.route("gw", "dc2") == ("gw", "dc1", "dc2")


def copies(replicas: int, hosts: int, **operator: object) -> EdrpProblem:
    """Two operators of exactly that many replicas each on equal hosts in two racks."""
    fixed = {"min_replicas": replicas, "max_replicas": replicas, "cost": 1.0, **operator}
    return EdrpProblem(
        application={
            "operators": [{"name": "reader", "external_rate": 10.0, **fixed}, {"name": "writer", **fixed}],
            "streams": [{"source": "reader", "target": "writer"}],
        },
        network={
            "nodes": [{"name": f"host{u}", "zone": f"rack{u % 2}", "resources": 4} for u in range(hosts)],
            "within_zone": {"delay": 1e-4},
            "between_zones": {"delay": 1e-3},
        },
        weights={"network_usage": 1.0},
        limits={"network_usage": 1.0},
    )


def test_least_number_above_the_most_is_refused_at_its_place() -> None:
    with pytest.raises(InvalidInstanceError, match=r"min_replicas: must be at most max_replicas, which is 1 \(got 2\)"):
        edrp.Operator(name="x", min_replicas=2)


def test_infeasibility_names_the_least_numbers_of_replicas() -> None:
    clashes = edrp.solve(copies(3, 1), "highs").clashes
    assert any(text.startswith("min_replicas of reader: 3") for text in clashes)
    assert clashes[-1].startswith("resources of the nodes: the nodes offer 4 in all, reader and writer need 6")
    assert edrp.solve(copies(2, 1), "highs").status == "optimal"


def test_latencies_with_fewer_replicas_than_allowed_do_not_matter() -> None:
    # Fitted over the loads that can occur, the polynomial is negative beyond them.
    problem = copies(2, 4, latency={"model": "polynomial", "coefficients": [0.1, -0.015]})
    assert np.isinf(compile_problem(problem).latency[:, 1]).all()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("compact", "the compact program's 2,004,000,000 columns need .* GiB"),
        ("literal", r"the literal program would have more than 10\^\d+ columns"),
    ],
)
def test_programs_of_too_many_configurations_are_refused_before_they_are_built(program: str, why: str) -> None:
    with pytest.raises(ProblemTooLargeError, match=why):
        formulate(copies(2000, 1000), program)


@pytest.mark.parametrize("seed", range(3))
def test_size_of_the_compact_program_is_known_before_it_is_built(seed: int) -> None:
    problem = with_zones(seed)
    columns = formulate(problem.replace(current=None), "compact").program.columns
    assert columns <= 1.3 * estimated_columns(compile_problem(problem)) + 100


def test_exact_search_says_how_many_configurations_are_too_many() -> None:
    with pytest.raises(UnsupportedProblemError, match=r"reader has more than 10\^\d+ configurations.*; use highs"):
        edrp.solve(copies(2000, 1000), "eliminate")


def test_neighbourhoods_that_memory_cannot_hold_are_refused() -> None:
    problem = copies(2000, 1000)
    nodes = [f"host{u % 1000}" for u in range(2000)]
    with pytest.raises(ProblemTooLargeError, match="neighbours of reader's current configuration"):
        formulate(problem.replace(current=Deployment({"reader": nodes, "writer": nodes})), "restricted")
