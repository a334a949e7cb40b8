"""Components apart or together: every method of kind `mapping` that takes rules against brute force on small maps."""

import numpy as np
import pytest

import edrp
from edrp.backends import OWN_BACKENDS
from edrp.check_problems.mapping.problems import brute_force_mapping
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.core.methods import methods
from edrp.datasets.families.mapping.path_mapping import random_mapping_problem
from edrp.formulations.methods import formulate
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.path_tasks import PathMap


def with_rules(seed: int, **fields) -> MappingProblem | None:
    """A random problem with one or two rules; None where its task has fewer than two components."""
    problem = random_mapping_problem(seed, max_servers=4, max_components=3, **fields)
    names, generator = [component.name for component in problem.task.components], np.random.default_rng(seed)
    if len(names) < 2:
        return None
    rules = [
        {
            "rule": str(generator.choice(["apart", "together"])),
            "name": f"rule {number}",
            "components": generator.permutation(names)[: generator.integers(2, len(names) + 1)].tolist(),
        }
        for number in range(1 + seed % 2)
    ]
    return problem.replace(rules=rules)


def line(rules=()) -> MappingProblem:
    """Two components that both fit on either of two servers; the second is dearer to reach."""
    return MappingProblem(
        network={
            "nodes": [{"name": "a", "capacity": 0}, {"name": "b", "capacity": 9}, {"name": "c", "capacity": 9}],
            "links": [
                {"source": "a", "target": "b", "bandwidth": 10, "cost": 1},
                {"source": "b", "target": "c", "bandwidth": 10, "cost": 5},
            ],
        },
        task={
            "source": "a", "delivery": "b", "bandwidths": [4, 2, 1],
            "components": [{"name": "left", "capacity": 3}, {"name": "right", "capacity": 3}],
        },
        rules=rules,
    )  # fmt: skip


APART = {"rule": "apart", "name": "spare", "components": ["left", "right"]}
TOGETHER = {"rule": "together", "name": "cache", "components": ["right", "left"]}


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 200), marks=pytest.mark.slow)], ids=["20", "180"])
def test_backends_and_process_map_find_the_optimum_of_brute_force(seeds: range) -> None:
    backends, outcomes = tuple(OWN_BACKENDS), set()
    for seed, problem in ((seed, with_rules(seed)) for seed in seeds):
        if problem is None:
            continue
        best, maps = brute_force_mapping(problem)
        for method in (backends[seed % len(backends)], "process-map"):
            solution = edrp.solve(problem, method)
            assert solution.status == ("infeasible" if best is None else "optimal"), (seed, method)
            assert solution.objective == (None if best is None else pytest.approx(best)), (seed, method)
            assert bool(solution.clashes) == (best is None)
        outcomes.add(solution.status)
        if maps:
            assert formulate(problem).encode(maps[0]) is not None
    assert outcomes == {"infeasible", "optimal"}


@pytest.mark.parametrize("name", ["least-cost-map", "annealed-least-cost-map", "random-neighbor"])
def test_protocols_return_no_broken_rule(name: str) -> None:
    problems = [problem for seed in range(30) if (problem := with_rules(seed, cost="load-balance"))]
    solutions = [edrp.solve(problem, name) for problem in problems]
    assert {solution.status for solution in solutions} == {"feasible", "none"}
    assert any("within all limits and rules" in note for solution in solutions for note in solution.notes)


def test_the_methods_of_the_kind_are_those_tested_here_and_one_that_refuses() -> None:
    protocols = {"process-map", "least-cost-map", "annealed-least-cost-map", "random-neighbor"}
    assert set(methods("mapping")) == {"auto", "label-setting", *OWN_BACKENDS, *protocols}
    with pytest.raises(UnsupportedProblemError, match="label-setting knows no rules; use highs"):
        edrp.solve(line([APART]), "label-setting")
    assert edrp.solve(line([APART])).method == "auto: highs (walks program)"
    assert edrp.solve(line()).method == "auto: label-setting"
    assert edrp.solve(line([APART]).replace(cost="load-balance")).method == "auto: least-cost-map"


def test_components_apart_take_the_expensive_link() -> None:
    assert edrp.solve(line()).objective == 1.0
    solution = edrp.solve(line([APART]))
    assert (solution.objective, set(solution.nodes)) == (11.0, {"b", "c"})
    both = PathMap(nodes=("b", "b"), routes=(("a", "b"), ("b",), ("b",)))
    assert line([APART]).evaluate(both).broken == (
        "rule 'spare' (left and right must be on different servers): violated by 1",
    )  # fmt: skip
    assert line([TOGETHER]).evaluate(both).broken == ()


@pytest.mark.parametrize("cost", ["additive", "load-balance"])
def test_clashing_rules_are_named_whatever_the_cost(cost: str) -> None:
    problem = line([APART, TOGETHER]).replace(cost=cost)
    assert edrp.solve(problem, "process-map").clashes == (
        "rule 'spare': left and right must be on different servers",
        "rule 'cache': right and left must be on one server",
    )


def test_faults_are_named_by_place() -> None:
    with pytest.raises(InvalidInstanceError) as caught:
        line([{**APART, "components": ["left", "rigth"]}, {**TOGETHER, "name": "spare"}])
    assert [fault.place for fault in caught.value.faults] == ["rules[1].name", "rules[0].components[1]"]
    assert "did you mean 'right'?" in str(caught.value)
