"""Replicas on slow nodes serve less, on fast ones no more: evaluation, prediction and all methods agree on that."""

from __future__ import annotations

import numpy as np
import pytest

import edrp
from edrp.certificates import checker
from edrp.check_problems.placement.enumeration import brute_force, deployments
from edrp.check_problems.placement.over_time import brute_force_policy, brute_force_sequence
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.placement.policy import EdrpPolicyProblem
from edrp.placement.sequence import EdrpSequence

SPEEDUPS = (0.5, 0.8, 1.0, 1.5, 2.0)
EXACT = ("highs", "eliminate", "equal-nodes")
CONSTRUCTIVE = ("greedy", "first-fit", "largest-node", "random", "even", "resource-aware", "ds2")
SEARCHES = (*CONSTRUCTIVE, "hill-climbing", "annealing", "ant-system")
QUEUE = {"model": "mm1", "service_rate": 20.0}


def one_operator(rate, speedup, latency=QUEUE, replicas=1, **node):
    """An operator with a number of replicas on a node of a speed-up."""
    return edrp.EdrpProblem(
        application={"operators": [{"name": "work", "external_rate": rate, "latency": latency, "max_replicas": replicas}]},
        network={"nodes": [{"name": "b", "speedup": speedup, **node}]},
        weights={"response_time": 1.0},
        limits={"response_time": 1e6},
    )


@pytest.mark.parametrize("speedup", SPEEDUPS)
@pytest.mark.parametrize(
    ("latency", "served", "inclusive"),
    [
        (QUEUE, 20.0, False),
        ({"model": "capacity-curve", "replicas": [1, 2], "capacities": [30.0, 40.0]}, 20.0, False),
        ({"model": "table", "rates": [1.0, 20.0], "latencies": [0.1, 0.2]}, 20.0, True),
    ],
)
def test_a_node_is_overloaded_where_its_predicted_share_says_so(latency, served, inclusive, speedup):
    """Two replicas on the node; at the limit itself a queue is unstable, and a table was measured."""
    limit, placed = 2 * served * min(1.0, speedup), {"work": ["b", "b"]}
    for rate, feasible in ((0.999 * limit, True), (limit, inclusive), (1.001 * limit, False)):
        problem = one_operator(rate, speedup, latency, replicas=2)
        assert problem.evaluate(placed).feasible == feasible
        assert edrp.predict_throughput(problem, placed).share == pytest.approx(min(1.0, limit / rate), rel=1e-12)
        assert edrp.solve(problem, "highs").status == ("optimal" if feasible else "infeasible")


def test_a_polynomial_serves_any_rate_on_a_slow_node():
    problem = one_operator(99.0, 0.5, {"model": "polynomial", "coefficients": [0.01]})
    assert edrp.solve(problem, "eliminate").objective == pytest.approx(0.02 / 1e6)


def test_the_sentence_names_operator_node_rate_and_what_is_served():
    (sentence,) = one_operator(11.0, 0.5).evaluate({"work": ["b"]}).broken
    assert sentence == "work is overloaded on b: 11 tuples/s for each replica, which serves 10 at the speed-up of 0.5"


def test_a_clash_names_the_load_that_a_slow_node_does_not_serve():
    problem = one_operator(11.0, 0.5, replicas=2, resources=1)
    assert edrp.solve(problem, "highs").clashes[0].startswith("work: its load of 11 tuples/s needs at least 2")
    nodes = [{"name": "a", "resources": 0}, {"name": "b", "speedup": 0.5, "resources": 1}]
    problem = one_operator(11.0, 1.0, replicas=2).replace(network={"nodes": nodes})
    clashes = edrp.solve(problem, "highs").clashes
    assert "work: its load of 11 tuples/s needs at least 1 replica, and more where some run on b, which is slower" in clashes
    assert any(clash.startswith("resources of the nodes: a 0 and b 1") for clash in clashes)


def latency_model(random, load, most):
    """A model under which some number of replicas on nodes of some speed serves hardly more, or less, than the load."""
    replicas = int(random.integers(1, most + 1))
    served = load / replicas / float(min(1.0, random.choice(SPEEDUPS[:3]))) * float(random.choice([0.97, 1.03, 1.2]))
    queue = {"model": "mm1", "service_rate": served}
    curve = {"model": "capacity-curve", "replicas": [1, 4], "capacities": [1.3 * served, max(1.3, 0.9 * replicas) * served]}
    table = {"model": "table", "rates": [0.3 * served, served], "latencies": [0.02, 0.1]}
    polynomial = {"model": "polynomial", "coefficients": [0.01, 0.001]}
    return random.choice([queue, queue, curve, table, polynomial, None])


def slow_nodes_problem(seed, *, equal=False):
    """A random problem of up to four nodes, whose speeds and latencies are drawn anew; `equal`: each speed is a zone's."""
    random = np.random.default_rng(seed)
    if equal:
        drawn = random_cluster(seed, max_combinations=1e3, running=seed % 2 == 1)
    else:
        drawn = random_problem(seed, operators=(1, 3), nodes=(2, 4), combinations_limit=1e3)
    document, speeds = drawn.model_dump(mode="json"), {}
    for node in document["network"]["nodes"]:
        node["speedup"] = speeds.setdefault(node["zone"] if equal else node["name"], float(random.choice(SPEEDUPS)))
    for operator in document["application"]["operators"]:
        load = drawn.application.load(operator["name"])
        operator["latency"] = latency_model(random, load, operator["max_replicas"]) if load else None
    weights = {"response_time": 0.4, "cost": 0.3, "downtime": 0.3} if drawn.current else {"response_time": 0.6, "cost": 0.4}
    return edrp.EdrpProblem(**{**document, "weights": weights, "limits": {"response_time": 1.0, "cost": 40.0, "downtime": 5.0}})


def judge(problem, method, best, **options):
    """An optimum, or that there is none, as by enumeration; what searches find is feasible."""
    solution = edrp.solve(problem, method, **options)
    if solution.status == "infeasible":
        assert best is None
    elif solution.status == "optimal":
        assert solution.objective == pytest.approx(best, rel=1e-5)
    else:
        assert solution.status == "none" or solution.objective >= best - 1e-6
    return solution


def agree(seed):
    """All methods of kind `edrp`, and certificates, on a problem of unequal nodes and on one of few classes."""
    for equal in (False, True):
        problem = slow_nodes_problem(seed, equal=equal)
        best, _ = brute_force(problem)
        for method in EXACT:
            if edrp.methods(problem.kind)[method].refusal(problem) is None:
                assert judge(problem, method, best).status in ("optimal", "infeasible")
        assert judge(problem, "highs", best, program="literal").status in ("optimal", "infeasible")
        for method in SEARCHES:
            judge(problem, method, best, work_limit=0.02)
        if not equal:
            assert judge(problem, "eliminate", best, certify=True).certificate is not None


def agree_over_time(seed):
    """A sequence and a policy, whose loads bring other thresholds each."""
    problem = slow_nodes_problem(seed, equal=seed % 2 == 1)
    fields = {
        "application": problem.application,
        "network": problem.network,
        "changes": {"change": 0.1, "started_replicas": 0.05},
    }
    fields |= {"weights": {"response_time": 0.6, "cost": 0.4}, "limits": {"response_time": 1.0, "cost": 40.0}}
    source = problem.application.operators[0]
    levels = [{"external_rates": {source.name: factor * source.external_rate}} for factor in (0.6, 1.0, 0.8)]
    sequence = EdrpSequence(**fields, periods=[{"duration": 2.0, **level} for level in levels])
    best = brute_force_sequence(sequence)
    for method in ("highs", "priced-course", "myopic", "static-deployment"):
        judge(sequence, method, best)
    named = [{"name": name, **level} for name, level in zip(("low", "high"), levels[:2], strict=True)]
    policy = {"levels": named, "transitions": [[0.8, 0.2], [0.5, 0.5]], "period": 2.0, "discount": 0.8, "level": "low"}
    policy_problem = EdrpPolicyProblem(**fields, **policy)
    judge(policy_problem, "pool-policy", brute_force_policy(policy_problem))


def agree_on_ranges(seed):
    """Ranges of tasks on nodes of other speeds."""
    random, problem = np.random.default_rng([seed, 9]), random_rescale(seed, keyed=(1, 2), tasks=(2, 4), nodes=(2, 3))
    nodes = [node.replace(speedup=float(random.choice(SPEEDUPS))) for node in problem.network.nodes]
    problem = problem.replace(network=problem.network.replace(nodes=nodes))
    best, _ = brute_force(problem)
    for method in ("highs", "range-decomposition", "range-annealing", "edrp-then-ssm", "ds2-even-ranges", "repair-ranges"):
        judge(problem, method, best, work_limit=2 if method in ("highs", "range-decomposition") else 0.05)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("judged", [agree, agree_over_time, agree_on_ranges])
def test_methods_agree_with_enumeration(judged, seed):
    judged(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 60))
def test_methods_agree_with_enumeration_on_many(seed):
    agree_on_ranges(seed)
    agree(seed)
    if sum(1 for _ in deployments(slow_nodes_problem(seed, equal=seed % 2 == 1))) <= 200:
        agree_over_time(seed)


@pytest.mark.parametrize("replicas", [1, 2, 3, 4])
def test_one_row_has_numbers_alone(replicas):
    """Numbers of replicas that are vectors: on one slow node, and on equal slow nodes."""
    for nodes in (["a"], ["a", "b"]):
        sequence = EdrpSequence(
            application={"operators": [{"name": "work", "latency": QUEUE, "max_replicas": 4, "cost": 1.0}]},
            network={"nodes": [{"name": name, "speedup": 0.5} for name in nodes]},
            weights={"cost": 1.0},
            limits={"cost": 9.0},
            periods=[{"duration": 1.0, "external_rates": {"work": 10.0 * replicas - 1.0}}],
        )
        solution = edrp.solve(sequence, "replica-vectors")
        assert (solution.status, len(solution.decision[0]["work"])) == ("optimal", replicas)


def test_the_checker_refuses_what_a_slow_node_does_not_serve():
    problem = checker.parse(one_operator(11.0, 0.5, replicas=2).model_dump_json())
    assert checker.evaluate_deployment(problem, {"work": ["b", "b"]}) > 0
    with pytest.raises(checker.Refused, match="work: overloaded"):
        checker.evaluate_deployment(problem, {"work": ["b"]})
