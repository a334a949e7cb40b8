"""`solve` believes no answer that contradicts itself or its evaluation, and writes no number that is none."""

import math
from dataclasses import replace

import pytest

import edrp
from edrp.core.budget import spend
from edrp.core.errors import VerificationError
from edrp.core.methods import Method, Options, _registry, methods, run_method
from edrp.core.problem import EVERYTHING
from edrp.core.solution import Answer, within_gap
from edrp.core.solve import UNCOUNTED, Seconds, checked_solution
from edrp.migration.policy import PolicyDecision

NAN, INFINITY = math.nan, math.inf


@pytest.fixture(scope="module")
def believable(word_count):
    """An answer without a fault: feasible, with a bound that is weak."""
    answer = methods()["greedy"].run(word_count, Options())
    return replace(answer, bound=0.5 * answer.objective)


STOPPED = ("time_limit", "work_limit", "iteration_limit", "interrupted", "error")
NOTHING = {"decision": None, "objective": None, "bound": None}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"status": "optimal"}, "claimed optimal, but the bound .* is further below the evaluated .* than the gap 1e-09"),
        ({"status": "optimal", "bound": None}, "claims status 'optimal' without a bound"),
        ({**NOTHING, "status": "optimal"}, "claims status 'optimal' without a decision"),
        ({**NOTHING, "status": "feasible"}, "claims status 'feasible' without a decision"),
        ({"status": "infeasible"}, "claims status 'infeasible' and gives a decision"),
        ({"status": "none"}, "claims status 'none' and gives a decision"),
        ({"status": "infeasible", "decision": None}, "claims status 'infeasible' and gives an objective"),
        *(
            (
                {**NOTHING, "status": status, "stopped_because": why},
                f"claims status '{status}', but was stopped because of '{why}'",
            )
            for status in ("infeasible", "unbounded")
            for why in STOPPED
        ),
        *(
            ({"status": "optimal", "stopped_because": why}, f"claims status 'optimal', but was stopped because of '{why}'")
            for why in STOPPED
        ),
        ({**NOTHING, "status": "infeasible", "bound": 0.0}, "claims status 'infeasible' .finished. and gives a bound, 0.0"),
        ({**NOTHING, "status": "none", "bound": 0.0}, "claims status 'none' .finished. and gives a bound, 0.0"),
        (
            {**NOTHING, "status": "none", "stopped_because": "error", "bound": 0.0},
            "claims status 'none' .error. and gives a bound",
        ),
        (
            {**NOTHING, "status": "unbounded"},
            "claims status 'unbounded', but the objective of problems of kind 'edrp' is bounded",
        ),
        ({**NOTHING, "status": "none", "proof": "solver's word"}, 'gives "solver\'s word" as proof and claims nothing'),
        (
            {"bound": None, "proof": "own algorithm, not certified"},
            "gives 'own algorithm, not certified' as proof and claims nothing",
        ),
        ({"status": "solved"}, "status must be one of optimal, feasible, infeasible, unbounded, none, not 'solved'"),
        ({"stopped_because": "tired"}, "stopped_because must be one of finished, .*, not 'tired'"),
        ({"objective": NAN}, "claims nan as objective"),
        ({"objective": INFINITY}, "claims inf as objective"),
        ({"bound": NAN}, "claims nan as bound"),
        ({"build_seconds": NAN}, "build_seconds is nan"),
        ({"bound": 1e3}, "bound 1000.0 above the evaluated objective"),
        ({"objective": "0.2"}, "claims '0.2' as objective, which must be a finite number"),
        ({"objective": True}, "claims True as objective"),
        ({"build_seconds": -1.0}, "build_seconds is -1.0, which must be a finite number of at least 0"),
        ({"size": {"nodes": -1}}, "size is {'nodes': -1}, which must be whole numbers of at least 0 by name"),
        ({"notes": "found"}, "notes is 'found', which must be a tuple of texts"),
        ({"stages": ("cost",)}, "stages is "),
        ({"proof": "trust me"}, "proof must be one of .*, not 'trust me'"),
        ({"proof": "checked certificate"}, "claims a checked certificate, which only the checker gives"),
        ({"decision": "everything on one node"}, "gives what is no decision about the problem: deployment: must be an object"),
        ({"decision": {"reader": ["nowhere"]}}, "gives what is no decision about the problem"),
    ],
)
def test_an_answer_that_contradicts_itself_is_an_error(word_count, believable, changes, complaint):
    assert checked_solution(word_count, "greedy", believable, Seconds(1.0)).status == "feasible"
    with pytest.raises(VerificationError, match=f"method mine: {complaint}"):
        checked_solution(word_count, "greedy", replace(believable, **changes, method="mine"), Seconds(1.0))


@pytest.mark.parametrize("stopped", ["time_limit", "work_limit", "iteration_limit", "interrupted"])
def test_a_search_that_was_stopped_keeps_its_bound_where_it_has_no_decision(word_count, stopped):
    answer = Answer("none", stopped, bound=0.01, proof="solver's word")
    solution = checked_solution(word_count, "mine", answer, Seconds(1.0))
    assert (solution.bound, solution.proof) == (0.01, "solver's word")


class Lying(Method):
    """A method of another package that does something else than to solve the problem."""

    takes = EVERYTHING
    name = "lying"
    summary = "says what it likes"
    kinds = ("edrp",)

    def __init__(self, run):
        self._run = run

    def run(self, problem, options):
        return self._run(problem)


@pytest.fixture
def lying(monkeypatch):
    """Register a method that runs a function of the problem."""

    def registered(run) -> str:
        monkeypatch.setitem(_registry(), "lying", Lying(run))
        return "lying"

    return registered


@pytest.mark.parametrize("value", [None, {"status": "optimal"}, Answer])
def test_what_is_no_answer_is_an_error(word_count, lying, value):
    with pytest.raises(VerificationError, match=r"method lying: gives .*, which is no Answer"):
        edrp.solve(word_count, lying(lambda problem: value))


def test_a_method_that_counts_no_work_is_told_under_a_work_limit(word_count, lying):
    held = edrp.solve(word_count, "greedy")
    answer = Answer("feasible", "finished", held.deployment, held.objective)
    assert UNCOUNTED in edrp.solve(word_count, lying(lambda problem: answer), work_limit=1.0).notes
    assert UNCOUNTED not in edrp.solve(word_count, lying(lambda problem: answer)).notes
    assert UNCOUNTED not in edrp.solve(word_count, lying(lambda problem: spend(0.1) or answer), work_limit=1.0).notes


def test_a_method_does_not_end_the_process(word_count, lying):
    def leave(problem):
        raise SystemExit(0)

    with pytest.raises(VerificationError, match="method lying: wanted to end the process"):
        edrp.solve(word_count, lying(leave))


@pytest.mark.parametrize("status", ["feasible", "infeasible"])
def test_an_answer_to_a_problem_that_the_method_has_changed_is_an_error(examples, lying, believable, status):
    def change(problem):
        problem.network.nodes[0].__dict__["capacity"] = 1e6
        problem.application.operators[0].__dict__["cost"] = 0.0
        held = believable.decision if status == "feasible" else None
        return Answer(status, "finished", held)

    with pytest.raises(VerificationError, match="method lying: has changed the problem"):
        edrp.solve(edrp.load(examples / "word_count.json"), lying(change))


def test_a_start_refutes_what_cannot_be(word_count, lying, believable):
    worse = believable
    optimum = edrp.solve(word_count, "highs")
    assert worse.objective > optimum.objective + 1e-3
    claims = {
        "claims status 'infeasible', but a decision that it was given is feasible": Answer("infeasible", "finished"),
        "bound .* above the objective .* of a feasible decision that it was given": Answer(
            "optimal", "finished", worse.decision, worse.objective, bound=worse.objective
        ),
    }
    for words, answer in claims.items():
        method = lying(lambda problem, answer=answer: answer)
        assert edrp.solve(word_count, method).status == answer.status
        with pytest.raises(VerificationError, match=f"method lying: {words}"):
            edrp.solve(word_count, method, start=optimum.deployment)


@pytest.mark.parametrize(
    ("stopped", "found", "bound"),
    [("time_limit", True, None), ("interrupted", False, 0.5), ("time_limit", False, 1.0), ("interrupted", True, 1 + 1e-7)],
)
def test_what_was_given_is_the_answer_where_a_method_stops_before_anything_better(
    word_count, lying, believable, stopped, found, bound
):
    """Its bound stays, up to a solver's rounding; no proof is made of it."""
    optimum = edrp.solve(word_count, "highs")
    reached = None if bound is None else bound * optimum.objective
    early = replace(believable if found else Answer("none", stopped), stopped_because=stopped, bound=reached)
    answer = edrp.solve(word_count, lying(lambda problem: early), start=optimum.deployment)
    assert answer.deployment == optimum.deployment
    assert (answer.status, answer.stopped_because) == ("feasible", stopped)
    assert answer.bound == (None if bound is None else min(reached, answer.objective))
    assert "better" in answer.notes[-1] if found else "nothing was found" in answer.notes[-1]


def test_what_was_given_replaces_no_answer_of_a_method_that_finished_and_no_better_one(word_count, lying, believable):
    """A baseline decides what it decides, whatever else is known."""
    optimum = edrp.solve(word_count, "highs")
    method = lying(lambda problem: believable)
    assert edrp.solve(word_count, method, start=optimum.deployment).deployment == believable.decision
    better = replace(believable, decision=optimum.deployment, objective=optimum.objective, stopped_because="time_limit")
    method = lying(lambda problem: better)
    for start in (believable.decision, optimum.deployment):
        solution = edrp.solve(word_count, method, start=start)
        assert (solution.deployment, solution.notes) == (optimum.deployment, ())


def test_a_decision_in_plain_words_becomes_one_of_the_kind(word_count, believable):
    plain = {operator: list(believable.decision[operator]) for operator in word_count.application.by_name}
    solution = checked_solution(word_count, "greedy", replace(believable, decision=plain), Seconds(1.0))
    assert solution.deployment == believable.decision


def test_what_counts_as_optimal_is_the_gap_that_was_asked_for(word_count, believable):
    close = replace(believable, status="optimal", bound=0.95 * believable.objective)
    assert checked_solution(word_count, "greedy", close, Seconds(1.0), gap=0.05).gap == pytest.approx(0.05)
    with pytest.raises(VerificationError, match=r"than the gap 0\.04"):
        checked_solution(word_count, "greedy", close, Seconds(1.0), gap=0.04)


@pytest.mark.parametrize(("objective", "rounding"), [(1e6, 1e-3), (0.1, 1e-9), (-1e6, 1e-3)])
def test_a_gap_may_be_wider_by_rounding_only(objective, rounding):
    """A billionth of the objective, and no less than that of 1."""
    assert within_gap(objective, objective - 0.9 * rounding, 0.0)
    assert not within_gap(objective, objective - 1.1 * rounding, 0.0)
    assert within_gap(objective, objective - 0.01 * abs(objective), 0.01)
    assert not within_gap(objective, objective - 0.01 * abs(objective) - 1.1 * rounding, 0.01)


@pytest.mark.parametrize("off", [-1, 1])
def test_objective_and_bound_may_be_off_by_rounding_only(word_count, believable, off):
    objective = believable.objective
    near = replace(believable, objective=objective + off * 9e-10, bound=objective + 9e-10)
    assert checked_solution(word_count, "greedy", near, Seconds(1.0)).objective == objective
    with pytest.raises(VerificationError, match="claimed objective"):
        checked_solution(word_count, "greedy", replace(believable, objective=objective + off * 1.1e-9), Seconds(1.0))
    with pytest.raises(VerificationError, match="above the evaluated objective"):
        checked_solution(word_count, "greedy", replace(believable, bound=objective + 1.1e-9), Seconds(1.0))


@pytest.mark.parametrize("value", [NAN, INFINITY])
def test_a_metric_that_is_no_number_is_an_error(word_count, believable, monkeypatch, value):
    evaluation = word_count.evaluate(believable.decision)
    spoiled = replace(evaluation, metrics={**evaluation.metrics, "cost": value})
    monkeypatch.setattr(type(word_count), "evaluate", lambda self, decision: spoiled)
    with pytest.raises(VerificationError, match=f"cost is evaluated as {value}"):
        checked_solution(word_count, "greedy", believable, Seconds(1.0))


def test_a_policy_whose_projected_cost_is_no_number_is_an_error(examples):
    problem = edrp.load(examples / "migration_policy.json")
    answer = run_method(methods()["pmc"], problem, Options())
    unknown = replace(answer.decision, projected_cost=NAN, costs=None)
    assert isinstance(unknown, PolicyDecision)
    with pytest.raises(VerificationError, match="objective is evaluated as nan"):
        checked_solution(problem, "pmc", replace(answer, status="feasible", decision=unknown, objective=None), Seconds(1.0))


def test_a_number_that_only_the_solution_shows_is_checked_too(examples, monkeypatch):
    problem = edrp.load(examples / "migration.json")
    answer = run_method(methods()["ssm"], problem, Options())
    solution = type(problem).solution

    def spoiled(self, decision, fields):
        made = solution(self, decision, fields)
        first = made.moves[0].model_copy(update={"size": NAN})
        return made.model_copy(update={"moves": (first, *made.moves[1:])})

    monkeypatch.setattr(type(problem), "solution", spoiled)
    with pytest.raises(VerificationError, match=r"moves\[0\]\.size is nan, no number to be written"):
        checked_solution(problem, "ssm", answer, Seconds(1.0))
