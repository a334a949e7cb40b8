"""`python -m edrp.validation.fuzzing`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from edrp.validation.fuzzing.agreement import compare, differences
from edrp.validation.fuzzing.campaign import ALL_FAMILIES, Campaign, Summary, known_finds, run_campaign
from edrp.validation.fuzzing.families import FAMILIES, SIZES
from edrp.validation.fuzzing.features import FEATURES
from edrp.validation.fuzzing.oracle import WAYS, Find, judge
from edrp.validation.oracles.bit_flips import flip_bits
from edrp.validation.oracles.corruption import corrupt_all_formats

PAIRS_OF_A_CHUNK = 250

app = typer.Typer(pretty_exceptions_enable=False, help="Look for what breaks the package: documents under all methods, and more.")

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
        str,
        typer.Option(help="What comes alone under all methods: a feature, a way, a family such as 'equal nodes', or 'families'."),
    ] = "",
) -> None:
    """Let features meet in pairs, in every kind of problem, and compare answers with all decisions of tiny problems."""
    if feature and feature not in (known := {**FEATURES, **WAYS, **FAMILIES, ALL_FAMILIES: None}):
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
        finds = judge(Find.from_json(file.read_text()).case).finds
        failing += bool(finds)
        typer.echo(f"{file.name}: {json.dumps(sorted({reproduced.signature for reproduced in finds})) if finds else 'gone'}")
    raise typer.Exit(1 if failing else 0)


@app.command()
def programs(
    kind: Annotated[list[str] | None, typer.Option(help="Kind of problems; default: all that have programs.")] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of programs of each kind.")] = 2_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random instances.")] = 17,
    judge: Annotated[Literal["scipy", "scip", "unpresolved"], typer.Option(help="Second solver.")] = "scipy",
    tiny: Annotated[bool, typer.Option(help="Make some coefficients much smaller.")] = False,
) -> None:
    """Compare optima of HiGHS, with a start where a rule finds one, with those of a second solver."""
    defects = 0
    for name in kind or SIZES:
        outcomes, wrong = compare(name, count, seed, judge, tiny=tiny)
        defects += len(wrong)
        typer.echo("\n".join([f"{name}: {count} programs, {len(wrong)} wrong, {_counted(outcomes)}", *wrong]))
    raise typer.Exit(1 if defects else 0)


@app.command()
def certificates(
    count: Annotated[int, typer.Option(min=1, help="Number of changes.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same changes.")] = 0,
) -> None:
    """Change certificates and solutions of all formats at random; an error says which change the checker wrongly accepts."""
    for name, found in corrupt_all_formats(count, seed).items():
        typer.echo(f"{name}: {found.refused} rejected, {found.passed} harmless")


@app.command()
def bits(
    count: Annotated[int, typer.Option(min=1, help="Number of flips; a thousand take about a minute.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed flips the same bits.")] = 1,
) -> None:
    """Flip bits in results, journals, policies and checkpoints; a flip must be noticed, and harm no other file."""
    with TemporaryDirectory() as place:
        flips = list(flip_bits(count, seed, Path(place)))
    faults = [f"{flip.what}: bit {flip.bit} of {flip.file} {flip.fault}" for flip in flips if flip.fault]
    typer.echo("\n".join([f"noticed: {_counted(Counter(flip.what for flip in flips if not flip.fault))}", *faults]))
    raise typer.Exit(1 if faults else 0)


@app.command()
def repeatable(
    kind: Annotated[str, typer.Option(help="Only this kind of problem.")] = "",
    method: Annotated[str, typer.Option(help="Only this method.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    work_limit: Annotated[float, typer.Option(min=0, help="Units of work for each method.")] = 0.3,
    spark: Annotated[bool, typer.Option(help="Compare with Spark, too.")] = False,
) -> None:
    """Compare answers under a work limit to the byte: again, beside busy processes, in batches, on Spark."""
    wrong = 0
    for line in differences(work_limit, seeds, kind, method, spark=spark):
        wrong += " differs: " in line
        typer.echo(line)
    raise typer.Exit(1 if wrong else 0)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counts.items())


if __name__ == "__main__":
    app()
