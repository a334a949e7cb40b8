"""Programs on which solvers call a point optimal that is not."""

import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import edrp
from edrp.backends import OWN_BACKENDS, Backend, backends, base
from edrp.backends.base import LET_THROUGH, ProgramResult, SolverOptions
from edrp.backends.conditioning import at_scale
from edrp.backends.highs import HighsBackend, second_look
from edrp.backends.solving import solve_program
from edrp.check_problems.placement.enumeration import brute_force, feasible_deployments
from edrp.core.budget import now
from edrp.core.errors import OutOfTimeError
from edrp.core.program import Arrays, Linear, Program
from edrp.formulations.methods import formulate
from edrp.migration.rescale.documents import KeyedDeployment, KeyRange

CASES = sorted(Path(__file__).with_name("wrong_optima").glob("*.json"))


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_allocations_of_links_that_were_called_optimal_at_their_start(file):
    problem = edrp.load(file)
    solution = edrp.solve(problem, "highs")
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(0.0, abs=1e-9)
    assert edrp.solve(problem, "scipy").objective == pytest.approx(solution.objective, abs=1e-9)


OPTIMA = {
    "enactment/cost_307": 2.747973919898606,
    "enactment/cost_403": 4.103993468737724,
    "enactment/cost_989": 7.204764845552365,
    "enactment/cost_1469": 1.1152536439271317,
    "enactment/next_to_nothing": 5.950183328288335,
    "restarts/rescale_846": 0.10921057607764079,
    "restarts/rescale_884": 0.07282981037603109,
    "restarts/rescale_1373": 0.07271032644584088,
    "scip/sequence_188": 0.8764384764729941,
}
"""Optima that were cut off, as SciPy finds them, or HiGHS without presolve, and the evaluator confirms.

Costs: tolerances as small as the rounding error that HiGHS reckons with, 0.1 to 0.8 % below. Next to nothing: a coefficient of
2e-8 in a row of whole containers with tolerances of 1e-9, 0.04 % below. Restarts, 0.2 to 1.9 % above: HiGHS had presolved all
costs away when it began again at the root. SCIP: 7 % above, by reductions of its presolve.
"""

OTHERS = sorted(backends().keys() - {"highs"})
ALSO = list(product(("enactment/next_to_nothing", "restarts/rescale_884", "scip/sequence_188"), OTHERS))


@pytest.mark.parametrize(
    ("name", "backend"),
    [*product(OPTIMA, ["highs"]), ("enactment/cost_307", "cvxpy"), ("enactment/cost_307", "pyomo"), *ALSO],
)
def test_optima_that_were_cut_off(name, backend):
    solution = edrp.solve(edrp.load(CASES[0].parent / f"{name}.json"), backend, seed=3)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(OPTIMA[name], rel=1e-8)


def test_an_optimum_that_scipy_loses_at_a_restart_is_found_by_the_tree():
    """0.8 % above, after the first node, so that no look at what presolve alone has decided helps."""
    solution = edrp.solve(edrp.load(CASES[0].parent / "restarts" / "rescale_966_scipy.json"), "scipy")
    assert (solution.status, solution.objective) == ("optimal", pytest.approx(0.08775122262931567, rel=1e-8))


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("backend", OWN_BACKENDS)
def test_an_optimum_that_meets_its_bound_is_not_lost_over_a_tiny_penalty(backend, seed):
    """The row that holds the bound had a penalty of 1e-10 an item: without it HiGHS cut the optimum off, 0.02 % below."""
    program = formulate(edrp.load(CASES[0].parent / "enactment" / "tight_bound.json")).program
    result = solve_program(program, backend, seed=seed)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(12.64747705520198, rel=1e-8)


@pytest.mark.parametrize("price", [1e-7, 1e-11])
@pytest.mark.parametrize("backend", OWN_BACKENDS)
def test_what_lateness_costs_decides_however_little_it_is(backend, price):
    """Two of six are taken for 6 each; which ones, items decide whose price is below a solver's tolerance of costs."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        items, served = 1e4 + random.uniform(0, 2e4, 6), random.uniform(0, 2e4, (6, 6))
        program = Program()
        take, late = program.add_columns("take", 6, upper=1, integer=True), program.add_columns("late", 6, upper=1e5)
        rows = np.arange(6)
        program.add_rows("late", 6, [(rows, late, 1.0), (rows[:, None], take, served)], lower=items)
        program.add_row("some", Linear.of(take), lower=2)
        program.minimise(Linear.of(take, 6.0) + Linear.of(late, price))
        result = solve_program(program, backend)
        pairs = [12 + price * np.maximum(0, items - served[:, i] - served[:, j]).sum() for i in rows for j in rows[:i]]
        assert result.status == "optimal"
        assert result.objective == pytest.approx(min(pairs), rel=1e-9, abs=0)


@pytest.mark.parametrize("tiny", [False, True])
@pytest.mark.parametrize("prices", [[6.0, 1e-10], [3e-5, 7e-9], [3e10, 7e2], [1.0, 1e-30], [6.0, 0.7]])
def test_objectives_are_scaled_by_powers_of_two(prices, tiny):
    """So that the objective of a decision is the same, to the last bit, at any scale."""
    program = Program()
    program.minimise(Linear.of(program.add_columns("take", 2, upper=1), prices))
    scaled, _, scale = at_scale(program.arrays(), SolverOptions(tiny=tiny))
    assert math.frexp(scale)[0] == 0.5
    assert (scaled.objective * scale == prices).all()
    assert scaled.objective.max() <= 2.0**25


def test_a_start_far_from_the_optimum_does_not_lead_past_it():
    """HiGHS restarted twice, and its bound passed the optimum: 4 % above it."""
    problem = edrp.load(CASES[0].parent / "restarts" / "rescale_1824.json")
    keyed0 = [("node0", (0, 1)), ("node2", (1, 3)), ("node2", (3, 4))]
    keyed1 = [("node0", (0, 1)), ("node2", (1, 2)), ("node1", (2, 4))]
    ranges = {
        name: tuple(KeyRange(node=node, tasks=tasks) for node, tasks in held)
        for name, held in (("keyed0", keyed0), ("keyed1", keyed1))
    }
    formulation = formulate(problem, None)
    start = formulation.encode(KeyedDeployment({"source": ("node1",), **ranges}))
    found = solve_program(formulation.program, "highs", start=start)
    assert (found.status, found.objective) == ("optimal", pytest.approx(0.08354082176340698, rel=1e-8))


def test_where_no_time_is_left_to_search_again_the_incumbent_is_not_called_optimal(monkeypatch):
    problem = edrp.load(CASES[0].parent / "restarts" / "rescale_884.json")
    searched = base.in_fresh_thread
    calls = []

    def once(*arguments, **named):
        calls.append(1)
        if len(calls) > 1:
            raise OutOfTimeError("no time is left")
        return searched(*arguments, **named)

    monkeypatch.setattr(base, "in_fresh_thread", once)
    solution = edrp.solve(problem, "scipy")
    assert (solution.status, solution.stopped_because) == ("feasible", "time_limit")
    assert solution.objective > OPTIMA["restarts/rescale_884"] + 1e-4


PRESOLVED = {
    "latency_767": lambda problem: brute_force(problem)[0],
    "equal_nodes_5095": lambda problem: min(found.evaluation.objective for found in feasible_deployments(problem)),
}
"""Problems whose optimum presolve loses, and how enumeration finds it.

Of the first it leaves nothing and calls 2.5 the optimum in place of 1.5, with a start or without. The second, two operators on
four equal nodes with limits on two peak loads, it calls infeasible before the first node, after four iterations.
"""


@pytest.mark.parametrize("name", PRESOLVED)
@pytest.mark.parametrize("backend", ["highs", *OTHERS])
def test_placements_whose_optimum_presolve_loses(backend, name):
    problem = edrp.load(CASES[0].parent / "presolve" / f"{name}.json")
    solution = edrp.solve(problem, backend)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(PRESOLVED[name](problem), rel=1e-9)


@pytest.mark.parametrize("start", [None, np.array([1.0, 0.0])])
def test_what_only_presolve_says_is_believed_if_the_relaxation_says_it_too(start):
    arrays, options = bag(), SolverOptions(start=start)
    for claim in ("infeasible", "optimal"):
        point = None if claim == "infeasible" else np.array([1.0, 0.0])
        wrong = ProgramResult(claim, "finished", point, None if point is None else -2.0, searched=False)
        found = second_look(arrays, options, math.inf, wrong)
        assert (found.status, found.objective, found.values.tolist()) == ("optimal", -3.0, [0.0, 1.0])
    right = ProgramResult("optimal", "finished", np.array([0.0, 0.0]), 0.0, 0.0, searched=False)
    assert second_look(replace(arrays, objective=np.array([2.0, 3.0])), options, math.inf, right) is right


def test_what_only_presolve_says_is_not_believed_where_no_time_is_left():
    wrong = ProgramResult("optimal", "finished", np.array([1.0, 0.0]), -2.0, -2.0, searched=False)
    found = second_look(bag(), SolverOptions(work_limit=0.0), now(), wrong)
    assert (found.status, found.objective, found.bound) == ("feasible", -2.0, None)


def bag() -> Arrays:
    """One of two things, of which the second is worth more."""
    program = Program()
    take = program.add_columns("take", 2, upper=1, integer=True)
    program.add_row("bag", Linear.of(take, [3, 4]), upper=5)
    program.minimise(Linear.of(take, [-2, -3]))
    return program.arrays()


def reservations(share: float) -> Program:
    """Two hosts at most, of which the dearer is not needed; one container takes a tiny share of them."""
    program = Program()
    hosts = program.add_columns("hosts", 2, upper=4, integer=True)
    large = program.add_columns("large", 3, upper=12, integer=True)
    small = program.add_columns("small", 1, upper=40, integer=True)
    program.add_rows("placed", 3, [(np.arange(3), large, 1.0)], lower=[2.0, 5.0, 1.0], upper=12.0)
    program.add_row("small ones", Linear.of(small, 1.0), lower=7.0)
    room = Linear.of(hosts, [-1.0, -2.0]) + Linear.of(large, [0.21, 0.07, 0.13]) + Linear.of(small, share)
    program.add_row("room", room, upper=5e-10)
    program.minimise(Linear.of(hosts, [1.0, 2.5]))
    return program


@pytest.mark.parametrize("share", [1e-9, 2.3e-7, 1e-6, 1e-3])
@pytest.mark.parametrize("backend", OWN_BACKENDS)
def test_shares_from_a_billionth_up_are_decided_alike(share, backend):
    found = solve_program(reservations(share), backend)
    assert (found.status, found.objective) == ("optimal", pytest.approx(1.0, abs=1e-12))


def test_that_nothing_is_feasible_is_said_twice_where_coefficients_are_tiny(monkeypatch):
    """Without presolve HiGHS has called programs infeasible that were not."""
    honest = HighsBackend.solve

    def wrong(self, arrays, options):
        return ProgramResult("infeasible", "finished") if options.tiny else honest(self, arrays, options)

    monkeypatch.setattr(HighsBackend, "solve", wrong)
    found = solve_program(reservations(1e-6), "highs")
    assert (found.status, found.objective) == ("optimal", pytest.approx(1.0))


def test_that_something_is_optimal_is_said_twice_where_coefficients_are_tiny():
    """Links of fifty nanoseconds: without presolve HiGHS called a deployment optimal whose objective is thrice the least."""
    problem = edrp.load(CASES[0].parent / "tiny" / "nanosecond_links.json")
    found = edrp.solve(problem, "highs")
    assert (found.status, found.objective) == ("optimal", pytest.approx(0.3114539213342807))
    other = edrp.solve(problem, "scipy")  # its two runs disagree, and it can be asked for no other tolerance: the tree decides
    assert (other.status, other.objective) == ("optimal", pytest.approx(0.3114539213342807))


def test_an_optimum_that_is_not_found_again_in_time_is_no_proof(monkeypatch):
    honest = HighsBackend.solve

    def slow(self, arrays, options):
        return honest(self, arrays, options) if options.tiny else ProgramResult("none", "time_limit")

    monkeypatch.setattr(HighsBackend, "solve", slow)
    found = solve_program(reservations(1e-6), "highs")
    assert (found.status, found.objective, found.bound) == ("feasible", pytest.approx(1.0), None)
    assert "found twice" in " ".join(found.notes)


def test_what_only_a_millionth_lets_through_is_not_taken():
    """Two containers that miss a host by a ten-millionth of it; within a solver's usual tolerance they fit."""
    program = Program()
    use = program.add_columns("use", 2, upper=1, integer=True)
    program.add_row("room", Linear.of(use, [0.5, 0.5 + 1e-7]), upper=1.0)
    program.minimise(Linear.of(use, [-2.0, -3.0]))
    for backend in (name for name, backend in backends().items() if "tolerances" in backend.features):
        found = solve_program(program, backend)
        assert (found.status, found.objective, found.values.tolist()) == ("optimal", -3.0, [0.0, 1.0]), backend


EXAMPLES = Path(__file__).parents[3] / "examples"


class Loose(Backend):
    """A backend without tolerances of its own that gives the same point whatever it is asked."""

    name = "loose"

    def __init__(self, values):
        self.values = np.array(values)

    def solve(self, arrays, options):
        return ProgramResult("optimal", "finished", self.values, float(arrays.objective @ self.values))


def test_a_point_that_only_a_solvers_tolerances_let_through_is_not_handed_on(monkeypatch):
    """SciPy's tolerances are 1e-6: a limit of 37 MB was exceeded by more than the evaluator grants, and called feasible."""
    program = Program()
    take = program.add_columns("take", 1, upper=9, integer=True)
    program.add_row("limit", Linear.of(take, [2e6]), upper=6e6 - 1)
    program.minimise(Linear.of(take, [-1]))
    loose = Loose([3.0])
    for start in (None, np.array([2.0])):
        found = solve_program(program, loose, start=start)
        assert (found.status, found.objective, found.values.tolist()) == ("optimal", -2.0, [2.0])
    monkeypatch.setattr("edrp.backends.solving.verify_unproven", lambda arrays, result, *_, **__: result)
    result = solve_program(program, loose)
    assert (result.status, result.values, result.notes[-1]) == ("none", None, LET_THROUGH)
    known = solve_program(program, loose, start=np.array([2.0]))
    assert (known.status, known.objective, known.values.tolist()) == ("feasible", -2.0, [2.0])
    assert solve_program(program, Loose([2.0])).status == "optimal"


class OutOfTime(Backend):
    """HiGHS stopped before its continuous columns are what the integer ones allow: as large as a finite bound lets them be."""

    name, features = "late", frozenset({"tolerances"})

    def solve(self, arrays, options):
        first = HighsBackend().solve(arrays, options)
        lower, upper = arrays.lower.copy(), np.where(arrays.integer, arrays.upper, np.abs(first.values) * 2 + 1)
        lower[arrays.integer] = upper[arrays.integer] = np.round(first.values[arrays.integer])
        objective = np.where(arrays.integer, 0.0, -1.0)
        fixed = replace(arrays, objective=objective, lower=lower, upper=np.minimum(upper, arrays.upper))
        return replace(HighsBackend().solve(fixed, SolverOptions()), status="feasible", stopped_because="time_limit", bound=None)


def test_an_incumbent_whose_latencies_are_not_the_least_yet_is_worth_what_its_evaluation_says(monkeypatch):
    """Pyomo, out of time before a rescaling's response time came down, claimed more than the evaluation: a loud error."""
    problem = edrp.load(EXAMPLES / "word_count.json")
    monkeypatch.setattr(edrp.methods()["scipy"], "backend", OutOfTime())
    nothing = ProgramResult("none", "time_limit")
    monkeypatch.setattr("edrp.backends.points.solve_arrays", lambda arrays, **_: nothing)
    solution = edrp.solve(problem, "scipy")
    assert solution.status == "feasible"
    assert solution.objective == problem.evaluate(solution.deployment).objective
