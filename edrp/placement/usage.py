"""Use of the shared resources of a node by its replicas, which slow each other down where demand exceeds capacity."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pydantic import Field

from edrp.core.document import Document, NonNegative, unit

Partitioning = Literal["forward", "hash", "rebalance"]
"""How a stream's tuples are dealt to the replicas of its target."""


class Usage(Document):
    """Use of one shared resource by a replica, in the resource's units per second.

    Examples
    --------
    >>> cpu = Usage(per_replica=0.05, per_tuple=0.002)
    >>> cpu.at(100.0)
    0.25
    """

    per_replica: NonNegative = Field(0.0, description="used by every replica, whatever its load", **unit("units/s"))
    per_tuple: NonNegative = Field(0.0, description="used by every tuple that a replica receives", **unit("units/tuple"))

    def at(self, rate: float) -> float:
        """Units per second that a replica uses at `rate` tuples/s."""
        return self.per_replica + self.per_tuple * rate


def leaving_share(partitioning: Partitioning, senders: Counter[str], receivers: Counter[str], node: str) -> float:
    """Share of a stream that replicas on `node` send to other nodes.

    With "hash" and "rebalance" every sender deals its tuples evenly to all receivers. With "forward" a sender has one receiver
    of its own, on its node as far as there are as many: of more senders than receivers on a node, the rest sends away.

    Examples
    --------
    >>> senders, receivers = Counter(a=2, b=2), Counter(a=3, b=1)
    >>> leaving_share("hash", senders, receivers, "b"), leaving_share("forward", senders, receivers, "b")
    (0.375, 0.25)
    """
    total = senders.total()
    if partitioning == "forward":
        return max(0, senders[node] - receivers[node]) / total
    return senders[node] / total * (1 - receivers[node] / receivers.total())
