"""Print and draw the evaluation of latency-aware placement, section 6, beside the paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from edrp.validation.papers.edrp.printed_tables import claim_in_words
from edrp.validation.papers.latency_aware.figures import draw_scatter
from edrp.validation.papers.latency_aware.schedulers import LOADS, TOPOLOGIES, Placed, placements
from edrp.validation.papers.latency_aware.throughput_tables import table_2, table_3, throughput_claims

FIGURES = {
    "fig6-throughput-t-r3.png": ("T-R3", "throughput"),
    "fig7-latency-t-r3.png": ("T-R3", "least"),
    "fig8-throughput-t-r7.png": ("T-R7", "throughput"),
}
AXES = {
    "throughput": ("throughput", "tuples/s of the source"),
    "least": ("least latency end to end", "ms"),
}


def run(
    console: Console,
    *,
    out: Path | None = None,
    topologies: Sequence[str] = TOPOLOGIES,
    loads: Sequence[float] = LOADS,
    seeds: int = 5,
) -> list[Placed]:
    """Place all topologies with all schedulers; print Tables 2 and 3 and what holds; draw Figs. 6 to 8.

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
    with console.status("placing") as status:
        found = placements(
            topologies, loads=loads, seeds=seeds, simulated=simulated, told=lambda name: status.update(f"placing {name}")
        )
    console.print(table_2(found), table_3(found))
    for claim in throughput_claims(found):
        console.print(claim_in_words(claim))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name, (topology, kind) in FIGURES.items():
            title, unit = AXES[kind]
            scale = 1e3 if kind == "least" else 1.0

            def value(each: Placed, kind: str = kind, scale: float = scale) -> float | None:
                reached = getattr(each, kind)
                return None if reached is None else scale * reached

            draw_scatter(found, topology, value, f"{topology}: {title}", unit, out / name)
        console.print(f"drawn: {', '.join(FIGURES)} in {out}")
    return found
