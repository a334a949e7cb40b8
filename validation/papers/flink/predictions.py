"""Predictions of rescales against what was measured: errors and coverage."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from edrp.report.formatting import NONE
from edrp.report.statements import Statement, claim
from edrp.report.tables import Table
from edrp.validation.papers.flink.rows import Row

UNITS = {
    "throughput": "relative",
    "busy": "share of time",
    "latency": "relative",
    "silence": "s",
    "downtime": "s",
    "state": "relative",
}
"""Unit in which the error of each quantity is written."""

WAYS = {
    "predicted": "the model",
    "calibrated": "the model, right before the change",
    "by_metadata": "the checkpoint's metadata",
    "ds2": "DS2's rule",
}

RESCALES = 100
BUSY, THROUGHPUT = 0.05, 0.03
COVERAGE = (0.85, 0.95)
"""Aims: number of rescales, median errors, and share of measurements within 90 % intervals."""


def quantities(rows: Sequence[Row], quantity: str, job: str | None = None) -> list[Row]:
    """All predictions of a quantity, of one job or of all."""
    return [q for row in rows if job in (None, row["job"]) for q in row["quantities"] if q["quantity"] == quantity]


def errors(quantity_rows: Sequence[Row], way: str = "predicted") -> np.ndarray:
    """Absolute errors of a way to predict, relative to what was measured where that is the unit."""
    relative = quantity_rows and UNITS[quantity_rows[0]["quantity"]] == "relative"
    return np.array([abs(q["measured"] - q[way]) / (max(abs(q["measured"]), 1e-9) if relative else 1.0) for q in quantity_rows])


def coverage(quantity_rows: Sequence[Row]) -> float:
    """Share of measurements within their intervals; not a number where there are none."""
    known = [q["low"] <= q["measured"] <= q["high"] for q in quantity_rows if "low" in q]
    return sum(known) / len(known) if known else math.nan


def prediction_table(rows: Sequence[Row]) -> Table:
    """Errors of every quantity, by job and over all."""
    jobs = list(dict.fromkeys(row["job"] for row in rows))
    shown = [cells for job in (None, *jobs) for cells in _job_rows(rows, job)]
    right = ("predictions", "median error", "90th percentile", "within 90 % interval")
    return Table("Predictions of rescales", ("job", "quantity", "by", *right), tuple(shown), right, open=True)


def _job_rows(rows: Sequence[Row], job: str | None) -> Iterator[tuple[str, ...]]:
    for quantity, unit in UNITS.items():
        for way, name in WAYS.items():
            quantity_rows = [q for q in quantities(rows, quantity, job) if way in q]
            if not quantity_rows:
                continue
            wrong = errors(quantity_rows, way)
            within = coverage(quantity_rows) if way == "predicted" else math.nan
            yield (
                job or "all",
                f"{quantity} [{unit}]",
                name,
                str(len(quantity_rows)),
                f"{np.median(wrong):.3f}",
                f"{np.quantile(wrong, 0.9):.3f}",
                NONE if math.isnan(within) else f"{100 * within:.0f} %",
            )


def prediction_statements(rows: Sequence[Row]) -> Iterator[Statement]:
    """Judge the aims of the predictions."""
    yield claim(f"at least {RESCALES} rescales were predicted", len(rows) >= RESCALES, f"{len(rows)} of them")
    for quantity, limit, text in (("busy", BUSY, "0.05"), ("throughput", THROUGHPUT, "3 %")):
        quantity_rows = quantities(rows, quantity)
        if quantity_rows:
            wrong = float(np.median(errors(quantity_rows)))
            share = coverage(quantity_rows)
            yield claim(f"the median error of {quantity} is at most {text}", wrong <= limit, f"{wrong:.3f}")
            evidence = f"{100 * share:.0f} % of {len(quantity_rows)}"
            yield claim(f"90 % intervals of {quantity} cover 85 to 95 %", COVERAGE[0] <= share <= COVERAGE[1], evidence)
    judged_rows = [row["keeps_up"] for row in rows if "keeps_up" in row]
    if judged_rows:
        correct = {predictor: sum(row[predictor] == row["measured"] for row in judged_rows) for predictor in ("predicted", "ds2")}
        evidence = f"{correct['predicted']} against {correct['ds2']} of {len(judged_rows)}"
        yield claim(
            "the model knows at least as often as DS2's rule who keeps up", correct["predicted"] >= correct["ds2"], evidence
        )
