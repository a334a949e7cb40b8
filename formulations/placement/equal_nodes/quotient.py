"""The quotient of a problem: its choices over classes of equal nodes, with what they cost in downtime."""

from __future__ import annotations

from edrp.core.problem import derived
from edrp.formulations.placement.elimination.model import build_model
from edrp.formulations.placement.equal_nodes.downtimes import with_downtimes
from edrp.formulations.placement.equal_nodes.model import Quotient, build_quotient
from edrp.placement.compilation import compile_problem
from edrp.placement.node_classes import find_node_classes
from edrp.placement.problem import PlacementProblem


@derived
def compiled_quotient(problem: PlacementProblem) -> Quotient:
    """The quotient of a problem; inside `derived_once` it is built once.

    The problem has few classes. Without the placement at which nothing changes, where there is a current one.
    """
    number = find_node_classes(problem)
    assert number is not None
    quotient = build_quotient(build_model(compile_problem(problem)), number)
    return quotient if problem.current is None else with_downtimes(quotient)
