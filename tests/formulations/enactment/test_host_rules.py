"""Operators that may not share a host: every method of kind `enactment` against brute force on tiny snapshots."""

import numpy as np
import pytest

import edrp
from edrp.backends import OWN_BACKENDS
from edrp.check_problems.enactment.problems import brute_force_enactment
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.core.methods import methods
from edrp.datasets.families.enactment.enactment_families import random_enactment_problem
from edrp.enactment.containers import Host
from edrp.enactment.snapshot import EnactmentProblem
from edrp.formulations.methods import formulate


def with_rules(seed: int) -> EnactmentProblem:
    """A random snapshot of two or three operators with one or two rules."""
    problem = random_enactment_problem(seed, operators=(2, 3))
    names, generator = list(problem.application.by_name), np.random.default_rng(seed)
    groups = [generator.permutation(names)[: generator.integers(2, len(names) + 1)].tolist() for _ in range(1 + seed % 2)]
    return problem.replace(rules=[{"rule": "apart", "name": f"rule {i}", "operators": group} for i, group in enumerate(groups)])


def two_tenants(**fields) -> EnactmentProblem:
    """Two instances of one operator and one of another, which all fit on one host of four."""
    operators = [
        {"name": name, "processing_duration": 1.0, "external_rate": rate, "resources": {"cpu": 1}, "max_instances": 3}
        for name, rate in (("ours", 2.0), ("theirs", 1.0))
    ]
    hosts = [{"name": "small", "resources": {"cpu": 4}, "price": 1.0, "billing_time": 600.0}]
    rules = [{"rule": "apart", "name": "tenants", "reason": "their data is theirs", "operators": ["ours", "theirs"]}]
    return EnactmentProblem(**{"application": {"operators": operators}, "host_types": hosts, "rules": rules, **fields})


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 110), marks=pytest.mark.slow)], ids=["8", "102"])
def test_every_backend_finds_the_optimum_of_brute_force(seeds: range) -> None:
    backends, outcomes, dearer = tuple(OWN_BACKENDS), set(), 0
    for seed in seeds:
        problem = with_rules(seed)
        try:
            best = brute_force_enactment(problem)[0]
        except ValueError:  # no optimum: hosts without price and limit
            continue
        try:
            solution = edrp.solve(problem, backends[seed % len(backends)])
        except UnsupportedProblemError:
            continue
        assert solution.status == ("infeasible" if best is None else "optimal"), seed
        assert solution.objective == (None if best is None else pytest.approx(best)), seed
        outcomes.add(solution.status)
        if best is None:
            assert solution.clashes
        else:
            dearer += best > (brute_force_enactment(problem.replace(rules=()))[0] or 0.0) + 1e-9
            assert formulate(problem).encode(solution.hosts) is not None
    assert "optimal" in outcomes
    assert dearer, "no rule mattered"


@pytest.mark.parametrize("name", ["first-fit-decreasing", "host-selection"])
def test_rules_of_thumb_keep_operators_apart_also_where_they_run_together_now(name: str) -> None:
    answered = 0
    for seed in range(24):
        problem = with_rules(seed)
        names = list(problem.application.by_name)
        together = Host(name="mixed", type=problem.host_types[0].name, instances=dict.fromkeys(names, 1))
        solution = edrp.solve(problem.replace(current=[together]), name)
        assert solution.status in ("feasible", "none")
        assert not any("rule" in note for note in solution.notes), seed
        answered += solution.status == "feasible"
    assert answered >= 16


def test_the_methods_of_the_kind_are_those_tested_here() -> None:
    assert set(methods("enactment")) == {"auto", *OWN_BACKENDS, "first-fit-decreasing", "host-selection"}


def test_tenants_get_a_host_each() -> None:
    problem = two_tenants()
    assert edrp.solve(problem.replace(rules=())).metrics["hosts"] == 1
    solution = edrp.solve(problem)
    assert [set(host.instances) for host in solution.hosts] in ([{"ours"}, {"theirs"}], [{"theirs"}, {"ours"}])
    shared = [Host(name="a", type="small", instances={"ours": 2, "theirs": 1})]
    assert problem.evaluate(shared).broken == ("rule 'tenants' (ours and theirs may not share a host): violated by 1",)


def test_a_rule_that_leaves_too_few_hosts_is_named_and_limits_that_clash_without_it_are_named_alone() -> None:
    host = {"name": "small", "resources": {"cpu": 4}, "price": 1.0, "billing_time": 600.0, "limit": 1}
    problem = two_tenants(host_types=[host])
    assert edrp.solve(problem).clashes == ("rule 'tenants': ours and theirs may not share a host",)
    cramped = two_tenants(host_types=[{**host, "resources": {"cpu": 2}}])
    assert edrp.solve(cramped).clashes == cramped.replace(rules=()).clashes()


def test_faults_are_named_by_place() -> None:
    rules = [
        {"rule": "apart", "name": "a", "operators": ["ours", "theris"]},
        {"rule": "apart", "name": "a", "operators": ["ours", "ours"]},
    ]
    with pytest.raises(InvalidInstanceError) as caught:
        two_tenants(rules=rules)
    assert [fault.place for fault in caught.value.faults] == ["rules[1].name", "rules[0].operators[1]", "rules[1].operators[1]"]
    assert "did you mean 'theirs'?" in str(caught.value)
    with pytest.raises(InvalidInstanceError, match=r"rules\[0\]\.operators: must hold at least 2"):
        two_tenants(rules=[{"rule": "apart", "name": "a", "operators": ["ours"]}])
