"""Thousands of nodes as a page can show them: those that matter one by one, the others as groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from edrp.placement.network import Network, Node

MAX_BOXES = 220
"""Nodes up to which each has a box of its own."""

MAX_USED = 120
"""Nodes in use up to which each has a box of its own where there are more in all."""

MAX_GROUPS = 80


@dataclass(frozen=True, slots=True)
class Group:
    """One box: a single node, or several that are shown together."""

    label: str
    nodes: tuple[str, ...]

    @property
    def single(self) -> bool:
        """Whether it is a node."""
        return len(self.nodes) == 1


def groups(network: Network, used: Collection[str]) -> list[Group]:
    """The boxes of a network: nodes one by one, or those in use one by one and the others by zone, or all by zone."""
    names = [node.name for node in network.nodes]
    if len(names) <= MAX_BOXES:
        return [Group(name, (name,)) for name in names]
    if len(used) <= MAX_USED:
        alone = [Group(name, (name,)) for name in names if name in used]
        return [*alone, *_by_zone([node for node in network.nodes if node.name not in used])]
    return _by_zone(network.nodes)


def _by_zone(nodes: Sequence[Node]) -> list[Group]:
    """Nodes of one zone together; where there are no zones, or too many, in the order of the document."""
    zones: dict[str | None, list[str]] = {}
    for node in nodes:
        zones.setdefault(node.zone, []).append(node.name)
    if len(zones) == 1 or len(zones) > MAX_GROUPS:
        size = -(-len(nodes) // (MAX_GROUPS // 2))
        rows = [tuple(node.name for node in nodes[first : first + size]) for first in range(0, len(nodes), size)]
        return [Group(f"{row[0]} … {row[-1]}", row) for row in rows]
    return [Group("no zone" if zone is None else str(zone), tuple(members)) for zone, members in zones.items()]
