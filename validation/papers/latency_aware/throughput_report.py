"""Tables 2 and 3 and Figs. 6 to 8 of latency-aware placement: throughput and latency of schedulers next to the paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from edrp.report.figures import blank_figure, draw, save_figure, unclutter
from edrp.report.formatting import NONE
from edrp.report.progress import working
from edrp.report.statements import Statement, claim, print_statements
from edrp.report.tables import Table, print_tables
from edrp.validation.papers.latency_aware.printed_values import TABLE_2, TABLE_3, PaperTable, Printed
from edrp.validation.papers.latency_aware.schedulers import (
    EVEN,
    LOADS,
    METHODS,
    RESOURCE_AWARE,
    SEARCHES,
    TOPOLOGIES,
    SchedulerPlacement,
    factors,
    placements,
)

LARGE, SMALL = ("T-R1", "T-R4", "T-R7"), ("T-R2", "T-R5", "T-R6")
"""The random topologies with the most and the fewest operators."""

BAND = (1.7, 2.6)
"""Range of mean factors over the even scheduler; the paper's are 1.83 to 2.11."""


DOTS = {
    "hill-climbing": ("o", "#1b9e77"),
    "ant-system": ("^", "#d95f02"),
    "hybrid": ("s", "#7570b3"),
    "resource-aware": ("D", "#e7298a"),
    "iterated-local-search": ("*", "#333333"),
    EVEN: ("x", "#a6761d"),
}
"""Marker and colour of each scheduler."""

AXES = {"throughput": ("throughput", "tuples/s of the source", 1.0), "least": ("least latency end to end", "ms", 1e3)}
"""Name, unit and scale of each quantity of a placement."""

FIGURES = {
    "fig6-throughput-t-r3.png": ("T-R3", "throughput"),
    "fig7-latency-t-r3.png": ("T-R3", "least"),
    "fig8-throughput-t-r7.png": ("T-R7", "throughput"),
}
"""Topology and quantity of each figure."""


def run(
    console: Console,
    *,
    out: Path | None = None,
    topologies: Sequence[str] = TOPOLOGIES,
    loads: Sequence[float] = LOADS,
    seeds: int = 5,
) -> list[SchedulerPlacement]:
    """Place all topologies with all schedulers; print Tables 2 and 3 and the statements on them; draw Figs. 6 to 8."""
    simulated = [] if out is None else sorted({topology for topology, kind in FIGURES.values() if kind == "least"})
    with working(console, "placing") as tell:
        placed = placements(topologies, loads=loads, seeds=seeds, simulated=simulated, tell=tell)
    print_tables(console, table_2(placed), table_3(placed))
    print_statements(console, throughput_statements(placed))
    draw(console, out, {name: partial(draw_scatter, placed, *what) for name, what in FIGURES.items()})
    return placed


def table_2(placed: Sequence[SchedulerPlacement]) -> Table:
    """Throughput over the even scheduler at the same cores: mean ± deviation, below it the paper's in brackets."""
    return _table("Table 2: throughput over the even scheduler", placed, EVEN, METHODS, TABLE_2)


def table_3(placed: Sequence[SchedulerPlacement]) -> Table:
    """Throughput over the resource-aware scheduler at the same cores."""
    methods = (*SEARCHES, "iterated-local-search", EVEN)
    return _table("Table 3: throughput over the resource-aware scheduler", placed, RESOURCE_AWARE, methods, TABLE_3)


def _table(
    title: str, placements_made: Sequence[SchedulerPlacement], reference: str, methods: Sequence[str], printed: PaperTable
) -> Table:
    present = [name for name in TOPOLOGIES if any(placed.topology == name for placed in placements_made)]
    rows = []
    for topology in present:
        factors_of = {method: factors(placements_made, topology, method, reference) for method in methods}
        texts = {
            method: f"{method_factors.mean():.2f} ± {method_factors.std():.2f}" if method_factors.size else NONE
            for method, method_factors in factors_of.items()
        }
        rows.append((topology, *(text + _below(printed[topology].get(method)) for method, text in texts.items())))
    random = [name for name in present if name.startswith("T-R")]
    means = (
        f"{mean_factor(placements_made, random, method, reference):.2f}" + _mean_below(printed, random, method)
        for method in methods
    )
    rows.append(("mean of T-R", *means))
    return Table(f"{title}, ours (paper)", ("topology", *methods), tuple(rows))


def _below(printed: Printed | None) -> str:
    """The paper's value in brackets on a line of its own."""
    return "" if printed is None else f"\n({printed.mean:.2f} ± {printed.deviation:.2f})"


def _mean_below(printed: PaperTable, topologies: Sequence[str], method: str) -> str:
    """The mean of the paper's means in brackets on a line of its own."""
    means = [printed[name][method].mean for name in topologies if method in printed[name]]
    return f"\n({np.mean(means):.2f})" if means else ""


def mean_factor(placed: Sequence[SchedulerPlacement], topologies: Sequence[str], method: str, reference: str) -> float:
    """Mean over topologies of the mean factor; not a number where there is none."""
    means = [values.mean() for name in topologies if (values := factors(placed, name, method, reference)).size]
    return float(np.mean(means)) if means else float("nan")


def throughput_statements(placed: Sequence[SchedulerPlacement]) -> tuple[Statement, ...]:
    """Sentences of the paper on throughput, judged by the model."""
    random = [name for name in TOPOLOGIES if name.startswith("T-R")]
    even = {method: mean_factor(placed, random, method, EVEN) for method in METHODS}
    aware = {method: mean_factor(placed, random, method, RESOURCE_AWARE) for method in SEARCHES}
    shown, shown_aware = (", ".join(f"{method} {value:.2f}" for method, value in over.items()) for over in (even, aware))
    within = all(BAND[0] <= value <= BAND[1] for value in even.values())
    last = min(SEARCHES, key=lambda method: even[method])
    drop, large, small = (
        [mean_factor(placed, names, method, RESOURCE_AWARE) for method in SEARCHES] for names in (("T-R7",), LARGE, SMALL)
    )
    manual = [mean_factor(placed, [name], "hybrid", EVEN) for name in ("T-M1", "T-M2", "T-M3")]
    shown_drop, shown_manual = (", ".join(f"{value:.2f}" for value in values) for values in (drop, manual))
    return (
        claim(f"every scheduler that knows resources carries {BAND[0]} to {BAND[1]} times the even one", within, shown),
        claim(
            "the searches gain on the resource-aware scheduler on the topologies with more operators",
            bool(np.mean(large) > np.mean(small)),
            f"{np.mean(large):.2f} of it on {', '.join(LARGE)}, {np.mean(small):.2f} on {', '.join(SMALL)}",
        ),
        claim(
            "on average the resource-aware scheduler is ahead of the searches (Table 2)",
            all(even[RESOURCE_AWARE] >= even[method] for method in SEARCHES),
            shown,
        ),
        claim("the ant system is the last of the searches (Tables 2 and 3)", last == "ant-system", f"last: {last}"),
        claim(
            "hill climbing carries more than the resource-aware scheduler, the ant system less (Table 3)",
            aware["hill-climbing"] > 1 > aware["ant-system"],
            shown_aware,
        ),
        claim("the resource-aware scheduler falls behind on T-R7 (Fig. 8)", min(drop) > 1, shown_drop),
        claim(
            "the manual topologies gain more than the random ones (Table 2)",
            float(np.mean(manual)) > float(np.mean(list(even.values()))),
            shown_manual,
        ),
    )


def draw_scatter(placements_made: Sequence[SchedulerPlacement], topology: str, quantity: str, path: Path) -> None:
    """Draw a PNG with one dot per placement of a topology that has the quantity, over its cores; a trend line per scheduler."""
    name, unit, scale = AXES[quantity]
    figure = blank_figure(6.4, 4.2)
    axes = figure.add_subplot()
    for method, (marker, colour) in DOTS.items():
        method_placements = [placed for placed in placements_made if placed.topology == topology and placed.method == method]
        dots = [
            (100 * placed.reserved, scale * value)
            for placed in method_placements
            if (value := getattr(placed, quantity)) is not None
        ]
        if not dots:
            continue
        taken, reached = np.array(dots).T
        axes.scatter(taken, reached, s=22, marker=marker, color=colour, label=method, alpha=0.75, linewidths=1)
        if np.unique(taken).size > 1:
            slope, start = np.polyfit(taken, reached, 1)
            ends = np.array([taken.min(), taken.max()])
            axes.plot(ends, start + slope * ends, color=colour, linewidth=1)
    axes.set_xlabel("vCPU of the supervisors in use (100 = a core)", fontsize=9)
    axes.set_ylabel(unit, fontsize=9)
    axes.set_title(f"{topology}: {name}", fontsize=10)
    axes.set_ylim(bottom=0)
    unclutter(axes)
    axes.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    save_figure(figure, path, dpi=150)
