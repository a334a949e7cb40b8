"""`edrp simulate enactment`: a policy in a scenario, from the first lease to the last item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edrp.cli.app import ExitCode, outcome_code
from edrp.cli.batch import Jobs
from edrp.cli.display.enactment import run_parts, run_quantities
from edrp.cli.options import (
    RUN_FILES,
    ForceFolder,
    RunFolder,
    command_text,
    finite,
    read_scenario,
    refuse_with_scenario,
    save_run,
)
from edrp.cli.simulate_comparison import Contender, PolicyRuns, Seeds, read_contenders, seeds_to_compare, show_comparison
from edrp.cli.terminal import output, progress, say
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.folders import refuse_folder
from edrp.core.solve import solve
from edrp.datasets.enactment.arrival_patterns import PATTERNS
from edrp.datasets.enactment.departures import departures_scenario
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.datasets.traces.flights import DAY
from edrp.enactment.scenario import EnactmentScenario, EnactmentScenarioSolution
from edrp.enactment.timeline import save_timeline, timeline
from edrp.validation.papers.enactment.figures import timeline_figure
from edrp.validation.simulation.enactment.methods import SUFFIX

PATTERN, UNIT, DURATION, DAYS, POLICY = "stepwise", 600.0, 7200.0, 7, "btu"


@dataclass(frozen=True, slots=True)
class NamedScenario:
    """A scenario and the name under which it is shown."""

    name: str
    scenario: EnactmentScenario


def simulate_enactment(
    pattern: Annotated[
        str | None, typer.Option(help=f"Arrival pattern of the paper: {', '.join(PATTERNS)}; default: {PATTERN}.")
    ] = None,
    departures: Annotated[
        str | None,
        typer.Option(
            metavar="DAY", help="First day of 2013, such as 2013-07-08, to use departures from New York as load instead."
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", help="File of kind enactment-scenario, to simulate it instead.", show_default=False),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Policy: a method whose name ends in -policy, without that ending, or NAME:KEY=VALUE,… with parameters; "
            f"may be repeated to compare policies; default: {POLICY}."
        ),
    ] = None,
    btu: Annotated[
        float | None, typer.Option("--btu", callback=finite, help=f"Billing time unit (BTU) in seconds; default: {UNIT:g}.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random walks and of the run.")] = 1,
    seeds: Seeds = None,
    jobs: Jobs = None,
    duration: Annotated[
        float | None,
        typer.Option(
            callback=finite,
            help=f"Duration in seconds; default: {DURATION:g}, or {DAYS} days with --departures (whole days only).",
        ),
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Parameter of the policy; may be repeated.")
    ] = None,
    out: RunFolder = None,
    force: ForceFolder = False,
) -> None:
    """Simulate every item on leased hosts under a policy, and print compliance, costs, scalings and items by operator.

    Several policies, or several seeds, are compared by means with intervals and, with --out, on a page.
    """
    policies = policy or [POLICY]
    contenders = read_contenders("enactment-scenario", policies, param or [], SUFFIX, "--policy", "policy")
    source = partial(_chosen, pattern, departures, scenario, {"--btu": btu, "--duration": duration})
    chosen, compared = source(seed), seeds_to_compare(seed, seeds, contenders)
    if compared is None:
        raise typer.Exit(_simulate_one(chosen, contenders[0], seed, out, force))
    options: dict[str, list[Any]] = {"--pattern": [pattern], "--departures": [departures], "--scenario": [scenario]}
    options |= {"--policy": policies, "--btu": [btu], "--duration": [duration], "--param": param or []}
    options |= {"--seed": [seed], "--seeds": [len(compared)], "--out": [out]}
    title = f"{chosen.name}, {chosen.scenario.duration:g} s"
    runs = PolicyRuns(title, lambda number: source(number).scenario, contenders, compared, run_quantities(chosen.scenario))
    settings = {"billing": _hosts(chosen.scenario), **runs.settings}
    show_comparison(runs, jobs, out, command_text("simulate enactment", options), settings, force=force)


def _simulate_one(chosen: NamedScenario, contender: Contender, seed: int, out: Path | None, force: bool) -> ExitCode:
    """One run under one policy: printed, and written where that is asked for."""
    if out is not None:
        refuse_folder(out, RUN_FILES, force=force)
    with progress(f"simulating {chosen.name}"):
        solution = solve(chosen.scenario, contender.method, seed=seed, **contender.parameters)
    if out is not None:  # before a pipe that nobody reads ends the command
        _save(chosen, contender.text, solution, out, force)
    _print(chosen, contender.text, solution)
    return outcome_code(solution)


def _chosen(
    pattern: str | None, departures: str | None, scenario: Path | None, options: dict[str, float | None], seed: int
) -> NamedScenario:
    """Choose the scenario by the options; options that do not go together are refused."""
    sources = {"--pattern": pattern, "--departures": departures, "--scenario": scenario}
    named = [name for name, value in sources.items() if value is not None]
    if len(named) > 1:
        raise InvalidInstanceError([Fault(named[1], str(sources[named[1]]), f"goes without {named[0]}: one load at a time")])
    if scenario is not None:
        refuse_with_scenario(options)
        return NamedScenario(str(scenario), read_scenario(scenario, EnactmentScenario))
    billing_time = UNIT if options["--btu"] is None else options["--btu"]
    duration = options["--duration"]
    if departures is not None:
        days = _days(duration)
        return NamedScenario(f"departures from {departures}", departures_scenario(departures, days, billing_time=billing_time))
    seconds = DURATION if duration is None else duration
    name = pattern or PATTERN
    return NamedScenario(name, manufacturing_scenario(name, billing_time=billing_time, seed=seed, duration=seconds))


def _days(duration: float | None) -> int:
    if duration is None:
        return DAYS
    if duration < DAY or duration % DAY:
        why = f"must be a whole number of days of {DAY:g} s with --departures"
        raise InvalidInstanceError([Fault("--duration", f"{duration:g}", why)])
    return round(duration / DAY)


def _print(chosen: NamedScenario, policy: str, solution: EnactmentScenarioSolution) -> None:
    console = output()
    say(console, _title(chosen, policy), "bold")
    say(console, f"{_hosts(chosen.scenario)}; seed {solution.seed}; simulated in {solution.seconds['solve']:.2f} s")
    for part in run_parts(chosen.scenario, solution):
        console.print(part) if isinstance(part, Table) else say(console, part)
    for note in solution.notes:
        say(console, note)


def _hosts(scenario: EnactmentScenario) -> str:
    """Prices of the host types."""
    return "; ".join(
        f"{host_type.name}: {host_type.price:g} money per billing time unit of {host_type.billing_time:g} s"
        for host_type in scenario.host_types
    )


def _title(chosen: NamedScenario, policy: str) -> str:
    return f"{chosen.name}, {chosen.scenario.duration:g} s, under policy {policy}"


def _save(chosen: NamedScenario, policy: str, solution: EnactmentScenarioSolution, out: Path, force: bool) -> None:
    """Scenario, run and timeline."""
    assert solution.run is not None, "a run that was simulated"
    line = timeline(chosen.scenario, solution.run)
    title, above = _title(chosen, policy), "Machines, hosts and instances over time"
    save_run(
        out,
        force,
        chosen.scenario,
        solution,
        partial(save_timeline, line),
        lambda path: timeline_figure({title: line}, path, title=above),
        title,
    )
