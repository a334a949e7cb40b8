"""The commands, imported when they run, and what ends them: every expected error becomes a message and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from edrp.core.errors import EdrpError, RecoveryWarning, UnwritableError, VerificationError

if TYPE_CHECKING:
    from edrp.carrying.largest_rate import LargestRate
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
    "130 interrupted with nothing, 1 a defect of edrp. With several files, the most severe code counts."
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


def outcome_code(outcome: Solution | LargestRate | Exception) -> ExitCode:
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
    """A command: where it is in `edrp.cli`, as "module:function" or "module:group", and what `edrp --help` says of it."""

    place: str
    help: str


COMMANDS = {
    "solve": Command(
        "solve:solve_files", "Solve instances and print the decision, its metrics, and whether it is proven optimal."
    ),
    "explain": Command(
        "explain:explain_file",
        "Explain a solution: what each term of the objective costs, which limits bind, what is second best, and what rules cost.",
    ),
    "explore": Command(
        "explain:explore_file", "Write a page for the browser that shows a problem and its solution; it needs no network."
    ),
    "front": Command(
        "explain:print_front",
        "Print the Pareto front of two metrics: the deployments that no other one beats in both, each with a proof.",
    ),
    "carry": Command(
        "carry:carry_file", "Find the largest multiple of all rates that a deployment carries, and one above which none does."
    ),
    "check": Command(
        "solve:check_files",
        "Check a certificate in exact arithmetic and print what it proves, or the first statement that does not hold.",
    ),
    "batch": Command(
        "batch:solve_many",
        "Solve many instances with one or several methods, on this machine or on Spark, and write a row for each.",
    ),
    "benchmark": Command(
        "benchmark:compare_methods",
        "Compare methods with the proven optimum on a suite or on your own instances, and write tables and a report.",
    ),
    "plan": Command(
        "plan:plan_file",
        "Plan a migration, a rescaling or moves of replicas, with schedules of transfers, or when deployments of a day change.",
    ),
    "generate": Command("generate:generate_instances", "Generate random instances, taking the families in turn."),
    "library": Command(
        "library:library", "Instances with the best decisions and bounds that are known: list, get, verify and submit."
    ),
    "schema": Command("reference:print_schema", "Print the JSON Schema of a kind of document, or list all kinds."),
    "methods": Command("reference:print_methods", "List the methods with their summaries, and what those of a kind take."),
    "demo": Command(
        "demo:run_demo",
        "Run the demo: what each of the five papers decides, in two minutes; or the first paper's hour, or a real day.",
    ),
    "validate": Command("reference:validate_files", "Validate instances and solutions, and list every fault with its place."),
    "version": Command("reference:print_version", "Print the versions of edrp and of the packages that affect its answers."),
    "reproduce": Command("reproduce:reproduce", "Reproduce the tables and figures of the papers."),
    "simulate": Command(
        "simulate:simulate",
        "Compare policies by simulated runs with the same seeds: means with intervals and, with --out, a page.",
    ),
    "policy": Command(
        "policy:policy", "Precompute migration policies that prepare for probable later migrations, and decide with them."
    ),
    "capture": Command("capture:capture", "Store the answers of a stream engine about a running job in one file."),
    "observe": Command("capture:observe", "Print rates, busy shares, service rates and state of a running job from a capture."),
    "advise": Command(
        "advise:advise_app",
        "Advise on a running job: replicas, places, costs and gains of a change, and the calls that would make it.",
    ),
    "watch": Command("watch:watch", "Watch a running job: observe, predict, advise and, if allowed, apply the advice."),
    "migrate": Command(
        "migrate:migrate", "Move tasks of live operators of a running job, one mini-migration after another, while it goes on."
    ),
    "trace": Command("trace:trace", "Turn logs of events into loads, node counts and migration problems."),
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
    found = resolve_name(f"edrp.cli.{COMMANDS[name].place}")
    if isinstance(found, typer.Typer):
        command: Any = typer.main.get_group(found)
        command.help = COMMANDS[name].help
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


def _print_versions(asked: bool) -> None:
    if asked:
        resolve_name(f"edrp.cli.{COMMANDS['version'].place}")()
        raise typer.Exit


@app.callback()
def edrp(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_versions, is_eager=True, help=COMMANDS["version"].help)
    ] = False,
) -> None:
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
