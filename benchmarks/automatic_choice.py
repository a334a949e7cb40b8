"""Is `auto` ever worse than the best single method with the same time?

    python benchmarks/automatic_choice.py run runs.jsonl --limit 3     # suites smoke and placement, and examples/; goes on
    python benchmarks/automatic_choice.py show runs.jsonl

Each method gets the same limit on each instance, kernels warm. Objectives are compared relative to the best of all; of
problems with priorities, that of the first stage, since those of the others count only within its slack.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.core.errors import EdrpError
from edrp.core.kinds import get_kind
from edrp.validation.benchmark.suites import get_suite

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SUITES = ("smoke", "placement")
SLOW_STARTS = ("cvxpy", "pyomo", "scipy")  # the same programs as highs, handed over in other ways

app = typer.Typer(add_completion=False, help=__doc__)
Runs = Annotated[Path, typer.Argument(help="JSON lines, one for each run.")]


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


def warm(problem: Any) -> None:
    """Compile the kernels of all methods of a kind."""
    make = get_kind(problem.kind).check_problems
    small = next(iter(make().feasible().values())) if make else problem
    for name in single_methods(small):
        edrp.solve(small, name)


@app.command()
def run(
    runs: Runs,
    limit: Annotated[float, typer.Option(help="Seconds for each run.")] = 3.0,
    only: Annotated[list[str] | None, typer.Option(help="Methods, instead of all.")] = None,
) -> None:
    """Solve every instance with every method, and with `auto`."""
    done = {(row["id"], row["method"]) for row in read(runs)}
    warmed: set[str] = set()
    for identifier, problem in instances():
        if problem.kind not in warmed:
            warm(problem)
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
            row |= {"id": identifier, "method": method, "seconds": perf_counter() - began, "limit": limit}
            with runs.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


@app.command()
def show(runs: Runs) -> None:
    """For each method: how many answers are within 1 % of the best, the worst one, proofs, and the latest answer."""
    by_instance: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in read(runs):
        by_instance[row["id"]][row["method"]] = row
    excesses: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for identifier, rows in by_instance.items():
        objectives = [row["objective"] for row in rows.values() if row["objective"] is not None]
        for method, row in rows.items():
            if objectives:
                excesses[method].append((excess(row["objective"], min(objectives)), identifier))
    table = Table("method", "instances", "within 1 %", "worst", "on", "proven", "latest s", box=None)
    for method, found in sorted(excesses.items(), key=lambda item: -sum(value <= 0.01 for value, _ in item[1]) / len(item[1])):
        rows = [rows[method] for rows in by_instance.values() if method in rows]
        proven = sum(row["status"] in ("optimal", "infeasible") for row in rows)
        worst, where = max(found)
        near = sum(value <= 0.01 for value, _ in found)
        cells = (len(found), near, f"{100 * worst:.2f} %", where, proven, f"{max(row['seconds'] for row in rows):.2f}")
        table.add_row(method, *map(str, cells))
    Console(width=140).print(table)


def excess(objective: float | None, best: float) -> float:
    """By how much an objective is above the best one, relative to that; infinite for none."""
    return float("inf") if objective is None else (objective - best) / max(abs(best), 1e-12)


def read(runs: Path) -> list[dict[str, Any]]:
    """Runs made so far."""
    return [json.loads(line) for line in runs.read_text(encoding="utf-8").splitlines()] if runs.exists() else []


if __name__ == "__main__":
    app()
