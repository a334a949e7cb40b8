"""Leases over several periods: the program against brute force, its relaxation by area, and the cheapest units."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.backends.solving import solve_program
from edrp.check_problems.enactment.problems import brute_force_leasing
from edrp.core.errors import EdrpError
from edrp.core.kinds import get_kind
from edrp.core.program import Linear, Program
from edrp.datasets.families.enactment.enactment_families import random_leasing_problem
from edrp.datasets.families.registry import choose_families
from edrp.enactment.leasing import LeasingProblem, PlannedHost
from edrp.formulations.enactment.leasing import cheapest_units, formulate_leasing
from edrp.formulations.enactment.leasing_area import area_relaxation
from edrp.formulations.methods import solve_formulation


def peak(**fields) -> LeasingProblem:
    """Two instances, four, then two again; two fit on a host, and a unit lasts two periods."""
    work = {"name": "work", "processing_duration": 1.0, "external_rate": 2.0, "resources": {"cpu": 1}}
    host = {"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 600.0}
    return LeasingProblem(
        **{"application": {"operators": [work]}, "host_types": [host], "period": 300.0, "forecast": [1, 2, 1], **fields}
    )


def solved(problem: LeasingProblem, backend: str = "highs"):
    return solve_formulation(formulate_leasing(problem), backend)


@pytest.mark.parametrize("problems", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_the_program_is_brute_force_on_random_problems(problems: int) -> None:
    """Optimum, infeasibility, and both relaxations below the optimum."""
    infeasible = 0
    for seed in range(36, 36 + problems):
        problem = random_leasing_problem(seed)
        best, solution = brute_force_leasing(problem), solved(problem)
        if best is None:
            infeasible += 1
            assert solution.status == "infeasible", seed
            continue
        assert solution.status == "optimal", seed
        assert solution.objective == pytest.approx(best, rel=1e-8, abs=1e-8), seed
        bounds = [area_relaxation(problem, whole=whole).bound for whole in (False, True)]
        assert bounds[0] <= bounds[1] + 1e-7 <= best + 2e-7, seed
    assert 0 < infeasible < problems / 3


def test_no_more_units_are_bought_than_hosts_can_be_of_use() -> None:
    """Solvers that are stopped have answered with millions of units."""
    formulation = formulate_leasing(peak())
    assert formulation.program.arrays().upper[formulation.program["bought"]].tolist() == [[2, 2, 1]]


def test_values_by_hand() -> None:
    """One unit for the first two periods, one for the last two; then a third, half of which is beyond the horizon."""
    assert solved(peak()).objective == 2.0
    assert solved(peak(forecast=[1, 2, 1, 1])).objective == 3.0
    assert solved(peak(forecast=[1, 2, 1, 1], prorate=True)).objective == 2.5
    ahead = solved(peak(leased=[{"name": "mine", "type": "small", "paid_periods": 1}]))
    assert ahead.objective == 2.0
    assert {host.name: (host.first, host.units) for host in ahead.hosts}["mine"] == (1, 1)
    # One host throughout leaves 1200 - 600 items in the peak and as many in both periods after: 0.18 money instead of a unit.
    assert solved(peak(forecast=[1, 2, 1, 1], utilisation=None)).objective == pytest.approx(2.18)


def test_a_plan_is_a_point_of_the_program() -> None:
    """Written as columns and read back; more hosts in use than can be of use are refused."""
    formulation = formulate_leasing(peak())
    two, none = {"work": 2}, {}
    known = (
        PlannedHost(name="a", type="small", first=0, units=2, instances=(two, two, two)),
        PlannedHost(name="b", type="small", first=1, units=1, instances=(none, two, none)),
    )
    start = formulation.encode(known)
    assert start is not None
    start[formulation.program["count"]] = [[2], [4], [2]]
    read = formulation.decode(start)
    assert formulation.problem.evaluate(read).feasible
    assert formulation.objective_at(start, read) == formulation.problem.evaluate(known).objective == 3.0
    single = tuple(PlannedHost(name=f"{i}", type="small", units=2, instances=({"work": 1},) * 3) for i in range(4))
    assert formulation.encode(single) is None
    assert formulation.problem.evaluate(formulation.current).objective == 2.0


def test_rows_of_a_user_change_the_optimum() -> None:
    """Nothing may be bought in the peak, so that the second host begins before it and must be bought for the whole of it."""
    formulation = formulate_leasing(peak(forecast=[1, 1, 2, 2]))
    assert solve_formulation(formulate_leasing(peak(forecast=[1, 1, 2, 2]))).objective == 3.0
    formulation.program.add_row("not then", Linear.of(formulation.program["bought"][:, 2]), upper=0)
    assert solve_formulation(formulation).objective == 5.0


def test_the_manufacturing_application_is_proven_over_an_hour() -> None:
    """Nine operators, twelve periods of five minutes, items that wait: a matter of moments."""
    needs = [(660, 452), (131, 524), (100, 430), (83, 502), (77, 527), (65, 440), (46, 464), (74, 466), (47, 452)]
    seconds = [0.625, 1.25, 0.3125, 0.3125, 0.3125, 2.5, 0.875, 0.21, 0.01]
    operators = [
        {"name": f"O{i}", "processing_duration": 1.0, "external_rate": busy, "resources": {"cpu": cpu, "memory": memory}}
        for i, ((cpu, memory), busy) in enumerate(zip(needs, seconds, strict=True), start=1)
    ]
    host = {"name": "host", "resources": {"cpu": 4096, "memory": 7000}, "price": 1.0, "billing_time": 600.0}
    problem = peak(application={"operators": operators}, host_types=[host], forecast=[4, 5, 6, 7, 8, 7, 6, 5, 4, 3, 2, 1])
    solution, bound = solved(problem.replace(queues={"O1": 300.0})), area_relaxation(problem).bound
    assert solution.status == "optimal"
    assert bound <= solution.objective + 1e-6 <= 1.2 * bound


def by_program(needed: list[int], unit: int, paid: list[int], prorate: bool) -> float:
    """The least cost of covering what is needed, from the covering program of intervals."""
    program, periods = Program(), len(needed)
    bought = program.add_columns("bought", periods, integer=True)
    for period, count in enumerate(needed):
        there = sum(host > period for host in paid)
        program.add_row(f"period {period}", Linear.of(bought[max(0, period - unit + 1) : period + 1]), lower=count - there)
    shares = np.minimum(1.0, (periods - np.arange(periods)) / unit) if prorate else np.ones(periods)
    program.minimise(Linear.of(bought, shares))
    return solve_program(program).objective


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=9), st.integers(1, 5), st.lists(st.integers(0, 6), max_size=3), st.booleans()
)
def test_units_bought_late_are_the_cheapest(needed: list[int], unit: int, paid: list[int], prorate: bool) -> None:
    """As cheap as the covering program says, and enough in every period."""
    bought, periods = cheapest_units(needed, unit, paid), len(needed)
    for period, count in enumerate(needed):
        assert sum(host > period for host in paid) + sum(bought[max(0, period - unit + 1) : period + 1]) >= count
    shares = [min(1.0, (periods - period) / unit) if prorate else 1.0 for period in range(periods)]
    cost = sum(units * share for units, share in zip(bought, shares, strict=True))
    assert cost == pytest.approx(by_program(needed, unit, paid, prorate))


def test_a_packed_plan_with_resources_in_aggregate_is_optimal() -> None:
    """Bound and plan of 20 random problems against brute force; most of them are packed."""
    packed = 0
    for seed in range(20):
        problem = random_leasing_problem(seed)
        best = brute_force_leasing(problem)
        formulation = formulate_leasing(problem)
        if best is None:
            assert formulation.aggregate.packed is None, seed
            continue
        assert formulation.bound <= best + 1e-9, seed
        if formulation.aggregate.packed is not None:
            packed += 1
            assert problem.evaluate(formulation.current).feasible, seed
            assert problem.evaluate(formulation.current).objective == pytest.approx(best, abs=1e-9), seed
    assert packed > 10


def test_no_program_is_built_where_the_packed_plan_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless one is asked for by name; a name that there is not is refused all the same."""
    problem = peak()
    asked = edrp.solve(problem, "highs", program="leases")
    monkeypatch.setattr("edrp.formulations.enactment.leasing._add_slots", None)
    direct = edrp.solve(problem, "highs")
    assert (direct.status, direct.objective, direct.hosts) == (asked.status, asked.objective, asked.hosts)
    assert (bool(direct.size), bool(asked.size)) == (False, True)
    monkeypatch.undo()
    monkeypatch.setitem(vars(get_kind("leasing")), "find_directly", lambda given: (2.0, ()))
    assert edrp.solve(problem, "highs").objective == 2.0, "what breaks limits proves nothing"
    with pytest.raises(EdrpError, match="no program 'hosts'"):
        edrp.solve(problem, "highs", program="hosts")


def test_the_leases_of_a_week_are_proven() -> None:
    """Most rows of the program in aggregate bound one column, or have none left; its root is easier than it is large."""
    problem = choose_families("leasing", ["manufacturing"])[0].make(2048, np.random.default_rng(1))
    assert edrp.solve(problem, work_limit=20.0).status == "optimal"


def test_hosts_that_some_operators_may_not_use_do_not_count_for_them() -> None:
    """Cheap hosts are of no use to the operator that has to run on dear ones."""
    operators = [{"name": "f", "processing_duration": 1.0, "external_rate": 3.0, "resources": {"cpu": 1}, "candidates": ["dear"]}]
    hosts = [
        {"name": name, "resources": {"cpu": 2}, "price": price, "billing_time": 300.0}
        for name, price in (("dear", 5.0), ("cheap", 1.0))
    ]
    problem = LeasingProblem(application={"operators": operators}, host_types=hosts, period=300.0, forecast=[1.0])
    assert formulate_leasing(problem).bound == pytest.approx(10.0)
