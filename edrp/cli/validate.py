"""`edrp validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.app import ExitCode, gravest, outcome_code
from edrp.cli.options import Strict, check_warnings
from edrp.cli.terminal import output, report, say
from edrp.core.errors import EdrpError
from edrp.core.instances import load_document
from edrp.core.problem import Problem


def validate_files(
    files: Annotated[list[Path], typer.Argument(help="Instance files and solution documents.")],
    strict: Strict = False,
) -> None:
    """Validate instances and solutions, and list every fault with its place.

    Warnings say what a valid problem states without effect, or in an unlikely unit.
    """
    codes = [ExitCode.SOLVED]
    for file in files:
        try:
            document = load_document(file)
            if isinstance(document, Problem):
                check_warnings(file, document, strict)
        except EdrpError as error:
            report(error, str(file))
            codes.append(outcome_code(error))
        else:
            say(output(), f"{file}: valid ({document.kind})")
    raise typer.Exit(gravest(codes))
