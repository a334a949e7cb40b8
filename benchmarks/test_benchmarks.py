"""Benchmarks: none is forgotten or misnamed, answers are compared as they should, no false certificate passes."""

from pathlib import Path

import pytest
from common import agrees, timed
from registry import BENCHMARKS, SUBJECTS, BenchSpec, Case

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
def test_no_change_that_makes_a_claim_false_is_accepted():
    """Most of 300 corrupted certificates are rejected, and none is accepted whose claim became false."""
    from corrupted_certificates import run

    outcomes = run(300, seed=1)
    assert sum(found.refused for found in outcomes.values()) > 150
    assert len(outcomes) == 6
