"""Errors of latency coordinates against latencies that they have not seen, round by round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console

from edrp.core.arrays import Floats
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.aws import aws_delays
from edrp.datasets.placement.coordinates.latencies import estimation_rounds
from edrp.datasets.placement.coordinates.simulation import SpringParameters
from edrp.report.statements import Statement, claim, print_statements
from edrp.report.tables import Table, print_tables

NETWORK_NODES, NETWORK_SEED = 100, 7
UNITS = {"seconds": 1.0, "milliseconds": 1e3}


def run(console: Console, *, data: Path | None = None, seeds: int = 10) -> dict[str, Floats]:
    """Print median errors by round of nodes in the plane and, where there is a folder of data with them, AWS regions.

    The errors are given by what was estimated and the unit of the input, shape (seeds, rounds).
    """
    errors: dict[str, Floats] = {}
    network = geometric(NETWORK_NODES, seed=NETWORK_SEED)
    nodes = [node.name for node in network.nodes]
    plane = np.array([[network.delay(u, v) for v in nodes] for u in nodes])
    subjects = {"plane of 100 nodes, 16 peers": (nodes, plane, SpringParameters(peers=16, kept=8, rounds=10))}
    if data is not None:
        regions, delays = aws_delays(data)
        subjects["AWS, 20 regions, 8 peers"] = (list(regions), delays, SpringParameters(peers=8, kept=4, rounds=5))
    for name, (names, truth, parameters) in subjects.items():
        for unit, scale in UNITS.items():
            errors[f"{name}, {unit}"] = round_errors(names, truth * scale, parameters, seeds)
    print_tables(console, error_table(errors))
    print_statements(console, coordinate_statements(errors))
    return errors


def round_errors(names: list[str], truth: Floats, parameters: SpringParameters, seeds: int) -> Floats:
    """Median over all pairs of the relative error of distances, shape (seeds, rounds)."""
    pairs = np.triu_indices(len(names), 1)

    def error(distance: Floats) -> float:
        return float(np.median(np.abs(distance - truth)[pairs] / truth[pairs]))

    runs = (estimation_rounds(names, truth, parameters, seed=seed) for seed in range(seeds))
    return np.array([[error(estimate.distance) for estimate in rounds] for rounds in runs])


def coordinate_statements(errors_by_name: dict[str, Floats]) -> tuple[Statement, ...]:
    """Whether errors are as small as they should be, in any unit."""
    statements = []
    for subject, maximum in (("AWS", 0.10), ("plane", 0.05)):
        rows = {name: errors for name, errors in errors_by_name.items() if name.startswith(subject)}
        if not rows:
            continue
        worst = max(float(np.median(errors[:, -1])) for errors in rows.values())
        first, second = rows.values()
        same = float(np.abs(first - second).max())
        statements += [
            claim(f"{subject}: median error at most {maximum:.0%} after the last round", worst <= maximum, f"{worst:.1%}"),
            claim(f"{subject}: the same in milliseconds and seconds", same < 1e-6, f"largest difference {same:.0e}"),
        ]
    return tuple(statements)


def error_table(errors_by_name: dict[str, Floats]) -> Table:
    """Median error by round, and that of the worst seed after the last."""
    rounds = max(errors.shape[1] for errors in errors_by_name.values())
    rows = []
    for name, errors in errors_by_name.items():
        cells = [f"{100 * value:.2g}" for value in np.median(errors, axis=0)]
        rows.append((name, *cells, *[""] * (rounds - len(cells)), f"{100 * errors[:, -1].max():.2g}"))
    columns = (*map(str, range(1, rounds + 1)), "worst seed")
    return Table("Median error in % after each round", ("", *columns), tuple(rows), columns)
