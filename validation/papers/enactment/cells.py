"""Cells of Tables 3 to 6, measured and printed, and the distance of a setting from the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from edrp.validation.papers.enactment.printed_values import (
    BTU,
    COLUMNS,
    COMPLIANCES,
    PAPER,
    QUANTITIES,
    RESOURCE_COST,
    THRESHOLD,
    TOTALS,
    Column,
    Printed,
)
from edrp.validation.papers.enactment.runs import Samples


class ComparedCell(NamedTuple):
    """One number of a table: the mean and standard deviation over our seeds (no deviation of a single one), and the paper's."""

    pattern: str
    column: Column
    quantity: str
    ours: Printed
    paper: Printed

    @property
    def difference(self) -> float:
        """Measured mean less the paper's."""
        return self.ours.mean - self.paper.mean

    @property
    def error(self) -> float:
        """The difference of a compliance as it is (0.01 is a point), that of a cost as a share of the paper's; never negative."""
        return abs(self.difference) / (1.0 if self.quantity in COMPLIANCES else self.paper.mean)


class SettingError(NamedTuple):
    """The distance of a setting from Tables 3 to 6, as shares (0.01 is a point, or a per cent).

    The mean error of the compliances, 36 of the BTU policy and 12 of the threshold policy, which has one for all units; the
    largest one by policy; mean relative errors of the 24 resource costs and of the 72 total costs.
    """

    compliance: float
    worst_btu: float
    worst_threshold: float
    resource_cost: float
    totals: float


def measured_cells(samples: Samples) -> Iterator[ComparedCell]:
    """Every cell of Tables 3 to 6 that was measured, table by table."""
    for (pattern, column), cell_samples in samples.items():
        for quantity in QUANTITIES if column in PAPER.get(pattern, {}) else ():
            values = cell_samples[quantity]
            deviation = float(values.std(ddof=1)) if values.size > 1 else None
            yield ComparedCell(
                pattern, column, quantity, Printed(float(values.mean()), deviation), PAPER[pattern][column][quantity]
            )


def setting_error(samples: Samples) -> SettingError:
    """Distance of the samples of one setting from Tables 3 to 6, as far as they were measured; NaN where nothing was."""
    cells = list(measured_cells(samples))
    first = min((cell.column.unit for cell in cells), default=0)
    btu = [cell.error for cell in cells if cell.column.policy == BTU and cell.quantity in COMPLIANCES]
    threshold = [cell.error for cell in cells if cell.column == Column(THRESHOLD, first) and cell.quantity in COMPLIANCES]
    return SettingError(
        _mean([*btu, *threshold]),
        max(btu, default=np.nan),
        max(threshold, default=np.nan),
        _mean([cell.error for cell in cells if cell.quantity == RESOURCE_COST]),
        _mean([cell.error for cell in cells if cell.quantity in TOTALS]),
    )


def paper_samples() -> Samples:
    """The means of Tables 3 to 6 as if they had been measured, one sample each.

    >>> setting_error(paper_samples()).compliance
    0.0
    """
    return {
        (pattern, column): {name: np.array([table[column][name].mean]) for name in QUANTITIES}
        for pattern, table in PAPER.items()
        for column in COLUMNS
    }


def _mean(errors: list[float]) -> float:
    return float(np.mean(errors)) if errors else float("nan")
