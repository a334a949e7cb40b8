"""The search over counts per operator and node: its bookkeeping, its moves, and what it finds."""

from itertools import combinations_with_replacement, islice, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edrp import _native
from edrp.heuristics.placement.search.count_arrays import NO_OPERATOR, count_arrays, count_paths
from edrp.heuristics.placement.search.count_engine import OPEN, CountEngine, CountState
from edrp.heuristics.placement.search.search_engine import ColonyParameters, KickParameters, PlacementValue
from edrp.placement.compilation import compile_problem
from edrp.placement.latency_aware import LatencyAwareProblem

Fields = dict[str, Any]


def random_topology(seed: int, *, most: int = 6, nodes: int = 5, load: float = 0.7) -> LatencyAwareProblem:
    """Cycles, loops of an operator to itself, candidates, two resources, zones or listed links, heavy or no latency."""
    random = np.random.default_rng(seed)
    names, count = [f"n{u}" for u in range(random.integers(2, nodes + 1))], int(random.integers(1, 5))
    operators: list[Fields] = []
    for i in range(count):
        resources = {"cpu": float(random.integers(1, 5)), "memory": float(random.integers(0, 4))}
        operators.append({"name": f"o{i}", "instances": int(random.integers(1, most + 1)), "resources": resources})
        if random.random() < 0.2:
            operators[-1]["candidates"] = sorted(random.choice(names, size=random.integers(1, len(names)), replace=False))
    pairs = [(i, j) for i in range(count) for j in range(count) if random.random() < (0.2 if j <= i else 0.7)]
    streams = [{"source": f"o{i}", "target": f"o{j}", "rate": float(random.integers(0, 9))} for i, j in pairs]
    total = {name: sum(o["instances"] * o["resources"][name] for o in operators) for name in ("cpu", "memory")}
    described: list[Fields] = []
    for name in names:
        share = random.choice([0.5, 1.0, 2.0]) / len(names) / load
        described.append({"name": name, "resources": {resource: share * amount for resource, amount in total.items()}})
    network: Fields = {"nodes": described}
    if random.random() < 0.5:
        for node in described:
            node["zone"] = f"z{random.integers(2)}"
        network |= {"within_zone": {"delay": 0.01}, "between_zones": {"delay": 0.05}}
    else:
        ends = [(u, v) for k, u in enumerate(names) for v in names[k + 1 :]]
        network["links"] = [{"source": u, "target": v, "delay": float(random.uniform(0.01, 0.1))} for u, v in ends]
    weights = {"latency": float(random.choice([0.0, 1e-6, 1e-2])), "supervisors": float(random.choice([0.0, 1.0]))}
    return LatencyAwareProblem(application={"operators": operators, "streams": streams}, network=network, weights=weights)


def evaluated(problem: LatencyAwareProblem, counts: np.ndarray) -> tuple[int, float]:
    """Broken limits and objective, by the problem's own plain evaluation."""
    found = problem.evaluate(compile_problem(problem).deployment(counts))
    return len(found.broken), found.objective


def same(value: PlacementValue, expected: tuple[int, float]) -> bool:
    """Whether a value has the expected violations and, up to rounding, objective."""
    return value.violations == expected[0] and value.objective == pytest.approx(expected[1], abs=1e-9)


def no_worse(value: PlacementValue, best: PlacementValue) -> bool:
    """Whether a value comes no later than another one: violations first, then overload, then objective, up to rounding."""
    for ours, theirs in zip(value, best, strict=True):
        if abs(ours - theirs) > 1e-9:
            return ours < theirs
    return True


def engine(problem: LatencyAwareProblem, seed: int = 0) -> CountEngine:
    made = CountEngine(compile_problem(problem))
    made.reset(None, np.random.default_rng(seed))
    return made


def network(cpu: list[float], **fields: Any) -> Fields:
    """Nodes n0, n1, … with `cpu`."""
    nodes = [{"name": f"n{u}", "resources": {"cpu": capacity}} for u, capacity in enumerate(cpu)]
    return {"nodes": nodes, "between_zones": {"delay": 0.0}, **fields}


def chain(instances: list[int], cpu: list[float], streams: list[tuple[int, int, float]], net: Fields, **fields: Any) -> Any:
    """Operators o0, o1, … and streams between them; all of a node's cpu may be used."""
    operators = [
        {"name": f"o{i}", "instances": many, "resources": {"cpu": demand}}
        for i, (many, demand) in enumerate(zip(instances, cpu, strict=True))
    ]
    joined = [{"source": f"o{i}", "target": f"o{j}", "rate": rate} for i, j, rate in streams]
    fields = {"utilisation": {"cpu": 1.0}, **fields}
    return LatencyAwareProblem(application={"operators": operators, "streams": joined}, network=net, **fields)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from([0.3, 0.8, 1.3]))
def test_value_and_counts_are_what_the_problem_says(seed: int, load: float) -> None:
    """After the opening, every step of a climb, of kicks and of a colony; above load 1 nothing fits."""
    problem = random_topology(seed, load=load)
    made = engine(problem, seed)
    assert same(made.value(), evaluated(problem, made.counts()))
    best = made.value()
    steps = [made.climb("repaired"), made.kicks(KickParameters(kicks=8), seed), made.colony(ColonyParameters(iterations=2), 1)]
    for search in steps:
        for value in search:
            assert no_worse(value, best)
            best = value
        counts = made.counts()
        assert same(made.value(), evaluated(problem, counts))
        assert (counts.sum(axis=1) == compile_problem(problem).max_replicas).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1_000_000))
def test_what_changes_keep_up_to_date_is_what_a_count_finds(seed: int) -> None:
    """After random changes, and what the gain of a move, its relief and its latency say before it is made."""
    problem, random = random_topology(seed, load=0.9), np.random.default_rng(seed)
    compiled = compile_problem(problem)
    paths = count_paths(compiled)
    arrays = count_arrays(compiled, paths)
    state = CountState.nothing(arrays)
    operators, nodes = compiled.candidate.shape
    for _ in range(30):
        a, s = int(random.integers(operators)), int(random.integers(nodes))
        waiting = arrays.instances[a] - state.counts.degree[a]
        _native.put_instances(arrays, state, a, s, int(random.integers(-state.counts.replicas[a, s], waiting + 1)))
    held = state.counts.replicas
    opened = np.flatnonzero(held.any(axis=0))
    assert sorted(state.opened[: state.counters[OPEN]]) == opened.tolist()
    assert (state.total == held.sum(axis=0)).all()
    assert (state.counts.degree == held.sum(axis=1)).all()
    for a, number in enumerate(state.counts.number):
        assert sorted(state.counts.hosts[a, :number]) == np.flatnonzero(held[a]).tolist()
    assert np.allclose(state.counts.used, held.T @ compiled.demand)
    others = arrays.pair - np.diag(np.diag(arrays.pair))
    assert np.allclose(state.joined, others @ held)
    for k, first in enumerate(arrays.class_start[:-1]):
        empty = state.empty[first : first + state.empty_number[k]]
        assert sorted(empty) == [s for s in np.flatnonzero(arrays.class_of == k) if not held[:, s].any()]

    def everything() -> tuple[float, float, float]:
        together = sum(held[a, opened] @ held[b, opened] * arrays.pair[a, b] for a in range(operators) for b in range(a + 1))
        return together, _native.path_latency(paths, state.counts, NO_OPERATOR, 0, 0, 0), held[:, opened].sum()

    movable = [(a, s) for a in range(operators) for s in opened if held[a, s]]
    if not movable or nodes == 1:
        return
    a, s = movable[random.integers(len(movable))]
    d = int(random.choice([u for u in range(nodes) if u != s]))
    q = int(random.integers(1, held[a, s] + 1))
    predicted = _native.colocation_gain(arrays.pair, held, state.joined, a, s, d, q)
    latency = _native.path_latency(paths, state.counts, a, q, s, d)
    before = everything()
    _native.put_instances(arrays, state, a, s, -q)
    _native.put_instances(arrays, state, a, d, q)
    opened = np.flatnonzero(held.any(axis=0))
    after = everything()
    assert after[0] - before[0] == pytest.approx(predicted, abs=1e-12)
    assert after[1] == latency


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1_000_000))
def test_no_batch_that_fits_improves_a_climbed_placement(seed: int) -> None:
    """Any number of instances of any operator from any node to any other, without latency."""
    problem = random_topology(seed, load=0.6).replace(weights={"latency": 0.0})
    made = engine(problem)
    list(made.climb("repaired"))
    counts, value = made.counts(), made.value()
    assume(not value.violations)
    better = []
    for a, s, d in product(range(len(counts)), range(counts.shape[1]), range(counts.shape[1])):
        for q in range(1, int(counts[a, s]) + 1 if s != d else 0):
            changed = counts.copy()
            changed[a, s] -= q
            changed[a, d] += q
            broken, objective = evaluated(problem, changed)
            if not broken and objective < value.objective - 1e-7:
                better.append((q, a, s, d))
    assert better == []


def best_of_all(problem: LatencyAwareProblem) -> float:
    """The least objective of all placements that break nothing; infinite where there is none."""
    compiled = compile_problem(problem)
    rows = []
    for a, many in enumerate(compiled.max_replicas):
        nodes = compiled.candidates(a).tolist()
        spread = combinations_with_replacement(nodes, int(many))
        rows.append([np.bincount(nodes, minlength=len(compiled.nodes)) for nodes in spread])
    least = np.inf
    for chosen in product(*rows):
        counts = np.array(chosen)
        if (counts.T @ compiled.demand <= compiled.capacity * (1 + 1e-9)).all():
            broken, objective = evaluated(problem, counts)
            assert not broken
            least = min(least, objective)
    return least


@pytest.mark.parametrize("seed", range(24))
def test_kicks_reach_the_optimum_of_tiny_topologies(seed: int) -> None:
    problem = random_topology(seed, most=3, nodes=3, load=0.6)
    least = best_of_all(problem)
    made = engine(problem)
    list(made.kicks(KickParameters(kicks=100), 0))
    if np.isinf(least):
        assert made.value().violations > 0
    else:
        assert made.value().violations == 0
        assert made.value().objective == pytest.approx(least, abs=1e-9)


def test_batches_of_an_operator_that_talks_to_itself_stay_together() -> None:
    """With 4 instances on each of two nodes, all on one node co-locate 64 of 64 pairs instead of 32."""
    problem = chain([8], [1.0], [(0, 0, 1.0)], network([8.0, 8.0]))
    made = engine(problem)
    made.reset(np.array([[4, 4]]), np.random.default_rng(0))
    assert made.value().objective == pytest.approx(0.5 + 0.5 + 1.0)
    list(made.climb("repaired"))
    assert made.value().objective == pytest.approx(0.5)


def test_trades_make_room_for_each_other() -> None:
    """Both nodes are full, each with half of either pair: one trade of three for three brings both together."""
    problem = chain([3, 3, 3, 3], [1.0, 1.0, 1.0, 1.0], [(0, 1, 1.0), (2, 3, 1.0)], network([6.0, 6.0]))
    compiled = compile_problem(problem)
    apart = np.zeros((4, 2), np.int64)
    for name, node in (("o0", 0), ("o2", 0), ("o1", 1), ("o3", 1)):
        apart[compiled.operators.index(name), node] = 3
    made = CountEngine(compiled)
    made.reset(apart, np.random.default_rng(0))
    list(made.climb("repaired"))
    assert made.value().objective == pytest.approx(1.0)  # both nodes in use, nothing between them


def test_overloaded_nodes_are_relieved_before_the_score_counts() -> None:
    """Everything on one node has the best score of all, and is three times too much."""
    problem = chain([6, 6], [1.0, 1.0], [(0, 1, 1.0)], network([4.0, 4.0, 4.0]))
    compiled = compile_problem(problem)
    made = CountEngine(compiled)
    made.reset(np.array([[6, 0, 0], [6, 0, 0]]), np.random.default_rng(0))
    assert made.value()[:2] == (1, 2.0)
    list(made.climb("repaired"))
    assert made.value()[:2] == (0, 0.0)


def test_what_fits_nowhere_ends_with_the_least_overload() -> None:
    """Ten instances for eight places: two too many, all of them on one node."""
    made = engine(chain([10], [1.0], [], network([4.0, 4.0])))
    list(made.climb("repaired"))
    assert made.value()[:2] == pytest.approx((1, 0.5))


def test_where_latency_weighs_nodes_of_one_zone_are_found() -> None:
    """Two nodes are needed; a climb leaves the far one for an empty equal one nearby."""
    nodes = [{"name": f"n{u}", "zone": zone, "resources": {"cpu": 4.0}} for u, zone in enumerate("abb")]
    net = {"nodes": nodes, "within_zone": {"delay": 0.001}, "between_zones": {"delay": 0.5}}
    problem = chain([4, 4], [1.0, 1.0], [(0, 1, 1.0)], net, weights={"latency": 1e-3})
    compiled = compile_problem(problem)
    made = CountEngine(compiled)
    made.reset(np.array([[2, 2, 0], [2, 2, 0]]), np.random.default_rng(0))
    list(made.climb("repaired"))
    assert problem.evaluate(compiled.deployment(made.counts())).metrics["path_latency"] == 0.001


def test_whatever_fits_on_one_node_is_opened_there() -> None:
    """On the only one of a thousand hosts that is large enough."""
    problem = chain([40, 40], [1.0, 1.0], [(0, 1, 1.0)], network([20.0] * 500 + [80.0] + [20.0] * 499))
    made = engine(problem)
    assert made.counts()[:, 500].tolist() == [40, 40]


WEB = [(0, 1, 5.0), (0, 2, 3.0), (1, 3, 2.0), (2, 3, 1.0), (3, 3, 1.0)]
"""Streams of a diamond whose last operator talks to itself."""


def test_a_search_may_be_dropped_at_any_step() -> None:
    """The best is kept, and the next search goes on from it."""
    problem = chain([31, 22, 13, 27], [1.0, 2.0, 1.0, 1.5], WEB, network([20.0] * 9))
    made = engine(problem)
    list(islice(made.colony(ColonyParameters(), 3), 7))
    value = made.value()
    assert same(value, evaluated(problem, made.counts()))
    list(islice(made.climb("repaired"), 1))
    assert made.value() <= value
    assert same(made.value(), evaluated(problem, made.counts()))


def test_ants_learn_which_operators_belong_together() -> None:
    """Two pairs that fill a node each, of instances that are all alike."""
    problem = chain([20, 20, 20, 20], [1.0] * 4, [(0, 1, 1.0), (2, 3, 1.0)], network([40.0, 40.0]))
    made = engine(problem)
    list(made.colony(ColonyParameters(iterations=30), 0))
    assert made.value().objective == pytest.approx(1.0)


def test_listed_links_in_a_zone_make_a_node_its_own_class() -> None:
    """n2 is like n1 but for a slow link: where latency weighs, the pair must not end there."""
    nodes = [{"name": f"n{u}", "zone": "a", "resources": {"cpu": 2.0}} for u in range(3)]
    slow = [{"source": "n0", "target": "n2", "delay": 0.9}, {"source": "n1", "target": "n2", "delay": 0.9}]
    net = {"nodes": nodes, "links": slow, "within_zone": {"delay": 0.1}, "between_zones": {"delay": 0.2}}
    problem = chain([2, 2], [1.0, 1.0], [(0, 1, 1.0)], net, weights={"latency": 1e-2})
    compiled = compile_problem(problem)
    made = engine(problem)
    list(made.kicks(KickParameters(kicks=20), 0))
    assert problem.evaluate(compiled.deployment(made.counts())).metrics["path_latency"] == 0.1
