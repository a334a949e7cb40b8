"""`edrp simulate`: a policy in a scenario, from the first lease to the last item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edrp.cli.enactment_tables import run_parts
from edrp.cli.exit import code_of
from edrp.cli.solve import finite
from edrp.cli.terminal import errors, output, progress, say
from edrp.datasets.arrival_patterns import PATTERNS
from edrp.datasets.departures import departures_scenario
from edrp.datasets.flights import DAY
from edrp.datasets.manufacturing import manufacturing_scenario
from edrp.errors import BackendUnavailableError, Fault, InvalidInstanceError
from edrp.instances import load, save
from edrp.methods import methods
from edrp.parameters import NoParameters, read_parameters
from edrp.problems.enactment_scenario import EnactmentScenario, EnactmentScenarioSolution
from edrp.solve import solve
from edrp.validation.enactment.methods import SUFFIX
from edrp.validation.enactment.timeline import save_timeline, timeline, timeline_figure
from edrp.wording import suggestion

PATTERN, UNIT, DURATION, DAYS = "stepwise", 600.0, 7200.0, 7

simulate = typer.Typer(help="Run a policy in a simulated world.", no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class Choice:
    """What to simulate, and what that is called."""

    name: str
    scenario: EnactmentScenario


@simulate.command("enactment")
def simulate_enactment(
    pattern: Annotated[
        str | None, typer.Option(help=f"Arrival pattern of the paper: {', '.join(PATTERNS)}. Default: {PATTERN}.")
    ] = None,
    departures: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="Instead: departures from New York as load, from a day of 2013 on, as 2013-07-08."),
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option("--scenario", help="Instead: a file of kind enactment-scenario.", show_default=False)
    ] = None,
    policy: Annotated[str, typer.Option(help="Policy: a method of `edrp methods` that ends in -policy, without that.")] = "btu",
    btu: Annotated[
        float | None, typer.Option("--btu", callback=finite, help=f"Billing time unit (BTU) in seconds. Default: {UNIT:g}.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of random walks and of everything that happens in the run.")] = 1,
    duration: Annotated[
        float | None,
        typer.Option(callback=finite, help=f"Seconds. Default: {DURATION:g}; of departures {DAYS} days, whole days only."),
    ] = None,
    param: Annotated[list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Of the policy; repeatable.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for scenario.json, run.json, timeline.csv and timeline.png."),
    ] = None,
) -> None:
    """Simulate leased hosts, containers and every item under a policy: compliance, money, scalings, items by operator."""
    parameters = _parameters(policy, param or [])
    chosen = _chosen(pattern, departures, scenario, {"billing_time": btu, "duration": duration}, seed)
    if out is not None and out.exists() and not out.is_dir():
        raise InvalidInstanceError([Fault("--out", str(out), "must be a folder")])
    with progress(f"simulating {chosen.name}"):
        solution = solve(chosen.scenario, policy + SUFFIX, seed=seed, **parameters)
    _print(chosen, policy, solution)
    if out is not None:
        _save(chosen, policy, solution, out)
    raise typer.Exit(code_of(solution))


def _parameters(policy: str, given: Sequence[str]) -> dict[str, Any]:
    """Parameters of the policy from words as `name=value`; refuses an unknown policy and what the policy does not take."""
    found = methods("enactment-scenario")
    known = [name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX)]
    if policy not in known:
        raise InvalidInstanceError([Fault("--policy", repr(policy), f"is no policy{suggestion(policy, known)}")])
    faults, parameters = [], {}
    for word in given:
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not name:
            faults.append(Fault("--param", repr(word), "must be name=value"))
        elif name in parameters:
            faults.append(Fault("--param", repr(word), f"gives {name} a second time"))
        parameters[name] = value
    if faults:
        raise InvalidInstanceError(faults)
    described = getattr(found[policy + SUFFIX], "parameters", NoParameters)
    read_parameters(described, parameters, policy + SUFFIX)
    return parameters


def _chosen(
    pattern: str | None, departures: str | None, scenario: Path | None, given: dict[str, float | None], seed: int
) -> Choice:
    """The scenario that was asked for; options that do not go together are refused."""
    sources = {"--pattern": pattern, "--departures": departures, "--scenario": scenario}
    named = [name for name, value in sources.items() if value is not None]
    if len(named) > 1:
        raise InvalidInstanceError([Fault(named[1], str(sources[named[1]]), f"goes without {named[0]}: one load at a time")])
    options = {"--btu": given["billing_time"], "--duration": given["duration"]}
    if scenario is not None:
        _refuse_options(options)
        return Choice(str(scenario), _read(scenario))
    billing_time = UNIT if given["billing_time"] is None else given["billing_time"]
    duration = given["duration"]
    if departures is not None:
        days = _days(duration)
        return Choice(f"departures from {departures}", departures_scenario(departures, days, billing_time=billing_time))
    seconds = DURATION if duration is None else duration
    name = pattern or PATTERN
    return Choice(name, manufacturing_scenario(name, billing_time=billing_time, seed=seed, duration=seconds))


def _refuse_options(options: dict[str, float | None]) -> None:
    faults = [
        Fault(name, f"{value:g}", "goes without --scenario, whose file says it")
        for name, value in options.items()
        if value is not None
    ]
    if faults:
        raise InvalidInstanceError(faults)


def _days(duration: float | None) -> int:
    if duration is None:
        return DAYS
    if duration < DAY or duration % DAY:
        why = f"must be a whole number of days of {DAY:g} s with --departures"
        raise InvalidInstanceError([Fault("--duration", f"{duration:g}", why)])
    return round(duration / DAY)


def _read(file: Path) -> EnactmentScenario:
    problem = load(file)
    if not isinstance(problem, EnactmentScenario):
        raise InvalidInstanceError([Fault("kind", problem.kind, "must be enactment-scenario")], str(file))
    return problem


def _print(chosen: Choice, policy: str, solution: EnactmentScenarioSolution) -> None:
    console = output()
    say(console, _title(chosen, policy), "bold")
    hosts = (
        f"{each.name}: {each.price:g} per billing time unit of {each.billing_time:g} s" for each in chosen.scenario.host_types
    )
    say(console, f"{'; '.join(hosts)}; seed {solution.seed}; simulated in {solution.seconds['solve']:.2f} s")
    for part in run_parts(chosen.scenario, solution):
        console.print(part) if isinstance(part, Table) else say(console, part)
    for note in solution.notes:
        say(console, note)


def _title(chosen: Choice, policy: str) -> str:
    return f"{chosen.name}, {chosen.scenario.duration:g} s, under policy {policy}"


def _save(chosen: Choice, policy: str, solution: EnactmentScenarioSolution, out: Path) -> None:
    """Scenario, run and timeline; the figure only where matplotlib is."""
    assert solution.run is not None, "a run that was printed"
    line = timeline(chosen.scenario, solution.run)
    try:
        out.mkdir(parents=True, exist_ok=True)
        save(chosen.scenario, out / "scenario.json")
        solution.save(out / "run.json")
        save_timeline(line, out / "timeline.csv")
        timeline_figure({_title(chosen, policy): line}, out / "timeline.png", title="Machines, hosts and instances over time")
    except BackendUnavailableError as error:
        say(errors(), f"timeline.png is left out: {error}")
    except OSError as error:
        raise InvalidInstanceError([Fault("--out", str(out), f"cannot be written: {error.strerror}")]) from None
    say(output(), f"written to {out}")
