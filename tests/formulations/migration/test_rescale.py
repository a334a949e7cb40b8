"""The program over ranges finds what brute force finds, and says which limits clash."""

import pytest

import edrp
from edrp.backends.solving import solve_program
from edrp.check_problems.placement.enumeration import brute_force
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.errors import ProblemTooLargeError
from edrp.formulations.formulation import to_answer
from edrp.formulations.methods import formulate


@pytest.mark.parametrize(
    ("seed", "scenarios"), [*((seed, False) for seed in range(40, 70)), *((seed, True) for seed in range(16))]
)
def test_the_program_agrees_with_brute_force(seed, scenarios):
    problem = random_rescale(seed, tasks=(3, 5), scenarios=scenarios)
    optimum, _ = brute_force(problem)
    solution = edrp.solve(problem, "highs")
    assert solution.status == ("infeasible" if optimum is None else "optimal")
    if optimum is None:
        assert solution.clashes
    else:
        assert solution.objective == pytest.approx(optimum, abs=1e-7)


@pytest.mark.parametrize("name", ["response_time", "cost", "downtime", "moved_state"])
@pytest.mark.parametrize("seed", [1, 4, 8, 13])
def test_both_faces_of_a_metric_agree(name, seed):
    """The metric as minimised by the program is what the evaluation says of the deployment that it found."""
    problem = random_rescale(seed)
    problem = problem.replace(weights={name: 1.0})
    formulation = formulate(problem)
    answer = to_answer(formulation, solve_program(formulation.program, "highs"))
    if answer.decision is None:
        assert answer.status == "infeasible"
        return
    term = next(term for term in problem.terms if term.metric == name)
    value = problem.metrics[name].evaluate(problem, answer.decision)
    assert answer.objective == pytest.approx(term.coefficient * value, abs=1e-7)


def test_the_current_deployment_is_a_start(examples):
    problem = edrp.load(examples / "rescale.json")
    formulation = formulate(problem)
    point = formulation.encode(problem.current)
    assert point is not None
    assert formulation.decode(point) == problem.current


def test_limits_that_clash_are_named(examples):
    problem = edrp.load(examples / "rescale.json")
    best = edrp.solve(problem.replace(weights={"cost": 1.0}), "highs")
    tight = problem.replace(limits=problem.limits.replace(cost=0.9 * best.metrics["cost"]))
    solution = edrp.solve(tight, "highs")
    assert solution.status == "infeasible"
    (told,) = [clash for clash in solution.clashes if clash.startswith("limits.cost")]
    cheapest = edrp.solve(tight.replace(weights={"cost": 1.0}, limits=problem.limits.replace(cost=20.0)), "highs")
    assert told.endswith(f"; it is at least {cheapest.metrics['cost']:.6g} money/h")


def test_a_task_that_no_replica_serves_is_named(examples):
    problem = edrp.load(examples / "rescale.json")
    operators = list(problem.application.operators)
    operators[1] = operators[1].replace(tasks=operators[1].tasks.replace(work=(9e3, *operators[1].tasks.work[1:])))
    heavy = problem.replace(application=problem.application.replace(operators=tuple(operators)))
    solution = edrp.solve(heavy, "highs")
    assert solution.status == "infeasible"
    assert "count: task 0 alone brings" in solution.clashes[0]
    assert "split the task" in solution.clashes[0]


def test_a_program_beyond_memory_says_what_takes_the_problem(examples):
    problem = edrp.load(examples / "rescale.json")
    many = {"work": [1.0] * 100_000, "state_size": [1.0] * 100_000}
    operators = [
        operator.replace(tasks=many) if operator.name == "count" else operator for operator in problem.application.operators
    ]
    large = problem.replace(application=problem.application.replace(operators=tuple(operators)), current=None)
    with pytest.raises(ProblemTooLargeError, match="range-annealing"):
        formulate(large)
