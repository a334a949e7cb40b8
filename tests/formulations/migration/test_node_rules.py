"""Rules about tasks and nodes: every method of kind `migration` that takes them against all decisions of tiny problems."""

import pytest

import edrp
from edrp.backends import OWN_BACKENDS
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.core.methods import methods
from edrp.migration.single_step import MigrationProblem

LINE = MigrationProblem(work=[1] * 6, state_size=[1, 2, 3, 4, 5, 6], intervals=[(0, 3), (3, 6)], nodes=2, tolerance=0.5)


def test_the_methods_of_the_kind_are_those_tested_here_and_one_that_refuses() -> None:
    tested = {*OWN_BACKENDS, "consistent-hashing", "even-split", "balanced"}
    assert set(methods("migration")) == {*tested, "auto", "ssm"}
    ruled = LINE.replace(rules=[{"rule": "forbidden", "name": "drain", "tasks": [(0, 6)], "nodes": [0]}])
    with pytest.raises(UnsupportedProblemError, match="ssm does not take rules into account; use highs"):
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
