"""Decisions with known projected costs: the migration with the least c(P, P′) + γ·C(P′)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.mdp.best_response import best_responses
from edrp.mdp.matching import assign, match
from edrp.mdp.partitions import Boundaries, OldNodes
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.trie import PreparedValues, prepare_values
from edrp.migration.intervals import Assignment, Interval
from edrp.migration.policy import PolicyDecision
from edrp.migration.projected_costs import ProjectedCosts


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
        target = self._index(nodes)
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
        discounted = self._discounted(target)
        best_responses(self.model.tries[target], discounted, self.model.tasks.state_before, start, only, row, value, row)
        return float(value[0]), int(row[0])

    def _index(self, nodes: int) -> int:
        if nodes not in self.model.counts:
            counts = ", ".join(map(str, self.model.counts))
            raise InvalidInstanceError([Fault("nodes", str(nodes), f"is not among the counts of the policy, {counts}")])
        return self.model.counts.index(nodes)

    def _discounted(self, target: int) -> PreparedValues:
        if target not in self._prepared:
            values = self.model.discount * self.costs.values[self.model.counts[target]]
            self._prepared[target] = prepare_values(self.model.tries[target], values)
        return self._prepared[target]


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
