"""The comparison with other modelling layers compares one program, not four."""

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from modelling import SIDES, SOLVER
from rivals import edrp_model
from rivals.canonical import difference
from rivals.tables import tables_of
from typer.testing import CliRunner

import edrp
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.debs2015 import debs2015

pytestmark = pytest.mark.xdist_group("modelling")
OTHERS = [name for name, (package, *_) in SIDES.items() if package != "edrp" and find_spec(package)]


@pytest.fixture(scope="module")
def problem():
    """Small enough for every library to prove its optimum in a second; capacity and unusable configurations play a part."""
    return debs2015(145.0, network=geometric(6, 0), max_replicas=2)


@pytest.fixture(scope="module")
def ours(problem):
    """Our own program in the common form."""
    program = edrp_model.build(problem)
    return edrp_model.canonical(program, edrp_model.to_arrays(program))


@pytest.mark.parametrize("name", OTHERS)
def test_every_library_states_the_same_program_and_finds_its_optimum(name, problem, ours):
    """In the common form, the arrays of another library are ours; solved, they have the optimum of `eliminate`."""
    _, module, options, _ = SIDES[name]
    library = import_module(f"rivals.{module}")
    model = library.build(tables_of(problem))
    assert difference(ours, library.canonical(model, library.to_arrays(model, **options))) < 1e-12
    if not options:  # they change how a program is compiled, not how it is solved
        assert library.solve(model, SOLVER) == pytest.approx(edrp.solve(problem, "eliminate").objective, rel=1e-8)


def test_our_program_has_the_optimum_that_elimination_proves(problem):
    """The program that the others are compared with is right: a method without a program finds the same optimum."""
    found = edrp_model.solve(edrp_model.build(problem), SOLVER)
    assert found == pytest.approx(edrp.solve(problem, "eliminate").objective, rel=1e-8)


@pytest.mark.parametrize("part", ["objective", "lower", "upper", "row_lower", "row_upper", "matrix", "integer"])
def test_a_program_with_one_number_changed_is_another(part, ours):
    """A change of a thousandth in any part shows, so that the comparison cannot pass by accident."""
    if part == "matrix":
        changed = ours.matrix.copy()
        changed.data[-10] *= 1.001
    else:
        changed = getattr(ours, part).copy()
        place = np.flatnonzero(np.isfinite(changed))[-1]
        changed[place] = ~changed[place] if part == "integer" else changed[place] + 0.001
    assert difference(ours, replace(ours, **{part: changed})) > 1e-4


def test_order_sign_and_scale_of_rows_do_not_count(ours):
    """Libraries may write the rows of a program in any order, turned round, or multiplied."""
    order = np.random.default_rng(0).permutation(ours.row_lower.size)
    matrix = (-2.0 * ours.matrix)[order]
    turned = replace(ours, matrix=matrix, row_lower=-2 * ours.row_upper[order], row_upper=-2 * ours.row_lower[order])
    assert difference(ours, turned) < 1e-12


@pytest.mark.slow
def test_the_command_prints_one_row_per_library():
    """The command runs to its end on a small instance, with each library that is installed."""
    from modelling import app

    done = CliRunner().invoke(app, ["--nodes", "6", "--repeats", "1", "--solve"])
    assert done.exit_code == 0, done.output
    assert "3,439 columns" in done.output
    assert all(name.split(",")[0] in done.output for name in OTHERS)
