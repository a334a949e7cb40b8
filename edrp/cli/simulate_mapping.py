"""`edrp simulate bimodal`: tasks that arrive at servers with dedicated links and the public network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edrp.cli.app import ExitCode, outcome_code
from edrp.cli.batch import Jobs
from edrp.cli.display.mapping import RUN_QUANTITIES, bimodal_parts
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
from edrp.datasets.families.mapping.platforms import RATE, SERVERS, SERVICES, TASKS, bimodal_scenario
from edrp.mapping.bimodal_scenario import BimodalScenario, BimodalScenarioSolution
from edrp.mapping.bimodal_timeline import save_timeline, timeline
from edrp.validation.papers.bimodal.figures import timeline_figure
from edrp.validation.simulation.mapping.bimodal_simulator import SUFFIX

METHOD = "public-hops-links"
CARRIED = {"both": "dedicated links and the public network", "dedicated": "dedicated links", "public": "the public network"}
"""Descriptions of the networks that may carry streams, by the word for each choice."""


@dataclass(frozen=True, slots=True)
class ChosenScenario:
    """The scenario to simulate, and its name."""

    name: str
    scenario: BimodalScenario


def simulate_bimodal(
    rate: Annotated[
        float | None, typer.Option(callback=finite, help=f"Arrival rate in tasks per hour; default: {RATE:g}.")
    ] = None,
    links: Annotated[
        int | None, typer.Option(help="Number of dedicated links; default: one fewer than servers (a tree).")
    ] = None,
    servers: Annotated[int | None, typer.Option(help=f"Number of servers; default: {SERVERS}.")] = None,
    services: Annotated[int | None, typer.Option(help=f"Number of services; default: {SERVICES}.")] = None,
    tasks: Annotated[int | None, typer.Option(help=f"Number of tasks; default: {TASKS}.")] = None,
    networks: Annotated[
        str | None,
        typer.Option(help="Networks that carry streams: both, dedicated (links) or public (network); default: both."),
    ] = None,
    flow: Annotated[
        str | None, typer.Option(help="Rates on the public network: drawn at random, or expected; default: drawn.")
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option("--scenario", help="File of kind bimodal-scenario, to simulate it instead.", show_default=False)
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Choice of maps: a method whose name ends in -mapping, without that ending, or NAME:KEY=VALUE,… with "
            f"parameters; may be repeated to compare methods; default: {METHOD}."
        ),
    ] = None,
    reallocation: Annotated[
        bool | None,
        typer.Option("--reallocation/--no-reallocation", help="Whether links are re-allocated at intervals; default: yes."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the platform, the tasks and all random events of the run.")] = 1,
    seeds: Seeds = None,
    jobs: Jobs = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Parameter of the method; may be repeated.")
    ] = None,
    out: RunFolder = None,
    force: ForceFolder = False,
) -> None:
    """Simulate stream tasks on servers, dedicated links and the public network, and print acceptance and utilisation.

    Several methods, or several seeds, are compared by means with intervals and, with --out, on a page.
    """
    texts = method or [METHOD]
    contenders = _contenders(texts, param or [], reallocation)
    platform: dict[str, Any] = {"rate": rate, "links": links, "servers": servers, "services": services}
    platform |= {"tasks": tasks, "networks": networks, "flow": flow}
    chosen, compared = _chosen(scenario, platform, seed), seeds_to_compare(seed, seeds, contenders)
    if compared is None:
        raise typer.Exit(_simulate_one(chosen, contenders[0], seed, out, force))
    options: dict[str, list[Any]] = {**{f"--{name}": [value] for name, value in platform.items()}, "--scenario": [scenario]}
    options |= {"--method": texts, "--param": param or [], "--seed": [seed], "--seeds": [len(compared)], "--out": [out]}
    again = "" if reallocation is None else " --reallocation" if reallocation else " --no-reallocation"
    runs = PolicyRuns(
        _platform(chosen), lambda number: _chosen(scenario, platform, number).scenario, contenders, compared, RUN_QUANTITIES
    )
    settings = {"streams over": CARRIED[chosen.scenario.networks], **runs.settings}
    show_comparison(runs, jobs, out, command_text("simulate bimodal", options) + again, settings, force=force)


def _simulate_one(chosen: ChosenScenario, contender: Contender, seed: int, out: Path | None, force: bool) -> ExitCode:
    """One run with one choice of maps: printed, and written where that is asked for."""
    if out is not None:
        refuse_folder(out, RUN_FILES, force=force)
    with progress(f"simulating {chosen.name}"):
        solution = solve(chosen.scenario, contender.method, seed=seed, **contender.parameters)
    if out is not None and solution.run is not None:  # before a pipe that nobody reads ends the command
        line, title = timeline(chosen.scenario, solution.run), _title(chosen, contender.text)
        drawing = partial(timeline_figure, line, title=title)
        save_run(out, force, chosen.scenario, solution, partial(save_timeline, line), drawing, title)
    _print(chosen, contender.text, solution)
    return outcome_code(solution)


def _contenders(texts: list[str], words: list[str], reallocation: bool | None) -> tuple[Contender, ...]:
    """Read the methods with their parameters; refuse re-allocation that is set twice."""
    found = read_contenders("bimodal-scenario", texts, words, SUFFIX, "--method", "choice of maps")
    if reallocation is None:
        return found
    option = "--reallocation" if reallocation else "--no-reallocation"
    for contender in found:
        if "reallocation" in contender.parameters:
            place = "--param" if any(word.partition("=")[0].strip() == "reallocation" for word in words) else "--method"
            raise InvalidInstanceError([Fault(place, "reallocation", f"goes without {option}, which says it")])
    return tuple(replace(contender, parameters={**contender.parameters, "reallocation": reallocation}) for contender in found)


def _chosen(scenario: Path | None, options: dict[str, Any], seed: int) -> ChosenScenario:
    """Return the scenario of the file, or that of the paper with the options of the command line."""
    if scenario is not None:
        refuse_with_scenario({f"--{name}": value for name, value in options.items()})
        return ChosenScenario(str(scenario), read_scenario(scenario, BimodalScenario))
    settings = {"rate": RATE, "servers": SERVERS, **{name: value for name, value in options.items() if value is not None}}
    settings.setdefault("links", max(0, settings["servers"] - 1))
    made = bimodal_scenario(seed=seed, **settings)
    return ChosenScenario(f"{len(made.tasks)} tasks at {settings['rate']:g}/h", made)


def _print(chosen: ChosenScenario, method: str, solution: BimodalScenarioSolution) -> None:
    console = output()
    say(console, _title(chosen, method), "bold")
    scenario = chosen.scenario
    say(
        console,
        f"streams over {CARRIED[scenario.networks]}; seed {solution.seed}; simulated in {solution.seconds['solve']:.2f} s",
    )
    for part in bimodal_parts(scenario, solution):
        console.print(part) if isinstance(part, Table) else say(console, part)
    for note in solution.notes:
        say(console, note)


def _title(chosen: ChosenScenario, method: str) -> str:
    return f"{_platform(chosen)}, maps by {method}"


def _platform(chosen: ChosenScenario) -> str:
    network = chosen.scenario.network
    return f"{chosen.name}, {len(network.nodes)} servers, {len(network.links)} links"
