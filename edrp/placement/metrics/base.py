"""What a metric is, and the vocabulary in which it speaks to every builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from edrp.core.arrays import Floats, Ints
from edrp.core.program import Linear, Program

if TYPE_CHECKING:
    from edrp.placement.compiled import Compiled
    from edrp.placement.deployment import Deployment

LIMIT_SLACK = 1e-9
"""Relative rounding slack when a value is compared with its limit."""


class Expressions(Protocol):
    """What a program builder offers to metrics: placement quantities as linear expressions of its columns.

    Columns that a metric asks for are bounded from one side only (the program presses them down), which
    is all that minimisation and upper limits need.
    """

    program: Program
    compiled: Compiled

    def replica_sum(self, weights: Floats) -> Linear:
        """Σ over operators i of `weights[i]` × number of replicas of i."""
        ...

    def stream_pair_sum(self, weights: Floats) -> Linear:
        """Σ over streams e and nodes u, v of `weights[e, u, v]` × share of e that flows from u to v (EDRP, eq. 4)."""
        ...

    def response_time(self) -> Linear:
        """A column that is at least every path's delay (EDRP, eqs. 5–7, 13)."""
        ...

    def downtime(self) -> Linear:
        """A column that is at least every operator's downtime (EDRP, eqs. 10–11, 14; for Storm eq. 33)."""
        ...

    def node_in_use(self) -> Ints:
        """Shape (nodes,): columns that are 1 where any replica runs."""
        ...

    def link_in_use(self) -> Ints:
        """Shape (nodes, nodes): columns that are 1 where any stream flows from u to v; -1 on the diagonal."""
        ...


class Metric(Protocol):
    """One quality of a deployment. Smaller is better, unless `normalised` and `meets` say otherwise."""

    name: str
    unit: str

    def evaluate(self, problem: Any, deployment: Deployment) -> float:
        """The value in plain code, close to the source's equation; infinite where it has none."""
        ...

    def linearise(self, expressions: Expressions) -> Linear:
        """The same quantity, on the scale of `scaled`, over the columns of a program."""
        ...

    def scaled(self, value: float) -> float:
        """The value on the scale in which it enters a weighted sum (EDRP, eq. 12)."""
        ...


class PlainMetric:
    """A metric that enters the weighted sum as it is and is limited from above."""

    def scaled(self, value: float) -> float:
        """The value itself."""
        return value
