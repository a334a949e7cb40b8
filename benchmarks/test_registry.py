"""The registry of benchmarks: nothing in it is forgotten, and nothing wrong gets in."""

import pytest
from registry import BenchSpec, Case, cases, load_specs, register

from edrp.core.kinds import kinds


def test_every_program_of_every_kind_is_measured():
    """A program that is added to a kind without a benchmark fails here by name."""
    specs = load_specs()
    for kind in kinds().values():
        for program in kind.formulations:
            assert {"formulate", "hand over"} <= specs[f"{program} program"].phases.keys()


def test_the_smoke_run_takes_the_smallest_size_of_every_phase():
    """The run with the tests leaves no phase of a spec out, and is smaller than that for measuring."""
    smoke, everything = list(cases(smoke=True)), list(cases(smoke=False))
    assert {(case.spec.name, case.phase) for case in smoke} == {(case.spec.name, case.phase) for case in everything}
    assert all(case.size == next(iter(case.spec.sweep)) for case in smoke)
    assert len(everything) > len(smoke)


def test_preparing_is_apart_from_what_is_timed():
    """The subject is made when a case is prepared; only the call that this returns is timed."""
    calls = []
    spec = BenchSpec("own", lambda size: [size], {"one": 1}, {"solve": lambda subject: lambda: calls.append(subject)})
    call = Case(spec, "one", "solve").prepared()
    assert calls == []
    call()
    assert calls == [[1]]


@pytest.mark.parametrize(("sweep", "phases"), [({}, ["solve"]), ({"one": 1}, []), ({"one": 1}, ["guess"])])
def test_a_spec_needs_sizes_and_known_phases(sweep, phases):
    """A spec without sizes or phases, or with an unknown phase, is refused with what would be right."""
    with pytest.raises(ValueError, match="own: needs sizes, and phases among read, compile"):
        BenchSpec("own", lambda size: size, sweep, {phase: lambda subject: subject for phase in phases})


def test_a_name_is_taken_once():
    """A second spec of a name is refused; it would replace the first one in silence."""
    spec = next(iter(load_specs().values()))
    with pytest.raises(ValueError, match="already"):
        register(spec)


def test_what_is_not_installed_is_left_out(monkeypatch):
    """A spec of a package that is missing gives no cases, and no error."""
    spec = BenchSpec("own", lambda size: size, {"one": 1}, {"solve": lambda p: p}, package="no_such_package")
    monkeypatch.setitem(load_specs(), "own", spec)
    assert "own" not in {case.spec.name for case in cases(smoke=True)}
