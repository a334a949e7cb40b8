"""Operator selection: which operators can do with one instance less (cost-efficient enactment, Alg. 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from edrp.enactment import OperatorState
from edrp.enactment.containers import ContainerOperator

Weight = Annotated[float, Field(ge=0)]

Utilities = Callable[[Mapping[str, int]], dict[str, float]]
"""From the instances of all operators to the utility of each with one instance less; only a positive value allows that."""


def spare_instances(operator: ContainerOperator, instances: int) -> int:
    """Instances of an operator that can be taken away at all: one stays, and no fewer than the operator must have.

    >>> filter_ = ContainerOperator(name="filter", processing_duration=0.6, min_instances=3)
    >>> spare_instances(filter_, 5), spare_instances(filter_, 3)
    (2, 0)
    """
    return max(0, instances - max(1, operator.min_instances))


@dataclass(frozen=True, slots=True)
class OperatorSelection:
    """Alg. 3 with its constants; the defaults are the paper's.

    Attributes
    ----------
    instances_weight, queue_weight, delay_weight, scalings_weight : 1
        W1 to W4.
    queue_load : 1
        QL, added where nothing waits: such an operator can lose an instance however late its last items were.
    penalty : money per late item
        P.
    """

    instances_weight: Weight = 1.0
    queue_weight: Weight = 1.0
    delay_weight: Weight = 1.0
    scalings_weight: Weight = 1.0
    queue_load: Weight = 100.0
    penalty: Weight = 1e-4

    def utilities(self, operators: Mapping[str, OperatorState], instances: Mapping[str, int]) -> dict[str, float]:
        """Utility of scaling each operator down; negative where that must not be (cost-efficient enactment, Alg. 3).

        Parameters
        ----------
        instances
            Instances of each operator, which may be planned instead of monitored. With fewer than two, or no more than the
            operator must have, its utility is -1. Where all have equally many, the first term is 0; where nothing has
            been scaled yet, the last.
        """
        fewest, largest = min(instances.values()), max(instances.values())
        scalings = sum(operator.scalings for operator in operators.values())
        utilities = {}
        for name, monitored in operators.items():
            count = instances[name]
            if not spare_instances(monitored.operator, count):
                utilities[name] = -1.0
                continue
            share = (count - fewest) / (largest - fewest) if largest > fewest else 0.0
            delay = monitored.duration / monitored.operator.processing_duration * (1 + self.penalty)
            utilities[name] = (
                1
                + self.instances_weight * share
                + self.queue_weight * (self.queue_load if monitored.queue < 1 else 0.0)
                - self.delay_weight * delay
                - self.scalings_weight * (monitored.scalings / scalings if scalings else 0.0)
            )
        return utilities
