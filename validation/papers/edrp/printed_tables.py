"""Tables III and V beside the paper, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.table import Table

from edrp.validation.papers.edrp.claims import Claim
from edrp.validation.papers.edrp.scenario import TABLE_III, WEIGHTINGS, outcome
from edrp.validation.papers.edrp.storm_day import TABLE_V, storm_outcome
from edrp.validation.simulation.placement.replay import Replay


def table_iii(hours: Mapping[str, Replay], *, paper: bool = True) -> Table:
    """Mean response time, mean cost, total downtime and number of reconfigurations by objective.

    Parameters
    ----------
    hours
        By the names of `WEIGHTINGS`.
    paper
        Whether to print the paper's figures beside ours.
    """
    table = _table("Table III" if paper else "The day in four objectives", paper)
    for name, hour in hours.items():
        ours, theirs = outcome(hour), TABLE_III[name]
        cells = [
            (f"{1e3 * ours.response_time:.1f}", f"{1e3 * theirs.response_time:.1f}"),
            (f"{ours.cost:.2f}", f"{theirs.cost:.1f}"),
            (f"{ours.downtime:.2f}", f"{theirs.downtime:.1f}"),
        ]
        _row(table, name, cells, paper, hour)
    return table


def table_v(days: Mapping[str, Replay]) -> Table:
    """Mean response time, mean cost and share of downtime by objective, beside the paper."""
    table = _table("Table V", paper=True, downtime="%")
    for name, day in days.items():
        ours, theirs = storm_outcome(day), TABLE_V[name]
        cells = [
            (f"{1e3 * ours.response_time:.1f}", f"{1e3 * theirs.response_time:.1f}"),
            (f"{ours.cost:.2f}", f"{theirs.cost:.1f}"),
            (f"{100 * ours.downtime_share:.2f}", f"{100 * theirs.downtime_share:.2f}"),
        ]
        _row(table, name, cells, True, day)
    return table


def weights_in_words(name: str) -> str:
    """The weights of response time, cost and downtime, such as "0.3 0.3 0.4"."""
    weights = WEIGHTINGS[name]
    return " ".join(f"{value:g}" for value in (weights.response_time, weights.cost, weights.downtime))


def claim_in_words(claim: Claim) -> str:
    """A claim with its verdict, in rich markup."""
    mark = "[green]holds[/green]" if claim.holds else "[red]does not hold[/red]"
    return f"{mark}: {claim.sentence} [dim]({claim.found})[/dim]"


def _table(title: str, paper: bool, downtime: str = "s") -> Table:
    """Narrow enough for 80 columns; units stand below the names."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, caption_justify="left")
    if paper:
        weights = "; ".join(f"{name} {weights_in_words(name)}" for name in WEIGHTINGS)
        table.caption = f"Weights of response time, cost, downtime: {weights}"
    table.add_column("Objective", no_wrap=True)
    for quantity in ("Response\nms", "Cost\n$/h", f"Downtime\n{downtime}"):
        table.add_column(quantity, justify="right", no_wrap=True)
        if paper:
            table.add_column("paper", justify="right", style="dim", no_wrap=True)
    table.add_column("Changes", justify="right", no_wrap=True)
    return table


def _row(table: Table, name: str, cells: list[tuple[str, str]], paper: bool, replay: Replay) -> None:
    flat = [cell for ours, theirs in cells for cell in ((ours, theirs) if paper else (ours,))]
    table.add_row(name, *flat, str(len(replay.reconfigurations)))
