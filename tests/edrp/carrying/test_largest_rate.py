"""The largest multiple of a load: reference cases, enumeration, both sides by plain evaluation, and what is refused."""

import dataclasses
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from growing_loads import most_carried, random_growing_load

import edrp
from edrp.backends import backends
from edrp.certificates.programs import check_files
from edrp.check_problems.placement.enumeration import deployments
from edrp.placement.throughput import GrowingLoad, largest_multiple, service_rate

CASES = Path(__file__).parent / "cases"
EXPECTED = {case["name"]: case for case in json.loads((CASES / "expected.json").read_text())["cases"]}


@pytest.mark.parametrize("name", EXPECTED)
def test_reference_cases(name):
    case, problem = EXPECTED[name], edrp.load(CASES / f"{name}.json")
    largest = edrp.largest_rate(problem)
    assert largest.status == "optimal"
    assert largest.multiple == pytest.approx(case["multiple"], rel=1e-9)
    assert largest.attained == case["attained"]
    assert largest.multiple <= largest.bound <= largest.multiple * (1 + 2e-6)
    carried = largest_multiple(problem, case["deployment"])
    assert (carried.multiple, carried.attained) == (pytest.approx(case["multiple"], rel=1e-12), case["attained"])
    assert largest.problem_at(largest.multiple * (1 - 1e-6)).evaluate(largest.deployment).feasible


def rated(problem: edrp.EdrpProblem, multiple: float, scale: tuple[str, ...] = ()) -> edrp.EdrpProblem:
    """The problem with rates times a multiple, written to its document."""
    document = problem.model_dump(mode="json")
    for operator in document["application"]["operators"]:
        operator["external_rate"] *= multiple if not scale or operator["name"] in scale else 1
    for stream in document["application"]["streams"]:
        if stream["rate"] is not None and (not scale or f"{stream['source']} → {stream['target']}" in scale):
            stream["rate"] *= multiple
    return edrp.EdrpProblem(**document)


def carries(problem: edrp.EdrpProblem, deployment: edrp.Deployment) -> bool:
    """Whether the evaluator finds a deployment feasible, no resource is asked for too much, and no slow node is overloaded."""
    nodes = problem.network.by_name
    for operator in problem.application.operators:
        held = deployment.replicas(operator.name)
        served = held.total() * service_rate(operator, held.total()) * min(min(1.0, nodes[node].speedup) for node in held)
        load = problem.application.load(operator.name)
        if load > served or (load == served and load > 0 and operator.latency.model != "table"):
            return False
    evaluation = problem.evaluate(deployment)
    return evaluation.feasible and evaluation.metrics.get("peak_load", 0.0) <= 1 + 1e-12


def agrees(problem: edrp.EdrpProblem, scale: tuple[str, ...] = (), **options: Any) -> None:
    """Assert that the search finds what enumeration finds, and that both sides hold by plain evaluation."""
    largest, best = edrp.largest_rate(problem, scale=scale, **options), most_carried(problem, scale)
    if best.multiple is None:
        assert largest.status == "infeasible"
        assert largest.clashes
    elif math.isinf(best.multiple):
        assert (largest.status, largest.multiple, largest.bound, largest.rates) == ("unbounded", math.inf, None, {})
        assert largest.to_document()["multiple"] is None
        assert carries(rated(problem, 1e6, scale), largest.deployment)
    else:
        assert largest.status == "optimal"
        assert largest.multiple == pytest.approx(best.multiple, rel=1e-9)
        assert largest.attained == best.attained
        assert best.multiple <= largest.bound * (1 + 1e-9) <= best.multiple * (1 + 2e-5)
        assert carries(rated(problem, largest.multiple * (1 - 1e-6), scale), largest.deployment)
        assert not carries(rated(problem, largest.multiple * (1 + 1e-6), scale), largest.deployment)


@pytest.mark.parametrize("seed", [*range(16), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(16, 300))])
def test_random_problems_agree_with_enumeration(seed):
    agrees(random_growing_load(seed))


@pytest.mark.parametrize("seed", range(100, 110))
def test_the_closed_form_is_what_the_evaluation_says(seed):
    """Of some deployments of a problem, each on both sides of its multiple."""
    problem = random_growing_load(seed)
    load, chosen = GrowingLoad(problem), list(deployments(problem))
    for deployment in random.Random(seed).sample(chosen, min(8, len(chosen))):
        carried = load.carried(deployment)
        if carried.multiple is None:
            assert not carries(rated(problem, 0.0), deployment)
        elif math.isfinite(carried.multiple):
            assert carries(rated(problem, carried.multiple * (1 - 1e-6)), deployment)
            assert not carries(rated(problem, carried.multiple * (1 + 1e-6)), deployment)
            if problem.limits.response_time < 1e6:  # the limit that only normalises binds within a millionth of every queue
                assert carries(rated(problem, carried.multiple), deployment) == carried.attained


@pytest.mark.parametrize("backend", [name for name in backends() if name != "highs"])
@pytest.mark.parametrize("name", ["cpu-0", "latency", "speed"])
def test_every_backend_finds_the_same(name, backend):
    largest = edrp.largest_rate(edrp.load(CASES / f"{name}.json"), method=backend)
    assert largest.status == "optimal"
    assert largest.multiple == pytest.approx(EXPECTED[name]["multiple"], rel=1e-9)


QUEUE = {"model": "mm1", "service_rate": 20}
A = {"name": "a", "external_rate": 10, "max_replicas": 2, "latency": QUEUE}
B = {"name": "b", "external_rate": 5, "max_replicas": 3, "latency": QUEUE}
CHAIN = {"operators": [A, B], "streams": [{"source": "a", "target": "b"}]}


def chain(**changes: Any) -> edrp.EdrpProblem:
    """Two operators, both with a source, on a node that runs four replicas."""
    fields = {"application": CHAIN, "network": {"nodes": [{"name": "x", "resources": 4}]}}
    return edrp.EdrpProblem(**{**fields, "weights": {"cost": 1}, "limits": {"cost": 1}, **changes})


def test_only_the_sources_that_are_named_grow():
    """With two replicas each, `b` serves 40 tuples/s: 15 m ≤ 40, or 10 m + 5 ≤ 40 where its own source does not grow."""
    assert edrp.largest_rate(chain()).multiple == pytest.approx(8 / 3)
    largest = edrp.largest_rate(chain(), scale=["a"])
    assert (largest.multiple, largest.rates) == (pytest.approx(3.5), {"a": pytest.approx(35), "b": 5})
    agrees(chain(), ("a",))
    agrees(chain(), ("b",))


def test_streams_with_a_rate_are_sources():
    problem = chain(application={**CHAIN, "streams": [{"source": "a", "target": "b", "rate": 10}]})
    for name in ("a → b", "a->b"):
        assert edrp.largest_rate(problem, scale=[name]).rates == {"a": 10, "b": 5, "a → b": pytest.approx(55)}


@pytest.mark.parametrize("seed", [0, 3, 5, 13, 16, 33])
def test_random_problems_with_a_fixed_source(seed):
    agrees(random_growing_load(seed), ("o0",))


def test_a_shared_resource_is_used_up_and_a_queue_is_not():
    """A node has 2 cores: alone 0.1 of them per tuple last for 20 tuples/s, which the queue with that rate does not reach."""
    network = {"nodes": [{"name": "x", "capacity": {"cpu": 2}}]}
    for latency, attained in ((None, True), (QUEUE, False)):
        operator = {"name": "a", "external_rate": 10, "usage": {"cpu": {"per_tuple": 0.1}}, "latency": latency}
        largest = edrp.largest_rate(chain(application={"operators": [operator]}, network=network))
        assert (largest.multiple, largest.attained) == (pytest.approx(2), attained)


def test_nothing_limits_the_rates():
    agrees(chain(application={**CHAIN, "operators": [{**A, "latency": None}, {**B, "latency": None}]}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"network": {"nodes": [{"name": "x", "resources": 1}]}}, "resources of the nodes"),
        (
            {"application": {"operators": [A, {**B, "external_rate": 70}]}},
            "b: with 3 replicas at most it cannot serve its load of 70",
        ),
    ],
)
def test_nothing_is_feasible_even_at_rate_0(changes, words):
    largest = edrp.largest_rate(chain(**changes), scale=["a"])
    assert (largest.status, largest.multiple, largest.bound) == ("infeasible", None, None)
    assert words in largest.clashes[0]


def test_a_limit_on_response_time_is_proven_where_programs_are_too_large():
    """Twelve operators in a row, which a node never runs all, on a hundred nodes."""
    queue = {"model": "mm1", "service_rate": 100}
    operators = [{"name": f"o{i}", "external_rate": 10.0 * (i == 0), "latency": queue, "max_replicas": 4} for i in range(12)]
    problem = chain(
        application={"operators": operators, "streams": [{"source": f"o{i}", "target": f"o{i + 1}"} for i in range(11)]},
        network={"nodes": [{"name": f"n{u}", "resources": 4} for u in range(100)], "between_zones": {"delay": 0.005}},
        limits={"cost": 1, "response_time": 0.2},
    )
    assert edrp.largest_rate(problem, work_limit=5).status == "optimal"


TABLE = {"model": "table", "rates": [0, 9, 30], "latencies": [0.3, 0.1, 0.2]}
POLYNOMIAL = {"model": "polynomial", "coefficients": [0.3, -0.01, 0.001]}


def alone(operator: dict[str, Any]) -> edrp.LargestRate:
    """What one operator carries within a limit on response time."""
    return edrp.largest_rate(chain(application={"operators": [operator]}, limits={"cost": 1, "response_time": 1}))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: edrp.largest_rate(chain(), scale=["c"]), r"scale\[0\]: is no source with a rate of its own.*\(got \"c\"\)"),
        (lambda: edrp.largest_rate(chain(), method="greedy"), "method 'greedy' solves none; use a backend"),
        (lambda: edrp.largest_rate(chain(), method="hihgs"), "did you mean 'highs'"),
        (lambda: edrp.largest_rate({}), "problem: is a dict"),
        (lambda: edrp.find_bottlenecks(chain()), "is not what edrp.largest_rate returns"),
        (lambda: edrp.largest_rate(chain(), work_limit="3"), "work_limit: must be a number"),
        (
            lambda: alone({"name": "a"}),
            "application: has no source, so that no rate can grow; give an operator an `external_rate`",
        ),
        (lambda: alone({**A, "latency": TABLE}), "the latency of operator 'a' falls with the rate"),
        (lambda: alone({**A, "latency": POLYNOMIAL}), "the latency of operator 'a' falls with the rate"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(edrp.errors.EdrpError, match=words):
        call()


class BelowRate:
    """At most as many replicas of an operator as a tenth of its load, for a rule that reads rates."""

    def evaluate(self, problem, deployment):
        return max(0.0, len(deployment["a"]) - problem.application.load("a") / 10)

    def linearise(self, model):
        return model.replicas["a"].sum() <= model.problem.application.load("a") / 10


def test_a_rule_in_python_that_reads_rates_is_refused():
    edrp.register_rule("below-rate", BelowRate, replace=True)
    problem = chain(rules=[{"rule": "python", "name": "own", "type": "below-rate"}])
    with pytest.raises(edrp.errors.UnsupportedProblemError, match="rule 'own' in Python depends on the rates"):
        edrp.largest_rate(problem)


def test_both_sides_are_certified(tmp_path):
    problem = edrp.load(CASES / "rule-rate.json")
    largest = edrp.largest_rate(problem, certificate=tmp_path / "proof")
    assert largest.notes == ()
    for name, words in (("carried", "its objective is 0"), ("beyond", "the problem is infeasible")):
        files = [str(tmp_path / "proof" / f"{name}{suffix}") for suffix in (".json", ".solution.json", ".cert")]
        assert words in check_files(*files)
    assert edrp.load_solution(tmp_path / "proof" / "carried.solution.json").deployment == largest.deployment


def test_the_command(tmp_path, run):
    out = tmp_path / "out.json"
    shown = run("carry", CASES / "latency.json", "--out", out).ended(0)
    assert "1.08038473 times the rates, attained; above it nothing is feasible" in shown.out
    document = json.loads(out.read_text())
    assert document["multiple"] == pytest.approx(EXPECTED["latency"]["multiple"])
    edrp.save(chain(network={"nodes": [{"name": "x", "resources": 1}]}), tmp_path / "small.json")
    run("carry", tmp_path / "small.json").ended(3)


@pytest.mark.parametrize("work_limit", [1e-9, 0.02])
def test_a_work_limit_leaves_an_honest_gap_and_repeats(work_limit):
    problem = random_growing_load(34)
    first, second = (edrp.largest_rate(problem, work_limit=work_limit) for _ in range(2))
    assert first == dataclasses.replace(second, seconds=first.seconds)
    assert first.status in ("feasible", "none")
    assert first.stopped_because == "work_limit"
    best = most_carried(problem).multiple
    assert first.multiple is None or first.multiple <= best * (1 + 1e-9)
    assert first.bound is None or first.bound >= best * (1 - 1e-9)
