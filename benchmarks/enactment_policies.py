"""The predictive policy compared with threshold, billing-time and static policies and the clairvoyant bound.

    python benchmarks/enactment_policies.py run rows.csv                      # 4 patterns, 3 units, seeds 101-130: ten minutes
    python benchmarks/enactment_policies.py run rows.csv --pattern stepwise   # in parts; rows that are there are kept
    python benchmarks/enactment_policies.py show rows.csv                     # tables and claims
    python benchmarks/enactment_policies.py robustness                        # other services, arrivals, occupancies, estimates

A seed draws both a random walk and the events of the run. Seeds below 100 were used to choose the parameters' defaults, those
from 101 on were not. Items that still wait when a run ends are late in no metric; `left` counts them.
"""

from __future__ import annotations

import csv
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from edrp.datasets.enactment.arrival_patterns import PATTERNS
from edrp.datasets.enactment.manufacturing import manufacturing_application, manufacturing_scenario
from edrp.enactment.run import EnactmentRun
from edrp.enactment.scenario import EnactmentScenario
from edrp.heuristics.enactment import (
    BtuParameters,
    BtuPolicy,
    StaticPeakParameters,
    StaticPeakPolicy,
    ThresholdParameters,
    ThresholdPolicy,
)
from edrp.heuristics.enactment.predictive import PredictiveParameters, PredictivePolicy
from edrp.validation.oracles.enactment.bounds import ClairvoyantBound, clairvoyant_bound
from edrp.validation.simulation.enactment.simulator import simulate

UNITS = (600.0, 1800.0, 3600.0)
"""Seconds of the billing time units (BTU)."""

NAMES = ("threshold", "btu", "static-peak", "predictive", "bound")

BLIND = ("threshold", "static-peak")
"""Policies that do the same under each unit."""

app = typer.Typer(add_completion=False, no_args_is_help=True)
console = Console(width=170)

Row = dict[str, Any]


def _policy(name: str, scenario: EnactmentScenario, **parameters: Any) -> Any:
    """The policy of a name, with its parameters as a run of the scenario needs them."""
    match name:
        case "threshold":
            return ThresholdPolicy(ThresholdParameters())
        case "btu":
            return BtuPolicy(BtuParameters())
        case "static-peak":
            return StaticPeakPolicy(StaticPeakParameters().knowing(scenario.load))
        case _:
            return PredictivePolicy(PredictiveParameters(**parameters))


def _measured(name: str, scenarios: list[EnactmentScenario], seed: int, **parameters: Any) -> list[dict[str, float]]:
    """Metrics under scenarios that differ in units only; policies that do not look at the unit run once."""
    if name == "bound":
        bounds = [_bound(scenario.model_dump_json()) for scenario in scenarios]
        return [{"total": bound.total, "cost": bound.lease_cost} for bound in bounds]
    if name in BLIND:
        run = simulate(scenarios[0], _policy(name, scenarios[0]), seed)
        return [_metrics(scenario, scenario.bill(run)) for scenario in scenarios]
    return [_metrics(scenario, simulate(scenario, _policy(name, scenario, **parameters), seed)) for scenario in scenarios]


@cache
def _bound(scenario: str) -> ClairvoyantBound:
    """The clairvoyant bound of a scenario, given as JSON so that it can be cached."""
    return clairvoyant_bound(EnactmentScenario.model_validate_json(scenario))


def _metrics(scenario: EnactmentScenario, run: EnactmentRun) -> dict[str, float]:
    """Metrics of a run, refused where its records contradict each other."""
    evaluated = scenario.evaluate(run)
    if not evaluated.feasible:
        raise SystemExit("the records of a run contradict each other")
    metrics = evaluated.metrics
    return {
        "total": metrics["near_real_time_total"],
        "cost": metrics["resource_cost"],
        "near": metrics["near_real_time_compliance"],
        "relaxed": metrics["relaxed_compliance"],
        "left": float(sum(record.queued for record in run.operators)),
    }


def _read(path: Path) -> list[Row]:
    """Rows of a file with their numbers read; none where there is no file."""
    if not path.exists():
        return []
    with path.open() as lines:
        rows: list[Row] = list(csv.DictReader(lines))
    for row in rows:
        for name in ("unit", "total", "cost", "near", "relaxed", "left"):
            row[name] = float(row[name] or "nan")
        row["seed"] = int(row["seed"])
    return rows


@app.command()
def run(
    rows: Path,
    first: int = 101,
    last: int = 130,
    pattern: Annotated[list[str] | None, typer.Option()] = None,
    policy: Annotated[list[str] | None, typer.Option()] = None,
) -> None:
    """Simulate the runs that a file of rows lacks."""
    done = {(row["pattern"], row["seed"], row["policy"]) for row in _read(rows)}
    new = not done
    with rows.open("a", newline="") as lines:
        writer = csv.DictWriter(lines, ["pattern", "unit", "seed", "policy", "total", "cost", "near", "relaxed", "left"])
        if new:
            writer.writeheader()
        for name, seed in product(pattern or PATTERNS, range(first, last + 1)):
            scenarios = [manufacturing_scenario(name, billing_time=unit, seed=seed) for unit in UNITS]
            for policy_name in policy or NAMES:
                if (name, seed, policy_name) in done:
                    continue
                for unit, metrics in zip(UNITS, _measured(policy_name, scenarios, seed), strict=True):
                    writer.writerow({"pattern": name, "unit": unit, "seed": seed, "policy": policy_name, **metrics})
                lines.flush()


@app.command()
def show(rows: Path) -> None:
    """Print mean totals and compliance by cell, and in how many runs the claims hold."""
    cells: dict[tuple[str, float], dict[str, dict[int, Row]]] = {}
    for row in _read(rows):
        cells.setdefault((row["pattern"], row["unit"]), {}).setdefault(row["policy"], {})[row["seed"]] = row
    table = Table(
        "pattern",
        "BTU s",
        *NAMES,
        "claim holds",
        "saved of btu",
        "against static",
        box=SIMPLE_HEAD,
        title="near total (leases) near %/relaxed %",
    )
    holding, savings, against_static = [], [], []
    for (pattern, unit), cell in cells.items():
        pairs = [(cell["predictive"][seed], cell["btu"][seed]) for seed in cell["predictive"] if seed in cell["btu"]]
        holds = [all(_at_least(ours, btu)) for ours, btu in pairs]
        saved = 1 - fmean(ours["total"] for ours, _ in pairs) / fmean(btu["total"] for _, btu in pairs)
        static = fmean(row["total"] for row in cell["predictive"].values()) / fmean(
            row["total"] for row in cell["static-peak"].values()
        )
        holding += holds
        savings.append(saved)
        against_static.append(static - 1)
        table.add_row(
            pattern,
            f"{unit:g}",
            *(_summary(cell.get(name, {})) for name in NAMES),
            f"{sum(holds)}/{len(holds)}",
            f"{saved:.1%}",
            f"{static - 1:+.1%}",
        )
    console.print(table)
    console.print(f"total at most btu's, near and relaxed compliance at least as high: {sum(holding)} of {len(holding)} runs")
    console.print(f"mean saving against btu: {fmean(savings):.1%}")
    near = sum(difference <= 0.1 for difference in against_static)
    below = sum(difference < 0 for difference in against_static)
    console.print(f"cells within 10 % of static peak: {near}, below it: {below} of {len(against_static)}")


def _at_least(ours: Row, btu: Row) -> tuple[bool, bool, bool]:
    """Whether a run is at least as good as that of the BTU policy in total, near-real-time and relaxed compliance."""
    return ours["total"] <= btu["total"], ours["near"] >= btu["near"], ours["relaxed"] >= btu["relaxed"]


def _summary(rows: dict[int, Row]) -> str:
    """Means over runs by seed as text: total, cost, compliance and items left."""
    if not rows:
        return ""
    total, cost, near, relaxed, left = (
        fmean(row[name] for row in rows.values()) for name in ("total", "cost", "near", "relaxed", "left")
    )
    return f"{total:.1f} ({cost:.0f})" + ("" if near != near else f" {near:.1%}/{relaxed:.1%}, {left:.0f} left")


@app.command()
def robustness(seeds: int = 2, pattern: Annotated[list[str] | None, typer.Option()] = None) -> None:
    """Print totals where services, arrivals, occupancies or monitoring differ; seeds from 1 on."""
    table = Table("pattern", "setting", "btu", "static-peak", "predictive", box=SIMPLE_HEAD, title="near total, near %")
    for name in pattern or ("stepwise", "random-walk-1"):
        for setting, fields, parameters in SETTINGS:
            cells = []
            for policy in ("btu", "static-peak", "predictive"):
                changed = parameters if policy == "predictive" else {}
                rows = []
                for seed in range(1, seeds + 1):
                    rows += _measured(policy, [manufacturing_scenario(name, seed=seed, **fields)], seed, **changed)
                cells.append(f"{fmean(row['total'] for row in rows):.1f} {fmean(row['near'] for row in rows):.1%}")
            table.add_row(name, setting, *cells)
    console.print(table)


SETTINGS: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("as fitted", {}, {}),
    ("busy instances are not measured", {}, {"estimate": "queue"}),
    ("exponential service", {"service": "exponential"}, {}),
    ("Poisson arrivals", {"arrivals": "poisson"}, {}),
    ("occupancy 0.5", {"application": manufacturing_application(occupancy=0.5)}, {}),
    ("occupancy 1", {"application": manufacturing_application(occupancy=1.0)}, {}),
    ("half the machines", {"application": manufacturing_application(0.5)}, {}),
    ("rounds of 30 s", {"provisioning_interval": 30.0}, {}),
)


if __name__ == "__main__":
    app()
