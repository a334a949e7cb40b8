"""`edrp simulate bimodal`: tasks that arrive at servers with dedicated links and the public network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edrp.cli.app import outcome_code
from edrp.cli.display.mapping import bimodal_parts
from edrp.cli.options import (
    RUN_FILES,
    ForceFolder,
    RunFolder,
    finite,
    read_assignments,
    read_scenario,
    refuse_parameters,
    refuse_unknown_method,
    refuse_with_scenario,
    save_run,
)
from edrp.cli.terminal import output, progress, say
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.folders import refuse_folder
from edrp.core.solve import solve
from edrp.datasets.families.mapping.platforms import RATE, SERVERS, SERVICES, TASKS, bimodal_scenario
from edrp.mapping.bimodal_scenario import BimodalScenario, BimodalScenarioSolution
from edrp.validation.papers.bimodal.figures import timeline_figure
from edrp.validation.simulation.mapping.bimodal_simulator import SUFFIX
from edrp.validation.simulation.mapping.bimodal_timeline import save_timeline, timeline


@dataclass(frozen=True, slots=True)
class ChosenScenario:
    """The scenario to simulate, and its name."""

    name: str
    scenario: BimodalScenario


def simulate_bimodal(
    rate: Annotated[float | None, typer.Option(callback=finite, help=f"Tasks per hour. Default: {RATE:g}.")] = None,
    links: Annotated[int | None, typer.Option(help="Dedicated links. Default: one fewer than servers, a tree.")] = None,
    servers: Annotated[int | None, typer.Option(help=f"Servers. Default: {SERVERS}.")] = None,
    services: Annotated[int | None, typer.Option(help=f"Kinds of components. Default: {SERVICES}.")] = None,
    tasks: Annotated[int | None, typer.Option(help=f"Tasks that arrive. Default: {TASKS}.")] = None,
    networks: Annotated[
        str | None,
        typer.Option(help="Networks that carry streams: both, dedicated (links only) or public (network only) [default: both]."),
    ] = None,
    flow: Annotated[
        str | None, typer.Option(help="Rates on the public network: drawn, or their expected course. Default: drawn.")
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option("--scenario", help="Instead: a file of kind bimodal-scenario.", show_default=False)
    ] = None,
    method: Annotated[
        str, typer.Option(help="Choice of maps: a method of `edrp methods` for bimodal-scenario, without -mapping.")
    ] = "public-hops-links",
    reallocation: Annotated[
        bool | None,
        typer.Option("--reallocation/--no-reallocation", help="Re-allocate links at intervals [default: yes]."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the platform, the tasks and all random events of the run.")] = 1,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Parameter of the method; repeatable.")
    ] = None,
    out: RunFolder = None,
    force: ForceFolder = False,
) -> None:
    """Simulate stream tasks on servers with dedicated links and the public network: who is admitted, how late, what is used."""
    refuse_unknown_method("bimodal-scenario", method, SUFFIX, "--method", "choice of maps")
    parameters = _parameters(method + SUFFIX, param or [], reallocation)
    platform = {"rate": rate, "links": links, "servers": servers, "services": services}
    chosen = _chosen(scenario, {**platform, "tasks": tasks, "networks": networks, "flow": flow}, seed)
    if out is not None:
        refuse_folder(out, RUN_FILES, force=force)
    with progress(f"simulating {chosen.name}"):
        solution = solve(chosen.scenario, method + SUFFIX, seed=seed, **parameters)
    _print(chosen, method, solution)
    if out is not None and solution.run is not None:
        line, title = timeline(chosen.scenario, solution.run), _title(chosen, method)
        drawing = partial(timeline_figure, line, title=title)
        save_run(out, force, chosen.scenario, solution, partial(save_timeline, line), drawing, title)
    raise typer.Exit(outcome_code(solution))


def _parameters(method: str, words: list[str], reallocation: bool | None) -> dict[str, Any]:
    """Read the parameters of the method; refuse unknown ones, and re-allocation that is set twice."""
    parameters = read_assignments(words)
    if reallocation is not None:
        option = "--reallocation" if reallocation else "--no-reallocation"
        if "reallocation" in parameters:
            raise InvalidInstanceError([Fault("--param", "reallocation", f"goes without {option}, which says it")])
        parameters["reallocation"] = reallocation
    refuse_parameters("bimodal-scenario", method, parameters)
    return parameters


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
    carried = {"both": "dedicated links and the public network", "dedicated": "dedicated links", "public": "the public network"}
    say(
        console,
        f"streams over {carried[scenario.networks]}; seed {solution.seed}; simulated in {solution.seconds['solve']:.2f} s",
    )
    for part in bimodal_parts(scenario, solution):
        console.print(part) if isinstance(part, Table) else say(console, part)
    for note in solution.notes:
        say(console, note)


def _title(chosen: ChosenScenario, method: str) -> str:
    network = chosen.scenario.network
    return f"{chosen.name}, {len(network.nodes)} servers, {len(network.links)} links, maps by {method}"
