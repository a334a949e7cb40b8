"""Consistent hashing: tasks and nodes on a ring, each task with the next node (Karger et al. 1997)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, UInts
from edrp.heuristics.migration.rule import Change, Reassignment, newest_leave, outcome


@dataclass(frozen=True, slots=True)
class ConsistentHashing:
    """Every node stands at several places of a ring, every task goes to the node that follows it.

    Adding a node takes tasks from all others and moves nothing else; removing one (the newest) spreads its
    tasks among the others. Neither work nor state is looked at.

    Attributes
    ----------
    virtual_nodes
        Places of each node on the ring; more even out the number of tasks per node.
    seed
        Seed of the hash.

    Examples
    --------
    >>> rule = ConsistentHashing(seed=1)
    >>> before = rule.initial(np.ones(64), 8)
    >>> answer = rule(Change(before, 8, 9, np.ones(64), np.ones(64), 0.2))
    >>> set(answer.node_of_task[answer.node_of_task != before].tolist())
    {8}
    """

    virtual_nodes: int = 100
    seed: int = 0

    @property
    def name(self) -> str:
        """For tables."""
        return "consistent hashing"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,)."""
        places, owners = self._ring(nodes)
        return owners[np.searchsorted(places, _hashes(np.arange(work.size), self.seed, 1)) % places.size]

    def __call__(self, change: Change) -> Reassignment:
        """The ring with another number of nodes; where the tasks were before plays no part."""
        return Reassignment(self.initial(change.work, change.nodes_after), newest_leave(change.nodes_before, change.nodes_after))

    def _ring(self, nodes: int) -> tuple[UInts, Ints]:
        owners = np.repeat(np.arange(nodes), self.virtual_nodes)
        copies = np.tile(np.arange(self.virtual_nodes), nodes)
        places = _hashes((owners << 32) + copies, self.seed, 2)
        order = np.argsort(places, kind="stable")
        return places[order], owners[order]


class Expectation(NamedTuple):
    """Over the hash functions.

    Attributes
    ----------
    moved_share, standard_error
        Mean share of the state that moves, and its standard error.
    broken_share
        Share of the runs that break the load limit.
    """

    moved_share: float
    standard_error: float
    broken_share: float


def expected_hashing(change: Change, runs: int = 100, virtual_nodes: int = 100, seed: int = 0) -> Expectation:
    """Mean cost of consistent hashing over `runs` hash functions, each of which begins with its own assignment.

    Parameters
    ----------
    change
        The change; its `node_of_task` plays no part.
    runs
        At least 2.
    virtual_nodes
        Parameters of `ConsistentHashing`.
    seed
        Seed of the first run; the others follow it.

    Examples
    --------
    >>> change = Change(np.zeros(64, np.int64), 8, 9, np.ones(64), np.ones(64), 0.2)
    >>> round(expected_hashing(change).moved_share, 2)
    0.11
    """
    outcomes = []
    for run in range(runs):
        rule = ConsistentHashing(virtual_nodes, seed + run)
        before = rule.initial(change.work, change.nodes_before)
        started = Change(before, change.nodes_before, change.nodes_after, change.work, change.state_size, change.tolerance)
        outcomes.append(outcome(started, rule(started)))
    shares = np.array([outcome.moved_share for outcome in outcomes])
    broken = float(np.mean([outcome.breaks_limit for outcome in outcomes]))
    return Expectation(float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(runs)), broken)


def _hashes(keys: Ints, seed: int, kind: int) -> UInts:
    """Well-mixed 64-bit hashes: the finalizer of SplitMix64 (Steele, Lea, Flood 2014) over keys, seed and kind."""
    mixed = keys.astype(np.uint64)
    salts = (np.array([kind, seed % 2**64], dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for salt in salts:
        mixed = mixed + salt
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed
