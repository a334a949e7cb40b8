"""The baselines: each rule does what it says, refuses honestly, and reads its parameters with care."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.core.methods import Options, methods
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.heuristics.note_wording import listed
from edrp.heuristics.placement.ds2 import true_rate
from edrp.heuristics.placement.filling import even_shares, first_fit_shares, least_stable
from edrp.placement.application import Operator
from edrp.placement.compilation import compile_problem

RULES = ("ds2", "even", "first-fit", "largest-node")
CAREFUL = (("ds2", {}), ("even", {"skip_full": True}), ("first-fit", {}), ("first-fit", {"by": "demand"}), ("largest-node", {}))
"""Those that look at resources."""


def make_problem(operators: list[dict], nodes: dict[str, float | None], **fields: object) -> edrp.EdrpProblem:
    """Operators without streams, as cheap as they are few, on nodes with the given resources."""
    network = fields.pop("network", {"nodes": [{"name": name, "resources": resources} for name, resources in nodes.items()]})
    filled_in = [{"cost": 1.0, "max_replicas": 8, **operator} for operator in operators]
    named = {"weights": {"cost": 1.0}, "limits": {"cost": 1000.0}, **fields}
    return edrp.EdrpProblem(application={"operators": filled_in}, network=network, **named)


def queue(name: str, load: float, rate: float, **fields: object) -> dict:
    return {"name": name, "external_rate": load, "latency": {"model": "mm1", "service_rate": rate}, **fields}


def placed(problem: edrp.EdrpProblem, method: str, **parameters: object) -> dict[str, list[str]]:
    """Nodes of each operator, in the order of the document."""
    solution = edrp.solve(problem, method, **parameters)
    assert solution.status == "feasible", solution.notes
    return {name: list(nodes) for name, nodes in solution.deployment.items()}


class TestSharing:
    @settings(max_examples=200)
    @given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), min_size=1, max_size=8), st.integers(0, 25))
    def test_dealt_is_one_replica_after_the_other_to_the_emptiest_node(self, nodes, replicas):
        held, room = (np.array(column) for column in zip(*nodes, strict=True))
        now, shares = held.copy(), np.zeros_like(held)
        for _ in range(min(replicas, int(room.sum()))):
            node = min((n for n in range(held.size) if shares[n] < room[n]), key=lambda n: (now[n], n))
            now[node] += 1
            shares[node] += 1
        assert even_shares(held, room, replicas).tolist() == shares.tolist()

    @given(st.lists(st.integers(0, 5), max_size=8), st.integers(0, 25))
    def test_filled_is_one_replica_after_the_other_to_the_first_node_with_room(self, room, replicas):
        shares = [0] * len(room)
        for _ in range(min(replicas, sum(room))):
            shares[next(n for n in range(len(room)) if shares[n] < room[n])] += 1
        assert first_fit_shares(np.array(room, np.int64), replicas).tolist() == shares

    def test_no_nodes_share_nothing(self):
        nothing = np.zeros(0, np.int64)
        assert even_shares(nothing, nothing, 3).size == first_fit_shares(nothing, 3).size == 0


@pytest.mark.parametrize(("name", "parameters"), CAREFUL)
def test_careful_rules_never_overfill_a_node(name, parameters):
    """They hold something, or say which replicas find no node or which limit is broken, but never that of a node."""
    found = 0
    for seed in range(60):
        problem = random_problem(seed).replace(current=None)  # what runs already stays, even where it overfills a node
        answer = methods()[name].run(problem, Options(parameters=parameters))
        assert answer.status == "feasible" or (answer.status == "none" and answer.notes)
        assert not any(" of node " in note for note in answer.notes)
        found += answer.status == "feasible"
    assert 10 < found < 60


@pytest.mark.parametrize("name", ["even", "first-fit", "largest-node"])
def test_rules_for_placement_replicate_no_more_than_they_must(name):
    found = 0
    for seed in range(60):
        problem = random_problem(seed)
        answer = methods()[name].run(problem, Options())
        if answer.status == "feasible":
            compiled = compile_problem(problem)
            assert compiled.counts(answer.decision).sum(axis=1).tolist() == least_stable(compiled).tolist()
            found += 1
    assert found > 10


class TestLargestNode:
    def test_everything_on_the_largest_node_of_the_candidates(self):
        operators = [{"name": "a"}, queue("b", 15, 10), {"name": "c", "candidates": ["small", "middle"]}]
        problem = make_problem(operators, {"small": 2, "middle": 3, "large": 9})
        assert placed(problem, "largest-node") == {"a": ["large"], "b": ["large"] * 2, "c": ["middle"]}

    def test_what_finds_no_room_goes_to_the_next_largest(self):
        problem = make_problem([queue("a", 45, 10)], {"small": 1, "middle": 2, "large": 3})
        assert placed(problem, "largest-node") == {"a": ["large"] * 3 + ["middle"] * 2}

    def test_operators_without_a_choice_are_placed_first(self):
        problem = make_problem([{"name": "free"}, {"name": "pinned", "candidates": ["large"]}], {"small": 1, "large": 1.5})
        assert placed(problem, "largest-node") == {"free": ["small"], "pinned": ["large"]}

    def test_of_several_resources_the_scarcest_decides_and_no_limit_is_largest(self):
        needs = [{"name": "a", "resources": {"cpu": 1, "memory": 100}}]
        problem = make_problem(needs, {"cpus": {"cpu": 64, "memory": 150}, "both": {"cpu": 4, "memory": 400}})
        assert placed(problem, "largest-node") == {"a": ["both"]}
        unlimited = problem.network.replace(nodes=(*problem.network.nodes, edrp.Node(name="cloud")))
        assert placed(problem.replace(network=unlimited), "largest-node") == {"a": ["cloud"]}

    def test_of_equal_nodes_the_fastest_is_taken(self):
        problem = make_problem([{"name": "a"}], {"slow": 4, "fast": 4})
        nodes = (problem.network.nodes[0], problem.network.nodes[1].replace(speedup=2.0))
        assert placed(problem.replace(network=edrp.Network(nodes=nodes)), "largest-node") == {"a": ["fast"]}


class TestFirstFit:
    def test_busy_operators_come_first(self):
        operators = [queue("idle", 1, 10), queue("busy", 9, 10)]
        problem = make_problem(operators, {"first": 1, "second": 1})
        assert placed(problem, "first-fit") == {"idle": ["second"], "busy": ["first"]}
        assert placed(problem, "greedy") == {"idle": ["first"], "busy": ["second"]}

    def test_by_demand_it_is_the_rule_of_bin_packing(self):
        operators = [queue("busy", 9, 10, resources=1), queue("big", 1, 10, resources=2)]
        problem = make_problem(operators, {"first": 2, "second": 2})
        assert placed(problem, "first-fit") == {"busy": ["first"], "big": ["second"]}
        assert placed(problem, "first-fit", by="demand") == {"busy": ["second"], "big": ["first"]}

    def test_it_says_what_finds_no_node(self):
        problem = make_problem([queue("a", 45, 10), queue("b", 5, 10)], {"only": 3})
        solution = edrp.solve(problem, "first-fit")
        assert (solution.status, solution.deployment) == ("none", None)
        assert solution.notes == ("2 of 5 replicas of a found no node left", "1 of 1 replicas of b found no node left")

    def test_rounding_keeps_no_replica_out(self):
        """Ten times 0.1 fits on 1, though 1 − 0.1 − 0.1 − … does not leave 0.1 in the end."""
        problem = make_problem([{"name": f"o{i}", "resources": 0.1} for i in range(10)], {"a": 1.0, "b": 1.0})
        assert set(map(tuple, placed(problem, "first-fit").values())) == {("a",)}


def storm_deals(problem: edrp.EdrpProblem, workers: int) -> dict[str, list[str]]:
    """EvenScheduler in the words of Storm, with one port on every supervisor, and no notion of candidates."""
    compiled = compile_problem(problem)
    degree = dict(zip(compiled.operators, least_stable(compiled).tolist(), strict=True))
    slots = [(node, 6700) for node in sorted(node.name for node in problem.network.nodes)][:workers]
    executors = [name for name in sorted(degree) for _ in range(degree[name])]
    found: dict[str, list[str]] = {name: [] for name in degree}
    for k, executor in enumerate(executors):
        found[executor].append(slots[k % len(slots)][0])
    return found


class TestEven:
    """Storm's rule, and where ours has to differ."""

    @pytest.mark.parametrize("workers", [1, 2, 3, 5, 99])
    def test_it_deals_as_storm_does(self, workers):
        operators = [queue("splitter", 65, 10), queue("reader", 21, 10), queue("counter", 33, 10), {"name": "alert"}]
        problem = make_problem(operators, dict.fromkeys(("n10", "n2", "n1", "cloud", "edge"), None))
        found = placed(problem, "even", workers=workers)
        expected = storm_deals(problem, workers)
        assert {name: sorted(nodes) for name, nodes in found.items()} == {name: sorted(nodes) for name, nodes in expected.items()}
        if workers == 99:
            assert found == placed(problem, "even")

    def test_resources_are_ignored_and_the_answer_says_what_that_breaks(self):
        problem = make_problem([queue("a", 35, 10)], {"large": 9, "small": 1})
        solution = edrp.solve(problem, "even")
        assert (solution.status, solution.notes) == ("none", ("even breaks resources of node small: 2 against 1",))
        assert placed(problem, "even", skip_full=True) == {"a": ["large"] * 3 + ["small"]}

    def test_nodes_that_may_not_run_an_operator_are_passed_over(self):
        operators = [queue("a", 25, 10, candidates=["n1", "n3"]), queue("b", 15, 10), {"name": "c"}]
        problem = make_problem(operators, dict.fromkeys(("n1", "n2", "n3"), None))
        # a: n1, n3, n1; the deal goes on behind n1.
        assert placed(problem, "even") == {"a": ["n1", "n1", "n3"], "b": ["n2", "n3"], "c": ["n1"]}

    def test_workers_that_may_not_run_an_operator_leave_it_without_a_node(self):
        problem = make_problem([{"name": "a", "candidates": ["n2"]}, {"name": "b"}], {"n1": 1, "n2": 1})
        assert edrp.solve(problem, "even", workers=1).notes == ("1 of 1 replicas of a found no node left",)


class TestDs2:
    def test_replicas_follow_load_rate_and_utilisation(self):
        problem = make_problem([queue("a", 40, 10)], dict.fromkeys("xyz", None))
        assert [len(placed(problem, "ds2", utilisation=share)["a"]) for share in (1.0, 0.8, 0.7, 0.5)] == [5, 5, 6, 8]
        assert len(placed(problem, "ds2")["a"]) == 6

    def test_a_load_that_fits_exactly_gets_no_replica_for_rounding(self):
        problem = make_problem([queue("a", 2.1, 1.0)], {"x": None})  # 2.1 / 0.7 = 3.0000000000000004
        assert len(placed(problem, "ds2")["a"]) == 3

    def test_the_load_of_an_operator_is_what_its_sources_send(self):
        """DS2 computes it along the application, by selectivities."""
        operators = [
            {"name": "source", "external_rate": 10.0, "selectivity": 3.0},
            {"name": "work", "max_replicas": 9, "latency": {"model": "mm1", "service_rate": 10.0}},
        ]
        streams = [{"source": "source", "target": "work"}]
        problem = make_problem(operators, {"x": None}).replace(application={"operators": operators, "streams": streams})
        assert len(placed(problem, "ds2")["work"]) == 5  # 30 / 7

    def test_true_rates_of_all_latency_models(self):
        models = {
            5.0: {"model": "mm1", "service_rate": 5.0},
            80.0: {"model": "table", "rates": [1.0, 80.0], "latencies": [0.1, 0.2]},
            100.0: {"model": "polynomial", "coefficients": [0.01, 1.0]},
        }
        for rate, model in models.items():
            assert true_rate(Operator(name="a", latency=model)) == rate
        assert true_rate(Operator(name="a")) == np.inf
        assert true_rate(Operator(name="a", latency={"model": "polynomial", "coefficients": [0.0, 1.0]})) == np.inf

    def test_operators_without_latency_or_load_get_one_replica(self):
        silent = {"name": "b", "latency": {"model": "table", "rates": [0.0], "latencies": [0.1]}}
        problem = make_problem([{"name": "a", "external_rate": 1e6}, silent], {"x": None})
        assert placed(problem, "ds2") == {"a": ["x"], "b": ["x"]}

    def test_more_replicas_than_there_may_be_are_noted(self):
        problem = make_problem([queue("a", 40, 10, max_replicas=5)], {"x": None})
        solution = edrp.solve(problem, "ds2")
        assert (solution.status, len(solution.deployment["a"])) == ("feasible", 5)
        assert solution.notes == ("a would need 6 replicas, may have 5",)

    def test_new_replicas_go_where_the_fewest_are(self):
        operators = [queue("a", 20, 10), queue("b", 13, 10)]
        problem = make_problem(operators, {"x": 9, "y": 9, "z": 1}, current={"a": ["x", "x"], "b": ["y"]})
        # a needs three and b two: z is empty, then y holds the fewest of those with room.
        assert placed(problem, "ds2") == {"a": ["x", "x", "z"], "b": ["y", "y"]}

    def test_what_is_too_much_goes_from_where_most_is(self):
        problem = make_problem([queue("a", 13, 10)], dict.fromkeys("xyz", None), current={"a": ["x", "y", "y", "y"]})
        assert placed(problem, "ds2") == {"a": ["x", "y"]}

    def test_only_the_difference_to_what_runs_is_changed(self):
        found = 0
        for seed in range(80):
            problem = random_problem(seed)
            answer = methods()["ds2"].run(problem, Options())
            if problem.current is None or answer.status != "feasible":
                continue
            compiled = compile_problem(problem)
            now, then = compiled.current, compiled.counts(answer.decision)
            fewer = np.maximum(now.sum(axis=1) - then.sum(axis=1), 0)
            assert np.maximum(now - then, 0).sum(axis=1).tolist() == fewer.tolist()
            found += 1
        assert found > 10

    def test_where_room_is_scarce_it_runs_with_what_there_is(self):
        """As Flink does; a note says what is missing."""
        solution = edrp.solve(make_problem([queue("a", 25, 10)], {"x": 3}), "ds2")
        assert (solution.status, len(solution.deployment["a"])) == ("feasible", 3)
        assert solution.notes == ("1 of 4 replicas of a found no node left",)


class TestParameters:
    PROBLEM = make_problem([{"name": "a"}], {"x": 1})
    MIGRATION = edrp.MigrationProblem(work=[1, 1], state_size=[1, 1], intervals=[(0, 2)], nodes=2, tolerance=0)

    @pytest.mark.parametrize(
        ("method", "wrong", "why"),
        [
            ("ds2", {"utilisation": 0}, r"utilisation: must be above 0 \(got 0\)"),
            ("ds2", {"utilisation": 1.5}, r"utilisation: must be at most 1 \(got 1.5\)"),
            ("ds2", {"utilisation": "high"}, r'utilisation: must be a number \(got "high"\)'),
            ("ds2", {"utilisation": float("nan")}, "utilisation: must be"),
            ("ds2", {"utilization": 0.5}, "utilization: is no parameter of this method; did you mean 'utilisation'"),
            ("even", {"workers": 0}, "workers: must be at least 1"),
            ("even", {"workers": 2.5}, "workers: must be a whole number"),
            ("even", {"skip_full": "perhaps"}, "skip_full: must be true or false"),
            ("even", {"seats": 3}, "seats: is no parameter of this method; there are workers, skip_full"),
            ("first-fit", {"by": "name"}, "by: must be 'load' or 'demand'"),
            ("random", {"samples": 0}, "samples: must be at least 1"),
            ("random", {"sample": 5}, "did you mean 'samples'"),
        ],
    )
    def test_wrong_values_and_unknown_names(self, method, wrong, why):
        with pytest.raises(InvalidInstanceError, match=why) as caught:
            edrp.solve(self.PROBLEM, method, **wrong)
        assert str(caught.value).startswith(f"parameters of method {method}: 1 fault")

    @pytest.mark.parametrize("method", ["greedy", "largest-node", "balanced", "consistent-hashing", "even-split"])
    def test_methods_without_parameters(self, method):
        problem = self.PROBLEM if "edrp" in methods()[method].kinds else self.MIGRATION
        with pytest.raises(InvalidInstanceError, match="cooling: is no parameter of this method, which has none"):
            edrp.solve(problem, method, cooling=3)

    def test_all_faults_are_reported_together(self):
        with pytest.raises(InvalidInstanceError) as caught:
            edrp.solve(self.PROBLEM, "even", workers=0, skip_full=7, more=1)
        assert [fault.place for fault in caught.value.faults] == ["more", "workers", "skip_full"]

    def test_text_of_a_command_line_is_read(self):
        problem = make_problem([queue("a", 35, 10)], {"large": 9, "small": 1})
        assert placed(problem, "even", skip_full="true", workers="2") == {"a": ["large"] * 3 + ["small"]}


def test_long_lists_are_cut_in_notes():
    assert listed(("a", "b")) == "a; b"
    assert listed(tuple("abcdefgh")) == "a; b; c; d; e; and 3 more"
    nowhere = make_problem([{"name": f"o{i}"} for i in range(9)], {"x": 1})
    assert edrp.solve(nowhere, "first-fit").notes[-2:] == ("1 of 1 replicas of o5 found no node left", "and 3 more")


@pytest.mark.parametrize("name", RULES)
def test_no_operator_gets_fewer_replicas_than_it_must_have(name):
    problem = make_problem([queue("a", 5, 10, min_replicas=3), {"name": "b", "min_replicas": 2}], {"x": None, "y": None})
    assert {operator: len(nodes) for operator, nodes in placed(problem, name).items()} == {"a": 3, "b": 2}


@pytest.mark.parametrize("method", ["first-fit", "greedy"])
def test_an_operator_with_one_node_is_not_left_without_it(method):
    """By load or along streams the other one comes first, and takes the only node that this one may run on, or has room on."""
    for constrained in ({"candidates": ["small"]}, {"resources": 2}):
        operators = [queue("first", 9.0, 20.0, resources=1), queue("second", 1.0, 20.0, **{"resources": 1, **constrained})]
        nodes = {"small": 1.0, "other": 1.0} if "candidates" in constrained else {"large": 2.0, "other": 1.0}
        found = placed(make_problem(operators, nodes), method)
        assert found == {"first": ["other"], "second": [next(iter(nodes))]}


def test_greedy_follows_wishes():
    """A spread, a distance and a preferred node, none of which has to be; each of the first nodes has room for all."""
    network = {"nodes": [{"name": f"n{i}", "zone": f"z{i % 3}"} for i in range(6)]}
    rules = [
        {"rule": "spread", "name": "spread", "operators": ["a"], "max_skew": 1, "per": "zone", "penalty": 2.0},
        {"rule": "apart", "name": "apart", "operators": ["a", "b"], "per": "node", "penalty": 3.0},
        {"rule": "linear", "name": "here", "terms": [{"operator": "b", "nodes": ["n5"]}], "lower": 1, "penalty": 1.0},
    ]
    problem = make_problem([{"name": "a", "min_replicas": 3, "max_replicas": 3}, {"name": "b"}], {}, network=network, rules=rules)
    assert placed(problem, "greedy") == {"a": ["n0", "n1", "n2"], "b": ["n5"]}
