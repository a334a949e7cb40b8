"""`edrp validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.app import ExitCode, gravest, outcome_code
from edrp.cli.terminal import output, report, say
from edrp.core.errors import EdrpError
from edrp.core.instances import load_document


def validate_files(
    files: Annotated[list[Path], typer.Argument(help="Instance files and solution documents.", show_default=False)],
) -> None:
    """Validate instances and solutions, and list every fault with its place."""
    codes = [ExitCode.SOLVED]
    for file in files:
        try:
            document = load_document(file)
        except EdrpError as error:
            report(error, str(file))
            codes.append(outcome_code(error))
        else:
            say(output(), f"{file}: valid ({document.kind})")
    raise typer.Exit(gravest(codes))
