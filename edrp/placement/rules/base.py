"""Base of rules about placement: places, choices of nodes, and the blocks of expressions that rows are written over."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from edrp.core.arrays import AnyInts, Ints
from edrp.core.document import Document, Faults, Name, duplicates
from edrp.core.expressions import JOINED, Block, Expression, Rows
from edrp.core.rules import RuleDocument
from edrp.core.wording import enumerated, listed
from edrp.placement.application import StreamGraph
from edrp.placement.network import Network, Node

RULES = "rules."
"""Begins the name of the rows of a rule in programs, before the name of the rule."""

NODE, ZONE = "node", "zone"
"""Places that are no values of a label: the node itself, or its zone."""

Place = tuple[bool, str]
"""Whether a place is a node that has no zone or label, and the name of the place or of that node, which may be equal."""


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


def places(network: Network, per: str, *, alone: bool) -> dict[Place, list[str]]:
    """Nodes of each place, in the order of the document.

    Parameters
    ----------
    per
        "node", "zone" or the key of a label.
    alone
        Whether a node that has no such zone or label is a place of its own; otherwise it belongs to none.

    Examples
    --------
    >>> network = Network(nodes=[Node(name="a", zone="east"), Node(name="b")])
    >>> places(network, "zone", alone=True), places(network, "zone", alone=False)
    ({(False, 'east'): ['a'], (True, 'b'): ['b']}, {(False, 'east'): ['a']})
    """
    found: dict[Place, list[str]] = {}
    for node in network.nodes:
        place = place_at(node, per, alone=alone)
        if place is not None:
            found.setdefault(place, []).append(node.name)
    return found


def place_at(node: Node, per: str, *, alone: bool) -> Place | None:
    """The place of a node as `places` counts it; None where it belongs to none."""
    name = place_of(node, per)
    return (False, name) if name is not None else (True, node.name) if alone else None


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """Rows `lower ≤ Σ coefficient × column ≤ upper` of one rule as triplets: thousands of rules become one matrix, not one each.

    Attributes
    ----------
    count : number of rows.
    entries : row or rows, columns of a `RuleModel`, and coefficients, broadcast to the columns' shape; those of one cell add up.
    lower, upper : bounds, broadcast to (count,).
    shared : whether the rows have one violation together, the largest of them.
    """

    count: int
    entries: Sequence[tuple[ArrayLike, AnyInts, ArrayLike]]
    lower: ArrayLike = -np.inf
    upper: ArrayLike = np.inf
    shared: bool = False

    @classmethod
    def of(cls, rows: Rows) -> WrittenRows:
        """Rows that were written as a comparison of expressions."""
        matrix = rows.expression.matrix
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return cls(matrix.shape[0], [(row, matrix.indices, matrix.data)], rows.lower.ravel(), rows.upper.ravel(), rows.shared)


class RuleModel:
    """Expressions that the rows of a rule are written over: every operator on every node of the network, by name.

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
        self.on = Block(Expression.of_columns(columns[1], binary=True), operator=operators, node=nodes)
        self.memberships: list[Ints] = []
        self._places: dict[tuple[str, bool], dict[Place, list[str]]] = {}

    @property
    def columns(self) -> int:
        """Number of columns so far."""
        return 2 * self.on.size + len(self.memberships)

    def cells(self, operators: Iterable[str], nodes: Iterable[str], *, on: bool = False) -> Ints:
        """Columns of the replicas of operators on nodes, or of whether there are any, shape (operators · nodes,)."""
        row, column = self.replicas.axes["operator"], self.replicas.axes["node"]
        first = np.array([row[name] for name in operators], np.int64) * len(column) + (self.on.size if on else 0)
        return (first[:, None] + np.array([column[name] for name in nodes], np.int64)).ravel()

    def joined(self, cells: Ints) -> Ints:
        """Column that is 1 where any of some cells of `on`, given as columns, is 1, else 0, shape (1,)."""
        self.memberships.append(cells - self.on.size)
        return np.array([self.columns - 1])

    def any(self, cells: Expression, axis: int | tuple[int, ...] | None = None) -> Expression:
        """1 where any of some cells of `on` is 1, else 0, along some axes or over all.

        Raises
        ------
        TypeError
            For cells that are not 0 or 1, such as numbers of replicas or sums.
        """
        if not cells.binary:
            raise TypeError(JOINED)
        target, first = cells.sum(axis), self.columns
        members = target.matrix.indices.astype(np.int64) - self.on.size
        self.memberships += np.split(members, target.matrix.indptr[1:-1])[: target.size]
        return Expression.of_columns(np.arange(first, first + target.size).reshape(target.shape))

    def places(self, per: str, *, alone: bool = True) -> dict[Place, list[str]]:
        """Nodes of each place; `per` is "node", "zone" or the key of a label (see `edrp.placement.rules.base.places`)."""
        if (per, alone) not in self._places:
            self._places[per, alone] = places(self.problem.network, per, alone=alone)
        return self._places[per, alone]


class Rule(RuleDocument):
    """A rule about where replicas run."""

    @property
    def block(self) -> str:
        """Name of its rows in programs."""
        return RULES + self.name

    @abstractmethod
    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note what is wrong with the rule in a problem."""

    @abstractmethod
    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """By how much a deployment violates the rule, in its unit; 0 where it is met."""

    @abstractmethod
    def linearise(self, model: RuleModel) -> WrittenRows | Rows | Sequence[WrittenRows | Rows]:
        """The same as rows: the sum of what deployments break of them is the violation."""

    def contradiction(self, problem: RuledProblem, deployment: Placed) -> str:
        """In words how `evaluate` and the rows of `linearise` disagree about a deployment; the rules of this package do not."""
        return ""


def check_names(names: Sequence[str], what: str, known: Collection[str], place: tuple[str | int, ...], faults: Faults) -> None:
    """Note names of something that does not exist, such as a "node of the network", and names that are given twice."""
    repeated = duplicates(list(names))
    for position, name in enumerate(names):
        if name not in known:
            faults.add_unknown((*place, position), name, what, known)
        elif position in repeated:
            faults.add((*place, position), name, "is named already")


def check_operators(names: Sequence[str], problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
    """Note operators that the application does not have, or that are named twice."""
    check_names(names, "operator of the application", problem.application.by_name, place, faults)


def check_per(per: str, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
    """Note that no node has the zone or label by which places are told apart."""
    zoned = any(node.zone is not None for node in problem.network.nodes)
    if per == NODE or (per == ZONE and zoned):
        return
    keys = _label_values(problem.network)
    if per == ZONE:
        hint = "; `zone` is a field of a node, not one of its labels" if ZONE in keys else ""
        faults.add(place, per, f"no node of the network has a zone{hint}")
    elif per not in keys:
        faults.add_unknown(place, per, 'label of any node, nor "node" or "zone"', [NODE, *[ZONE] * zoned, *keys])


def _label_values(network: Network) -> dict[str, dict[str, None]]:
    """Values of labels on nodes, by key, both in the order of the document."""
    values: dict[str, dict[str, None]] = {}
    for node in network.nodes:
        for key, value in node.labels.items():
            values.setdefault(key, {})[value] = None
    return values


class NodeChoice(Document):
    """Some nodes of the network: those that meet everything that is given.

    Examples
    --------
    >>> NodeChoice(zones=("east", "west"), labels={"tenant": ("acme", "globex"), "gpu": ()}).words
    'nodes in zones east and west with tenant acme or globex and any gpu'
    """

    nodes: tuple[Name, ...] = Field((), description="names of nodes; empty for any")
    zones: tuple[Name, ...] = Field((), description="zones of nodes; empty for any")
    labels: dict[Name, tuple[Name, ...]] = Field(
        {}, description="allowed values of labels, by key; a node needs one of each key, and any value where none is listed"
    )

    @property
    def narrows(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.nodes or self.zones or self.labels)

    def chosen(self, network: Network) -> list[str]:
        """Names of the nodes, in the order of the document."""
        if len(self.nodes) == 1:  # the most common choice, which thousands of rules make
            return [name for name in self.nodes if self.meets(network.by_name[name])]
        return [node.name for node in network.nodes if self.meets(node)]

    def among(self, nodes: Sequence[Node]) -> Self | None:
        """The choice without names, zones and labels that none of some nodes has; None where it chooses none of them."""
        if not any(self.meets(node) for node in nodes):
            return None
        names, zones = {node.name for node in nodes}, {node.zone for node in nodes}
        values = {key: {node.labels.get(key) for node in nodes} for key in self.labels}
        return self.replace(
            nodes=tuple(name for name in self.nodes if name in names),
            zones=tuple(zone for zone in self.zones if zone in zones),
            labels={key: tuple(value for value in allowed if value in values[key]) for key, allowed in self.labels.items()},
        )

    def meets(self, node: Node) -> bool:
        """Whether a node is among them."""
        by_name = not self.nodes or node.name in self.nodes
        by_zone = not self.zones or node.zone in self.zones
        by_label = all(key in node.labels and (not values or node.labels[key] in values) for key, values in self.labels.items())
        return by_name and by_zone and by_label

    @property
    def words(self) -> str:
        """The nodes in words."""
        named = f" {enumerated(self.nodes)}" if self.nodes else ""
        zoned = f" in {_plural('zone', self.zones)} {enumerated(self.zones)}" if self.zones else ""
        labels = [f"{key} {listed(values, ' or ')}" if values else f"any {key}" for key, values in self.labels.items()]
        return f"{_plural('node', self.nodes)}{named}{zoned}{f' with {enumerated(labels)}' if labels else ''}"

    def check_nodes(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note nodes, zones, and keys and values of labels that the network does not have, and a choice of no node."""
        network, before = problem.network, len(faults)
        values = _label_values(network) if self.labels else {}
        zones = dict.fromkeys(node.zone for node in network.nodes if node.zone is not None) if self.zones else {}
        check_names(self.nodes, "node of the network", network.by_name, (*place, "nodes"), faults)
        check_names(self.zones, "zone of the network", zones, (*place, "zones"), faults)
        for key, wanted in self.labels.items():
            if key not in values:
                faults.add_unknown((*place, "labels", key), key, "label of any node", values)
            else:
                check_names(wanted, f"value of the label '{key}'", values[key], (*place, "labels", key), faults)
        if len(faults) == before and not self.chosen(network):
            faults.add(place, self.words, "no node of the network meets all of this")


def _plural(noun: str, names: Sequence[str]) -> str:
    """The noun before these names; the plural also where there are none."""
    return noun if len(names) == 1 else f"{noun}s"
