"""Families of migration problems: one step, known sequences and policies, each by how work is spread over tasks."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.families.family import Family, Fields, first_line
from edrp.datasets.migration.skew import WORK, WorkMaker, draw_state
from edrp.datasets.random_numbers import rounded
from edrp.datasets.traces.trace import even_intervals
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.sequence import MigrationSequence
from edrp.migration.single_step import MigrationProblem, migration_clashes


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


def _random_tasks(generator: np.random.Generator, tasks: int | None) -> Fields:
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


MIGRATION_TASKS, SEQUENCE_TASKS, POLICY_TASKS = 64, 24, 24
"""Default sizes."""

TOLERANCES = (0.2, 1.2)
MIN_TASKS_PER_NODE = 4
"""Minimum number of tasks per node, which limits the number of nodes that is drawn."""

UNCHECKED_COUNT_SHARE = 0.3
"""Probability that the node count is kept as drawn, even if no assignment keeps the tolerance."""

EARLIER_WORK = (0.5, 1.5)
"""Range of the work for which the tasks were assigned, relative to the work now."""

SEQUENCE_STEPS = 5
CHANGING_SHARE = 0.3
"""Probability that the work of a sequence changes from step to step."""

DISCOUNTS = (0.5, 0.9)


def _migration(tasks: int, random: np.random.Generator, make_work: WorkMaker) -> MigrationProblem:
    work = np.array(rounded(make_work(tasks, random)))
    before = int(random.integers(1, _most_nodes(tasks) + 1))
    tolerance = float(random.uniform(*TOLERANCES))
    nodes = _carrying(work, _other_count(before, _most_nodes(tasks), random), tolerance, random)
    return MigrationProblem(**rounded(_tasks(work, before, random)), nodes=nodes, tolerance=round(tolerance, 3))


def _sequence(tasks: int, random: np.random.Generator, make_work: WorkMaker) -> MigrationSequence:
    work = np.array(rounded(make_work(tasks, random)))
    max_nodes = max(2, _most_nodes(tasks))
    before = int(random.integers(1, max_nodes + 1))
    tolerance = float(random.uniform(*TOLERANCES))
    described = _tasks(work, before, random)
    rows = [work]
    if random.random() < CHANGING_SHARE:
        rows = [np.array(rounded(work * random.uniform(*EARLIER_WORK, tasks))) for _ in range(SEQUENCE_STEPS)]
        described["work"] = rows
    counts = [before]
    for step in range(SEQUENCE_STEPS):
        other = _other_count(counts[-1], max_nodes, random)
        counts.append(_carrying(rows[step % len(rows)], other, tolerance, random))
    return MigrationSequence(**rounded(described), nodes=tuple(counts[1:]), tolerance=(round(tolerance, 3),) * SEQUENCE_STEPS)


def _policy(tasks: int, random: np.random.Generator, make_work: WorkMaker) -> MigrationPolicyProblem:
    work = np.array(rounded(make_work(tasks, random)))
    tolerance = float(random.uniform(*TOLERANCES))
    high = _carrying(work, int(random.integers(2, max(2, _most_nodes(tasks)) + 1)), tolerance, random)
    counts = list(range(max(1, high - 2), high + 1))
    before, nodes = (int(random.choice(counts)) for _ in range(2))
    return MigrationPolicyProblem(
        **rounded(_tasks(work, before, random)),
        nodes=nodes,
        tolerance=round(tolerance, 3),
        node_counts=tuple(counts),
        transitions=tuple(_shares(len(counts), random) for _ in counts),
        discount=round(float(random.uniform(*DISCOUNTS)), 2),
    )


def _tasks(work: Floats, nodes: int, random: np.random.Generator) -> Fields:
    """Work, state and the intervals of nodes that were even when the work was another."""
    drifted = work * random.uniform(*EARLIER_WORK, work.size)
    return {"work": work, "state_size": draw_state(work, random), "intervals": even_intervals(drifted, nodes)}


def _other_count(nodes: int, max_nodes: int, random: np.random.Generator) -> int:
    """Draw another number of nodes: up or down by at least one and at most half."""
    change = int(random.integers(1, max(2, nodes // 2 + 1)))
    up = nodes == 1 or (nodes < max_nodes and random.random() < 0.5)
    return min(max(max_nodes, 2), nodes + change) if up else max(1, nodes - change)


def _carrying(work: Floats, nodes: int, tolerance: float, random: np.random.Generator) -> int:
    """Adjust the node count until some assignment keeps the tolerance, except with `UNCHECKED_COUNT_SHARE`."""
    if random.random() < UNCHECKED_COUNT_SHARE:
        return nodes
    while migration_clashes(work.tolist(), nodes, round(tolerance, 3), allow_empty=True):
        nodes -= 1
    return nodes


def _shares(count: int, random: np.random.Generator) -> tuple[float, ...]:
    """Draw probabilities in hundredths that sum to 1 exactly."""
    return tuple((random.multinomial(100, random.dirichlet(np.ones(count))) / 100).tolist())


def _most_nodes(tasks: int) -> int:
    return max(1, tasks // MIN_TASKS_PER_NODE)


FAMILIES = tuple(
    Family(
        name=work,
        kind=kind,
        summary=f"{what}; {first_line(make_work)[0].lower()}{first_line(make_work)[1:]}",
        make=partial(make, make_work=make_work),
        size="tasks",
        default_size=default,
        least_size=2,
        packages=packages,
    )
    for kind, default, what, make in (
        ("migration", MIGRATION_TASKS, "more or fewer nodes", _migration),
        ("migration-sequence", SEQUENCE_TASKS, f"{SEQUENCE_STEPS} steps of more or fewer nodes", _sequence),
        ("migration-policy", POLICY_TASKS, "node counts that go up and down at random", _policy),
    )
    for work, (make_work, packages) in WORK.items()
)
"""One per kind and way in which work is spread, for the records of their kinds."""
