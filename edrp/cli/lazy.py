"""Commands that are imported when they run; the list of them says in one line what each does."""

from __future__ import annotations

from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from edrp.core.plugins import imported


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
        "Plan a migration: what stays and moves on each node, in which steps, and transfers as fast as links allow.",
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
    found = imported(COMMANDS[name].place)
    if isinstance(found, typer.Typer):
        command: Any = typer.main.get_group(found)
    else:
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        command = typer.main.get_command(alone)
    command.name = name
    return command
