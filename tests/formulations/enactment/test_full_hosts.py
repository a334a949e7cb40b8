"""Instances in hosts that they fill: exchanges, and points of a lattice."""

from itertools import product

import numpy as np
import pytest

import edrp
from edrp.check_problems.enactment.problems import brute_force_enactment
from edrp.datasets.families.enactment.enactment_families import random_enactment_problem
from edrp.datasets.families.registry import choose_families, generate
from edrp.enactment.containers import ContainerOperator, HostType, Sizes
from edrp.formulations import methods
from edrp.formulations.enactment.aggregate import best_counts, filled_hosts, reduced, sharpened
from edrp.formulations.enactment.packing import compositions, enactment_arrays, pack_by_exchanges


def sizes_of(needs: np.ndarray, capacity: list[float]) -> Sizes:
    """Operators with needs (O, R) on one type of host."""
    names = [f"r{r}" for r in range(needs.shape[1])]
    operators = [
        ContainerOperator(name=f"o{i}", processing_duration=1.0, resources=dict(zip(names, row, strict=True)))
        for i, row in enumerate(needs.tolist())
    ]
    host = HostType(name="host", resources=dict(zip(names, capacity, strict=True)), price=1.0, billing_time=600.0)
    return Sizes.of(operators, [host])


def test_a_reduced_basis_is_of_the_same_lattice_and_shorter() -> None:
    random = np.random.default_rng(0)
    basis = np.hstack([np.eye(8), random.integers(1, 10**6, (8, 1))]).astype(float)
    short = reduced(basis)
    steps = short.vectors @ np.linalg.pinv(basis)
    assert np.allclose(steps, np.rint(steps), atol=1e-6)
    assert abs(round(np.linalg.det(np.rint(steps)))) == 1
    assert np.abs(short.vectors).max() < 100
    targets = random.uniform(-50, 50, (20, 9))
    near = short.nearest(targets)
    steps = near @ np.linalg.pinv(basis)
    assert np.allclose(steps, np.rint(steps), atol=1e-6)
    apart = (near - targets) @ np.linalg.pinv(basis) @ basis  # targets lie outside of what the lattice spans
    assert (np.linalg.norm(apart, axis=1) <= np.sqrt(short.lengths.sum()) / 2 + 1e-9).all()


def test_the_nearest_point_by_brute_force() -> None:
    """In the plane Babai's point is the nearest one or almost."""
    basis = np.array([[7.0, 2.0], [12.0, 5.0]])
    points = np.array([[a, b] for a, b in product(range(-60, 61), repeat=2)]) @ basis
    targets = np.random.default_rng(1).uniform(-20, 20, (30, 2))
    found = np.linalg.norm(reduced(basis).nearest(targets) - targets, axis=1)
    best = np.array([np.linalg.norm(points - target, axis=1).min() for target in targets])
    assert (found <= 1.5 * best + 1e-9).all()


@pytest.mark.parametrize("seed", range(4))
def test_exchanges_fill_hosts_to_the_last(seed: int) -> None:
    """Five hosts cut at random into instances of eleven sizes fit again, and nothing is free."""
    random = np.random.default_rng(seed)
    needs = np.array([[3], [5], [7], [11], [13], [17], [19], [23], [29], [31], [1]], float)
    contents = np.zeros((5, 11), np.int64)
    for host in contents:
        while (left := 200 - int(host @ needs[:, 0])) > 0:
            host[random.choice(np.flatnonzero(needs[:, 0] <= left))] += 1
    sizes = sizes_of(needs, [200.0])
    packed = pack_by_exchanges(sizes, contents.sum(axis=0), [0] * 5)
    assert packed is not None
    assert (packed.sum(axis=0) == contents.sum(axis=0)).all()
    assert (packed @ needs == 200).all()
    more = contents.sum(axis=0) + (np.arange(11) == 10)
    assert pack_by_exchanges(sizes, more, [0] * 5) is None


def test_hosts_full_in_two_resources_to_nine_digits() -> None:
    """Needs with seven digits each; what the load needs is there, and no operator has more instances than allowed."""
    random = np.random.default_rng(3)
    needs = np.round(random.uniform(0.5, 4.0, (24, 2)), 6)
    sizes, needed = sizes_of(needs, [100.0, 110.0]), np.ones(24, np.int64)
    allowed = np.full(24, 9.0)
    window = 1e-8
    contents = filled_hosts(sizes, np.zeros(2, np.int64), needed, allowed, window, -np.inf)
    assert contents is not None
    free = 1 - contents @ needs / sizes.capacity[0]
    assert (free <= window).all()
    assert (free >= -1e-9).all()
    assert (contents.sum(axis=0) >= needed).all()
    assert (contents.sum(axis=0) <= allowed).all()
    assert filled_hosts(sizes, np.zeros(1, np.int64), needed * 9, allowed * 9, window, -np.inf) is None


def test_bounds_of_counts_hold_on_random_problems() -> None:
    """No composition that is left out has the optimum, with operators that only some types may run among them."""
    for seed in range(12):
        problem = random_enactment_problem(seed)
        best = brute_force_enactment(problem)[0]
        arrays = enactment_arrays(problem)
        found = sharpened(arrays, compositions(arrays))
        if best is not None:
            assert found.bounds.min() <= best + 1e-9, seed
            assert found.objective >= best - 1e-9, seed
        for hosts in found.counts[:2]:
            counts = best_counts(arrays, hosts)[1]
            if counts is not None:
                for kinds, operators in arrays.sizes.confined(hosts > 0):
                    room = np.where(kinds, hosts, 0) @ arrays.sizes.capacity
                    assert (counts[operators] @ arrays.sizes.needs[operators] <= room * (1 + 1e-8) + 1e-9).all(), seed


def test_a_packing_that_meets_its_bound_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layered application of 32 operators at one moment, on five hosts."""
    problem = next(generate("enactment", 1, seed=6, families=["containers-layered"], size=32))[1]
    monkeypatch.setattr(methods, "solve_program", lambda *_, **__: pytest.fail("a solver was asked for the whole program"))
    solution = edrp.solve(problem, "highs", work_limit=20.0)
    assert solution.status == "optimal"
    assert solution.gap == pytest.approx(0.0, abs=1e-9)


def test_hosts_that_best_fit_cannot_fill_are_packed_by_exchanges() -> None:
    """Best fit takes two hosts more than there need to be: 9.91, a seventh above the bound."""
    problem = choose_families("enactment", ["containers-layered"])[0].make(64, np.random.default_rng(865726))
    found = compositions(enactment_arrays(problem))
    assert found.bounds[0] <= found.objective < 1.01 * found.bounds[0]
