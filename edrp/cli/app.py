"""The commands and what ends them: every expected error becomes a message and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

from edrp.cli.exit import EXIT_CODES, outcome_code
from edrp.cli.lazy import LazyCommands
from edrp.core.errors import EdrpError, RecoveryWarning, UnwritableError

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
