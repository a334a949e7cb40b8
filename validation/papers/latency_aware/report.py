"""The evaluation of latency-aware placement, section 6: printed and drawn beside the paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from edrp.validation.papers.latency_aware.figures import draw_scatter
from edrp.validation.papers.latency_aware.schedulers import LOADS, TOPOLOGIES, Placed, placements
from edrp.validation.papers.latency_aware.throughput_tables import table_2, table_3, throughput_statements
from edrp.validation.report.console import draw, working
from edrp.validation.report.statements import print_statements
from edrp.validation.report.tables import print_tables

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
) -> list[Placed]:
    """Place all topologies with all schedulers; print Tables 2 and 3 and the statements on them; draw Figs. 6 to 8.

    Parameters
    ----------
    console
        Where everything is printed.
    out
        Folder for the figures, made if needed; None for none.
    topologies, loads
        What is placed.
    seeds
        Of each search.

    Returns
    -------
    list
        Every placement.
    """
    simulated = [] if out is None else sorted({topology for topology, kind in FIGURES.values() if kind == "least"})
    with working(console, "placing") as tell:
        found = placements(topologies, loads=loads, seeds=seeds, simulated=simulated, tell=tell)
    print_tables(console, table_2(found), table_3(found))
    print_statements(console, throughput_statements(found))
    draw(console, out, {name: partial(draw_scatter, found, *what) for name, what in FIGURES.items()})
    return found
