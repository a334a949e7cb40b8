"""Documents: immutable, by name, validated; to and from graphs."""

import inspect
import pickle
import pydoc
import re
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import edrp
from edrp.core.document import Document
from edrp.core.errors import InvalidInstanceError, ProblemTooLargeError
from edrp.datasets.families.placement.random_edrp import random_problem


def test_a_document_cannot_be_changed_in_place(word_count):
    with pytest.raises(InvalidInstanceError, match=r"cost: documents do not change; document.replace\(cost=…\) returns"):
        word_count.application.operators[0].cost = 3.0


def test_replace_returns_a_validated_copy(word_count):
    cheaper = word_count.replace(limits=edrp.Limits(response_time=0.2, cost=5.0))
    assert cheaper.limits.cost == 5.0
    assert word_count.limits.cost == 20.0
    with pytest.raises(InvalidInstanceError, match=r"limits\.cost: needed because"):
        word_count.replace(limits=edrp.Limits(response_time=0.2))


def test_arrays_derived_from_a_document_are_not_pickled(word_count):
    problem = edrp.loads(word_count.model_dump_json())
    bare = pickle.dumps(problem)
    assert problem.application.load("counter") == 4500.0
    assert problem.network.delay("fog", "edge") == 0.004
    assert pickle.dumps(problem) == bare
    assert pickle.loads(bare) == problem


def test_a_load_is_the_external_rate_and_what_the_streams_bring():
    application = edrp.Application(
        operators=[
            {"name": "a", "external_rate": 10.0, "selectivity": 2.0},
            {"name": "b", "external_rate": 1.0, "selectivity": 0.5},
            {"name": "c", "external_rate": 3.0},
        ],
        streams=[{"source": "a", "target": "b"}, {"source": "a", "target": "c", "rate": 7.0}, {"source": "b", "target": "c"}],
    )
    assert [application.load(name) for name in "abc"] == [10.0, 21.0, 3.0 + 7.0 + 10.5]
    assert application.rate("a", "c") == 7.0


def test_a_cycle_is_refused_and_named():
    streams = [{"source": a, "target": b} for a, b in ("ab", "bc", "cb", "cd")]
    with pytest.raises(InvalidInstanceError, match="b → c → b"):
        edrp.Application(operators=[{"name": name} for name in "abcd"], streams=streams)
    with pytest.raises(InvalidInstanceError, match="a → a"):
        edrp.Application(operators=[{"name": "a"}], streams=[{"source": "a", "target": "a"}])


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000))
def test_an_application_survives_the_way_through_a_graph(seed):
    application = random_problem(seed).application
    graph = application.to_graph()
    assert nx.is_directed_acyclic_graph(graph)
    assert edrp.Application.from_graph(graph) == application


def test_a_network_from_a_graph_has_shortest_path_delays():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 0.01), ("b", "c", 0.02), ("a", "c", 0.5)], weight="delay")
    network = edrp.Network.from_graph(graph, nodes=["a", "c"], node_defaults={"resources": 4})
    assert network.delay("a", "c") == pytest.approx(0.03)
    assert [node.name for node in network.nodes] == ["a", "c"]
    assert network.nodes[0].resources == 4


def test_coincident_nodes_have_no_delay_between_them():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 0.0), ("b", "c", 0.02)], weight="delay")
    network = edrp.Network.from_graph(graph)
    assert network.delay("a", "b") == pytest.approx(0.0, abs=1e-300)
    assert network.delay("a", "c") == pytest.approx(0.02)


def test_a_directed_graph_keeps_its_directions():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 0.01), ("b", "a", 0.04)], weight="delay")
    network = edrp.Network.from_graph(graph)
    assert (network.delay("a", "b"), network.delay("b", "a")) == (0.01, 0.04)
    again = edrp.Network.from_graph(network.to_graph())
    assert (again.delay("a", "b"), again.delay("b", "a")) == (0.01, 0.04)


def test_a_graph_that_is_not_connected_is_refused_with_the_pairs():
    graph = nx.Graph()
    graph.add_edge("a", "b", delay=0.01)
    graph.add_node("c")
    with pytest.raises(InvalidInstanceError, match=r"are not connected; add a path between them \(got a and c\)"):
        edrp.Network.from_graph(graph)
    with pytest.raises(InvalidInstanceError, match=r"nodes\[1\]: is no vertex of the graph \(got 'z'\)"):
        edrp.Network.from_graph(graph, nodes=["a", "z"])


SPELLINGS = (float, str, " {} ".format, np.float64, Fraction, np.array)
SCALARS = st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.binary() | st.complex_numbers() | st.decimals()
ODD = st.sampled_from([10**400, "9" * 400, "0,5", np.bool_(True), np.float64("nan"), object(), np.array([0.5])])
KEYS = st.text(max_size=2) | st.tuples(st.integers())
VALUES = st.recursive(SCALARS | ODD, lambda x: st.lists(x, max_size=3) | st.dictionaries(KEYS, x, max_size=2), max_leaves=4)


@settings(deadline=None, max_examples=50)
@given(delay=st.floats(1e-9, 1e9), spelling=st.sampled_from(SPELLINGS))
def test_the_delay_of_an_edge_is_read_from_every_unambiguous_number_or_text(delay, spelling):
    graph = nx.Graph([("a", "b", {"delay": spelling(delay)})])
    assert edrp.Network.from_graph(graph).delay("a", "b") == delay


@settings(deadline=None, max_examples=60)
@given(value=VALUES, field=st.sampled_from(["resources", "speedup", "spawn_time", "zone", "labels", "store_bandwidth"]))
@example(value=[10**5000], field="resources")
def test_whatever_the_attributes_of_a_graph_are_an_error_names_the_place(value, field):
    delayed, node = nx.Graph([("a", "b", {"delay": value})]), nx.Graph()
    application = nx.DiGraph([("a", "b", {"rate": value})])
    node.add_node("a", **{field: value})
    for read, graph, place in (
        (edrp.Application.from_graph, application, r"streams\[0\]\.rate"),
        (edrp.Network.from_graph, node, rf"nodes\[0\]\.{field}"),
        (edrp.Network.from_graph, delayed, r"graph\.edges\['a', 'b'\]\.delay: must be a delay of at least 0 s, one number"),
    ):
        said = ""
        try:
            read(graph)
        except InvalidInstanceError as error:
            said = str(error)
        assert re.search(rf"{place}|^$", said)
    assert said or not isinstance(value, (bool, list, dict)), "no delay"


def test_the_difference_of_two_deployments_is_named():
    before = edrp.Deployment({"parser": ["a", "a"], "filter": ["b"], "rank": ["a", "b"], "sink": ["c"]})
    after = edrp.Deployment({"parser": ["a", "c"], "filter": ["b", "b"], "rank": ["b"], "sink": ["c"]})
    assert [str(action) for action in before.actions_to(after)] == [
        "parser: moves from a to c",
        "filter: +1 on b",
        "rank: −1 on a",
    ]
    assert before.actions_to(before) == ()


def test_prices_are_per_unit_of_resources():
    assert edrp.Operator(name="a", resources=2.0, cost=3.0).replica_cost == 6.0
    assert edrp.Operator(name="a", resources={"cpu": 2.0, "memory": 10.0}, cost=3.0).replica_cost == 3.0
    assert edrp.Operator(name="a", resources={"cpu": 2.0, "memory": 10.0}, cost={"memory": 0.5}).replica_cost == 5.0
    with pytest.raises(InvalidInstanceError, match=r"cost\.gpu: prices a resource that this operator does not use"):
        edrp.Operator(name="a", resources={"cpu": 2.0}, cost={"gpu": 0.5})


def test_an_operator_may_be_called_like_a_latency_model():
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": "mm1"}]}, network={"nodes": [{"name": "n"}]}, weights={"cost": 1}, limits={"cost": 1}
    )
    with pytest.raises(InvalidInstanceError, match=r"current\.mm1\[0\]: is no node"):
        problem.replace(current=edrp.Deployment({"mm1": ["x"]}))


def test_a_network_over_ten_thousand_vertices_is_refused_before_its_links_are_made():
    graph = nx.star_graph(10_000)
    nx.set_edge_attributes(graph, 0.01, "delay")
    with pytest.raises(ProblemTooLargeError, match=r"50005000 links between 10001 nodes need .* GiB.* name the nodes"):
        edrp.Network.from_graph(graph)
    assert len(edrp.Network.from_graph(nx.star_graph(50).subgraph([0]), nodes=[0]).nodes) == 1


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_a_fitted_polynomial_passes_through_points_of_its_own_degree(degree):
    rates = [0.0, 10.0, 20.0, 50.0, 80.0]
    truth = edrp.PolynomialLatency(coefficients=[0.01, 2e-4, 3e-6, 1e-8][: degree + 1])
    fitted = edrp.PolynomialLatency.fit(rates, [truth.at(rate) for rate in rates], degree)
    assert fitted.at(65.0) == pytest.approx(truth.at(65.0), rel=1e-9)


def test_a_fit_needs_enough_measurements():
    with pytest.raises(ValueError, match="give at least 4"):
        edrp.PolynomialLatency.fit([1.0, 2.0], [0.1, 0.2], degree=3)


# Shown to people


def test_help_says_fields_units_and_defaults():
    text = pydoc.plain(pydoc.render_doc(edrp.Operator))
    assert "Operator(*, name, state_size=0.0, " in text
    assert "external_rate : float ≥ 0, tuples/s, default 0.0\n |      Load that no stream brings." in text
    assert "candidates : list of str or None, default None\n |      Nodes that may run the operator; None for all." in text
    assert ">>> Operator(name=" in text
    assert not any(word in text for word in ("Annotated", "FieldInfo", "model_dump", "__pydantic"))
    assert max(map(len, text.splitlines())) < 250


DOCUMENTS = [getattr(edrp, name) for name in edrp.__all__ if isinstance(getattr(edrp, name), type(Document))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.__name__)
def test_every_document_describes_its_fields_once(document):
    fields = {name: field for name, field in document.model_fields.items() if name not in ("kind", "model", "root")}
    for name in fields:
        assert len(re.findall(rf"^{name} : ", document.__doc__, re.MULTILINE)) == 1
    assert set(fields) <= set(inspect.signature(document).parameters)
    assert document.__doc__.startswith(vars(document)["__doc__"].split("\n")[0])


def test_completion_offers_what_is_of_use(word_count):
    shown = {name for name in dir(word_count) if not name.startswith("_")}
    assert {"application", "network", "weights", "evaluate", "replace"} <= shown
    assert not {name for name in shown if name.startswith("model_")} | shown & {"dict", "json", "copy", "parse_raw", "schema"}
    assert "from_graph" in dir(edrp.Application)
    assert word_count.model_dump()["kind"] == "edrp"  # what is not offered is there


def test_a_problem_says_in_a_line_or_two_what_it_is(word_count):
    assert (
        repr(word_count)
        == str(word_count)
        == (
            "<EdrpProblem: 4 operators, 3 streams, 3 nodes, 3 links; weights: response_time=0.7, cost=0.3; "
            "limits: response_time=0.2, cost=20.0>"
        )
    )


def test_short_forms_of_large_documents_stay_short(word_count):
    operators = [edrp.Operator(name=f"operator {index}", candidates=["edge", "fog"]) for index in range(2000)]
    placed = {operator.name: ["edge"] for operator in operators}
    large = word_count.replace(application={"operators": operators}, current=placed)
    solution = edrp.solve(word_count, "greedy")
    for document, longest in ((large, 400), (large.application, 600), (large.current, 6000), (solution, 800)):
        assert 50 < len(repr(document)) < longest
    assert "2000 operators" in repr(large)
    one = word_count.replace(application={"operators": operators[:1]}, current=None)
    assert repr(one).startswith("<EdrpProblem: 1 operator, 3 nodes, ")
    assert repr(large.application).endswith("… 1997 more))")


def test_a_small_document_is_shown_as_it_is_written():
    parser = edrp.Operator(name="parser", latency=edrp.Mm1Latency(service_rate=700.0), max_replicas=3)
    assert repr(parser) == "Operator(name='parser', latency=Mm1Latency(service_rate=700.0), max_replicas=3)"
    assert eval(repr(parser), vars(edrp)) == parser
    assert repr(edrp.Deployment({"parser": ["b", "a"]})) == "Deployment({'parser': ('a', 'b')})"
