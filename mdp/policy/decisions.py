"""Deciding migrations with projected costs at hand: the one with the least c(P, P′) + γ·C(P′)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.mdp.best_response import best_replies
from edrp.mdp.matching import assign, match
from edrp.mdp.policy.model import PolicyModel
from edrp.mdp.tasks import Boundaries, OldNodes
from edrp.mdp.trie import Lookahead, look_ahead
from edrp.migration.intervals import Assignment, Interval
from edrp.migration.policy import PolicyDecision
from edrp.migration.projected_costs import ProjectedCosts


@dataclass(frozen=True)
class MigrationPolicy:
    """What to do whenever the number of nodes changes, computed beforehand (state migration, Definition 4.1).

    Attributes
    ----------
    model
        The process that the costs were computed for.
    costs
        C of every partition.

    Examples
    --------
    Six equal tasks that are held by two or by three nodes in turn:

    >>> from edrp.mdp.policy.pmc import Threads, iterate
    >>> from edrp.mdp.tasks import Tasks
    >>> tasks = Tasks.of(np.ones(6), np.ones(6))
    >>> model = PolicyModel(tasks, (2, 3), 0.5, False, np.array([[0.0, 1.0], [1.0, 0.0]]), 0.5)
    >>> policy = MigrationPolicy(model, iterate(model, Threads(1)).to_costs(model))
    >>> decision = policy.decide([(0, 3), (3, 6)], 3)
    >>> decision.intervals, round(decision.projected_cost, 6)
    (((1, 3), (3, 6), (0, 1)), 2.0)
    """

    model: PolicyModel
    costs: ProjectedCosts
    _ahead: dict[int, Lookahead] = field(default_factory=dict, repr=False, compare=False)

    def decide(self, intervals: Sequence[Interval | None], nodes: int) -> PolicyDecision:
        """The best assignment to `nodes` nodes, coming from any assignment; a pruned search, not a scan.

        Parameters
        ----------
        intervals
            Tasks [first, end) of each current node, None for one that does not exist.
        nodes
            How many there are to be.

        Raises
        ------
        InvalidInstanceError
            For a number of nodes that the policy does not know, or one whose every partition breaks the load limit.
        """
        present = [each for each in intervals if each is not None]
        old = OldNodes.of(present)
        target = self._class_of(nodes)
        value, row = self._best(old.boundaries, target)
        if row < 0:
            raise InvalidInstanceError([Fault("nodes", str(nodes), "no partition into as many intervals keeps the load limit")])
        chosen = self.model.partitions[target][row].astype(np.int64)
        matched = match(self.model.tasks.state_before, old.boundaries, chosen)
        assigned = assign(old, len(present), chosen, matched, nodes)
        return PolicyDecision(in_place(intervals, assigned), float(self.costs.values[nodes][row]), value, self.costs)

    def reply(self, before: Boundaries, target: int) -> Boundaries:
        """The partition of class `target` to go to from partition `before`."""
        return self.model.partitions[target][self._best(before, target)[1]].astype(np.int64)

    def _best(self, before: Boundaries, target: int) -> tuple[float, int]:
        value, row = np.empty(1), np.full(1, -1)
        start, only = np.unique(before)[np.newaxis], np.zeros(1, np.int64)
        ahead = self._look_ahead(target)
        best_replies(self.model.tries[target], ahead, self.model.tasks.state_before, start, only, row, value, row)
        return float(value[0]), int(row[0])

    def _class_of(self, nodes: int) -> int:
        if nodes not in self.model.counts:
            known = ", ".join(map(str, self.model.counts))
            raise InvalidInstanceError([Fault("nodes", str(nodes), f"is not among the counts of the policy, {known}")])
        return self.model.counts.index(nodes)

    def _look_ahead(self, target: int) -> Lookahead:
        if target not in self._ahead:
            values = self.model.discount * self.costs.values[self.model.counts[target]]
            self._ahead[target] = look_ahead(self.model.tries[target], values)
        return self._ahead[target]


def in_place(before: Sequence[Interval | None], assigned: Assignment) -> Assignment:
    """An assignment of the nodes that are there, numbered among all nodes that ever were: new ones fill gaps first.

    Parameters
    ----------
    before
        Interval of each node, None for one that does not exist.
    assigned
        Of the nodes that exist, in their order, then of new ones.

    Examples
    --------
    >>> in_place([(0, 2), None, (2, 6)], ((0, 2), (4, 6), (2, 4)))
    ((0, 2), (2, 4), (4, 6))
    """
    existing = [node for node, each in enumerate(before) if each is not None]
    gaps = [node for node, each in enumerate(before) if each is None]
    new = len(assigned) - len(existing)
    places = existing + gaps[:new] + list(range(len(before), len(before) + new - len(gaps)))
    after: list[Interval | None] = [None] * max(len(before), max(places) + 1)
    for place, each in zip(places, assigned, strict=True):
        after[place] = each
    return tuple(after)
