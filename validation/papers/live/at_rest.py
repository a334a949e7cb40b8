"""Cost of live operators at rest, and Fig. 15: response times by minute around a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from edrp.report.figures import Panel, draw_panels, mean_curve
from edrp.report.formatting import NONE, Unit
from edrp.report.statements import Statement, claim
from edrp.report.tables import Table
from edrp.validation.papers.flink.rows import Row, load_text

MAX_COST = 0.05
"""Aim: share of plain Flink's throughput that live operators may cost."""

MINUTE, ORDERS_OF_MAGNITUDE = 7, 2
"""Minute in which workers change, and what "several orders of magnitude" is taken for at least."""

METHODS = {
    "live": "live migration",
    "savepoint": "restart from a savepoint (the paper's baseline)",
    "rescale": "Flink's rescale",
}


def rates(rows: Sequence[Row], micros: float) -> dict[int, dict[str, float]]:
    """Tuples/s by round and mode, of rounds with both, without the first, which is a warm-up."""
    found: dict[int, dict[str, float]] = {}
    for row in rows:
        if row["micros"] == micros and row["round"] > 0:
            found.setdefault(row["round"], {})[row["mode"]] = row["rate"]
    return {number: both for number, both in sorted(found.items()) if both.keys() >= {"live", "plain"}}


def cost(rows: Sequence[Row], micros: float) -> float | None:
    """Median over rounds of the share of throughput that live operators cost; None without rounds."""
    pairs = rates(rows, micros).values()
    return median(1 - both["live"] / both["plain"] for both in pairs) if pairs else None


def throughput_table(rows: Sequence[Row]) -> Table:
    """One row for each work of a tuple."""
    shown = []
    for micros in sorted({row["micros"] for row in rows}, reverse=True):
        found = rates(rows, micros)
        if found:
            means = (f"{median(both[mode] for both in found.values()):,.0f}" for mode in ("plain", "live"))
            costs = [100 * (1 - both["live"] / both["plain"]) for both in found.values()]
            spread = f"{median(costs):.1f}\n{min(costs):.1f} to {max(costs):.1f}"
            loads = load_text([row for row in rows if row["micros"] == micros])
            shown.append((_work(micros), str(len(found)), *means, spread, loads))
    right = ("rounds", "plain keyBy\n[tuples/s]", "live\n[tuples/s]", "cost [%]", "load of the\nmachine")
    note = (
        "Medians over rounds of a burst each, without the first; two workers, and one more operator in the live job: its router."
    )
    return Table("Throughput at rest", ("work of a tuple", *right), tuple(shown), right, note=note, open=True)


def _work(micros: float) -> str:
    return f"{micros:g} µs computing" if micros else "none (the worst case)"


def throughput_statements(rows: Sequence[Row]) -> Iterator[Statement]:
    """Judge the cost at rest, with work as most jobs have it and without."""
    for micros in sorted({row["micros"] for row in rows}, reverse=True):
        share = cost(rows, micros)
        if share is not None:
            sentence = (
                f"live operators cost at most {100 * MAX_COST:.0f} % of the throughput of keyBy; work of a tuple: {_work(micros)}"
            )
            yield claim(sentence, share <= MAX_COST, f"{100 * share:.1f} %")


def minutes(rows: Sequence[Row], method: str) -> dict[float, np.ndarray]:
    """Mean response times in seconds by minute, over the runs of a method; minutes without tuples are left out."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if row["method"] == method:
            for number, figures in row["minutes"].items():
                if figures["tuples"]:
                    found.setdefault(float(number), []).append(figures["mean"])
    return {number: np.array(means) for number, means in sorted(found.items())}


def response_table(rows: Sequence[Row]) -> Table:
    """Mean response time by minute and method."""
    known = {method: means for method in METHODS if (means := minutes(rows, method))}
    numbers = sorted({number for means in known.values() for number in means})
    unit = Unit(1e3, ",.1f")
    shown = [
        (f"{number:g}", *(unit.number(float(means[number].mean())) if number in means else NONE for means in known.values()))
        for number in numbers
    ]
    right = tuple(METHODS[method] for method in known)
    (before, after), minute = rows[0]["workers"], rows[0]["minute"]
    note = (
        f"Milliseconds. {before} workers become {after} when minute {MINUTE} begins. A minute is compressed into {minute:g} s, a "
        f"change is not: it weighs {60 / minute:.3g} times as much in its minute. Load of the machine {load_text(rows)}."
    )
    return Table("Fig. 15: mean response time by minute", ("minute", *right), tuple(shown), right, note=note, open=True)


def response_statements(rows: Sequence[Row]) -> Iterator[Statement]:
    """Judge the paper's sentence, against its baseline and against Flink's rescale."""
    live = minutes(rows, "live").get(MINUTE)
    for method, name in METHODS.items():
        other = minutes(rows, method).get(MINUTE)
        if method == "live" or live is None or other is None:
            continue
        factor = float(other.mean() / live.mean())
        found = f"{1e3 * live.mean():.1f} ms against {1e3 * other.mean():.1f} ms in minute {MINUTE}, a factor of {factor:.3g}"
        sentence = (
            f"live migration reduces the average response time dramatically, by several orders of magnitude, against {name}"
        )
        yield claim(sentence, factor >= 10**ORDERS_OF_MAGNITUDE, found)


def draw_response(rows: Sequence[Row], path: Path) -> None:
    """Draw Fig. 15."""
    curves = {method: mean_curve(means, 1e3) for method in METHODS if (means := minutes(rows, method))}
    panel = Panel("", "minute", "mean response time [ms]", curves, scales=("linear", "log"), floor=None)
    draw_panels([panel], path, columns=1)
