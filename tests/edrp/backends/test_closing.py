"""What a solver leaves open is closed, and what it calls infeasible has evidence."""

import json
from pathlib import Path

import numpy as np
import pytest

import edrp
from edrp.backends import backends, closing
from edrp.backends.base import ProgramResult
from edrp.backends.closing import closed, point_of
from edrp.backends.highs import HighsBackend
from edrp.backends.solving import solve_program
from edrp.core.program import Linear, Program
from edrp.core.solution import relative_gap, resolution, within_gap

HERE = Path(__file__).with_name("wrong_optima")
ALL = sorted(backends())
OWN = [name if name in ("highs", "scipy") else pytest.param(name, marks=pytest.mark.slow) for name in ALL]
"""The others take seconds to import."""

INFEASIBLE = ProgramResult("infeasible", "finished")


def whole(costs, rows, lower, upper, end=100.0) -> Program:
    """A program of whole columns from −end to end; None for no limit of a row."""
    program = Program()
    x = program.add_columns("x", len(costs), lower=-end, upper=end, integer=True)
    for index, (row, low, high) in enumerate(zip(rows, lower, upper, strict=True)):
        limits = {"lower": -np.inf if low is None else low, "upper": np.inf if high is None else high}
        program.add_row(f"row {index}", Linear.of(x, row), **limits)
    program.minimise(Linear.of(x, costs))
    return program


@pytest.mark.parametrize("backend", OWN)
def test_a_stage_whose_optimum_is_0_is_proven(backend):
    """The bound of HiGHS was -8e-9 where the value is 0: "gap 8e+05 %"."""
    solution = edrp.solve(edrp.load(HERE / "closing" / "stage_of_value_zero.json"), backend)
    assert (solution.status, solution.stopped_because, solution.notes) == ("optimal", "finished", ())
    assert solution.objective == pytest.approx(0.0019830022461814916)
    assert [(stage.metric, stage.proven, stage.gap) for stage in solution.stages] == [
        ("network_usage", True, 0.0),
        ("response_time", True, 0.0),
        ("objective", True, 0.0),
    ]


@pytest.mark.parametrize("backend", ALL)
def test_a_rescaling_of_twenty_columns_is_not_left_open(backend):
    """The solver's own tolerances left a gap of 1.2e-6 on an objective of 0.14, with load scenarios and tiny coefficients."""
    solution = edrp.solve(edrp.load(HERE / "closing" / "rescale_scenarios.json"), backend)
    assert (solution.status, solution.notes) == ("optimal", ())
    assert solution.objective == pytest.approx(0.14333630698537586, rel=1e-9)
    assert solution.gap == 0.0


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e12])
def test_objectives_are_proven_in_any_unit(unit):
    """In terabytes counted as bytes, what the scaled objective leaves open was twelve times the resolution."""
    sizes = [unit * size for size in (3.7, 11.1, 5.2, 9.4)]
    program = Program()
    keep = program.add_columns("keep", 4, upper=1, integer=True)
    program.add_row("room", Linear.of(keep, [4.0, 3.0, 2.0, 5.0]), upper=8)
    program.minimise(Linear.of(keep, [-size for size in sizes]) + sum(sizes))
    result = solve_program(program)
    assert (result.status, result.values.tolist()) == ("optimal", [0.0, 1.0, 0.0, 1.0])
    assert result.objective == pytest.approx(unit * 8.9, rel=1e-9)
    assert within_gap(result.objective, result.bound, 1e-9)


@pytest.mark.parametrize("backend", [pytest.param(name, marks=[pytest.mark.slow] * (name != "highs")) for name in ALL])
def test_a_program_of_five_columns_that_highs_calls_infeasible(backend):
    """With tolerances of 1e-9 and an epsilon of 1e-12 together, after 462 nodes; (10, −28, −33, −24, 36) is a point of it."""
    known = json.loads((HERE / "closing" / "decimal_rows.json").read_text())
    program = whole(known["costs"], known["rows"], known["lower"], known["upper"])
    result = solve_program(program, backend)
    assert (result.status, result.objective) == ("optimal", pytest.approx(-718.0))
    assert result.values.tolist() == [10, -28, -33, -24, 36]


@pytest.fixture
def lying(monkeypatch):
    """The backend `highs` calls everything infeasible."""
    monkeypatch.setattr(HighsBackend, "solve", lambda *_: INFEASIBLE)


@pytest.mark.usefixtures("lying")
def test_what_is_called_infeasible_wrongly_is_solved_instead():
    """The tree finds a point, and HiGHS goes on from it."""
    found = solve_program(whole([3.0, 5.0], [[2.0, 3.0]], [7.0], [None], 10.0))
    pairs = [(x, y) for x in range(-10, 11) for y in range(-10, 11) if 2 * x + 3 * y >= 7]
    assert (found.status, found.objective) == ("optimal", pytest.approx(min(3 * x + 5 * y for x, y in pairs)))


@pytest.mark.usefixtures("lying")
@pytest.mark.parametrize("size", [0, closing.MAX_SIZE])
def test_what_is_infeasible_is_called_so_by_the_tree_or_by_another_run(size, monkeypatch):
    monkeypatch.setattr(closing, "MAX_SIZE", size)
    assert solve_program(whole([1.0, 1.0], [[2.0, 4.0]], [7.0], [7.5], 9.0)).status == "infeasible"


@pytest.mark.usefixtures("lying")
def test_infeasibility_is_only_as_good_as_its_evidence(monkeypatch):
    """Neither the tree nor the second run comes to an end: nothing is claimed."""
    monkeypatch.setattr(closing, "MAX_SIZE", 0)
    asked = []

    def unsure(arrays, options):
        asked.append(options)
        return ProgramResult("none", "time_limit")

    monkeypatch.setattr(closing, "solve_arrays", unsure)
    found = solve_program(whole([1.0], [[2.0]], [7.0], [None], 3.0))
    assert (found.status, found.stopped_because, found.notes) == ("none", "time_limit", (closing.UNDECIDED,))
    (options,) = asked
    assert options.own_tolerances, "never the same settings again"


def test_points_that_miss_a_row_by_less_than_a_tolerance_are_not_excluded():
    """0.1 + 0.2 is 0.3 in decimals, and 4e-17 more in binary numbers: the tree must not prove that there is no point."""
    program = whole([1.0, 1.0], [[0.1, 0.2]], [0.3], [0.3], 1.0)
    assert point_of(program.arrays()).tolist() == [1.0, 1.0]
    assert point_of(whole([1.0, 1.0], [[0.1, 0.2]], [0.3 + 1e-7], [None], 1.0).arrays()) is None


def test_the_tree_goes_on_from_better_points():
    """From a start that is far away, to the optimum, as enumeration finds it."""
    for seed in range(12):
        random = np.random.default_rng(seed)
        costs, rows = np.round(random.uniform(-9, 9, 3), 2), np.round(random.uniform(-9, 9, (2, 3)), 2)
        grid = np.array(np.meshgrid(*[range(-4, 5)] * 3)).reshape(3, -1)
        limit = np.round(rows @ random.integers(-4, 5, 3) + random.uniform(0, 3, 2), 2)
        inside = grid[:, (rows @ grid <= limit[:, None] + 1e-9).all(axis=0)]
        arrays = whole(costs, rows, [None, None], limit, 4.0).arrays()
        start = inside[:, int(np.argmax(costs @ inside))].astype(float)
        point, value = closed(arrays, start, lambda _: 1e-9)
        assert value == pytest.approx((costs @ inside).min(), abs=1e-9), seed
        assert (arrays.matrix @ point <= limit + 1e-9).all()


def test_leaves_hold_where_columns_have_no_bounds():
    """A maximum without an upper bound, which only the cutoff implies, and costs twelve orders apart."""
    program = Program()
    peak = program.add_columns("peak")
    place = program.add_columns("place", 6, upper=1, integer=True)
    program.add_row("all", Linear.of(place), lower=3)
    for index, load in enumerate((0.31, 0.17, 0.29, 0.44, 0.12, 0.38)):
        program.add_row(f"at least {index}", Linear.of(peak) + Linear.of(place[index : index + 1], -load), lower=0)
    program.minimise(Linear.of(peak, 1e6) + Linear.of(place, 1e-6))
    arrays = program.arrays()
    point, value = closed(arrays, np.array([0.44, 1, 1, 1, 1, 1, 1.0]), lambda _: 1e-3)
    assert value == pytest.approx(0.29e6 + 3e-6)
    assert point[1:].tolist() == [0, 1, 1, 0, 1, 0]


def test_a_bound_within_the_resolution_is_no_gap():
    assert relative_gap(0.0, -8e-15) == 0.0
    assert relative_gap(0.0, -2e-9) == 1.0, "relative to the bound where the objective counts as 0"
    assert relative_gap(3.0, 3.0 - 0.9 * resolution(3.0)) == 0.0
    assert relative_gap(2.0, 1.0) == 0.5
