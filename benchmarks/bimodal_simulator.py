"""Seconds of a trace on a bi-modal network, on one core, and that fewer draws give the same means; run from anywhere.

    python benchmarks/bimodal_simulator.py                            # the paper's trace, both networks
    python benchmarks/bimodal_simulator.py --networks public --seeds 5
    python benchmarks/bimodal_simulator.py --cost load-balance

Times are those of the processor, without compiling: the median over the seeds. Every seed is another platform and another trace;
the differences of metrics from those of a draw every 10 ms are paired by seed.
"""

from __future__ import annotations

from statistics import median, stdev
from time import process_time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.validation.simulation.mapping.bimodal_simulator import simulate

FLOWS: dict[str, dict[str, Any]] = {
    "drawn, 100 a second": {},
    "drawn, 4 a second": {"flow_interval": 0.25},
    "expected": {"flow": "expected"},
}
METRICS = ("acceptance", "deviation", "elongation")

app = typer.Typer(add_completion=False, help=__doc__)


def timed(scenario: Any, cost: Any, seed: int) -> tuple[dict[str, float], float]:
    """Metrics of a run and its seconds."""
    scenario.path_task(0)  # tasks are put in the words of the mapping problem once
    begin = process_time()
    run = simulate(scenario, cost, seed)
    seconds = process_time() - begin
    return scenario.evaluate(run).metrics, seconds


def difference(values: list[float]) -> str:
    """Mean and its 95 % interval."""
    if not values:
        return ""
    mean = sum(values) / len(values)
    return f"{mean:+.4f}" + (f" ± {1.96 * stdev(values) / len(values) ** 0.5:.4f}" if len(values) > 1 else "")


@app.command()
def main(
    networks: str = "both",
    cost: str = "public-hops",
    seeds: Annotated[int, typer.Option(min=1)] = 3,
    tasks: int = 500,
    servers: int = 100,
    links: int = 99,
) -> None:
    """The same traces with the public network drawn often, drawn seldom, and expected."""
    simulate(bimodal_scenario(servers=10, links=9, tasks=3), "public-hops", 0)
    simulate(bimodal_scenario(servers=10, links=9, tasks=3, flow="expected"), "public-hops", 0)
    metrics_by_flow: dict[str, list[dict[str, float]]] = {}
    seconds: dict[str, float] = {}
    for name, fields in FLOWS.items():
        settings: dict[str, Any] = {"networks": networks, "tasks": tasks, "servers": servers, "links": links, **fields}
        runs = [timed(bimodal_scenario(seed=seed, **settings), cost, seed) for seed in range(seeds)]
        metrics_by_flow[name] = [metrics for metrics, _ in runs]
        seconds[name] = median(run_seconds for _, run_seconds in runs)
    drawn = next(iter(metrics_by_flow.values()))
    table = Table("public network", "seconds", *METRICS, *(f"{metric}, difference" for metric in METRICS))
    for name, metrics in metrics_by_flow.items():
        means = [f"{sum(run[metric] for run in metrics) / seeds:.4f}" for metric in METRICS]
        pairs = [] if metrics is drawn else list(zip(metrics, drawn, strict=True))
        differences = [difference([one[metric] - other[metric] for one, other in pairs]) for metric in METRICS]
        table.add_row(name, f"{seconds[name]:.2f}", *means, *differences)
    Console(width=160).print(table)


if __name__ == "__main__":
    app()
