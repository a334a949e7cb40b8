"""Changes from one deployment to the next: their prices and effects, in plain code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from edrp.core.document import Document, NonNegative, unit
from edrp.placement.application import StreamGraph
from edrp.placement.deployment import Deployment


class ChangePrices(Document):
    """Prices of what a change does, in seconds of an objective of 1; all are 0 by default.

    Examples
    --------
    A restart that is worth a minute, and three minutes for every gigabyte that reaches another node:

    >>> prices = ChangePrices(change=60.0, moved_state=180 / 1e9)
    >>> prices.of(Change(started_replicas=2, moved_state=5e8, downtime=4.0))
    150.0
    """

    change: NonNegative = Field(0.0, description="any change at all: an engine restarts the job", **unit("s"))
    downtime: NonNegative = Field(0.0, description="per second of downtime (EDRP, eq. 10)", **unit("1"))
    moved_state: NonNegative = Field(0.0, description="per byte that must reach another node", **unit("s/bytes"))
    started_replicas: NonNegative = Field(0.0, description="per replica started on a node", **unit("s"))

    def of(self, change: Change | None) -> float:
        """Price of a change in seconds; 0 where nothing changes."""
        return sum(self.parts(change).values())

    def parts(self, change: Change | None) -> dict[str, float]:
        """Seconds that each price adds for a change, by its field; empty where nothing changes."""
        if change is None:
            return {}
        return {
            "change": self.change,
            "downtime": self.downtime * change.downtime,
            "moved_state": self.moved_state * change.moved_state,
            "started_replicas": self.started_replicas * change.started_replicas,
        }


@dataclass(frozen=True, slots=True)
class Change:
    """The effects of a change.

    Attributes
    ----------
    started_replicas : replicas that a node runs more than before, over all operators and nodes.
    moved_state : bytes that must reach another node at least, where the state of an operator is split evenly over its replicas.
    downtime : seconds (EDRP, eq. 10).
    """

    started_replicas: int
    moved_state: float
    downtime: float


class Stateful(Protocol):
    """A problem, as far as its state is concerned."""

    @property
    def application(self) -> StreamGraph:
        """Operators with the sizes of their states."""


def change_between(problem: Stateful, before: Deployment | None, after: Deployment, downtime: float) -> Change | None:
    """Effects of the change from one deployment to the next; None where nothing changes, or there is nothing before.

    Parameters
    ----------
    downtime
        Of this change, in seconds.

    Examples
    --------
    A replica with 6 bytes of state gets a second one on another node, which takes half of them:

    >>> from edrp.placement.edrp import EdrpProblem
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "work", "state_size": 6.0, "max_replicas": 2}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}], "between_zones": {"delay": 0.01}},
    ...     limits={"response_time": 1.0, "cost": 1.0},
    ... )
    >>> change_between(problem, Deployment({"work": ["a"]}), Deployment({"work": ["a", "b"]}), 0.0)
    Change(started_replicas=1, moved_state=3.0, downtime=0.0)
    """
    if before is None or before == after:
        return None
    started, moved = 0, 0.0
    for operator in problem.application.operators:
        old, new = before.replicas(operator.name), after.replicas(operator.name)
        started += (new - old).total()
        moved += operator.state_size * arriving_share(old, new)
    return Change(started, moved, downtime)


def arriving_share(before: Counter[str], after: Counter[str]) -> float:
    """Share of an operator's state that nodes hold afterwards and did not hold before.

    Parameters
    ----------
    before, after
        Replicas of the operator on each node, over which its state is split evenly.

    Examples
    --------
    >>> arriving_share(Counter({"a": 1}), Counter({"a": 1, "b": 3}))
    0.75
    """
    old, new = before.total(), after.total()
    return sum(max(0.0, count / new - before[node] / old) for node, count in after.items())
