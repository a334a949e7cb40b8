"""Cells of Tables 3 to 6, measured and printed, and the distance of a setting from the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from edrp.validation.papers.enactment.printed_values import (
    BTU,
    COMPLIANCES,
    PAPER,
    PATTERNS,
    QUANTITIES,
    RESOURCE_COST,
    THRESHOLD,
    TOTALS,
    UNITS,
    Column,
    Printed,
)
from edrp.validation.papers.enactment.runs import Samples


class ComparedCell(NamedTuple):
    """One number of a table.

    Attributes
    ----------
    pattern, column, quantity : where it stands.
    ours : mean and standard deviation over the seeds; no deviation of a single one.
    paper : the paper's printed values.
    """

    pattern: str
    column: Column
    quantity: str
    ours: Printed
    paper: Printed

    @property
    def difference(self) -> float:
        """Ours less the paper's."""
        return self.ours.mean - self.paper.mean

    @property
    def error(self) -> float:
        """The difference of a compliance as it is (0.01 is a point), that of a cost as a share of the paper's; never negative."""
        return abs(self.difference) / (1.0 if self.quantity in COMPLIANCES else self.paper.mean)


class SettingError(NamedTuple):
    """The distance of a setting from Tables 3 to 6, as shares (0.01 is a point, or a per cent).

    Attributes
    ----------
    compliance : mean error of the compliances: 36 of the BTU policy and 12 of the threshold policy, which has one for all units.
    worst_btu, worst_threshold : largest error of a compliance by policy.
    resource_cost : mean relative error of the 24 resource costs.
    totals : mean relative error of the 72 total costs.
    """

    compliance: float
    worst_btu: float
    worst_threshold: float
    resource_cost: float
    totals: float


def measured_cells(samples: Samples) -> Iterator[ComparedCell]:
    """Every cell of Tables 3 to 6 that was measured, table by table."""
    for (pattern, column), own in samples.items():
        for quantity in QUANTITIES if column in PAPER.get(pattern, {}) else ():
            values = own[quantity]
            deviation = float(values.std(ddof=1)) if values.size > 1 else None
            yield ComparedCell(
                pattern, column, quantity, Printed(float(values.mean()), deviation), PAPER[pattern][column][quantity]
            )


def setting_error(samples: Samples) -> SettingError:
    """Distance of the samples of one setting from Tables 3 to 6; NaN where nothing was measured.

    Patterns and units that are missing do not count.
    """
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
        (pattern, Column(policy, unit)): {
            name: np.array([PAPER[pattern][Column(policy, unit)][name].mean]) for name in QUANTITIES
        }
        for pattern in PATTERNS
        for policy in (BTU, THRESHOLD)
        for unit in UNITS
    }


def _mean(errors: list[float]) -> float:
    return float(np.mean(errors)) if errors else float("nan")
