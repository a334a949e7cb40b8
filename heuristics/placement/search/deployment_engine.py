"""The engine for deployments whose numbers of replicas may change, and for any objective; it evaluates as annealing does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Bools, Floats, Ints, UInts
from edrp.core.errors import UnsupportedProblemError
from edrp.core.methods import Options
from edrp.heuristics.placement.deployment_starts import first_fit
from edrp.heuristics.placement.deployment_state import FEW_REPLICAS, DeploymentState, MoveMix, random_stream
from edrp.heuristics.placement.filling import stable_degrees
from edrp.heuristics.placement.problem_arrays import PlacementArrays, evaluation_units, pairs_per_operator, placement_arrays
from edrp.heuristics.placement.rule_rows import searched_rows
from edrp.heuristics.placement.search.search_engine import (
    OVERLOAD_RULES,
    ColonyParameters,
    Construct,
    EndIteration,
    KickParameters,
    LocalSearchRun,
    OverloadRule,
    PlacementValue,
    Rule,
    SearchEngine,
)
from edrp.placement.compiled import Compiled

SEARCHED_SHARE = 0.6
"""Work of a change that a local search looks at, by that of evaluating it whole."""

ANT_NODE_UNITS = 1.3e-8
"""Units of work of an ant for a candidate node of a replica; of R replicas at most it mostly draws about √R."""

MAX_REPLICA_PAIRS = 10_000
"""Maximum number of pairs of replicas per operator, over its streams, for which single replicas are searched."""


MAX_CHANGES = 4_096
"""Maximum number of changes of one operator that are compared; on large networks, those listed last may be left out."""

WAITING = 3
"""Index into `DeploymentMemory.counters` of the number of operators in the queue; the kernel knows the others."""


class DeploymentMemory(NamedTuple):
    """Values of deployments, the best one visited, and the lists from which kernels continue.

    Arrays of `search_deployments` (edrp/native/heuristics/placement/deployment_memory.hpp).

    Values are (violations, overload, objective).

    Attributes
    ----------
    value, best_value, trial, chosen : values of the deployment under search, of the best one met, of a change that is
        tried, and of the best change of an operator.
    best, home : shape (operators, nodes); counts of the best deployment, and of that to which a kick may return.
    strays, stray : shape (operators,); the operators changed since, and which these are.
    changes : shape (CHANGES, 5); the changes of an operator: kind, operator, and what they are about.
    changed, touched : shape (operators,); the operators that a change touches, and which these are while they are collected.
    queue, queued : shape (operators,); operators to look at, and which these are.
    targets : shape (nodes,); nodes to which an operator may go.
    stamped : shape (nodes,); the stamp with which a node was last listed.
    """

    value: Floats
    best_value: Floats
    trial: Floats
    chosen: Floats
    best: Ints
    home: Ints
    counters: Ints
    changes: Ints
    changed: Ints
    touched: Bools
    queue: Ints
    queued: Bools
    targets: Ints
    stamped: Ints
    strays: Ints
    stray: Bools

    @classmethod
    def empty(cls, arrays: PlacementArrays) -> DeploymentMemory:
        """Allocate the arrays for a problem."""
        operators, nodes = arrays.candidate.shape
        return cls(
            value=np.full(3, np.inf),
            best_value=np.full(3, np.inf),
            trial=np.full(3, np.inf),
            chosen=np.full(3, np.inf),
            best=np.zeros((operators, nodes), np.int64),
            home=np.zeros((operators, nodes), np.int64),
            counters=np.zeros(8, np.int64),
            changes=np.zeros((MAX_CHANGES, 5), np.int64),
            changed=np.zeros(operators, np.int64),
            touched=np.zeros(operators, np.bool_),
            queue=np.zeros(operators, np.int64),
            queued=np.zeros(operators, np.bool_),
            targets=np.zeros(nodes, np.int64),
            stamped=np.zeros(nodes, np.int64),
            strays=np.zeros(operators, np.int64),
            stray=np.zeros(operators, np.bool_),
        )


class DeploymentSearch(NamedTuple):
    """A search: the problem, the deployment under search, and its memory.

    `mix` says to which nodes kicks move replicas, `random` (1,) is the state of the random numbers, `progress` (2,) is as in
    `KICKS`; work is counted in changes.
    """

    arrays: PlacementArrays
    now: DeploymentState
    memory: DeploymentMemory
    mix: MoveMix
    random: UInts
    progress: Ints


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
        self.units, self.scale = SEARCHED_SHARE * evaluation_units(compiled), self.arrays.scale
        candidates = np.diff(self.arrays.candidate_start)
        self.ant_units = self.units + ANT_NODE_UNITS * float(candidates @ np.sqrt(self.arrays.max_replicas))

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
        run = self._run(0, 0.0, overload_rule)
        before = np.full(3, np.inf)
        while not np.array_equal(before, self.memory.value):
            before = self.memory.value.copy()
            yield from self._iterate(run, 0)

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[PlacementValue]:
        """Run iterated local search from the best placement."""
        self._adopt_best(OverloadRule.COMPARED)
        run = self._run(parameters.kicks_per_run, parameters.tolerance, OverloadRule.COMPARED)
        yield from self._iterate(run, seed)

    def _iterate(self, run: LocalSearchRun, seed: int) -> Iterator[PlacementValue]:
        memory = self.memory
        memory.queue[:], memory.queued[:] = np.arange(memory.queue.size), True
        memory.counters[WAITING] = memory.queue.size
        yield from self._steps(_native.search_deployments, self._search(seed), run)

    def begin_colony(self, parameters: ColonyParameters, seed: int) -> tuple[Construct, EndIteration]:
        """Begin an ant system; a given placement deposits the current placement's pheromone."""
        self._adopt_best(OVERLOAD_RULES[parameters.rule])
        pheromone, search, memory = Pheromone.of(self.arrays, parameters), self._search(seed), self.memory
        if self.has_start:
            _native.deposit_deployment(pheromone, self.now.counts.replicas, memory.value, parameters.current_deposits)
        _native.update_deployment_pheromone(pheromone, 1.0)

        def end_iteration(elitist: float) -> None:
            _native.deposit_deployment(pheromone, memory.best, memory.best_value, elitist)
            _native.update_deployment_pheromone(pheromone, parameters.persistence)

        return lambda ants: _native.run_deployment_ants(search, pheromone, ants), end_iteration

    def _search(self, seed: int) -> DeploymentSearch:
        return DeploymentSearch(self.arrays, self.now, self.memory, FEW_REPLICAS, random_stream(seed), np.zeros(2, np.int64))

    def _adopt_best(self, rule: OverloadRule) -> None:
        if rule == OverloadRule.IGNORED:
            self.memory.best_value[:] = np.inf
        self._adopt(self.counts(), rule)

    def _adopt(self, counts: Ints, rule: OverloadRule) -> None:
        self.now = DeploymentState.from_matrix(self.arrays, counts)
        _native.adopt_deployment(self.arrays, self.now, self.memory, rule)


class Pheromone(NamedTuple):
    """Pheromone between operators and nodes, and on numbers of replicas, and the constants of eqs. 2 to 5.

    Numbers of replicas carry pheromone as nodes do. The prior of a number is the operator's own share of the objective. The prior
    of a node is eq. 3, with two differences: the doubling next to a neighbour decreases with the delay to it, and a node in use
    is better only where nodes may fail, because nothing else in EDRP counts nodes.

    Arrays of `run_deployment_ants` (edrp/native/heuristics/placement/deployment_ants.cpp).

    Attributes
    ----------
    node, size : shapes (operators, nodes) and (operators, sizes); 𝒯 of eq. 4.
    new_node, new_size : what the ants of an iteration add.
    node_pull, size_pull : the products of eq. 2 as far as they are the same for a whole iteration.
    size_prior : η of a number of replicas.
    distance : shape (nodes, nodes); the delay over the mean delay.
    order : operators in random order.
    power, prior_power : α and β of eq. 2.
    deposit, minimum : as in `ColonyParameters`.
    restricted : whether ants choose among nodes that still fit.
    shared : whether nodes in use are preferred.
    """

    node: Floats
    size: Floats
    new_node: Floats
    new_size: Floats
    node_pull: Floats
    size_pull: Floats
    size_prior: Floats
    distance: Floats
    order: Ints
    power: float
    prior_power: float
    deposit: float
    minimum: float
    restricted: bool
    shared: bool
    overload_rule: int

    @classmethod
    def of(cls, arrays: PlacementArrays, parameters: ColonyParameters) -> Pheromone:
        """Create the pheromone before the first ant."""
        operators, nodes = arrays.candidate.shape
        sizes = arrays.latency.shape[1]
        initial = parameters.initial_pheromone
        apart = arrays.delay[~np.eye(nodes, dtype=bool)]
        mean = float(apart.mean()) if apart.size else 0.0
        return cls(
            node=np.full((operators, nodes), initial),
            size=np.full((operators, sizes), initial),
            new_node=np.zeros((operators, nodes)),
            new_size=np.zeros((operators, sizes)),
            node_pull=np.ones((operators, nodes)),
            size_pull=np.ones((operators, sizes)),
            size_prior=size_prior(arrays) ** parameters.heuristic_power,
            distance=arrays.delay / mean if mean > 0 else np.zeros_like(arrays.delay),
            order=np.arange(operators),
            power=parameters.pheromone_power,
            prior_power=parameters.heuristic_power,
            deposit=parameters.deposit,
            minimum=parameters.minimum_pheromone,
            restricted=parameters.rule == "repaired",
            shared=arrays.has_loss,
            overload_rule=OVERLOAD_RULES[parameters.rule],
        )


def size_prior(arrays: PlacementArrays) -> Floats:
    """Prior of each number of replicas: the minimum share of the objective over that number's; 0 for none."""
    sizes = np.arange(arrays.latency.shape[1])
    stable = np.isfinite(arrays.latency)
    latency = np.where(stable, arrays.latency, 0.0)
    price = arrays.weights[1] * arrays.replica_cost[:, None] * sizes + arrays.weights[0] * latency
    minimum = price.min(axis=1, keepdims=True, where=stable, initial=np.inf)
    return np.where(stable, np.divide(minimum, price, out=np.ones_like(price), where=price > 0), 0.0)


# Repair of deployments that break rules which must be met, for methods that do not search.


def repaired(compiled: Compiled, counts: Ints, options: Options) -> Ints:
    """A deployment that hill climbing reaches and that breaks fewer rules and limits; itself if all rules are met.

    The objective plays no part, so that what a simple method has placed stays where it may. Replicas that found no node are
    not added: what has too few of them, or more than allowed, has no value to climb from.
    """
    if searched_rows(compiled).breach(counts) == 0 or too_many_pairs(compiled) is not None:
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
