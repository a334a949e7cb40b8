"""What rules about placement share: places, choices of nodes, and the blocks of expressions that rows are written over."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from pydantic import Field

from edrp.core.arrays import Ints
from edrp.core.document import Document, Faults, Name
from edrp.core.expressions import Block, Expression, Rows
from edrp.core.rules import RuleDocument
from edrp.core.wording import enumerated, listed
from edrp.placement.application import StreamGraph
from edrp.placement.network import Network, Node

NODE, ZONE = "node", "zone"
"""What places are where they are no label: nodes themselves, and zones."""


class RuledProblem(Protocol):
    """The part of a problem that rules read."""

    @property
    def application(self) -> StreamGraph:
        """Operators and streams."""

    @property
    def network(self) -> Network:
        """Nodes and links."""


class Placed(Protocol):
    """Replicas on nodes, whatever else a decision says of them."""

    def replicas(self, operator: str) -> Counter[str]:
        """Number of replicas on each node that runs the operator."""


def place_of(node: Node, per: str) -> str | None:
    """The place that a node belongs to: itself, its zone, or its value of a label; None where it has none.

    >>> place_of(Node(name="a", labels={"rack": "r1"}), "rack"), place_of(Node(name="a"), "zone")
    ('r1', None)
    """
    return node.name if per == NODE else node.zone if per == ZONE else node.labels.get(per)


def places(network: Network, per: str, *, alone: bool) -> dict[str, list[str]]:
    """Nodes of each place, in the order of the document.

    Parameters
    ----------
    per
        "node", "zone" or the key of a label.
    alone
        Whether a node that has no such zone or label is a place of its own; otherwise it belongs to none.
    """
    found: dict[str, list[str]] = {}
    for node in network.nodes:
        place = place_of(node, per)
        if place is not None or alone:
            found.setdefault(f"{node.name}, alone" if place is None else place, []).append(node.name)
    return found


def held(problem: RuledProblem, deployment: Placed, operators: Sequence[str]) -> Counter[str]:
    """Replicas of some operators by node."""
    return sum((deployment.replicas(name) for name in operators or problem.application.by_name), Counter[str]())


class RuleModel:
    """What the rows of a rule are written over: every operator on every node of the network, by name.

    Attributes
    ----------
    problem : the problem.
    replicas : number of replicas, shape (operators, nodes).
    on : 1 where the operator runs on the node, else 0, of the same shape.
    memberships : shape (members,) each, positions in the flat `on` of what `any` has joined, one array per column.

    Examples
    --------
    >>> from edrp.datasets.placement.debs2015 import debs2015
    >>> model = RuleModel(debs2015())
    >>> rows = model.replicas["parser"] + 2 * model.on["countByWindow"] <= 3
    >>> rows.expression.shape == (len(model.problem.network.nodes),)
    True
    """

    def __init__(self, problem: RuledProblem) -> None:
        self.problem = problem
        operators, nodes = tuple(problem.application.by_name), tuple(problem.network.by_name)
        columns = np.arange(2 * len(operators) * len(nodes)).reshape(2, len(operators), len(nodes))
        self.replicas = Block(Expression.of_columns(columns[0]), operator=operators, node=nodes)
        self.on = Block(Expression.of_columns(columns[1]), operator=operators, node=nodes)
        self.memberships: list[Ints] = []

    @property
    def columns(self) -> int:
        """Number of columns so far."""
        return 2 * self.on.size + len(self.memberships)

    def any(self, cells: Expression, axis: int | tuple[int, ...] | None = None) -> Expression:
        """1 where any of some cells of `on` is 1, else 0, along some axes or over all.

        Raises
        ------
        TypeError
            For cells that are not 0 or 1, such as numbers of replicas or sums.
        """
        plain = (cells.coefficient == 1).all() and not cells.constant.any() and np.unique(cells.cell).size == cells.cell.size
        position = cells.column - self.on.size
        if not plain or ((position < 0) | (position >= self.on.size)).any():
            raise TypeError("`any` joins cells of `on`, which are 0 or 1; give a part of that block")
        target = cells.sum(axis)
        first = self.columns
        self.memberships += [position[target.cell == place] for place in range(target.size)]
        return Expression.of_columns(np.arange(first, first + target.size).reshape(target.shape))

    def places(self, per: str, *, alone: bool = True) -> dict[str, list[str]]:
        """Nodes of each place; `per` is "node", "zone" or the key of a label (see `edrp.placement.rules.base.places`)."""
        return places(self.problem.network, per, alone=alone)


class Rule(RuleDocument):
    """A rule about where replicas run."""

    @abstractmethod
    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note what is wrong with the rule in a problem."""

    @abstractmethod
    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """By how much a deployment violates the rule, in its unit; 0 where it is met."""

    @abstractmethod
    def linearise(self, model: RuleModel) -> Rows | list[Rows]:
        """The same as rows: the sum of what deployments break of them is the violation."""


def check_operators(names: Sequence[str], problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
    """Note operators that the application does not have, or that are named twice."""
    for position, name in enumerate(names):
        if name not in problem.application.by_name:
            faults.add_unknown((*place, position), name, "operator of the application", problem.application.by_name)
        elif name in names[:position]:
            faults.add((*place, position), name, "is named already")


def check_per(per: str, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
    """Note that no node has the zone or label by which places are told apart."""
    known = {NODE: None, **dict.fromkeys(key for node in problem.network.nodes for key in node.labels if key != ZONE)}
    if any(node.zone is not None for node in problem.network.nodes):
        known[ZONE] = None
    if per == ZONE and per not in known:
        faults.add(place, per, "no node of the network has a zone")
    elif per not in known:
        faults.add_unknown(place, per, 'label of any node, nor "node" or "zone"', known)


class NodeChoice(Document):
    """Some nodes of the network: those that meet everything that is given."""

    nodes: tuple[Name, ...] = Field((), description="names of nodes; empty for any")
    zones: tuple[Name, ...] = Field((), description="zones of nodes; empty for any")
    labels: dict[Name, tuple[Name, ...]] = Field({}, description="allowed values of labels, by key; a node needs one of each key")

    @property
    def narrows(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.nodes or self.zones or self.labels)

    def chosen(self, network: Network) -> list[str]:
        """Names of the nodes, in the order of the document."""
        return [node.name for node in network.nodes if self._meets(node)]

    def _meets(self, node: Node) -> bool:
        by_name = not self.nodes or node.name in self.nodes
        by_zone = not self.zones or node.zone in self.zones
        return by_name and by_zone and all(node.labels.get(key) in values for key, values in self.labels.items())

    @property
    def words(self) -> str:
        """The nodes in words, after "on"."""
        parts = [f"{'nodes' if len(self.nodes) > 1 else 'node'} {listed(self.nodes)}"] if self.nodes else []
        if self.zones:
            parts.append(f"{'zones' if len(self.zones) > 1 else 'zone'} {listed(self.zones)}")
        parts += [f"nodes with {key} {' or '.join(values)}" for key, values in self.labels.items()]
        return enumerated(parts) if parts else "any node"

    def check_nodes(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note nodes, zones, and keys and values of labels that the network does not have."""
        network = problem.network
        for what, names, known in (
            ("nodes", self.nodes, set(network.by_name)),
            ("zones", self.zones, {node.zone for node in network.nodes if node.zone is not None}),
        ):
            for position, name in enumerate(names):
                if name not in known:
                    faults.add_unknown((*place, what, position), name, f"{what[:-1]} of the network", sorted(known))
        for key, values in self.labels.items():
            known = {node.labels[key] for node in network.nodes if key in node.labels}
            if not known:
                keys = dict.fromkeys(key for node in network.nodes for key in node.labels)
                faults.add_unknown((*place, "labels", key), key, "label of any node", keys)
            for position, value in enumerate(values if known else ()):
                if value not in known:
                    faults.add_unknown((*place, "labels", key, position), value, f"value of the label '{key}'", sorted(known))
