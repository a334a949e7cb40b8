"""`edrp reproduce`: the experiments of the papers on real input."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from edrp.cli.batch import Jobs, Master, batch_progress, check_place, place_of_work
from edrp.cli.demo import Data
from edrp.cli.options import (
    ForceFolder,
    Method,
    TimeLimit,
    argument,
    choice_option,
    command_group,
    figure_folder,
    finite_option,
    option,
    out_option,
)
from edrp.cli.terminal import output, say
from edrp.core.folders import refuse_folder
from edrp.datasets.placement.capsys import CORES, SPEEDUP
from edrp.report.page import require_packages
from edrp.report.progress import working
from edrp.report.publication import WRITTEN, Report
from edrp.validation.papers.bimodal import report as bimodal_report
from edrp.validation.papers.bimodal.runs import Extent, Flow, quick_look
from edrp.validation.papers.capsys import report as capsys_report
from edrp.validation.papers.control import report as control_report
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
from edrp.validation.papers.live import report as live_report
from edrp.validation.papers.live.report import read_rows
from edrp.validation.papers.state_migration import report as migration_report
from edrp.validation.papers.state_migration import single_step_example

Out = Annotated[Path | None, out_option("Output folder for the figures; default: no figures.")]
ReportFolder = Annotated[
    Path | None, out_option("Output folder for rows, tables, figures and report.html; the same command continues a stopped run.")
]
Sensitivity = Annotated[bool, option("Run a sensitivity analysis, too, which changes one constant at a time.", "--sensitivity")]

QUICK_SEEDS = 3
SENSITIVE_NETWORKS = 5

reproduce = command_group()

EDRP, MIGRATION = "Placement and replication (EDRP)", "State migration"
LATENCY_AWARE, ENACTMENT, BIMODAL = "Latency-aware placement", "Enactment", "Bi-modal networks"
CONTENTION, ENGINES = "Contention (CAPSys)", "Advice for a running job (Apache Flink)"


@reproduce.command("table-iv", rich_help_panel=EDRP)
def run_table_iv(
    time_limit: TimeLimit = table_iv.TIME_LIMIT,
    literal: Annotated[bool, option("Also solve the literal program for the cases that the paper solved; takes minutes.")] = True,
) -> None:
    """Reproduce Table IV: number of columns, and solution times of programs and methods."""
    table_iv.run(output(), time_limit=time_limit, literal=literal)


@reproduce.command("scenario", rich_help_panel=EDRP)
def run_scenario(out: Out = None, method: Method = "auto", force: ForceFolder = False) -> None:
    """Reproduce the hour of section 7.2 on ANSNET: Table III, Fig. 5, and the events in words."""
    with figure_folder(out, force, [edrp_report.HOUR_FIGURE]) as folder:
        edrp_report.run_scenario(output(), out=folder, method=method)


@reproduce.command("storm", rich_help_panel=EDRP)
def run_storm(
    data: Data = None,
    out: Out = None,
    method: Method = "auto",
    days: Annotated[int, option("Number of consecutive days.", min=1)] = 1,
    force: ForceFolder = False,
) -> None:
    """Reproduce days under Storm's reconfiguration: Table V, Fig. 6."""
    with figure_folder(out, force, [edrp_report.STORM_FIGURE]) as folder:
        edrp_report.run_storm(output(), data=data, out=folder, method=method, days=days)


@reproduce.command("migration", rich_help_panel=MIGRATION)
def run_migration(
    data: Data = None,
    out: Out = None,
    migrations: Annotated[int, option("Number of consecutive migrations for each series.", min=2)] = 100,
    constant: Annotated[
        bool, option("Keep work and state of the tasks as they are over the whole series.", "--constant")
    ] = False,
    force: ForceFolder = False,
) -> None:
    """Reproduce migrations on real loads: Tables 3 and 4, Figs. 8 to 12 and 14, and a verdict on each sentence of section 6."""
    with figure_folder(out, force, [file for file, _ in migration_report.FIGURES.values()]) as folder:
        single_step_example.run(output())
        migration_report.run(output(), data=data, out=folder, migrations=migrations, changing=not constant)


@reproduce.command("latency-aware", rich_help_panel=LATENCY_AWARE)
def run_latency_aware(
    out: Out = None,
    seeds: Annotated[int, option("Number of runs of each search for Table 4; at most 5 for the other tables.", min=1)] = 30,
    fresh: Annotated[
        int, option("Number of generated topologies in addition to the paper's; their optima are proven first.", min=0, max=30)
    ] = 0,
    force: ForceFolder = False,
) -> None:
    """Compare schedulers with the paper's: Tables 2 to 4, sustainable throughput, Figs. 6 to 8, and gaps to proven optima."""
    require_packages(simpy="simulate")
    with figure_folder(out, force, tuple(throughput_report.FIGURES)) as folder:
        throughput_report.run(output(), out=folder, seeds=min(seeds, 5))
    table_4.run(output(), seeds=seeds, fresh=fresh)


@reproduce.command("replanning", rich_help_panel=LATENCY_AWARE)
def run_replanning(
    data: Data = None,
    method: Method = "iterated-local-search",
    seed: Annotated[int, option("Seed of the simulated day and of the method.", min=0)] = 1,
) -> None:
    """Simulate a day of changing latencies and loads that is replanned always, never, when a limit breaks or when it pays."""
    replanning_report.run(output(), data=data, method=method, seed=seed)


@reproduce.command("production", rich_help_panel=LATENCY_AWARE)
def run_production(
    data: Annotated[Path, option("Folder that contains storm_production_topologies.json.", "--data")],
    time_limit: Annotated[
        float, option("Time limit in seconds for each method and topology.", min=0.0)
    ] = production_report.TIME_LIMIT,
) -> None:
    """Place 136 production topologies of Storm on their clusters; prints hosts, bounds, traffic and times."""
    production_report.run(output(), data=data, time_limit=time_limit)


@reproduce.command("coordinates", rich_help_panel=LATENCY_AWARE)
def run_coordinates(
    data: Annotated[
        Path | None, option("Folder with the latencies between AWS regions; default: only random nodes in the plane.", "--data")
    ] = None,
    seeds: Annotated[int, option("Number of simulations for each setting.", min=1)] = 10,
) -> None:
    """Estimate latencies from few measurements, and print the median error after each round."""
    coordinates_report.run(output(), data=data, seeds=seeds)


@reproduce.command("enactment", rich_help_panel=ENACTMENT)
def run_enactment(
    out: ReportFolder = None,
    seeds: Annotated[int, option("Number of runs for each table cell.", min=1)] = 30,
    spark: Master = None,
    jobs: Jobs = None,
    quick: Annotated[
        bool, option("Make only three runs for each table cell, with the policies of the paper.", "--quick")
    ] = False,
    sensitivity: Sensitivity = False,
    force: ForceFolder = False,
) -> None:
    """Simulate policies that lease hosts: Tables 3 to 6, Figs. 8 to 11, and a verdict on each of the paper's comparisons."""
    check_place(spark, jobs)
    _refuse(out, force)
    how: dict[str, Any] = {"seeds": min(seeds, QUICK_SEEDS), "policies": ()} if quick else {"seeds": seeds}
    with place_of_work(spark, jobs) as where, batch_progress("simulating") as report:
        found = enactment_report.investigate(out=out, sensitive=sensitivity, progress=report, **how, **where)
    options = {"--seeds": seeds, "--spark": spark, "--out": out, "--quick": quick, "--sensitivity": sensitivity}
    _publish(enactment_report.report(found), out, force, "enactment", options)


@reproduce.command("bimodal", rich_help_panel=BIMODAL)
def run_bimodal(
    out: ReportFolder = None,
    networks: Annotated[int, option("Number of random networks for each point of Figs. 8 and 9.", min=1)] = 30,
    instances: Annotated[int, option("Number of tasks to map for each size of Fig. 7.", min=2)] = 100,
    tasks: Annotated[int, option("Number of tasks in each trace.", min=1)] = 500,
    flow: Annotated[Flow, choice_option(Flow, "Flow over the public network: drawn every 10 ms, or its expectation.")] = "drawn",
    spark: Master = None,
    jobs: Jobs = None,
    quick: Annotated[
        bool, option("Simulate only three networks at few points, which is too little for verdicts.", "--quick")
    ] = False,
    sensitivity: Sensitivity = False,
    force: ForceFolder = False,
) -> None:
    """Map and simulate stream tasks on bi-modal networks: Figs. 7 to 9, and a verdict on each statement of the paper."""
    check_place(spark, jobs)
    _refuse(out, force)
    few = min(networks, SENSITIVE_NETWORKS) if sensitivity else 0
    extent = Extent(networks=networks, tasks=tasks, flow=flow, instances=instances, sensitive=few)
    with place_of_work(spark, jobs) as where, batch_progress("running") as report:
        found = bimodal_report.investigate(quick_look(extent) if quick else extent, out=out, progress=report, **where)
    options: dict[str, Any] = {"--networks": networks, "--instances": instances, "--tasks": tasks, "--flow": flow}
    options |= {"--spark": spark, "--out": out, "--quick": quick, "--sensitivity": sensitivity}
    _publish(bimodal_report.report(found), out, force, "bimodal", options)


@reproduce.command("capsys", rich_help_panel=CONTENTION)
def run_capsys(
    data: Annotated[
        Path | None, option("Folder with capsys/queries_4x8.json and capsys/q3_inf_plans.json; default: $EDRP_DATA.", "--data")
    ] = None,
    out: Annotated[Path | None, out_option("Output folder for tables and report.html.")] = None,
    slack: Annotated[float, finite_option("Relative amount by which a later priority may worsen an earlier one.", min=0.0)] = 0.0,
    speedup: Annotated[
        float, finite_option("Speed-up of the workers of the plans relative to the measured workers.", min=0.01)
    ] = SPEEDUP,
    cores: Annotated[int, option("Number of cores of each worker of the plans.", min=1)] = CORES,
    force: ForceFolder = False,
) -> None:
    """Place CAPSys's six queries optimally, by CAPS and by Flink, and compare plans of ODRP and CAPSys with joint optima."""
    _refuse(out, force)
    with working(output(), "CAPSys") as tell:
        found = capsys_report.investigate(data, slack=slack, speedup=speedup, cores=cores, out=out, tell=tell)
    options = {"--data": data, "--slack": slack, "--speedup": speedup, "--cores": cores, "--out": out}
    _publish(capsys_report.report(found), out, force, "capsys", options)


@reproduce.command("control", rich_help_panel=ENGINES)
def run_control(
    data: Annotated[
        Path | None, option("Folder of the taxi stream and the tweets; default: $EDRP_DATA, without it only flights.", "--data")
    ] = None,
    days: Annotated[int, option("Number of days of each data set.", min=1)] = 20,
    seed: Annotated[int, option("Seed that the days are drawn by.", min=0)] = control_report.SEED,
    out: Annotated[Path | None, out_option("Output folder for tables and report.html.")] = None,
    force: ForceFolder = False,
) -> None:
    """Control a job through real days: cost of rules and of a rolling horizon over certified clairvoyant bounds."""
    _refuse(out, force)
    with working(output(), "control") as tell:
        rows = control_report.investigate(data, days=days, seed=seed, tell=tell, out=out)
    options = {"--data": data, "--days": days, "--seed": seed, "--out": out}
    _publish(control_report.report(rows), out, force, "control", options)


@reproduce.command("live", rich_help_panel=MIGRATION)
def run_live(
    rows: Annotated[list[Path], argument("Files of rows that benchmarks/flink_response_times.py wrote.")],
    out: Annotated[Path | None, out_option("Output folder for tables, figures and report.html.")] = None,
    force: ForceFolder = False,
) -> None:
    """Compare response times after migrations and live changes with other ways, measured on Flink: Figs. 13 and 15."""
    _refuse(out, force, *live_report.FIGURES, jinja2="report", matplotlib="plot")
    _publish(live_report.report(read_rows(rows)), out, force, " ".join(["live", *map(str, rows)]), {"--out": out})


def _refuse(out: Path | None, force: bool, *further: str, **extras: str) -> None:
    """Refuse, before any work, a folder that holds other files of the names of a report, and missing packages."""
    if out is not None:
        refuse_folder(out, [*WRITTEN, *further], force=force)
        require_packages(**extras)


def _publish(made: Report, out: Path | None, force: bool, name: str, options: dict[str, Any]) -> None:
    """Print a report, and write it with the command that makes it again into a folder if there is one."""
    made.print(output())
    if out is not None:
        words = [
            option if value is True else f"{option} {value}" for option, value in options.items() if value not in (None, False)
        ]
        page = made.write(out, " ".join(["edrp reproduce", name, *words]), force=force)
        say(output(), f"report: {page}")
