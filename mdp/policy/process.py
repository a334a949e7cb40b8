"""The Markov decision process of migrations, its parameters as JSON, and decisions with known projected costs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.mdp.best_response import best_responses, colexicographic
from edrp.mdp.partitions import (
    Boundaries,
    OldNodes,
    Partitions,
    Tasks,
    assign,
    count_partitions,
    enumerate_partitions,
    match,
    partition_bytes,
)
from edrp.mdp.trie import PreparedValues, Trie, prepare_values
from edrp.migration.intervals import Assignment, Interval, load_limit
from edrp.migration.policy import PolicyDecision, ProjectedCosts

ORDERED_PARTITION_UNITS = 5e-8
"""Units of work per partition to sort partitions."""

if TYPE_CHECKING:
    from edrp.migration.policy import MigrationPolicyProblem


class ModelSize(NamedTuple):
    """Numbers of states and memory, known before any state is enumerated.

    Attributes
    ----------
    states : by node count, number of partitions.
    pairs : inner minima of one sweep: states × node counts that may follow.
    memory : in bytes, of all tables.
    """

    states: tuple[int, ...]
    pairs: int
    memory: float


@dataclass(frozen=True)
class PolicyModel:
    """A migration process with an endless random future (state migration, section 4.2).

    The states are all partitions that keep the load limit. The process jumps from one number of nodes to another by
    `transitions`; the action is which partition into as many intervals comes next. Tables hold one array for each node
    count, in the order of `counts`; functions name a node count by its index there (`source`, `target`).

    Attributes
    ----------
    tasks : work and state sizes.
    counts : numbers of nodes, ascending.
    tolerance, allow_empty : partitions that are allowed: τ, and whether intervals may be empty.
    transitions : shape (counts, counts), rows sum to 1, in the order of `counts`.
    discount : γ in [0, 1).

    Examples
    --------
    >>> tasks = Tasks.of(np.ones(6), np.ones(6))
    >>> model = PolicyModel(tasks, (2, 3), 0.5, False, np.array([[0.0, 1.0], [1.0, 0.0]]), 0.8)
    >>> model.size.states, model.partitions[0].tolist()
    ((3, 7), [[0, 2, 6], [0, 3, 6], [0, 4, 6]])
    """

    tasks: Tasks
    counts: tuple[int, ...]
    tolerance: float
    allow_empty: bool
    transitions: Floats
    discount: float

    @classmethod
    def of(cls, problem: MigrationPolicyProblem, counts: Sequence[int] | None = None) -> PolicyModel:
        """Create the model of a problem, over all node counts or a closed subset of them."""
        chosen = tuple(sorted(problem.node_counts if counts is None else counts))
        index = [problem.node_counts.index(count) for count in chosen]
        transitions = np.asarray(problem.transitions, dtype=np.float64)[np.ix_(index, index)]
        tasks = Tasks.of(problem.work, problem.state_size)
        return cls(tasks, chosen, problem.tolerance, problem.allow_empty, transitions, problem.discount)

    @property
    def total_state(self) -> float:
        """Total state, in bytes."""
        return float(self.tasks.state_before[-1])

    def limit(self, nodes: int) -> float:
        """Return the load limit: the maximum work of each of `nodes` nodes."""
        return load_limit(float(self.tasks.work_before[-1]), nodes, self.tolerance)

    @cached_property
    def size(self) -> ModelSize:
        """Numbers of states, counted by a dynamic program on boundaries before any enumeration."""
        m = self.tasks.work.size
        states = tuple(count_partitions(self.tasks.work_before, n, self.limit(n), self.allow_empty) for n in self.counts)
        successors = (self.transitions > 0).sum(axis=1)
        pairs = sum(int(count) * int(follow) for count, follow in zip(states, successors, strict=True))
        # Partitions and their order; a value and two temporaries a state; cost and action a pair; a residue per prefix.
        memory = sum(partition_bytes(m, n, count) for n, count in zip(self.counts, states, strict=True))
        return ModelSize(states, pairs, memory + sum(states) * (8 + 3 * 8 + 2 * 8) + 2 * 8 * pairs)

    @cached_property
    def partitions(self) -> tuple[Partitions, ...]:
        """All partitions by node count n, shape (states, n + 1), in lexicographic order."""
        return tuple(
            enumerate_partitions(self.tasks.work_before, n, self.limit(n), self.allow_empty, expected)
            for n, expected in zip(self.counts, self.size.states, strict=True)
        )

    @cached_property
    def orders(self) -> tuple[Ints, ...]:
        """Rows of `partitions` by node count, in the order in which searching from them is fastest."""
        orders = []
        for partitions in self.partitions:
            look("the order of the partitions")
            spend(ORDERED_PARTITION_UNITS * len(partitions))
            orders.append(colexicographic(partitions))
        return tuple(orders)

    @cached_property
    def tries(self) -> tuple[Trie, ...]:
        """Tries by node count, in which best responses are searched."""
        return tuple(Trie.of(self.tasks.work_before, n, self.limit(n), self.allow_empty) for n in self.counts)

    @cached_property
    def graphs(self) -> tuple[Trie, ...]:
        """Unnumbered tries by node count: places and arcs, for any number of partitions."""
        return tuple(Trie.unnumbered(self.tasks.work_before, n, self.limit(n), self.allow_empty) for n in self.counts)

    def successors(self, source: int) -> Ints:
        """Return the indices of the node counts that can follow the one of index `source`."""
        return np.flatnonzero(self.transitions[source] > 0)

    def __getstate__(self) -> dict[str, object]:
        # Derived tables are rebuilt where needed, never sent to workers.
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def model_parameters(model: PolicyModel) -> dict[str, Any]:
    """Return all parameters that the projected costs of a model depend on, as JSON values.

    Examples
    --------
    >>> from edrp.mdp.partitions import Tasks
    >>> model = PolicyModel(Tasks.of([1, 1], [5, 5]), (1, 2), 0.5, True, np.array([[0.0, 1.0], [1.0, 0.0]]), 0.8)
    >>> model_parameters(model)["node_counts"]
    [1, 2]
    """
    return {
        "work": model.tasks.work.tolist(),
        "state_size": model.tasks.state_size.tolist(),
        "node_counts": list(model.counts),
        "transitions": model.transitions.tolist(),
        "discount": float(model.discount),
        "tolerance": float(model.tolerance),
        "allow_empty": bool(model.allow_empty),
    }


def build_model(parameters: dict[str, Any]) -> PolicyModel:
    """Build the model from its parameters, the inverse of `model_parameters`."""
    return PolicyModel(
        tasks=Tasks.of(parameters["work"], parameters["state_size"]),
        counts=tuple(int(count) for count in parameters["node_counts"]),
        tolerance=float(parameters["tolerance"]),
        allow_empty=bool(parameters["allow_empty"]),
        transitions=np.array(parameters["transitions"], dtype=np.float64),
        discount=float(parameters["discount"]),
    )


def fingerprint(parameters: dict[str, Any]) -> str:
    """Compute the SHA-256 of parameters, which is equal for equal parameters on any machine.

    >>> fingerprint({"discount": 0.8, "tolerance": 0.2}) == fingerprint({"tolerance": 0.2, "discount": 0.8})
    True
    """
    return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()


def differences(stored: dict[str, Any], required: dict[str, Any]) -> list[str]:
    """List the names of the parameters that differ."""
    return sorted(name for name in {*stored, *required} if stored.get(name) != required.get(name))


@dataclass(frozen=True)
class MigrationPolicy:
    """Optimal policy for every change of the number of nodes, computed beforehand (state migration, Definition 4.1).

    Attributes
    ----------
    model : the process that the costs were computed for.
    costs : C of every partition.

    Examples
    --------
    Six equal tasks that are held by two or by three nodes in turn:

    >>> from edrp.mdp.policy.pmc import Threads, iterate
    >>> from edrp.mdp.partitions import Tasks
    >>> tasks = Tasks.of(np.ones(6), np.ones(6))
    >>> model = PolicyModel(tasks, (2, 3), 0.5, False, np.array([[0.0, 1.0], [1.0, 0.0]]), 0.5)
    >>> policy = MigrationPolicy(model, iterate(model, Threads(1)).to_costs(model))
    >>> decision = policy.decide([(0, 3), (3, 6)], 3)
    >>> decision.intervals, round(decision.projected_cost, 6)
    (((1, 3), (3, 6), (0, 1)), 2.0)
    """

    model: PolicyModel
    costs: ProjectedCosts
    _prepared: dict[int, PreparedValues] = field(default_factory=dict, repr=False, compare=False)

    def decide(self, intervals: Sequence[Interval | None], nodes: int) -> PolicyDecision:
        """Find the best assignment to `nodes` nodes, from any assignment, by a pruned search.

        Parameters
        ----------
        intervals
            Tasks [first, end) of each current node, None for one that does not exist.
        nodes
            Number of nodes after the migration.

        Raises
        ------
        InvalidInstanceError
            For a number of nodes that the policy does not know, or one whose every partition breaks the load limit.
        """
        present = [interval for interval in intervals if interval is not None]
        old = OldNodes.of(present)
        if nodes not in self.model.counts:
            counts = ", ".join(map(str, self.model.counts))
            raise InvalidInstanceError([Fault("nodes", str(nodes), f"is not among the counts of the policy, {counts}")])
        target = self.model.counts.index(nodes)
        value, row = self._best(old.boundaries, target)
        if row < 0:
            raise InvalidInstanceError([Fault("nodes", str(nodes), "no partition into as many intervals keeps the load limit")])
        chosen = self.model.partitions[target][row].astype(np.int64)
        matched = match(self.model.tasks.state_before, old.boundaries, chosen)
        assigned = assign(old, len(present), chosen, matched, nodes)
        return PolicyDecision(in_place(intervals, assigned), float(self.costs.values[nodes][row]), value, self.costs)

    def action(self, before: Boundaries, target: int) -> Boundaries:
        """The partition to go to from partition `before`, with the node count of index `target`."""
        return self.model.partitions[target][self._best(before, target)[1]].astype(np.int64)

    def _best(self, before: Boundaries, target: int) -> tuple[float, int]:
        value, row = np.empty(1), np.full(1, -1)
        start, only = np.unique(before)[np.newaxis], np.zeros(1, np.int64)
        if target not in self._prepared:
            values = self.model.discount * self.costs.values[self.model.counts[target]]
            self._prepared[target] = prepare_values(self.model.tries[target], values)
        discounted = self._prepared[target]
        best_responses(self.model.tries[target], discounted, self.model.tasks.state_before, start, only, row, value, row)
        return float(value[0]), int(row[0])


def in_place(before: Sequence[Interval | None], assigned: Assignment) -> Assignment:
    """Number the present nodes among all nodes that ever existed: new nodes fill gaps first.

    Parameters
    ----------
    before
        Interval of each node, None for one that does not exist.
    assigned
        Intervals of the present nodes, in their order, then of new ones.

    Examples
    --------
    >>> in_place([(0, 2), None, (2, 6)], ((0, 2), (4, 6), (2, 4)))
    ((0, 2), (2, 4), (4, 6))
    """
    existing = [node for node, interval in enumerate(before) if interval is not None]
    gaps = [node for node, interval in enumerate(before) if interval is None]
    new = len(assigned) - len(existing)
    nodes = existing + gaps[:new] + list(range(len(before), len(before) + new - len(gaps)))
    after: list[Interval | None] = [None] * max(len(before), max(nodes) + 1)
    for node, interval in zip(nodes, assigned, strict=True):
        after[node] = interval
    return tuple(after)
