"""Tables 3 to 6 of cost-efficient enactment as they are printed, with what is misprinted.

BTU is the paper's billing time unit: what a host is leased for. The configurations BTU10, BTU30 and BTU60 lease by 10,
30 and 60 minutes, for 1, 3 and 6 units of money.

>>> PAPER["stepwise"][Column("btu", 60)]["near_real_time_total"]
Printed(mean=108.88, deviation=3.17)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

PATTERNS = ("stepwise", "two-level", "random-walk-1", "random-walk-2")
TABLE_NUMBERS = {pattern: number for number, pattern in enumerate(PATTERNS, 3)}
FIGURE_NUMBERS = {pattern: number for number, pattern in enumerate(PATTERNS, 8)}

UNITS = (10, 30, 60)
"""Minutes of a billing time unit."""

BTU, THRESHOLD = "btu", "threshold"
POLICIES = (BTU, THRESHOLD)

LEVELS = ("real_time", "near_real_time", "relaxed")
COMPLIANCES = tuple(f"{level}_compliance" for level in LEVELS)
TOTALS = tuple(f"{level}_total" for level in LEVELS)
RESOURCE_COST = "resource_cost"
QUANTITIES = (*COMPLIANCES, RESOURCE_COST, *TOTALS)
"""Rows of each table: compliances are shares, costs are money."""

WORDS = {
    "real_time_compliance": "real-time compliance",
    "near_real_time_compliance": "near-real-time compliance",
    "relaxed_compliance": "relaxed compliance",
    "resource_cost": "resource cost",
    "real_time_total": "real-time total",
    "near_real_time_total": "near-real-time total",
    "relaxed_total": "relaxed total",
    "scalings": "scaling activity",
    "late_scalings": "scaling activity",
    "following": "correlation of instances with load",
}


class Printed(NamedTuple):
    """A mean over three runs and its standard deviation; None where the deviation is a misprint."""

    mean: float
    deviation: float | None


class Column(NamedTuple):
    """One column of a table: a policy billed by units of `unit` minutes."""

    policy: str
    unit: int


COLUMNS = tuple(Column(policy, unit) for policy in POLICIES for unit in UNITS)

PaperTable = Mapping[Column, Mapping[str, Printed]]

_COMPLIANCES = {
    # In percent: BTU10, BTU30, BTU60, threshold; one line per level. The threshold policy does not know its unit.
    "stepwise": (
        ((49, 1), (52, 1), (53, 1), (40, 1)),
        ((85, 2), (90, 1), (93, 1), (67, 1)),
        ((89, 1), (93, 1), (95, 1), (71, 1)),
    ),
    "two-level": (
        ((48, 1), (50, 1), (55, 1), (40, 2)),
        ((84, 2), (88, 0), (93, 2), (68, 2)),
        ((88, 2), (91, 0), (95, 1), (72, 2)),
    ),
    "random-walk-1": (
        ((49, 1), (52, 2), (54, 0), (39, 0)),
        ((85, 2), (90, 3), (93, 0), (66, 1)),
        ((89, 2), (93, 2), (95, 1), (71, 1)),
    ),
    "random-walk-2": (
        ((49, 2), (51, 1), (53, 0), (41, 1)),
        ((87, 2), (90, 1), (92, 1), (70, 1)),
        ((90, 2), (94, 1), (95, 0), (75, None)),
    ),
}

_COSTS = {
    # BTU10, BTU30, BTU60, then threshold billed by each; resource cost, then the totals of the three levels.
    "stepwise": (
        ((72.33, 3.79), (92.00, 1.73), (98.00, 3.84), (58.00, 1.73), (79.00, 4.58), (120.00, 6.00)),
        ((158.91, 0.82), (173.39, 0.68), (174.69, 4.25), (151.83, 1.95), (172.83, 4.93), (213.83, 6.45)),
        ((96.85, 0.39), (108.24, 0.50), (108.88, 3.17), (109.59, 1.77), (130.59, 4.73), (171.59, 6.35)),
        ((90.96, 1.84), (103.03, 1.04), (105.41, 2.91), (102.97, 1.57), (123.97, 4.49), (164.97, 6.12)),
    ),
    "two-level": (
        ((82.33, 5.13), (96.00, 7.94), (104.00, 6.93), (66.00, 0.00), (86.00, 1.73), (122.00, 3.46)),
        ((169.17, 6.83), (177.62, 6.82), (175.90, 4.77), (157.88, 2.64), (177.88, 4.17), (213.88, 4.16)),
        ((108.35, 6.74), (155.43, 8.18), (114.50, 6.28), (114.62, 3.21), (134.62, 4.19), (170.62, 2.94)),
        ((102.37, 6.74), (110.62, 8.18), (111.73, 6.28), (108.83, 2.40), (128.83, 3.37), (164.83, 2.59)),
    ),
    "random-walk-1": (
        ((69.33, 3.51), (95.00, 1.73), (110.00, 3.46), (61.33, 1.53), (86.00, 1.73), (128.00, 6.93)),
        ((158.19, 4.99), (176.94, 4.70), (185.95, 3.40), (158.68, 1.54), (183.35, 1.40), (225.35, 6.56)),
        ((94.44, 6.14), (111.43, 5.65), (121.61, 2.89), (115.55, 1.14), (140.22, 1.77), (182.22, 6.88)),
        ((88.11, 5.86), (106.67, 4.69), (117.91, 3.16), (107.54, 1.47), (132.21, 2.14), (174.21, 7.25)),
    ),
    "random-walk-2": (
        ((74.00, 6.08), (90.00, 0.00), (106.00, 3.46), (59.67, 4.04), (82.00, 9.17), (118.00, 9.17)),
        ((172.67, 5.35), (184.03, 0.99), (195.73, 3.33), (164.18, 3.84), (187.41, 9.88), (223.41, 9.88)),
        ((100.17, 6.65), (108.91, 2.47), (120.59, 3.59), (113.41, 3.47), (135.98, 9.93), (171.98, 9.93)),
        ((92.67, 7.15), (101.96, 1.61), (115.67, 3.48), (104.43, 2.49), (127.19, 8.29), (163.19, 8.29)),
    ),
}

CORRECTED = {("two-level", Column(BTU, 30), "near_real_time_total"): 115.43}
"""Means that are read differently from what is printed, by pattern, column and quantity; see `ERRATA`."""

ERRATA = (
    "Table 4 prints 155.43 as BTU30's near-real-time total. It lies between the relaxed total, 110.62, and the real-time "
    "total, 177.62, but with 88 % near-real-time and 91 % relaxed compliance the two penalties can differ by a few units only: "
    "we read 115.43.",
    "Table 6 prints different penalties of one threshold run by unit of billing: 104.51 real-time for units of 10 minutes "
    "(164.18 − 59.67), 105.41 for the two others. The policy does not know its unit, so the penalties must be equal. We "
    "compare with the totals as they are printed; the difference is below 1.",
    "Table 6 prints 75 % as the deviation of the threshold's relaxed compliance, which is its mean; we give none.",
    "The text calls BTU30's stepwise real-time total slightly lower than the threshold's and BTU10's real-time total higher "
    "in all patterns; Table 3 prints 173.39 against 172.83, and Table 5 prints 158.19 against 158.68.",
)


def _table(pattern: str) -> PaperTable:
    columns: dict[Column, dict[str, Printed]] = {}
    for position, column in enumerate(COLUMNS):
        shares = [line[min(position, len(UNITS))] for line in _COMPLIANCES[pattern]]
        cells = {
            name: Printed(percent / 100, None if deviation is None else deviation / 100)
            for name, (percent, deviation) in zip(COMPLIANCES, shares, strict=True)
        }
        money = [line[position] for line in _COSTS[pattern]]
        cells |= {name: Printed(*pair) for name, pair in zip((RESOURCE_COST, *TOTALS), money, strict=True)}
        columns[column] = {
            name: cell._replace(mean=CORRECTED.get((pattern, column, name), cell.mean)) for name, cell in cells.items()
        }
    return columns


PAPER: Mapping[str, PaperTable] = {pattern: _table(pattern) for pattern in PATTERNS}
"""Tables 3 to 6 by pattern, with `CORRECTED` put right."""
