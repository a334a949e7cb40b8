"""Operators that may not share a host: every method of kind `enactment` against brute force on tiny snapshots."""

import pytest

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.enactment.containers import Host
from edrp.enactment.snapshot import EnactmentProblem


def two_tenants(**fields) -> EnactmentProblem:
    """Two instances of one operator and one of another, which all fit on one host of four."""
    operators = [
        {"name": name, "processing_duration": 1.0, "external_rate": rate, "resources": {"cpu": 1}, "max_instances": 3}
        for name, rate in (("ours", 2.0), ("theirs", 1.0))
    ]
    hosts = [{"name": "small", "resources": {"cpu": 4}, "price": 1.0, "billing_time": 600.0}]
    rules = [{"rule": "apart", "name": "tenants", "reason": "their data is theirs", "operators": ["ours", "theirs"]}]
    return EnactmentProblem(**{"application": {"operators": operators}, "host_types": hosts, "rules": rules, **fields})


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
