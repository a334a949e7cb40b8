"""Workers of tasks over a course of node counts, by the methods of Fig. 13 (state migration, section 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count, pairwise
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.solve import solve
from edrp.heuristics.migration.node_change import BalancedPacking, ConsistentHashing, EvenSplit, NodeCountChange, matched
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.mdp.partitions import Boundaries, Tasks
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import MigrationPolicy
from edrp.migration.single_step import MigrationProblem
from edrp.validation.simulation.migration.policies import policy_model

SINGLE_STEP, MTM, HASHING, STORM = "single-step", "MTM-aware", "consistent hashing", "Storm"
METHODS = (SINGLE_STEP, MTM, HASHING, STORM)

Action = Callable[[Boundaries, int], Boundaries]
"""From a partition and the next number of nodes to the next partition."""


def task_paths(
    work: Floats, size: Floats, counts: Sequence[int], transitions: TransitionMatrix, tolerance: float, discount: float, seed: int
) -> dict[str, list[Ints]]:
    """Worker of each task before the first change of the number of nodes and after each, by method.

    Single-step and MTM-aware migration start from equal shares of the work; policies for MTM-aware migration are computed for all
    counts of the matrix beforehand. Storm gives each node as many neighbouring tasks.

    Parameters
    ----------
    work, size : shape (m,)
        Work and bytes of each task.
    counts
        Numbers of nodes, one after another.
    tolerance, discount
        τ and γ.
    seed
        Of the hash functions.
    """
    model = policy_model(Tasks.of(work, size), transitions, tolerance, discount)
    policy = MigrationPolicy(model, iterate(model, Threads(1)).to_costs(model))

    def single_step(before: Boundaries, nodes: int) -> Boundaries:
        fields: Any = {"work": work.tolist(), "state_size": size.tolist(), "intervals": list(pairwise(before.tolist()))}
        problem = MigrationProblem(**fields, nodes=nodes, tolerance=tolerance, allow_empty=False)
        solution: Any = solve(problem, "ssm")
        return np.unique([end for interval in solution.intervals if interval is not None for end in interval])

    return {
        SINGLE_STEP: _partition_path(work, size, counts, single_step),
        MTM: _partition_path(work, size, counts, lambda before, nodes: policy.action(before, model.counts.index(nodes))),
        HASHING: [ConsistentHashing(seed=seed).initial(work, nodes) for nodes in counts],
        STORM: [EvenSplit().initial(work, nodes) for nodes in counts],
    }


def _partition_path(work: Floats, size: Floats, counts: Sequence[int], action: Action) -> list[Ints]:
    workers = BalancedPacking(allow_empty=False).initial(work, counts[0])
    boundaries = np.searchsorted(workers, np.arange(counts[0] + 1))
    path = [workers]
    for nodes in counts[1:]:
        boundaries = np.asarray(action(boundaries, nodes), dtype=np.int64)
        path.append(placed(path[-1], np.repeat(np.arange(nodes), np.diff(boundaries)), size))
    return path


def placed(before: Ints, groups: Ints, size: Floats) -> Ints:
    """Worker of each task when groups of tasks go where the most of their state is, and the others to the first free workers.

    >>> placed(np.array([0, 0, 2, 2]), np.array([0, 1, 1, 2]), np.ones(4)).tolist()
    [0, 2, 2, 1]
    """
    workers, nodes = np.unique(before, return_inverse=True)
    after = int(groups.max()) + 1
    answer = matched(NodeCountChange(nodes, workers.size, after, size, size, 0.0), groups)
    free = (worker for worker in count() if worker not in workers)
    number = np.array([workers[old] if old >= 0 else next(free) for old in answer.former.tolist()])
    return number[groups]


def moved_share(before: Ints, after: Ints, size: Floats) -> float:
    """Share of the state that changes its worker."""
    return float(size[before != after].sum() / size.sum())


def typical_migration(paths: Mapping[str, Sequence[Ints]], size: Floats, rank: int) -> int:
    """The migration of a course whose costs by all methods come nearest to their means over it; of `rank` 1 the next one.

    >>> ends = [np.array(workers) for workers in ([0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1])]
    >>> typical_migration({"any": ends}, np.ones(3), 0)
    2
    """
    shares = np.array([[moved_share(before, after, size) for before, after in pairwise(path)] for path in paths.values()])
    means = np.maximum(shares.mean(axis=1, keepdims=True), np.finfo(float).tiny)
    distances = np.abs(shares / means - 1).sum(axis=0)
    return int(np.argsort(distances, kind="stable")[rank % distances.size])


def allowed_pace(before: Ints, after: Ints, size: Floats, link: float) -> float:
    """Bytes/s of each sender with which no worker sends or receives more than its link's rate, on the mean of the transfer.

    >>> allowed_pace(np.array([0, 1]), np.array([2, 2]), np.ones(2), 10.0)
    5.0
    """
    moves = before != after
    sent, received = (float(np.bincount(workers[moves], size[moves]).max(initial=0.0)) for workers in (before, after))
    return link * sent / max(sent, received) if sent else link
