"""Instances of the sizes in the papers' tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from edrp.core.problem import Problem
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.placement.topologies import ansnet
from edrp.heuristics.migration.node_change import BalancedPacking
from edrp.migration.single_step import MigrationProblem
from edrp.validation.papers.edrp.experiments import WEIGHTINGS, first_deployment
from edrp.validation.papers.edrp.table_iv import MAX_REPLICAS, NODES, PROGRAM_RATE, TABLE_NETWORK_SEED
from edrp.validation.papers.state_migration.node_count_series import departures

RATES = (70.0, 107.5, 145.0, 182.5, 220.0)
"""Tuples/s, from the least to the greatest of EDRP, section 7.2."""

TOLERANCES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
MIGRATIONS = 10
"""Consecutive migrations for each tolerance (state migration, section 6)."""

TASKS = 64


def paper_instances(data: Path | None = None) -> Iterator[tuple[str, Problem]]:
    """Identifiers and problems: EDRP, sections 7.2 (Tables II and III) and 7.4 (Table IV); state migration, section 6.

    `data` is not needed.
    """
    network = ansnet()
    for replicas, rate in product(MAX_REPLICAS, RATES):
        yield f"edrp-place-ansnet-{replicas}-{rate:g}", debs2015(rate, network, max_replicas=replicas)
    start = first_deployment(RATES[0], network)
    for name, rate in product(WEIGHTINGS, RATES[1:]):
        yield (
            f"edrp-reconfigure-{name.lower().replace(' ', '-')}-{rate:g}",
            debs2015(rate, network, weights=WEIGHTINGS[name], current=start),
        )
    for nodes, replicas in product(NODES, MAX_REPLICAS):
        yield (
            f"edrp-table-iv-{nodes}-{replicas}",
            debs2015(PROGRAM_RATE, geometric(nodes, TABLE_NETWORK_SEED), max_replicas=replicas),
        )
    yield from _migrations()


def _migrations() -> Iterator[tuple[str, Problem]]:
    series = departures()
    tasks = series.tasks(TASKS)
    counts = series.migrations(MIGRATIONS).tolist()
    for tolerance in TOLERANCES:
        for step, (before, after) in enumerate(pairwise(counts)):
            node_of_task = BalancedPacking(allow_empty=False).initial(tasks.work, before)
            ends = np.searchsorted(node_of_task, np.arange(before + 1)).tolist()
            yield (
                f"migration-tolerance {tolerance:g}-{step}",
                MigrationProblem(
                    work=tuple(tasks.work.tolist()),
                    state_size=tuple(tasks.state_size.tolist()),
                    intervals=tuple(pairwise(ends)),
                    nodes=after,
                    tolerance=tolerance,
                ),
            )
