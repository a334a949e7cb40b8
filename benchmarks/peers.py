"""`edrp` against its peers, row by row: both sides in turn, seconds of the processor, one thread.

    python benchmarks/peers.py                           # every row, ten instances where they can be drawn: hours
    python benchmarks/peers.py -k leasing --turns 9      # rows whose name contains a word

Peers are the programs, solvers and commands that a practitioner would use instead; `pip install edrp[peers]` brings them, and
a row whose peer is not installed is measured without it. A ratio below 1 says that `edrp` is ahead. Seeds follow from the date of
the last commit, so that no row shows instances for which its methods were made; `--day` draws those of another date.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import typer
from peer_pairs import PAIRS, Call, Measured, load_pairs, measure, serve
from rich.console import Console
from rich.table import Table

console = Console(width=190)
PROVEN = 1e-6
"""Gap up to which an answer counts as proven."""


def gap(run: Measured) -> float | None:
    """Relative gap of the bound; None without answer or bound."""
    objective, bound = run.outcome.objective, run.outcome.bound
    return None if objective is None or bound is None else max(0.0, objective - bound) / max(abs(objective), 1e-12)


def answer(found: Sequence[Measured]) -> str:
    """Objective and gap of one instance; of several, how many are proven, and the largest gap."""
    gaps = [gap(run) for run in found]
    if len(found) == 1:
        outcome, open_part = found[0].outcome, "" if gaps[0] is None else f" (gap {gaps[0]:.2%})"
        return f"{outcome.objective:.6g}{open_part} {outcome.note}".strip() if outcome.objective is not None else outcome.note
    known, nothing = [value for value in gaps if value is not None], sum(run.outcome.objective is None for run in found)
    proven = sum(value <= PROVEN for value in known)
    worst = f", gap up to {max(known):.2%}" if any(value > PROVEN for value in known) else ""
    return f"{proven} of {len(found)} proven{worst}" + (f", {nothing} without answer" if nothing else "")


def cells(rows: Sequence[dict[str, Measured | None]], other: str) -> list[str]:
    """Medians and worst figures of the instances of a row."""
    ours, theirs = ([row[side] for row in rows if row[side]] for side in ("ours", "peer"))
    ratios = [run.processor / peer.processor for run, peer in zip(ours, theirs, strict=False) if "Error" not in peer.outcome.note]
    several = len(ours) > 1
    return [
        f"{median(run.processor for run in ours):.3g}",
        f"{max(run.processor for run in ours):.3g}" if several else "",
        other if theirs else f"({other})" if other else "",
        f"{median(run.processor for run in theirs):.3g}" if theirs else "",
        f"{median(ratios):.2f}" if ratios else "",
        f"{max(ratios):.2f}" if ratios and several else "",
        f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)}" if ratios else "",
        " / ".join(f"{max(run.memory for run in side) / 1e6:.0f}" for side in (ours, theirs) if side),
        answer(ours),
        answer(theirs) if theirs else "",
    ]


def commit_day() -> int:
    """Date of the last commit as a whole number, such as 20261130."""
    words = ["git", "log", "-1", "--format=%cd", "--date=format:%Y%m%d"]
    return int(subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True, check=True).stdout)


def main(
    words: Annotated[str, typer.Option("-k", help="Only rows whose name contains this.")] = "",
    turns: Annotated[int, typer.Option(help="Runs of each side on an instance, after one that is not counted.")] = 5,
    instances: Annotated[int, typer.Option(help="Instances of a row that draws them, each run once.")] = 10,
    day: Annotated[
        int | None, typer.Option(help="Date from which seeds follow, as 20261130.", show_default="last commit")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for one line of JSON per row.")] = None,
    side: Annotated[str, typer.Option("--serve", hidden=True)] = "",
    only: Annotated[str, typer.Option(hidden=True)] = "",
    module: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure the pairs of `pairs/`."""
    if side:
        import_module(module)
        call = getattr(PAIRS[only], side)
        assert isinstance(call, Call)
        serve(call, side)
        return
    seeds = np.random.default_rng(day or commit_day()).integers(10**6, size=instances).tolist()
    headings = "edrp, s", "worst", "peer", "peer, s", "ratio", "worst", "ahead", "MB", "answer", "peer's answer"
    table = Table("row", "goal", *headings, box=None)
    for pair in (pair for name, pair in load_pairs().items() if words in name):
        rows = measure(pair, 1 if pair.drawn else turns, seeds)
        shown = [pair.name, pair.goal, *cells(rows, pair.peer.name if pair.peer else "")]
        table.add_row(*shown)
        console.print(" | ".join(shown))
        if out:
            with out.open("a", encoding="utf-8") as file:
                both = [{key: run and asdict(run) for key, run in row.items()} for row in rows]
                file.write(json.dumps({"name": pair.name, "seeds": seeds if pair.drawn else None, "runs": both}) + "\n")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
