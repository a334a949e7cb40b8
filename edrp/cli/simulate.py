"""`edrp simulate`: policies side by side, by simulated runs with the same seeds."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from joblib import Parallel, delayed

from edrp.batch.tasks import Choice
from edrp.cli.batch import Jobs, check_place
from edrp.cli.display.enactment import run_quantities
from edrp.cli.display.mapping import RUN_QUANTITIES
from edrp.cli.options import ForceFolder, argument, command_text, option, out_option
from edrp.cli.terminal import errors, output, say
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError
from edrp.core.files import write_whole
from edrp.core.folders import filling, refuse_folder
from edrp.core.instances import load
from edrp.core.methods import get_method, methods
from edrp.core.problem import Problem
from edrp.core.solve import solve
from edrp.report.comparison import PolicyComparison, Quantity
from edrp.report.page import Page, how_run, render, require_packages
from edrp.report.progress import Count, counting
from edrp.report.publication import write_records
from edrp.report.tables import print_tables

SEEDS = 10
"""Runs of each policy where one scenario is given."""

PAGE = "page.html"
COMPARISON_FILES = (PAGE, "runs.csv", "summary.csv")
"""Files that a comparison is written to."""

OBJECTIVE = "objective"
"""Name of the objective among the samples."""

QUANTITIES: Mapping[str, Callable[[Any], Sequence[Quantity]]] = {
    "enactment-scenario": run_quantities,
    "bimodal-scenario": lambda _: RUN_QUANTITIES,
}
"""Figures that are compared, the objective first, by kind of scenario."""


def simulate(
    files: Annotated[list[Path], argument("Scenario files of one kind; several get one seed each.", metavar="SCENARIO...")],
    method: Annotated[
        list[str] | None,
        option(
            "Policy: a method of the kind, or NAME:KEY=VALUE,… with parameters; may be repeated; default: all of the kind.",
            "--method",
            "-m",
        ),
    ] = None,
    seed: Annotated[int, option("Seed of the first run.", min=0)] = 1,
    seeds: Annotated[
        int | None, option(f"Number of runs of each policy, with one scenario only; default: {SEEDS}.", min=1)
    ] = None,
    jobs: Jobs = None,
    out: Annotated[Path | None, out_option(f"Output folder for {', '.join(COMPARISON_FILES)}.")] = None,
    force: ForceFolder = False,
) -> None:
    """Compare policies by simulated runs with the same seeds: means with intervals and, with --out, a page.

    `edrp solve SCENARIO --method POLICY` simulates a single run, and `edrp explore` draws it.
    """
    check_place(None, jobs)
    scenarios = _read_scenarios(files)
    policies = _read_policies(scenarios[0].kind, method)
    if seeds is not None and len(files) > 1:
        raise InvalidInstanceError([Fault("--seeds", str(seeds), "goes with one scenario; several get one seed each")])
    count = len(files) if len(files) > 1 else seeds or SEEDS
    numbers = range(seed, seed + count)
    if out is not None:
        require_packages(jinja2="report")
        refuse_folder(out, COMPARISON_FILES, force=force)
    title = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    worlds = scenarios if len(files) > 1 else scenarios * count
    found = _compare(title, QUANTITIES[scenarios[0].kind](scenarios[0]), policies, worlds, numbers, jobs)
    if out is not None:  # before a pipe that nobody reads ends the command
        options: dict[str, list[Any]] = {
            "--method": [policy.method for policy in policies],
            "--seed": [seed],
            "--seeds": [seeds],
            "--out": [out],
        }
        command = f"{command_text('simulate', options)} {shlex.join(map(str, files))}"
        _write(title, found, out, force, command)
    console = output()
    say(console, title, "bold")
    print_tables(console, found.means_table())
    for sentence in found.sentences():
        say(console, sentence.replace("`", ""))
    if out is not None:
        say(console, f"written to {out}")


def _read_scenarios(files: Sequence[Path]) -> list[Problem]:
    """Read the scenarios; refuse what is no scenario, and scenarios of two kinds."""
    scenarios = [load(file) for file in files]
    for file, scenario in zip(files, scenarios, strict=True):
        wanted = scenarios[0].kind if scenarios[0].kind in QUANTITIES else " or ".join(QUANTITIES)
        if scenario.kind != wanted:
            raise InvalidInstanceError([Fault("kind", scenario.kind, f"must be {wanted}")], str(file))
    return scenarios


def _read_policies(kind: str, texts: Sequence[str] | None) -> list[Choice]:
    """Read policies with their parameters, each once; all of the kind where none is named."""
    texts = [text.strip() for text in texts or sorted(set(methods(kind)) - {"auto"})]
    policies = [Choice.read(text) for text in texts]
    for index, policy in enumerate(policies):
        get_method(policy.name, kind)
        if policy.method in texts[:index]:
            raise InvalidInstanceError([Fault("--method", repr(policy.method), "is given twice")])
    return policies


def _compare(
    title: str,
    quantities: Sequence[Quantity],
    policies: Sequence[Choice],
    worlds: Sequence[Problem],
    seeds: Sequence[int],
    jobs: int | None,
) -> PolicyComparison:
    """Run every policy in every world with its seed, `jobs` at the same time (None: one per core), and compare them.

    Raises
    ------
    EdrpError
        When a run comes to nothing, naming policy and seed.
    """
    tasks = [(world, policy, seed) for policy in policies for world, seed in zip(worlds, seeds, strict=True)]
    runs: list[dict[str, float]] = []
    with counting(errors(), f"simulating {title}") as report:
        report(Count(0, len(tasks)))
        workers = Parallel(n_jobs=-1 if jobs is None else jobs, return_as="generator")
        for metrics in workers(delayed(_run)(*task) for task in tasks):
            runs.append(metrics)
            report(Count(len(runs), len(tasks)))
    samples = {
        policy.method: {
            quantity.name: np.array([run[quantity.name] for run in runs[at * len(seeds) : (at + 1) * len(seeds)]])
            for quantity in quantities
        }
        for at, policy in enumerate(policies)
    }
    return PolicyComparison(quantities, seeds, samples)


def _run(scenario: Problem, policy: Choice, seed: int) -> dict[str, float]:
    """The metrics of one run, the objective among them."""
    solution = solve(scenario, policy.name, seed=seed, **policy.arguments)
    if solution.objective is None:
        reasons = "; ".join(solution.notes) or solution.status
        raise EdrpError(f"{policy.method} with seed {seed} came to nothing: {reasons}")
    return {**solution.metrics, OBJECTIVE: solution.objective}


def _write(title: str, found: PolicyComparison, out: Path, force: bool, command: str) -> None:
    """Write the page and the records."""
    *first, words = found.sections()
    settings = {"compared": ", ".join(found.samples), "seeds": f"{found.seeds[0]} to {found.seeds[-1]}, each for all of them"}
    page = Page(
        f"Runs of {title}",
        "Simulated runs of the same loads with the same seeds, side by side.",
        found.sentences(),
        [*first, how_run(command, settings), words],
        datetime.now(UTC),
        status=f"{len(found.samples)} × {len(found.seeds)} runs",
    )
    with filling(out, force=force) as folder:
        write_whole(folder / PAGE, render(page))
        write_records(folder, found.records())
