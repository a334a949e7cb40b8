"""`edrp generate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.options import Force, argument, option, out_option
from edrp.cli.terminal import errors, output, say, show, table
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.problem import Problem
from edrp.datasets.families.family import Family
from edrp.datasets.families.instance_files import refuse_place, save_instances
from edrp.datasets.families.registry import all_families, choose_families, generate
from edrp.report.progress import Count, counting


def generate_instances(
    kind: Annotated[str | None, argument("Kind of problem, such as edrp.")] = None,
    count: Annotated[int, option("Number of instances.", "--count", "-n")] = 100,
    seed: Annotated[int, option("Seed of the random number generator.")] = 0,
    out: Annotated[
        Path | None, out_option("Output: FILE.parquet or FILE.jsonl (columns id, instance), or a new folder of files.")
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(
            "--family",
            help='Name or pattern ("diamond-*") of families; may be repeated; default: all. Families of edrp, latency-aware and '
            'rescale have others with random rules, named "…-rules"; "*-v1" gives all as version 1 drew them.',
        ),
    ] = None,
    size: Annotated[
        int | None, option("Size of every instance, such as the number of operators or tasks; default: that of the family.")
    ] = None,
    force: Force = False,
    show: Annotated[bool, option("List the families, of KIND or of all kinds.", "--list")] = False,
) -> None:
    """Generate random instances, taking the families in turn.

    Instance number i depends only on the seed, i, its family and the size: a longer set begins with the shorter one.
    Without --family, families whose packages (extra `data`) are not installed are left out, and the command says so.
    """
    if show:
        _print_families(
            all_families() if kind is None else {kind: {chosen.name: chosen for chosen in choose_families(kind, ["*"])}}
        )
        return
    faults = []
    if kind is None:
        faults.append(Fault("KIND", "", f"missing; there are {', '.join(all_families())}"))
    if out is None:
        faults.append(Fault("--out", "", "missing; name a file that ends in .parquet or .jsonl, or a new folder"))
    if kind is None or out is None:
        raise InvalidInstanceError(faults)
    refuse_place(out, replace=force)
    instances = generate(kind, count, seed, families=family or _possible_families(kind), size=size)
    with counting(errors(), f"generating {out}") as report:
        written = save_instances(_counted(instances, count, report), out, replace=force)
    say(output(), f"{written} instances of kind {kind} written to {out}")


def _possible_families(kind: str) -> list[str] | None:
    """Families to take where none are named: all, or those that need no further package, and a sentence that says so."""
    families = choose_families(kind)
    missing = dict.fromkeys(package for family in families for package in family.missing_packages)
    possible = [family.name for family in families if not family.missing_packages]
    if not missing or not possible:
        return None
    few = f"{len(possible)} of {len(families)} families are taken; the others need {' and '.join(missing)}"
    say(errors(), f'{few}: pip install "edrp[data]"', "yellow")
    return possible


def _counted(
    instances: Iterable[tuple[str, Problem]], total: int, report: Callable[[Count], None]
) -> Iterator[tuple[str, Problem]]:
    for done, instance in enumerate(instances, start=1):
        yield instance
        report(Count(done, total))


def _print_families(families: dict[str, dict[str, Family]]) -> None:
    rows = [
        (kind, name, f"{family.default_size} {family.size}", f"{family.least_size} {family.size}", family.summary)
        for kind, families_by_name in families.items()
        for name, family in families_by_name.items()
    ]
    show(output(), [table(("kind", "family", "default size", "least", "what"), rows)])
