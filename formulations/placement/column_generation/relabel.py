"""The second phase: which supervisor of each class takes which pattern, so that paths are short."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints, entries
from edrp.core.budget import spend
from edrp.formulations.placement.column_generation.model import ScoreModel
from edrp.formulations.placement.column_generation.relabel_kernel import ChosenPatterns, ClassMembers, path_bound, search_labels

LABEL_WORK = 1e-7
"""Units of work for a node of a search, per supervisor."""

MAX_RELABELLING_NODES = 150_000
"""Nodes of one search; some tenths of a second."""


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
        bound = path_bound(unplaced, chosen, np.zeros((patterns.shape[1], owner.size + 1)))
        if not bound < cutoff:
            return Labelled(None, cutoff, bound)
        best = unplaced.copy()
        seconds, searched = search_labels(chosen, alike, self.members, cutoff, MAX_RELABELLING_NODES, best)
        spend(LABEL_WORK * searched * owner.size)
        node = None
        if best[0] >= 0:
            node = np.empty_like(best)
            node[rank] = best
        return Labelled(node, seconds, bound if searched > MAX_RELABELLING_NODES else seconds)

    def core(self, owner: Ints, patterns: Ints, seconds: float) -> Ints:
        """Few of these supervisors that make paths at least that long by themselves; the choice as a whole must."""
        core_nodes = np.arange(owner.size)
        for position in range(owner.size):
            fewer = core_nodes[core_nodes != position]
            if fewer.size and self.shortest(owner[fewer], patterns[fewer], seconds).bound >= seconds:
                core_nodes = fewer
        return core_nodes


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
