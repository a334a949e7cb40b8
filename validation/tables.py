"""Tables III and V beside the paper, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from edrp.validation.claims import Claim
from edrp.validation.replay import Replay
from edrp.validation.scenario import TABLE_III, WEIGHTINGS, outcome
from edrp.validation.storm_day import TABLE_V, storm_outcome


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
    table = _table("Table V", paper=True, downtime="[%]")
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
    """The weights of an objective, such as "w_r 0.3, w_c 0.3, w_d 0.4"."""
    weights = WEIGHTINGS[name]
    parts = {"w_r": weights.response_time, "w_c": weights.cost, "w_d": weights.downtime}
    return ", ".join(f"{symbol} {value:g}" for symbol, value in parts.items() if value)


def claim_in_words(claim: Claim) -> str:
    """A claim with its verdict, in rich markup."""
    mark = "[green]holds[/green]" if claim.holds else "[red]does not hold[/red]"
    return f"{mark}: {claim.sentence} [dim]({claim.found})[/dim]"


def _table(title: str, paper: bool, downtime: str = "[s]") -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("Objective")
    table.add_column("Weights", style="dim")
    for quantity in ("Response time [ms]", "Cost [$/h]", f"Downtime {downtime}"):
        table.add_column(quantity.replace("[", "\\["), justify="right")
        if paper:
            table.add_column("paper", justify="right", style="dim")
    table.add_column("Reconfigurations", justify="right")
    return table


def _row(table: Table, name: str, cells: list[tuple[str, str]], paper: bool, replay: Replay) -> None:
    flat = [cell for ours, theirs in cells for cell in ((ours, theirs) if paper else (ours,))]
    table.add_row(name, weights_in_words(name), *flat, str(len(replay.reconfigurations)))
