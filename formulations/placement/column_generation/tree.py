"""Branch and bound on how many supervisors are used, in all and of each class.

The master program: patterns that cover all instances, as a linear program that grows by columns.

The second phase: which supervisor of each class takes which pattern, so that paths are short.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.backends.growing import GrowingProgram
from edrp.core.arrays import Floats, Ints, entries
from edrp.core.budget import spend
from edrp.core.tolerances import FEASIBILITY_TOLERANCE, MIN_REDUCED_COST, UNCOVERED_OPERATORS
from edrp.formulations.placement.column_generation.choices import list_choices
from edrp.formulations.placement.column_generation.model import ScoreModel
from edrp.formulations.placement.column_generation.pricing import Pricer, decision_order
from edrp.formulations.placement.column_generation.selection import PatternPool, Selected, Selection
from edrp.formulations.placement.column_generation.windows import Certificate, Window, certificate, fewest_supervisors, split

LABEL_WORK = 1e-7
"""Units of work for a node of a search, per supervisor."""

MAX_RELABELLING_NODES = 150_000
"""Nodes of one search; some tenths of a second."""


class ChosenPatterns(NamedTuple):
    """The patterns in use and the streams between them.

    Arrays of `longest_pattern_path` and `label_supervisors` (edrp/native/formulations/placement/relabelling.cpp).

    Attributes
    ----------
    owner : class of each pattern.
    holders, holders_start : patterns that hold instances of each operator, in CSR form.
    source, target : forward streams, sorted by source; operators are in topological order.
    delay : seconds between nodes.
    from_class, to_class : minimum of seconds from a member of each class to each node, and back, shape (classes, nodes).
    between : minimum of seconds between different members of two classes.
    """

    owner: Ints
    holders: Ints
    holders_start: Ints
    source: Ints
    target: Ints
    delay: Floats
    from_class: Floats
    to_class: Floats
    between: Floats


class ClassMembers(NamedTuple):
    """The nodes of each class, in CSR form.

    `twin` is the node before it, of those in the same class that are equally far from everything, or -1.
    """

    member: Ints
    start: Ints
    twin: Ints


@dataclass(frozen=True, slots=True)
class Labelled:
    """The node of each pattern (None where no path is shorter than the cutoff), its longest path, and a bound on that."""

    node: Ints | None
    seconds: float
    bound: float


class Relabelling:
    """Shortest longest paths over the exchangeable supervisors of each class; exact unless a search is given up."""

    def __init__(self, model: ScoreModel) -> None:
        self.model = model
        delay = model.compiled.delay
        self.delay = delay
        members = [supervisors.members for supervisors in model.classes]
        apart = np.where(np.eye(len(delay), dtype=bool), np.inf, delay)  # patterns are on different nodes
        nodes, classes = len(delay), len(members)
        self.from_class = np.array([apart[nodes_of_class].min(axis=0) for nodes_of_class in members]).reshape(classes, nodes)
        self.to_class = np.array([apart[:, nodes_of_class].min(axis=1) for nodes_of_class in members]).reshape(classes, nodes)
        self.between = np.array([[apart[np.ix_(a, b)].min() for b in members] for a in members]).reshape(classes, classes)
        member = np.concatenate(members) if members else np.zeros(0, np.int64)
        self.members = ClassMembers(member, np.cumsum([0, *(nodes.size for nodes in members)]), _twins(delay, members))

    def shortest(self, owner: Ints, patterns: Ints, cutoff: float = np.inf) -> Labelled:
        """The best labels with a path below the cutoff.

        Parameters
        ----------
        owner
            Class of each supervisor in use, shape (supervisors,).
        patterns
            Its pattern, shape (supervisors, operators).
        cutoff
            Seconds.
        """
        rank = np.lexsort((*patterns.T, owner))
        owner, patterns = owner[rank], patterns[rank]
        alike = np.zeros(owner.size, bool)
        alike[1:] = (owner[1:] == owner[:-1]) & (patterns[1:] == patterns[:-1]).all(axis=1)
        operator, holders = entries(patterns.T)
        start = np.searchsorted(operator, np.arange(patterns.shape[1] + 1))
        model = self.model
        chosen = ChosenPatterns(
            owner, holders, start, model.source, model.target, self.delay, self.from_class, self.to_class, self.between
        )
        unplaced = np.full(owner.size, -1, np.int64)
        bound = _native.longest_pattern_path(unplaced, chosen, np.zeros((patterns.shape[1], owner.size + 1)))
        if not bound < cutoff:
            return Labelled(None, cutoff, bound)
        best = unplaced.copy()
        seconds, searched = _native.label_supervisors(chosen, alike, self.members, cutoff, MAX_RELABELLING_NODES, best)
        spend(LABEL_WORK * searched * owner.size)
        node = best[np.argsort(rank)] if best[0] >= 0 else None
        return Labelled(node, seconds, bound if searched > MAX_RELABELLING_NODES else seconds)


def _twins(delay: Floats, members: list[Ints]) -> Ints:
    """Index of the previous node of the same class with equal delays to and from all nodes, or -1; shape (nodes,)."""
    twin = np.full(len(delay), -1, np.int64)
    for nodes in members:
        for i, v in enumerate(nodes):
            for u in nodes[:i][::-1]:
                others = np.ones(len(delay), bool)
                others[[u, v]] = False
                same = delay[u, v] == delay[v, u] and (delay[u, others] == delay[v, others]).all()
                if same and (delay[others, u] == delay[others, v]).all():
                    twin[v] = u
                    break
    return twin


@dataclass(frozen=True, slots=True)
class MasterRelaxation:
    """An optimum of the linear program: prices of instances and of supervisors, use of patterns.

    Attributes
    ----------
    worth : shape (operators,), worth of covering an instance.
    fee : shape (classes,), cost of using a supervisor of the class besides its price.
    use : shape (patterns,)
    uncovered : float, total use of artificial columns; above 0 where the patterns at hand cannot cover all.
    """

    worth: Floats
    fee: Floats
    use: Floats
    uncovered: float


@dataclass
class Pool:
    """Patterns known so far: class, counts, and cost without prices of instances."""

    model: ScoreModel
    owner: list[int] = field(default_factory=list)
    pattern: list[Ints] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    _known: set[tuple[int, bytes]] = field(default_factory=set)

    def add(self, owner: int, patterns: Ints) -> None:
        """Add patterns of a class, shape (patterns, operators), but for those already there."""
        saved = self.model.saved(patterns)
        for pattern, gain in zip(patterns, saved, strict=True):
            key = (owner, pattern.tobytes())
            if key not in self._known:
                self._known.add(key)
                self.owner.append(owner)
                self.pattern.append(pattern)
                self.cost.append(self.model.price - float(gain))


class Master:
    """The linear program over a pool, warm-started after each new column and each change of the window.

    Rows: each operator's instances are covered exactly; supervisors of each class within the window; supervisors in all.
    Artificial columns of a high price keep it feasible.
    """

    def __init__(self, model: ScoreModel, pool: Pool) -> None:
        self.model, self.pool = model, pool
        self.operators, self.classes = model.instances.size, len(model.classes)
        self.penalty = 10.0 * (1.0 + model.largest_score)
        self.columns = 0
        self.program = GrowingProgram(
            presolve="off", primal_feasibility_tolerance=FEASIBILITY_TOLERANCE, dual_feasibility_tolerance=FEASIBILITY_TOLERANCE
        )
        self.artificial = rows = self.operators + self.classes + 1
        covered = np.concatenate([model.instances, np.zeros(self.classes + 1)])
        self.program.add_rows(covered, covered, [((), ())] * rows)
        # One artificial column per row, which only ever adds: too few instances, too few supervisors.
        self.program.add_columns(np.full(rows, self.penalty), [([row], [1.0]) for row in range(rows)])

    def restrict(self, window: Window) -> None:
        """Restrict the master program to another window."""
        lower, upper = (*window.class_min, window.min_supervisors), (*window.class_max, window.max_supervisors)
        self.program.bound_rows(np.arange(self.operators, self.artificial), lower, upper)

    def solve(self) -> MasterRelaxation:
        """Solve over all patterns of the pool."""
        pool = self.pool
        entries = []
        for owner, pattern in zip(pool.owner[self.columns :], pool.pattern[self.columns :], strict=True):
            used = np.flatnonzero(pattern)
            rows = [*used, self.operators + owner, self.operators + self.classes]
            entries.append((rows, [*pattern[used], 1, 1]))
        if entries:
            self.program.add_columns(pool.cost[self.columns :], entries)
        self.columns = len(pool.cost)
        _, columns, dual, _ = self.program.solve()
        fee = -(dual[self.operators : -1] + dual[-1])
        uncovered = float(columns[: self.artificial].sum())
        return MasterRelaxation(dual[: self.operators], fee, columns[self.artificial :], uncovered)


Report = Callable[[float | None, float], None]
"""Called with the incumbent's score, where there is one, and the bound, which is infinite where nothing is proven."""

SLIM, FEW_PATTERNS, MANY_PATTERNS = 400, 4_000, 10_000
"""Patterns that may be left at first, where the numbers of supervisors can still be branched on, and where they cannot."""

MIN_NARROWING = 0.01
"""Fraction of the room between bound and incumbent below which it is not narrowed further."""

MAX_LISTING_NODES = 3_000_000
"""Nodes of a search that lists patterns."""

PROGRAM_WORK_LIMIT = 20.0
"""Limit, in units of work, of the program over patterns in a window that can be split instead."""

MAX_LISTED_CHOICES = 60
"""Choices of patterns that are looked at one by one in a window."""


@dataclass
class BestPlacement:
    """The best placement known: its score (or what no placement exceeds), and counts per operator and node."""

    objective: float
    counts: Ints | None = None


class BranchAndPrice:
    """Column generation in windows of numbers of supervisors, best bound first.

    In each window prices of instances prove a bound; only patterns that the bound leaves room for below the incumbent
    can be part of anything better. Where these are few, they are listed, and a small program over them settles the
    window, path latency included; otherwise the window is split.
    """

    def __init__(
        self, model: ScoreModel, incumbent: BestPlacement, gap: float, remaining: Callable[[], float], report: Report
    ) -> None:
        self.model, self.incumbent, self.gap = model, incumbent, gap
        self.remaining, self.report = remaining, report
        self.pool = Pool(model)
        self.relabelling = Relabelling(model)
        order = decision_order(model.together, model.instances)
        self.pricers = [Pricer(model, order, supervisors) for supervisors in model.classes]
        self.master = Master(model, self.pool)
        self.windows, self.choices, self.listed = 0, 0, 0
        self.open: list[tuple[float, int, Window]] = []
        self.stuck = np.inf
        """Least bound of the windows that could not be settled."""
        self.current = -np.inf
        """Bound of the window in hand; infinite between two."""
        self.seen: dict[bytes, float] = {}
        """Bounds of choices that were looked at."""
        self.least_delay = self._least_delays()

    @property
    def target(self) -> float:
        """A bound that is at least this proves the incumbent."""
        return self.incumbent.objective - self.gap * abs(self.incumbent.objective)

    @property
    def bound(self) -> float:
        """Lower bound on the score of any placement, whenever the search is stopped."""
        opened = min((bound for bound, _, _ in self.open), default=np.inf)
        return min(opened, self.stuck, self.current, self.incumbent.objective)

    def run(self) -> None:
        """Settle all windows, or as many as time allows."""
        sizes = tuple(supervisors.members.size for supervisors in self.model.classes)
        fewest = fewest_supervisors(self.model)
        if fewest is None:
            self.current = np.inf
            return
        numbers = count()
        root = Window(fewest, min(sum(sizes), int(self.model.instances.sum())), (0,) * len(sizes), sizes)
        self.open = [] if root.empty else [(self.model.price * fewest, next(numbers), root)]
        self.current = np.inf
        while self.open and self.open[0][0] < self.target:
            self.current, _, window = heapq.heappop(self.open)
            bound, parts = self._settle(window)
            self.windows += 1
            for part in parts:
                heapq.heappush(self.open, (max(bound, self.model.price * part.min_supervisors), next(numbers), part))
            if not parts and bound < self.target:
                self.stuck = min(self.stuck, bound)
            self.current = np.inf
            self._report(self.bound)
            if self.remaining() <= 0:
                return

    def offer(self, counts: Ints) -> None:
        """Take a feasible placement as patterns, and keep it, relabelled, if it is the best."""
        owner, patterns = [], []
        for c, supervisors in enumerate(self.model.classes):
            for u in supervisors.members:
                if counts[:, u].any():
                    owner.append(c)
                    patterns.append(counts[:, u])
        self._look_at(np.array(owner, np.int64), np.array(patterns, np.int64))
        for c, pattern in zip(owner, patterns, strict=True):
            self.pool.add(c, pattern[None])

    def _settle(self, window: Window) -> tuple[float, list[Window]]:
        """Bound of a window, and the parts it is split into where it is not settled."""
        proof, relaxation = self.generate(window)
        bound = max(self.current, proof.bound)
        if bound >= self.target or self.remaining() <= 0:
            return bound, []
        self._choose_from_pool(proof, window)
        parts = list(split(window, self.use_by_class(relaxation), self.model))
        bound = max(bound, self._widen(proof, window, FEW_PATTERNS if parts else MANY_PATTERNS))
        return bound, parts if bound < self.target else []

    def _widen(self, proof: Certificate, window: Window, max_patterns: int) -> float:
        """Settle a window from its bound upwards, as far as patterns can be listed; returns a lower bound on its scores.

        Where there are too many patterns below the incumbent, a fraction of the room below it comes first: what is found
        there makes the room smaller, and where nothing is found, the bound has risen.
        """
        bound, share, widening = proof.bound, 1.0, False
        while bound < self.target and self.remaining() > 0:
            limit = proof.bound + share * (self.target - proof.bound)
            listed = self._list(proof, limit, max_patterns if widening else SLIM)
            if listed is None:
                if widening:
                    break
                share, widening = (share, True) if share < MIN_NARROWING else (0.25 * share, False)
                continue
            before = self.incumbent.objective
            bound = max(bound, self._choose(listed, window, PROGRAM_WORK_LIMIT if max_patterns < MANY_PATTERNS else np.inf))
            if self.incumbent.objective < before:
                share, widening = 1.0, False
            elif share == 1.0 or bound < limit:
                break
            else:
                share, widening = min(1.0, 2.0 * share), True
        return bound

    def generate(self, window: Window) -> tuple[Certificate, MasterRelaxation]:
        """Add patterns until none would lower the master's value; the best proof met, and the last relaxation."""
        model, master = self.model, self.master
        master.restrict(window)
        best: Certificate | None = None
        while True:
            relaxation = master.solve()
            least_values, known_patterns = np.empty(len(self.pricers)), len(self.pool.cost)
            for c, pricer in enumerate(self.pricers):
                priced = pricer.best(
                    relaxation.worth, model.price + float(relaxation.fee[c]) + MIN_REDUCED_COST, self.remaining()
                )
                least_values[c] = model.price - priced.at_most
                self.pool.add(c, priced.patterns)
            proof = certificate(model.apart + float(relaxation.worth @ model.instances), relaxation.worth, least_values, window)
            if best is None or proof.bound > best.bound:
                best = proof
                self.current = max(self.current, proof.bound)
                self._report(self.bound)
            if best.bound >= self.target or self.remaining() <= 0:
                return best, relaxation
            if len(self.pool.cost) == known_patterns:
                if relaxation.uncovered < UNCOVERED_OPERATORS or master.penalty > 1e9:
                    return best, relaxation
                master.penalty *= 10.0
                master.program.price(np.arange(master.artificial), master.penalty)

    def _list(self, proof: Certificate, limit: float, max_patterns: int) -> PatternPool | None:
        """Every pattern that can be part of a placement below the limit; None where they are too many."""
        owner: list[Ints] = []
        patterns: list[Ints] = []
        for c, pricer in enumerate(self.pricers):
            if np.isinf(proof.using[c]):
                continue
            # A supervisor that costs more than the class's least by the room left below the limit is out.
            worth = self.model.price - proof.least[c] - (limit - proof.using[c]) - MIN_REDUCED_COST
            priced = pricer.all_above(proof.worth, worth, max_patterns, MAX_LISTING_NODES)
            if priced is None:
                return None
            max_patterns -= len(priced.worth)
            owner.append(np.full(len(priced.worth), c, np.int64))
            patterns.append(priced.patterns)
        pattern = np.concatenate(patterns) if patterns else np.zeros((0, self.model.instances.size), np.int64)
        self.listed = max(self.listed, len(pattern))
        return self._candidates(np.concatenate(owner) if owner else np.zeros(0, np.int64), pattern, proof, limit)

    def _candidates(self, owner: Ints, pattern: Ints, proof: Certificate, limit: float) -> PatternPool:
        cost = self.model.price - self.model.saved(pattern) - pattern @ proof.worth
        fixed = self.model.apart + float(proof.worth @ self.model.instances)
        return PatternPool(owner, pattern, cost, cost - proof.least[owner], fixed, proof.bound, limit)

    def _choose(self, candidates: PatternPool, window: Window, seconds: float) -> float:
        """Lower bound on the scores in the window, if all patterns of placements below the limit are among the candidates.

        Better ones are kept. Where the choices are few they are all looked at, otherwise as a program has them, which may
        take `seconds` for each.
        """
        if not candidates.cost.size:
            return candidates.limit
        listed = list_choices(self.model, candidates, window, self.relabelling.between)
        if listed is None:
            return self._choose_by_program(candidates, window, seconds)
        bound = candidates.limit
        for row in listed:
            chosen = row[row >= 0]
            score = self._score(candidates.pattern[chosen])
            if score >= self.target or self.remaining() <= 0:
                return min(bound, score)
            bound = min(bound, self._look_at(candidates.owner[chosen], candidates.pattern[chosen]))
        return bound

    def _choose_by_program(self, candidates: PatternPool, window: Window, seconds: float) -> float:
        """Choices best first, until the bound on the others reaches the target or the limit."""
        selection, limit = Selection(self.model, candidates, window, self.least_delay), candidates.limit
        looked_at = np.inf
        for _ in range(MAX_LISTED_CHOICES):
            selected = self._select(selection, min(seconds, self.remaining()))
            bound = min(selected.bound, limit, looked_at)
            if selected.chosen is not None:
                least = self._look_at(candidates.owner[selected.chosen], candidates.pattern[selected.chosen])
                looked_at = min(looked_at, least)
                selection.exclude(selected.chosen)
            halved = self.target - candidates.least < 0.5 * (limit - candidates.least)  # fewer patterns would do by now
            if selected.chosen is None or bound >= min(limit, self.target) or halved or self.remaining() <= 0:
                break
        return bound

    def _score(self, patterns: Ints) -> float:
        """Score of a choice without path latency."""
        return self.model.apart + len(patterns) * self.model.price - float(self.model.saved(patterns).sum())

    def _choose_from_pool(self, proof: Certificate, window: Window) -> None:
        """Improve the incumbent with the patterns known so far, if any: where no supervisor has room there are none."""
        if not self.pool.cost:
            return
        owner, pattern = np.array(self.pool.owner, np.int64), np.array(self.pool.pattern)
        candidates = self._candidates(owner, pattern, proof, self.target)
        selected = self._select(Selection(self.model, candidates, window, self.least_delay), min(3.0, 0.3 * self.remaining()))
        if selected.chosen is not None:
            self._look_at(candidates.owner[selected.chosen], candidates.pattern[selected.chosen])

    def _select(self, selection: Selection, seconds: float) -> Selected:
        selected = selection.solve(seconds, 0.1 * self.gap * abs(self.incumbent.objective))
        if selected.interrupted:
            raise KeyboardInterrupt
        return selected

    def _look_at(self, owner: Ints, patterns: Ints) -> float:
        """Label a choice of patterns, keep it if it is the best, and bound what it scores."""
        rank = np.lexsort((*patterns.T, owner))
        key = owner[rank].tobytes() + patterns[rank].tobytes()
        if key in self.seen:
            return self.seen[key]
        model = self.model
        self.choices += 1
        score = self._score(patterns)
        cutoff = np.inf
        if self.incumbent.counts is not None:
            cutoff = (self.incumbent.objective - score) / model.second if model.second > 0 else 1.0
            cutoff = cutoff if model.second > 0 or score < self.incumbent.objective else -1.0
        labelled = self.relabelling.shortest(owner, patterns, cutoff)
        if labelled.node is not None:
            counts = np.zeros(model.compiled.candidate.shape, np.int64)
            counts[:, labelled.node] = patterns.T
            self.incumbent = BestPlacement(score + model.second * labelled.seconds, counts)
            self._report(self.bound)
        self.seen[key] = score + model.second * labelled.bound
        return self.seen[key]

    def _report(self, bound: float) -> None:
        self.report(None if self.incumbent.counts is None else self.incumbent.objective, bound)

    def use_by_class(self, relaxation: MasterRelaxation) -> Floats:
        """Supervisors of each class that a relaxation uses."""
        owner = np.array(self.pool.owner[: relaxation.use.size], np.int64)
        return np.bincount(owner, relaxation.use, minlength=len(self.pricers)).astype(np.float64)

    def _least_delays(self) -> Floats:
        """Seconds of each forward stream at least, where its ends are on different supervisors; 0 where they cannot be."""
        between = self.relabelling.between
        if not self.model.classes:
            return np.zeros(len(self.model.source))
        usable = np.array([supervisors.max_instances > 0 for supervisors in self.model.classes]).T
        ends = zip(self.model.source, self.model.target, strict=True)
        delays = np.array([between[np.ix_(usable[a], usable[b])].min(initial=np.inf) for a, b in ends])
        return np.where(np.isfinite(delays), delays, 0.0)
