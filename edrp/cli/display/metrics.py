"""Metrics as a table, each with its unit."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from edrp.cli.terminal import table

DIMENSIONLESS = "1"


def metric_table(metrics: Mapping[str, float], units: Mapping[str, str], *, titles: bool = False) -> Table:
    """Every metric with its value and unit.

    Parameters
    ----------
    metrics
        Values by name.
    units
        Units of those metrics that are neither counts nor shares.
    titles
        Whether names are printed as words, without underscores.
    """
    rows = [
        (name.replace("_", " ") if titles else name, f"{value:.6g}", units.get(name, DIMENSIONLESS))
        for name, value in metrics.items()
    ]
    return table(("metric", "value", "unit"), rows, right=("value",))
