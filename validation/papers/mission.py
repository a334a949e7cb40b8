"""The whole mission in two minutes: what each paper decides, on small problems, with a figure and the commands to repeat it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

from rich.console import Console

from edrp.batch.run import solve_batch
from edrp.core.errors import BackendUnavailableError, visible
from edrp.core.files import write_whole
from edrp.core.instances import save
from edrp.core.solve import solve
from edrp.core.spark import require_spark, spark_session
from edrp.datasets.families.registry import generate
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.placement.topologies import ansnet
from edrp.enactment.leasing import LeasingProblem
from edrp.explanations.explain import explain
from edrp.mapping.path_mapping import MappingProblem
from edrp.mdp.policy.pmc import SweepEngine, Threads
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.spark_engine import Spark
from edrp.mdp.policy.store import precompute_policy
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.single_step import MigrationProblem
from edrp.placement.edrp import EdrpProblem
from edrp.report.figures import COLOURS, GRID, blank_figure, save_figure, unclutter
from edrp.report.page import Figure, Page, Section, how_run, render
from edrp.report.tables import Table, print_tables

PAGE = "mission.html"
RATE = 200.0
"""Tuples per second of the placement, a high load of the paper's hour."""

HEURISTICS = ("hill-climbing", "ant-system", "hybrid")
SEARCH_WORK = 1.0
"""Units of work that each heuristic has."""

BILLING_TIME = 1200.0
"""Seconds of a billing time unit of the hosts that are leased."""

BATCH, BATCH_WORK = 60, 2.0
FAMILIES = ("*-ans", "*-geometric", "*-barabasi")
BATCH_METHODS = ("auto", "hybrid", "hill-climbing", "greedy")
"""Instances, units of work for each of them, their families, and methods of the comparison, of which the first one proves."""

WIDE_PART = 0.05
"""Share of the slowest path from which on a part is drawn with its name."""


class Station(NamedTuple):
    """What one paper decides.

    Attributes
    ----------
    name : of the files of its instance and its figure.
    sentence : what came out.
    commands : repeat it, from the folder of the page.
    draw : draws the figure on the axes of matplotlib.
    words : what the figure shows.
    """

    name: str
    heading: str
    sentence: str
    table: Table
    commands: tuple[str, ...]
    draw: Callable[[Any], None]
    words: str


def run_mission(console: Console, folder: Path, command: str) -> None:
    """Run all stations, print each as soon as it is there, and write the page with the instances and figures beside it.

    Raises
    ------
    BackendUnavailableError
        When the packages that draw and write the page are not installed.
    """
    if find_spec("jinja2") is None:
        raise BackendUnavailableError('the page needs the package jinja2: pip install "edrp[demo]"')
    began, stations = perf_counter(), []
    for number, station in enumerate(_stations(folder), 1):
        stations.append(station)
        console.print(f"\n[bold]{number}. {station.heading}[/bold]", highlight=False)
        console.print(visible(station.sentence), highlight=False, markup=False)
        print_tables(console, station.table)
        for line in station.commands:
            console.print(f"  $ {line}", highlight=False, markup=False, soft_wrap=True)
        figure = blank_figure(7.2, 2.6)
        station.draw(figure.add_subplot())
        figure.tight_layout()
        save_figure(figure, folder / f"{station.name}.svg")
    write_whole(folder / PAGE, render(_page(stations, folder, command)), replace=True)
    console.print(f"\ndone in {perf_counter() - began:.0f} s; all of it is on the page {PAGE}", highlight=False)


STATIONS = ("placement", "heuristics", "migration", "leasing", "mapping", "batch")
FILES = (
    PAGE,
    *(f"{name}.svg" for name in STATIONS),
    *(f"{name}.json" for name in ("placement", "migration", "policy", "leasing", "mapping")),
)
"""Names of the files of a run."""


def _page(stations: list[Station], folder: Path, command: str) -> Page:
    sections = [
        Section(
            f"{number}. {station.heading}",
            (station.sentence,),
            code="\n".join(station.commands),
            figure=Figure(station.words, folder / f"{station.name}.svg"),
            tables=(station.table,),
            label=station.name,
        )
        for number, station in enumerate(stations, 1)
    ]
    summary = "Where operators run, how their state moves, which hosts are leased and which links their streams take."
    return Page(
        "What edrp decides",
        summary,
        (),
        [*sections, how_run(command, {"batch": f"{BATCH} instances, {BATCH_WORK:g} units of work each"})],
        datetime.now(UTC),
    )


def _stations(folder: Path) -> Iterator[Station]:
    placement = debs2015(RATE, ansnet())
    save(placement, folder / "placement.json")
    optimum = solve(placement, certify=True)
    yield _placed(placement, optimum)
    assert optimum.objective is not None
    yield _searched(placement, optimum.objective)
    yield _moved(folder)
    yield _leased(folder)
    yield _mapped(folder)
    yield _compared()


def _bars(title: str, unit: str, values: dict[str, float], best: str) -> Callable[[Any], None]:
    """Horizontal bars, of which one is set off."""

    def draw(axes: Any) -> None:
        names = list(reversed(values))
        bars = axes.barh(names, [values[name] for name in names], color=[COLOURS[0 if name == best else 5] for name in names])
        axes.bar_label(bars, fmt="%.3g", padding=3, fontsize=8)
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_xlabel(unit, fontsize=8.5)
        axes.margins(x=0.12)
        _plain(axes)

    return draw


def _plain(axes: Any) -> None:
    unclutter(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    axes.spines["right"].set_visible(False)


def _placed(problem: EdrpProblem, solution: Any) -> Station:
    explanation = explain(problem, solution)
    rows = tuple((name, f"{len(nodes)}", ", ".join(sorted(set(nodes)))) for name, nodes in solution.deployment.items())
    second, seconds = explanation.second_best, 1e3 * solution.metrics["response_time"]
    behind = (
        ""
        if second is None or second.objective is None
        else (f" The second-best deployment is {100 * (second.objective / solution.objective - 1):.2g} % worse.")
    )
    proof = (
        "a certificate that was checked proves that nothing is better"
        if solution.proof == "checked certificate"
        else solution.proof
    )
    sentence = (
        f"The frequent routes of taxis (DEBS 2015) on the backbone ANSNET at {RATE:g} tuples/s: {seconds:.0f} ms response time "
        f"for {solution.metrics['cost']:.2f} $/h; {proof}.{behind}"
    )

    def draw(axes: Any) -> None:
        left, whole = 0.0, sum(part.seconds for part in explanation.critical_path)
        for part in explanation.critical_path:
            axes.barh([0], [1e3 * part.seconds], left=left, color=COLOURS[1 if part.is_stream else 0], edgecolor="white")
            if part.seconds > WIDE_PART * whole:
                name = part.name.replace(" → ", " →\n")
                axes.text(left + 500 * part.seconds, 0, name, ha="center", va="center", fontsize=7, color="white", rotation=90)
            left += 1e3 * part.seconds
        axes.set_yticks([])
        axes.set_title("The slowest path: time in operators (blue) and on links (orange)", fontsize=10, loc="left")
        axes.set_xlabel("ms", fontsize=8.5)
        _plain(axes)

    return Station(
        "placement",
        "Where operators run, with how many replicas (EDRP)",
        sentence,
        Table("", ("operator", "replicas", "nodes"), rows, ("replicas",), open=True),
        ("edrp solve placement.json --certificate placement.cert", "edrp explain placement.json"),
        draw,
        "Seconds of each operator and stream on the slowest path.",
    )


def _searched(problem: EdrpProblem, optimum: float) -> Station:
    rows, above = [("optimum", f"{optimum:.5f}", "0", "")], {"optimum": 0.0}
    for method in HEURISTICS:
        began = perf_counter()
        found = solve(problem, method, work_limit=SEARCH_WORK)
        above[method] = 100 * (found.objective / optimum - 1) if found.objective is not None else float("nan")
        rows.append((method, f"{found.objective:.5f}", f"{above[method]:.2g}", f"{perf_counter() - began:.2f}"))
    worst = max(above, key=lambda name: above[name])
    return Station(
        "heuristics",
        "The same by heuristics (latency-aware placement)",
        f"Hill climbing, the ant system and their hybrid on the same problem, each with {SEARCH_WORK:g} unit of work: at most "
        f"{above[worst]:.2g} % above the proven optimum ({worst}).",
        Table("", ("method", "objective", "% above", "seconds"), tuple(rows), ("objective", "% above", "seconds"), open=True),
        tuple(f"edrp solve placement.json --method {method} --work-limit {SEARCH_WORK:g}" for method in HEURISTICS),
        _bars("How far heuristics are from the optimum", "% above the optimum", above, "optimum"),
        "Percent above the optimum by method.",
    )


def _moved(folder: Path) -> Station:
    ((_, problem),) = generate("migration", 1, 4, families=["zipf"])
    assert isinstance(problem, MigrationProblem)
    save(problem, folder / "migration.json")
    moved = {}
    for method in ("ssm", "balanced"):
        solution = solve(problem, method)
        if solution.status in ("optimal", "feasible"):
            moved[method] = solution.metrics["moved_state"] / 1e9
    ((_, tomorrow),) = generate("migration-policy", 1, 0, families=["zipf"])
    assert isinstance(tomorrow, MigrationPolicyProblem)
    save(tomorrow, folder / "policy.json")
    model, began = PolicyModel.of(tomorrow), perf_counter()
    with _engine() as (engine, where), TemporaryDirectory() as store:
        iteration = precompute_policy(model, engine, store)
    states = sum(model.size.states)
    option = " --spark 'local[2]'" if where.startswith("Spark") else ""
    return Station(
        "migration",
        "How state moves when the number of nodes changes (operator state migration)",
        f"{len(problem.work)} tasks from {len(problem.intervals)} to {problem.nodes} nodes: no migration moves less than "
        f"{moved['ssm']:.3g} GB. For tomorrow, a policy over {states:,} partitions and {model.size.pairs:,} pairs of them was "
        f"precomputed on {where}, in {iteration.sweeps} sweeps and {perf_counter() - began:.0f} s.",
        Table(
            "",
            ("method", "moved (GB)"),
            tuple((name, f"{value:.3g}") for name, value in moved.items()),
            ("moved (GB)",),
            open=True,
        ),
        (
            "edrp solve migration.json",
            "edrp plan migration.json --uplink 1e9",
            f"edrp policy precompute policy.json --out policy{option}",
        ),
        _bars("State that moves", "GB", moved, "ssm"),
        "Gigabytes that move, by method.",
    )


@contextmanager
def _engine() -> Iterator[tuple[SweepEngine, str]]:
    """Spark on two cores where it and Java are at hand, threads of this process otherwise; and how to call it."""
    try:
        require_spark("local[2]")
    except BackendUnavailableError:
        yield Threads(os.cpu_count() or 1), "threads of this process (Spark needs Java and the extra spark)"
        return
    with spark_session("local[2]", memory="1g", in_python=True) as session:
        yield Spark(session, None), "Spark, local[2]"


def _leased(folder: Path) -> Station:
    ((_, problem),) = generate("leasing", 1, 5, families=["manufacturing"], size=12)
    assert isinstance(problem, LeasingProblem)
    problem = problem.replace(host_types=[{**host.model_dump(), "billing_time": BILLING_TIME} for host in problem.host_types])
    save(problem, folder / "leasing.json")
    best, simple = solve(problem), solve(problem, "first-fit-leases")
    billing = {host_type.name: host_type.billing_time for host_type in problem.host_types}
    rows = tuple(
        (host.name, host.type, f"{host.first * problem.period / 60:.0f}", f"{host.units}")
        for host in best.hosts or ()
        if host.units
    )

    def draw(axes: Any) -> None:
        for k, host in enumerate(reversed([host for host in best.hosts or () if host.units])):
            units = billing[host.type] / 60
            for unit in range(host.units):
                axes.barh([k], [units], left=host.first * problem.period / 60 + unit * units, color=COLOURS[0], edgecolor="white")
        axes.set_yticks([])
        axes.set_ylabel("hosts", fontsize=8.5)
        axes.set_xlabel("minutes; each bar is a billing time unit", fontsize=8.5)
        axes.set_title("Hosts that are leased", fontsize=10, loc="left")
        _plain(axes)

    return Station(
        "leasing",
        "Which hosts are leased for an hour (cost-efficient enactment)",
        f"The paper's factory for twelve periods of five minutes: {len(rows)} hosts for {best.objective:.4g}, {_proven(best)}; "
        f"a simple rule pays {simple.objective:.4g}.",
        Table("", ("host", "type", "from minute", "billing units"), rows, ("from minute", "billing units"), open=False),
        ("edrp solve leasing.json", "edrp solve leasing.json --method first-fit-leases"),
        draw,
        "When each host is leased.",
    )


def _proven(solution: Any) -> str:
    return "proven optimal" if solution.status == "optimal" else f"at most {100 * (solution.gap or 0):.2g} % above the optimum"


def _mapped(folder: Path) -> Station:
    ((_, problem),) = generate("mapping", 1, 5, families=["geometric"], size=12)
    assert isinstance(problem, MappingProblem)
    save(problem, folder / "mapping.json")
    best, simple = solve(problem), solve(problem, "least-cost-map")
    chosen = best.decision
    assert chosen is not None
    rows = tuple(
        (f"{hop}", "stays" if len(route) == 1 else " → ".join(route), "public" if chosen.is_public(hop) else "dedicated")
        for hop, route in enumerate(chosen.routes)
    )

    def draw(axes: Any) -> None:
        import networkx as nx

        graph = nx.Graph((link.source, link.target) for link in problem.network.links)
        places = nx.kamada_kawai_layout(graph)
        used = {frozenset(pair) for route in chosen.routes for pair in pairwise(route)}
        for a, b in graph.edges:
            on = frozenset((a, b)) in used
            axes.plot(
                *zip(places[a], places[b], strict=True), color=COLOURS[1] if on else GRID, linewidth=2.5 if on else 0.8, zorder=1
            )
        hosts = [places[name] for name in dict.fromkeys(chosen.nodes)]
        axes.scatter(*zip(*places.values(), strict=True), s=14, color=COLOURS[5], zorder=2)
        axes.scatter(*zip(*hosts, strict=True), s=60, color=COLOURS[0], zorder=3)
        axes.set_title("Links that the stream takes, and servers that host services", fontsize=10, loc="left")
        axes.set_axis_off()

    return Station(
        "mapping",
        "Which servers and links streams use (bi-modal networks)",
        f"A path of {len(chosen.nodes)} services on {len(problem.network.nodes)} servers costs {best.objective:.4g}, "
        f"{_proven(best)}; the paper's flood finds {simple.objective:.4g}.",
        Table("", ("hop", "way", "network"), rows, ("hop",)),
        ("edrp solve mapping.json", "edrp solve mapping.json --method least-cost-map"),
        draw,
        "The network, with the links and servers of the map set off.",
    )


def _compared() -> Station:
    problems = dict(generate("edrp", BATCH, 1, families=FAMILIES))
    began = perf_counter()

    def given(option: str, values: tuple[str, ...]) -> str:
        return " ".join(f"{option} {shlex.quote(value)}" for value in values)

    rows = solve_batch(problems, list(BATCH_METHODS), work_limit=BATCH_WORK, n_jobs=os.cpu_count()).to_pylist()
    seconds = perf_counter() - began
    found = {method: {row["id"]: row for row in rows if row["method"] == method} for method in BATCH_METHODS}
    optimum = {name: row["objective"] for name, row in found[BATCH_METHODS[0]].items() if row["status"] == "optimal"}
    gaps = {
        method: [100 * (row["objective"] / optimum[name] - 1) for name, row in of.items() if name in optimum and row["objective"]]
        for method, of in found.items()
    }
    table = tuple(
        (
            method,
            f"{len(gaps[method])}",
            f"{sum(gap < 1e-6 for gap in gaps[method])}",
            f"{mean(gaps[method]):.2g}",
            f"{max(gaps[method]):.2g}",
        )
        for method in BATCH_METHODS
    )

    def draw(axes: Any) -> None:
        for k, method in enumerate(reversed(BATCH_METHODS)):
            values = sorted(gaps[method])
            spread = [k + 0.24 * ((j * 0.618) % 1.0 - 0.5) for j in range(len(values))]
            axes.scatter(values, spread, s=9, alpha=0.6, color=COLOURS[0 if method == BATCH_METHODS[0] else 5])
        axes.set_yticks(range(len(BATCH_METHODS)), list(reversed(BATCH_METHODS)))
        axes.set_xscale("symlog", linthresh=0.1)
        axes.set_xlim(-0.02, None)
        axes.set_xlabel("% above the proven optimum, each dot an instance", fontsize=8.5)
        axes.set_title("Heuristics against proven optima", fontsize=10, loc="left")
        _plain(axes)

    return Station(
        "batch",
        f"{BATCH} problems at once: heuristics against proven optima",
        f"{len(optimum)} of {BATCH} random placements are proven optimal; {len(rows)} answers in {seconds:.0f} s.",
        Table(
            "",
            ("method", "answers", "optimal", "mean %", "worst %"),
            table,
            ("answers", "optimal", "mean %", "worst %"),
            open=True,
        ),
        (
            f"edrp generate edrp --count {BATCH} --seed 1 {given('--family', FAMILIES)} --out set.jsonl",
            f"edrp batch set.jsonl {given('-m', BATCH_METHODS)} --work-limit {BATCH_WORK:g} --out rows",
        ),
        draw,
        "Each instance's distance from its optimum, by method.",
    )
