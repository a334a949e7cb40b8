"""Prices of what starts: programs and the rule against enumeration, and hosts that are given up only where it pays."""

import json

import pytest

import edrp
from edrp.certificates import checker
from edrp.certificates.checker.containers import evaluate_enactment
from edrp.check_problems.enactment.problems import brute_force_enactment
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.datasets.families.enactment.enactment_families import random_consolidation, random_enactment_problem
from edrp.enactment.change_prices import named_as_running, started
from edrp.enactment.containers import Host
from edrp.formulations.enactment.snapshot import formulate_enactment
from edrp.formulations.methods import solve_formulation


@pytest.fixture
def cluster(examples):
    return edrp.load(examples / "consolidate.json")


@pytest.mark.parametrize("problems", [10, pytest.param(24, marks=pytest.mark.slow)])
def test_programs_are_brute_force_on_random_problems_and_the_rule_is_never_better(problems: int) -> None:
    for seed in range(problems):
        problem = random_consolidation(seed)
        best, hosts = brute_force_enactment(problem)
        formulation = formulate_enactment(problem)
        solution, rule = solve_formulation(formulation), edrp.solve(problem, "host-selection")
        for backend in ("highs", "scipy", "scip") if seed < problems / 3 else ():
            assert edrp.solve(problem, backend).objective == pytest.approx(best, rel=1e-6), (seed, backend)
        if best is None:
            assert (solution.status, rule.hosts) == ("infeasible", None), seed
            continue
        assert solution.status == "optimal", seed
        assert solution.objective == pytest.approx(best, rel=1e-6, abs=1e-9), seed
        placed = [json.loads(host.model_dump_json()) for host in solution.hosts]
        checked = evaluate_enactment(checker.parse(problem.model_dump_json()), placed)
        assert float(checked) == pytest.approx(solution.objective, abs=1e-9), "as the checker says"
        assert rule.objective >= best - 1e-9, seed
        point = formulation.encode(hosts)  # one that has a column
        assert point is not None
        assert point[formulation.program["open"]].sum() == len(hosts)


def test_a_host_is_given_up_once_its_price_exceeds_that_of_its_instances(cluster) -> None:
    """Two instances move, each for 0.25; the host that goes costs 0.2 in every hour begun."""
    for hours, hosts in ((1, 3), (2, 3), (2.01, 2), (24, 2)):
        for method in ("auto", "host-selection"):
            solution = edrp.solve(cluster.replace(changes=cluster.changes.replace(hours=hours)), method)
            assert solution.metrics["hosts"] == hosts, (hours, method)
            assert solution.metrics["started_instances"] == 2 * (hosts == 2)
            assert solution.metrics["host_cost"] == pytest.approx((0.78 if hosts == 3 else 0.58) * -(-hours // 1))
            names = {host.name for host in solution.hosts}
            assert names < {"node-1", "node-2", "node-3"} if hosts == 2 else len(names) == 3
    parts = cluster.objective_parts(cluster.evaluate(solution.hosts))
    assert parts["change_price"] == 0.5
    assert sum(parts.values()) == pytest.approx(cluster.evaluate(solution.hosts).objective)


def test_hosts_are_the_same_by_name_and_type() -> None:
    now = [Host(name="a", type="small", instances={"x": 3}), Host(name="b", type="large", instances={"x": 1, "y": 2})]
    then = [Host(name="a", type="large", instances={"x": 1}), Host(name="b", type="large", instances={"x": 2})]
    assert (started(now, then), started(now, now[:1])) == ((2, 1), (0, 0))
    renamed = named_as_running(now, [Host(name="u", type="large", instances={"y": 2}), Host(name="v", type="large")])
    assert [host.name for host in renamed] == ["b", "host-1"]


def test_methods_that_do_not_know_prices_of_changes_refuse_them(cluster) -> None:
    with pytest.raises(UnsupportedProblemError, match="first-fit-decreasing does not take prices of changes into account"):
        edrp.solve(cluster, "first-fit-decreasing")


def test_nothing_depends_on_running_hosts_without_prices() -> None:
    for seed in range(12):
        problem = random_consolidation(seed).replace(changes=None)
        assert edrp.solve(problem, "highs").objective == edrp.solve(random_enactment_problem(seed), "highs").objective
        assert not problem.parts


def test_bad_prices_are_named_and_prices_without_effect_warned_of(cluster) -> None:
    with pytest.raises(InvalidInstanceError, match=r"(?s)changes\.hours: must be above 0.*changes\.started_hosts"):
        edrp.EnactmentProblem.model_validate(
            json.loads(cluster.model_dump_json()) | {"changes": {"hours": 0, "started_hosts": 1}}
        )
    weightless = cluster.replace(weights={"host_cost": 0.0})
    assert "changes has no effect" in " ".join(fault.sentence for fault in weightless.warnings())
