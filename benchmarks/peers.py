"""`edrp` against its peers, row by row: both sides in turn, medians of seconds of the processor, one thread.

    python benchmarks/peers.py                           # every row, five turns each: about half an hour
    python benchmarks/peers.py -k leasing --turns 9      # rows whose name contains a word

Peers are the programs, solvers and commands that a practitioner would use instead; `pip install edrp[peers]` brings them, and
a row whose peer is not installed is measured without it. A ratio below 1 says that `edrp` is ahead.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from peer_pairs import Call, Measured, load_pairs, measure, serve
from rich.console import Console
from rich.table import Table

console = Console(width=170)


def figure(value: float | None) -> str:
    """A number with three or six digits, by its size."""
    return "" if value is None else f"{value:.6g}"


def answer(run: Measured | None) -> str:
    """Objective, and the gap of its bound."""
    if run is None or run.outcome.objective is None:
        return "" if run is None else run.outcome.note
    objective, bound = run.outcome.objective, run.outcome.bound
    gap = "" if bound is None else f" (gap {max(0.0, objective - bound) / max(abs(objective), 1e-12):.2%})"
    return f"{objective:.6g}{gap} {run.outcome.note}".strip()


def main(
    words: Annotated[str, typer.Option("-k", help="Only rows whose name contains this.")] = "",
    turns: Annotated[int, typer.Option(help="Runs of each side, after one that is not counted.")] = 5,
    out: Annotated[Path | None, typer.Option(help="File for one line of JSON per row.")] = None,
    side: Annotated[str, typer.Option("--serve", hidden=True)] = "",
    only: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure the pairs of `pairs/`."""
    pairs = load_pairs()
    if side:
        call = getattr(pairs[only], side)
        assert isinstance(call, Call)
        serve(call)
        return
    table = Table(
        "row", "goal", "edrp, s", "peer", "peer, s", "ratio", "edrp, MB", "peer, MB", "answer", "peer's answer", box=None
    )
    for pair in (pair for name, pair in pairs.items() if words in name):
        both = measure(pair, turns)
        ours, peer = both["ours"], both["peer"]
        assert ours
        other = pair.peer.name if pair.peer else ""
        table.add_row(
            *(pair.name, pair.goal, figure(float(f"{ours.processor:.3g}")), other if peer else f"({other})" if other else ""),
            *((f"{peer.processor:.3g}", f"{ours.processor / peer.processor:.2f}") if peer else ("", "")),
            *(f"{ours.memory / 1e6:.0f}", f"{peer.memory / 1e6:.0f}" if peer else "", answer(ours), answer(peer)),
        )
        console.print(f"{pair.name}: {ours.processor:.4g} s" + (f", {other} {peer.processor:.4g} s" if peer else ""))
        if out:
            with out.open("a", encoding="utf-8") as rows:
                rows.write(json.dumps({"name": pair.name} | {key: run and asdict(run) for key, run in both.items()}) + "\n")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
