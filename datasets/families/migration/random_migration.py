"""Small random migrations, for tests and checks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.sequence import MigrationSequence
from edrp.migration.single_step import MigrationProblem


def random_migration(seed: int, *, tasks: int | None = None, nodes: int | None = None) -> MigrationProblem:
    """Draw a migration of few tasks between few nodes by default; sizes are whole, some zero."""
    generator = np.random.default_rng(seed)
    fields = _random_tasks(generator, tasks)
    count = int(generator.integers(1, 5)) if nodes is None else nodes
    loose = float(generator.choice([0.2, 0.5, 1.0]))
    return MigrationProblem(**fields, nodes=count, tolerance=loose, allow_empty=bool(generator.random() < 0.5))


def random_sequence(
    seed: int, *, tasks: int | None = None, nodes: tuple[int, int] = (1, 4), steps: int = 3, tolerance: float | None = None
) -> MigrationSequence:
    """Draw a sequence of migrations; every third seed has loads that change from step to step."""
    generator = np.random.default_rng(seed)
    fields = _random_tasks(generator, tasks)
    counts = generator.integers(nodes[0], nodes[1] + 1, steps).tolist()
    loose = generator.choice([0.5, 1.0], steps).tolist() if tolerance is None else [tolerance] * steps
    if seed % 3 == 2:
        for name in ("work", "state_size"):
            fields[name] = [generator.permutation(fields[name]).tolist() for _ in range(steps)]
    empty = tasks is None and bool(generator.random() < 0.5)
    return MigrationSequence(**fields, nodes=counts, tolerance=loose, allow_empty=empty)


def random_policy_problem(
    seed: int, *, tasks: int | None = None, counts: tuple[int, ...] = (1, 2, 3), tolerance: float | None = None
) -> MigrationPolicyProblem:
    """Draw a migration with a random future."""
    generator = np.random.default_rng(seed)
    fields = _random_tasks(generator, tasks)
    transitions = generator.random((len(counts), len(counts)))
    transitions /= transitions.sum(axis=1, keepdims=True)
    return MigrationPolicyProblem(
        **fields,
        nodes=int(generator.choice(counts)),
        tolerance=float(generator.choice([0.5, 1.0])) if tolerance is None else tolerance,
        allow_empty=tasks is None and bool(generator.random() < 0.5),
        node_counts=counts,
        transitions=transitions.tolist(),
        discount=0.8,
    )


def _random_tasks(generator: np.random.Generator, tasks: int | None) -> dict[str, Any]:
    count = int(generator.integers(4, 8)) if tasks is None else tasks
    lightest = 0 if tasks is None else 6
    old = np.sort(generator.integers(0, count + 1, int(generator.integers(0, 4)))).tolist()
    intervals = list(pairwise([0, *old, count]))
    generator.shuffle(intervals)
    return {
        "work": generator.integers(lightest, 10, count).astype(float).tolist(),
        "state_size": generator.integers(0, 10, count).astype(float).tolist(),
        "intervals": [(int(a), int(b)) for a, b in intervals],
    }
