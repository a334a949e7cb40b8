"""Benchmarks: none is forgotten or misnamed, and sides of a pair are compared as they should."""

import sys
from pathlib import Path

import growth
import pytest
from peer_pairs import Command, Measured, Outcome, Pair, load_pairs, measure
from peers import answer, cells
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
    call()
    assert calls == [[1]]


@pytest.mark.parametrize(("sweep", "phases"), [({}, ["solve"]), ({"one": 1}, []), ({"one": 1}, ["guess"])])
def test_a_spec_needs_sizes_and_known_phases(sweep, phases):
    """A spec without sizes or phases, or with an unknown phase, is refused with what would be right."""
    with pytest.raises(ValueError, match="own: needs sizes, and phases among read, compile"):
        BenchSpec("own", lambda size: size, sweep, {phase: lambda subject: subject for phase in phases})


def test_both_sides_of_a_pair_are_measured_with_what_they_start():
    """A command counts its child processes; a peer that is not installed is left out."""
    spin = "import time\nwhile time.process_time() < 0.2: pass"
    child = Command(
        "child",
        lambda scratch: [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"],
    )
    idle = Command("idle", lambda scratch: [sys.executable, "-c", "pass"])
    (both,) = measure(Pair("own", "", child, idle), 1)
    assert both["ours"].processor >= 0.2
    assert both["peer"].outcome == Outcome()
    assert measure(Pair("own", "", idle, child, needs=("no_such_module",)), 1)[0]["peer"] is None
    with pytest.raises(RuntimeError, match="broken: exit code 3"):
        measure(Pair("own", "", Command("broken", lambda scratch: [sys.executable, "-c", "exit(3)"])), 1)


def measured(seconds, *outcome):
    """A run of that many seconds, with objective, bound and note."""
    return Measured(seconds, seconds, 1e6, Outcome(*outcome))


def test_answers_of_a_pair_say_their_gap():
    """The gap is that of the bound, nothing where a side has no bound; of several instances, the largest."""
    assert answer([measured(1.0, 10.0, 9.5, "of 3")]) == "10 (gap 5.00%) of 3"
    assert answer([measured(1.0, 10.0)]) == "10"
    found = [measured(1.0, 10.0, 9.5), measured(1.0, 10.0, 10.0), measured(1.0)]
    assert answer(found) == "1 of 3 proven, gap up to 5.00%, 1 without answer"


def test_a_row_of_several_instances_has_its_worst_beside_its_median():
    """Instances for which the peer failed are in the seconds, not in the ratios."""
    ours = [measured(seconds, 1.0, 1.0) for seconds in (1.0, 2.0, 6.0)]
    peers = [measured(2.0, 1.0, 1.0), measured(2.0, 1.0, 1.0), measured(2.0, None, None, "GurobiError: too large")]
    row = cells([{"ours": run, "peer": peer} for run, peer in zip(ours, peers, strict=True)], "Gurobi")
    assert row[:7] == ["2", "6", "Gurobi", "2", "0.75", "1.00", "1 of 2"]


def test_a_slope_is_that_of_the_last_sizes_and_a_cliff_names_what_is_open():
    """Cubic times have slope 3; the first size beyond the limit is the cliff, with its gap or its failure."""

    def row(size: int, seconds: float | None, status: str, gap: float | None, stopped: str = "finished") -> dict[str, object]:
        fixed = {"kind": "mapping", "family": "grid", "seed": 1, "bytes": 2e8}
        return fixed | {"size": size, "seconds": seconds, "status": status, "gap": gap, "stopped": stopped}

    rows = [row(size, 1e-3 * size**3, "optimal", 0.0) for size in (1, 2, 4, 8, 16)]
    rows += [row(32, 9.0, "feasible", None), row(64, 60.0, "feasible", 0.25, "time_limit")]
    cubic, grown = growth.table(rows[:5], 60.0), growth.table(rows, 60.0)
    assert list(cubic)[-1] == "| `mapping` | `grid` | 16 components | 16 | 4.1 | 200 | 3.0 | none |"
    assert list(grown)[-1] == "| `mapping` | `grid` | 16 components | 32 | 9 | 200 | 2.4 | 64: feasible, gap 25.00% |"
    failed = [row(1, None, "failed", None, "MemoryError")]
    assert list(growth.table(failed, 60.0))[-1] == "| `mapping` | `grid` |  |  |  |  |  | 1: MemoryError |"


def test_every_pair_has_a_goal():
    """Pairs are found in their folder; nothing is prepared when they are."""
    assert all(pair.goal for pair in load_pairs().values())
