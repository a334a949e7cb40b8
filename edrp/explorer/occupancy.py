"""Shares of the nodes of every box that the replicas of a deployment use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edrp.core.document import named_resources
from edrp.explorer.grouping import Group
from edrp.placement.problem import StreamPlacement

Counts = Mapping[str, Mapping[int, int]]
"""Replicas by operator and by number of their box."""


class Occupancy:
    """Resources of boxes, and what replicas use of them."""

    def __init__(self, problem: StreamPlacement, groups: Sequence[Group]) -> None:
        self.needs = {operator.name: named_resources(operator.resources) for operator in problem.application.operators}
        self.free = [_free(problem, group) for group in groups]

    def used(self, counts: Counts) -> list[dict[str, float]]:
        """Resources in use of each box."""
        used: list[dict[str, float]] = [{} for _ in self.free]
        for name, replicas in counts.items():
            for box, count in replicas.items():
                for resource, amount in self.needs[name].items():
                    used[box][resource] = used[box].get(resource, 0.0) + count * amount
        return used

    def shares(self, counts: Counts) -> list[float | None]:
        """Share in use of the fullest resource of each box; None where nodes have no end of them."""
        shares: list[float | None] = []
        for free, used in zip(self.free, self.used(counts), strict=True):
            own = [used.get(resource, 0.0) / amount for resource, amount in (free or {}).items() if amount]
            shares.append(max(own, default=None))
        return shares


def _free(problem: StreamPlacement, group: Group) -> dict[str, float] | None:
    """Resources of the nodes of a box that may be used; None where a node has no end of them."""
    free: dict[str, float] = {}
    for node in (problem.network.by_name[name] for name in group.nodes):
        if node.resources is None:
            return None
        for resource, amount in named_resources(node.resources).items():
            free[resource] = free.get(resource, 0.0) + amount * problem.usable_share(resource)
    return free
