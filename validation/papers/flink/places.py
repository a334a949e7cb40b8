"""Placements over sites against what was measured: rank correlation, and where the proven optimum stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edrp.report.statements import Statement, claim
from edrp.report.tables import Table
from edrp.validation.papers.flink.rows import FlinkRows, Row

RANK = 0.9
"""Aim for the rank correlation of predicted and measured latencies."""

MILLISECONDS = 1e3


def placements_by_run(rows: FlinkRows) -> dict[int, list[Row]]:
    """The placements of each run, by its seed."""
    return {
        seed: [row for row in rows.placements if row["seed"] == seed] for seed in sorted({r["seed"] for r in rows.placements})
    }


def rank_correlation(placements: Sequence[Row]) -> float:
    """Spearman's rank correlation of predicted and measured latencies."""
    from scipy.stats import spearmanr

    return float(spearmanr([row["predicted"] for row in placements], [row["measured"] for row in placements]).statistic)


def optimum_and_best(placements: Sequence[Row]) -> tuple[float, float] | None:
    """Measured latency of the proven optimum and least of the others, in seconds; None where either is missing."""
    optima = [row["measured"] for row in placements if row["optimum"]]
    others = [row["measured"] for row in placements if not row["optimum"]]
    return (min(optima), min(others)) if optima and others else None


def place_table(rows: FlinkRows) -> Table:
    """One row for each run."""
    shown = []
    for seed, placements in placements_by_run(rows).items():
        wrong = [abs(row["predicted"] / row["measured"] - 1) for row in placements]
        both = optimum_and_best(placements)
        latencies = ["–", "–"] if both is None else [f"{MILLISECONDS * latency:.0f}" for latency in both]
        factor = next((f"{row['delay_factor']:.2f}" for row in rows.calibrations if row["seed"] == seed), "–")
        numbers = (f"{rank_correlation(placements):.3f}", f"{100 * np.median(wrong):.0f}")
        shown.append((str(seed), str(len(placements)), factor, *numbers, *latencies))
    errors = ("rank correlation", "median error\n[%]", "proven optimum\n[ms]", "best other\n[ms]")
    right = ("placements", "a delay counts", *errors)
    return Table("Placements over three sites", ("run", *right), tuple(shown), right, open=True)


def place_statements(rows: FlinkRows) -> Iterator[Statement]:
    """Judge the aims of the placements for each run."""
    for seed, placements in placements_by_run(rows).items():
        if len(placements) < 3:
            continue
        rank = rank_correlation(placements)
        yield claim(f"run {seed}: predicted and measured latencies have a rank correlation of 0.9", rank >= RANK, f"{rank:.3f}")
        both = optimum_and_best(placements)
        if both is not None:
            latencies = f"{MILLISECONDS * both[0]:.0f} ms against {MILLISECONDS * both[1]:.0f} ms of the best other one"
            yield claim(f"run {seed}: the proven optimum is the best that was measured", both[0] <= both[1], latencies)
