"""`edrp schema`, `edrp methods`, `edrp version`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from edrp.cli.terminal import output, table
from edrp.core.instances import schema
from edrp.core.kinds import get_kind
from edrp.core.methods import methods
from edrp.core.solution import installed_versions


def print_schema(kind: Annotated[str, typer.Argument(help="For example edrp or edrp-solution.", show_default=False)]) -> None:
    """Print the JSON Schema of a kind of document."""
    typer.echo(json.dumps(schema(kind), indent=2, ensure_ascii=False))


def print_methods(kind: Annotated[str | None, typer.Argument(help="Only those for problems of this kind.")] = None) -> None:
    """List the methods."""
    if kind is not None:
        get_kind(kind)  # refuses an unknown one
    rows = [
        (name, ", ".join(method.kinds), "proves" if method.exact else "searches", method.summary)
        for name, method in methods(kind).items()
    ]
    output().print(table(("method", "kinds", "how", "summary"), rows))


def print_version() -> None:
    """Print the versions of edrp and of what its answers depend on."""
    for package, found in installed_versions("highspy", "numba", "numpy", "pydantic", "scipy").items():
        typer.echo(f"{package} {found}")
