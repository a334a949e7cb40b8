"""Simulated annealing over counts per node, for operators with many replicas.

Changes are between two nodes: any number of one operator's replicas moves, or trades places with those of another,
or two nodes exchange all that they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from edrp.core import budget
from edrp.core.arrays import Floats, Ints
from edrp.core.kernel_helpers import below, uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.core.methods import Options
from edrp.core.solution import StoppedBecause
from edrp.heuristics.placement.count_evaluation import BROKEN, CountedDeployment, energy, excess, perform, refresh_all, undo
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_counts import ReplicaCounts, room
from edrp.heuristics.placement.start import Placement, random_fit, stable_degrees
from edrp.placement.compiled import Compiled

MANY_PAIRS = 1000
"""Pairs of replicas per operator, over its streams, from which counting them by node is worth while."""

CHUNK = 1_000
"""Steps between two looks at the clock."""

PAIRS = 100_000_000
"""Pairs of replicas, or of nodes, between two looks at the clock where they are many: some tenths of a second."""

STEPS = 100_000
"""Changes tried per run. Measured on the production topologies: three times as many gain nothing that counts."""

SHORTER = 0.1
"""The first run's share of the steps; each further run is three times as long, so that an early end finds something cold."""

COOLER = 10.0
"""By how much more than the replicas per operator temperatures are divided: one replica is a small share of a stream."""

ENOUGH = 1e-3
"""Relative gain of a run below which there is no further one."""

SLACK = 1e-9
"""Relative overload of a node that counts as rounding."""

INFEASIBLE = 1000.0
"""Added to the energy of a deployment that breaks a limit, where the best one met is kept."""


class Schedule(Protocol):
    """The parameters of `annealing`: how long and how hot to anneal."""

    @property
    def anneals(self) -> int:
        """Maximum number of runs."""
        ...

    @property
    def steps(self) -> int | None:
        """Changes tried per run; None for `STEPS`."""
        ...

    @property
    def hot(self) -> float:
        """First temperature, in units of the objective for one replica per operator."""
        ...

    @property
    def cold(self) -> float:
        """Last temperature."""
        ...


class BestCounts(NamedTuple):
    """The best deployment met and its energy, with `INFEASIBLE` added where it breaks a limit.

    Operator i has `held[i, k]` replicas on node `hosts[i, k]`, for k below `number[i]`.
    """

    hosts: Ints
    held: Ints
    number: Ints
    energy: Floats

    @classmethod
    def empty(cls, operators: int, nodes: int) -> BestCounts:
        """No deployment met yet."""
        shape = operators, nodes
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(operators, np.int64), np.full(1, np.inf))

    def counts(self) -> Ints:
        """Replicas per operator and node."""
        counts = np.zeros_like(self.held)
        for i, number in enumerate(self.number):
            counts[i, self.hosts[i, :number]] = self.held[i, :number]
        return counts


@inlined
def _node_for(t: PlacementArrays, c: ReplicaCounts, random: np.ndarray, i: int, u: int) -> int:
    """A node for operator i: where a neighbour or the operator itself is, the nearest of some, or any."""
    start, end = t.candidate_start[i], t.candidate_start[i + 1]
    choice = uniform(random)
    if choice < 0.35 and t.adjacent_start[i + 1] > t.adjacent_start[i]:
        e = t.adjacent[t.adjacent_start[i] + below(random, t.adjacent_start[i + 1] - t.adjacent_start[i])]
        j = t.source[e] + t.target[e] - i
        v = c.hosts[j, below(random, c.number[j])]
        return v if t.candidate[i, v] else -1
    if choice < 0.6:
        return c.hosts[i, below(random, c.number[i])]
    v = t.candidate_list[start + below(random, end - start)]
    if choice < 0.85:
        for _ in range(4):
            w = t.candidate_list[start + below(random, end - start)]
            if t.delay[u, w] < t.delay[u, v] or v == u:
                v = w
    return v


@inlined
def _plan(d: CountedDeployment, k: int, i: int, u: int, v: int, q: int) -> None:
    d.plan[k, 0], d.plan[k, 1], d.plan[k, 2], d.plan[k, 3] = i, u, v, q


@inlined
def _propose(t: PlacementArrays, d: CountedDeployment, random: np.ndarray) -> int:
    """Plan a change between two nodes; the number of its parts, 0 where there is none."""
    c = d.counts
    i = below(random, c.degree.size)
    u = c.hosts[i, below(random, c.number[i])]
    v = _node_for(t, c, random, i, u)
    kind = uniform(random)
    if kind < 0.1:
        return _replicate_or_retire(t, d, random, i, u, v)
    if v < 0 or v == u:
        return 0
    if kind < 0.18:
        return _plan_exchange(t, d, u, v)
    q = c.held[i, u]
    if q > 1 and uniform(random) < 0.5:
        q = 1 + below(random, q)
    free = room(t.demand, t.capacity, c.used, i, v, c.degree[i], SLACK)
    if free > 0 and kind < 0.7:
        _plan(d, 0, i, u, v, min(q, free))
        return 1
    return _plan_swap(t, d, random, i, u, v, q)


@inlined
def _replicate_or_retire(t: PlacementArrays, d: CountedDeployment, random: np.ndarray, i: int, u: int, v: int) -> int:
    """Operator i gets one replica more on node v, or one less on node u."""
    r = d.counts.degree[i]
    if uniform(random) < 0.5:
        if v < 0 or r >= t.max_replicas[i] or not np.isfinite(t.latency[i, r + 1]):
            return 0
        _plan(d, 0, i, -1, v, 1)
    else:
        if r == 1 or not np.isfinite(t.latency[i, r - 1]):
            return 0
        _plan(d, 0, i, u, -1, 1)
    return 1


@inlined
def _plan_swap(t: PlacementArrays, d: CountedDeployment, random: np.ndarray, i: int, u: int, v: int, q: int) -> int:
    """q replicas of operator i go from u to v, and about as much of another operator comes back."""
    c = d.counts
    for _ in range(4):
        j = below(random, c.degree.size)
        if j == i or c.held[j, v] == 0 or not t.candidate[j, u]:
            continue
        back = 1.0
        for m in range(t.demand.shape[1]):
            if t.demand[j, m] > 0:
                back = max(back, np.ceil(q * t.demand[i, m] / t.demand[j, m] - 1e-9))
        _plan(d, 0, i, u, v, q)
        _plan(d, 1, j, v, u, min(c.held[j, v], int(min(back, 1e9))))
        return 2
    return 0


@inlined
def _plan_exchange(t: PlacementArrays, d: CountedDeployment, u: int, v: int) -> int:
    """Everything on u goes to v, and everything on v to u."""
    c = d.counts
    changes = 0
    for i in range(c.degree.size):
        here, there = c.held[i, u], c.held[i, v]
        if here > there:
            if not t.candidate[i, v]:
                return 0
            _plan(d, changes, i, u, v, here - there)
            changes += 1
        elif there > here:
            if not t.candidate[i, u]:
                return 0
            _plan(d, changes, i, v, u, there - here)
            changes += 1
    return changes


@inlined
def _keep_best(d: CountedDeployment, best: BestCounts, value: float, margin: float) -> None:
    """Remember a deployment of this energy if it is better than the best one met by more than a margin."""
    c, rank = d.counts, value + INFEASIBLE * d.values[BROKEN]
    if rank >= best.energy[0] - margin:
        return
    best.energy[0] = rank
    for i in range(c.degree.size):
        best.number[i] = c.number[i]
        for k in range(c.number[i]):
            best.hosts[i, k] = c.hosts[i, k]
            best.held[i, k] = c.held[i, c.hosts[i, k]]


@inlined
def _planned_excess(t: PlacementArrays, d: CountedDeployment) -> float:
    """The excess of the two nodes of the planned change."""
    c = d.counts
    total = 0.0
    for side in range(1, 3):
        if d.plan[0, side] >= 0:
            total += excess(t, c, d.plan[0, side])
    return total


@inner_loop
def anneal_counts(
    t: PlacementArrays,
    d: CountedDeployment,
    best: BestCounts,
    random: np.ndarray,
    steps: int,
    temperature: float,
    cooling: float,
) -> None:
    """Anneal for `steps` changes from `d`; the best deployment met goes to `best`."""
    refresh_all(t, d)
    overload = 0.0
    for u in range(d.counts.used.shape[0]):
        overload += excess(t, d.counts, u)
    value = energy(t, d, overload)
    _keep_best(d, best, value, 0.0)
    for _ in range(steps):
        temperature *= cooling
        changes = _propose(t, d, random)
        if changes == 0:
            continue
        before = _planned_excess(t, d)
        perform(t, d, changes)
        more = _planned_excess(t, d) - before
        if more > 1e-12:
            undo(t, d, changes)
            continue
        left = max(0.0, overload + more) if overload > 1e-12 else 0.0
        new = energy(t, d, left)
        if new <= value or uniform(random) < np.exp((value - new) / temperature):
            value, overload = new, left
            _keep_best(d, best, value, 1e-12)
        else:
            undo(t, d, changes)


def suits_counts(compiled: Compiled) -> bool:
    """Whether this search is made for the problem: many replicas or a cluster, none running yet, nothing that may fail.

    Nor may a peak load count, which it does not measure.
    """
    if compiled.contended or compiled.current is not None or compiled.node_loss.any() or compiled.links.lossy:
        return False
    return bool(compiled.problem.network.classes) or pairs_per_operator(compiled) > MANY_PAIRS


def pairs_per_operator(compiled: Compiled) -> float:
    """Pairs of replicas over an operator's streams, on average, with as few replicas as can be."""
    replicas = stable_degrees(compiled).argmax(axis=1)
    pairs = replicas[compiled.stream_source] * replicas[compiled.stream_target]
    return float(2 * pairs.sum() / replicas.size)


def steps_within(compiled: Compiled, places: Ints | None = None) -> int:
    """Changes between two looks at the clock.

    A change is evaluated over the pairs of replicas of an operator's streams, and where paths run through replicas over those
    of all streams. With `places` (operators,), replicas of an operator count at most as often as it has nodes.
    """
    if not compiled.instance_paths:
        return int(1 + PAIRS / (1 + pairs_per_operator(compiled)))
    replicas = compiled.max_replicas if places is None else np.minimum(compiled.max_replicas, places)
    pairs = float((replicas[compiled.stream_source] * replicas[compiled.stream_target]).sum())
    return int(1 + PAIRS / (1 + pairs))


def annealed_counts(
    compiled: Compiled, arrays: PlacementArrays, starts: Sequence[Placement], options: Options, schedule: Schedule
) -> tuple[Ints, StoppedBecause]:
    """Anneal from the best start, then from its own results, while that gains something and time is left.

    While nothing feasible is known, each run starts from another random placement, and there are up to three
    times as many.

    Returns
    -------
    tuple
        Replicas per operator and node of the best deployment met, and why the search stopped.
    """
    random = np.zeros(1, np.uint64)
    best = BestCounts.empty(*compiled.candidate.shape)
    for start in starts:
        anneal_counts(arrays, CountedDeployment.from_matrix(arrays, start.counts(compiled)), best, random, 0, 1.0, 1.0)
    chunk = min(CHUNK, steps_within(compiled, compiled.candidate.sum(axis=1))) if compiled.instance_paths else CHUNK
    scale = len(compiled.operators) / (COOLER * float(best.held.sum()))
    try:
        for run in range(3 * schedule.anneals):
            before = best.energy[0]
            feasible = before < INFEASIBLE
            if feasible and run >= schedule.anneals:
                break
            seeds = np.random.SeedSequence([options.seed, run])
            random = seeds.generate_state(1, np.uint64).astype(np.uint64)
            share = min(1.0, SHORTER * 3**run)
            steps = max(1, round(share * (schedule.steps or STEPS)))
            cooling = (schedule.cold / schedule.hot) ** (1.0 / steps)
            fresh = not feasible and run > 0
            counts = random_fit(compiled, np.random.default_rng(seeds)).counts(compiled) if fresh else best.counts()
            now = CountedDeployment.from_matrix(arrays, counts)
            for done in range(0, steps, chunk):
                if options.remaining <= 0:
                    return best.counts(), "time_limit"
                _report(options, best.energy[0] * arrays.scale)
                temperature = scale * schedule.hot * cooling**done
                anneal_counts(arrays, now, best, random, min(chunk, steps - done), temperature, cooling)
            if feasible and (best.energy[0] <= 0 or (share == 1 and before - best.energy[0] <= ENOUGH * before)):
                break
    except KeyboardInterrupt:
        return best.counts(), "interrupted"
    _report(options, best.energy[0] * arrays.scale)
    return best.counts(), "finished"


def _report(options: Options, objective: float) -> None:
    if options.progress is not None and objective < INFEASIBLE:
        options.progress(budget.now() - options.started, float(objective), None)
