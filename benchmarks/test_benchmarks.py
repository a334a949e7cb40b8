"""Benchmarks: none is forgotten or misnamed, the comparison of libraries compares one program, no false certificate passes."""

import json
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from common import above, agrees, median_and_worst, read_rows, timed
from registry import BENCHMARKS, SUBJECTS, BenchSpec, Case

import edrp

FOLDER = Path(__file__).parent


def test_every_script_is_registered():
    """A script without an entry, or an entry without a script, fails by name."""
    scripts = {path.stem for path in FOLDER.glob("*.py") if "python benchmarks/" in path.read_text().split('"""')[1]}
    assert scripts - {"run", "test_speed"} == set(BENCHMARKS)
    assert {subject for subject, _ in BENCHMARKS.values()} == set(SUBJECTS)


def test_preparing_is_apart_from_what_is_timed():
    """The subject is made when a case is prepared; only the call that this returns is timed."""
    calls = []
    spec = BenchSpec("own", lambda size: [size], {"one": 1}, {"solve": lambda subject: lambda: calls.append(subject)})
    call = Case(spec, "one", "solve").prepared()
    assert calls == []
    assert timed(call)[0] is None
    assert calls == [[1]]


@pytest.mark.parametrize(("sweep", "phases"), [({}, ["solve"]), ({"one": 1}, []), ({"one": 1}, ["guess"])])
def test_a_spec_needs_sizes_and_known_phases(sweep, phases):
    """A spec without sizes or phases, or with an unknown phase, is refused with what would be right."""
    with pytest.raises(ValueError, match="own: needs sizes, and phases among read, compile"):
        BenchSpec("own", lambda size: size, sweep, {phase: lambda subject: subject for phase in phases})


@pytest.mark.parametrize(
    ("status", "objective", "bound", "consistent"),
    [
        *[("optimal", 2.0, 2.0, True), ("optimal", 2.1, 2.0, False), ("feasible", 2.5, 1.0, True), ("none", None, None, True)],
        *[("feasible", 1.9, None, False), ("feasible", 3.0, 2.5, False), ("infeasible", None, None, False)],
    ],
)
def test_an_answer_has_to_bracket_the_optimum(status, objective, bound, consistent):
    """An answer below the optimum, a bound above it, and a wrong proof disagree."""
    answer = type("Answer", (), {"status": status, "objective": objective, "bound": bound})
    assert agrees(answer, 2.0) == consistent
    assert agrees(answer, None) == (objective is None)


@pytest.mark.slow
def test_rescalings_are_compared_with_the_best_known(tmp_path, capsys):
    """A table of rows that are there; what is infeasible is counted and has no share in the median."""
    from rescale import KEY, show

    rows = tmp_path / "rows.jsonl"
    answers = [("optimal", 0.5, 0.5, "auto"), ("feasible", 1.0, 0.5, "keep"), ("infeasible", None, None, "even-ranges")]
    lines = [
        dict(zip(KEY, ("a", 0, 1, 128, method, 2.0), strict=True)) | {"status": status, "objective": held, "bound": bound}
        for status, held, bound, method in answers
    ]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(read_rows(rows)) == 3
    show(rows)
    shown = capsys.readouterr().out
    assert "100.00 (100.00)" in shown
    assert "0 of 1" in shown
    assert median_and_worst(above([0.5, 1.0], 0.5)) == "50.00 (100.00)"


@pytest.mark.slow
def test_no_change_that_makes_a_claim_false_is_accepted():
    """Most of 300 corrupted certificates are rejected, and none is accepted whose claim became false."""
    from corrupted_certificates import run

    outcomes = run(300, seed=1)
    assert sum(found["rejected"] for found in outcomes.values()) > 150
    assert not any(found["ACCEPTED THOUGH FALSE"] for found in outcomes.values()), outcomes


@pytest.fixture(scope="module")
def problem():
    """Small enough for every library to prove its optimum in a second; capacity and unusable configurations play a part."""
    from edrp.datasets.families.placement.geometric import geometric
    from edrp.datasets.placement.debs2015 import debs2015

    return debs2015(145.0, network=geometric(6, 0), max_replicas=2)


@pytest.fixture(scope="module")
def ours(problem):
    """Our own program in the common form."""
    from rivals import edrp_model

    program = edrp_model.build(problem)
    return edrp_model.canonical(program, edrp_model.to_arrays(program))


@pytest.mark.slow
@pytest.mark.xdist_group("modelling")
def test_every_library_states_the_same_program_and_finds_its_optimum(problem, ours):
    """In the common form, the arrays of another library are ours; solved, they have the optimum of `eliminate`."""
    from modelling import SIDES, SOLVER
    from rivals.common import difference, tables_of

    optimum = edrp.solve(problem, "eliminate").objective
    for name, (package, module, options, _) in SIDES.items():
        if find_spec(package) is None:
            continue
        library = import_module(f"rivals.{module}")
        model = library.build(problem if name == "edrp" else tables_of(problem))
        assert difference(ours, library.canonical(model, library.to_arrays(model, **options))) < 1e-12, name
        if not options:  # they change how a program is compiled, not how it is solved
            assert library.solve(model, SOLVER) == pytest.approx(optimum, rel=1e-8), name


@pytest.mark.parametrize("part", ["objective", "lower", "upper", "row_lower", "row_upper", "matrix", "integer"])
def test_a_program_with_one_number_changed_is_another(part, ours):
    """A change of a thousandth in any part shows, so that the comparison cannot pass by accident."""
    from rivals.common import difference

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
    from rivals.common import difference

    order = np.random.default_rng(0).permutation(ours.row_lower.size)
    matrix = (-2.0 * ours.matrix)[order]
    turned = replace(ours, matrix=matrix, row_lower=-2 * ours.row_upper[order], row_upper=-2 * ours.row_lower[order])
    assert difference(ours, turned) < 1e-12


@pytest.mark.slow
@pytest.mark.xdist_group("modelling")
def test_the_comparison_of_libraries_runs_to_its_end():
    """The command prints a row for each library that is installed, on a small instance."""
    from modelling import SIDES, app
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, ["--nodes", "6", "--repeats", "1", "--solve"])
    assert done.exit_code == 0, done.output
    assert "3,439 columns" in done.output
    assert all(name.split(",")[0] in done.output for name, (package, *_) in SIDES.items() if find_spec(package))
