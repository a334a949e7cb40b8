"""The commands, imported when they run, and what ends them: every expected error becomes a message and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from edrp.core.errors import EdrpError, RecoveryWarning, UnwritableError, VerificationError

if TYPE_CHECKING:
    from edrp.core.solution import Solution


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    SOLVED = 0
    DEFECT = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    NOTHING_FOUND = 4
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 optimal or feasible, 2 bad input, 3 infeasible, 4 nothing found in time, "
    "130 interrupted with nothing, 1 a defect of edrp. Of several files the gravest counts."
)

_BY_GRAVITY = (
    ExitCode.SOLVED,
    ExitCode.INFEASIBLE,
    ExitCode.NOTHING_FOUND,
    ExitCode.BAD_INPUT,
    ExitCode.INTERRUPTED,
    ExitCode.DEFECT,
)


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """The code that counts when several files had one each.

    >>> gravest([ExitCode.SOLVED, ExitCode.BAD_INPUT, ExitCode.INFEASIBLE]).name
    'BAD_INPUT'
    """
    return max(codes, key=_BY_GRAVITY.index, default=ExitCode.SOLVED)


def outcome_code(outcome: Solution | Exception) -> ExitCode:
    """The exit code of an answer or of an error."""
    if isinstance(outcome, VerificationError):
        return ExitCode.DEFECT
    if isinstance(outcome, Exception):
        return ExitCode.BAD_INPUT
    if outcome.status in ("optimal", "feasible"):
        return ExitCode.SOLVED
    if outcome.status == "infeasible":
        return ExitCode.INFEASIBLE
    return ExitCode.INTERRUPTED if outcome.stopped_because == "interrupted" else ExitCode.NOTHING_FOUND


class Command(NamedTuple):
    """A command: where it is, as "package.module:function" or "package.module:group", and what `edrp --help` says of it."""

    place: str
    help: str


COMMANDS = {
    "solve": Command(
        "edrp.cli.solve:solve_files",
        "Solve instances and print what was decided, what that costs and why nothing is better.",
    ),
    "explain": Command(
        "edrp.cli.explain:explain_file",
        "Explain a deployment: critical path, cost, reconfiguration, limits, and how far the second best is.",
    ),
    "explore": Command(
        "edrp.cli.explore:explore_file",
        "Show a problem and its solution as a page for the browser, which needs no network.",
    ),
    "front": Command(
        "edrp.cli.front:print_front",
        "Show the Pareto front of two metrics: every deployment that no other one beats in both, each proven.",
    ),
    "check": Command(
        "edrp.cli.certificate:check_files",
        "Check a certificate in exact arithmetic: what it proves of a solution, or the first thing that does not hold.",
    ),
    "batch": Command(
        "edrp.cli.batch:solve_many",
        "Solve many instances with one or several methods: a row of results for each, on this machine or on Spark.",
    ),
    "benchmark": Command(
        "edrp.cli.benchmark:compare_methods",
        "Compare methods with the proven optimum, on a suite or on your own instances: tables and one HTML report.",
    ),
    "plan": Command(
        "edrp.cli.plan:plan_file",
        "Plan a migration or rescaling: what stays and moves on each node, in which steps, and when, as fast as links allow.",
    ),
    "generate": Command("edrp.cli.generate:generate_instances", "Make random instances, one family after the other."),
    "schema": Command("edrp.cli.reference:print_schema", "Print the JSON Schema of a kind of document, or list the kinds."),
    "methods": Command("edrp.cli.reference:print_methods", "List the methods."),
    "demo": Command(
        "edrp.cli.demo:run_demo",
        "Run the main job: an hour of the paper and a real day, re-solved step by step, in four objectives.",
    ),
    "validate": Command(
        "edrp.cli.validate:validate_files",
        "Check instances and solutions, and list every fault with its place.",
    ),
    "warm-up": Command(
        "edrp.cli.warm_up:compile_kernels", "Compile the kernels of all methods, once, so that no later run waits for them."
    ),
    "version": Command("edrp.cli.reference:print_version", "Print the versions of edrp and of what its answers depend on."),
    "reproduce": Command("edrp.cli.reproduce:reproduce", "Reproduce tables and figures of the papers."),
    "simulate": Command("edrp.cli.simulate:simulate", "Simulate a whole run and what became of it."),
    "policy": Command("edrp.cli.policy:policy", "Migrations that prepare for those to come: compute once, decide often."),
    "capture": Command("edrp.cli.capture:capture", "Capture what a stream engine answers about a running job, in one file."),
    "observe": Command(
        "edrp.cli.observe:observe",
        "Read what a capture or exported metrics tell of a running job: rates, busy shares, service rates, state.",
    ),
    "advise": Command(
        "edrp.cli.advise:advise_app",
        "Advise on a running job: replicas, places, what a change costs and brings, and the calls that make it.",
    ),
    "watch": Command(
        "edrp.cli.watch:watch", "Watch a running job: observe, predict, advise, and apply the advice where that is allowed."
    ),
    "trace": Command("edrp.cli.trace:trace", "Turn logs of events into loads, node counts and problems."),
}


class LazyCommands(TyperGroup):
    """The group of all commands, which imports the one that runs."""

    def __init__(self, *arguments: Any, **fields: Any) -> None:
        super().__init__(*arguments, **fields)
        self.commands = {name: TyperCommand(name, help=command.help) for name, command in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that was asked for; the others stay names."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if command is None or name is None else load_command(name), rest


def load_command(name: str) -> Any:
    """Import a command or group of commands.

    >>> load_command("version").name
    'version'
    """
    found = resolve_name(COMMANDS[name].place)
    if isinstance(found, typer.Typer):
        command: Any = typer.main.get_group(found)
    else:
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        command = typer.main.get_command(alone)
    command.name = name
    return command


app = typer.Typer(
    name="edrp",
    cls=LazyCommands,
    help="Placement, replication, reconfiguration and state migration of data-stream applications.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def edrp() -> None:
    """Placement, replication, reconfiguration and state migration of data-stream applications."""


def run(arguments: Sequence[str] | None) -> None:
    """Run the command line, with the words of the process if none are given; every expected error becomes an exit code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", RecoveryWarning)
            warnings.showwarning = _show_warning
            try:
                app(args=None if arguments is None else list(arguments), prog_name="edrp")
            finally:
                _flush()
    except EdrpError as error:
        _end_with(error)
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.strerror is None:
            raise
        _end_with(UnwritableError(str(error.filename or "output"), error.strerror))


def _end_with(error: EdrpError) -> NoReturn:
    from edrp.cli.terminal import report

    report(error)
    raise SystemExit(outcome_code(error)) from None


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Print a warning of ours as a sentence on standard error, and others as ever."""
    if issubclass(category, RecoveryWarning):
        from edrp.cli.terminal import errors, say

        say(errors(), str(message), "yellow")
    else:
        _SHOW(message, category, *place, **more)


_SHOW = warnings.showwarning


def _flush() -> None:
    """Write out what was printed, so that a full disk under standard output is an error like any other."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # Python would try once more when it ends, and say so at length.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UnwritableError("standard output", f"cannot be written: {error.strerror}") from None
