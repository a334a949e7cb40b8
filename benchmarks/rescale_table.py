"""How far rules and searches for rescalings are above the best known, family by family.

    python benchmarks/rescale_table.py run rows.jsonl --count 50                        # goes on where it was stopped
    python benchmarks/rescale_table.py run rows.jsonl --family "zipf-*" --minutes 20     # a piece of it
    python benchmarks/rescale_table.py show rows.jsonl

Each method gets the same limit on each instance, kernels warm. The best known of an instance is the best answer of all methods
in the file, of which `auto` runs with two seeds. A family's instances are its own 0, 1, …: a piece of one family has the
instances that a run over all families has.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from scipy.stats import bootstrap

import edrp
from edrp.core.kinds import get_kind
from edrp.datasets.families.registry import generate
from edrp.migration.rescale.problem import RescaleProblem
from edrp.validation.benchmark.suites import RESCALE

SEARCHES = ("auto", "range-annealing")
BOUNDED = "range-decomposition"
"""Its answers and bounds are compared by benchmarks/rescale_gaps.py."""

RULES = tuple(name for name in RESCALE if name not in (*SEARCHES, BOUNDED))
RUNS = (("auto", 0), ("auto", 1), ("range-annealing", 0), *((name, 0) for name in RULES))
"""Methods with their seeds; what is shown of `auto` is seed 0."""

KEY = ("family", "index", "set", "tasks", "limit", "method", "seed")
"""Fields of a row that say which run it is."""

NOTHING = 0.1
"""Percent below which a rule leaves nothing to be gained."""

application = typer.Typer(help=__doc__, add_completion=False)
Rows = Annotated[Path, typer.Argument(help="JSON lines, one for each run.")]


@application.command()
def run(
    rows: Rows,
    count: Annotated[int, typer.Option(help="Instances of each family.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the set.")] = 1,
    tasks: Annotated[int, typer.Option(help="Tasks of each operator.")] = 128,
    limit: Annotated[float, typer.Option(help="Seconds for each run.")] = 2.0,
    family: Annotated[list[str] | None, typer.Option(help="Families by pattern, instead of all.")] = None,
    minutes: Annotated[float, typer.Option(help="Stop after these.")] = float("inf"),
) -> None:
    """Solve what is not in the file yet, instance 0 of every family first."""
    done = {_key(row) for row in read(rows)}
    end, warmed = perf_counter() + 60 * minutes, False
    for name, index, problem in instances(count, seed, tasks, family):
        for method, run_seed in RUNS:
            row = {
                "family": name,
                "index": index,
                "set": seed,
                "tasks": tasks,
                "limit": limit,
                "method": method,
                "seed": run_seed,
            }
            if _key(row) in done:
                continue
            if perf_counter() > end:
                return
            if not warmed:
                warm_up()
                warmed = True
            began = perf_counter()
            answer = edrp.solve(problem, method, time_limit=limit, seed=run_seed)
            row |= {"status": answer.status, "objective": answer.objective, "bound": answer.bound, "notes": list(answer.notes)}
            row["seconds"] = round(perf_counter() - began, 3)
            with rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    show(rows)


@application.command()
def show(rows: Rows) -> None:
    """Medians with their intervals, how many are feasible, and where nothing is gained."""
    methods = (*SEARCHES, *RULES)
    by_family: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in read(rows):
        known = by_family[row["family"]][row["index"]]
        value = np.inf if row["objective"] is None else row["objective"]
        known["best"] = min(known.get("best", np.inf), value)
        if not row["seed"]:
            known[row["method"]] = value
    print("Percent above the best known: median [its 95 % interval] and worst; how many are feasible, where not all are.\n")
    print("| family |", " | ".join(methods), "|\n" + "|---" * (1 + len(methods)) + "|")
    remarks = []
    for family, found in by_family.items():
        complete = [known for known in found.values() if all(method in known for method in methods)]
        feasible = [known for known in complete if np.isfinite(known["best"])]
        gaps = {method: [100 * (known[method] / known["best"] - 1) for known in feasible] for method in methods}
        print(f"| {family} |", " | ".join(cell(gaps[method], len(complete)) for method in methods), "|")
        remarks.append(remark(family, len(complete) - len(feasible), {method: gaps[method] for method in RULES}))
    print("", *remarks, sep="\n* ")


def cell(gaps: list[float], total: int) -> str:
    """Median with its interval, the worst, and how many are feasible."""
    held = [gap for gap in gaps if np.isfinite(gap)]
    count = f"{len(held)} of {total}"
    if not held:
        return count
    low, high = median_interval(held)
    median = f"{np.median(held):.1f}" if low == high else f"{np.median(held):.1f} [{low:.1f}, {high:.1f}], {max(held):.0f}"
    return median if len(held) == total else f"{median}; {count}"


def remark(family: str, hopeless: int, gaps: dict[str, list[float]]) -> str:
    """A sentence on the gain over the rule that is best at the median, infeasible answers counted as infinitely bad."""
    medians = {method: float(np.median(values)) for method, values in gaps.items() if values}
    rule = min(medians, key=medians.__getitem__, default=None)
    nobody = f", {hopeless} that no method answers" if hopeless else ""
    if rule is None or not np.isfinite(medians[rule]):
        return f"{family}: no rule answers half of the instances{nobody}"
    what = "nothing is gained" if medians[rule] < NOTHING else f"{medians[rule]:.1f} % are gained"
    return f"{family}: {what} over {rule}, the best rule at the median{nobody}"


def median_interval(values: list[float]) -> tuple[float, float]:
    """A 95 % interval of the median by bootstrap."""
    if len(values) < 2 or len(set(values)) == 1:
        return values[0], values[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of samples whose medians are all the same
        found = bootstrap((values,), np.median, method="percentile", rng=np.random.default_rng(0)).confidence_interval
    return float(found.low), float(found.high)


def instances(count: int, seed: int, tasks: int, patterns: list[str] | None) -> Iterator[tuple[str, int, RescaleProblem]]:
    """Family, index and problem, index by index."""
    names = [family.name for family in get_kind("rescale").families]
    chosen = [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]
    sets = [(name, generate("rescale", count, seed, families=[name], size=tasks)) for name in chosen]
    for index in range(count):
        for name, problems in sets:
            _, problem = next(problems)
            yield name, index, problem


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a file, none where there is none."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def warm_up() -> None:
    """Every kernel is compiled, or loaded."""
    problem = next(problem for _, problem in generate("rescale", 1, 0, size=8))
    for name in RESCALE:
        edrp.solve(problem, name)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    """The fields that tell a row from all others."""
    return tuple(row[name] for name in KEY)


if __name__ == "__main__":
    application()
