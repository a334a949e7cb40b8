"""A deployment over its network: nodes as boxes, replicas as chips in them, streams between chips; and the application alone."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edrp.core.document import named_resources
from edrp.explorer.layout import (
    BOLD_LETTER,
    GAP_X,
    NO_ROOM,
    Content,
    Item,
    Room,
    by_distance,
    chips_of,
    fitted,
    in_columns,
    line_width,
    on_the_map,
    rooms,
    shortened,
)
from edrp.explorer.routes import routed
from edrp.explorer.view import Arrangement, Box, Change, Detail, Edge, Graph, State
from edrp.placement.application import StreamGraph
from edrp.placement.network import Network, Node
from edrp.placement.problem import StreamPlacement
from edrp.placement.rules.base import Placed
from edrp.report.formatting import figure, quantity

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


def _free(problem: StreamPlacement, group: Group) -> dict[str, float] | None:
    """Resources of the nodes of a box that may be used; None where a node has no end of them."""
    free: dict[str, float] = {}
    for node in (problem.network.by_name[name] for name in group.nodes):
        if node.resources is None:
            return None
        for resource, amount in named_resources(node.resources).items():
            free[resource] = free.get(resource, 0.0) + amount * problem.usable_share(resource)
    return free


WIDTHS, HEIGHT = (150.0, 230.0), 46.0
MAX_DRAWING_WIDTH = 1000.0
"""Width of a drawing whose texts are still large enough, in pixels."""

StreamName = tuple[str, str]


def layers(application: StreamGraph) -> dict[str, int]:
    """Number of streams on the longest way to each operator, streams that close a cycle left out."""
    layer = dict.fromkeys(application.topological_order, 0)
    for name in application.topological_order:
        for stream in application.streams:
            if stream.source == name and (name, stream.target) not in application.feedback:
                layer[stream.target] = max(layer[stream.target], layer[name] + 1)
    return layer


def application_graph(
    application: StreamGraph,
    notes: Mapping[str, str],
    details: dict[str, Detail],
    *,
    hot: Collection[str] = (),
    hot_streams: Collection[StreamName] = (),
) -> Graph:
    """Operators with a note each, and streams as wide as their rate; details of streams are added.

    Operator number i has the detail `o<i>` and the colour i.
    """
    layer = layers(application)
    names = [operator.name for operator in application.operators]
    columns = max(layer.values()) + 1
    wanted = max(map(len, names)) * BOLD_LETTER + 30.0  # for the longest name, as far as all columns stay legible side by side
    width = min(max(WIDTHS[0], min(wanted, MAX_DRAWING_WIDTH / columns - GAP_X)), WIDTHS[1])
    boxes = [
        Box(
            f"a{index}",
            shortened(name, width - 28, BOLD_LETTER),
            width,
            HEIGHT,
            note=notes.get(name, ""),
            hot=name in hot,
            colour=index,
            detail=f"o{index}",
        )
        for index, name in enumerate(names)
    ]
    number = {name: index for index, name in enumerate(names)}
    rates = [application.rate(stream.source, stream.target) for stream in application.streams]
    edges = []
    for index, (stream, rate) in enumerate(zip(application.streams, rates, strict=True)):
        details[f"s{index}"] = Detail(
            f"{stream.source} → {stream.target}", [("rate", quantity(rate, "tuples/s")), ("partitioning", stream.partitioning)]
        )
        edges.append(
            Edge(
                f"a{number[stream.source]}",
                f"a{number[stream.target]}",
                line_width(rate, max(rates)),
                hot=(stream.source, stream.target) in hot_streams,
                dashed=(stream.source, stream.target) in application.feedback,
                label=f"{figure(rate)}/s" if rate and len(rates) <= 12 else "",
                detail=f"s{index}",
            )
        )
    place = in_columns("streams", [(width, HEIGHT)] * len(boxes), [float(layer[name]) for name in names], columns)
    legend = [("line", "stream, as wide as its rate (tuples/s)")]
    if hot:
        legend.append(("hot", "critical path"))
    return routed(Graph("Application", boxes, [place], [State(0.0, edges=edges)], legend=legend))


WIDTH, IDLE_WIDTH, IDLE_HEIGHT = 162.0, 118.0, 44.0
MAX_EDGES = 700
"""Flows between chips that are drawn; those of the largest rates."""

MAX_LINKS = 90
MAX_NAMED = 60
"""Nodes of a group that its detail names."""

Replica = tuple[str, str]
"""Operator and node."""

Hot = tuple[Collection[tuple[str, str]], Collection[Replica]]
"""Streams and replicas of the critical path."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A deployment that runs from a time on, and its application under the load of that time."""

    begin: float
    deployment: Placed
    application: StreamGraph


class Scene:
    """Boxes, colours and details that all states of one problem share.

    Parameters
    ----------
    deployments
        All that are to be shown, which decide what nodes have a box of their own and how large boxes are.
    """

    def __init__(self, problem: StreamPlacement, deployments: Sequence[Placed]) -> None:
        self.problem = problem
        self.names = [operator.name for operator in problem.application.operators]
        self.number = {name: index for index, name in enumerate(self.names)}
        used = dict.fromkeys(node for d in deployments for name in self.names for node in d.replicas(name))
        self.groups = groups(problem.network, used)
        self.box = {node: f"n{index}" for index, group in enumerate(self.groups) for node in group.nodes}
        self.free = [_free(problem, group) for group in self.groups]
        self.details: dict[str, Detail] = {}
        for index, operator in enumerate(problem.application.operators):
            self.details[f"o{index}"] = self._operator_detail(operator)

    def graph(
        self,
        deployment: Placed | None,
        *,
        hot: Hot = ((), ()),
        before: Placed | None = None,
        other: Placed | None = None,
        change: Change | None = None,
    ) -> Graph:
        """The graph of a deployment, of the one before at the begin of time, and of another one on demand."""
        after = self.content(deployment, hot[1], before, other)
        first = self.content(before, (), deployment, None, leaving=True) if before is not None else {}
        needed = rooms((after, first))
        edges = self.edges(deployment, hot) if deployment is not None else []
        rivals = self.edges(other, ((), ()), deployment) if other is not None else []
        end = 0.0 if change is None else change.timeline.end
        states = [State(end, chips_of(after, needed), edges, rivals, self._shares(deployment))]
        if before is not None and change is not None:
            states.insert(0, State(0.0, chips_of(first, needed), self.edges(before, ((), ())), shares=self._shares(before)))
        legend = [("hot", "critical path")] if hot[1] else []
        legend += [("gone", "goes or changes"), ("new", "new or changed")] if len(states) > 1 else []
        legend += [("other", "second best")] if other is not None else []
        drawn = self._drawn(deployment, [d for d in (deployment, before, other) if d is not None], needed, states, legend)
        named = "" if other is None else "second best"
        return routed(replace(drawn, tokens=() if change is None else change.tokens, overlay=named, note=self._note(edges)))

    def course(self, stays: Sequence[Stay]) -> Graph:
        """The graph of deployments one after the other, each from its time on and under its load."""
        contents, before = [], None
        for stay in stays:
            contents.append(self.content(stay.deployment, (), before, None))
            before = stay.deployment
        needed = rooms(contents)
        largest = max((s.application.rate(e.source, e.target) for s in stays for e in s.application.streams), default=0.0)
        states = [
            State(
                stay.begin,
                chips_of(content, needed),
                self.edges(stay.deployment, ((), ()), application=stay.application, largest=largest),
                shares=self._shares(stay.deployment),
            )
            for stay, content in zip(stays, contents, strict=True)
        ]
        legend = [("new", "changed at the beginning of the period")]
        drawn = self._drawn(stays[0].deployment, [stay.deployment for stay in stays], needed, states, legend)
        return routed(replace(drawn, note=self._note(states[0].edges)))

    def _drawn(
        self,
        described: Placed | None,
        deployments: Sequence[Placed],
        needed: Mapping[str, Room],
        states: Sequence[State],
        legend: Sequence[tuple[str, str]],
    ) -> Graph:
        """The graph of states; details of boxes are those of one deployment."""
        boxes = self._boxes(described, needed)
        about = [("chip", "replicas of an operator on a node"), ("line", "stream, as wide as the tuples/s that it carries")]
        shown = [*(about if described is not None else []), *legend]
        return Graph(
            "Deployment on the network", boxes, self._arrangements(boxes, deployments), states, self._links(), legend=shown
        )

    def content(
        self,
        deployment: Placed | None,
        hot: Collection[Replica],
        before: Placed | None,
        other: Placed | None,
        leaving: bool = False,
    ) -> Content:
        """Chips by box, marked where another deployment has more or fewer replicas of the operator there."""
        content: dict[str, list[Item]] = {}
        if deployment is None:
            return content
        for index, name in enumerate(self.names):
            compared = before.replicas(name) if before is not None and name in before else None  # type: ignore[operator]
            counts = self._by_box(deployment.replicas(name))
            earlier = None if compared is None else self._by_box(compared)
            burning = {self.box[node] for operator, node in hot if operator == name}
            for box, count in counts.items():
                changed = earlier is not None and earlier[box] != count
                mark = ("gone" if leaving else "new") if changed else ""
                content.setdefault(box, []).append(Item(f"{box}o{index}", name, index, count, f"o{index}", box in burning, mark))
            for box, count in (self._by_box(other.replicas(name)) if other is not None else Counter[str]()).items():
                if counts[box] != count:
                    content.setdefault(box, []).append(Item(f"{box}x{index}", name, index, count, f"o{index}", change="other"))
        return content

    def critical(self, deployment: Placed, parts: Iterable[str]) -> tuple[set[tuple[str, str]], set[Replica]]:
        """Streams and replicas of the critical path, whose parts are given by name."""
        named = set(parts)
        streams = {(s.source, s.target) for s in self.problem.application.streams if f"{s.source} → {s.target}" in named}
        exact = {(name, node) for name in self.names for node in deployment.replicas(name) if f"{name} on {node}" in named}
        if exact:
            return streams, exact
        replicas: set[Replica] = set()
        for stream in streams:
            delay = self.problem.network.delay
            pairs = [(u, v) for u in deployment.replicas(stream[0]) for v in deployment.replicas(stream[1])]
            slowest = max(pairs, key=lambda pair: delay(*pair))
            replicas |= {(stream[0], slowest[0]), (stream[1], slowest[1])}
        replicas |= {(name, node) for name in self.names if name in named and not streams for node in deployment.replicas(name)}
        return streams, replicas

    def edges(
        self,
        deployment: Placed,
        hot: Hot,
        shown: Placed | None = None,
        *,
        application: StreamGraph | None = None,
        largest: float | None = None,
    ) -> list[Edge]:
        """Flows between the chips of a deployment, those of the largest rates; chips that `shown` lacks have another id.

        Rates are those of the application or, where it is given, of the same one under another load; the widest line is that of
        the largest of them or, where it is given, of that rate.
        """
        flows: list[tuple[float, int, str, str, bool]] = []
        loaded = self.problem.application if application is None else application
        for index, stream in enumerate(loaded.streams):
            rate = loaded.rate(stream.source, stream.target)
            senders, receivers = (
                self._by_box(deployment.replicas(stream.source)),
                self._by_box(deployment.replicas(stream.target)),
            )
            pairs = senders.total() * receivers.total()
            burning = [{self.box[node] for name, node in hot[1] if name == end} for end in (stream.source, stream.target)]
            lit = (stream.source, stream.target) in hot[0]
            for u, m in senders.items():
                for v, n in receivers.items():
                    flows.append((rate * m * n / pairs, index, u, v, lit and u in burning[0] and v in burning[1]))
        widest = max((flow[0] for flow in flows), default=0.0) if largest is None else largest
        flows = sorted(flows, key=lambda flow: (not flow[4], -flow[0]))[:MAX_EDGES]
        ids: dict[Replica, str] = {}
        for index, name in enumerate(self.names):
            counts = self._by_box(deployment.replicas(name))
            own = counts if shown is None else self._by_box(shown.replicas(name))
            ids |= {(name, box): f"{box}{'o' if own[box] == count else 'x'}{index}" for box, count in counts.items()}
        return [self._edge(flow, ids, widest, len(flows) <= 16 and shown is None) for flow in flows]

    def _edge(self, flow: tuple[float, int, str, str, bool], ids: Mapping[Replica, str], largest: float, labelled: bool) -> Edge:
        rate, index, u, v, lit = flow
        stream = self.problem.application.streams[index]
        ends = ids[stream.source, u], ids[stream.target, v]
        label = f"{figure(rate)}/s" if labelled and rate and u != v else ""
        return Edge(*ends, line_width(rate, largest), hot=lit, label=label, detail=f"s{index}")

    def operator_notes(self, deployment: Placed | None) -> dict[str, str]:
        """A second line for each operator: its replicas and its load."""
        notes = {}
        for name in self.names:
            arriving = self.problem.application.load(name)
            count = 0 if deployment is None else deployment.replicas(name).total()
            parts = [f"{count} replica{'s' * (count != 1)}"] if deployment is not None else []
            notes[name] = ", ".join([*parts, f"{figure(arriving)}/s"] if arriving else parts)  # nothing arrives at some sources
        return notes

    def _by_box(self, replicas: Mapping[str, int]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for node, count in replicas.items():
            counts[self.box[node]] += count
        return counts

    def _note(self, edges: Sequence[Edge]) -> str:
        parts = []
        if any(not group.single for group in self.groups):
            parts.append(f"{len(self.box):,} nodes in {len(self.groups)} boxes: those of one zone or row share one.")
        if len(edges) == MAX_EDGES:
            parts.append(f"The {MAX_EDGES} widest flows are drawn.")
        return " ".join(parts)

    def _boxes(self, deployment: Placed | None, needed: Mapping[str, Room]) -> list[Box]:
        used, shares = self._used(deployment), self._shares(deployment)
        held = self._held(deployment)
        boxes = []
        for index, group in enumerate(self.groups):
            lines = [f"{name} ×{counts[box]}" for name, counts in held.items() if (box := f"n{index}") in counts]
            self._describe(index, group, lines, used[index])
            boxes.append(fitted(self._box(index, group, shares[index]), needed.get(f"n{index}", NO_ROOM)))
        return boxes

    def _box(self, index: int, group: Group, share: float | None) -> Box:
        if not group.single:
            note = f"{len(group.nodes):,} nodes"
            return Box(
                f"n{index}", shortened(group.label, 116, BOLD_LETTER), 136.0, IDLE_HEIGHT, note, share, True, detail=f"n{index}"
            )
        node = self.problem.network.by_name[group.nodes[0]]
        note = str(node.zone) if node.zone is not None else f"{node.speedup:g}× as fast" if node.speedup != 1 else ""
        return Box(
            f"n{index}", shortened(group.label, IDLE_WIDTH - 16, BOLD_LETTER), IDLE_WIDTH, IDLE_HEIGHT, shortened(note, 100, 6.2),
            share, True, detail=f"n{index}",
        )  # fmt: skip

    def _held(self, deployment: Placed | None) -> dict[str, Counter[str]]:
        """Replicas of each operator by box."""
        return {} if deployment is None else {name: self._by_box(deployment.replicas(name)) for name in self.names}

    def _used(self, deployment: Placed | None) -> list[defaultdict[str, float]]:
        """Resources in use of each box."""
        used: list[defaultdict[str, float]] = [defaultdict(float) for _ in self.groups]
        for name, counts in self._held(deployment).items():
            for resource, amount in named_resources(self.problem.application.by_name[name].resources).items():
                for box, count in counts.items():
                    used[int(box[1:])][resource] += count * amount
        return used

    def _shares(self, deployment: Placed | None) -> list[float | None]:
        """Share in use of the fullest resource of each box; None where nodes have no end of them."""
        return [
            max((used[resource] / amount for resource, amount in (free or {}).items() if amount), default=None)
            for free, used in zip(self.free, self._used(deployment), strict=True)
        ]

    def _describe(self, index: int, group: Group, lines: list[str], used: Mapping[str, float]) -> None:
        """Add the detail of a box."""
        free = self.free[index] or {}
        rows = [(name, f"{figure(used.get(name, 0.0), 4)} of {figure(amount, 4)} in use") for name, amount in free.items()]
        rows += _facts(self.problem.network.by_name[group.nodes[0]]) if group.single else [("nodes", f"{len(group.nodes):,}")]
        if not group.single:
            lines.append(", ".join(group.nodes[:MAX_NAMED]) + (" …" if len(group.nodes) > MAX_NAMED else ""))
        self.details[f"n{index}"] = Detail(group.label, rows, lines or ["No replica runs here."])

    def _operator_detail(self, operator: Any) -> Detail:
        rows = [("load", quantity(self.problem.application.load(operator.name), "tuples/s"))]
        low, high = operator.min_replicas, operator.max_replicas
        rows.append(("replicas", f"{high}" if low == high else f"{low} to {high}"))
        rows += [
            (f"{name} of a replica", figure(amount, 4)) for name, amount in named_resources(operator.resources).items() if amount
        ]
        price = getattr(operator, "replica_cost", 0.0)
        rows += [("price of a replica", quantity(price, "money/h"))] if price else []
        rows += [("state", quantity(operator.state_size, "bytes"))] if operator.state_size else []
        if operator.candidates is not None:
            rows.append(("may run on", ", ".join(operator.candidates[:20]) + (" …" if len(operator.candidates) > 20 else "")))
        return Detail(operator.name, rows)

    def _links(self) -> list[Edge]:
        """Links that are listed, where they are few enough to be seen."""
        links = self.problem.network.links
        if len(links) > MAX_LINKS or any(not group.single for group in self.groups):
            return []
        edges = []
        for index, link in enumerate(links):
            rows = [("delay", quantity(link.delay, "s"))]
            rows += [("bandwidth", quantity(link.bandwidth, "bytes/s"))] if link.bandwidth is not None else []
            rows += [("price", quantity(link.cost, "money/h per tuple/s"))] if link.cost else []
            self.details[f"l{index}"] = Detail(f"Link {link.source} – {link.target}", rows)
            label = quantity(link.delay, "s", 3) if len(links) <= 12 else ""
            edges.append(Edge(self.box[link.source], self.box[link.target], 1.0, label=label, detail=f"l{index}"))
        return edges

    def _arrangements(self, boxes: Sequence[Box], deployments: Sequence[Placed]) -> list[Arrangement]:
        """By the streams, and by the delays between the nodes."""
        layer = layers(self.problem.application)
        held: dict[str, list[int]] = {}
        for deployment in deployments:
            for name in self.names:
                for box in self._by_box(deployment.replicas(name)):
                    held.setdefault(box, []).append(layer[name])
        ranks = [sum(held[box.id]) / len(held[box.id]) if box.id in held else None for box in boxes]
        sizes = [(box.width, box.height) for box in boxes]
        heads = [group.nodes[0] for group in self.groups]
        delays = [[self.problem.network.delay(u, v) for v in heads] for u in heads]
        by_stream = in_columns("by stream", sizes, ranks)
        by_delay = (
            [by_distance("by delay", sizes, delays)]
            if len(boxes) > 1 and any(0 < d < math.inf for r in delays for d in r)
            else []
        )
        chart = on_the_map("map", sizes, [self.problem.network.by_name[name].coordinates for name in heads])
        if chart is not None:
            return [chart, by_stream, *by_delay]
        return [by_stream, *by_delay] if held else [*by_delay, by_stream][:1]


def _facts(node: Any) -> list[tuple[str, str]]:
    rows = [("zone", str(node.zone))] if node.zone is not None else []
    rows += node.labels.items()
    rows += [("speed", f"{node.speedup:g} × the reference")] if node.speedup != 1 else []
    rows += [("availability", f"{node.availability:.6g}")] if node.availability != 1 else []
    rows += [("starts replicas in", quantity(node.spawn_time, "s"))] if node.spawn_time else []
    return rows + [(f"capacity of {name}", f"{figure(amount, 4)}/s") for name, amount in node.capacity.items()]
