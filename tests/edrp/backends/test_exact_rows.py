"""Rows of integer columns hold as written: against enumeration, for ranges of all kinds."""

from itertools import product

import numpy as np
import pytest

from edrp.backends import OWN_BACKENDS
from edrp.backends.exact_rows import exceeded_covers, point_cover, without_covers
from edrp.backends.solving import solve_program
from edrp.core.limits import exceeds
from edrp.core.program import Linear, Program


def narrow_program(seed):
    """A knapsack of general integers, some below 0, in bytes, that its best point exceeds by a few parts in 10^12 to 10^9."""
    random = np.random.default_rng(seed)
    lower = random.integers(-1, 2, 4)
    upper = lower + random.integers(1, 4, 4)
    weights = np.round(random.uniform(-2, 5, 4) * 1e9) + 1
    gains = np.sign(weights) * random.integers(1, 9, 4)
    target = [random.integers(low, high + 1) for low, high in zip(lower, upper, strict=True)]
    limit = float(weights @ target)
    limit -= abs(limit) * 10 ** random.uniform(-12, -9)
    program = Program()
    take = program.add_columns("take", 4, lower=lower, upper=upper, integer=True)
    program.add_row("room", Linear.of(take, weights), upper=limit)
    program.minimise(Linear.of(take, -gains))
    points = product(*(range(low, high + 1) for low, high in zip(lower, upper, strict=True)))
    kept = [point for point in points if weights @ point - limit <= 2.5e-13 * np.abs(weights * point).max()]
    return program, min((float(-gains @ point) for point in kept), default=None)


@pytest.mark.parametrize("backend", OWN_BACKENDS)
@pytest.mark.parametrize("seed", range(12))
def test_optima_of_general_integers_are_those_of_enumeration(seed, backend):
    program, optimum = narrow_program(seed)
    result = solve_program(program, backend)
    assert result.status == ("infeasible" if optimum is None else "optimal")
    assert result.objective == (None if optimum is None else pytest.approx(optimum))
    assert result.values is None or result.values.size == program.columns


def test_covers_are_minimal_and_stand_for_all_rows_alike():
    program = Program()
    take = program.add_columns("take", (2, 4), upper=1, integer=True)
    sizes = np.array([6e9, 5e9 + 10, 5e9, 1.0])
    program.add_rows("room", 2, [(np.repeat([0, 1], 4), take.ravel(), np.tile(sizes, 2))], upper=16e9)
    covers = exceeded_covers(program.arrays(), np.array([1.0] * 4 + [0.0] * 4))
    assert [cover.columns.tolist() for cover in covers] == [[0, 1, 2], [4, 5, 6]]
    cut = without_covers(program.arrays(), covers)
    assert (cut.matrix @ [1, 1, 1, 0, 0, 0, 0, 0] > cut.row_upper).any()
    assert exceeds(16e9 + 10, 16e9)


def test_the_cover_of_a_point_cuts_off_its_integers_alone():
    program = Program()
    program.add_columns("count", 2, lower=-1, upper=2, integer=True)
    program.add_columns("share", 1)
    arrays = program.arrays()
    cut = without_covers(arrays, point_cover(arrays, np.array([0.0, 2.0, 0.5])))
    free = [solved(cut, point) for point in product(range(-1, 3), repeat=2)]
    assert free.count(False) == 1
    assert not solved(cut, (0, 2))


def solved(arrays, point):
    """Whether columns that say what is reached can be chosen for a point."""
    added = arrays.objective.size - 3
    return any(
        (arrays.matrix @ np.array([*point, 0.0, *reached]) <= arrays.row_upper).all() for reached in product((0, 1), repeat=added)
    )


@pytest.mark.parametrize("backend", OWN_BACKENDS)
def test_what_hundreds_of_alike_columns_exceed_is_cut_off_at_once(backend):
    """Two of each of two kinds exceed the limit by a billionth, in 351 × 276 ways."""
    program = Program()
    small, large = (program.add_columns(name, count, upper=1, integer=True) for name, count in (("small", 27), ("large", 24)))
    for kind in (small, large):
        program.add_row(f"two {kind[0]}", Linear.of(kind, 1.0), lower=2.0)
    program.add_row("cost", Linear.of(small, 181.8923111) + Linear.of(large, 818.1076899), upper=2000.0)
    program.minimise(Linear.of(small, np.arange(27.0)) + Linear.of(large, np.arange(24.0)))
    assert solve_program(program, backend, work_limit=1.0).status == "infeasible"
