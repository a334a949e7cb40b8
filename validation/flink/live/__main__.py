"""Kills processes under live jobs: `python -m edrp.validation.flink.live`; a run that its file of rows holds is not repeated."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from edrp.engines.errors import EngineError
from edrp.validation.flink.live.kills import BACKENDS, KillSettings, kill_run

COLUMNS = ("plans", "moves", "waited", "longest_ms", "lost", "doubled", "reordered", "wrong", "records", "replays", "seconds")


def main(
    kills: Annotated[int, typer.Option(min=0, help="Number of kills in all.")] = 24,
    plans: Annotated[int, typer.Option(min=1, help="Number of random plans in all.")] = 200,
    seconds: Annotated[float, typer.Option(min=0, help="Seconds of a run after which no further plan is sent.")] = 1800.0,
    seed: Annotated[int, typer.Option(help="Of the plans.")] = 1,
    rows: Annotated[Path, typer.Option(help="File of one JSON line for each run; runs that it holds are not made again.")] = Path(
        "kills.jsonl"
    ),
) -> None:
    """Send random plans to live jobs on clusters of this machine, and kill processes (-9) while states are on their way."""
    kinds = product(BACKENDS, (1, 2))
    runs = [KillSettings(backend, kills // 4, plans // 4, seed, seconds, operators) for backend, operators in kinds]
    made = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()] if rows.exists() else []
    for settings in runs:
        if not any(row["settings"] == asdict(settings) for row in made):
            try:
                row = {"settings": asdict(settings), **kill_run(settings, lambda note: sys.stderr.write(f"{note}\n"))}
            except EngineError as error:
                sys.exit(str(error))
            made.append(row)
            with rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    sys.stdout.write(table(made))
    sys.exit(not all(row["exactly_once"] for row in made))


def table(rows: list[dict[str, Any]]) -> str:
    """One line for each run, and their sums."""
    heads = ("backend", "operators", "TaskManager", "JobManager", "command", *COLUMNS, "load")
    lines: list[tuple[str, ...]] = [heads]
    for row in rows:
        counts = [row["kills"].get(what, 0) for what in heads[2:5]] + [row.get(name, 0) for name in COLUMNS]
        lines.append((row["backend"], *map(str, (row["operators"], *counts)), "–".join(map(str, row["load"]))))
    sums = (str(sum(int(line[place]) for line in lines[1:])) for place in range(2, len(heads) - 1))
    lines.append(("all", "", *sums, ""))
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    padded = ([word.rjust(width) for word, width in zip(line, widths, strict=True)] for line in lines)
    return "".join("  ".join(line).rstrip() + "\n" for line in padded)


if __name__ == "__main__":
    typer.run(main)
