"""How many instances of each operator there are, and those that cannot be spared."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edrp.enactment import TentativeState
from edrp.enactment.containers import ContainerOperator

Utilities = Callable[[Mapping[str, int]], dict[str, float]]
"""From instances of each operator to how well it could do with one less; only a positive value allows that."""


def staying(tentative: TentativeState) -> dict[str, int]:
    """Instances of each operator, without those whose successor is on its way."""
    return {name: tentative.instances(name) for name in tentative.state.operators}


def spare(operator: ContainerOperator, instances: int) -> int:
    """How many instances of an operator can be taken away at all: one stays, and no fewer than the operator must have.

    >>> filter_ = ContainerOperator(name="filter", processing_duration=0.6, min_instances=3)
    >>> spare(filter_, 5), spare(filter_, 3)
    (2, 0)
    """
    return max(0, instances - max(1, operator.min_instances))


def at_most(operator: ContainerOperator, instances: int) -> bool:
    """Whether the operator has all the instances that it may have."""
    return operator.max_instances is not None and instances >= operator.max_instances
