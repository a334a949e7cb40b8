"""Orders of graphs with cycles: every vertex once, backward edges only on cycles, and few of them."""

from itertools import pairwise, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edrp.placement.ordering import topological_layers

Edges = list[tuple[str, str]]


def backward(layers: tuple[tuple[str, ...], ...], edges: Edges) -> Edges:
    """Edges that do not lead to a later layer."""
    layer = {name: index for index, names in enumerate(layers) for name in names}
    return [(u, v) for u, v in edges if layer[u] >= layer[v]]


@st.composite
def graphs(draw: st.DrawFn, *, acyclic: bool = False) -> tuple[list[str], Edges]:
    """Up to twelve vertices in any order, edges between any of them (loops and repetitions too, unless acyclic)."""
    size = draw(st.integers(0, 12))
    if not size:
        return [], []
    ends = st.integers(0, size - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=40))
    if acyclic:
        pairs = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    names = draw(st.permutations([f"v{index}" for index in range(size)]))
    return draw(st.permutations(names)), [(names[u], names[v]) for u, v in pairs]


@given(graphs())
def test_every_vertex_once_and_backward_only_within_cycles(graph: tuple[list[str], Edges]) -> None:
    vertices, edges = graph
    layers = topological_layers(vertices, edges)
    assert sorted(name for layer in layers for name in layer) == sorted(vertices)
    assert all(layers)
    digraph = nx.DiGraph(edges)
    digraph.add_nodes_from(vertices)
    component = {v: index for index, names in enumerate(nx.strongly_connected_components(digraph)) for v in names}
    lost = backward(layers, edges)
    assert all(component[u] == component[v] for u, v in lost)
    place = {name: index for index, layer in enumerate(layers) for name in layer}
    assert all(u == v or place[u] != place[v] for u, v in edges)
    inner = {(u, v) for u, v in edges if u != v and component[u] == component[v]}
    assert not inner or len(set(lost) & inner) < len(inner)


@given(graphs(acyclic=True))
def test_without_cycles_the_layers_are_topological_generations(graph: tuple[list[str], Edges]) -> None:
    vertices, edges = graph
    digraph: nx.DiGraph[str] = nx.DiGraph()
    digraph.add_nodes_from(vertices)
    digraph.add_edges_from(edges)
    layers = topological_layers(vertices, edges)
    assert backward(layers, edges) == []
    assert [set(layer) for layer in layers] == [set(layer) for layer in nx.topological_generations(digraph)]
    assert all(list(layer) == sorted(layer, key=vertices.index) for layer in layers)


@given(graphs(), st.randoms())
def test_the_order_of_edges_does_not_matter(graph: tuple[list[str], Edges], random: object) -> None:
    vertices, edges = graph
    shuffled = list(edges)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert topological_layers(vertices, shuffled) == topological_layers(vertices, edges)


def test_a_source_that_waits_is_not_enqueued_again() -> None:
    """As printed, b is still a source when a is removed, and would be in two layers."""
    assert topological_layers(["a", "b", "c"], [("a", "c"), ("b", "c")]) == (("a", "b"), ("c",))


@pytest.mark.parametrize(
    ("edges", "layers"),
    [
        # Behind a cycle sinks are removed as sinks: y is still one when x is removed, and is not enqueued again.
        ("ab ba bx by", "a b xy"),
        # As printed, the queues stay empty after d has opened the cycle, and b and c would get layers of their own.
        ("ab ac bd cd da", "a bc d"),
        # As printed, no vertex has a neighbour that was removed, and none can be chosen, where nothing feeds a cycle.
        ("ab bc ca", "a b c"),
    ],
)
def test_cycles_are_opened_and_their_rest_is_removed_in_layers(edges: str, layers: str) -> None:
    vertices = sorted(set(edges) - {" "})
    assert topological_layers(vertices, [tuple(edge) for edge in edges.split()]) == tuple(map(tuple, layers.split()))


def test_a_cycle_is_opened_where_the_flow_enters_it() -> None:
    """The fewest outgoing edges, but the only vertex that the source feeds."""
    edges = [("s", "entry"), ("entry", "x"), ("x", "y"), ("x", "z"), ("y", "entry"), ("z", "entry")]
    layers = topological_layers(["z", "y", "x", "entry", "s"], edges)
    assert layers[:2] == (("s",), ("entry",))
    assert backward(layers, edges) == [("y", "entry"), ("z", "entry")]


@pytest.mark.parametrize(
    ("edges", "least"),
    [
        ([("a", "b"), ("b", "a")], 1),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("c", "a")], 1),  # two cycles share a
        ([("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")], 2),  # one cycle after the other
        ([("s", "a"), ("a", "b"), ("b", "a"), ("b", "t"), ("t", "t")], 2),  # a loop is always backward
        ([(u, v) for u in "abcd" for v in "abcd" if u != v], 6),  # complete: one of each pair
    ],
)
def test_no_more_edges_than_needed_go_backward(edges: Edges, least: int) -> None:
    vertices = sorted({name for edge in edges for name in edge})
    for order in permutations(vertices):
        assert len(backward(topological_layers(order, edges), edges)) == least


def test_few_edges_go_backward_on_random_graphs() -> None:
    """Against the order in which vertices are given, and against the best of all orders."""
    generator = np.random.default_rng(3)
    ours = given_order = best = 0
    for _ in range(60):
        pairs = [(u, v) for u in range(6) for v in range(6) if u != v and generator.random() < 0.35]
        edges = [(str(u), str(v)) for u, v in pairs]
        ours += len(backward(topological_layers([str(v) for v in range(6)], edges), edges))
        given_order += sum(u > v for u, v in pairs)
        best += min(sum(rank[u] > rank[v] for u, v in pairs) for rank in permutations(range(6)))
    assert ours <= 1.15 * best
    assert ours <= 0.6 * given_order


def test_empty_graphs_and_loops() -> None:
    assert topological_layers([], []) == ()
    assert topological_layers(["a", "b"], []) == (("a", "b"),)
    assert topological_layers(["a"], [("a", "a")]) == (("a",),)


def test_an_unknown_end_is_refused() -> None:
    with pytest.raises(KeyError, match="ghost"):
        topological_layers(["a"], [("a", "ghost")])


def test_many_small_cycles_in_a_row_take_linear_time() -> None:
    """Five thousand cycles: searching the whole rest for each of them would take minutes."""
    count = 5_000
    names = [f"v{index}" for index in range(2 * count)]
    chain = list(pairwise(names))
    cycles = [(names[2 * index + 1], names[2 * index]) for index in range(count)]
    assert backward(topological_layers(names, chain + cycles), chain + cycles) == cycles
