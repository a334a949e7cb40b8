"""The states and transitions of migrations without end: what value iteration, locally or on Spark, works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.mdp.best_response import colexicographic
from edrp.mdp.partitions import Partitions, count_partitions, enumerate_partitions, partition_bytes
from edrp.mdp.tasks import Tasks
from edrp.mdp.trie import Trie
from edrp.migration.intervals import load_limit

if TYPE_CHECKING:
    from edrp.migration.policy import MigrationPolicyProblem


class Size(NamedTuple):
    """What enumerating the states will take, known before any of them is made.

    Attributes
    ----------
    states : by class, number of partitions.
    pairs : inner minima of one sweep: states × classes that may follow.
    memory : bytes.
    """

    states: tuple[int, ...]
    pairs: int
    memory: float


@dataclass(frozen=True)
class PolicyModel:
    """A migration process with an endless random future (state migration, section 4.2).

    The states are all partitions that keep the load limit, one *class* for each number of nodes. From a class the
    process jumps to a number of nodes by `transitions`; which partition of that class comes next is decided.

    Attributes
    ----------
    tasks
        Work and state sizes.
    counts
        Numbers of nodes, one per class, ascending.
    tolerance, allow_empty
        Which partitions are allowed.
    transitions : shape (classes, classes)
        Rows sum to 1, in the order of `counts`.
    discount
        γ in [0, 1).

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
        """The model of a problem, over all of its node counts or over some that nothing leaves."""
        kept = tuple(sorted(problem.node_counts if counts is None else counts))
        index = [problem.node_counts.index(count) for count in kept]
        transitions = np.asarray(problem.transitions, dtype=np.float64)[np.ix_(index, index)]
        tasks = Tasks.of(problem.work, problem.state_size)
        return cls(tasks, kept, problem.tolerance, problem.allow_empty, transitions, problem.discount)

    @property
    def total_state(self) -> float:
        """All state, in bytes."""
        return float(self.tasks.state_before[-1])

    def limit(self, nodes: int) -> float:
        """Most work that one of `nodes` nodes may hold."""
        return load_limit(float(self.tasks.work_before[-1]), nodes, self.tolerance)

    @cached_property
    def size(self) -> Size:
        """Counted by a dynamic program on boundaries, before anything is enumerated."""
        m = self.tasks.work.size
        states = tuple(count_partitions(self.tasks.work_before, n, self.limit(n), self.allow_empty) for n in self.counts)
        followers = (self.transitions > 0).sum(axis=1)
        pairs = sum(int(count) * int(follow) for count, follow in zip(states, followers, strict=True))
        # Partitions and their order; a value and two temporaries a state; cost and reply a pair; a residue per prefix.
        memory = sum(partition_bytes(m, n, count) for n, count in zip(self.counts, states, strict=True))
        return Size(states, pairs, memory + sum(states) * (8 + 3 * 8 + 2 * 8) + 2 * 8 * pairs)

    @cached_property
    def partitions(self) -> tuple[Partitions, ...]:
        """By class, shape (states, n + 1), in lexicographic order."""
        return tuple(
            enumerate_partitions(self.tasks.work_before, n, self.limit(n), self.allow_empty, expected)
            for n, expected in zip(self.counts, self.size.states, strict=True)
        )

    @cached_property
    def orders(self) -> tuple[Ints, ...]:
        """By class, the rows of `partitions` in the order in which they are best searched from."""
        return tuple(colexicographic(each) for each in self.partitions)

    @cached_property
    def tries(self) -> tuple[Trie, ...]:
        """By class, what best replies are searched in."""
        return tuple(Trie.of(self.tasks.work_before, n, self.limit(n), self.allow_empty) for n in self.counts)

    @cached_property
    def graphs(self) -> tuple[Trie, ...]:
        """By class, the places and arcs of its partitions, however many there are."""
        return tuple(Trie.unnumbered(self.tasks.work_before, n, self.limit(n), self.allow_empty) for n in self.counts)

    def followers(self, source: int) -> Ints:
        """Classes that may follow class `source`."""
        return np.flatnonzero(self.transitions[source] > 0)

    def __getstate__(self) -> dict[str, object]:
        # Derived tables are rebuilt where needed, never sent to workers.
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
