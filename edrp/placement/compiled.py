"""A problem as flat arrays, which builders, kernels and heuristics see instead of documents.

Configurations of an operator are multisets of nodes (EDRP, section 4.1). Links between all pairs of nodes are dense tables, which
methods for large networks of zones seldom need: they are made when they are first read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.budget import look, refuse_beyond_memory
from edrp.placement.contention_arrays import ContentionArrays
from edrp.placement.deployment import Deployment
from edrp.placement.network import Link, Network
from edrp.placement.problem import StreamPlacement
from edrp.placement.route_arrays import route_tables
from edrp.placement.rules.arrays import RuleArrays

NO_NODE = -1


def count_configurations(nodes: int, max_replicas: int) -> int:
    """Number of non-empty multisets of at most `max_replicas` out of `nodes` nodes.

    >>> count_configurations(24, 2)
    324
    """
    return comb(nodes + max_replicas, max_replicas) - 1


def multisets(nodes: Ints, max_replicas: int) -> Ints32:
    """All non-empty multisets of at most `max_replicas` of the given nodes, smaller ones first.

    Returns
    -------
    numpy.ndarray
        Shape (count_configurations(len(nodes), max_replicas), max_replicas); members ascending in the
        order of `nodes`, unused places hold -1.
    """
    count = len(nodes)
    level = np.arange(count, dtype=np.int32)[:, None]
    levels = [level]
    for _ in range(1, max_replicas):
        # Extend every multiset by each node that is not before its last member.
        repeats = count - level[:, -1]
        extended = np.repeat(level, repeats, axis=0)
        offsets = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        level = np.column_stack([extended, extended[:, -1] + offsets.astype(np.int32)])
        levels.append(level)
    result = np.full((sum(len(level) for level in levels), max_replicas), NO_NODE, np.int32)
    start = 0
    for degree, level in enumerate(levels, start=1):
        result[start : start + len(level), :degree] = np.asarray(nodes, np.int32)[level]
        start += len(level)
    return result


def degrees(members: Ints32) -> Ints:
    """Number of replicas of each configuration, shape (configurations,)."""
    return np.asarray((members != NO_NODE).sum(axis=1))


def replica_counts(members: Ints32, nodes: int) -> Floats:
    """Replicas per node, shape (configurations, nodes)."""
    counts = np.zeros((len(members), nodes))
    rows, columns = np.nonzero(members != NO_NODE)
    np.add.at(counts, (rows, members[rows, columns]), 1.0)
    return counts


TABLES = 3
"""Tables over the pairs of nodes that are held at once: delays, prices and availability."""

REMEDY = "narrow the operators' candidates"
WITHOUT_TABLES = ("greedy", "first-fit", "even")
"""Methods that need no tables over pairs of nodes."""

BLOCK = 2_000_000
"""Cells of a table that are filled between two looks at the clock."""


@dataclass(frozen=True)
class LinkArrays:
    """Delay, price and availability between some nodes of a network.

    Attributes
    ----------
    price : one for all links, which are always available then; None for the network's own prices and availability.

    Examples
    --------
    >>> network = Network(nodes=[{"name": name} for name in "ab"], links=[{"source": "a", "target": "b", "delay": 0.01}])
    >>> LinkArrays(network, ("b", "a")).delay.tolist()
    [[0.0, 0.01], [0.01, 0.0]]
    """

    network: Network
    nodes: tuple[str, ...]
    price: float | None = None

    @cached_property
    def delay(self) -> Floats:
        """Seconds, shape (nodes, nodes); infinite without link, 0 on a node."""
        return self._table("delay", np.inf, 0.0)

    @cached_property
    def cost(self) -> Floats:
        """Money/h per tuple/s, shape (nodes, nodes); 0 on a node."""
        return self._table("cost", 0.0, 0.0) if self.price is None else self._flat(self.price, 0.0)

    @cached_property
    def availability(self) -> Floats:
        """Probability, shape (nodes, nodes); 1 on a node."""
        return self._table("availability", 1.0, 1.0) if self.price is None else self._flat(1.0, 1.0)

    @property
    def priced(self) -> bool:
        """Whether any link costs anything; no table is made to find out."""
        if self.price is not None:
            return self.price > 0
        return any(link.cost > 0 for link in (*self.network.links, *self.network.classes))

    @property
    def lossy(self) -> bool:
        """Whether any link may be down; no table is made to find out."""
        return self.price is None and not self.network.perfect_links

    def delay_from(self, sources: Ints) -> Floats:
        """Delays from some nodes to all, shape (sources, nodes), without the whole table."""
        whole = self.__dict__.get("delay")
        return self._rows("delay", np.inf, 0.0, sources) if whole is None else whole[sources]

    def slowest_from(self, sources: Ints) -> Floats:
        """The longest delay from any of some nodes to each node, shape (nodes,)."""
        return np.asarray(np.max([self.delay_from(block).max(axis=0) for block in self._telling(sources)], axis=0))

    @cached_property
    def longest_delay(self) -> float:
        """Seconds of the slowest link; no table is made to find out."""
        rows = map(self.delay_from, self._telling(np.arange(len(self.nodes))))
        return max(float(delay.max(where=np.isfinite(delay), initial=0.0)) for delay in rows)

    @cached_property
    def shortest_delay(self) -> float:
        """Seconds of the fastest link between two nodes, 0 where none are linked; no table is made to find out."""
        everywhere = np.arange(len(self.nodes))
        apart = (np.where(block[:, None] == everywhere, np.inf, self.delay_from(block)) for block in self._telling(everywhere))
        shortest = min(float(delay.min()) for delay in apart)
        return shortest if np.isfinite(shortest) else 0.0

    @cached_property
    def highest_cost(self) -> float:
        """Money/h per tuple/s of the dearest link; no table is made to find out."""
        if self.price is not None:
            return self.price if len(self.nodes) > 1 else 0.0
        everywhere = np.arange(len(self.nodes))
        return max(float(self._rows("cost", 0.0, 0.0, block).max()) for block in self._telling(everywhere))

    def _telling(self, sources: Ints) -> Iterator[Ints]:
        """Those of some nodes, in blocks, whose rows hold in every column the largest number that the rows of all hold there.

        Rows of nodes from which no link is listed differ within a zone, or outside of all zones, only in the number on the node
        itself: two of them tell what all tell.
        """
        listed = np.isin(sources, self._listed[0]) | self.network.routed
        group = np.where(listed, -2 - np.arange(sources.size), np.maximum(self._zone[sources], -1))
        order = np.argsort(group, kind="stable")
        third = np.append([False, False], group[order[2:]] == group[order[:-2]])[: order.size]
        telling = sources[np.sort(order[~third])]
        blocks = np.array_split(telling, 1 + telling.size * len(self.nodes) // BLOCK)
        for block in blocks:
            if len(blocks) > 1:
                look(f"the links of {len(self.nodes)} nodes")
            yield block

    def _flat(self, value: float, itself: float) -> Floats:
        return self._filled(lambda rows: np.where(rows[:, None] == np.arange(len(self.nodes)), itself, value))

    def _table(self, name: str, absent: float, itself: float) -> Floats:
        return self._filled(lambda rows: self._rows(name, absent, itself, rows))

    def _filled(self, rows: Callable[[Ints], Floats]) -> Floats:
        """A table that is filled block by block, because new memory takes seconds where nodes are many.

        Raises
        ------
        ProblemTooLargeError
            When the tables over pairs of nodes would take more than `memory_limit()` bytes.
        """
        size = len(self.nodes)
        refuse_beyond_memory(TABLES * 8 * size**2, f"tables over the pairs of {size} nodes", REMEDY, WITHOUT_TABLES)
        table = np.empty((size, size))
        step = max(1, BLOCK // max(1, size))
        for first in range(0, size, step):
            look(f"the tables over the pairs of {size} nodes")
            block = np.arange(first, min(first + step, size))
            table[block] = rows(block)
        return table

    def _rows(self, name: str, absent: float, itself: float, rows: Ints) -> Floats:
        """Some rows of a table; listed links stand above those described by zones."""
        network = self.network
        if network.routed:
            return self._routes[name][rows]
        table = np.full((rows.size, len(self.nodes)), absent)
        if network.classes:
            together = self._zone[rows, None] == self._zone
            for described, where in ((network.within_zone, together), (network.between_zones, ~together)):
                if described is not None:
                    table[where] = getattr(described, name)
        source, target, links = self._listed
        place = np.full(len(self.nodes), -1)
        place[rows] = np.arange(rows.size)
        chosen = np.flatnonzero(place[source] >= 0)
        table[place[source[chosen]], target[chosen]] = [getattr(links[index], name) for index in chosen]
        table[np.arange(rows.size), rows] = itself
        return table

    @cached_property
    def _routes(self) -> dict[str, Floats]:
        return route_tables(self.network, self.nodes)

    @cached_property
    def _zone(self) -> Ints:
        """Number of each node's zone; a node without a zone gets a number of its own: it shares none."""
        numbers: dict[str, int] = {}
        zones = [self.network.by_name[name].zone for name in self.nodes]
        return np.array([-1 - u if zone is None else numbers.setdefault(zone, len(numbers)) for u, zone in enumerate(zones)])

    @cached_property
    def _listed(self) -> tuple[Ints, Ints, list[Link]]:
        """Listed links between the nodes: sources, targets, and the links themselves."""
        index = {name: u for u, name in enumerate(self.nodes)}
        listed = [(index[u], index[v], link) for (u, v), link in self.network._links.items() if u in index and v in index]
        sources, targets = np.array([u for u, _, _ in listed], np.int64), np.array([v for _, v, _ in listed], np.int64)
        return sources, targets, [link for _, _, link in listed]


def change_by_blocks(table: Floats, change: Callable[[Floats], Any]) -> Any:
    """Change a large table by blocks of rows, between which the clock is looked at."""
    step = max(1, BLOCK // max(1, table.shape[1]))
    first = change(table[:step])
    whole = np.empty((len(table), *first.shape[1:]), first.dtype)
    whole[:step] = first
    for start in range(step, len(table), step):
        look(f"the tables over the pairs of {len(table)} nodes")
        whole[start : start + step] = change(table[start : start + step])
    return whole


@dataclass(frozen=True, slots=True)
class Compiled:
    """Arrays over operators i, streams e, nodes u, resources m; operators in topological order.

    Only nodes that some operator may use (or uses now) are kept. Problems of all kinds become the same arrays, whose
    objective is a sum over the metrics of EDRP and peak loads (see `PlacementProblem.edrp_terms`).

    Attributes
    ----------
    operators, nodes, resources : tuple of str, names by index.
    stream_source, stream_target, stream_rate : shape (streams,), operator indices and tuples/s; streams in document order.
    load : shape (operators,), tuples/s into each operator.
    min_replicas, max_replicas : shape (operators,)
    candidate : shape (operators, nodes), bool
    latency : shape (operators, 1 + maximum replicas), reference latency in seconds with r replicas; infinite where unstable on
        all candidates, or r is too small or too large.
    speedup : shape (nodes,)
    fewest_replicas : shape (operators, nodes), replicas in all that an operator needs so as to be stable on a node; more than the
        maximum where there is no such number.
    replica_cost : shape (operators,), money/h of one replica.
    demand : shape (operators, resources), need of one replica.
    capacity : shape (nodes, resources), infinite where a node has no limit.
    units : shape (nodes, resources), whole units where a node offers the resource in units; -1 where it does not.
    links : delay, price and availability of all pairs of nodes, as tables that are made on first use.
    contention : use of shared resources.
    node_loss : shape (nodes,), −ln of the availability.
    current : shape (operators, nodes) or None, replicas now.
    synchronisation_time : float
    state_size, code_size : shape (operators,), bytes.
    spawn_time, store_delay, store_bandwidth : shape (nodes,), seconds, seconds one way, bytes/s (infinite for no limit).
    local_bandwidth : float, bytes/s (infinite for no limit).
    storm : bool, Storm's downtime instead of pause-and-resume.
    instance_paths : bool, response time is that of the slowest path through replicas, instead of the slowest pair of every stream
        in a row.
    weight, limit : dict of str to float
        Objective per unit of each metric's scaled value, and upper limit of the scaled value (infinite for none).
    rules : rows of the problem's rules, besides those that `candidate` enforces.
    replica_prices : shape (operators, 1 + maximum replicas, nodes) or None, objective of each replica on a node, of any sign, by
        the number of replicas that its operator has in all. No problem has any: who prices deployments sets them.
    """

    problem: StreamPlacement
    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    resources: tuple[str, ...]
    stream_source: Ints
    stream_target: Ints
    stream_rate: Floats
    load: Floats
    min_replicas: Ints
    max_replicas: Ints
    candidate: Bools
    latency: Floats
    speedup: Floats
    fewest_replicas: Ints
    replica_cost: Floats
    demand: Floats
    capacity: Floats
    units: Ints
    links: LinkArrays
    contention: ContentionArrays
    node_loss: Floats
    current: Ints | None
    synchronisation_time: float
    state_size: Floats
    code_size: Floats
    spawn_time: Floats
    store_delay: Floats
    store_bandwidth: Floats
    local_bandwidth: float
    storm: bool
    instance_paths: bool
    weight: dict[str, float]
    limit: dict[str, float]
    rules: RuleArrays
    replica_prices: Floats | None = None

    @property
    def delay(self) -> Floats:
        """Seconds between nodes, shape (nodes, nodes); infinite without link."""
        return self.links.delay

    @property
    def link_cost(self) -> Floats:
        """Money/h per tuple/s between nodes, shape (nodes, nodes)."""
        return self.links.cost

    @property
    def link_availability(self) -> Floats:
        """Probability that a link works, shape (nodes, nodes)."""
        return self.links.availability

    def stable_nodes(self, replicas: Ints) -> Bools:
        """Candidates that are fast enough for operators with some numbers of replicas in all, shape (operators, nodes)."""
        return np.asarray(self.candidate & (self.fewest_replicas <= replicas[:, None]))

    def overloads(self, operator: int, members: Ints32) -> Bools:
        """Whether some replica of configurations, shape (configurations, places), is on a node that is too slow for it."""
        needed = np.where(members == NO_NODE, 0, self.fewest_replicas[operator, members]).max(axis=1, initial=0)
        return np.asarray(degrees(members) < needed)

    def counts_metric(self, metric: str) -> bool:
        """Whether a metric has a weight or a limit."""
        return bool(self.weight.get(metric) or np.isfinite(self.limit.get(metric, np.inf)))

    @property
    def contended(self) -> bool:
        """Whether a peak load has a weight or a limit."""
        return any(self.counts_metric(metric) for metric in self.contention.metrics)

    @property
    def forward(self) -> Bools:
        """Which streams lie on paths, shape (streams,): all but those that close a cycle."""
        return np.asarray(self.stream_source < self.stream_target)

    def candidates(self, operator: int) -> Ints:
        """Node indices that may run the operator."""
        return np.flatnonzero(self.candidate[operator])

    def deployment(self, counts: NDArray[Any]) -> Deployment:
        """Name the deployment of `counts` replicas per operator and node, shape (operators, nodes)."""
        named = {}
        for i, operator in enumerate(self.operators):
            named[operator] = [self.nodes[u] for u in np.flatnonzero(counts[i]) for _ in range(int(counts[i, u]))]
        return Deployment({operator.name: named[operator.name] for operator in self.problem.application.operators})

    def counts(self, deployment: Deployment) -> Ints:
        """Replicas per operator and node of a named deployment, shape (operators, nodes).

        Raises
        ------
        KeyError
            When it names an operator or node that this problem cannot use.
        """
        return count_replicas(deployment, self.operators, self.nodes)

    def members(self, counts: NDArray[Any]) -> list[Ints32]:
        """Configuration of each operator, shape (max_replicas,) padded with -1, from replicas per node."""
        rows = []
        for i, row in enumerate(np.asarray(counts, np.int64)):
            nodes = np.repeat(np.arange(row.size), row)
            padded = np.full(max(int(self.max_replicas[i]), nodes.size), NO_NODE, np.int32)
            padded[: nodes.size] = nodes
            rows.append(padded)
        return rows


def count_replicas(deployment: Deployment, operators: tuple[str, ...], nodes: tuple[str, ...]) -> Ints:
    """Replicas per operator and node of a deployment, shape (operators, nodes).

    Raises
    ------
    KeyError
        When it names none of these operators or nodes.
    """
    index = {name: u for u, name in enumerate(nodes)}
    counts = np.zeros((len(operators), len(nodes)), np.int64)
    for i, operator in enumerate(operators):
        for node in deployment[operator]:
            counts[i, index[node]] += 1
    return counts
