"""Several policies or several seeds of `edrp simulate`: run side by side, printed as a table and written as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from joblib import Parallel, delayed

from edrp.batch.tasks import Choice
from edrp.cli.batch import check_place
from edrp.cli.options import read_assignments, refuse_parameters, refuse_unknown_method
from edrp.cli.terminal import errors, output, say
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError
from edrp.core.files import write_whole
from edrp.core.folders import filling, refuse_folder
from edrp.core.problem import Problem
from edrp.core.solve import solve
from edrp.report.comparison import PolicyComparison, Quantity
from edrp.report.page import Page, how_run, render, require_packages
from edrp.report.progress import Count, counting
from edrp.report.publication import write_records
from edrp.report.tables import print_tables

SEEDS = 10
"""Runs of each policy where several are compared."""

PAGE = "page.html"
COMPARISON_FILES = (PAGE, "runs.csv", "summary.csv")
"""Files that a comparison is written to."""

Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        min=1,
        help=f"Number of runs of each policy or method, with seeds from --seed on; default: 1, or {SEEDS} to compare several.",
    ),
]
OBJECTIVE = "objective"
"""Name of the objective among the samples."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy or choice of maps: the text that the user gave, the method, and its parameters."""

    text: str
    method: str
    parameters: Mapping[str, Any]


def read_contenders(
    kind: str, texts: Sequence[str], words: Sequence[str], suffix: str, option: str, what: str
) -> tuple[Contender, ...]:
    """Read policies or methods, each `name` or `name:key=value,…`, before anything is simulated.

    Parameters
    ----------
    kind
        Kind of the scenario.
    texts
        As given, each once.
    words
        Parameters as `--param` gives them, which go with one contender only.
    suffix, option, what
        The method of a name is name + suffix; the option, and the word for the method, for messages.

    Raises
    ------
    InvalidInstanceError
        For unknown names and parameters, names that are given twice, and `--param` with several of them.
    """
    parameters = read_assignments(words)
    if parameters and len(texts) > 1:
        why = f"goes with one {option}; of several each has its own, as in {option} {texts[0]}:{words[0]}"
        raise InvalidInstanceError([Fault("--param", repr(words[0]), why)])
    made = []
    for index, text in enumerate(texts):
        name, _, rest = text.strip().partition(":")
        refuse_unknown_method(kind, name, suffix, option, what)
        if text in texts[:index]:
            raise InvalidInstanceError([Fault(option, repr(text), "is given twice")])
        own = Choice.read(f"{name}{suffix}:{rest}").arguments | parameters
        refuse_parameters(kind, name + suffix, parameters)
        made.append(Contender(text.strip(), name + suffix, own))
    return tuple(made)


def seeds_to_compare(first: int, count: int | None, contenders: Sequence[Contender]) -> range | None:
    """The seeds of a comparison; None for a single run."""
    count = count or (SEEDS if len(contenders) > 1 else 1)
    return range(first, first + count) if max(count, len(contenders)) > 1 else None


@dataclass(frozen=True, slots=True)
class PolicyRuns:
    """Runs of policies that are to be compared.

    Attributes
    ----------
    title
        Of the scenario.
    world
        The scenario by seed.
    contenders, seeds
        What is run.
    quantities
        What is compared, the objective first.
    """

    title: str
    world: Callable[[int], Problem]
    contenders: Sequence[Contender]
    seeds: range
    quantities: Sequence[Quantity]

    @property
    def settings(self) -> dict[str, str]:
        """Names and values, for the page."""
        return {
            "compared": ", ".join(contender.text for contender in self.contenders),
            "seeds": f"{self.seeds[0]} to {self.seeds[-1]}, each for all of them",
        }

    def compare(self, jobs: int | None) -> PolicyComparison:
        """Run every contender with every seed, so many at the same time (None: one per core), and compare them.

        Raises
        ------
        EdrpError
            When a run comes to nothing, naming policy and seed.
        """
        worlds = {seed: self.world(seed) for seed in self.seeds}
        tasks = [(contender, seed) for contender in self.contenders for seed in self.seeds]
        found: list[dict[str, float]] = []
        with counting(errors(), f"simulating {self.title}") as report:
            report(Count(0, len(tasks)))
            workers = Parallel(n_jobs=-1 if jobs is None else jobs, return_as="generator")
            for metrics in workers(delayed(_metrics)(worlds[seed], contender, seed) for contender, seed in tasks):
                found.append(metrics)
                report(Count(len(found), len(tasks)))
        count = len(self.seeds)
        samples = {
            contender.text: {
                quantity.name: np.array([metrics[quantity.name] for metrics in found[count * at : count * (at + 1)]])
                for quantity in self.quantities
            }
            for at, contender in enumerate(self.contenders)
        }
        return PolicyComparison(self.quantities, self.seeds, samples)


def show_comparison(
    runs: PolicyRuns, jobs: int | None, out: Path | None, command: str, settings: Mapping[str, str], *, force: bool
) -> None:
    """Run, print and, where a folder is given, write page.html, runs.csv and summary.csv.

    Parameters
    ----------
    runs
        What is compared.
    jobs
        Processes at the same time; None for one per core.
    out, force
        Folder, and whether to replace files that others wrote.
    command, settings
        What repeats the runs, and names and values, for the page.
    """
    check_place(None, jobs)
    if out is not None:
        require_packages(jinja2="report")
        refuse_folder(out, COMPARISON_FILES, force=force)
    found = runs.compare(jobs)
    if out is not None:  # before a pipe that nobody reads ends the command
        _write(runs, found, out, force, command, settings)
    console = output()
    say(console, runs.title, "bold")
    print_tables(console, found.means_table())
    for sentence in found.sentences():
        say(console, sentence.replace("`", ""))
    if out is not None:
        say(console, f"written to {out}")


def _write(runs: PolicyRuns, found: PolicyComparison, out: Path, force: bool, command: str, settings: Mapping[str, str]) -> None:
    """Write the page and the records."""
    *first, words = found.sections()
    page = Page(
        f"Runs of {runs.title}",
        "Simulated runs of the same loads with the same seeds, side by side.",
        found.sentences(),
        [*first, how_run(command, settings), words],
        datetime.now(UTC),
        status=f"{len(runs.contenders)} × {len(runs.seeds)} runs",
    )
    with filling(out, force=force) as folder:
        write_whole(folder / PAGE, render(page))
        write_records(folder, found.records())


def _metrics(scenario: Problem, contender: Contender, seed: int) -> dict[str, float]:
    """The metrics of one run, the objective among them."""
    solution = solve(scenario, contender.method, seed=seed, **contender.parameters)
    if solution.objective is None:
        reasons = "; ".join(solution.notes) or solution.status
        raise EdrpError(f"{contender.text} with seed {seed} came to nothing: {reasons}")
    return {**solution.metrics, OBJECTIVE: solution.objective}
