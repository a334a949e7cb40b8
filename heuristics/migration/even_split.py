"""The even split of Storm's scheduler: the same number of neighbouring tasks to each node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.heuristics.migration.rule import Change, Reassignment, matched, newest_leave


@dataclass(frozen=True, slots=True)
class EvenSplit:
    """Every node holds ⌊m/n′⌋ or ⌈m/n′⌉ neighbouring tasks, whatever their work and wherever they were.

    Attributes
    ----------
    matching
        False: the first tasks go to the first node and so on, as Storm does. True: each share goes to the old
        node that holds most of its state, all shares together at the least cost.

    Examples
    --------
    >>> change = Change(np.array([0, 0, 0, 1, 1, 1]), 2, 3, np.ones(6), np.ones(6), 0.2)
    >>> EvenSplit()(change).node_of_task.tolist()
    [0, 0, 1, 1, 2, 2]
    """

    matching: bool = False

    @property
    def name(self) -> str:
        """For tables."""
        return "even split, matched" if self.matching else "even split"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,)."""
        return np.arange(work.size) * nodes // work.size

    def __call__(self, change: Change) -> Reassignment:
        """The same number of tasks to each."""
        groups = self.initial(change.work, change.nodes_after)
        if self.matching:
            return matched(change, groups)
        return Reassignment(groups, newest_leave(change.nodes_before, change.nodes_after))
