"""Certificates on the command line, and `edrp check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from edrp.cli.terminal import output, progress, say
from edrp.core.files import naming_errors, read_whole, write_whole


def write_certificate(solution: Any, target: Path, force: bool) -> None:
    """Write the certificate of a solution, where it has one; with `force` in the place of another file.

    Raises
    ------
    UnwritableError
        When the file cannot be written.
    """
    if solution.certificate is not None:
        _write(target, solution.certificate, force)


def write_vipr(solution: Any, file: Path, target: Path, force: bool) -> None:
    """Write the certificate of a solution as VIPR, where it has one of a program; `file` is the instance.

    Raises
    ------
    UnwritableError
        When the file cannot be written.
    NoViprError
        When the certificate cannot be written as VIPR.
    """
    if solution.certificate is not None:
        from edrp.certificates import checker
        from edrp.certificates.vipr import to_vipr

        _write(target, to_vipr(solution.certificate, checker.parse(read_whole(file))), force)


def _write(path: Path, text: str, force: bool) -> None:
    with naming_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text, replace=force)


def check_files(
    file: Annotated[Path, typer.Argument(help="Instance file.")],
    solution: Annotated[Path, typer.Argument(help="Solution document of the instance.")],
    certificate: Annotated[Path, typer.Argument(help="Certificate of the solution.")],
) -> None:
    """Check a certificate in exact arithmetic and print what it proves, or the first statement that does not hold.

    Exit codes: 0 proven, 4 proven about a stated program only, 2 not proven.
    """
    from edrp.certificates import checker, verification

    with progress(f"checking {certificate}"):
        said = checker.verdict(verification.check_files, str(file), str(solution), str(certificate))
    code = checker.exit_code(said)
    say(output(), said, {0: "green", 4: "yellow"}.get(code, "red"))
    raise typer.Exit(code)
