"""Parts that several commands share: options, choices, parameters, a folder to write into, documents to read."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from edrp.cli.terminal import errors, output, progress, say
from edrp.core.errors import BackendUnavailableError, Fault, InvalidInstanceError
from edrp.core.files import naming_errors
from edrp.core.folders import filling, refuse_folder
from edrp.core.instances import load, load_solution
from edrp.core.kinds import program_names
from edrp.core.problem import Problem
from edrp.core.solve import solve
from edrp.core.wording import suggestion
from edrp.report.page import require_packages

PROGRAM_NAMES = program_names()


def command_group() -> typer.Typer:
    """A group of commands, or of a single one; its help is what `edrp --help` says of it."""
    group = typer.Typer(no_args_is_help=True, add_completion=False)
    group.callback()(lambda: None)  # without it, a single command would be the group
    return group


def argument(help: str, **more: Any) -> Any:
    """An argument with its help."""
    return typer.Argument(help=help, **more)


def option(help: str, *names: str, **more: Any) -> Any:
    """An option with its help; without names it is called as the parameter."""
    return typer.Option(*names, help=help, **more)


def out_option(help: str) -> Any:
    """The option that names the file or folder to be written."""
    return option(help, "--out", "-o")


def finite(value: float | None) -> float | None:
    """Refuse NaN and infinity on the command line."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("must be a finite number")
    return value


def finite_option(help: str, *names: str, min: float | None = 0) -> Any:
    """An option that takes a finite number, by default from 0 on."""
    return option(help, *names, min=min, callback=finite)


def known_program(name: str | None) -> str | None:
    """Refuse a program that no kind of problem has."""
    if name is not None and name not in PROGRAM_NAMES:
        raise typer.BadParameter(f"{name!r} is no program{suggestion(name, PROGRAM_NAMES)}")
    return name


def seconds(text: str | float) -> float:
    """Read a time limit of the command line; what is no number of seconds, such as "500ms", is refused."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise typer.BadParameter(f"{text!r} is no number of seconds of at least 0, such as 0.5")
    return value


def seconds_option(help: str) -> Any:
    """The option of a time limit."""
    return option(help, "--time-limit", parser=seconds, metavar="SECONDS")


TimeLimit = Annotated[float | None, seconds_option("Time limit for each instance; default: none.")]
WorkLimit = Annotated[
    float | None,
    finite_option(
        "Units of work for each instance, about seconds of an idle core, with which answers repeat; default: none.",
        "--work-limit",
    ),
]
ExplainedWork = Annotated[
    float | None,
    finite_option(
        "Units of work to solve the instance, to find the second best or each rival of a sequence, and to leave out rules; "
        "default: none, 2 or 10, and 2.",
        "--work-limit",
    ),
]
BoundedTime = Annotated[float, seconds_option("Time limit.")]
Force = Annotated[bool, option("Replace existing files.", "--force")]
Strict = Annotated[bool, option("Refuse a problem of which edrp would warn, such as a weight that has no effect.", "--strict")]
Method = Annotated[str, option("Method that solves the problem; `edrp methods` lists the names.", "--method", "-m")]


def choice_option(words: Any, help: str) -> Any:
    """An option that takes one of the words of a `Literal`; another word is refused with the nearest of these.

    >>> from typing import Literal
    >>> choice_option(Literal["events", "bytes"], "Measure of load.").metavar
    'events|bytes'
    """
    known = get_args(words)

    def parse(word: str) -> str:
        if word not in known:
            raise typer.BadParameter(f"{word!r} is none of the choices{suggestion(word, known)}")
        return word

    return option(help, parser=parse, metavar="|".join(known))


ForceFolder = Annotated[bool, option("Replace existing files that this command did not write.", "--force")]


@contextmanager
def output_folder(out: Path | None, force: bool, names: Sequence[str] = ()) -> Iterator[Path | None]:
    """A folder to write to, whose files are in `out` when the block ends well; None where nothing is to be written.

    Parameters
    ----------
    names
        Names of files that are to be written, which are looked for before any work.
    """
    if out is None:
        yield None
        return
    refuse_folder(out, names, force=force)
    with filling(out, force=force) as stage:
        yield stage
    say(output(), f"written to {out}")


def make_parent(target: Path) -> None:
    """Create the folder that a file goes to where it is missing."""
    with naming_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def figure_folder(out: Path | None, force: bool, names: Sequence[str]) -> Iterator[Path | None]:
    """As `output_folder`, for figures of these names; what they cannot be drawn without is said before any work."""
    if out is not None:
        warn_of_missing(matplotlib="plot")
    with output_folder(out, force, names) as folder:
        yield folder


def warn_of_missing(**extras: str) -> None:
    """Say which optional package a later step needs that can be done without; `extras` are those of `require_packages`."""
    try:
        require_packages(**extras)
    except BackendUnavailableError as error:
        say(errors(), f"warning: {error}", "yellow")


SolutionFile = Annotated[
    Path | None, argument("Solution document of the instance; by default the instance is solved.", metavar="[SOLUTION]")
]


def read_problem(path: Path, strict: bool) -> Any:
    """Read an instance file, and print what it states without effect or in an unlikely unit as warnings.

    Raises
    ------
    InvalidInstanceError
        Every fault of the file; if `strict`, also for what would be a warning.
    """
    problem = load(path)
    check_warnings(path, problem, strict)
    return problem


def check_warnings(path: Path, problem: Problem, strict: bool) -> None:
    """Print the warnings of a problem, each once; if `strict`, raise them as faults instead."""
    warnings = problem.warnings()
    if strict and warnings:
        raise InvalidInstanceError(warnings, str(path))
    for fault in warnings:
        say(errors(), f"{path}: warning: {fault.sentence}", "yellow")


def read_or_solve(problem: Problem, file: Path, solution_file: Path | None, method: str, **limits: Any) -> Any:
    """The solution that is read, if it is one of the kind of the problem, or, without a file of one, found within limits."""
    if solution_file is not None:
        solution = load_solution(solution_file)
        wanted = f"{problem.kind}-solution"
        if solution.kind != wanted:
            raise InvalidInstanceError([Fault("kind", solution.kind, f"must be {wanted}")], str(solution_file))
        return solution
    with progress(f"solving {file}") as update:
        return solve(problem, method, progress=update, **limits)


def command_text(command: str, options: Mapping[str, Sequence[Any]]) -> str:
    """A command that can be typed again, each option once for each of its values; those that are None were not given.

    >>> command_text("benchmark", {"--method": ["highs", "a b"], "--out": [None]})
    "edrp benchmark --method highs --method 'a b'"
    """
    words = [word for name, values in options.items() for value in values if value is not None for word in (name, str(value))]
    return shlex.join(["edrp", *command.split(), *words])
