"""Tables 2 and 3, section 6.2.1 and Figs. 6 to 8 of latency-aware placement: throughput and latency of schedulers.

Every scheduler of section 6 runs on its topologies; Tables 2 to 4, and the mean factors of the text, stand here as printed.

>>> TABLE_3["T-R4"]["hybrid"]
Printed(mean=1.03, deviation=0.32)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from edrp.core.arrays import Floats
from edrp.core.solve import solve
from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.heuristics.placement.simple_rules import Even, EvenParameters
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.report.figures import COLOURS, MARKERS, blank_figure, draw, save_figure, unclutter
from edrp.report.formatting import NONE, Unit
from edrp.report.progress import Tell, working
from edrp.report.statements import Statement, claim, print_statements
from edrp.report.tables import Table, print_tables
from edrp.validation.papers.claims import Claims, Requirement, judged, positive
from edrp.validation.simulation.placement.throughput import CPU, end_to_end_latencies, shared_cpu, sustainable_throughput

TOPOLOGIES = ("T-M1", "T-M2", "T-M3", "T-R1", "T-R2", "T-R3", "T-R4", "T-R5", "T-R6", "T-R7")
"""Those of Tables 2 and 3; the paper compares no cyclic ones either."""

LOADS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Shares of the cluster's cores: the axis along which schedulers scale out."""

EVEN = "even"
RESOURCE_AWARE = "resource-aware"
SEARCHES = ("hill-climbing", "ant-system", "hybrid")
METHODS = (*SEARCHES, RESOURCE_AWARE, "iterated-local-search")
"""Methods in the order of the tables, and the search that this package recommends."""

SIMULATED_SHARE = 0.6
"""Share of a topology's rates at which latencies are simulated: all schedulers but the even one can take it."""


@dataclass(frozen=True, slots=True)
class SchedulerPlacement:
    """One placement; of the even scheduler with load 0, and as seed the workers.

    It reserves cores of supervisors and sustains a throughput, in tuples/s of the source; the least seconds end to end are
    None where nothing was simulated.
    """

    topology: str
    load: float
    method: str
    seed: int
    reserved: float
    throughput: float
    least: float | None = None


def placements(
    topologies: Sequence[str] = TOPOLOGIES,
    *,
    loads: Sequence[float] = LOADS,
    seeds: int = 5,
    simulated: Sequence[str] = (),
    tell: Tell = str,
) -> list[SchedulerPlacement]:
    """Place every topology with every scheduler, and simulate end-to-end latencies of some.

    The even scheduler does not look at needs: it deals the executors to a fixed number of workers, here one
    to all. The others place each topology at each load and use what they need; the resource-aware one draws nothing.
    What a tuple costs is that of the lowest load for all placements of a topology: the needs of few instances cannot grow with
    their load, since one must fit on a supervisor, so that tuples would cost less in placements for higher loads.
    """
    placed: list[SchedulerPlacement] = []
    for topology in topologies:
        tell(topology)
        costs = shared_cpu(paper_problem(topology, min(loads)))
        cores = {node.name: node.capacity[CPU] for node in costs.network.nodes}
        for problem, deployment, load, method, seed in _deployments(topology, loads, seeds):
            reserved = sum(cores[node] for node in {node for nodes in deployment.values() for node in nodes})
            throughput = sustainable_throughput(costs, deployment)
            measured = SchedulerPlacement(topology, load, method, seed, reserved, throughput)
            if topology in simulated:
                seconds = end_to_end_latencies(problem, deployment, rate_share=SIMULATED_SHARE, seed=seed)
                measured = replace(measured, least=float(seconds.min()) if seconds.size else None)
            placed.append(measured)
    return placed


def _deployments(
    topology: str, loads: Sequence[float], seeds: int
) -> Iterator[tuple[LatencyAwareProblem, Deployment, float, str, int]]:
    """Problem and deployment, with load, method and seed: of the even scheduler for every number of workers, then of all."""
    lowest = paper_problem(topology, min(loads))
    compiled = compile_problem(lowest)
    for workers in range(1, len(compiled.nodes) + 1):
        yield lowest, compiled.deployment(Even().fill(compiled, EvenParameters(workers=workers)).counts), 0.0, EVEN, workers
    for load, method in product(loads, METHODS):
        problem = paper_problem(topology, load)
        for seed in range(1 if method == RESOURCE_AWARE else seeds):
            deployment = solve(problem, method, seed=seed, time_limit=1.0).deployment
            if deployment is not None:
                yield problem, deployment, load, method, seed


def factors(placements_made: Sequence[SchedulerPlacement], topology: str, method: str, reference: str) -> Floats:
    """Throughput of each placement over the reference's where that takes as much (section 6.2.1); none without a reference.

    Between placements of the reference it is interpolated, beyond them the nearest one counts, as in the paper. Several
    placements of the reference that take the same are averaged.
    """
    mine, other = (_select(placements_made, topology, name) for name in (method, reference))
    if not mine or not other:
        return np.zeros(0)
    taken = np.array(sorted({placed.reserved for placed in other}))
    reached = np.array([np.mean([placed.throughput for placed in other if placed.reserved == cores]) for cores in taken])
    return np.array([placed.throughput / np.interp(placed.reserved, taken, reached) for placed in mine])


def _select(placed: Sequence[SchedulerPlacement], topology: str, method: str) -> list[SchedulerPlacement]:
    return [one for one in placed if one.topology == topology and one.method == method]


Statistic = Callable[[Floats], np.floating[Any]]
"""A number of factors, such as their mean."""

EMPTY = "-"


class Printed(NamedTuple):
    """A mean and its standard deviation."""

    mean: float
    deviation: float


PaperTable = dict[str, dict[str, Printed]]
"""Printed values by topology and method, without those that the paper leaves empty."""


def _read(columns: Sequence[str], text: str) -> PaperTable:
    table = {}
    for line in text.strip().splitlines():
        topology, *cells = line.split()
        table[topology] = {
            method: Printed(*map(float, cell.split("±"))) for method, cell in zip(columns, cells, strict=True) if cell != EMPTY
        }
    return table


TABLE_2 = _read(
    (*SEARCHES, RESOURCE_AWARE),
    """
    T-M1 3.35±1.37 4.10±0.29 4.15±0.18 3.45±0.00
    T-M2 4.32±4.08 2.68±3.28 3.19±2.03 1.94±0.00
    T-M3 7.24±2.55 5.28±4.36 8.46±0.00 10.44±0.00
    T-R1 1.79±0.62 1.70±0.67 1.68±0.64 1.81±0.55
    T-R2 2.19±1.03 2.19±0.95 2.08±0.97 2.91±0.00
    T-R3 2.04±0.58 1.90±0.50 2.24±0.60 2.37±0.60
    T-R4 2.60±1.01 2.07±1.24 2.06±0.59 1.80±0.91
    T-R5 2.10±1.02 1.51±0.97 2.15±0.90 2.13±1.30
    T-R6 1.80±0.46 1.71±0.71 1.95±0.70 2.09±0.32
    T-R7 2.08±0.72 1.75±0.57 1.92±1.00 1.63±0.79
    """,
)
"""Factors of throughput over the default scheduler."""

TABLE_3 = _read(
    (*SEARCHES, EVEN),
    """
    T-M1 1.45±0.00 1.15±0.00 - 0.29±0.00
    T-M2 0.89±0.00 - 0.73±0.00 -
    T-M3 0.89±0.00 - - 0.10±0.00
    T-R1 0.98±0.24 1.08±0.02 1.14±0.00 0.70±0.00
    T-R2 0.61±0.00 0.97±0.00 0.89±0.00 0.34±0.00
    T-R3 0.94±0.04 0.92±0.11 0.96±0.08 0.42±0.13
    T-R4 1.11±0.03 0.84±0.28 1.03±0.32 0.83±0.70
    T-R5 0.68±0.14 0.72±0.07 0.95±0.19 0.98±0.89
    T-R6 0.87±0.19 0.75±0.23 0.96±0.09 0.42±0.00
    T-R7 2.61±2.67 0.96±0.45 1.27±0.46 2.31±2.61
    """,
)
"""Factors of throughput over the resource-aware scheduler; empty where the paper has no equal placement."""

PRINTED = {EVEN: (2, METHODS, TABLE_2), RESOURCE_AWARE: (3, (*SEARCHES, "iterated-local-search", EVEN), TABLE_3)}
"""Number, columns and values of the table of factors over each reference."""

TABLE_4 = _read(
    (*SEARCHES, RESOURCE_AWARE),
    """
    T-M1 9±2.25 75±7.88 78±4.67 16±2.08
    T-M2 45±5.94 99±18.35 130±19.84 21±3.39
    T-M3 4±0.55 35±1.82 38±2.83 16±2.70
    T-R1 558±125.68 450±38.86 841±31.95 25±4.34
    T-R2 65±14.52 131±21.14 197±26.40 20±3.16
    T-R3 231±49.60 285±36.29 534±60.07 23±3.32
    T-R4 179±59.91 447±80.54 717±80.49 24±3.59
    T-R5 138±46.62 306±56.16 428±32.54 22±3.03
    T-R6 198±75.98 274±67.17 472±40.59 21±3.47
    T-R7 1029±28.00 661±84.76 1020±26.41 26±9.38
    T-R8 185±61.83 377±41.18 355±63.65 19±2.60
    T-R9 263±77.06 408±125.23 480±140.60 21±3.00
    """,
)
"""Milliseconds to compute a placement."""

RANDOM = tuple(name for name in TOPOLOGIES if name.startswith("T-R"))
"""Topologies of the mean factors of section 6.2.1."""

MeanFactors = dict[str, dict[str, float]]
"""Mean factors at the same cores on the random topologies, by reference and method, in descending order."""

MAXIMUM: MeanFactors = {
    EVEN: {RESOURCE_AWARE: 2.11, "hill-climbing": 2.09, "hybrid": 2.01, "ant-system": 1.83},
    RESOURCE_AWARE: {"hill-climbing": 1.11, "hybrid": 1.03, RESOURCE_AWARE: 1.0, "ant-system": 0.89},
}
"""Means of maximum throughput, which are those of Tables 2 and 3, as section 6.2.1 prints them."""

SUSTAINABLE: MeanFactors = {
    EVEN: {"hybrid": 8.46, RESOURCE_AWARE: 7.76, "hill-climbing": 7.64, "ant-system": 7.56},
    RESOURCE_AWARE: {"hybrid": 1.01, RESOURCE_AWARE: 1.0, "hill-climbing": 0.92, "ant-system": 0.87},
}
"""Means of maximum sustainable throughput, which has no table (section 6.2.1)."""

MODEL = (
    "The paper measures maximum and sustainable throughput; the model has one: the rate at which the first supervisor's shared "
    "cores are full. Factors rest on the cost of operators and of tuples between supervisors, which the paper does not publish: "
    "their order can be compared with the paper's, their size cannot, and verdicts on sizes only say what our costs give."
)

MANUAL = tuple(name for name in TOPOLOGIES if name not in RANDOM)
LARGE, SMALL = ("T-R1", "T-R4", "T-R7"), ("T-R2", "T-R5", "T-R6")
"""The random topologies with the most and the fewest operators."""

BAND = (1.7, 2.6)
"""Range of mean factors over the even scheduler; the paper's of maximum throughput are 1.83 to 2.11."""

AXES = {"throughput": ("throughput", "tuples/s of the source", 1.0), "least": ("least latency end to end", "ms", 1e3)}
"""Name, unit and scale of each quantity of a placement."""

FIGURES = {
    "fig6-throughput-t-r3.png": ("T-R3", "throughput"),
    "fig7-latency-t-r3.png": ("T-R3", "least"),
    "fig8-throughput-t-r7.png": ("T-R7", "throughput"),
}
"""Topology and quantity of each figure."""


def run(
    console: Console,
    *,
    out: Path | None = None,
    topologies: Sequence[str] = TOPOLOGIES,
    loads: Sequence[float] = LOADS,
    seeds: int = 5,
) -> list[SchedulerPlacement]:
    """Place all topologies with all schedulers; print Tables 2 and 3, means and statements; draw Figs. 6 to 8."""
    simulated = [] if out is None else sorted({topology for topology, kind in FIGURES.values() if kind == "least"})
    with working(console, "placing") as tell:
        placed = placements(topologies, loads=loads, seeds=seeds, simulated=simulated, tell=tell)
    print_tables(console, *(factor_table(placed, reference) for reference in PRINTED), mean_table(placed))
    console.print(MODEL)
    print_statements(console, throughput_statements(placed))
    draw(console, out, {name: partial(draw_scatter, placed, *what) for name, what in FIGURES.items()})
    return placed


def factor_table(placed: Sequence[SchedulerPlacement], reference: str) -> Table:
    """Table 2 or 3: throughput over that of a reference at the same cores, mean ± deviation, below it the paper's in brackets."""
    number, methods, printed = PRINTED[reference]

    def text(topology: str, method: str) -> str:
        ours, theirs = factors(placed, topology, method, reference), printed[topology].get(method)
        below = "" if theirs is None else f"\n({theirs.mean:.2f} ± {theirs.deviation:.2f})"
        return (f"{ours.mean():.2f} ± {ours.std():.2f}" if ours.size else NONE) + below

    present = [name for name in TOPOLOGIES if any(one.topology == name for one in placed)]
    rows = tuple((topology, *(text(topology, method) for method in methods)) for topology in present)
    title = f"Table {number}: throughput over the {reference} scheduler, ours (paper)"
    return Table(title, ("topology", *methods), rows)


def mean_table(placed: Sequence[SchedulerPlacement]) -> Table:
    """Mean factors on the random topologies next to those of the text, with their ranks among the paper's schedulers."""
    columns, cells = ["scheduler"], [list(METHODS)]
    for reference, sustainable in SUSTAINABLE.items():
        ours = {method: mean_factor(placed, RANDOM, method, reference) for method in METHODS}
        columns += [f"over {reference}:\n{name}" for name in ("ours", "paper, sustainable", "paper, maximum")]
        cells += [_ranked(ours), _ranked(sustainable), _ranked(MAXIMUM[reference])]
    title = "Mean factors of throughput over the even (Storm's default) and the resource-aware scheduler, T-R1 to T-R7 (rank)"
    return Table(title, tuple(columns), tuple(zip(*cells, strict=True)))


def _ranked(means: Mapping[str, float]) -> list[str]:
    ranks = {method: f" ({1 + sum(means[other] > means[method] for other in SUSTAINABLE[EVEN])})" for method in SUSTAINABLE[EVEN]}
    return [f"{means[method]:.2f}{ranks.get(method, '')}" if method in means else NONE for method in METHODS]


def topology_factors(
    placed: Sequence[SchedulerPlacement], method: str, reference: str, of: Statistic = np.mean, names: Sequence[str] = RANDOM
) -> Floats:
    """A statistic of the factors on each topology, shape (topologies,); not a number where there are none."""
    values = [factors(placed, name, method, reference) for name in names]
    return np.array([of(on_topology) if on_topology.size else np.nan for on_topology in values])


def mean_factor(placed: Sequence[SchedulerPlacement], topologies: Sequence[str], method: str, reference: str) -> float:
    """Mean over topologies of the mean factors; not a number where there is none."""
    values = _known(topology_factors(placed, method, reference, names=topologies))
    return float(values.mean()) if values.size else float("nan")


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _ordered(printed: MeanFactors, reference: str) -> Requirement:
    """Each method carries more than the next one of the paper's order, in the mean over the random topologies."""
    means = printed[reference]
    pairs = [(f"{first} above {second}", (first, second)) for first, second in pairwise(means)]
    return positive(
        lambda _: pairs,
        lambda placed, pair: _known(np.subtract(*(topology_factors(placed, method, reference) for method in pair))),
        Unit(1, "+.2f"),
        printed=lambda pair: means[pair[0]] - means[pair[1]],
    )


def _between(low: float, high: float, methods: Sequence[str], reference: str, of: Statistic = np.mean) -> Requirement:
    """A statistic of the factors of each method lies in a range, in the mean over the random topologies."""
    return Requirement(
        lambda _: [(method, method) for method in methods],
        lambda placed, method: _known(topology_factors(placed, method, reference, of)),
        Unit(1, ".2f"),
        low,
        high,
    )


CLAIMS: Claims = (
    ("6.2.1", f"every scheduler that knows resources carries {BAND[0]} to {BAND[1]} times the even one",
     _between(*BAND, METHODS, EVEN)),
    *(("6.2.1", f"over the {reference} scheduler, {name} throughput is in the order {', '.join(printed[reference])}",
       _ordered(printed, reference))
      for name, printed in (("maximum", MAXIMUM), ("sustainable", SUSTAINABLE)) for reference in (EVEN, RESOURCE_AWARE)),
    ("6.2.1", "sustainable throughput is 7.56 to 8.46 times that of the even scheduler",
     _between(7.56, 8.46, tuple(SUSTAINABLE[EVEN]), EVEN)),
    ("6.2.1", "standard deviations over placements are close to these averages, within a quarter",
     _between(0.75, 1.25, tuple(SUSTAINABLE[EVEN]), EVEN, lambda factors: factors.std() / factors.mean())),
    ("6.2.1", "the hybrid carries 1 to 3 % more than the resource-aware scheduler",
     _between(1.01, 1.03, ["hybrid"], RESOURCE_AWARE)),
    ("6.2.1", "the ant system carries 11 to 13 % less than the resource-aware scheduler",
     _between(0.87, 0.89, ["ant-system"], RESOURCE_AWARE)),
)  # fmt: skip


def throughput_statements(placed: Sequence[SchedulerPlacement]) -> tuple[Statement, ...]:
    """Sentences of the paper on throughput, judged by the model."""
    drop, large, small = (
        [mean_factor(placed, names, method, RESOURCE_AWARE) for method in SEARCHES] for names in (("T-R7",), LARGE, SMALL)
    )
    manual, random = ([mean_factor(placed, [name], "hybrid", EVEN) for name in names] for names in (MANUAL, RANDOM))
    shown_drop, shown_manual = (", ".join(f"{value:.2f}" for value in values) for values in (drop, manual))
    return (
        *judged(CLAIMS, placed),
        claim(
            "the searches gain on the resource-aware scheduler on the topologies with more operators",
            bool(np.mean(large) > np.mean(small)),
            f"{np.mean(large):.2f} of it on {', '.join(LARGE)}, {np.mean(small):.2f} on {', '.join(SMALL)}",
        ),
        claim("the resource-aware scheduler falls behind on T-R7 (Fig. 8)", min(drop) > 1, shown_drop),
        claim(
            "the manual topologies gain more than the random ones (Table 2)",
            float(np.mean(manual)) > float(np.mean(random)),
            f"hybrid {shown_manual} and on average {np.mean(random):.2f}",
        ),
    )


def draw_scatter(placements_made: Sequence[SchedulerPlacement], topology: str, quantity: str, path: Path) -> None:
    """Draw a PNG with one dot per placement of a topology that has the quantity, over its cores; a trend line per scheduler."""
    name, unit, scale = AXES[quantity]
    figure = blank_figure(6.4, 4.2)
    axes = figure.add_subplot()
    for method, marker, colour in zip((*METHODS, EVEN), MARKERS, COLOURS, strict=True):
        of_method = ((placed.reserved, getattr(placed, quantity)) for placed in _select(placements_made, topology, method))
        dots = [(100 * cores, scale * value) for cores, value in of_method if value is not None]
        if not dots:
            continue
        taken, reached = np.array(dots).T
        axes.scatter(taken, reached, s=22, marker=marker, color=colour, label=method, alpha=0.75, linewidths=1)
        if np.unique(taken).size > 1:
            slope, start = np.polyfit(taken, reached, 1)
            ends = np.array([taken.min(), taken.max()])
            axes.plot(ends, start + slope * ends, color=colour, linewidth=1)
    axes.set_xlabel("vCPU of the supervisors in use (100 = a core)", fontsize=9)
    axes.set_ylabel(unit, fontsize=9)
    axes.set_title(f"{topology}: {name}", fontsize=10)
    axes.set_ylim(bottom=0)
    unclutter(axes)
    axes.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    save_figure(figure, path, dpi=150)
