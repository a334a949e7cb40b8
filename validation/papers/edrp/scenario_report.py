"""Print and draw the hour of EDRP, section 7.2, beside the paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from edrp.datasets import ansnet, ramp
from edrp.placement.edrp import Weights
from edrp.validation.papers.edrp.claims import claims
from edrp.validation.papers.edrp.figures import draw_hours
from edrp.validation.papers.edrp.printed_tables import claim_in_words, table_iii
from edrp.validation.papers.edrp.scenario import WEIGHTINGS, first_deployment, restricted_gaps, run_hour
from edrp.validation.report.live import in_all_objectives
from edrp.validation.simulation.placement.replay import Replay, StepProgress, solver

FIGURE = "fig5-one-hour.png"
SHOWN_EVENTS = 8
HOUR = 60


def run(
    console: Console, *, out: Path | None = None, method: str = "auto", restricted: bool = True, jobs: int | None = None
) -> dict[str, Replay]:
    """Run the hour in the four objectives; print Table III, the events and what holds; draw Fig. 5.

    Parameters
    ----------
    console
        Where everything is printed.
    out
        Folder for the figure, made if needed; None for no figure.
    method
        Of the registry.
    restricted
        Whether to print rEDRP's gap too.
    jobs
        Objectives to run at once; None for one per processor.

    Returns
    -------
    dict
        The hours by objective.
    """
    network = ansnet()
    rates = [float(rate) for rate in ramp()]
    console.print(f"[bold]DEBS 2015 on ANSNET[/bold]: {len(network.nodes)} nodes, 70 → 220 → 70 tuples/s, decided every minute")

    # Placed here, before the objectives part ways: all start alike, and compiled kernels are there for all.
    start = first_deployment(rates[0], network, method)

    def hour(weights: Weights, progress: StepProgress) -> Replay:
        return run_hour(weights, network=network, method=method, rates=rates, start=start, progress=progress)

    hours = in_all_objectives(console, "hour", len(rates) - 1, hour, jobs=jobs)
    console.print(table_iii(hours))
    print_events(console, hours, 1)
    for claim in claims(hours):
        console.print(claim_in_words(claim))
    if restricted:
        _print_restricted(console, hours)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        draw_hours(hours, out / FIGURE, title="DEBS 2015 on ANSNET, one hour (EDRP, Fig. 5)")
        console.print(f"drawn: {out / FIGURE}")
    return hours


def print_events(console: Console, replays: Mapping[str, Replay], minutes: int) -> None:
    """Print the first reconfigurations of every objective in words; a step lasts `minutes`."""
    for name, each in replays.items():
        changes = each.reconfigurations
        console.print(f"[bold]{name}[/bold]: {len(changes)} reconfiguration{'' if len(changes) == 1 else 's'}")
        for step in changes[:SHOWN_EVENTS]:
            console.print(f"  t = {moment(step.number * minutes)}: {step.words}", highlight=False)
        if len(changes) > SHOWN_EVENTS:
            console.print(f"  … and {len(changes) - SHOWN_EVENTS} more")


def moment(minutes: int) -> str:
    """A time in words.

    Examples
    --------
    >>> moment(8), moment(380)
    ('8 min', '6 h 20 min')
    """
    if minutes <= HOUR:
        return f"{minutes} min"
    return f"{minutes // HOUR} h" + (f" {minutes % HOUR} min" if minutes % HOUR else "")


def _print_restricted(console: Console, hours: Mapping[str, Replay]) -> None:
    """Solve the restricted program from the same deployments, minute by minute."""
    decide = solver("highs", "restricted")
    console.print("[bold]rEDRP[/bold]: gap to the optimum over the hour, from the same deployments")
    for name in WEIGHTINGS:
        gaps = restricted_gaps(hours[name], decide)
        found = [gap for gap in gaps if gap is not None]
        lost = f", nothing feasible in {len(gaps) - len(found)} min" if len(found) < len(gaps) else ""
        above = sum(gap > 1e-6 for gap in found)
        console.print(f"  {name}: mean {sum(found) / len(found):.3%}, largest {max(found):.3%}, above 0 in {above} min{lost}")
