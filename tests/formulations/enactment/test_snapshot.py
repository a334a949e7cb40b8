"""Snapshots of enactment as a mixed-integer program: exact for all of eq. 1, through every backend."""

import math

import numpy as np
import pytest

from edrp.check_problems.enactment.problems import brute_force_enactment
from edrp.core.errors import ProblemTooLargeError, UnsupportedProblemError
from edrp.core.program import Linear
from edrp.datasets.enactment.manufacturing import manufacturing_snapshot
from edrp.datasets.families.enactment.enactment_families import random_enactment_problem
from edrp.enactment.containers import Host
from edrp.enactment.snapshot import EnactmentProblem
from edrp.formulations.enactment.packing import compositions, enactment_arrays, pack, pack_by_exchanges
from edrp.formulations.enactment.snapshot import formulate_enactment
from edrp.formulations.methods import solve_formulation


def two_sizes(**fields) -> EnactmentProblem:
    """Three instances of 3 and two of 2, on hosts of 4 (price 1) or 7 (price 1.5)."""
    three = {"name": "three", "processing_duration": 1.0, "external_rate": 3.0, "resources": {"cpu": 3}}
    two = {"name": "two", "processing_duration": 1.0, "external_rate": 2.0, "resources": {"cpu": 2}}
    hosts = [
        {"name": "small", "resources": {"cpu": 4}, "price": 1.0, "billing_time": 600.0},
        {"name": "large", "resources": {"cpu": 7}, "price": 1.5, "billing_time": 600.0},
    ]
    return EnactmentProblem(**{"application": {"operators": [three, two]}, "host_types": hosts, **fields})


def solved(problem: EnactmentProblem, backend: str = "highs", **options):
    return solve_formulation(formulate_enactment(problem), backend, **options)


def area_bound(problem: EnactmentProblem) -> float:
    """The least bound of any numbers of hosts, resources taken in aggregate; infinite where there are none."""
    return compositions(enactment_arrays(problem)).bounds.min(initial=math.inf)


@pytest.mark.parametrize("problems", [25, pytest.param(70, marks=pytest.mark.slow)])
def test_the_program_is_brute_force_on_random_problems(problems: int) -> None:
    """Optimum, infeasibility, and the area bound below the optimum."""
    infeasible = 0
    for seed in range(problems):
        problem = random_enactment_problem(seed)
        best, hosts = brute_force_enactment(problem)
        solution, bound = solved(problem), area_bound(problem)
        if best is None:
            infeasible += 1
            assert solution.status == "infeasible", seed
        else:
            assert problem.evaluate(hosts).objective == pytest.approx(best)
            assert solution.status == "optimal", seed
            assert solution.objective == pytest.approx(best, rel=1e-9, abs=1e-9), seed
            assert bound <= best + 1e-9, seed
    assert 0 < infeasible < problems / 3


def test_values_by_hand() -> None:
    """13 of needs: 3+2+2 on a large host; the other two of 3 on another large one (3 money, 1/14 free), or on two small ones."""
    packed = solved(two_sizes(weights={"free_resources": 0}))
    assert packed.objective == 3.0
    paper = solved(two_sizes())
    assert paper.objective == pytest.approx(3.0 + 1 / 14)
    few = two_sizes(weights={"free_resources": 0}, utilisation=None, queues={"two": 100.0}, penalty=0.02)
    assert solved(few).objective == pytest.approx(brute_force_enactment(few)[0], abs=1e-9)


def test_a_known_packing_is_a_point_of_the_program() -> None:
    """Written as columns and read back, hosts in any order; other numbers of hosts than those with a column are refused."""
    formulation = formulate_enactment(two_sizes())
    known = (Host(name="a", type="large", instances={"three": 2}), Host(name="b", type="large", instances={"three": 1, "two": 2}))
    start = formulation.encode(known)
    assert start is not None
    read = formulation.decode(np.nan_to_num(start))
    assert sorted(str(host.instances) for host in read) == sorted(str(host.instances) for host in known)
    assert solve_formulation(formulation, start=known).objective == pytest.approx(3.0 + 1 / 14)
    assert formulation.encode(known * 3) is None


def test_what_runs_now_is_a_start_where_it_is_better() -> None:
    """Best fit in the order of sizes fails on 4 = 2+2 for 3, 3 and 2, 2, 2; the hosts of the moment hold them."""
    now = (Host(name="a", type="large", instances={"three": 2}), Host(name="b", type="large", instances={"three": 1, "two": 2}))
    formulation = formulate_enactment(two_sizes(current=now))
    assert formulation.problem.evaluate(formulation.current).objective <= formulation.problem.evaluate(now).objective


def test_rows_of_a_user_change_the_optimum() -> None:
    """No host may hold both operators: a large host for two of 3, small ones for the third and for both of 2."""
    formulation = formulate_enactment(two_sizes(weights={"free_resources": 0}), allowance=2.0)
    program = formulation.program
    for slot, columns in enumerate(program["instances"]):
        apart = program.add_columns(f"apart {slot}", integer=True, upper=1.0)
        program.add_row(f"three {slot}", Linear.of([columns[0], int(apart)], [1.0, -10.0]), upper=0.0)
        program.add_row(f"two {slot}", Linear.of([columns[1], int(apart)], [1.0, 10.0]), upper=10.0)
    assert solve_formulation(formulation).objective == pytest.approx(3.5)


def test_area_bound_is_tight_where_nothing_is_cut() -> None:
    """One operator that fills hosts without waste; and infinite where limits leave too little."""
    exact = two_sizes(
        application={"operators": [{"name": "half", "processing_duration": 1.0, "external_rate": 4.0, "resources": {"cpu": 2}}]}
    )
    assert area_bound(exact) == pytest.approx(solved(exact).objective) == 2.0
    hosts = [{**host_type.model_dump(), "limit": 1} for host_type in exact.host_types]
    rates = {"operators": [{"name": "half", "processing_duration": 1.0, "external_rate": 6.0, "resources": {"cpu": 2}}]}
    assert math.isinf(area_bound(exact.replace(host_types=hosts, application=rates)))


def test_hosts_for_nothing_need_a_limit() -> None:
    """While filling counts, ever more of them may be ever better; without that they are bounded by their use."""
    free = [{"name": "free", "resources": {"cpu": 5}, "price": 0.0, "billing_time": 600.0}]
    with pytest.raises(UnsupportedProblemError, match="hosts of type free cost nothing and have no limit"):
        formulate_enactment(two_sizes(host_types=free))
    assert solved(two_sizes(host_types=free, weights={"free_resources": 0})).objective == 0.0
    assert solved(two_sizes(host_types=[{**free[0], "limit": 4}])).status == "optimal"
    cheap = [{**free[0], "name": f"cheap-{i}", "resources": {"cpu": 5.5}, "price": 1e-4} for i in range(3)]
    with pytest.raises(ProblemTooLargeError, match="give the host types limits"):
        formulate_enactment(two_sizes(host_types=cheap))


def test_best_fit_packs_or_says_no() -> None:
    arrays = enactment_arrays(two_sizes())
    packed = pack(arrays.sizes, [3, 2], [1, 1])
    assert packed is not None
    assert packed.sum(axis=0).tolist() == [3, 2]
    assert (packed @ arrays.sizes.needs <= 7).all()
    assert pack(arrays.sizes, [3, 2], [0, 0]) is None
    assert (compositions(arrays).bounds <= compositions(arrays).objective + 1e-9).all()


def test_exchanges_pack_what_best_fit_cannot() -> None:
    """Three hosts of 6 that 4, 3, 3, 3, 3 and 2 fill to the last; one more does not fit; hosts of two types."""
    sizes = [("four", 4), ("three", 3), ("two", 2)]
    operators = [{"name": name, "processing_duration": 1.0, "resources": {"cpu": cpu}} for name, cpu in sizes]
    host = {"name": "host", "resources": {"cpu": 6}, "price": 1.0, "billing_time": 600.0}
    arrays = enactment_arrays(EnactmentProblem(application={"operators": operators}, host_types=[host]))
    packed = pack_by_exchanges(arrays.sizes, np.array([1, 4, 1]), [0, 0, 0])
    assert packed is not None
    assert packed.sum(axis=0).tolist() == [1, 4, 1]
    assert (packed @ arrays.sizes.needs == 6).all()
    assert pack_by_exchanges(arrays.sizes, np.array([1, 4, 2]), [0, 0, 0]) is None
    mixed = enactment_arrays(
        two_sizes(
            host_types=[
                {**host_type.model_dump(), "resources": {"cpu": 4 - i}} for i, host_type in enumerate(two_sizes().host_types)
            ]
        )
    )
    both = pack_by_exchanges(mixed.sizes, np.array([2, 2]), [0, 1, 0])
    assert both is not None
    assert (both @ mixed.sizes.needs <= mixed.sizes.capacity[[0, 1, 0]]).all()


def test_full_hosts_of_the_factory_are_proven_at_once() -> None:
    """Four hosts whose memory is full to 95 % before they are filled: the best counts in aggregate are packed and so proven."""
    problem = manufacturing_snapshot(7.9, queues={"monitor-temperature": 200.0})
    formulation = formulate_enactment(problem)
    assert formulation.problem.evaluate(formulation.current).objective == pytest.approx(
        formulation.compositions.bounds[0], rel=1e-8
    )
    assert solve_formulation(formulation, start=formulation.current).status == "optimal"


def test_a_penalty_a_billion_times_as_large_hides_no_hosts() -> None:
    needs = {"a": {"cpu": 1e6, "memory": 0.0}, "b": {"cpu": 3e6, "memory": 4366440.0}}
    work = {"processing_duration": 1e-6, "external_rate": 3e5}
    operators = [{"name": name, "resources": resources, **work} for name, resources in needs.items()]
    operators[0] |= {"occupancy": 0.2, "max_instances": 2}
    rooms = {"x": {"cpu": 3e6, "memory": 4366439.991260011}, "y": {"cpu": 6e6, "memory": 13099300.0}}
    problem = EnactmentProblem(
        application={"operators": operators, "streams": [{"source": "a", "target": "b"}]},
        host_types=[{"name": name, "resources": r, "price": 0.0, "limit": 1, "billing_time": 600.0} for name, r in rooms.items()],
        weights={"host_cost": 1.0, "free_resources": 1.0, "violations": 1000.0},
        **{"utilisation": 1.0, "penalty": 5e4, "queues": {"a": 13.0}, "horizon": 2e-6},
    )
    objective, _ = brute_force_enactment(problem)
    assert solved(problem).objective == pytest.approx(objective, rel=1e-9)
