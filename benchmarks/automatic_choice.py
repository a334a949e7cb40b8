"""Is `auto` ever worse than the best single method with the same time?

    python benchmarks/automatic_choice.py run runs.jsonl --limit 3     # suites smoke and placement, and examples/; goes on
    python benchmarks/automatic_choice.py show runs.jsonl

Each method gets the same limit on each instance, kernels warm. Objectives are compared relative to the best of all; of
problems with priorities, that of the first stage, since those of the others count only within its slack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from common import PROVEN, Rows, above, add_row, read_rows, warm
from rich.console import Console
from rich.table import Table

import edrp
from edrp.core.errors import EdrpError
from edrp.validation.benchmark.suites import get_suite

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SUITES = ("smoke", "placement")
SLOW_STARTS = ("cvxpy", "pyomo", "scipy")  # the same programs as highs, handed over in other ways
NEAR = 1.0
"""Percent above the best within which an answer is a good one."""

app = typer.Typer(add_completion=False, help=__doc__)


def instances() -> Iterator[tuple[str, Any]]:
    """Problems of the suites and examples, with their names."""
    for suite in SUITES:
        yield from ((f"{suite}/{name}", problem) for name, problem in get_suite(suite).instances(None))
    for file in sorted(EXAMPLES.glob("*.json")):
        yield f"examples/{file.stem}", edrp.load(file)


def single_methods(problem: Any) -> list[str]:
    """Names of the methods that take a problem and are no choice among others."""
    known = edrp.methods(problem.kind)
    others = (name for name in known if name not in ("auto", "stored-policy", *SLOW_STARTS))
    return [name for name in others if known[name].refusal(problem) is None]


@app.command()
def run(
    runs: Rows,
    limit: Annotated[float, typer.Option(help="Seconds for each run.")] = 3.0,
    only: Annotated[list[str] | None, typer.Option(help="Methods, instead of all.")] = None,
) -> None:
    """Solve every instance with every method, and with `auto`."""
    done = {(row["id"], row["method"]) for row in read_rows(runs)}
    warmed: set[str] = set()
    for identifier, problem in instances():
        if problem.kind not in warmed:
            warm(problem.kind, edrp.methods(problem.kind).keys() - {"stored-policy"})
            warmed.add(problem.kind)
        for method in ["auto", *single_methods(problem)]:
            if (identifier, method) in done or (only and method not in only):
                continue
            began = perf_counter()
            try:
                answer = edrp.solve(problem, method, time_limit=limit)
                objective = answer.stages[0].value if answer.stages else answer.objective
                row: dict[str, Any] = {"status": answer.status, "objective": objective, "said": answer.method}
            except EdrpError as error:
                row = {"status": "error", "objective": None, "said": str(error)}
            add_row(runs, row | {"id": identifier, "method": method, "seconds": perf_counter() - began, "limit": limit})


@app.command()
def show(runs: Rows) -> None:
    """For each method: how many answers are within 1 % of the best, the worst one, proofs, and the latest answer."""
    by_instance: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_rows(runs):
        by_instance[row["id"]].append(row)
    by_method: dict[str, list[tuple[float, dict[str, Any]]]] = defaultdict(list)
    for rows in by_instance.values():
        objectives = [float("inf") if row["objective"] is None else row["objective"] for row in rows]
        if min(objectives) < float("inf"):
            for row, percent in zip(rows, above(objectives, min(objectives)), strict=True):
                by_method[row["method"]].append((percent, row))
    near = {method: sum(percent <= NEAR for percent, _ in pairs) for method, pairs in by_method.items()}
    table = Table("method", "instances", "within 1 %", "worst", "on", "proven", "latest s", box=None)
    for method, pairs in sorted(by_method.items(), key=lambda item: -near[item[0]] / len(item[1])):
        worst, where = max(((percent, row["id"]) for percent, row in pairs))
        proven = sum(row["status"] in PROVEN for _, row in pairs)
        latest = max(row["seconds"] for _, row in pairs)
        table.add_row(method, f"{len(pairs)}", f"{near[method]}", f"{worst:.2f} %", where, f"{proven}", f"{latest:.2f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    app()
