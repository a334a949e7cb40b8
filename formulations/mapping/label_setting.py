"""`label-setting`: proven optima of path mapping by rounds of labels that track only the resources that matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats
from edrp.core.budget import memory_limit, spend
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer, StoppedBecause, within_gap
from edrp.core.tolerances import GUIDE_SUM_DIFFERENCE, MAP_COST_DIFFERENCE, MIN_TRACKED_WEIGHT, OPTIMALITY_GAP, SAME_VALUE
from edrp.formulations.mapping.label_search import (
    BEST,
    BOUND,
    COMPARED,
    COUNT,
    FULL,
    INCUMBENT,
    PAUSED,
    POPPED,
    WHOLE,
    Guide,
    MapLabels,
    Tracked,
    first_label,
    grown,
    label_moves,
)
from edrp.formulations.mapping.lagrangian import MULTIPLIER_STEPS, PricedRelaxation, ascend, cheapest, fill_to_go
from edrp.formulations.mapping.layered_graph import (
    HOST,
    MapLayers,
    ToGo,
    build_layers,
    cost_and_use,
    map_to_moves,
    moves_to_map,
    overloaded,
    refusal,
)
from edrp.mapping.mapping_arrays import MappingArrays, NetworkArrays, TaskArrays
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays

SEGMENTS = (12, 20)
"""Components of a segment: as many as the search over labels maps in milliseconds, and where that helps no more, others."""


class Segment(NamedTuple):
    """A part of a map as a task of its own.

    Attributes
    ----------
    tables : the task of the segment, between the servers before and after it, on what the rest of the map leaves free.
    before, moves, after : moves of the map, split.
    """

    tables: MappingArrays
    before: list[int]
    moves: list[int]
    after: list[int]


def segment(tables: MappingArrays, moves: Sequence[int], number: int, size: int) -> Segment | None:
    """Return the segment of `size` components with this number, half of which is also in the next one; None after the last."""
    task, first = tables.task, number * size // 2
    end = min(first + size, task.needs.size)
    if first and first + size // 2 >= task.needs.size:
        return None
    hosts = [position for position, move in enumerate(moves) if move == HOST]
    start = hosts[first - 1] + 1 if first else 0
    stop = hosts[end] if end < len(hosts) else len(moves)
    used = _Uses(tables)
    source = used.follow(moves[:start], 0)
    delivery = used.follow(moves[start:stop], first, counted=False, server=source)
    used.follow(moves[stop:], end, server=delivery)
    hops = slice(first, end + 1)
    part = TaskArrays(source, delivery, task.needs[first:end], task.bandwidths[hops], task.hosts[first:end])
    empty = tables.max_empty_hops - (used.empty if tables.total_hops else 0)
    own = replace(tables, network=used.free(), task=part, max_empty_hops=empty)
    return Segment(own, list(moves[:start]), list(moves[start:stop]), list(moves[stop:]))


class _Uses:
    """Use of servers and links by parts of a map.

    Attributes
    ----------
    empty : empty hops.
    """

    def __init__(self, tables: MappingArrays) -> None:
        self.tables, self.empty = tables, 0
        network = tables.network
        self._capacity, self._bandwidth = np.zeros_like(network.capacity), np.zeros_like(network.bandwidth)
        self._uplink, self._downlink = np.zeros_like(network.uplink), np.zeros_like(network.downlink)

    def follow(self, moves: Sequence[int], mapped: int, *, counted: bool = True, server: int | None = None) -> int:
        """Follow moves from a server, by default the source, with `mapped` components mapped, and return where they end."""
        network, task = self.tables.network, self.tables.task
        arcs, at, links = network.target.size, task.source if server is None else server, 0
        for move in moves:
            if move == HOST:
                self._capacity[at] += task.needs[mapped] * counted
                mapped, links = mapped + 1, 0
                continue
            rate = task.bandwidths[mapped] * counted
            if move < arcs:
                self._bandwidth[move] += rate
                at = int(network.target[move])
                self.empty += counted and links > 0
                links += 1
            else:
                self._uplink[at] += rate
                at = move - arcs
                self._downlink[at] += rate
        return at

    def free(self) -> NetworkArrays:
        """Return the network with what is left; of rates all, where uses do not add up."""
        network = self.tables.network
        left = replace(network, capacity=np.maximum(0.0, network.capacity - self._capacity))
        if self.tables.cumulative:
            left.bandwidth = np.maximum(0.0, network.bandwidth - self._bandwidth)
            left.uplink = np.maximum(0.0, network.uplink - self._uplink)
            left.downlink = np.maximum(0.0, network.downlink - self._downlink)
        return left


MAX_SUMS = 400
"""Sums of amounts that are listed for a resource."""

MAX_GUIDE_CELLS = 4_000_000
"""Maximum size of the tables of maps through tracked resources; larger ones are left out."""


def build_guide(
    layers: MapLayers, plain: PricedRelaxation, priced: PricedRelaxation, resources: list[int], through: bool
) -> Guide:
    """Build the guide of a search that tracks some resources.

    Parameters
    ----------
    through
        Whether to look for labels to which a resource no longer matters: a table for each, worth it where a good map is known.
    """
    through = through and plain.togo.arrived.size * len(resources) <= MAX_GUIDE_CELLS
    both = [
        _through(layers, relaxation, resources) if through else _zeros(layers, len(resources)) for relaxation in (plain, priced)
    ]
    return Guide(plain.prices, plain.togo, priced.prices, priced.togo, both[0], both[1])


def _zeros(layers: MapLayers, slots: int) -> ToGo:
    arrived, leaving = layers.to_go()
    return ToGo(np.zeros((*arrived.shape, slots)), np.zeros((*leaving.shape, slots)))


def _through(layers: MapLayers, each: PricedRelaxation, resources: list[int]) -> ToGo:
    """Compute the least further price of maps that take some of a resource, with a last axis of resources."""
    through, togo = _zeros(layers, len(resources)), layers.to_go()
    for slot, resource in enumerate(resources):
        fill_to_go(layers, each.prices, togo, resource, each.togo)
        through.arrived[..., slot], through.leaving[..., slot] = togo
    return through


def build_tracked(layers: MapLayers, resources: list[int]) -> Tracked:
    """Build the tracked resources with the sums of amounts that can be taken of them."""
    limit = layers.graph.limit
    slot = np.full(limit.size, -1, np.int32)
    slot[resources] = np.arange(len(resources))
    sums = [layer_sums for resource in resources for layer_sums in _sums(_amounts(layers, resource), limit[resource])]
    shape = (len(resources), layers.graph.rates.size)
    ends = np.cumsum([layer_sums.size for layer_sums in sums], dtype=np.int64).reshape(shape)
    start = np.zeros((shape[0], shape[1] + 1), np.int32)
    start[:, 1:] = ends
    start[1:, 0] = ends[:-1, -1]
    scale = 1 / np.maximum(limit[resources], np.finfo(float).tiny)
    return Tracked(slot, start, np.concatenate(sums) if sums else np.zeros(0), scale)


def _amounts(layers: MapLayers, resource: int) -> Floats:
    """Compute the amount of a resource that each component or hop would take, shape (m + 1,); 0 where it cannot be there."""
    marks = np.zeros(layers.graph.limit.size)
    marks[resource] = 1
    for prices, mark, amounts in zip(
        (layers.prices.host, layers.prices.arc, layers.prices.up, layers.prices.down),
        layers.parts(marks),
        (layers.graph.needs, *(layers.graph.rates,) * 3),
        strict=True,
    ):
        if mark.any():
            taken = np.where(prices[:, int(mark.argmax())] < np.inf, amounts, 0.0)
            return np.append(taken, np.zeros(layers.graph.rates.size - taken.size))
    raise IndexError(f"there are {marks.size} resources, not {resource + 1}")


def _sums(amounts: Floats, limit: float) -> list[Floats]:
    """Return for each layer the possible sums of further amounts up to the limit, ascending; empty where too many."""
    by_layer, sums = [], np.zeros(1)
    for amount in amounts[::-1]:
        if amount > 0 and sums.size:
            both = np.concatenate([sums, sums + amount])
            both = np.sort(both[both <= limit])
            sums = both[np.append(True, np.diff(both) > GUIDE_SUM_DIFFERENCE * limit)]
            sums = sums if sums.size <= MAX_SUMS else sums[:0]
        by_layer.append(sums)
    return by_layer[::-1]


LABEL_WORK = 1.5e-7
"""Units of work for a label that is made or examined."""

COMPARISON_WORK, TRACKED_WORK = 8e-9, 8e-10
"""Units of work for a comparison of two labels of a place, of which there are thousands where tasks are long, and for each
tracked resource in it.

Labels of a list lie anywhere in memory: measured on 10⁶ to 5 × 10⁸ comparisons with 4 to 39 resources, 1.2e-8 to 4e-8 s each.
"""

GROWTH_WORK = 5e-10
"""Units of work for a byte of labels that are copied to have room for more."""

EASY, HARD = 1000, 5000
"""Labels that a round looks at before weights of resources, and before good maps, are looked for, which make it shorter."""

NARROWEST, NARROW, WIDE = 1, (1, 2, 8), (32, 128)
"""Labels of a place that are looked at in search of any map, in milliseconds, and of good ones."""

LABELS_PER_CALL = 250
"""Labels looked at between two looks at the clock."""


@dataclass
class MapLabelSearch:
    """Search for the cheapest map.

    A label is a beginning of a map: where it is, how many components it has mapped, and what it leaves of *tracked* resources
    (servers, links, ends of the public network); what the rest of the task can no longer use is rounded away, so that labels
    often make each other needless. All other limits are overlooked. The cheapest map of a round is therefore a lower bound;
    where it overloads resources these are tracked in the next round, until it overloads none.

    Labels are looked at by a bound on what they lead to, from backward dynamic programs: under the problem's own prices, and
    with prices of all resources that a subgradient ascent found. A label whose bound is not below the best map known is
    dropped, and a label forgets what it leaves of a resource once no cheaper map could take of it.

    Attributes
    ----------
    tolerance : relative difference to the optimum that is allowed, at least `MAP_COST_DIFFERENCE`.
    bound : proven: no map costs less; infinite: there is none.
    cost, moves : cost and moves of the best map; infinite and None for none.
    resources : tracked ones.
    rounds, looked_at : rounds, and labels looked at in all of them.
    full : whether memory was the reason to stop.
    """

    tables: MappingArrays
    tolerance: float
    remaining: Callable[[], float]
    report: Callable[[float, float], None] = lambda cost, bound: None
    layers: MapLayers = field(init=False)
    bound: float = -np.inf
    cost: float = np.inf
    moves: list[int] | None = None
    resources: list[int] = field(default_factory=list)
    rounds: int = 0
    looked_at: int = 0
    full: bool = False

    def __post_init__(self) -> None:
        self.layers = build_layers(self.tables)
        prices = self.layers.prices
        max_cost = sum(
            float(np.where(costs < np.inf, costs, 0.0).max(axis=1, initial=0.0).sum()) for costs in (prices.arc, prices.up)
        )
        self.max_cost = max_cost * (self.layers.graph.empty + 1) * (1 + SAME_VALUE) + 1.0  # more than any map costs

    @property
    def cutoff(self) -> float:
        """Cost below which maps are still searched."""
        return min(self.cost - self.tolerance * self.cost if self.cost < np.inf else np.inf, self.max_cost)

    @property
    def open(self) -> bool:
        """Whether labels remain to be extended and the limits allow it."""
        return self.bound < self.cutoff and self.remaining() > 0 and not self.full

    def offer(self, moves: list[int]) -> None:
        """Accept a map as the best one if it is better and keeps to all limits."""
        cost, use = cost_and_use(self.layers, moves)
        if cost < self.cost and not overloaded(use):
            self.cost, self.moves = cost, moves

    def run(self) -> None:
        """Search until the best map is proven, infeasibility is proven, or time is up."""
        self.run_briefly()
        self._rounds(HARD)
        self._weigh(3 * MULTIPLIER_STEPS)
        self._dive_and_improve(*WIDE)
        self._rounds(None)
        if self.bound >= self.cutoff:
            self.bound = np.inf if self.moves is None else min(self.cost, self.bound * (1 + MAP_COST_DIFFERENCE))

    def run_briefly(self) -> None:
        """Find a bound and a good map, or the optimum of a short task."""
        weightless = np.zeros(self.layers.graph.limit.size)
        self.plain = self.priced = PricedRelaxation.of(self.layers, weightless)
        self.bound, moves = cheapest(self.layers, self.plain)
        if self.bound == np.inf:
            return
        self.offer(moves)
        if self.moves is None:
            self._dive(NARROWEST)
        self._rounds(EASY)
        self._weigh()
        if self.moves is None and self.open:
            self._improve(cheapest(self.layers, self.priced)[1])
        self._dive_and_improve(*NARROW)

    def _dive_and_improve(self, *widths: int) -> None:
        """Search for good maps among few labels of each place, and improve those that are found."""
        for width in widths:
            before = self.cost
            self._dive(width)
            if self.moves is not None and self.cost < before:
                self._improve(self.moves)

    def _improve(self, moves: list[int]) -> None:
        """Map segments of a map again until none makes it cheaper or, where it overloads resources, that less.

        A segment keeps to what the rest of the map leaves, so that none adds to an overload. A short map is one segment.
        """
        number, passed, value = 0, (np.inf, np.inf), self._value(moves)
        sizes = [size for size in SEGMENTS[::-1] if size < self.tables.task.needs.size]
        while sizes and self.open:
            part = segment(self.tables, moves, number, sizes[-1])
            if part is None:
                if value >= passed:
                    sizes.pop()
                number, passed = 0, value
                continue
            search = MapLabelSearch(part.tables, self.tolerance, self.remaining)
            search.offer(part.moves)
            search.run_briefly()
            if search.moves is not None:
                changed = [*part.before, *search.moves, *part.after]
                if (changed_value := self._value(changed)) < value:
                    moves, value = changed, changed_value
                    self.offer(moves)
                    self.report(self.cost, self.bound)
            number += 1

    def _value(self, moves: list[int]) -> tuple[float, float]:
        """Return the shares of resources by which a map overloads them, in all, and its cost."""
        cost, use = cost_and_use(self.layers, moves)
        return float((use[overloaded(use)] - 1).sum()), cost

    def _rounds(self, max_labels: int | None) -> None:
        """Run rounds until one proves the optimum, or examines more labels than it may."""
        while self.open:
            self.rounds += 1
            guide = build_guide(self.layers, self.plain, self.priced, self.resources, through=max_labels != EASY)
            if self._search(guide, build_tracked(self.layers, self.resources), 0, max_labels) == PAUSED:
                return

    def _track(self, moves: list[int]) -> None:
        """Track the resources that a map overloads; where all are tracked, the overload is rounding."""
        cost, use = cost_and_use(self.layers, moves)
        new = [resource for resource in overloaded(use) if resource not in self.resources]
        if new:
            self.resources += new
        elif cost < self.cost:
            self.cost, self.moves = cost, moves

    def _weigh(self, steps: int = MULTIPLIER_STEPS) -> None:
        """Search for weights of resources that raise the bound; resources with a weight are tracked."""
        if not self.open:
            return
        ascent = ascend(self.layers, self.cost, self.max_cost, self.remaining, self.priced.weights, steps)
        self.bound = max(self.bound, ascent.bound)
        if ascent.moves is not None:
            self.offer(ascent.moves)
        self.priced = PricedRelaxation.of(self.layers, ascent.weights)
        heavy = np.flatnonzero(ascent.weights > MIN_TRACKED_WEIGHT * ascent.weights.sum())
        self.resources += [int(resource) for resource in heavy if resource not in self.resources]

    def _dive(self, width: int) -> None:
        """Search for a map among `width` labels of each place."""
        if self.open:
            guide = build_guide(self.layers, self.plain, self.priced, [], through=False)
            self._search(guide, build_tracked(self.layers, []), width, None)

    def _search(self, guide: Guide, tracked: Tracked, width: int, max_labels: int | None) -> int:
        """Examine labels while time and memory last, and return why it stopped; with a width nothing is proven."""
        slots = self.resources if width == 0 else []
        weight = float(self.priced.weights.sum())
        labels = first_label(self.layers, slots, weight, (self.cutoff, self.bound, self.cost, self.tolerance))
        while True:
            before = _label_work(labels)
            reason, label = _native.search_labels(
                self.layers.graph, guide, tracked, labels, width, min(LABELS_PER_CALL, max_labels or LABELS_PER_CALL)
            )
            spend(_label_work(labels) - before)
            if labels.values[BEST] < self.cost:
                self.offer(label_moves(labels, int(labels.counters[INCUMBENT])))
            if width == 0:
                self.bound = max(self.bound, float(labels.values[BOUND]))
            self.report(self.cost, self.bound)
            if reason == FULL and _size(labels) < memory_limit() / 3:
                spend(GROWTH_WORK * _size(labels))
                labels = grown(labels)
            elif reason != PAUSED or (max_labels is not None and labels.counters[POPPED] >= max_labels) or self.remaining() <= 0:
                break
        if reason == WHOLE:
            self._track(label_moves(labels, label))
        self.full |= reason == FULL and width == 0
        self.looked_at += int(labels.counters[COUNT])
        return int(reason)


def _label_work(labels: MapLabels) -> float:
    """Return the units of work that went into labels and their comparisons."""
    made, looked_at, compared = labels.counters[[COUNT, POPPED, COMPARED]].tolist()
    return LABEL_WORK * (made + looked_at) + (COMPARISON_WORK + TRACKED_WORK * labels.residual.shape[1]) * compared


def _size(labels: MapLabels) -> float:
    return float(sum(array.nbytes for array in labels))


class LabelSetting(Method):
    """Exact method for additive costs: every reading of empty hops and bandwidth, with and without the public network."""

    name = "label-setting"
    kinds = ("mapping",)
    exact = True
    summary = "exact: labels by A*, remembering only resources that matter; rounds of rising bounds; additive cost"

    def obstacle(self, problem: MappingProblem) -> str | None:
        """Refuse costs that are not sums over links."""
        return refusal(problem)

    def run(self, problem: MappingProblem, options: Options) -> Answer:
        """Prove the optimum, or return the best map, bound and gap when time runs out."""
        self.read_parameters(options)
        tables = mapping_arrays(problem)
        tolerance = options.gap if options.gap > OPTIMALITY_GAP else MAP_COST_DIFFERENCE
        search = MapLabelSearch(tables, tolerance, lambda: options.remaining, options.tell)
        if options.start is not None and problem.evaluate(options.start).feasible:
            search.offer(map_to_moves(tables, options.start))
        build_seconds = options.seconds
        interrupted = False
        try:
            search.run()
        except OutOfTimeError:
            pass  # with what was found and proven until then
        except KeyboardInterrupt:
            interrupted = True
        stopped: StoppedBecause = "interrupted" if interrupted else "iteration_limit" if search.full else "time_limit"
        bound = search.bound if np.isfinite(search.bound) else None
        counts = {"rounds": search.rounds, "labels": search.looked_at, "tracked resources": len(search.resources)}
        notes = ("no room for more labels in memory",) if search.full else ()
        if search.moves is None:
            if search.bound == np.inf:
                return Answer("infeasible", "finished", size=counts, build_seconds=build_seconds)
            return Answer("none", stopped, bound=bound, size=counts, build_seconds=build_seconds, notes=notes)
        decision = moves_to_map(tables, search.moves)
        objective = problem.evaluate(decision).objective
        proven = within_gap(search.cost, search.bound, options.gap)
        return Answer(
            status="optimal" if proven else "feasible",
            stopped_because="finished" if proven else stopped,
            decision=decision,
            objective=objective,
            bound=None if bound is None else min(bound, objective),
            size=counts,
            build_seconds=build_seconds,
            notes=() if proven else notes,
        )


METHODS = (LabelSetting(),)
"""Methods of this folder, for the registry."""
