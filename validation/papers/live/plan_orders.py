"""Worth of the order of moves: peaks of latency and durations of the same moves in the paper's order and in others'."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from edrp.report.formatting import NONE, Unit
from edrp.report.statements import Statement, claim
from edrp.report.tables import Table
from edrp.validation.papers.flink.rows import Row, load_text

NAMES = {
    "planned": "mini-migrations (paper)",
    "greedy": "greedy by counts (DRRS)",
    "sudden": "sudden (Megaphone)",
    "fluid": "fluid (Megaphone)",
    "batched": "batched (Megaphone)",
}
"""Orders and where they are from."""

ROUGH, GENTLE = ("sudden", "greedy"), ("fluid", "batched")
"""Orders that are done soon, which must have higher peaks, and orders with low peaks, which must take longer."""

EQUAL_BYTES = 0.02
"""Relative difference of moved bytes up to which the same was moved: states are serialised at another moment."""

MILLISECONDS, SECONDS, MEGABYTES = Unit(1e3, ".0f"), Unit(1, ".2f"), Unit(1e-6, ".1f")


def runs(rows: Sequence[Row], workload: str, order: str) -> list[Row]:
    """Runs of an order on a workload."""
    return [row for row in rows if row["workload"] == workload and row["order"] == order]


def workloads(rows: Sequence[Row]) -> list[str]:
    """Workloads, in the order in which they were measured."""
    return list(dict.fromkeys(row["workload"] for row in rows))


def peak(rows: Sequence[Row]) -> float:
    """Median over runs of the largest latency during a plan, in seconds."""
    return float(median(row["during"]["max"] for row in rows))


def duration(rows: Sequence[Row]) -> float:
    """Median over runs of the time that a plan took, in seconds."""
    return float(median(row["seconds"] for row in rows))


def order_table(rows: Sequence[Row]) -> Table:
    """One row for each workload and order: medians over its runs."""
    shown = []
    for workload in workloads(rows):
        for order, name in NAMES.items():
            listed = runs(rows, workload, order)
            if listed:
                stable = [row["stable"] for row in listed if row["stable"] is not None]
                again = SECONDS.number(median(stable)) if len(stable) == len(listed) else NONE
                late = (MILLISECONDS.number(median(row["during"][figure] for row in listed)) for figure in ("max", "p99", "mean"))
                times = (SECONDS.number(median(row[figure] for row in listed)) for figure in ("seconds", "planned"))
                counts = (f"{median(row[figure] for row in listed):g}" for figure in ("steps", "held"))
                moved = MEGABYTES.number(median(row["bytes"] for row in listed))
                cells = (str(len(listed)), *counts, *late, *times, again, moved, load_text(listed))
                shown.append((f"{workload}, {' and '.join(map(str, listed[0]['workers']))} workers: {name}", *cells))
    right = (
        *("plans", "steps", "tuples that\nwaited", "peak latency\n[ms]", "p99 [ms]", "mean [ms]"),
        *("duration\n[s]", "predicted\n[s]", "stable again\n[s]", "moved\n[MB]", "load of the\nmachine"),
    )
    note = (
        "Medians over plans out and back. Latencies are of tuples that were due from the begin of a plan to its end; a job is "
        "stable again once latencies stay below 1.1 times the largest one before for a second (DRRS: for 100 s)."
    )
    return Table("The same moves in five orders", ("workload: order", *right), tuple(shown), right, note=note, open=True)


def order_statements(rows: Sequence[Row]) -> Iterator[Statement]:
    """Judge what the paper's order is worth on each workload."""
    for workload in workloads(rows):
        known = {order: listed for order in NAMES if (listed := runs(rows, workload, order))}
        ours = known.pop("planned", None)
        if ours is None or not known:
            continue
        yield from _fewer(workload, "have a lower peak latency", {"planned": ours, **known}, ROUGH, peak, Unit(1e3, ".0f", " ms"))
        yield from _fewer(workload, "take less time", {"planned": ours, **known}, GENTLE, duration, Unit(1, ".2f", " s"))
        size = [row["bytes"] for listed in (ours, *known.values()) for row in listed]
        found = f"{min(size) / 1e6:.1f} to {max(size) / 1e6:.1f} MB"
        yield claim(f"{workload}: all orders move the same", max(size) <= (1 + EQUAL_BYTES) * min(size), found)


def _fewer(
    workload: str,
    what: str,
    known: Mapping[str, list[Row]],
    others: Sequence[str],
    figure: Callable[[list[Row]], float],
    unit: Unit,
) -> Iterator[Statement]:
    """The statement that mini-migrations have less of a figure than each of some orders."""
    figures = {order: figure(known[order]) for order in others if order in known}
    if figures:
        ours, best = figure(known["planned"]), min(figures, key=figures.__getitem__)
        found = f"{unit.text(ours)} against {unit.text(figures[best])} of {NAMES[best]}"
        sentence = f"{workload}: mini-migrations {what} than the orders {' and '.join(others)}"
        yield claim(sentence, ours < figures[best], found)
