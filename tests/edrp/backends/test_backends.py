"""Backends: one program, the same answer everywhere; limits, interrupts and odd input are answered honestly."""

import _thread
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import gurobipy
import highspy
import numpy as np
import pytest

import edrp
from edrp.backends import Backend, ProgramResult, backends, base
from edrp.backends.base import in_fresh_thread
from edrp.backends.highs import STOPPED, HighsBackend
from edrp.backends.registry import available_backends, get_backend
from edrp.backends.solving import solve_program
from edrp.core import budget
from edrp.core.budget import LOOK, clock, running
from edrp.core.errors import BackendUnavailableError, InvalidArgumentError, UnsupportedProblemError
from edrp.core.methods import _registry as methods_registry
from edrp.core.program import Linear, Program
from edrp.testing import check_backend, market_split

ALL = sorted(backends())


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C is Python's own, whatever a Spark session of other tests has made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def knapsack() -> Program:
    """Integer, continuous and constant parts; optimum -1.8 at (1, 1, 4)."""
    program = Program()
    take = program.add_columns("take", 2, upper=1, integer=True)
    more = program.add_columns("more")
    program.add_row("bag", Linear.of(take, [3, 4]) + Linear.of(more, -0.5), upper=5)
    program.add_row("room", Linear.of(more), lower=-10, upper=4)
    program.minimise(Linear.of(take, [-2, -3]) + Linear.of(more, 0.3) + 2.0)
    return program


HIGHS = HighsBackend()


class Wrong(Backend):
    """HiGHS under another name, of which a test changes something."""

    name, summary, features = "wrong", "HiGHS under another name", frozenset({"seed"})

    def solve(self, arrays, options):
        return HIGHS.solve(arrays, options)


def maximised(arrays, options):
    result = HIGHS.solve(replace(arrays, objective=-arrays.objective), options)
    return result if result.values is None else replace(result, objective=float(arrays.objective @ result.values), bound=None)


@pytest.mark.parametrize("backend", ALL)
def test_backends_keep_the_contract(backend):
    check_backend(get_backend(backend))


@pytest.mark.parametrize(
    ("claims", "complaint"),
    [
        ({"summary": ""}, "wrong needs a summary"),
        ({"features": frozenset({"colour"})}, "wrong has an unknown feature 'colour'; there are gap, interrupt"),
        ({"solve": lambda *_: ProgramResult("infeasible", "finished")}, "wrong says 'infeasible' of the"),
        (
            {"solve": lambda *given: replace(HIGHS.solve(*given), status="none")},
            "wrong says 'none' of the optimal random",
        ),
        ({"solve": lambda *given: maximised(*given)}, "wrong gives .* on random program"),
    ],
)
def test_the_contract_names_what_a_backend_breaks(claims, complaint, monkeypatch):
    monkeypatch.setattr("edrp.backends.solving.verify_unproven", lambda arrays, result, *_, **__: result)  # which mends claims
    wrong = Wrong()
    vars(wrong).update(claims)
    with pytest.raises(AssertionError, match=complaint):
        check_backend(wrong)


def test_a_registered_backend_is_a_method_of_its_name(monkeypatch):
    for registry in (backends(), methods_registry()):
        monkeypatch.setitem(registry, "wrong", None)
        monkeypatch.delitem(registry, "wrong")
    problem = edrp.load(Path(__file__).parents[3] / "examples" / "word_count.json")
    edrp.register_backend(Wrong())
    assert edrp.methods("edrp")["wrong"].summary == Wrong.summary
    assert edrp.solve(problem, "wrong").objective == edrp.solve(problem, "highs").objective
    with pytest.raises(InvalidArgumentError, match=r"there is already a backend called 'wrong'; .*\(backend, replace=True\)"):
        edrp.register_backend(Wrong())
    edrp.register_backend(Wrong(), replace=True)
    for backend, complaint in ((Wrong, "give an instance"), (HIGHS, "there is already a backend called 'highs'; it belongs to")):
        with pytest.raises(InvalidArgumentError, match=complaint):
            edrp.register_backend(backend, replace=True)


@pytest.mark.parametrize("backend", ALL)
def test_equations_and_columns_without_bounds(backend):
    program = Program()
    x = program.add_columns("x", 2, lower=-np.inf)
    program.add_row("sum", Linear.of(x, 1.0), lower=1, upper=1)
    program.add_row("difference", Linear.of(x, [1, -1]), lower=5, upper=9)
    program.minimise(Linear.of(x, [0, -1]))
    result = solve_program(program, backend)
    assert result.values == pytest.approx([3.0, -2.0])
    assert result.objective == pytest.approx(2.0)


@pytest.mark.parametrize(("lower", "status"), [(-1.0, "optimal"), (0.0, "optimal"), (1.0, "infeasible")])
@pytest.mark.parametrize("backend", ALL)
def test_a_program_without_columns_is_decided_by_its_rows(backend, lower, status):
    program = Program()
    program.add_row("nothing", Linear.zero(), lower=lower)
    program.minimise(Linear.zero() + 2.5)
    result = solve_program(program, backend)
    assert (result.status, result.bound) == (status, 2.5 if status == "optimal" else None)


@pytest.mark.parametrize(("delivery", "status"), [("a", "optimal"), ("b", "infeasible")])
def test_a_problem_whose_program_has_no_columns_is_solved_and_certified(delivery, status):
    network = {"nodes": [{"name": "a", "capacity": 0}, {"name": "b", "capacity": 0}]}
    task = {"source": "a", "delivery": delivery, "components": [], "rate": 1.0}
    solution = edrp.solve(edrp.MappingProblem(network=network, task=task), "highs", certify=True)
    assert (solution.status, solution.proof) == (status, "checked certificate"), solution.notes


@pytest.mark.parametrize("backend", ALL)
def test_programs_without_rows(backend):
    program = Program()
    program.minimise(Linear.of(program.add_columns("x", 2, lower=-1, upper=3, integer=True), [1, -1]))
    assert solve_program(program, backend).values.tolist() == [-1, 3]


@pytest.mark.parametrize("backend", ALL)
def test_a_limit_leaves_no_false_claim(backend):
    result = solve_program(market_split(), backend, work_limit=0.2)
    assert result.stopped_because in ("time_limit", "work_limit")
    assert result.status in ("feasible", "none")
    assert (result.values is None) == (result.status == "none")
    assert result.bound is None or result.objective is None or result.bound <= result.objective


@pytest.mark.parametrize("backend", ALL)
def test_a_loose_gap_stops_early(backend):
    program = market_split(rows=2)
    program.minimise(program.objective + 1000.0)
    result = solve_program(program, backend, gap=0.9)
    assert result.status == "optimal"
    assert result.bound is None or (result.objective - result.bound) / result.objective <= 0.9


def test_the_number_of_threads_may_change_between_solves():
    for threads in (1, 2, 1):
        for backend in (name for name in ALL if "threads" in backends()[name].features):
            assert solve_program(knapsack(), backend, threads=threads).objective == pytest.approx(-1.8), (backend, threads)


@pytest.mark.parametrize("backend", [name for name in ALL if "start" in backends()[name].features])
def test_a_partial_start_is_completed_and_never_worsened(backend):
    program = market_split()
    known = solve_program(program, work_limit=0.2)
    start = known.values.copy()
    start[program["over"]] = start[program["under"]] = np.nan
    again = solve_program(program, backend, work_limit=0.01, start=start)
    assert again.objective <= known.objective + 1e-9


def test_a_start_of_another_length_is_refused():
    with pytest.raises(ValueError, match="3 columns"):
        solve_program(knapsack(), start=np.zeros(2))


@pytest.mark.parametrize("backend", [name for name in ALL if "progress" in backends()[name].features])
def test_interrupting_keeps_the_incumbent_and_progress_is_told_until_then(backend):
    """Ctrl-C at the third call, or as soon after as there is an incumbent; the limit is never reached."""
    calls, interrupts = [], iter([_thread.interrupt_main])

    def note(*call: float | None) -> None:
        calls.append(call)
        if len(calls) >= 3 and call[1] is not None:
            next(interrupts, int)()

    result = solve_program(market_split(), backend, work_limit=1000.0, progress=note)
    assert (result.status, result.stopped_because) == ("feasible", "interrupted")
    assert result.objective >= result.bound
    assert [call[0] for call in calls] == sorted(call[0] for call in calls)
    assert all(bound is None or incumbent is None or bound <= incumbent + 1e-9 for _, incumbent, bound in calls)


def test_an_interrupt_before_the_solver_has_begun_is_not_lost(monkeypatch):
    waits, asked, stopped = threading.Event(), threading.Event(), threading.Event()
    listening = []
    monkeypatch.setattr(base, "clock", lambda: waits.set() or clock())

    def solve() -> str:
        assert waits.wait(300.0)
        _thread.interrupt_main()
        assert asked.wait(300.0)
        listening.append(True)
        assert stopped.wait(300.0)
        return "interrupted"

    def cancel() -> None:
        (stopped if listening else asked).set()

    assert in_fresh_thread(solve, cancel) == "interrupted"


def test_pyomo_is_not_left_with_the_output_of_the_process(monkeypatch):
    """Its solver is deaf to the time limit until the caller has looked at the clock again."""
    run, late, looked, looks = highspy.Highs.run, threading.Event(), threading.Event(), count()

    def deaf(solver):
        late.set()
        assert looked.wait(300.0)
        return run(solver)

    monkeypatch.setattr(highspy.Highs, "run", deaf)
    monkeypatch.setattr(base, "clock", lambda: (late.is_set() and next(looks) > 0 and looked.set()) or clock())
    monkeypatch.setattr(budget, "perf_counter", lambda: 1e9 if late.is_set() else 0.0)
    result = solve_program(knapsack(), "pyomo", time_limit=100.0)
    assert not any("cannot be interrupted" in note for note in result.notes)


def test_options_that_a_backend_lacks_are_ignored_aloud():
    result = solve_program(knapsack(), "scipy", threads=2, seed=1, start=np.zeros(3))
    assert [note.split("'")[1] for note in result.notes] == ["start", "seed"]
    assert "highs" in result.notes[0]
    assert solve_program(knapsack(), "highs", threads=2, seed=1, start=np.zeros(3)).notes == ()


@pytest.mark.parametrize(
    ("where", "name"), [("objective", r"take\[1\]"), ("matrix", r"bag\[0\]"), ("bound", "more"), ("range", r"room\[0\]")]
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_never_reach_a_solver(where, name, value):
    program = Program()
    take = program.add_columns("take", 2, upper=1)
    program.add_columns("more", (), lower=value if where == "bound" else 0.0, upper=1.0)
    program.add_row("bag", Linear.of(take, [1, value if where == "matrix" else 1]), upper=5)
    program.add_row("room", Linear.of(take), lower=value if where == "range" else 0.0, upper=4)
    program.minimise(Linear.of(take, [1, value if where == "objective" else 1]))
    with pytest.raises(ValueError, match=name):
        solve_program(program)


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr("edrp.backends.registry.find_spec", lambda _: None)
    with pytest.raises(BackendUnavailableError, match=r'pip install "edrp\[cvxpy\]"'):
        solve_program(knapsack(), "cvxpy")
    assert available_backends() == ()


def test_every_status_of_highs_has_a_meaning():
    assert set(STOPPED) == {status for name, status in vars(highspy.HighsModelStatus).items() if name.startswith("k")}


@pytest.mark.parametrize("backend", ALL)
def test_numbers_too_far_apart_for_solvers_are_named(backend):
    program = Program()
    take = program.add_columns("take", 2, upper=1, integer=True)
    program.add_row("near", Linear.of(take, 1.0), lower=1)
    program.add_row("far", Linear.of(take, [1.0, 1e16]), upper=2)
    program.minimise(Linear.of(take, 1.0))
    result = solve_program(program, backend)
    assert (result.status, result.values) == ("none", None)
    assert "far" in result.notes[0]
    assert "1e+16" in result.notes[0]


def test_the_limit_ends_the_making_of_columns():
    """No rows, 5,000 columns: the work is over among them."""
    program = Program()
    program.minimise(Linear.of(program.add_columns("x", 5_000, upper=1), 1.0))
    with running() as run:
        found = solve_program(program, "pyomo", work_limit=1000 * LOOK)
    assert (found.status, found.stopped_because) == ("none", "time_limit")
    assert run.work < 2000 * LOOK


@pytest.mark.parametrize("backend", ALL)
def test_a_work_limit_lets_the_root_be_solved_or_says_why_not(backend):
    """A brake of 0 nodes would leave HiGHS without its root, and the answer without a word."""
    random = np.random.default_rng(1)
    program = Program()
    x = program.add_columns("x", 60, upper=1, integer=True)
    for row in range(20):
        program.add_row(f"bag {row}", Linear.of(x, random.integers(5, 60, 60).astype(float)), upper=120.0)
    program.minimise(Linear.of(x, -random.integers(5, 60, 60).astype(float)))
    bounds = []
    for work in (5e-4, 1.4e-3, 2.4e-3, 0.013):
        result = solve_program(program, backend, work_limit=work)
        assert result.bound is not None or (result.status == "none" and result.notes), work
        bounds.append(result.bound)
    assert bounds[-1] is not None
    assert -200 < bounds[-1] <= -163


BOTH_ORDERS = """
import sys
from edrp.backends import solve_program
from edrp.core.program import Linear, Program
from edrp.testing import check_backend, market_split
program = Program()
program.minimise(Linear.of(program.add_columns("x", 1, lower=0.5, upper=9, integer=True)))
for backend in sys.argv[1:]:
    assert solve_program(program, backend).objective == 1.0, backend
"""


@pytest.mark.parametrize("order", [1, pytest.param(-1, marks=pytest.mark.slow)])
def test_backends_of_one_process_do_not_depend_on_their_order(order):
    """Every pair of them in both orders: Pyomo looks at gurobipy when that is imported first, with a package of its own."""
    subprocess.run([sys.executable, "-c", BOTH_ORDERS, *ALL[::order]], check=True)


def test_a_backend_needs_all_of_its_packages(monkeypatch):
    monkeypatch.setattr(
        "edrp.backends.registry.find_spec", lambda package: None if package == "packaging" else find_spec(package)
    )
    with pytest.raises(BackendUnavailableError, match=r'needs the package packaging; run: pip install "edrp\[pyomo\]"'):
        solve_program(knapsack(), "pyomo")
    assert "pyomo" not in available_backends()


def large(columns, rows):
    program = Program()
    x = program.add_columns("x", columns, upper=1, integer=True)
    program.add_rows("row", rows, [(np.arange(rows), x[:rows], 1.0)], upper=1.0)
    program.minimise(Linear.of(x, -1.0))
    return program


def test_gurobi_says_in_one_line_what_its_free_licence_does_not_take():
    assert solve_program(large(2000, 1), "gurobi").objective == -2000
    with pytest.raises(
        UnsupportedProblemError, match=r"2001 columns and 1 row is .* 2000 of each .*; install a licence$"
    ) as error:
        solve_program(large(2001, 1), "gurobi")
    assert "\n" not in str(error.value)


def test_an_expired_licence_is_no_traceback(monkeypatch):
    def expired(**_):
        raise gurobipy.GurobiError(gurobipy.GRB.Error.NO_LICENSE, "License expired 2026-11-23")

    monkeypatch.setattr(gurobipy, "Env", expired)
    with pytest.raises(BackendUnavailableError, match="no valid licence: License expired 2026-11-23; highs and scip need none"):
        solve_program(large(1, 1), "gurobi")
