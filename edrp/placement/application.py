"""The stream application: operators joined by streams (EDRP, section 3.2; latency-aware placement, section 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from edrp.core.document import RANGES, Document, Faults, Name, NonNegative, Resources, checks, duplicates, unit
from edrp.placement.latency import MAX_REPLICAS, LatencyModel
from edrp.placement.usage import Partitioning, Usage

if TYPE_CHECKING:
    import networkx as nx

Successors = Mapping[str, Sequence[str]]
"""Targets of the streams of each operator, in their order."""


def successors(vertices: Iterable[str], edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Targets of the edges of each vertex.

    >>> successors("abc", [("a", "c"), ("a", "b")])
    {'a': ['c', 'b'], 'b': [], 'c': []}
    """
    found: dict[str, list[str]] = {vertex: [] for vertex in vertices}
    for source, target in edges:
        found[source].append(target)
    return found


def topological_order(graph: Successors) -> tuple[str, ...] | None:
    """Vertices such that edges go forward, ties in the order of the graph; None where there is a cycle.

    >>> topological_order({"c": [], "b": ["c"], "a": ["c"]})
    ('b', 'a', 'c')
    >>> topological_order({"a": ["b"], "b": ["a"]}) is None
    True
    """
    position = {vertex: index for index, vertex in enumerate(graph)}
    names = list(graph)
    waiting = dict.fromkeys(graph, 0)
    for targets in graph.values():
        for target in targets:
            waiting[target] += 1
    ready = [position[vertex] for vertex, count in waiting.items() if not count]
    heapify(ready)
    order: list[str] = []
    while ready:
        order.append(names[heappop(ready)])
        for target in graph[order[-1]]:
            waiting[target] -= 1
            if not waiting[target]:
                heappush(ready, position[target])
    return tuple(order) if len(order) == len(names) else None


def paths_to_sinks(graph: Successors, source: str) -> Iterator[tuple[str, ...]]:
    """All simple paths of at least one edge from a vertex to vertices without successors, depth first.

    >>> list(paths_to_sinks({"a": ["b", "c"], "b": ["c"], "c": []}, "a"))
    [('a', 'b', 'c'), ('a', 'c')]
    """
    path = {source: None}
    branches = [iter(graph[source])]
    while branches:
        target = next(branches[-1], None)
        if target is None:
            branches.pop()
            path.popitem()
        elif not graph[target]:
            yield (*path, target)
        elif target not in path:
            path[target] = None
            branches.append(iter(graph[target]))


class OperatorBase(Document):
    """Fields of every operator, however its number of replicas is decided."""

    name: Name = Field(description="unique in the application")
    state_size: NonNegative = Field(0.0, description="internal state of all replicas together", **unit("bytes"))
    code_size: NonNegative = Field(0.0, description="code that a node without a replica downloads", **unit("bytes"))
    resources: Resources = Field(1.0, description="need of one replica: a number, or amounts by name", **unit("1"))
    candidates: Annotated[tuple[Name, ...], Field(min_length=1)] | None = Field(
        None, description="nodes that may run the operator; null for all"
    )
    external_rate: NonNegative = Field(0.0, description="load that no stream brings", **unit("tuples/s"))
    selectivity: NonNegative = Field(
        1.0, description="tuples on each outgoing stream per tuple of load, where the stream gives no rate", **unit("1")
    )

    @checks("operator")
    def _check_candidates(self, faults: Faults) -> None:
        for index in duplicates(list(self.candidates or ())):
            faults.add(("candidates", index), (self.candidates or ())[index], "names a node twice; name each once")


class Operator(OperatorBase):
    """One processing element, described by a replica of it on the reference node.

    Examples
    --------
    >>> Operator(name="parser", latency={"model": "mm1", "service_rate": 233.0}, max_replicas=3).max_replicas
    3
    """

    latency: LatencyModel | None = Field(
        None, description="latency of a replica by its input rate and the number of replicas; null adds none"
    )
    cost: NonNegative | dict[Name, NonNegative] = Field(
        0.0,
        description="price per unit of resources; with named resources a number prices the replica, prices by name are per unit",
        **unit("money/h"),
    )
    max_replicas: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] = Field(1, description="most replicas", **unit("1"))
    min_replicas: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] = Field(
        1, description="fewest replicas, at most `max_replicas`", **unit("1")
    )
    usage: dict[Name, Usage] = Field({}, description="what a replica uses of the shared resources of its node, by resource")
    state_of: Name | None = Field(
        None,
        description="operator that has the same state, such as the leader of a partition for its followers; null for its own",
    )

    @checks("operator")
    def _check(self, faults: Faults) -> None:
        if self.min_replicas > self.max_replicas:
            why = f"must be at most max_replicas, which is {self.max_replicas}"
            faults.add(("min_replicas",), self.min_replicas, why)
        if isinstance(self.cost, dict):
            named = self.resources if isinstance(self.resources, dict) else {}
            for name in self.cost:
                if name not in named:
                    faults.add(("cost", name), self.cost[name], "prices a resource that this operator does not use")

    @property
    def replica_cost(self) -> float:
        """Money per hour of one replica (EDRP, eq. 2)."""
        if isinstance(self.cost, dict):
            amounts = self.resources if isinstance(self.resources, dict) else {}
            return sum(price * amounts[name] for name, price in self.cost.items())
        return self.cost if isinstance(self.resources, dict) else self.cost * self.resources


class InstancedOperator(OperatorBase):
    """An operator whose number of replicas is fixed; they are called instances (latency-aware placement, section 6.1.2).

    Examples
    --------
    >>> InstancedOperator(name="count", resources={"cpu": 0.2}, instances=2).max_replicas
    2
    """

    instances: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] = Field(1, description="number of replicas", **unit("1"))

    @property
    def min_replicas(self) -> int:
        """Equal to `instances`."""
        return self.instances

    @property
    def max_replicas(self) -> int:
        """Equal to `instances`."""
        return self.instances


class Stream(Document):
    """The flow of tuples from one operator to another.

    Examples
    --------
    >>> Stream(source="parser", target="counter", partitioning="hash", usage={"network": 120.0}).usage
    {'network': 120.0}
    """

    source: Name = Field(description="operator that sends")
    target: Name = Field(description="operator that receives")
    rate: NonNegative | None = Field(None, description="mean rate; null: selectivity × load of the source", **unit("tuples/s"))
    partitioning: Partitioning = Field(
        "rebalance",
        description="how tuples are dealt to the target's replicas: all to all (`hash`, `rebalance`), or one to one (`forward`)",
    )
    usage: dict[Name, NonNegative] = Field(
        {},
        description="what a tuple that goes to another node uses of the sender's node, by shared resource",
        **unit("units/tuple"),
    )


class StreamGraph(Document):
    """Operators and the streams between them."""

    operators: Annotated[tuple[OperatorBase, ...], Field(min_length=1)] = Field(description="in any order")
    streams: tuple[Stream, ...] = Field((), description="at most one from one operator to another")

    @checks("application")
    def _check_names(self, faults: Faults) -> None:
        names = [operator.name for operator in self.operators]
        faults.add_repeated_names("operators", names)
        known = set(names)
        seen: dict[tuple[str, str], int] = {}
        for index, stream in enumerate(self.streams):
            for end in ("source", "target"):
                if getattr(stream, end) not in known:
                    faults.add_unknown(("streams", index, end), getattr(stream, end), "operator of this application", names)
            pair = (stream.source, stream.target)
            if pair in seen and faults.repeated.isdisjoint(pair):
                faults.add(
                    ("streams", index), "→".join(pair), f"joins the same operators as streams[{seen[pair]}]; add up their rates"
                )
            seen.setdefault(pair, index)

    @cached_property
    def _successors(self) -> dict[str, list[str]]:
        edges = ((stream.source, stream.target) for stream in self.streams)
        return successors((operator.name for operator in self.operators), edges)

    @cached_property
    def by_name(self) -> dict[str, Any]:
        """Operators by name."""
        return {operator.name: operator for operator in self.operators}

    @cached_property
    def topological_order(self) -> tuple[str, ...]:
        """Operator names such that streams go forward; ties in document order.

        Where streams form cycles, as few as a heuristic can do with go backward (latency-aware placement, Alg. 3).
        """
        if order := topological_order(self._successors):
            return order
        from edrp.placement.ordering import topological_layers

        edges = [(stream.source, stream.target) for stream in self.streams]
        layers = topological_layers([operator.name for operator in self.operators], edges)
        return tuple(name for layer in layers for name in layer)

    @cached_property
    def feedback(self) -> frozenset[tuple[str, str]]:
        """Streams (source, target) that do not go forward in `topological_order`; none where there is no cycle."""
        position = {name: index for index, name in enumerate(self.topological_order)}
        return frozenset((s.source, s.target) for s in self.streams if position[s.source] >= position[s.target])

    @cached_property
    def _flow(self) -> tuple[dict[str, float], dict[tuple[str, str], float]]:
        load = {operator.name: operator.external_rate for operator in self.operators}
        selectivity = {operator.name: operator.selectivity for operator in self.operators}
        rate: dict[tuple[str, str], float] = {}
        outgoing: dict[str, list[Stream]] = {}
        for stream in self.streams:
            if (stream.source, stream.target) in self.feedback:
                load[stream.target] += stream.rate or 0.0
            outgoing.setdefault(stream.source, []).append(stream)
        for name in self.topological_order:
            for stream in outgoing.get(name, ()):
                rate[name, stream.target] = selectivity[name] * load[name] if stream.rate is None else stream.rate
                if (name, stream.target) not in self.feedback:
                    load[stream.target] += rate[name, stream.target]
        return load, rate

    def _check_loads(self, faults: Faults) -> None:
        """Note every operator whose load, where it follows from rates and selectivities, is beyond the range of rates."""
        if all(stream.rate is not None for stream in self.streams):
            return
        largest = RANGES["tuples/s"].largest
        for index, operator in enumerate(self.operators):
            load = self.load(operator.name)
            if not load <= largest:
                why = f"receives {load:g} tuples/s by the rates and selectivities; at most {largest:g} are taken"
                faults.add(("operators", index), operator.name, why)

    def load(self, operator: str) -> float:
        """Tuples per second that all replicas of the operator receive together."""
        return self._flow[0][operator]

    def rate(self, source: str, target: str) -> float:
        """Tuples per second on the stream from `source` to `target`."""
        return self._flow[1][source, target]

    @cached_property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """All source–sink paths (EDRP, Π_dsp); may be exponentially many."""
        graph = self._successors
        entered = {stream.target for stream in self.streams}
        sources = [name for name in self.topological_order if name not in entered]
        sinks = [name for name in self.topological_order if not graph[name]]
        alone = [(name,) for name in sources if not graph[name]]
        found: dict[tuple[str, str], list[tuple[str, ...]]] = {(s, t): [] for s in sources for t in sinks}
        for source in sources:
            for path in paths_to_sinks(graph, source):
                found[source, path[-1]].append(path)
        return (*alone, *(path for paths in found.values() for path in paths))

    @classmethod
    def from_graph(cls, graph: nx.DiGraph[Any]) -> Self:
        """Read a `networkx.DiGraph` whose vertex and edge attributes are the fields of `Operator` and `Stream`.

        Examples
        --------
        >>> import networkx as nx
        >>> graph = nx.DiGraph()
        >>> graph.add_node("a", external_rate=10.0)
        >>> graph.add_edge("a", "b", rate=5.0)
        >>> Application.from_graph(graph).load("b")
        5.0
        """
        return cls(
            operators=tuple({"name": str(name), **attributes} for name, attributes in graph.nodes(data=True)),
            streams=tuple({"source": str(u), "target": str(v), **attributes} for u, v, attributes in graph.edges(data=True)),
        )

    def to_graph(self) -> nx.DiGraph[Any]:
        """Write a `networkx.DiGraph`; `from_graph` reads it back without loss."""
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph()
        for operator in self.operators:
            graph.add_node(operator.name, **operator.model_dump(exclude={"name"}))
        for stream in self.streams:
            graph.add_edge(stream.source, stream.target, **stream.model_dump(exclude={"source", "target"}))
        return graph


class AcyclicGraph(StreamGraph):
    """A stream graph without cycles."""

    @model_validator(mode="after")
    def _check_acyclic(self) -> Self:
        faults = Faults("application")
        if topological_order(self._successors):
            self._check_loads(faults)
            faults.raise_if_any()
            return self
        import networkx as nx

        cycle = nx.find_cycle(self.to_graph())
        path = " → ".join([cycle[0][0], *(edge[1] for edge in cycle)])
        why = "form a cycle; this model needs an acyclic application, remove one of these streams"
        if len(cycle) == 1:
            why = "joins an operator to itself; this model needs an acyclic application, remove this stream"
        faults.add(("streams",), path, why)
        faults.raise_if_any()
        return self


class Application(AcyclicGraph):
    """A directed acyclic graph of operators and streams.

    Raises
    ------
    InvalidInstanceError
        Duplicate or unknown names, a stream given twice, or a cycle (which is named).

    Examples
    --------
    >>> app = Application(
    ...     operators=[Operator(name="source", external_rate=100.0, selectivity=0.5), Operator(name="sink")],
    ...     streams=[Stream(source="source", target="sink")],
    ... )
    >>> app.load("sink")
    50.0
    """

    operators: Annotated[tuple[Operator, ...], Field(min_length=1)] = Field(description="in any order")
    streams: tuple[Stream, ...] = Field((), description="at most one from one operator to another, no cycles")

    @checks("application")
    def _check_state_owners(self, faults: Faults) -> None:
        owners = {operator.name: operator.state_of for operator in self.operators}
        for index, (name, owner) in enumerate(owners.items()):
            place = ("operators", index, "state_of")
            if owner is not None and owner not in owners:
                faults.add_unknown(place, owner, "operator of this application", owners)
            elif owner is not None and owners[owner] is not None:
                why = (
                    "is the operator itself; leave it out" if owner == name else f"has a state_of itself: name '{owners[owner]}'"
                )
                faults.add(place, owner, why)


class Topology(StreamGraph):
    """A graph of operators with fixed numbers of instances; streams may form cycles (latency-aware placement, section 5.3).

    Raises
    ------
    InvalidInstanceError
        Duplicate or unknown names, a stream given twice, a stream that closes a cycle and has no rate.

    Examples
    --------
    >>> topology = Topology(
    ...     operators=[{"name": "source", "external_rate": 10.0}, {"name": "work", "instances": 2}],
    ...     streams=[{"source": "source", "target": "work"}, {"source": "work", "target": "work", "rate": 1.0}],
    ... )
    >>> topology.load("work"), sorted(topology.feedback)
    (11.0, [('work', 'work')])
    """

    operators: Annotated[tuple[InstancedOperator, ...], Field(min_length=1)] = Field(description="in any order")

    @checks("application")
    def _check_rates(self, faults: Faults) -> None:
        for index, stream in enumerate(self.streams):
            if stream.rate is None and (stream.source, stream.target) in self.feedback:
                why = f"missing: {stream.source} → {stream.target} closes a cycle, where no rate follows from the others; give it"
                faults.add(("streams", index, "rate"), None, why)
            if stream.usage:
                faults.add(("streams", index, "usage"), stream.usage, "is taken by problems of kind edrp only; leave it out")
            if stream.partitioning == "forward":
                why = "is taken by problems of kind edrp only, here instances are joined all to all; leave it out"
                faults.add(("streams", index, "partitioning"), stream.partitioning, why)
        self._check_loads(faults)
