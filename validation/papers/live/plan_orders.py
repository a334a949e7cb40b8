"""What the order of moves is worth: peaks of latency and durations of the same moves in the paper's order and in others'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
                shown.append((f"{workload}, {_owners(listed[0])}: {name}", *cells))
    right = (
        *(
            "plans",
            "steps",
            "tuples that\nwaited",
            "peak latency\n[ms]",
            "p99 [ms]",
            "mean [ms]",
            "duration\n[s]",
            "predicted\n[s]",
        ),
        *("stable again\n[s]", "moved\n[MB]", "load of the\nmachine"),
    )
    note = (
        "Medians over plans out and back. Latencies are of tuples that were due from the begin of a plan to its end; a job is "
        "stable again once latencies stay below 1.1 times the largest one before for a second (DRRS: for 100 s)."
    )
    return Table("The same moves in five orders", ("workload: order", *right), tuple(shown), right, note=note, open=True)


def _owners(row: Row) -> str:
    return " and ".join(map(str, row["workers"])) + " workers"


def order_statements(rows: Sequence[Row]) -> Iterator[Statement]:
    """Judge what the paper's order is worth on each workload."""
    for workload in workloads(rows):
        known = {order: listed for order in NAMES if (listed := runs(rows, workload, order))}
        ours = known.pop("planned", None)
        if ours is None or not known:
            continue
        rough = {order: peak(listed) for order, listed in known.items() if order != "fluid"}
        if rough:
            best = min(rough, key=rough.__getitem__)
            found = f"{1e3 * peak(ours):.0f} ms against {1e3 * rough[best]:.0f} ms of {NAMES[best]}"
            sentence = f"{workload}: mini-migrations have a lower peak latency than all orders but fluid"
            yield claim(sentence, peak(ours) < rough[best], found)
        if "fluid" in known:
            found = f"{duration(ours):.2f} s against {duration(known['fluid']):.2f} s"
            sentence = f"{workload}: mini-migrations take less time than the fluid order"
            yield claim(sentence, duration(ours) < duration(known["fluid"]), found)
        size = [row["bytes"] for listed in (ours, *known.values()) for row in listed]
        found = f"{min(size) / 1e6:.1f} to {max(size) / 1e6:.1f} MB"
        yield claim(f"{workload}: all orders move the same", max(size) <= (1 + EQUAL_BYTES) * min(size), found)
