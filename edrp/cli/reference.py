"""`edrp schema`, `edrp methods`, `edrp version` and `edrp validate`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edrp.cli.app import ExitCode, gravest, outcome_code
from edrp.cli.options import Strict, argument, check_warnings, option
from edrp.cli.terminal import output, print_listing, report, say
from edrp.core.errors import EdrpError
from edrp.core.instances import load_document, schema
from edrp.core.kinds import SOLUTION, get_kind, kinds
from edrp.core.methods import methods
from edrp.core.problem import RULES, Problem
from edrp.core.solution import installed_versions
from edrp.core.wording import enumerated

if TYPE_CHECKING:
    from edrp.core.methods import Method
    from edrp.core.problem import Problem


def print_schema(
    kind: Annotated[str | None, argument("Kind, such as edrp or edrp-solution; by default the kinds are listed.")] = None,
) -> None:
    """Print the JSON Schema of a kind of document, or list all kinds."""
    if kind is not None:
        typer.echo(json.dumps(schema(kind), indent=2, ensure_ascii=False))
        return
    described = {name: (known.problem.__doc__ or "").split("\n\n")[0] for name, known in kinds().items()}
    print_listing(("kind", "document"), [(name, text.replace("\n", " ").strip()) for name, text in described.items()])
    say(output(), f"`edrp schema KIND` prints the schema of instances, `edrp schema KIND{SOLUTION}` that of solutions.")


def print_methods(
    kind: Annotated[str | None, argument("Kind of problem; default: methods for all kinds.")] = None,
    kind_option: Annotated[str | None, option("The same as the argument.", "--kind")] = None,
) -> None:
    """List the methods with their summaries, and what those of a kind take."""
    if kind := kind_option or kind:
        problem = get_kind(kind).problem  # refuses an unknown one
        columns = ("method", "how", "summary")
        print_listing(columns, [(name, _how(method), method.summary) for name, method in methods(kind).items()])
        parts = sorted({*problem.possible_parts, *([RULES] if "rules" in problem.model_fields else [])})
        if parts:
            say(output(), "What methods take of problems of this kind; they refuse those with other parts:")
            listed = [(name, _taken(method, parts)) for name, method in methods(kind).items()]
            print_listing(("method", "takes"), [("(all)", enumerated(parts, len(parts))), *listed])
        return
    rows = [(name, _kinds(method), _how(method), method.summary) for name, method in methods().items()]
    print_listing(("method", "kinds", "how", "summary"), rows)


def _how(method: Method) -> str:
    how = "proves" if method.exact else "searches"
    return f"{how}; a work limit does not stop {method.undivided}" if method.undivided else how


def _taken(method: Method, parts: Sequence[str]) -> str:
    """Parts of problems that a method takes; if these are most, those that it does not take."""
    taken, others = ([part for part in parts if (part in method.takes) is takes] for takes in (True, False))
    if len(others) < len(taken):
        return f"all but {enumerated(others)}" if others else "all"
    return enumerated(taken) if taken else "none"


def _kinds(method: Method) -> str:
    return "all" if set(kinds()) <= set(method.kinds) else ", ".join(method.kinds)


def print_version() -> None:
    """Print the versions of edrp and of the packages that affect its answers."""
    for package, found in installed_versions("highspy", "numpy", "pydantic", "scipy").items():
        typer.echo(f"{package} {found}")


def validate_files(
    files: Annotated[list[Path], argument("Instance files and solution documents.")],
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
