"""`python -m edrp.validation.fuzzing`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from edrp.validation.fuzzing.campaign import Campaign, Summary, known_finds, run_campaign
from edrp.validation.fuzzing.features import FEATURES
from edrp.validation.fuzzing.oracle import Find, judge
from edrp.validation.fuzzing.ways import WAYS

PAIRS_OF_A_CHUNK = 250

app = typer.Typer(pretty_exceptions_enable=False, help="Fuzz documents of all kinds of problems under all methods.")

Folder = Annotated[Path, typer.Option(help="Where finished chunks and finds are kept.")]


@app.command()
def run(
    cases: Annotated[int, typer.Option(min=1, help="Number of cases, those that are finished already included.")] = 20_000,
    processes: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    folder: Folder = Path("fuzz"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed draws the same cases.")] = 0,
    work_limit: Annotated[float, typer.Option(min=0, help="Units of work for each method.")] = 0.05,
    kind: Annotated[list[str] | None, typer.Option(help="Kind of problems; default: all.")] = None,
    also: Annotated[list[Path] | None, typer.Option(help="Folder of documents to begin with, too.")] = None,
) -> None:
    """Draw cases and judge them; stop with Ctrl-C, and go on by the same command."""
    files = tuple(sorted(file for place in also or () for file in place.glob("*.json")))
    _run(Campaign(folder.absolute(), seed, tuple(kind or ()), files, work_limit), cases, processes)


@app.command()
def pairs(
    cases: Annotated[int, typer.Option(min=1, help="Number of problems, those that are finished already included.")] = 2_000,
    processes: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    folder: Folder = Path("fuzz"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed draws the same problems.")] = 0,
    work_limit: Annotated[float, typer.Option(min=0, help="Units of work for each method and way.")] = 2.0,
    feature: Annotated[
        str, typer.Option(help="Feature that comes alone, such as 'narrow capacity', under every method; default: pairs.")
    ] = "",
) -> None:
    """Let features meet in pairs, in every kind of problem, and compare answers with all decisions of tiny problems."""
    if feature and feature not in (known := {**FEATURES, **WAYS}):
        raise typer.BadParameter(f"{feature!r} is none of {', '.join(known)}", param_hint="--feature")
    _run(
        Campaign(folder.absolute(), seed, work_limit=work_limit, pairs=True, feature=feature, chunk=PAIRS_OF_A_CHUNK),
        cases,
        processes,
    )


def _run(campaign: Campaign, cases: int, processes: int) -> None:
    summary = Summary()
    try:
        for summary in run_campaign(campaign, cases, processes):
            typer.echo(str(summary).split("\n")[0], err=True)
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on", err=True)
    typer.echo(summary)
    raise typer.Exit(1 if summary.signatures else 0)


@app.command()
def again(folder: Folder = Path("fuzz/finds")) -> None:
    """Judge the finds in a folder again and say which of them are still there."""
    failing = 0
    for file in known_finds(folder):
        find = Find.from_json(file.read_text())
        finds = judge(find.case).finds
        failing += bool(finds)
        typer.echo(f"{file.name}: {json.dumps(sorted({reproduced.signature for reproduced in finds})) if finds else 'gone'}")
    raise typer.Exit(1 if failing else 0)


if __name__ == "__main__":
    app()
