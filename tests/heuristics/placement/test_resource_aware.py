"""Storm's resource-aware scheduler: small cases worked out by hand, and a plain twin."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp import solve
from edrp.heuristics.placement.filling import least_stable
from edrp.heuristics.placement.resource_aware import (
    ResourceAware,
    ResourceAwareParameters,
    TopologyComponents,
    by_connections,
    by_proximity,
)
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem

Fields = dict[str, Any]


def problem(operators: Fields, streams: list[tuple[str, str]], nodes: list[Fields], **fields: Any) -> LatencyAwareProblem:
    """Operators by name with (instances, cpu), all of a node's cpu usable."""
    described = [
        {"name": name, "instances": instances, "resources": {"cpu": cpu}} for name, (instances, cpu) in operators.items()
    ]
    return LatencyAwareProblem(
        application={
            "operators": described,
            "streams": [{"source": source, "target": target, "rate": 1.0} for source, target in streams],
        },
        network={"nodes": nodes, "between_zones": {"delay": 1e-3}, "within_zone": {"delay": 1e-4}},
        utilisation={"cpu": 1.0},
        **fields,
    )


def node(name: str, cpu: float, zone: str = "r1") -> Fields:
    return {"name": name, "zone": zone, "resources": {"cpu": cpu}}


def names(order: list[int], components: TopologyComponents) -> str:
    return " ".join(components.names[i] for i in order)


def test_proximity_gives_each_executor_its_share_of_the_children() -> None:
    """Two readers, four parsers, two writers: two parsers per reader, one writer per two parsers, at least one each."""
    components = TopologyComponents(["write", "read", "parse"], [2, 2, 4], [(1, 2), (2, 0)])
    assert names(by_proximity(components), components) == "read parse write parse write read parse parse"


def test_proximity_takes_children_by_name() -> None:
    components = TopologyComponents(["a", "z", "m"], [1, 1, 1], [(0, 1), (0, 2)])
    assert names(by_proximity(components), components) == "a m z"


def test_proximity_on_cycles_comes_to_an_end() -> None:
    """Components on a cycle have no topological place and come last; each executor is there once."""
    components = TopologyComponents(["b", "a", "free", "loop"], [2, 3, 1, 2], [(0, 1), (1, 0), (3, 3)])
    order = by_proximity(components)
    assert names(order, components) == "free b a b a a loop loop"


def test_connections_starts_with_the_best_connected_and_alternates() -> None:
    """hub has 2·(1+3+1) connections; its neighbours with fewer executors come first, of equal ones the first by name."""
    components = TopologyComponents(["wide", "hub", "b", "a"], [3, 2, 1, 1], [(3, 1), (2, 1), (1, 0)])
    assert names(by_connections(components), components) == "hub a b wide hub wide wide"


@given(st.integers(0, 10_000))
def test_every_executor_has_one_turn_in_either_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 6))
    streams = {(int(i), int(j)) for i, j in random.integers(count, size=(int(random.integers(0, 8)), 2))}
    executors = random.integers(1, 6, size=count).tolist()
    components = TopologyComponents([f"c{i}" for i in range(count)], executors, sorted(streams))
    for order in (by_proximity(components), by_connections(components)):
        assert np.bincount(order, minlength=count).tolist() == executors


def test_what_an_executor_does_not_ask_for_counts_against_a_node() -> None:
    """A node with a rare resource is kept for those who ask for it, though it has more cpu."""
    rare = {"name": "gpu", "resources": {"cpu": 5.0, "gpu": 1.0}}
    asking = {"name": "learn", "resources": {"cpu": 1.0, "gpu": 1.0}}
    plain = {"name": "count", "resources": {"cpu": 1.0}}
    made = LatencyAwareProblem(
        application={"operators": [plain, asking]},
        network={"nodes": [rare, {"name": "plain", "resources": {"cpu": 4.0}}], "between_zones": {"delay": 1e-3}},
    )
    found = solve(made, "resource-aware").deployment
    assert (found["count"], found["learn"]) == (("plain",), ("gpu",))


BLOCKED = (
    {"s1": (1, 1.0), "s2": (1, 1.0), "z": (1, 4.0)},
    [("s1", "s2"), ("s2", "z")],
    [node("n1", 4), node("n2", 1), node("n3", 1)],
)
"""Only n1 can hold z, which comes last: s2 and s1 have to leave n1, where the order puts them first."""


def test_backtracking_finds_what_the_first_order_blocks() -> None:
    """s2 n1, s1 n1, s1 n2, s1 n3, s2 n2, s1 n1, s1 n3, z n1: eight states."""
    found = solve(problem(*BLOCKED), "resource-aware", max_states=8)
    assert found.status == "feasible"
    assert (found.deployment["s2"], found.deployment["s1"], found.deployment["z"]) == (("n2",), ("n3",), ("n1",))


def test_backtracking_is_bounded() -> None:
    found = solve(problem(*BLOCKED), "resource-aware", max_states=7)
    assert found.deployment is None
    assert found.notes == ("at most 2 of 3 executors find room, the next is of z; the search ended after 7 states",)


def test_a_dead_end_is_reported_with_what_finds_no_room() -> None:
    found = solve(problem({"big": (2, 3.0)}, [], [node("n1", 4), node("n2", 2)]), "resource-aware")
    assert found.status == "none"
    assert found.notes == ("at most 1 of 2 executors find room, the next is of big; there is nothing else to try after 1 states",)


def test_as_many_executors_as_states_are_refused_as_storm_does() -> None:
    many = problem({"read": (10, 0.1)}, [], [node("n1", 4)])
    assert solve(many, "resource-aware", max_states=11).status == "feasible"
    assert "raise max_states" in solve(many, "resource-aware", max_states=10).notes[0]


def test_without_time_nothing_is_placed() -> None:
    found = solve(problem({"read": (1, 0.1)}, [], [node("n1", 4)]), "resource-aware", max_seconds=0)
    assert found.status == "none"


def test_nodes_without_limits_and_candidates() -> None:
    """A node without limits comes first; candidates are kept to."""
    made = LatencyAwareProblem(
        application={
            "operators": [
                {"name": "free", "instances": 3, "resources": {"cpu": 2.0}},
                {"name": "tied", "resources": {"cpu": 1.0}, "candidates": ["small"]},
            ]
        },
        network={"nodes": [{"name": "small", "resources": {"cpu": 9.0}}, {"name": "vast"}], "between_zones": {"delay": 1e-3}},
    )
    found = solve(made, "resource-aware").deployment
    assert found.replicas("free") == {"vast": 3}
    assert found["tied"] == ("small",)


def test_edrp_problems_get_as_few_replicas_as_keep_them_stable(word_count: EdrpProblem) -> None:
    found = solve(word_count, "resource-aware")
    replicas = dict(zip(compile_problem(word_count).operators, least_stable(compile_problem(word_count)), strict=True))
    assert found.status == "feasible"
    assert {name: found.deployment.degree(name) for name in found.deployment} == replicas


def plain(compiled: Compiled, order: list[int], most: int) -> list[int] | None:
    """The scheduler again: racks and nodes sorted again for each executor, and a recursion."""
    zones = [compiled.problem.network.by_name[name].zone or "" for name in compiled.nodes]
    counts = np.zeros(compiled.candidate.shape, np.int64)
    states = 0

    def shares(some: list[int], every: list[int], free: np.ndarray) -> tuple[float, float]:
        there = free[every].sum(axis=0)
        parts = free[some].sum(axis=0)[there > 0] / there[there > 0]
        return (-parts.mean(), -parts.min()) if parts.size else (-1.0, -1.0)

    def sorted_nodes() -> list[int]:
        free = np.round(compiled.capacity - counts.T @ compiled.demand, 9)
        everyone = list(range(len(zones)))
        racks = {zone: [u for u in everyone if zones[u] == zone] for zone in zones}
        ranked = sorted(racks, key=lambda r: (-counts[:, racks[r]].sum(), *shares(racks[r], everyone, free), r))
        return [
            u
            for rack in ranked
            for u in sorted(racks[rack], key=lambda u: (-counts[:, u].sum(), *shares([u], racks[rack], free), compiled.nodes[u]))
        ]

    def place(k: int) -> list[int] | None:
        nonlocal states
        if k == len(order):
            return []
        for u in sorted_nodes():
            used = counts[:, u] @ compiled.demand + compiled.demand[order[k]]
            if not compiled.candidate[order[k], u] or (used > compiled.capacity[u] + 1e-9).any():
                continue
            if states == most:
                raise TimeoutError
            states += 1
            counts[order[k], u] += 1
            rest = place(k + 1)
            if rest is not None:
                return [u, *rest]
            counts[order[k], u] -= 1
        return None

    try:
        return place(0)
    except TimeoutError:
        return None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_the_same_as_the_plain_twin(seed: int) -> None:
    """Whole numbers, so that shares that tie do so on both sides."""
    random = np.random.default_rng(seed)
    racks, operators = int(random.integers(1, 4)), int(random.integers(1, 4))
    nodes = [node(f"n{u}", float(random.integers(2, 7)), f"r{random.integers(racks)}") for u in range(random.integers(2, 6))]
    sizes = {f"o{i}": (int(random.integers(1, 4)), float(random.integers(1, 4))) for i in range(operators)}
    streams = [(f"o{i}", f"o{j}") for i in range(operators) for j in range(operators) if random.random() < 0.4]
    compiled = compile_problem(problem(sizes, streams, nodes))
    described = [compiled.operators.index(name) for name in sizes]
    components = TopologyComponents(
        list(sizes), [many for many, _ in sizes.values()], [(int(i[1:]), int(j[1:])) for i, j in streams]
    )
    most = 200
    expected = plain(compiled, [described[i] for i in by_connections(components)], most)
    filling = ResourceAware().fill(compiled, ResourceAwareParameters(max_states=most))
    if expected is None:
        assert not filling.counts.any()
    else:
        counts = np.zeros_like(filling.counts)
        np.add.at(counts, ([described[i] for i in by_connections(components)], expected), 1)
        assert filling.counts.tolist() == counts.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("order", ["connections", "proximity"])
def test_thousands_of_executors_on_thousands_of_hosts(order: str) -> None:
    """Two components of 3,000 executors each on 1,000 hosts of 16 in 20 racks: as few hosts as hold them."""
    hosts = [node(f"h{u:04d}", 16.0, f"r{u % 20:02d}") for u in range(1000)]
    large = problem({"read": (3000, 1.0), "write": (3000, 1.0)}, [("read", "write")], hosts)
    found = solve(large, "resource-aware", order=order)
    assert found.status == "feasible"
    assert found.metrics["supervisors"] == pytest.approx(375 / 1000)
