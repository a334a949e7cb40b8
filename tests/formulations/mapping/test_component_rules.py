"""Components apart or together: every method of kind `mapping` that takes rules against brute force on small maps."""

import pytest

import edrp
from edrp.backends import OWN_BACKENDS
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.core.methods import methods
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.path_tasks import PathMap


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


def test_the_methods_of_the_kind_are_those_tested_here_and_one_that_refuses() -> None:
    protocols = {"process-map", "least-cost-map", "annealed-least-cost-map", "random-neighbor"}
    assert set(methods("mapping")) == {"auto", "label-setting", *OWN_BACKENDS, *protocols}
    with pytest.raises(UnsupportedProblemError, match="label-setting does not take rules into account; use highs"):
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
