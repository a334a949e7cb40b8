"""Proofs over classes of equal nodes equal brute force and the other proofs, and stay valid when they are stopped."""

import tracemalloc
from dataclasses import replace
from itertools import combinations, product
from typing import ClassVar

import numpy as np
import pytest
from contention import random_contention

import edrp
from edrp import _native
from edrp.check_problems.placement.enumeration import brute_force, feasible_deployments
from edrp.core.errors import UnsupportedProblemError
from edrp.core.methods import Options
from edrp.core.solution import Answer
from edrp.datasets.families.placement.clusters import CLUSTER_FAMILIES
from edrp.datasets.families.placement.clusters import cluster as drawn_cluster
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.shapes import layered_shape
from edrp.formulations.placement.equal_nodes.downtimes import compiled_quotient
from edrp.formulations.placement.equal_nodes.method import PeakRangeSearch
from edrp.formulations.placement.equal_nodes.moves import Moves
from edrp.formulations.placement.equal_nodes.realisation import MAX_FLOWS, NONE, PLACED, ItemsToPlace, realise_moves
from edrp.formulations.placement.equal_nodes.search import BestOnNodes, CaseSearch, EqualNodesParameters
from edrp.formulations.placement.equal_nodes.staying_replicas import promised_downtime, soonest, with_stays
from edrp.placement.compilation import compile_problem
from edrp.placement.node_classes import few_classes, node_classes

WEIGHTINGS = ({"response_time": 1.0}, {"response_time": 0.5, "cost": 0.5}, {"response_time": 0.1, "cost": 0.9}, {"cost": 1.0})


def cluster(streams, weights, *, nodes=4, slots=8, replicas=12, limits=None, seed=0):
    """Operators with one to three times the load that a replica serves, on equal nodes 0.5 ms apart."""
    random = np.random.default_rng(seed)
    count = 1 + max(j for _, j in streams)
    entering = np.bincount([j for _, j in streams], minlength=count)
    operators = [
        {
            "name": f"o{i}",
            "latency": {"model": "mm1", "service_rate": 200.0 / random.uniform(0.5, 3.0)},
            "max_replicas": replicas,
            "cost": 1.0,
            "external_rate": 0.0 if entering[i] else 200.0,
        }
        for i in range(count)
    ]
    return edrp.EdrpProblem(
        application={
            "operators": operators,
            "streams": [{"source": f"o{i}", "target": f"o{j}", "rate": 200.0 / entering[j]} for i, j in streams],
        },
        network={"nodes": [{"name": f"tm{u}", "resources": slots} for u in range(nodes)], "between_zones": {"delay": 5e-4}},
        weights=weights,
        limits=limits or {"response_time": 1.0, "cost": 10.0 * count},
    )


def chain(count):
    return [(i, i + 1) for i in range(count - 1)]


def layers(count, seed):
    return [tuple(int(end) for end in stream) for stream in layered_shape(count, np.random.default_rng(seed)).streams]


class TestTraffic:
    """Prices of links, tuples in flight and availability depend on which replicas share nodes."""

    LIMITS: ClassVar = {"response_time": 1.0, "cost": 30.0, "network_usage": 1.0}

    def test_pairs_on_common_nodes_are_as_many_as_fit(self):
        """Two slots: one of each per node; with three, two senders share with a receiver."""
        two = np.add.outer(np.arange(4), np.arange(4)) <= 2
        three = np.add.outer(np.arange(4), np.arange(4)) <= 3
        assert _native.most_together(two)[3, 3] == 3
        assert _native.most_together(three)[2, 2] == 2  # one node with 2 and 1, or two nodes with 1 and 1
        assert _native.most_together(two)[1, 1] == 0  # both wholly on one node, which is another case

    def test_a_chain_that_fits_on_a_node_is_proven_to_stay_there(self):
        problem = cluster(chain(3), {"network_usage": 0.9, "response_time": 0.1}, slots=16, replicas=4, limits=self.LIMITS)
        solution = edrp.solve(problem, "equal-nodes")
        assert solution.status == "optimal"
        assert solution.metrics["network_usage"] == 0.0


@pytest.mark.parametrize("seed", [*range(3), pytest.param(3, marks=pytest.mark.slow)])
def test_named_resources_of_unequal_size_fit_and_bounds_hold(seed):
    """Processor and memory both run short; what cannot be packed is not claimed."""
    random = np.random.default_rng(seed)
    problem = cluster([(0, 1), (0, 2), (1, 3), (2, 3)], {"response_time": 1.0}, nodes=3, replicas=4, seed=seed)
    operators = [
        operator.replace(resources={"cpu": float(random.choice([0.5, 1.0, 1.5])), "memory": float(random.integers(1, 4))})
        for operator in problem.application.operators
    ]
    nodes = [node.replace(resources={"cpu": 3.0, "memory": 6.0}) for node in problem.network.nodes]
    problem = problem.replace(
        application=problem.application.replace(operators=operators), network=problem.network.replace(nodes=nodes)
    )
    ours, program = edrp.solve(problem, "equal-nodes"), edrp.solve(problem, "highs")
    if program.status == "infeasible":
        assert ours.objective is None
        return
    assert program.status == "optimal"
    assert ours.bound <= program.objective * (1 + 1e-8)
    assert ours.objective >= program.objective * (1 - 1e-8)


@pytest.mark.parametrize(
    "worse",
    [
        {},
        {"done": 2.0},
        {"downtime": 2.0},
        {"shared": 2.0},
        {"finish": 2.0},
        {"processor": 0.5},
        {"memory": 0.5},
        {"node": 3.0},
    ],
)
def test_a_cheaper_label_displaces_one_only_where_it_is_no_worse_at_anything(worse):
    """The cheaper one costs 1 less, and uses more of something, is later by more than that, or is bound to a node."""
    columns = ["bound", "done", "cost", "downtime", "shared", "finish", "processor", "memory", "node"]
    label = {"done": 3.0, "cost": 5.0, "shared": 1.0, "finish": 3.0, "processor": 2.0, "memory": 2.0, "node": -1.0}
    cheaper = {**label, "cost": 4.0, **{column: label.get(column, 0.0) + more for column, more in worse.items()}}
    values = np.array([[each.get(column, 0.0) for column in columns] for each in (cheaper, label)])
    shape, weights = np.array([1, 1, 2, 0]), np.array([1.0, 1.0, 1.0, 0.0])  # one shared thing, one open operator, two loads
    left = _native.undominated_labels(values, np.arange(2), np.zeros(2, np.int64), shape, weights, np.array([1, 0, 0]))
    assert left.tolist() == ([0, 1] if worse else [0])


@pytest.mark.parametrize("weights", WEIGHTINGS)
@pytest.mark.parametrize("streams", [chain(8), layers(8, 1)])
def test_proofs_on_clusters_are_not_above_any_heuristic(streams, weights):
    problem = cluster(streams, weights, nodes=8)
    proof = edrp.solve(problem, "equal-nodes")
    assert proof.status == "optimal"
    for heuristic in ("iterated-local-search", "greedy"):
        found = edrp.solve(problem, heuristic, work_limit=0.05, start=proof.deployment)
        assert found.objective >= proof.objective * (1 - 1e-8)


def test_a_stop_leaves_a_valid_bound():
    problem = cluster(layers(16, 4), {"response_time": 1.0}, nodes=16, replicas=24)
    optimum = edrp.solve(problem, "equal-nodes").objective
    for limit in (0.01, 0.05, 0.2, 0.4):
        stopped = edrp.solve(problem, "equal-nodes", work_limit=limit)
        assert stopped.objective is None or stopped.objective >= optimum - 1e-9
        assert stopped.bound is None or stopped.bound <= optimum + 1e-9


@pytest.mark.parametrize("method", ["equal-nodes", "auto"])
@pytest.mark.parametrize("limit", [{"availability": 0.5}, {"network_usage": 10.0}])
def test_replicas_that_fit_no_node_are_infeasible_where_traffic_or_availability_is_limited(limit, method):
    problem = cluster(chain(3), {"response_time": 1.0})
    nodes = tuple(node.replace(resources=0.5) for node in problem.network.nodes)
    full = problem.replace(network=problem.network.replace(nodes=nodes), limits=problem.limits.replace(**limit))
    assert edrp.solve(full, method).status == "infeasible"


def test_auto_takes_it_on_clusters():
    solution = edrp.solve(cluster(chain(5), {"response_time": 1.0}))
    assert (solution.status, solution.method) == ("optimal", "auto: equal-nodes")


def test_what_it_does_not_model_is_refused_with_a_way_out():
    problem = cluster(chain(3), {"response_time": 1.0})
    nodes = [{"name": f"n{u}", "resources": 4 + u} for u in range(5)]
    unequal = problem.replace(network=problem.network.replace(nodes=nodes))
    with pytest.raises(UnsupportedProblemError, match=r"more than 3 classes of equal nodes.*; use highs$"):
        edrp.solve(unequal, "equal-nodes")
    storm = problem.replace(current={f"o{i}": ("tm0",) for i in range(3)}, reconfiguration="storm")
    with pytest.raises(UnsupportedProblemError, match=r"Storm.*; use highs$"):
        edrp.solve(storm, "equal-nodes")


def test_many_unlike_nodes_are_refused_before_they_are_all_compared():
    """On a thousand nodes comparing all of them takes seconds, and sorting what is known of pairs several times the tables."""
    nodes = [{"name": f"n{u}", "resources": 4, "speedup": 1 + u / 1000} for u in range(1000)]
    problem = cluster(chain(3), {"response_time": 1.0})
    problem = problem.replace(network=problem.network.replace(nodes=nodes))
    compiled = compile_problem(problem)
    table = compiled.delay.nbytes + compiled.link_cost.nbytes + compiled.link_availability.nbytes
    tracemalloc.start()
    assert few_classes(compiled, 3) is None
    assert tracemalloc.get_traced_memory()[1] < 0.1 * table
    tracemalloc.stop()
    assert "more than 3 classes" in edrp.methods()["equal-nodes"].refusal(problem)


def test_classes_are_those_of_comparing_all_pairs():
    generator = np.random.default_rng(3)
    base = cluster(chain(2), {"response_time": 1.0}, nodes=9)
    for _ in range(40):
        zones = generator.integers(0, 3, 9)
        slots = generator.integers(3, 5, 9).tolist()
        nodes = [{"name": f"tm{u}", "resources": slots[u], "zone": f"z{zone}"} for u, zone in enumerate(zones)]
        delays = {"within_zone": {"delay": 0.001}, "between_zones": {"delay": float(generator.choice([0.001, 0.02]))}}
        compiled = compile_problem(base.replace(network=edrp.Network(nodes=nodes, **delays)))
        number = node_classes(compiled)
        for u, v in combinations(range(9), 2):
            order = np.arange(9)
            order[[u, v]] = v, u
            same = (compiled.capacity[u] == compiled.capacity[v]).all()
            same &= (compiled.delay == compiled.delay[np.ix_(order, order)]).all()
            assert (number[u] == number[v]) == same


def test_one_different_property_makes_a_class_of_its_own():
    problem = cluster(chain(3), {"response_time": 1.0})
    assert node_classes(compile_problem(problem)).tolist() == [0, 0, 0, 0]
    for field, value in {"resources": 7, "speedup": 2.0, "spawn_time": 1.0, "store_delay": 0.1, "availability": 0.9}.items():
        nodes = [node.replace(**{field: value}) if node.name == "tm2" else node for node in problem.network.nodes]
        other = problem.replace(network=problem.network.replace(nodes=nodes))
        assert node_classes(compile_problem(other)).tolist() == [0, 0, 1, 0], field
    far = problem.replace(network=problem.network.replace(links=[{"source": "tm1", "target": "tm3", "delay": 0.1}]))
    assert node_classes(compile_problem(far)).tolist() == [0, 1, 0, 1]
    pinned = problem.application.operators[0].replace(candidates=("tm3",))
    operators = (pinned, *problem.application.operators[1:])
    other = problem.replace(application=problem.application.replace(operators=operators))
    assert node_classes(compile_problem(other)).tolist() == [0, 0, 0, 1]


def with_weight_of_a_peak_load(problem, metric, weight):
    """The problem with a weight of a peak load, and the rest split between response time and cost."""
    rest = 1.0 - weight
    others = {"response_time": 0.6 * rest, "cost": 0.4 * rest} if rest else {}
    return problem.replace(weights=problem.weights.of_metrics({metric: weight, **others}))


@pytest.mark.parametrize("factor", [1.0, 1 - 1e-13])
def test_a_limit_that_is_the_least_peak_load_is_kept_to(factor):
    queue = {"model": "mm1", "service_rate": 10.0}
    source = {"name": "source", "latency": queue, "external_rate": 5.0, "cost": 1.0, "usage": {"cpu": {"per_tuple": 0.1}}}
    problem = edrp.EdrpProblem(
        application={
            "operators": [source, {"name": "sink", "latency": queue, "cost": 1.0, "max_replicas": 3}],
            "streams": [{"source": "source", "target": "sink"}],
        },
        network={
            "nodes": [{"name": name, "resources": 2, "capacity": {"cpu": 0.7}} for name in "ab"],
            "between_zones": {"delay": 0.01},
        },
        weights={"cost": 0.5, "peak_load": 0.5},
        limits={"cost": 4.0, "peak_load": 0.5 / 0.7 * factor},
    )
    solution = edrp.solve(problem, "equal-nodes")
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(0.5 * 2.0 / 4.0 + 0.5, rel=1e-8)


class GuessingProof:
    """Proves nothing: it returns the best of the feasible deployments or any other, and a bound that lies below."""

    def __init__(self, deployments, seed):
        self.deployments, self.random = deployments, np.random.default_rng(seed)

    def __call__(self, problem, options):
        fitting = [own for own in self.deployments if problem.evaluate(own).feasible]
        if not fitting:
            return Answer("infeasible", "finished")
        values = [problem.evaluate(own).objective for own in fitting]
        bound = min(values) * self.random.uniform(0.7, 1.0)
        found = fitting[self.random.integers(len(fitting))] if self.random.random() < 0.8 else None
        return Answer("none" if found is None else "feasible", "time_limit", found, bound=bound)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weight", [0.4, 1.0])
def test_bounds_over_ranges_of_a_peak_load_are_valid_whatever_proofs_leave_open(seed, weight):
    problem = random_contention(seed, operators=(2, 2), nodes=(2, 2)).replace(limits={"response_time": 2.0, "cost": 60.0})
    problem = with_weight_of_a_peak_load(problem, "peak_load", weight)
    deployments = [each.deployment for each in feasible_deployments(problem)]
    best = min((problem.evaluate(own).objective for own in deployments), default=None)
    answer = PeakRangeSearch(problem, "peak_load", GuessingProof(deployments, seed), Options()).run()
    if best is None:
        assert answer.status == "infeasible"
        return
    assert answer.status in ("none", "feasible", "optimal")
    assert answer.bound is not None
    assert answer.bound <= best * (1 + 1e-9)
    assert answer.status != "optimal" or answer.objective == pytest.approx(best)


def test_a_peak_load_that_no_proof_keeps_from_zero_is_bracketed():
    problem = random_contention(0, operators=(2, 2), nodes=(2, 2)).replace(limits={"response_time": 2.0, "cost": 60.0})
    problem = with_weight_of_a_peak_load(problem, "peak_load", 1.0)
    search = PeakRangeSearch(problem, "peak_load", lambda problem, options: Answer("none", "finished"), Options())
    search.ranges = [search.ranges[0]._replace(low=0.0, high=1.0)]
    answer = search.run()
    assert (answer.status, answer.bound) == ("none", 0.0)


FAMILIES = {family.name: family for family in CLUSTER_FAMILIES}
RECONFIGURATIONS = {
    "longer than promised": drawn_cluster(10, np.random.default_rng(3), shape=layered_shape, size=(8, 8, 12), running=True),
    "beside what stays": FAMILIES["layered-cluster-running"].make(10, np.random.default_rng(1000)),
    "large states": FAMILIES["sequential-cluster-running"].make(15, np.random.default_rng(1000)),
}


@pytest.mark.parametrize("name", RECONFIGURATIONS)
def test_reconfigurations_are_proven_whose_replicas_stay_or_move_a_little_longer_than_promised(name):
    """Downtimes and streams within a node that cannot be had as promised, and room that is taken, left gaps of up to 2 %."""
    solution = edrp.solve(RECONFIGURATIONS[name], "equal-nodes")
    assert (solution.status, solution.stopped_because) == ("optimal", "finished")


def test_a_dearer_operator_that_is_sooner_does_not_displace_one_on_a_path_that_is_not_the_slowest():
    """Two operators without streams: what the first one gains in time is worth nothing where the second one is slower."""
    problem = random_cluster(700157, running=True)
    solution = edrp.solve(problem, "equal-nodes")
    assert solution.objective == pytest.approx(brute_force(problem)[0], rel=1e-12)


@pytest.mark.parametrize("seed", range(19))
def test_what_has_to_stay_stays_in_every_deployment_with_that_downtime(seed):
    """Against all feasible deployments, for the least, a middle and the longest of their downtimes."""
    problem = random_cluster(seed, running=True)
    quotient = compiled_quotient(problem)
    moved = [entry for entry in feasible_deployments(problem) if entry.deployment != problem.current]
    if quotient.moves is None or not moved:
        return
    order, names = quotient.model.order, [node.name for node in problem.network.nodes]
    operators = [problem.application.operators[i].name for i in order]
    downtimes = np.array([entry.evaluation.metrics["downtime"] for entry in moved])
    for longest in np.quantile(downtimes, [0.0, 0.5, 1.0], method="lower"):
        stays = with_stays(replace(quotient, longest_downtime=float(longest))).stays
        for entry, downtime in zip(moved, downtimes, strict=True):
            if downtime <= longest:
                counts = [[entry.deployment[name].count(node) for node in names] for name in operators]
                assert (np.array(counts) >= stays).all()


def test_items_are_placed_if_and_only_if_they_can_be():
    """Against all placements of one block and two operators with boxes on three nodes."""
    random = np.random.default_rng(0)
    outcomes = set()
    for _ in range(60):
        free, load = random.integers(1, 5, (3, 1)), random.integers(1, 4, (1, 1))
        fewest = random.integers(0, 2, (4, 3))
        items = ItemsToPlace(
            free=free.astype(float),
            unit=np.ones(1),
            kind=np.arange(3),
            load=load.astype(float),
            allowed=random.random((1, 3)) < 0.7,
            total=random.integers(1, 6, 2),
            first=np.array([0, 2, 4]),
            fewest=fewest,
            most=fewest + random.integers(0, 3, (4, 3)),
        )
        node, counts = np.empty(1, np.int64), np.empty((2, 3), np.int64)
        outcome = _native.place_items(items, MAX_FLOWS, node, counts)
        configurations = [
            [np.array(c) for c in product(range(6), repeat=3) if sum(c) == items.total[i] and any(
                (items.fewest[b] <= c).all() and (c <= items.most[b]).all() for b in range(items.first[i], items.first[i + 1])
            )]
            for i in range(2)
        ]  # fmt: skip
        rooms = [free[:, 0] - load[0, 0] * (np.arange(3) == v) for v in np.flatnonzero(items.allowed[0])]
        possible = any((one + other <= room).all() for one, other in product(*configurations) for room in rooms)
        assert outcome == (PLACED if possible else NONE)
        outcomes.add(outcome)
        if possible:
            assert items.allowed[0, node[0]]
            assert (counts.sum(axis=0) + load[0, 0] * (np.arange(3) == node[0]) <= free[:, 0]).all()
            assert all(any((row == c).all() for c in configurations[i]) for i, row in enumerate(counts))
    assert outcomes == {PLACED, NONE}


@pytest.mark.parametrize("seed", range(19))
def test_what_nodes_are_too_small_for_takes_longer_in_every_deployment(seed):
    """No deployment of a placement over classes has less downtime than the soonest, even where classes alone promise it."""
    problem = random_cluster(seed, running=True)
    quotient = compiled_quotient(problem)
    if quotient.moves is None or quotient.traffic is not None:
        return
    incumbent = BestOnNodes(np.inf, lambda *_: False, lambda *_: False)
    case = CaseSearch(with_stays(quotient), 0, EqualNodesParameters(), incumbent, lambda: False)
    case._prepare(60_000, 5)
    for pattern in case._search().run(np.inf, 200, 20, lambda: False).patterns if np.isfinite(case.bound) else []:
        seconds, _ = soonest(case.quotient, pattern)
        counts, *_ = realise_moves(case.quotient, pattern, min(seconds, case.quotient.longest_downtime + 1.0) - 1e-6)
        assert seconds <= promised_downtime(case.quotient, pattern) or counts is None


LIMITS = {"response_time": 1.0, "cost": 100_000.0, "downtime": 2000.0, "availability": 0.8}


@pytest.mark.parametrize("seed", range(6))
def test_no_move_to_some_replicas_takes_less_than_the_least_that_is_claimed(seed):
    """All counts of one operator on four nodes that are not equally near the store, with up to three on each."""
    random = np.random.default_rng(seed)
    delays, spawns = random.uniform(0.0, 1.0, 4), random.uniform(0.0, 0.3, 4)
    names = [f"n{u}" for u in range(4)]
    running = [names[u] for u in random.integers(0, 4, 3)]
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": "a", "max_replicas": 6, "external_rate": 1.0, "state_size": 1e6, "code_size": 2e5}]},
        network={
            "nodes": [{"name": names[u], "store_delay": delays[u], "spawn_time": spawns[u]} for u in range(4)],
            "store": {"bandwidth": 2e6},
        },
        weights={"downtime": 1.0},
        limits={"downtime": 100.0},
        current={"a": running},
    )
    moves = Moves(compile_problem(problem), np.zeros(1, np.int64), np.full((1, 4), 3))
    least = {}
    for counts in product(range(4), repeat=4):
        after = [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
        if 1 <= len(after) <= 6 and sorted(after) != sorted(running):
            seconds = problem.evaluate(edrp.Deployment({"a": after})).metrics["downtime"]
            least[len(after)] = min(least.get(len(after), np.inf), seconds)
    claimed = {replicas: moves.spread(0, replicas, np.full(4, min(3, replicas))) for replicas in least}
    assert all(claimed[replicas] <= least[replicas] * (1 + 1e-12) for replicas in least), (claimed, least)
    assert any(claimed[replicas] == pytest.approx(least[replicas]) for replicas in least)


def test_the_way_to_a_class_need_not_take_as_long_as_the_way_back():
    """From x to y it takes 0.1 s, back 0.5 s, which the limit on response time would forbid."""
    names, delays = ["x0", "x1", "y0", "y1"], {"xy": 0.1, "yx": 0.5, "xx": 0.2, "yy": 0.2}
    links = [{"source": u, "target": v, "delay": delays[u[0] + v[0]]} for u in names for v in names if u != v]
    operators = [{"name": "a", "external_rate": 1.0, "candidates": names[:2]}, {"name": "b", "candidates": names[2:]}]
    problem = edrp.EdrpProblem(
        application={"operators": operators, "streams": [{"source": "a", "target": "b"}]},
        network={"nodes": [{"name": name, "resources": 2} for name in names], "links": links, "symmetric": False},
        weights={"response_time": 1.0},
        limits={"response_time": 0.3},
    )
    solution = edrp.solve(problem, "equal-nodes")
    assert (solution.status, solution.metrics["response_time"]) == ("optimal", 0.1)


def test_nodes_without_resources_take_all_that_moves():
    queue = {"model": "mm1", "service_rate": 100.0}
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": "o0", "latency": queue}, {"name": "o1"}]},
        network={"nodes": [{"name": "n0", "speedup": 2.0, "spawn_time": 1.0}, {"name": "n1"}]},
        current={"o0": ["n1"], "o1": ["n1"]},
        weights={"response_time": 3 / 13, "cost": 5 / 13, "downtime": 1 / 13, "availability": 4 / 13},
        limits=LIMITS,
    )
    solution = edrp.solve(problem, "equal-nodes")
    assert (solution.status, solution.objective) == ("optimal", pytest.approx(0.0011923076923076924))


def test_a_full_node_is_left_for_one_without_limit():
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": "o0"}, {"name": "o1"}]},
        network={"nodes": [{"name": "free"}, {"name": "full", "resources": 0.0}], "store": {"delay": 0.01}},
        current={"o0": ["full"], "o1": ["full"]},
        weights={"cost": 0.6, "downtime": 0.4},
        limits={"cost": 1.0, "downtime": 1.0},
    )
    solution = edrp.solve(problem, "equal-nodes")
    assert (solution.status, solution.objective) == ("optimal", pytest.approx(edrp.solve(problem, "highs").objective))
