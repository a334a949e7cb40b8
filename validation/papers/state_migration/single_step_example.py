"""Tables 3 and 4 of state migration: costs as printed, and the optimal ones."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from rich.console import Console

from edrp.core.arrays import AnyInts
from edrp.core.solve import solve
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.migration.intervals import load_limit
from edrp.migration.policy import migration_costs
from edrp.migration.sequence import MigrationSequence
from edrp.report.tables import Table, print_tables

EXAMPLE_TASKS, START, NODE_COUNTS, EXAMPLE_TOLERANCE = 20, (0, 13, 20), (3, 4), 0.4

TABLE_4 = TransitionMatrix([2, 3, 4], [[0.3, 0.6, 0.1], [0.3, 0.4, 0.3], [0.1, 0.5, 0.4]])


class TableThree(NamedTuple):
    """Costs in tasks moved, by counting everything.

    Least costs of the first step, and of the second one after the printed first one (9, 2 and 9 tasks); least and greatest total
    of two steps that are optimal one by one; least total of the sequence, and what `edrp.solve` finds.
    """

    first: float
    second_after_printed: float
    greedy: tuple[float, float]
    sequence: float
    method: float


def table_three() -> TableThree:
    """Count all partitions of Table 3's example, and solve its sequence.

    >>> table_three()
    TableThree(first=4.0, second_after_printed=4.0, greedy=(6.0, 8.0), sequence=6.0, method=6.0)
    """
    sizes = np.ones(EXAMPLE_TASKS).tolist()
    thirds, quarters = (_partitions(nodes) for nodes in NODE_COUNTS)
    first = migration_costs(START, thirds, sizes)
    second = np.array([migration_costs(tuple(boundaries), quarters, sizes).min() for boundaries in thirds])
    best_first = first == first.min()
    printed = (thirds == np.array([0, 9, 11, 20])).all(axis=1)
    problem = MigrationSequence(
        work=sizes,
        state_size=sizes,
        intervals=[(0, 13), (13, 20)],
        nodes=NODE_COUNTS,
        tolerance=[EXAMPLE_TOLERANCE] * 2,
        allow_empty=False,
    )
    optimum = solve(problem).objective
    assert optimum is not None
    totals = (first + second)[best_first]
    return TableThree(
        float(first.min()),
        float(second[printed][0]),
        (float(totals.min()), float(totals.max())),
        float((first + second).min()),
        optimum,
    )


def run(console: Console) -> None:
    """Print both tables next to the paper's, and explain the difference."""
    costs = table_three()
    low, high = costs.greedy
    rows = (
        ("least cost of the first step, 2 → 3 nodes", "4", f"{costs.first:g}"),
        ("least cost of the second, 3 → 4 nodes, after 9, 2 and 9 tasks", "6", f"{costs.second_after_printed:g}"),
        ("two steps, optimal one by one", "10", f"{low:g} to {high:g}, by which of equal first steps is taken"),
        ("both together: the alternative, the optimum", "9", f"{costs.sequence:g}; method oms finds {costs.method:g}"),
    )
    print_tables(console, Table("Table 3", ("20 equal tasks, τ = 0.4, tasks moved", "Paper", "Counted"), rows))
    console.print("The paper's single-step costs are not optimal: every partition was listed here, and every way between them.")
    chance = TABLE_4.sequence_probability([2, 3, 4])
    lasting = ", ".join(f"{count}: {share:.3f}" for count, share in zip(TABLE_4.node_counts, TABLE_4.stationary(), strict=True))
    console.print(f"Table 4: the sequence 2, 3, 4 has probability {chance:.2f} (paper 0.18); in the long run {lasting}.")


def _partitions(nodes: int) -> AnyInts:
    limit = load_limit(EXAMPLE_TASKS, nodes, EXAMPLE_TOLERANCE)
    rows = np.array([(0, *inner, EXAMPLE_TASKS) for inner in combinations(range(1, EXAMPLE_TASKS), nodes - 1)])
    return np.asarray(rows[(np.diff(rows, axis=1) <= limit).all(axis=1)])
