"""The search for one choice of classes that are in use: bound, beam, elimination, labels under rising cutoffs.

Branches of a case: one operator's choices are split by where it runs, else by whether it is on one node, else by replicas.

The best prices by cutting planes: every relaxed optimum bounds the dual function from above (Kelley, 1960).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from edrp.backends.growing import GrowingProgram, LinearOptimum
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import refuse_beyond_memory
from edrp.core.tolerances import DOWNTIME_SLACK, EQUAL_NODES_PRICE_PROGRESS
from edrp.formulations.placement.elimination.paths import covering_paths, operator_flow, path_flow
from edrp.formulations.placement.equal_nodes.labels import Pattern, StateLabelSearch
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.state_graph import StateGraph, build_state_graph
from edrp.formulations.placement.equal_nodes.staying_replicas import rows_told_apart, soonest, with_stays
from edrp.formulations.placement.equal_nodes.values import BoundPrices, GraphRelaxations, PricedGraph

MAX_PRICE = 20.0
"""Maximum price of a limit or shared resource, in units of the price at which all of it costs the maximum objective."""

SMOOTHING = 0.5
"""Position of the next prices between the best ones so far (0) and those of the linear program (1)."""


@dataclass(frozen=True)
class BoundAscent:
    """The outcome of raising a bound.

    Attributes
    ----------
    relaxations : all that were computed, the best first.
    centre : columns at which the bound is best.
    share : of each row of the choices in the mixture of placements whose average keeps all limits, shape (rows,).
    downtimes : longest downtime of each of these placements, and its share.
    """

    relaxations: list[PricedGraph]
    centre: Floats
    share: Floats
    downtimes: tuple[Floats, Floats]


class FlowCuttingPlanes:
    """A linear program over flows and prices that grows by a row for each relaxed optimum.

    Columns: flow of each stream, into each source, out of each sink, the total flow, the price of the limit on cost, the
    prices of what is shared and of each operator's downtime, and the bound.
    """

    def __init__(self, quotient: Quotient) -> None:
        self.quotient = quotient
        model = quotient.model
        self.streams = model.source.size
        self.sources = np.flatnonzero([not len(streams) for streams in model.incoming])
        self.sinks = np.flatnonzero([not len(streams) for streams in model.outgoing])
        self.total = self.streams + self.sources.size + self.sinks.size
        self.shared = self.total + 2
        self.moves = self.shared + quotient.shared_capacity.size
        self.columns = self.moves + model.operators + 1
        self.program = GrowingProgram(None)
        lower = np.zeros(self.columns)
        lower[self.total], lower[-1] = model.response, -1e6
        self.program.add_columns(np.append(np.zeros(self.columns - 1), -1.0), (), lower, self._upper_bounds())
        self._conserve()
        self.program.add_rows(0.0, model.downtime, [(np.arange(self.moves, self.columns - 1), np.ones(model.operators))])
        self.first_cut = self.program.rows
        self.placements: list[Ints] = []
        self.optimum = LinearOptimum(-np.inf, np.zeros(0), np.zeros(0), optimal=False)

    def _upper_bounds(self) -> Floats:
        quotient, model = self.quotient, self.quotient.model
        upper = np.full(self.columns, np.inf)
        limited = np.isfinite(quotient.max_response)
        upper[self.total] = model.response + (MAX_PRICE / quotient.max_response if limited else 0.0)
        upper[self.total + 1] = MAX_PRICE / quotient.max_cost if np.isfinite(quotient.max_cost) else 0.0
        upper[self.shared : self.moves] = MAX_PRICE / np.maximum(quotient.shared_capacity, 1e-9)
        upper[self.moves : -1] = model.downtime if quotient.least_downtime else 0.0
        upper[-1] = 1e6
        return upper

    def _conserve(self) -> None:
        model = self.quotient.model
        into = {int(i): self.streams + n for n, i in enumerate(self.sources)}
        out = {int(i): self.streams + self.sources.size + n for n, i in enumerate(self.sinks)}
        for i in range(model.operators):
            ins = [*model.incoming[i], *([into[i]] if i in into else [])]
            outs = [*model.outgoing[i], *([out[i]] if i in out else [])]
            self.program.add_rows(0.0, 0.0, [([*ins, *outs], [1.0] * len(ins) + [-1.0] * len(outs))])
        self.program.add_rows(0.0, 0.0, [([*into.values(), self.total], [1.0] * len(into) + [-1.0])])

    def cut(self, rows: Ints, delays: Floats, use: Floats) -> None:
        """Add what a placement would cost under any prices; `use` is that of its streams (`Quotient.stream_use`)."""
        quotient, choices, model = self.quotient, self.quotient.choices, self.quotient.model
        slope = np.zeros(self.columns)
        slope[: self.streams] = delays
        np.add.at(slope, np.arange(self.streams), choices.latency[rows][model.target])
        slope[self.streams : self.streams + self.sources.size] = choices.latency[rows][self.sources]
        cost = float(choices.cost[rows].sum() + use[0])
        fixed = model.cost * cost + (model.downtime * quotient.least_downtime if quotient.least_downtime else 0.0)
        if np.isfinite(quotient.max_response):
            slope[self.total] -= quotient.max_response
            fixed += model.response * quotient.max_response
        slope[self.total + 1] = cost - quotient.max_cost if np.isfinite(quotient.max_cost) else 0.0
        slope[self.shared : self.moves] = choices.usage[rows].sum(axis=0) + use[1:] - quotient.shared_capacity
        slope[self.moves : -1] = choices.downtime[rows] - quotient.least_downtime
        slope[-1] = -1.0
        self.placements.append(rows)
        used = np.flatnonzero(slope)
        self.program.add_rows(-fixed, np.inf, [(used, slope[used])])

    def solve(self) -> tuple[float, Floats] | None:
        """The highest bound that the rows allow, and where; None when the linear program fails."""
        self.optimum = self.program.solve()
        return (float(self.optimum.columns[-1]), self.optimum.columns) if self.optimum.optimal else None

    def mixture(self) -> Floats:
        """Share of each row of the choices in the placements of the last linear program, by their dual values."""
        share = np.zeros(len(self.quotient.choices.operator))
        for rows, weight in zip(self.placements, self._weights(), strict=False):
            share[rows] += weight
        return share / max(float(share.sum()) / self.quotient.operators, 1e-12)

    def downtimes(self) -> tuple[Floats, Floats]:
        """The longest downtime of each placement of that mixture, and its share."""
        weights, choices, least_downtime = self._weights(), self.quotient.choices, self.quotient.least_downtime
        longest = np.array([max(least_downtime, float(choices.downtime[rows].max())) for rows in self.placements])[: weights.size]
        return longest, weights[: longest.size] / max(float(weights.sum()), 1e-12)

    def _weights(self) -> Floats:
        """Dual values of all placements in the last linear program."""
        return np.abs(self.optimum.prices)[self.first_cut :]

    def prices(self, values: Floats) -> BoundPrices:
        """Prices from columns; rounding below 0 is taken away."""
        values = np.maximum(values, 0.0)
        model = self.quotient.model
        flow = values[: self.streams]
        through = operator_flow(model, flow)
        through[self.sources] = values[self.streams : self.streams + self.sources.size]
        return BoundPrices(
            flow=flow,
            through=through,
            total=float(values[self.total]),
            money=model.cost + float(values[self.total + 1]),
            shared=values[self.shared : self.moves],
            moves=values[self.moves : -1],
        )

    def even(self) -> Floats:
        """Columns for equal flows along paths that cover all operators, and no other prices."""
        model = self.quotient.model
        lone = np.intersect1d(self.sources, self.sinks)
        paths = [path for path in covering_paths(model) if path]
        share = model.response / (len(paths) + lone.size)
        values = np.zeros(self.columns)
        values[: self.streams] = share * sum((path_flow(model, path) for path in paths), np.zeros(self.streams))
        through = operator_flow(model, values[: self.streams])
        through[lone] = share
        values[self.streams : self.total] = through[np.concatenate([self.sources, self.sinks])]
        values[self.total] = model.response
        return values


def raise_bound(
    bounds: GraphRelaxations, start: Floats | None, rounds: int, enough: float, out_of_time: Callable[[], bool]
) -> BoundAscent:
    """Raise the bound."""
    planes = FlowCuttingPlanes(bounds.quotient)
    centre = planes.even() if start is None else start
    point, points = centre, []
    best = -np.inf
    for _ in range(rounds):
        relaxation = bounds.relax(planes.prices(point))
        points.append(relaxation)
        if relaxation.bound > best:
            best, centre = relaxation.bound, point
        if not np.isfinite(relaxation.bound) or best >= enough or out_of_time():
            break
        planes.cut(*bounds.optimum(relaxation))
        highest = planes.solve()
        if highest is None or highest[0] - best <= EQUAL_NODES_PRICE_PROGRESS * abs(best):
            break
        point = centre + SMOOTHING * (highest[1] - centre)
    return BoundAscent(sorted(points, key=lambda relaxation: -relaxation.bound), centre, planes.mixture(), planes.downtimes())


UNDECIDED = 0.02
"""Share of choices other than the main one above which an operator counts as undecided."""


def branch(quotient: Quotient, share: Floats, alive: Bools, mirrored: bool) -> list[Bools]:
    """Rows of the choices in each branch; none where every operator has one choice left.

    Parameters
    ----------
    share
        Share of each row in the mixture of placements that makes up the bound.
    mirrored
        Whether all classes may be exchanged for one another. An operator on the second or third class alone then is one on the
        first.
    """
    choices = quotient.choices
    if mirrored:
        sets = [np.unique(choices.classes[alive & (choices.operator == j)]) for j in range(quotient.operators)]
        undecided = [_undecided(choices.classes, share, choices.operator == j) for j in range(quotient.operators)]
        j = int(np.argmax([len(own) + part for own, part in zip(sets, undecided, strict=True)]))
        parts = _split(choices.classes, share, alive, choices.operator == j, most=len(sets[j]))
        return [rows for value, rows in zip(sets[j], parts, strict=True) if value not in (2, 4)]
    for key in (choices.classes, choices.single, choices.replicas):
        undecided = [_undecided(key, share, choices.operator == j) for j in range(quotient.operators)]
        j = int(np.argmax(undecided))
        if undecided[j] > UNDECIDED:
            return _split(key, share, alive, choices.operator == j)
    for key in (choices.classes, choices.single, choices.replicas):
        choices_left = [np.unique(key[alive & (choices.operator == j)]).size for j in range(quotient.operators)]
        if max(choices_left) > 1:
            return _split(key, share, alive, choices.operator == int(np.argmax(choices_left)))
    return []


def split_downtime(quotient: Quotient, mixture: tuple[Floats, Floats]) -> float | None:
    """Seconds at which downtimes are split, up to and above: the mean of the mixture's; None where its placements agree."""
    seconds, share = mixture
    # Something runs that may move, and downtime is part of the objective.
    counts = quotient.moves is not None and quotient.least_downtime > 0 and quotient.model.downtime > 0
    if not counts or not share.sum() > 0:
        return None
    mean = float(seconds @ share) / float(share.sum())
    short = float(share[seconds <= mean].sum()) / float(share.sum())
    if UNDECIDED < short < 1 - UNDECIDED and quotient.least_downtime < mean < quotient.longest_downtime:
        return mean
    return None


def _undecided(key: Ints, share: Floats, alive: Bools) -> float:
    """Share of an operator's choices that differ from the main one in `key`."""
    return 1.0 - float(np.bincount(key[alive], share[alive]).max())


def _split(key: Ints, share: Floats, alive: Bools, own: Bools, most: int = 3) -> list[Bools]:
    """One branch for each of a few values, two for many: up to their mean, and above."""
    values = np.unique(key[own & alive])
    if values.size <= most:
        return [alive & (~own | (key == value)) for value in values]
    mean = float(key[own] @ share[own]) / max(float(share[own].sum()), 1e-12)
    middle = np.clip(np.floor(mean), values[0], values[-1] - 1)
    return [alive & (~own | (key <= middle)), alive & (~own | (key > middle))]


FIRST_CUTOFF = 2e-5
"""Distance of the first cutoff above the bound, relative to the bound; each further one is `RISE` times as large."""
RISE = 8.0

CAPACITY_SHARES = (0.97, 0.94, 0.9, 0.85, 0.75)
"""Shares of all capacities that are used where nothing that uses more could be packed."""

FEW = 3
"""Placements that are then tried for each."""

SMALL_GAP = 0.02
"""Relative gap of a branch below which it is worth while to look at many labels."""

SHORTENED = 3
"""Times that downtimes are split where the relaxation mixes them, before choices are."""

APART_BEAM, MAX_APART = 3_000, 500
"""Labels per layer, and placements, of a search in which placements that nodes may tell apart are not given up for another."""

LAST_EFFORT = 20
"""How many times as many there may be where no choice is left to branch on."""

LEVELS = (31, 24, 16, 12, 8, 6, 4, 3, 2, 1, 0)
"""Numbers of levels of a node's free capacity that states may tell apart; the first one that the budget allows is used."""


@dataclass(frozen=True, slots=True)
class EqualNodesParameters:
    """Parameters of the search on equal nodes: the effort spent on each case.

    Attributes
    ----------
    coarse_transitions : of the graph of states in which choices are eliminated first.
    transitions : of the graph in which the bound is raised and labels are bounded.
    rounds : of cutting planes.
    first_beam : labels per layer of the search for an incumbent.
    beam : labels per layer of the search for the proof.
    branch_transitions, branch_rounds, branch_beam : the same in branches.
    far_beam : labels per layer in branches whose bound is far from the incumbent.
    views : relaxations whose bounds are used for labels.
    patterns : placements over classes that are tried on nodes, per search.
    """

    coarse_transitions: int = 60_000
    transitions: int = 1_000_000
    rounds: int = 40
    first_beam: int = 500
    beam: int = 30_000
    branch_transitions: int = 100_000
    branch_rounds: int = 12
    branch_beam: int = 5_000
    far_beam: int = 50
    views: int = 6
    patterns: int = 20


@dataclass
class BestOnNodes:
    """The best placement on nodes, and how one is offered.

    Attributes
    ----------
    objective : with tie terms; an upper bound on every feasible one at first.
    offer : realises a placement over classes, within a downtime in seconds; whether that could be done.
    prove : whether a placement over classes is no better on nodes than the best, however long it takes; better ones are kept.
    found : whether there is one.
    watched : nodes that were too small for what a placement over classes would keep there.
    """

    objective: float
    offer: Callable[[Quotient, Pattern, float], bool]
    prove: Callable[[Quotient, Pattern], bool]
    found: bool = False
    watched: list[int] = field(default_factory=list)


@dataclass(eq=False)
class CaseSearch:
    """The search in one case: which classes are used.

    Attributes
    ----------
    quotient : choices of the case.
    used : classes that have to be used, as bits; 0 where that goes without saying.
    mirrored : whether exchanging two classes changes nothing, so that the first branch may say which is which.
    shortened : how often downtimes have been split on the way to it, where the relaxation mixed them.
    tried : choices up to which placements are closed one by one; halved each time.
    bound : proven for the case.
    """

    quotient: Quotient
    used: int
    parameters: EqualNodesParameters
    incumbent: BestOnNodes
    out_of_time: Callable[[], bool]
    mirrored: bool = False
    shortened: int = 0
    tried: int = sys.maxsize
    bound: float = -np.inf
    labels: int = 0
    states: int = 0
    _centre: Floats | None = None
    _alive: Bools = field(init=False)
    _graph: StateGraph | None = field(init=False, default=None)
    _bounds: GraphRelaxations | None = field(init=False, default=None)
    _views: list[PricedGraph] = field(init=False, default_factory=list)
    _share: Floats = field(init=False)
    _downtimes: tuple[Floats, Floats] = field(init=False)
    _late: float | None = None
    """Downtime with which the best placement over classes that was refused last would find room; None if none was refused."""

    def __post_init__(self) -> None:
        self._alive = np.ones(len(self.quotient.choices.operator), bool)

    @property
    def done(self) -> bool:
        """Whether the bound proves that no placement of this case is better than the incumbent."""
        return self.bound >= self.incumbent.objective

    def raise_first(self) -> None:
        """A bound on a small graph, and an incumbent by a beam."""
        watched = -1
        while watched < len(self.incumbent.watched) and not self.done and not self.out_of_time():
            watched = len(self.incumbent.watched)
            self._prepare(self.parameters.coarse_transitions, self.parameters.rounds)
            if not self.done:
                self._labels_below(self.incumbent.objective, self.parameters.first_beam)
        if self.done:
            return
        for room in CAPACITY_SHARES:
            if self.incumbent.found or self.out_of_time():
                return
            answer = self._search().run(self.incumbent.objective, self.parameters.first_beam, FEW, self.out_of_time, room)
            for pattern in answer.patterns:
                if self._offered(pattern):
                    break

    def raise_more(self) -> None:
        """Search the large graph of the remaining choices."""
        self._eliminate()
        if self.done:
            return
        self._prepare(self.parameters.transitions, self.parameters.rounds)
        if not self.done:
            self._eliminate()
            self._labels_below(self.incumbent.objective, self.parameters.first_beam)

    def _prepare(self, transitions: int, rounds: int) -> None:
        """Build a graph and raise the bound on it."""
        remaining = self._remaining()
        if remaining is None:
            self.bound = np.inf
            return
        if self._centre is not None:
            new = remaining.shared_capacity.size - self.quotient.shared_capacity.size
            self._centre = np.insert(self._centre, np.full(new, -1 - remaining.operators), 0.0)
        self.quotient = remaining
        self._alive = np.ones(len(remaining.choices.operator), bool)
        graph = self._built(transitions)
        self._graph, self._bounds = graph, GraphRelaxations(remaining, graph)
        self.states = max(self.states, int(graph.arcs.first_state[-1]))
        ascent = raise_bound(self._bounds, self._centre, rounds, self.incumbent.objective, self.out_of_time)
        self._centre, self._share, self._downtimes = ascent.centre, ascent.share, ascent.downtimes
        self.bound = max(self.bound, ascent.relaxations[0].bound)
        self._views = self._tilted(ascent.relaxations[0])

    def _built(self, transitions: int) -> StateGraph:
        """The finest graph that the budget allows, which is raised where even the coarsest is larger."""
        while True:
            for levels in _level_counts(self.quotient):
                graph = build_state_graph(self.quotient, levels, transitions, self.used)
                if graph is not None:
                    return graph
            transitions *= 4
            refuse_beyond_memory(16 * transitions, f"{transitions:,} transitions between states", "", ("eliminate", "highs"))

    def _remaining(self) -> Quotient | None:
        """The quotient with the choices that are left; None when an operator has none."""
        choices = self.quotient.choices
        if np.unique(choices.operator[self._alive]).size < self.quotient.operators:
            return None
        remaining = self.quotient if self._alive.all() else replace(self.quotient, choices=choices.select(self._alive))
        remaining = with_stays(remaining, self.incumbent.watched)
        return remaining if np.unique(remaining.choices.operator).size == remaining.operators else None

    def _tilted(self, best: PricedGraph) -> list[PricedGraph]:
        """The best relaxation, and others whose flow is tilted towards one path each."""
        assert self._bounds is not None
        model, views = self.quotient.model, [best]
        paths = [path for path in covering_paths(model) if path]
        for path in paths[: self.parameters.views - 1] if len(paths) > 1 else []:
            flow = best.prices.total * path_flow(model, path)
            through = operator_flow(model, flow)
            tilted = replace(best.prices, flow=0.5 * (best.prices.flow + flow), through=0.5 * (best.prices.through + through))
            views.append(self._bounds.relax(tilted))
        return views

    def _eliminate(self) -> None:
        """Drop choices that cost more than the incumbent."""
        assert self._bounds is not None
        for view in self._views:
            self._alive &= ~(self._bounds.marginals(view) > self.incumbent.objective)
            # Lower the longest downtime to what a placement may have that costs no more than the incumbent.
            quotient = self.quotient
            price = quotient.model.downtime - float(view.prices.moves.sum())
            if quotient.least_downtime and price > 0 and view.bound < self.incumbent.objective:
                longest = quotient.least_downtime + (self.incumbent.objective - view.bound) / price
                if longest < quotient.longest_downtime:
                    self.quotient = replace(quotient, longest_downtime=longest)

    def _search(self) -> StateLabelSearch:
        assert self._graph is not None
        return StateLabelSearch(self.quotient, self._graph, self._views, self._alive)

    def prove(self, allowed: Callable[[float], float]) -> None:
        """Raise the cutoff until the bound meets the incumbent, or labels become too many.

        Parameters
        ----------
        allowed
            The objective below which a placement is better than another one by more than the gap.
        """
        distance = FIRST_CUTOFF
        while not self.done and not self.out_of_time():
            self._eliminate()
            goal = allowed(self.incumbent.objective)
            cutoff = min(goal, self.bound + distance * max(abs(self.bound), 1e-12))
            ended = self._labels_below(cutoff, self.parameters.beam if distance < 1e-3 else self.parameters.branch_beam)
            if ended or cutoff >= goal:
                return
            distance *= RISE

    def look(self) -> None:
        """Bound, elimination and a search with few labels, for one branch of a case."""
        self._prepare(self.parameters.branch_transitions, self.parameters.branch_rounds)
        if not self.done:
            self._eliminate()
            near = self.incumbent.objective - self.bound < SMALL_GAP * abs(self.bound)
            self._labels_below(self.incumbent.objective, self.parameters.branch_beam if near else self.parameters.far_beam)

    def branches(self, allowed: Callable[[float], float]) -> list[CaseSearch]:
        """Cases that together hold every placement of this one; none where no operator has a choice left."""
        self._eliminate()
        quotient, shortened = self.quotient, self.shortened
        remaining = replace(quotient, choices=quotient.choices.select(self._alive))
        if self._late is not None and quotient.least_downtime < self._late <= quotient.longest_downtime:
            sooner = replace(remaining, longest_downtime=self._late * (1 - 1.5 * DOWNTIME_SLACK))
            parts = [sooner, replace(remaining, least_downtime=self._late)]
        elif self._closed_one_by_one(allowed):
            return []
        elif shortened < SHORTENED and (split := split_downtime(quotient, self._downtimes)) is not None:
            parts = [replace(remaining, longest_downtime=split), replace(remaining, least_downtime=split)]
            shortened += 1
        else:
            rows = branch(quotient, self._share, self._alive, self.mirrored)
            if not rows and self._closed_one_by_one(allowed, last=True):
                return []
            parts = [replace(quotient, choices=quotient.choices.select(r)) for r in rows]
        return [replace(self, quotient=part, mirrored=False, shortened=shortened) for part in parts]

    def _closed_one_by_one(self, allowed: Callable[[float], float], *, last: bool = False) -> bool:
        """Whether each placement of the branch that nodes may tell apart is closed; only tried where few choices are left."""
        quotient, alive_count, cutoff = self.quotient, int(self._alive.sum()), allowed(self.incumbent.objective)
        if quotient.moves is None or quotient.traffic is not None or not (last or (alive_count <= self.tried and self._late)):
            return False
        told_apart = rows_told_apart(quotient, self._alive)
        effort = LAST_EFFORT if last else 1
        result = self._search().run(cutoff, effort * APART_BEAM, effort * MAX_APART, self.out_of_time, told_apart=told_apart)
        bound = result.dropped
        for pattern in result.patterns:
            if pattern.objective >= min(bound, allowed(self.incumbent.objective)):
                break
            if self.out_of_time() or not self.incumbent.prove(quotient, pattern):
                bound = pattern.objective
        goal = allowed(self.incumbent.objective)
        self.bound, self.tried = max(self.bound, min(bound, goal)), max(40, alive_count // 2)
        return self.bound >= goal

    def _labels_below(self, cutoff: float, beam: int) -> bool:
        """Search below a cutoff, which may raise the bound and improve the incumbent; whether a higher cutoff is of no use."""
        result = self._search().run(cutoff, beam, self.parameters.patterns, self.out_of_time)
        self.labels = max(self.labels, result.width)
        realised = False
        self._late = None
        for pattern in result.patterns:
            if pattern.objective >= self.incumbent.objective or self._offered(pattern):
                realised = True
                break
        best = result.patterns[0].objective if result.patterns else cutoff
        self.bound = max(self.bound, min(result.dropped, best, cutoff))
        return realised or bool(np.isfinite(result.dropped))

    def _offered(self, pattern: Pattern) -> bool:
        """Whether a placement is realised."""
        quotient = self.quotient
        if not quotient.choices.downtime.any():
            return self.incumbent.offer(quotient, pattern, 0.0)
        seconds, nodes = soonest(quotient, pattern)
        self._late = seconds if self._late is None else self._late
        self.incumbent.watched += [int(u) for u in nodes if u not in self.incumbent.watched]
        return self.incumbent.offer(quotient, pattern, seconds)


def _level_counts(quotient: Quotient) -> list[int]:
    """Numbers of levels to be tried, finer ones first: units where nodes have few of them."""
    finite = quotient.capacity[np.isfinite(quotient.capacity)]
    if not finite.size:
        return [1]
    units = float(finite.max())
    whole = [int(units)] if units == np.floor(units) and units <= LEVELS[0] else []
    return [*whole, *(levels for levels in LEVELS if levels < units or not whole)]
