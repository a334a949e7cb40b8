"""How the default method of every kind grows: sizes doubled until a minute of the processor or 4 GiB are not enough.

    python benchmarks/growth.py                                  # every kind, one seed for each size: about an hour
    python benchmarks/growth.py -k mapping --seeds 3             # families whose kind or name contains a word
    python benchmarks/growth.py --out rows.jsonl --picture docs/pictures/growth.svg

Every problem is solved by `edrp.solve` with its default method in a process of its own, after a small one has imported
what it needs; its work is limited, so that what else runs on the machine changes nothing. The slope is the exponent of the
time over the last four sizes that ended within the limits; the cliff is the first size that did not, with what was left open.
`--rows FILE` prints table and picture of earlier rows again.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time
from typing import Annotated, Any

import numpy as np
import typer

import edrp
from edrp.datasets.families.registry import choose_families

GROWN = {
    "edrp": ("sequential-geometric", "layered-geometric", "sequential-cluster", "layered-cluster-2-zones"),
    "edrp-sequence": ("elastic", "cluster"),
    "edrp-policy": ("elastic-levels",),
    "latency-aware": ("sequential-geometric", "layered-geometric"),
    "migration": ("uniform", "zipf"),
    "migration-sequence": ("uniform",),
    "migration-policy": ("uniform",),
    "rescale": ("zipf-tasks-150", "hashed-keys-50"),
    "enactment": ("containers-layered", "manufacturing"),
    "leasing": ("manufacturing", "containers"),
    "enactment-scenario": ("manufacturing",),
    "mapping": ("power-law", "busy-platform"),
    "link-allocation": ("platform", "mesh"),
    "bimodal-scenario": ("platform",),
}
"""Families that grow, by kind: easy and hard shapes of each."""

TOPICS = {
    "placement": ("edrp", "edrp-sequence", "edrp-policy", "latency-aware"),
    "migration": ("migration", "migration-sequence", "migration-policy", "rescale"),
    "enactment": ("enactment", "leasing", "enactment-scenario"),
    "mapping": ("mapping", "link-allocation", "bimodal-scenario"),
}
PROVEN = ("optimal", "infeasible")
LARGEST = 2**20
LEAST = 1e-3
"""Seconds below which times are noise, and no slope is drawn from them."""


def solve_one(kind: str, family: str, size: int, seed: int, limit: float, memory: float) -> dict[str, Any]:
    """Solve one problem in this process, and describe the run."""
    resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    chosen = choose_families(kind, [family])[0]
    edrp.solve(chosen.make(chosen.least_size, np.random.default_rng(0)), work_limit=limit)
    problem = chosen.make(size, np.random.default_rng(seed))
    begin = process_time()
    solution = edrp.solve(problem, work_limit=limit)
    seconds = process_time() - begin
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stopped = str(solution.stopped_because)
    return {"seconds": seconds, "bytes": peak, "status": str(solution.status), "gap": solution.gap, "stopped": stopped}


def solve_apart(kind: str, family: str, size: int, seed: int, limit: float, memory: float) -> dict[str, Any]:
    """Solve one problem in a process of its own; one that dies is a row as well."""
    row = {"kind": kind, "family": family, "size": size, "seed": seed}
    words = [sys.executable, str(Path(__file__).resolve()), "--one", json.dumps([kind, family, size, seed, limit, memory])]
    try:
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=20 * limit)
        if done.returncode == 0:
            return row | json.loads(done.stdout.splitlines()[-1])
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        why = next((line for line in reversed(lines) if "Error" in line), lines[-1])
    except subprocess.TimeoutExpired:
        why = f"nothing after {20 * limit:g} s of the clock"
    return row | {"seconds": None, "bytes": None, "status": "failed", "gap": None, "stopped": why[:80]}


def is_within(row: dict[str, Any], limit: float) -> bool:
    """Whether a run ended by itself."""
    return row["status"] != "failed" and row["stopped"] not in ("time_limit", "work_limit") and row["seconds"] < limit


def grow(words: str, seeds: int, limit: float, memory: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of all families, sizes ascending, to the first at which most runs do not end."""
    for kind, families in GROWN.items():
        for family in (name for name in families if words in f"{kind} {name}"):
            size = choose_families(kind, [family])[0].least_size
            while size <= LARGEST:
                rows = [solve_apart(kind, family, size, seed, limit, memory) for seed in range(1, seeds + 1)]
                yield from rows
                if sum(is_within(row, limit) for row in rows) <= seeds / 2:
                    break
                size *= 2


def series(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[int, list[dict[str, Any]]]]:
    """Rows by kind and family, then by size."""
    found: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = {}
    for row in rows:
        found.setdefault((row["kind"], row["family"]), {}).setdefault(row["size"], []).append(row)
    return found


def seconds_at(rows: list[dict[str, Any]]) -> float:
    """Median time of the runs of a size; infinite where most have none."""
    return median(np.inf if row["seconds"] is None else row["seconds"] for row in rows)


def slope(sizes: dict[int, list[dict[str, Any]]], limit: float) -> float | None:
    """Exponent of the time over the last four sizes within the limits."""
    points = [(size, seconds_at(rows)) for size, rows in sizes.items() if all(is_within(row, limit) for row in rows)]
    points = [point for point in points if point[1] >= LEAST][-4:]
    return float(np.polyfit(*np.log(points).T, 1)[0]) if len(points) > 1 else None


def cliff(rows: list[dict[str, Any]]) -> str:
    """Describe the open ends of the runs of a size."""
    row = max(rows, key=lambda row: np.inf if row["gap"] is None else row["gap"])
    if row["status"] == "failed":
        return str(row["stopped"])
    return f"{row['status']}, " + ("no bound" if row["gap"] is None else f"gap {row['gap']:.2%}")


def table(rows: list[dict[str, Any]], limit: float) -> Iterator[str]:
    """Yield a table in Markdown: largest sizes, the last one's time and memory, slope, and cliff."""
    yield "| kind | family | proven to | answered to | s | MB | slope | cliff |"
    yield "|---|---|---|---|---|---|---|---|"
    for (kind, family), sizes in series(rows).items():
        unit = choose_families(kind, [family])[0].size
        within = [size for size, runs in sizes.items() if sum(is_within(row, limit) for row in runs) > len(runs) / 2]
        last = sizes[within[-1]] if within else []
        exponent, beyond = slope(sizes, limit), [size for size in sizes if size not in within]
        proven = [size for size in within if all(row["status"] in PROVEN for row in sizes[size])]
        cells = [f"`{kind}`", f"`{family}`", f"{proven[-1]:,} {unit}" if proven else "", f"{within[-1]:,}" if within else ""]
        cells += (
            [f"{seconds_at(last):.2g}", f"{max(row['bytes'] for row in last if row['bytes']) / 1e6:.0f}"] if last else ["", ""]
        )
        cells += [
            "" if exponent is None else f"{exponent:.1f}",
            f"{beyond[0]:,}: {cliff(sizes[beyond[0]])}" if beyond else "none",
        ]
        yield f"| {' | '.join(cells)} |"


def draw(rows: list[dict[str, Any]], limit: float, file: Path) -> None:
    """Draw times over sizes, one panel for each topic; hollow points did not end within the limits."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "edrp", "svg.fonttype": "none"})
    figure, panels = plt.subplots(2, 2, figsize=(11, 8), sharey=True, constrained_layout=True)
    for (topic, kinds), panel in zip(TOPICS.items(), panels.flat, strict=True):
        panel.set(title=topic, xscale="log", yscale="log", xlabel="size", ylabel="seconds of the processor")
        panel.axhline(limit, color="0.7", linewidth=0.8, linestyle="--")
        for (kind, family), sizes in series(rows).items():
            points = [(size, max(LEAST, seconds_at(runs))) for size, runs in sizes.items() if np.isfinite(seconds_at(runs))]
            if kind not in kinds or not points:
                continue
            line = panel.plot(*zip(*points, strict=True), marker="o", markersize=4, linewidth=1.2, label=f"{kind}, {family}")[0]
            open_ones = [point for point in points if not all(is_within(row, limit) for row in sizes[point[0]])]
            if open_ones:
                panel.plot(*zip(*open_ones, strict=True), "o", markersize=7, markerfacecolor="white", color=line.get_color())
        if panel.lines[1:]:
            panel.legend(fontsize=7, frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main(
    words: Annotated[str, typer.Option("-k", help="Only families whose kind and name contain this.")] = "",
    seeds: Annotated[int, typer.Option(help="Problems of each size.")] = 1,
    limit: Annotated[float, typer.Option(help="Units of work for each run, about seconds of the processor.")] = 60.0,
    memory: Annotated[float, typer.Option(help="GiB for each run.")] = 4.0,
    out: Annotated[Path | None, typer.Option(help="File to which a line of JSON is added for each run.")] = None,
    rows_file: Annotated[Path | None, typer.Option("--rows", help="Rows of earlier runs, instead of running any.")] = None,
    picture: Annotated[Path | None, typer.Option(help="File for the picture.")] = None,
    one: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Double sizes, print the table, and draw the picture."""
    if one:
        print(json.dumps(solve_one(*json.loads(one))))
        return
    rows = [json.loads(line) for line in rows_file.read_text().splitlines()] if rows_file else []
    for row in () if rows_file else grow(words, seeds, limit, memory * 2**30):
        rows.append(row)
        print(json.dumps(row), file=sys.stderr)
        if out:
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    print("\n".join(table(rows, limit)))
    if picture:
        draw(rows, limit, picture)


if __name__ == "__main__":
    typer.run(main)
