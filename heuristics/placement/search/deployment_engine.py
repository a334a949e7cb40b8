"""The engine for deployments whose numbers of replicas may change, and for any objective; it evaluates as annealing does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.errors import UnsupportedProblemError
from edrp.core.kernel_helpers import below, copy_vector, uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.core.methods import Options
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.placement.annealing_moves import FEW_REPLICAS, may_replicate, may_retire, pick_node
from edrp.heuristics.placement.deployment_starts import first_fit
from edrp.heuristics.placement.deployment_state import DeploymentState, refresh, settle, shift, transfer
from edrp.heuristics.placement.filling import stable_degrees
from edrp.heuristics.placement.problem_arrays import PlacementArrays, evaluation_units, pairs_per_operator, placement_arrays
from edrp.heuristics.placement.replica_counts import ReplicaCounts, random_stream, room, variable
from edrp.heuristics.placement.search.acceptance import COMPARED, KICKS, WORK, LocalSearchRun, OverloadRule, better, near
from edrp.heuristics.placement.search.change_lists import list_changes, plan_change
from edrp.heuristics.placement.search.deployment_ants import Pheromone, deposit, run_ants, update_pheromone
from edrp.heuristics.placement.search.deployment_memory import (
    CHOSEN,
    CURSOR,
    KICKED,
    LISTED,
    OVERLOADED,
    STRAYS,
    WAITING,
    DeploymentMemory,
    DeploymentSearch,
    adopt,
    enqueue_neighbours,
    evaluate,
    is_overloaded,
    keep_best,
    note_stray,
)
from edrp.heuristics.placement.search.search_engine import (
    OVERLOAD_RULES,
    ColonyParameters,
    Construct,
    EndIteration,
    KickParameters,
    PlacementValue,
    Rule,
    SearchEngine,
)
from edrp.placement.compiled import Compiled

ANT_NODE_UNITS = 0.03
"""Work of an ant per node and replica, in units of evaluating a change. Measured on 10 to 60 operators."""

MAX_REPLICA_PAIRS = 10_000
"""Maximum number of pairs of replicas per operator, over its streams, for which single replicas are searched."""


def too_many_pairs(compiled: Compiled) -> str | None:
    """Return the reason why a problem is too large for this engine, or None."""
    pairs = pairs_per_operator(compiled)
    if pairs <= MAX_REPLICA_PAIRS:
        return None
    return (
        f"replicas are looked at one by one, and operators need {pairs:,.0f} pairs of them on average, "
        f"more than {MAX_REPLICA_PAIRS:,}"
    )


class DeploymentEngine(SearchEngine):
    """The search engine for deployments, which evaluates every change whole (see `SearchEngine`).

    Raises
    ------
    UnsupportedProblemError
        Where operators need too many replicas for any search but annealing, which counts them by node.

    Examples
    --------
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.datasets import layered
    >>> engine = DeploymentEngine(compile_problem(layered(6, seed=0)))
    >>> engine.reset(None, np.random.default_rng(0))
    >>> steps = list(engine.climb("repaired"))
    >>> engine.value().violations
    0
    """

    def __init__(self, compiled: Compiled) -> None:
        if (why := too_many_pairs(compiled)) is not None:
            raise UnsupportedProblemError(why, instead=("annealing",))  # which counts them by node
        self.compiled = compiled
        self.arrays = placement_arrays(compiled)
        self.memory = DeploymentMemory.empty(self.arrays)
        self.units, self.scale = evaluation_units(compiled), self.arrays.scale
        self.ant_units = self.units * (1.0 + ANT_NODE_UNITS * len(compiled.nodes) * int(self.arrays.max_replicas.sum()))

    def ignore_objective(self) -> None:
        """Compare deployments by the limits and rules that they break alone."""
        arrays = self.arrays
        self.arrays = arrays._replace(
            weights=np.zeros_like(arrays.weights),
            shared=arrays.shared._replace(weights=np.zeros_like(arrays.shared.weights)),
            rules=arrays.rules._replace(penalty=np.where(np.isinf(arrays.rules.penalty), np.inf, 0.0)),
            tie_cost=0.0,
        )

    def reset(self, start: Ints | None, random: np.random.Generator) -> None:
        """Start from a given placement, or from first fit."""
        self.has_start = start is not None
        self.memory.best_value[:] = np.inf
        self._adopt(first_fit(self.compiled) if start is None else start, OverloadRule.COMPARED)

    def climb(self, rule: Rule) -> Iterator[PlacementValue]:
        """Climb from the best placement: again and again, until no operator has a better change."""
        overload_rule = OVERLOAD_RULES[rule]
        self._adopt_best(overload_rule)
        run = self._run(0, 0.0, overload_rule.value)
        before = np.full(3, np.inf)
        while not np.array_equal(before, self.memory.value):
            before = self.memory.value.copy()
            yield from self._iterate(run, 0)

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[PlacementValue]:
        """Run iterated local search from the best placement."""
        self._adopt_best(OverloadRule.COMPARED)
        run = self._run(parameters.kicks_per_run, parameters.tolerance, COMPARED)
        yield from self._iterate(run, seed)

    def _iterate(self, run: LocalSearchRun, seed: int) -> Iterator[PlacementValue]:
        memory = self.memory
        memory.queue[:], memory.queued[:] = np.arange(memory.queue.size), True
        memory.counters[WAITING] = memory.queue.size
        yield from self._steps(iterate, self._search(seed), run)

    def begin_colony(self, parameters: ColonyParameters, seed: int) -> tuple[Construct, EndIteration]:
        """Begin an ant system; a given placement deposits the current placement's pheromone."""
        self._adopt_best(OVERLOAD_RULES[parameters.rule])
        pheromone, search, memory = Pheromone.of(self.arrays, parameters), self._search(seed), self.memory
        if self.has_start:
            deposit(pheromone, self.now.counts.replicas, memory.value, parameters.current_deposits)
        update_pheromone(pheromone, 1.0)

        def end_iteration(elitist: float) -> None:
            deposit(pheromone, memory.best, memory.best_value, elitist)
            update_pheromone(pheromone, parameters.persistence)

        return lambda ants: run_ants(search, pheromone, ants), end_iteration

    def _search(self, seed: int) -> DeploymentSearch:
        return DeploymentSearch(
            self.arrays, self.now, self.memory, FEW_REPLICAS, random_stream(seed), np.zeros(2, np.int64)
        )

    def _adopt_best(self, rule: OverloadRule) -> None:
        if rule == OverloadRule.IGNORED:
            self.memory.best_value[:] = np.inf
        self._adopt(self.counts(), rule)

    def _adopt(self, counts: Ints, rule: OverloadRule) -> None:
        self.now = DeploymentState.from_matrix(self.arrays, counts)
        adopt(self.arrays, self.now, self.memory, rule.value)


# Repair of deployments that break rules which must be met, for methods that do not search.


def repaired(compiled: Compiled, counts: Ints, options: Options) -> Ints:
    """A deployment that hill climbing reaches and that breaks fewer rules and limits; itself if all rules are met.

    The objective plays no part, so that what a simple method has placed stays where it may. Replicas that found no node are
    not added: what has too few of them, or more than allowed, has no value to climb from.
    """
    if compiled.rules.breach(counts) == 0 or too_many_pairs(compiled) is not None:
        return counts
    degree = np.minimum(counts.sum(axis=1), compiled.latency.shape[1] - 1)
    if not stable_degrees(compiled)[np.arange(degree.size), degree].all():
        return counts
    engine = DeploymentEngine(compiled)
    engine.ignore_objective()
    engine.reset(counts, np.random.default_rng(options.seed))
    for _ in engine.climb("repaired"):
        if options.remaining <= 0:
            break
    return engine.counts()


# Iterated local search over deployments with replicas: one operator after the other takes the best of its changes.

TOLERANCE_PERIOD = 250
"""Number of kicks in which the tolerance falls to 0, repeatedly.

Measured on applications of 20 operators, one second each: against a constant tolerance, a third of the mean gap goes, because
some local optima are left only by a long way round.
"""

INITIAL_TOLERANCE = 3.0
"""The tolerance at the beginning of a period, in units of the parameter; on average it is half of that."""


@inlined
def climb(search: DeploymentSearch, run: LocalSearchRun) -> bool:
    """Let each operator in the queue make the best of its changes, if that improves the deployment.

    Then it and those that share streams with it are queued again. Each trial is a change of the list, at last the best one
    of the list (`stays`), or a kick: one place in the code for all, because each place where a deployment is evaluated costs
    seconds of compilation. Streams of operators that change are
    summed up from scratch, so that nothing drifts.
    """
    t, state, m, c = search.arrays, search.now, search.memory, search.memory.counters
    while search.progress[WORK] < run.work:
        touched, parts = c[KICKED], 0
        if touched < 0 and c[CURSOR] > c[LISTED]:
            if c[WAITING] == 0:
                return True
            _open_next(search)
        search.progress[WORK] += 1
        stays = touched >= 0 or c[CURSOR] == c[LISTED]
        k = c[CHOSEN] if stays else c[CURSOR]
        if touched < 0:
            c[CURSOR] += 1
            if k < 0:
                continue
            parts = plan_change(t, state, m, k)
            touched = _list_changed(state, m, parts)
            transfer(t, state, parts, False)
        c[KICKED] = -1
        for x in range(touched):
            refresh(t, state, m.changed[x])
        evaluate(t, state, c[OVERLOADED] > 0, run.overload_rule, m.trial)
        if not stays:
            if better(m.trial, m.chosen):
                copy_vector(m.trial, m.chosen)
                c[CHOSEN] = k
            transfer(t, state, parts, True)
        for x in range(touched):
            settle(t, state, m.changed[x], stays)
        if stays:
            _go_on(search, touched)
    return False


@inlined
def _list_changed(d: DeploymentState, m: DeploymentMemory, parts: int) -> int:
    """List the operators of the planned change, sorted by part; return their number."""
    count = 0
    for k in range(parts):
        if count == 0 or m.changed[count - 1] != d.plan[k, 0]:
            m.changed[count] = d.plan[k, 0]
            count += 1
    return count


@inlined
def accept(search: DeploymentSearch, run: LocalSearchRun) -> None:
    """Continue from here if it is within a tolerance of the best, which falls to 0 within a period; else go back."""
    kicks_left = run.kicks - search.progress[KICKS] - 1
    tolerance = run.tolerance * INITIAL_TOLERANCE * (kicks_left % TOLERANCE_PERIOD) / TOLERANCE_PERIOD
    m = search.memory
    return_home(search.arrays, search.now.counts, m, near(m.value, m.best_value, tolerance))


@inner_loop
def iterate(search: DeploymentSearch, run: LocalSearchRun) -> bool:
    """Continue iterated local search for a bounded amount of work; return whether it has ended."""
    m = search.memory
    search.progress[WORK] = 0
    while climb(search, run):
        keep_best(search.now, m)
        if search.progress[KICKS] == run.kicks:
            return True
        accept(search, run)
        m.counters[KICKED] = disturb(search.arrays, search.now.counts, m, search.random)  # `climb` evaluates it
        search.progress[KICKS] += 1
    return False


@inlined
def _open_next(search: DeploymentSearch) -> None:
    """Take the first operator from the queue and list its changes."""
    m, c = search.memory, search.memory.counters
    i = m.queue[0]
    c[WAITING] -= 1
    for k in range(c[WAITING]):
        m.queue[k] = m.queue[k + 1]
    m.queued[i] = False
    c[LISTED] = list_changes(search.arrays, search.now, m, i)
    c[CURSOR] = 0
    c[CHOSEN] = -1
    copy_vector(m.value, m.chosen)


@inlined
def _go_on(search: DeploymentSearch, count: int) -> None:
    """Accept the change that was tried: enqueue the operators that it touches, and their neighbours."""
    m = search.memory
    copy_vector(m.trial, m.value)
    if m.counters[OVERLOADED] > 0:
        m.counters[OVERLOADED] = is_overloaded(search.arrays, search.now)
    for x in range(count):
        note_stray(m, m.changed[x])
        enqueue_neighbours(search.arrays, m, m.changed[x])


# Kicks of a deployment with replicas; the sums of streams are stale until the operators touched are refreshed.

NODE_TRIES = 6
"""Number of draws of a node that has room."""

TRADES = 3
"""Number of pairs of replicas that are drawn to trade places."""

MAX_KICKED_OPERATORS = 4
"""Maximum number of operators along streams that one kick changes."""


@inlined
def return_home(t: PlacementArrays, c: ReplicaCounts, m: DeploymentMemory, stay: bool) -> None:
    """Return to the deployment before the kick, or with `stay` make the present one the home of later kicks."""
    for x in range(m.counters[STRAYS]):
        i = m.strays[x]
        m.stray[i] = False
        m.touched[i] |= not stay
        for u in range(m.home.shape[1]):
            if stay:
                m.home[i, u] = c.replicas[i, u]
            elif m.home[i, u] != c.replicas[i, u]:
                shift(t, c, i, variable(-1), u, m.home[i, u] - c.replicas[i, u])
    m.counters[STRAYS] = 0


@inlined
def collect_touched(m: DeploymentMemory) -> int:
    """Move the operators that are marked as touched to `changed`; return their number."""
    count = 0
    for i in range(m.touched.size):
        if m.touched[i]:
            m.touched[i] = False
            m.changed[count] = i
            count += 1
    return count


@inlined
def disturb(t: PlacementArrays, c: ReplicaCounts, m: DeploymentMemory, random: np.ndarray) -> int:
    """Apply one of four kicks: empty a node, or scatter, resize or gather operators along a walk over streams.

    Where that moves nothing, because nodes are full, replicas trade places. The operators that this or a return home touches go
    to `changed`, their number is returned.
    """
    kind = uniform(random)
    i = below(random, c.degree.size)
    u = c.hosts[i, below(random, c.number[i])]
    v = t.candidate_list[t.candidate_start[i] + below(random, t.candidate_start[i + 1] - t.candidate_start[i])]
    moved, fixed = (
        variable(0),
        t.instance_paths,
    )  # of latency-aware placement, whose numbers of replicas are given: more is gathered instead
    for step in range(
        c.degree.size if kind < 0.25 else 1 + below(random, 2 * MAX_KICKED_OPERATORS if fixed else MAX_KICKED_OPERATORS)
    ):
        if kind < 0.25:
            i = step
            if c.replicas[i, u] == 0:
                continue
        if kind < 0.5:
            moved += _scatter(t, c, random, i, u, kind < 0.25)
        elif kind < 0.75 and not fixed:
            moved += _resize(t, c, random, i)
        else:
            moved += _gather(t, c, i, v)
        m.touched[i] = True
        i = _neighbour(t, random, i)
    if moved == 0:
        _trade(t, c, m, random)
    m.counters[OVERLOADED] = 1
    return collect_touched(m)


@inlined
def _neighbour(t: PlacementArrays, random: np.ndarray, i: int) -> int:
    """Draw an operator that shares a stream with operator i; i itself if there is none."""
    start, end = t.adjacent_start[i], t.adjacent_start[i + 1]
    if start == end:
        return i
    e = t.adjacent[start + below(random, end - start)]
    return t.source[e] + t.target[e] - i


@inlined
def _trade(t: PlacementArrays, c: ReplicaCounts, m: DeploymentMemory, random: np.ndarray) -> None:
    """Let some pairs of replicas of different operators trade their nodes, whether there is room or not."""
    for _ in range(TRADES):
        i, j = below(random, c.degree.size), below(random, c.degree.size)
        u, v = c.hosts[i, below(random, c.number[i])], c.hosts[j, below(random, c.number[j])]
        if i != j and u != v and t.candidate[i, v] and t.candidate[j, u]:
            shift(t, c, i, u, v, variable(1))
            shift(t, c, j, v, u, variable(1))
            m.touched[i], m.touched[j] = True, True


@inlined
def _scatter(t: PlacementArrays, c: ReplicaCounts, random: np.ndarray, i: int, node: int, only: bool) -> int:
    """Move each replica of operator i (on node `only`, or on all) to another node with room, if one is drawn; return how many."""
    moved = 0
    for k in range(c.number[i] - 1, -1, -1):  # from the end: a node left is replaced by the last one
        u = c.hosts[i, k]
        for _ in range(c.replicas[i, u] if u == node or not only else 0):
            for _ in range(NODE_TRIES):
                v = pick_node(t, c, FEW_REPLICAS, random, i, u)
                if v != u and room(t.demand, t.capacity, c.used, i, v, variable(1), LIMIT_SLACK) > 0:
                    shift(t, c, i, u, v, variable(1))
                    moved += 1
                    break
    return moved


@inlined
def _resize(t: PlacementArrays, c: ReplicaCounts, random: np.ndarray, i: int) -> int:
    """Add or remove one replica of operator i; return 0 where it can do neither."""
    u = c.hosts[i, below(random, c.number[i])]
    if uniform(random) < 0.5:
        if may_retire(t, c, i):
            shift(t, c, i, u, variable(-1), variable(1))
            return 1
        return 0
    for _ in range(NODE_TRIES):
        v = pick_node(t, c, FEW_REPLICAS, random, i, u)
        if may_replicate(t, c, i) and room(t.demand, t.capacity, c.used, i, v, variable(1), LIMIT_SLACK) > 0:
            shift(t, c, i, variable(-1), v, variable(1))
            return 1
    return 0


@inlined
def _gather(t: PlacementArrays, c: ReplicaCounts, i: int, v: int) -> int:
    """Move all replicas of operator i to node v, or near it where that is full; return how many."""
    moved = 0
    for k in range(t.near.shape[1]):
        w = t.near[v, k]
        for a in range(c.number[i] - 1 if t.candidate[i, w] else -1, -1, -1):
            u = c.hosts[i, a]
            nearer = False
            for x in range(k + 1):
                nearer |= t.near[v, x] == u
            free = 0 if nearer else room(t.demand, t.capacity, c.used, i, w, c.replicas[i, u], LIMIT_SLACK)
            if free > 0:
                shift(t, c, i, u, w, free)
                moved += free
    return moved
