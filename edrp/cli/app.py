"""The commands and what ends them: every expected error becomes a message and an exit code."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from edrp.cli.exit import EXIT_CODES, outcome_code
from edrp.cli.lazy import LazyCommands
from edrp.core.errors import EdrpError

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
        app(args=None if arguments is None else list(arguments), prog_name="edrp")
    except EdrpError as error:
        from edrp.cli.terminal import report

        report(error)
        raise SystemExit(outcome_code(error)) from None
