"""Problem of mapping a stream task on servers and links (bi-modal networks, sections 3.1 and 4.3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from edrp.core.arrays import Bools
from edrp.core.document import Faults, Name, NonNegative, checks, unit
from edrp.core.errors import Fault
from edrp.core.problem import Evaluation, Margin, Problem, read_as
from edrp.core.rules import HardRule, check_named
from edrp.core.solution import Solution
from edrp.core.tolerances import LIMIT_SLACK
from edrp.core.wording import enumerated
from edrp.mapping.mapping_arrays import CostName, MapFacts, MappingArrays, network_arrays, objective, task_arrays
from edrp.mapping.path_tasks import PathMap, PathTask
from edrp.mapping.server_network import ServerNetwork, exceeded, rate_margins


def shortage(tables: MappingArrays) -> tuple[str, ...]:
    """Name the resource that is short for a task that has no map, one component after the other.

    Each limit is looked at alone; where each can be met alone, the answer says that they cannot be met together.

    Returns
    -------
    tuple of str
        Sentences that begin with the resource: "capacity", "bandwidth", "max_empty_hops", "uplink".

    Examples
    --------
    >>> problem = MappingProblem(
    ...     network={"nodes": [{"name": "a", "capacity": 1}, {"name": "b", "capacity": 1, "services": []}],
    ...              "links": [{"source": "a", "target": "b", "bandwidth": 5.0}]},
    ...     task={"source": "a", "delivery": "b", "bandwidths": [1, 9],
    ...           "components": [{"name": "f", "service": "s", "capacity": 1}]},
    ... )
    >>> problem.clashes()
    ('bandwidth: no way from component 1 to the delivery b has 9 bytes/s free; of the links that lead on, a → b has the most, 5',)
    """
    task, network = tables.task, tables.network
    at_server = np.zeros(len(network.names), np.bool_)
    at_server[task.source] = True
    hops = len(task.bandwidths)
    for hop in range(hops):
        able = _able(tables, hop)
        if not able.any():
            return (_no_server(tables, hop),)
        reached = _reached(tables, at_server, task.bandwidths[hop]) & able
        if not reached.any():
            return (_no_way(tables, at_server, able, hop),)
        at_server = reached
    return (_together(tables),)


def _able(tables: MappingArrays, hop: int) -> Bools:
    """Return the servers that can take what follows a hop: the next component, or the delivery."""
    task, network = tables.task, tables.network
    if hop == len(task.needs):
        return np.asarray(np.arange(len(network.names)) == task.delivery)
    return np.asarray(task.hosts[hop] & (network.capacity >= task.needs[hop] * (1 - LIMIT_SLACK)))


def _reached(tables: MappingArrays, at_server: Bools, rate: float) -> Bools:
    """Return the servers that a hop of this rate reaches, each limit alone; with rate 0, limits of rate do not count."""
    network = tables.network
    usable = network.bandwidth >= rate * (1 - LIMIT_SLACK)
    reached, frontier = at_server.copy(), at_server
    for _ in range(min(tables.max_empty_hops + 1, len(at_server))):
        following = np.zeros_like(at_server)
        following[network.target[usable & frontier[network.source]]] = True
        frontier = following & ~reached
        if not frontier.any():
            break
        reached |= frontier
    sending = at_server & (network.uplink >= rate * (1 - LIMIT_SLACK)) & ((network.uplink > 0) | (rate == 0))
    if tables.public and sending.any():
        reached |= network.downlink >= rate * (1 - LIMIT_SLACK)
    return np.asarray(reached)


def _no_server(tables: MappingArrays, hop: int) -> str:
    task, network = tables.task, tables.network
    need = f"component {hop + 1} needs {task.needs[hop]:.6g}"
    if not task.hosts[hop].any():
        return f"capacity: {need}, and no server hosts it"
    best = int(np.where(task.hosts[hop], network.capacity, -1.0).argmax())
    free = f"{network.names[best]} has the most free, {network.capacity[best]:.6g}"
    return f"capacity: {need}; of the servers that host it, {free}"


def _no_way(tables: MappingArrays, at_server: Bools, able: Bools, hop: int) -> str:
    """Explain why no suitable server is reached: for lack of rate, or for lack of links."""
    rate, names = tables.task.bandwidths[hop], tables.network.names
    start = f"component {hop}" if hop else f"the source {names[tables.task.source]}"
    end = f"the delivery {names[tables.task.delivery]}" if hop == len(tables.task.needs) else f"component {hop + 1}"
    if (_reached(tables, at_server, 0.0) & able).any():
        scarce_rate = "uplink and bandwidth" if tables.public else "bandwidth"
        return f"{scarce_rate}: no way from {start} to {end} has {rate:.6g} bytes/s free{_widest(tables, at_server, rate)}"
    passed = f"{tables.max_empty_hops} empty hops" if tables.max_empty_hops != 1 else "1 empty hop"
    return f"max_empty_hops: no server for {end} is within {passed} of one for {start}"


def _widest(tables: MappingArrays, at_server: Bools, rate: float) -> str:
    """The widest of the links that lead on from what is reached and are too narrow, in words; empty where none is."""
    network, reached = tables.network, _reached(tables, at_server, rate)
    narrow = reached[network.source] & ~reached[network.target] & (network.bandwidth < rate)
    if not narrow.any():
        return ""
    best = int(np.where(narrow, network.bandwidth, -1.0).argmax())
    ends = f"{network.names[network.source[best]]} → {network.names[network.target[best]]}"
    return f"; of the links that lead on, {ends} has the most, {network.bandwidth[best]:.6g}"


def _together(tables: MappingArrays) -> str:
    needed, free = float(tables.task.needs.sum()), float(tables.network.capacity.sum())
    if needed > free:
        pairs = zip(tables.network.names, tables.network.capacity, strict=True)
        room = enumerated([f"{name} {amount:.6g}" for name, amount in pairs])
        return f"capacity: the components need {needed:.6g} in all, the servers have {free:.6g} free ({room})"
    limits = ["capacity", "bandwidth", *(["uplink"] if tables.public else []), "max_empty_hops"]
    return f"{enumerated(limits)}: each can be met alone, but not all together"


class ComponentRule(HardRule):
    """Components of which no two may be on one server ("apart"), or that must all be on one ("together").

    Which servers may run a component at all is said by its service.

    Examples
    --------
    >>> rule = ComponentRule(rule="apart", name="spare", components=["left", "right"])
    >>> rule.sentence, rule.violation({"left": "a", "right": "a"})
    ('left and right must be on different servers', 1)
    """

    rule: Literal["apart", "together"] = Field(description="whether on different servers, or on one")
    components: Annotated[tuple[Name, ...], Field(min_length=2)] = Field(description="of the task")

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        return f"{enumerated(self.components)} must be on {'different servers' if self.rule == 'apart' else 'one server'}"

    def violation(self, servers: Mapping[str, str]) -> int:
        """Number of servers too few, or too many, given the server of each component."""
        used = len({servers[name] for name in self.components})
        return len(self.components) - used if self.rule == "apart" else used - 1


class MappingSolution(Solution):
    """Solution of a problem of kind `mapping`: a map, its objective and the proven bound."""

    metric_units: ClassVar[Mapping[str, str]] = {"cost": "money"}

    kind: Literal["mapping-solution"] = Field("mapping-solution", description="says what the document is")
    nodes: tuple[Name, ...] | None = Field(description="server of each component")
    routes: tuple[tuple[Name, ...], ...] | None = Field(description="servers of each hop, source → first, …, last → delivery")
    public: tuple[bool, ...] | None = Field(description="whether each hop goes over the public network; none: none does")

    @property
    def decision(self) -> PathMap | None:
        """The map."""
        if self.nodes is None or self.routes is None:
            return None
        return PathMap(nodes=self.nodes, routes=self.routes, public=self.public or ())


class MappingProblem(Problem):
    """Map a path of components on servers and links, so that capacities suffice and the cost is least.

    Source and delivery are fixed and use no capacity. A hop may lead over several links; every server passed on the way is
    an empty hop. A hop that stays on its server is free. A hop may instead be one connection over the public network, from
    a server that has an uplink to any other; it is not joined to links within the same hop.

    Examples
    --------
    The network and the task of the paper's Fig. 5 in small: the cheap way has no room for both components.

    >>> problem = MappingProblem(
    ...     network={
    ...         "nodes": [{"name": "a", "capacity": 0}, {"name": "b", "capacity": 3}, {"name": "c", "capacity": 9}],
    ...         "links": [{"source": "a", "target": "b", "bandwidth": 10, "cost": 1},
    ...                   {"source": "b", "target": "c", "bandwidth": 10, "cost": 5}],
    ...     },
    ...     task={"source": "a", "delivery": "c", "bandwidths": [4, 2, 1],
    ...           "components": [{"name": "decode", "capacity": 3}, {"name": "join", "capacity": 3}]},
    ... )
    >>> found = PathMap(nodes=("b", "c"), routes=(("a", "b"), ("b", "c"), ("c",)))
    >>> evaluation = problem.evaluate(found)
    >>> evaluation.objective, evaluation.broken
    (6.0, ())
    """

    decision_type: ClassVar[Any] = PathMap

    kind: Literal["mapping"] = Field("mapping", description="says what the document is")
    network: ServerNetwork = Field(description="servers and dedicated links, with what is free of them")
    task: PathTask = Field(description="what is to be mapped")
    max_empty_hops: Annotated[int, Field(ge=0, le=1000)] = Field(
        2, description="most servers that are passed without hosting a component", **unit("1")
    )
    empty_hops: Literal["per_edge", "total"] = Field(
        "per_edge", description="whether `max_empty_hops` bounds each hop or all together"
    )
    bandwidth: Literal["cumulative", "per_edge"] = Field(
        "cumulative", description="whether all uses of a link in one direction add up, or each must fit alone"
    )
    cost: CostName = Field("additive", description="what is minimised")
    public_cost: NonNegative = Field(0.0, description="price of each hop over the public network", **unit("money"))
    rules: tuple[ComponentRule, ...] = Field((), description="components on different servers, or on one")

    @checks()
    def _check(self, faults: Faults) -> None:
        servers = self.network.by_name
        for end in ("source", "delivery"):
            faults.add_unknown(("task", end), getattr(self.task, end), "node of the network", servers)
        if all(server.services is not None for server in self.network.nodes):
            offered = {name for server in self.network.nodes for name in server.services or ()}
            for index, component in enumerate(self.task.components):
                if component.service is not None and component.service not in offered:
                    faults.add(("task", "components", index, "service"), component.service, "is hosted by no node of the network")
        components = [component.name for component in self.task.components]
        check_named(self.rules, "components", components, "component of the task", faults)

    @property
    def max_links(self) -> int:
        """Maximum number of links that a map can use."""
        hops = len(self.task.components) + 1
        return hops + self.max_empty_hops * (hops if self.empty_hops == "per_edge" else 1)

    def _warnings(self) -> Iterator[Fault]:
        network = self.network
        reachable = any(server.uplink for server in network.nodes) or not all(self.task.hop_bandwidths)
        if self.cost == "additive" and not any(link.cost for link in network.links) and not (self.public_cost and reachable):
            yield Fault("network.links", "", "have no cost, and neither has the public network, so that every map costs nothing")
        if self.public_cost and self.cost == "additive" and not reachable:
            yield Fault("public_cost", f"{self.public_cost:g}", "has no effect: no server has an uplink")
        if not any(self.task.hop_bandwidths):
            yield Fault("task", "", "has no load: the bandwidth of every hop is 0")

    def _check_decision(self, decision: PathMap, place: str, faults: Faults) -> None:
        lists: list[tuple[tuple[str | int, ...], tuple[str, ...]]] = [((place, "nodes"), decision.nodes)]
        lists += [((place, "routes", hop), route) for hop, route in enumerate(decision.routes)]
        for location, names in lists:
            for index, name in enumerate(names):
                faults.add_unknown((*location, index), name, "node of the network", self.network.by_name)

    @property
    def objective_terms(self) -> tuple[str, ...]:  # type: ignore[override]  # they depend on the cost that is chosen
        """Metrics that add up to the objective, and what is left."""
        terms = {"additive": ("cost",), "load-balance": ("load_balance",), "public-hops": ("public_hops", "load balance")}
        return terms.get(self.cost, ("links", "public hops and load balance"))

    def evaluate(self, decision: PathMap | Mapping[str, Any]) -> Evaluation:
        """Evaluate a map.

        Returns
        -------
        Evaluation
            Metrics: `cost` (money), `links` used, `public_hops`, `dedicated_hops`, `empty_hops`, and `load_balance`, the mean
            load of the servers that host a component (section 4.3).
        """
        decision = read_as(PathMap, decision, "decision")
        malformed = tuple(self._malformed(decision))
        if malformed:
            return Evaluation(math.inf, {}, malformed)
        public = sum(decision.is_public(hop) for hop in range(len(decision.routes)))
        walks = [route for hop, route in enumerate(decision.routes) if not decision.is_public(hop)]
        links = [self.network.arcs[arc] for route in walks for arc in pairwise(route)]
        facts = MapFacts(
            cost=math.fsum(link.cost for link in links) + self.public_cost * public,
            links=len(links),
            public_hops=public,
            dedicated_hops=sum(len(route) > 1 for route in walks),
            load_balance=self._load_balance(decision),
        )
        metrics = {name: float(value) for name, value in facts._asdict().items()}
        metrics["empty_hops"] = float(sum(_passed(route) for route in walks))
        broken = (*self._broken_servers(decision), *self._broken_hops(walks), *exceeded(self._rate_margins(decision)))
        return Evaluation(objective(self.cost, facts, self.max_links), metrics, broken)

    def margins(self, decision: Any) -> Iterator[Margin]:
        """Yield the use of the free capacity of servers, and of the free rate of links, uplinks and downlinks."""
        found, used = self.read_decision(decision), Counter[str]()
        for need, name in zip(self.task.needs, found.nodes, strict=True):
            used[name] += need  # type: ignore[assignment]  # a counter of amounts
        servers = self.network.by_name
        yield from (Margin.of(f"capacity of {name}", need, servers[name].capacity, "1") for name, need in used.items())
        yield from self._rate_margins(found)

    def _malformed(self, decision: PathMap) -> Iterator[str]:
        """List why a decision is not a map of this task."""
        components, servers = self.task.components, self.network.by_name
        if len(decision.nodes) != len(components) or len(decision.routes) != len(components) + 1:
            yield f"{len(decision.nodes)} nodes and {len(decision.routes)} routes for {len(components)} components"
            return
        if decision.public and len(decision.public) != len(decision.routes):
            yield f"public: {len(decision.public)} entries for {len(decision.routes)} hops"
            return
        unknown = sorted({name for name in (*decision.nodes, *(n for r in decision.routes for n in r)) if name not in servers})
        if unknown:
            yield f"no nodes of the network: {', '.join(unknown)}"
            return
        ends = (self.task.source, *decision.nodes, self.task.delivery)
        for hop, (route, (start, end)) in enumerate(zip(decision.routes, pairwise(ends), strict=True)):
            if (route[0], route[-1]) != (start, end):
                yield f"hop {hop}: leads from {route[0]} to {route[-1]}, not from {start} to {end}"
            elif decision.is_public(hop):
                if len(route) != 2 or start == end or not servers[start].uplink:
                    yield f"hop {hop}: {' → '.join(route)} is no connection over the public network"
            else:
                yield from (f"hop {hop}: no link {u} → {v}" for u, v in pairwise(route) if (u, v) not in self.network.arcs)

    def _load_balance(self, decision: PathMap) -> float:
        used: Counter[str] = Counter()
        for node, need in zip(decision.nodes, self.task.needs, strict=True):
            used[node] += need  # type: ignore[assignment]  # a counter of amounts
        loads = []
        for name, need in used.items():
            server = self.network.by_name[name]
            capacity = server.whole_capacity
            loads.append((capacity - server.capacity + need) / capacity if capacity else 0.0)
        return math.fsum(loads) / len(loads) if loads else 0.0

    def _broken_servers(self, decision: PathMap) -> Iterator[str]:
        used: dict[str, list[float]] = {}
        servers = {part.name: name for part, name in zip(self.task.components, decision.nodes, strict=True)}
        for component, need, name in zip(self.task.components, self.task.needs, decision.nodes, strict=True):
            used.setdefault(name, []).append(need)
            if not self.network.by_name[name].hosts(component.service):
                yield f"component {component.name}: {name} does not host service {component.service}"
        for rule in self.rules:
            yield from rule.broken(rule.violation(servers))
        capacity = {name: self.network.by_name[name].capacity for name in used}
        yield from exceeded(
            Margin.of(f"capacity of {name}", math.fsum(needs), capacity[name], "1") for name, needs in used.items()
        )

    def _broken_hops(self, walks: list[tuple[str, ...]]) -> Iterator[str]:
        passed = [_passed(route) for route in walks]
        for route, count in zip(walks, passed, strict=True):
            if self.empty_hops == "per_edge" and count > self.max_empty_hops:
                yield f"max_empty_hops: {' → '.join(route)}: {count} against {self.max_empty_hops}"
        if self.empty_hops == "total" and sum(passed) > self.max_empty_hops:
            yield f"max_empty_hops: {sum(passed)} in all against {self.max_empty_hops}"

    def _rate_margins(self, decision: PathMap) -> Iterator[Margin]:
        """Yield what links, uplinks and downlinks carry against what they have."""
        uses: list[tuple[tuple[str, ...], float]] = []
        for hop, (route, rate) in enumerate(zip(decision.routes, self.task.hop_bandwidths, strict=True)):
            if decision.is_public(hop):
                uses += [(("uplink", route[0]), rate), (("downlink", route[1]), rate)]
            else:
                uses += [(("bandwidth", *arc), rate) for arc in pairwise(route)]
        return rate_margins(self.network, uses, math.fsum if self.bandwidth == "cumulative" else max)

    def solution(self, decision: PathMap | None, fields: dict[str, Any]) -> MappingSolution:
        """The map."""
        parts: dict[str, Any] = dict.fromkeys(("nodes", "routes", "public"))
        if decision is not None:
            parts = {name: getattr(decision, name) for name in parts}
        return MappingSolution.model_construct(**fields, **parts)

    def clashes(self) -> tuple[str, ...]:
        """Name the resource that is short."""
        return shortage(mapping_arrays(self))


def mapping_arrays(problem: MappingProblem) -> MappingArrays:
    """Compile a problem to arrays."""
    network = network_arrays(problem.network)
    return MappingArrays(
        network=network,
        task=task_arrays(problem.task, problem.network),
        max_empty_hops=problem.max_empty_hops,
        total_hops=problem.empty_hops == "total",
        cumulative=problem.bandwidth == "cumulative",
        public=bool((network.uplink > 0).any()),
        public_cost=problem.public_cost,
        cost=problem.cost,
        max_links=problem.max_links,
    )


def _passed(route: tuple[str, ...]) -> int:
    """Return the number of servers that a walk passes between its ends."""
    return max(0, len(route) - 2)
