"""Rules about tasks and nodes: every method of kind `migration` that takes them against all decisions of tiny problems."""

import math

import numpy as np
import pytest

import edrp
from edrp.backends import OWN_BACKENDS
from edrp.check_problems.migration.problems import assignments
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.core.methods import methods
from edrp.datasets.families.migration.migration_families import random_migration
from edrp.formulations.methods import formulate
from edrp.migration.single_step import MigrationProblem

LINE = MigrationProblem(work=[1] * 6, state_size=[1, 2, 3, 4, 5, 6], intervals=[(0, 3), (3, 6)], nodes=2, tolerance=0.5)


def with_rules(problem: MigrationProblem, seed: int) -> MigrationProblem:
    """The problem with one to three random rules of one or two ranges and nodes each."""
    generator = np.random.default_rng(seed)
    tasks, nodes = len(problem.work), len(problem.intervals)
    rules = []
    for number in range(generator.integers(1, 4)):
        starts = generator.integers(0, tasks, generator.integers(1, 3)).tolist()
        rules.append(
            {
                "rule": str(generator.choice(["forbidden", "required"])),
                "name": f"rule {number}",
                "tasks": [(start, min(tasks, start + int(generator.integers(1, 3)))) for start in starts],
                "nodes": generator.integers(0, nodes, generator.integers(1, 3)).tolist(),
            }
        )
    return problem.replace(rules=rules)


def optimum(problem: MigrationProblem) -> float | None:
    """Least state that moves; the rules are judged here by what they say, node by node."""
    best = math.inf
    for decision in assignments(problem):
        node_of_task = {task: node for node, held in enumerate(decision) if held for task in range(*held)}
        for rule in problem.rules:
            named = [node_of_task[task] in rule.nodes for first, end in rule.tasks for task in range(first, end)]
            if any(named) if rule.rule == "forbidden" else not all(named):
                break
        else:
            evaluation = problem.replace(rules=()).evaluate(decision)
            best = min(best, evaluation.objective if evaluation.feasible else math.inf)
    return None if math.isinf(best) else best


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 400), marks=pytest.mark.slow)], ids=["12", "388"])
def test_every_method_that_takes_rules_agrees_with_all_decisions(seeds: range) -> None:
    backends = tuple(OWN_BACKENDS)
    statuses = set()
    for seed in seeds:
        problem = with_rules(random_migration(seed), seed)
        best = optimum(problem)
        solution = edrp.solve(problem, backends[seed % len(backends)])
        assert solution.objective == (None if best is None else pytest.approx(best)), seed
        assert solution.status == ("infeasible" if best is None else "optimal"), seed
        statuses.add(solution.status)
        if best is None:
            assert solution.clashes
        else:
            point = formulate(problem).encode(solution.intervals)
            assert point is not None
            assert problem.evaluate(solution.intervals).broken == ()
    assert statuses == {"infeasible", "optimal"}


@pytest.mark.parametrize("name", ["consistent-hashing", "even-split", "balanced"])
def test_rules_of_thumb_return_no_broken_rule_and_say_which_it_would_have_been(name: str) -> None:
    answers = [edrp.solve(with_rules(random_migration(seed), seed), name) for seed in range(24)]
    assert {answer.status for answer in answers} == {"feasible", "none"}
    assert any("rule 'rule 0'" in answer.notes[0] for answer in answers if answer.status == "none")


def test_the_methods_of_the_kind_are_those_tested_here_and_one_that_refuses() -> None:
    tested = {*OWN_BACKENDS, "consistent-hashing", "even-split", "balanced"}
    assert set(methods("migration")) == {*tested, "auto", "ssm"}
    ruled = LINE.replace(rules=[{"rule": "forbidden", "name": "drain", "tasks": [(0, 6)], "nodes": [0]}])
    with pytest.raises(UnsupportedProblemError, match="ssm knows no rules; use highs"):
        edrp.solve(ruled, "ssm")
    assert edrp.solve(ruled).method == "auto: highs (intervals program)"
    assert edrp.solve(LINE).method == "auto: ssm"


def test_a_node_that_is_drained_is_replaced_by_one_that_joins() -> None:
    drained = LINE.replace(rules=[{"rule": "forbidden", "name": "drain", "tasks": [(0, 6)], "nodes": [0]}])
    assert edrp.solve(drained).intervals == (None, (3, 6), (0, 3))


def test_tasks_can_be_required_on_a_node_that_holds_nothing_of_their_interval() -> None:
    required = LINE.replace(rules=[{"rule": "required", "name": "cold", "tasks": [(0, 1)], "nodes": [1]}])
    solution = edrp.solve(required)
    assert (solution.intervals, solution.objective) == (((4, 6), (0, 4)), 17.0)
    assert required.evaluate([(0, 3), (3, 6)]).broken == ("rule 'cold' (task 0 must be on node 1): violated by 1",)


def test_nodes_can_be_required_to_swap_all_that_they_hold() -> None:
    swapped = [
        {"rule": "required", "name": "left", "tasks": [(0, 3)], "nodes": [1]},
        {"rule": "required", "name": "right", "tasks": [(3, 6)], "nodes": [0]},
    ]
    solution = edrp.solve(LINE.replace(rules=swapped))
    assert (solution.intervals, solution.objective) == (((3, 6), (0, 3)), 21.0)


def test_clashing_rules_are_named_and_no_others() -> None:
    rules = [
        {"rule": "required", "name": "here", "tasks": [(2, 3)], "nodes": [0]},
        {"rule": "forbidden", "name": "elsewhere", "tasks": [(5, 6)], "nodes": [0]},
        {"rule": "forbidden", "name": "not here", "tasks": [(1, 4)], "nodes": [0]},
    ]
    assert edrp.solve(LINE.replace(rules=rules)).clashes == (
        "rule 'here': task 2 must be on node 0",
        "rule 'not here': tasks 1–3 may not be on node 0",
    )
    heavy = LINE.replace(work=[1, 1, 1, 1, 1, 9], tolerance=0.1, rules=rules[:1])
    assert edrp.solve(heavy).clashes == heavy.replace(rules=()).clashes()


def test_faults_are_named_by_place() -> None:
    rules = [
        {"rule": "required", "name": "a", "tasks": [(0, 7)], "nodes": [0, 2]},
        {"rule": "forbidden", "name": "a", "tasks": [(0, 1), (3, 3)], "nodes": [1]},
    ]
    with pytest.raises(InvalidInstanceError) as caught:
        LINE.replace(rules=rules)
    assert [fault.place for fault in caught.value.faults] == [
        "rules[1].name",
        "rules[0].tasks[0]",
        "rules[0].nodes[1]",
        "rules[1].tasks[1]",
    ]
    with pytest.raises(InvalidInstanceError, match=r"rules\[0\]\.penalty: unknown field"):
        LINE.replace(rules=[{**rules[0], "tasks": [(0, 1)], "nodes": [0], "penalty": 1.0}])
