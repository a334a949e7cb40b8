"""The queries and plans of CAPSys next to proven optima: run, judged, and written as a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.tolerances import EQUAL_PEAKS
from edrp.datasets.placement import capsys as artifact
from edrp.placement.edrp import EdrpProblem
from edrp.report.formatting import NONE, signed
from edrp.report.page import Section, how_run, require_packages
from edrp.report.progress import Tell
from edrp.report.publication import Report
from edrp.report.statements import Statement, claim
from edrp.report.tables import Table, facts_table
from edrp.validation.papers.capsys import placements
from edrp.validation.papers.claims import claim_records, claim_table

QUERIES_SECONDS, LARGE_SECONDS = 1.0, 0.5
"""Seconds of processor time for the six queries together, and for one of them with hundreds of tasks."""


def _query_statements(rows: Sequence[placements.QueryRow]) -> Iterator[Statement]:
    optima = _by_query(rows, placements.OPTIMUM)
    proven = sum(row.proven for row in optima.values())
    seconds = sum(row.seconds or 0.0 for row in optima.values())
    evidence = f"{proven} of {len(optima)} proven, {seconds:.3f} s of processor time"
    yield claim(
        "all queries are proven in all stages in 1 s together", proven == len(optima) and seconds <= QUERIES_SECONDS, evidence
    )
    caps, alone = _by_query(rows, placements.CAPS), _by_query(rows, placements.ALONE)
    below = [
        f"{name}: {resource}"
        for name, row in caps.items()
        for resource, peak in row.peaks.items()
        if peak < alone[name].peaks[resource] * (1 - EQUAL_PEAKS)
    ]
    evidence = ", ".join(below) or f"0 of {len(caps)} queries"
    yield claim("no peak of CAPS's rule is below its proven least", not below, evidence)
    above = [row.peaks["compute"] / alone[name].peaks["compute"] - 1 for name, row in caps.items() if row.peaks]
    if above:
        evidence = f"on average {100 * sum(above) / len(above):.1f} %, at most {100 * max(above):.1f} % above"
        yield claim("CAPS's rule is within 5 % of the least peak of compute", max(above) <= 0.05, evidence)
    for policy in (placements.EVENLY, placements.DEFAULT):
        drawn = _by_query(rows, policy)
        better = [name for name, row in drawn.items() if caps[name].peaks.get("compute", inf) < row.peaks["compute"]]
        evidence = f"{len(better)} of {len(drawn)}"
        yield claim(f"CAPS balances compute better than “{policy}” on average", len(better) == len(drawn), evidence)


def _scaled_statements(rows: Sequence[placements.QueryRow]) -> Iterator[Statement]:
    for row in _by_query(rows, placements.OPTIMUM).values():
        evidence = f"{row.seconds or 0.0:.3f} s of processor time{'' if row.proven else ', not proven'}"
        sentence = f"{row.query} with {row.tasks} tasks is proven in all stages in 0.5 s"
        yield claim(sentence, row.proven and (row.seconds or 0.0) <= LARGE_SECONDS, evidence)


def _plan_statements(rows: Sequence[placements.PlanRow]) -> Iterator[Statement]:
    capsys = placements.capsys_row(rows)
    if capsys is None:
        return
    others = [row for row in rows if not row.ours and row is not capsys]
    if others:
        short = sum(not row.reaches for row in others)
        large = sum(row.reaches and row.slots > capsys.slots for row in others)
        evidence = f"of {len(others)} plans {short} fall short, {large} take more slots"
        yield claim("ODRP's plans miss the target or take more slots than CAPSys's", short + large == len(others), evidence)
        least_rate = min(row.rate for row in others)
        evidence = f"{capsys.rate:.0f} against {least_rate:.0f} records/s, {capsys.rate / least_rate:.1f} times"
        sentence = "CAPSys's plan carries at least 5 times as much as one of ODRP's (the paper: up to 6)"
        yield claim(sentence, capsys.rate >= 5 * least_rate, evidence)
    same = [row for row in rows if row.ours and row.slots <= capsys.slots and row.reaches]
    if same:
        best = min(same, key=lambda row: row.latency)
        evidence = (
            f"{best.slots} slots, {best.rate:.0f} against {capsys.rate:.0f} records/s, {1e3 * best.latency:.0f} against "
            f"{1e3 * capsys.latency:.0f} ms, compute {100 * best.peaks['compute']:.0f} against "
            f"{100 * capsys.peaks['compute']:.0f} %"
        )
        holds = best.rate >= capsys.rate and best.latency < capsys.latency and best.peaks["compute"] < capsys.peaks["compute"]
        yield claim("with no more slots than CAPSys's plan ours is better in throughput, latency and peak load", holds, evidence)


def improvable(rows: Sequence[placements.QueryRow]) -> list[str]:
    """Queries on which some placement is better than CAPS's in one peak and worse in none."""
    within, caps = _by_query(rows, placements.WITHIN), _by_query(rows, placements.CAPS)
    return [
        f"{row.query} with {row.tasks} tasks"
        for name, row in within.items()
        if any(row.peaks[resource] < caps[name].peaks[resource] * (1 - EQUAL_PEAKS) for resource in row.peaks)
    ]


def _by_query(rows: Sequence[placements.QueryRow], placement: str) -> dict[str, placements.QueryRow]:
    return {row.query: row for row in rows if row.placement == placement}


DIGITS = {"compute": 1, "state": 0, "network": 2}
"""Decimals of each resource."""


def query_table(rows: Sequence[placements.QueryRow]) -> Table:
    """The load of the fullest worker by query and way to place it, and how much that is above the proven optimum."""
    optimum = {(row.query, row.tasks): row for row in rows if row.placement == placements.OPTIMUM}
    shown = []
    for row in rows:
        best = optimum[row.query, row.tasks]
        cells = [_peak(row, best, resource) for resource in artifact.RESOURCES]
        name = f"{row.query}, {row.tasks} tasks" if row is best else ""
        proof = "proven" if row.proven else ""
        shown.append((name, row.placement, *cells, NONE if row.seconds is None else f"{row.seconds:.3f}", proof))
    right = (*(f"{resource}\n[{artifact.UNITS[resource]}]" for resource in artifact.RESOURCES), "processor\n[s]")
    note = (
        "What the fullest worker is asked for, and by how much that is above the optimum of compute, then state, then network. "
        f"“{placements.ALONE}” need not go together. "
        f"Flink: means of {placements.DRAWS} random orders of tasks, the worst in brackets."
    )
    return Table("Six queries on four workers", ("Query", "Placement", *right, ""), tuple(shown), right, note=note, open=True)


def _peak(row: placements.QueryRow, best: placements.QueryRow, resource: str) -> str:
    if resource not in row.peaks:
        return NONE
    digits = DIGITS[resource]
    text = f"{row.peaks[resource]:,.{digits}f}"
    if row.worst is not None:
        text += f" ({row.worst[resource]:,.{digits}f})"
    if row is best:
        return text
    return f"{text}\n{signed(100 * (row.peaks[resource] / best.peaks[resource] - 1), 1)} %" if best.peaks[resource] else text


def plan_table(rows: Sequence[placements.PlanRow]) -> Table:
    """Deployments of Q3: the measured ones as our model sees them, then our optima."""
    operators = list(dict.fromkeys(operator for row in rows for operator in row.replicas))
    shown = []
    for row in rows:
        label = f"ours: {row.name}" + ("\nproven" if row.proven else "") if row.ours else row.name
        tasks = ", ".join(str(row.replicas.get(operator, 0)) for operator in operators)
        shown.append((label, str(row.slots), tasks, *_predictions(row)))
    right = ("slots", "predicted\n[records/s]", "compute\n[%]", "network\n[%]", "latency\n[ms]")
    columns = ("Plan", "slots", "tasks", *right[1:], "held back by, or breaks")
    note = (
        f"Tasks of {', '.join(operators)}. Shares are those of the fullest worker at the target. Latency is infinite where a "
        "task is asked for more than it serves."
    )
    return Table("Q3: measured plans and joint optima", columns, tuple(shown), right, note=note, open=True)


def _predictions(row: placements.PlanRow) -> Iterator[str]:
    yield f"{row.rate:.0f}\n{100 * row.rate / row.target:.0f} %"
    for resource in ("compute", "network"):
        yield f"{100 * row.peaks[resource]:.1f}" if resource in row.peaks else NONE
    yield f"{1e3 * row.latency:.1f}" if math.isfinite(row.latency) else "∞"
    yield "\n".join(filter(None, (row.bottleneck, *(words for words in row.broken if "overloaded" not in words))))


def query_records(rows: Sequence[placements.QueryRow]) -> Iterator[Mapping[str, Any]]:
    """Rows of a CSV file: uses in the unit of the resource, empty where the query has none."""
    for row in rows:
        kinds = {"peak": row.peaks, "worst": row.worst or {}}
        peaks = {f"{resource}_{kind}": values.get(resource) for kind, values in kinds.items() for resource in artifact.RESOURCES}
        named = {"query": row.query, "tasks": row.tasks, "placement": row.placement}
        yield {**named, **peaks, "seconds": row.seconds, "proven": row.proven, "note": row.note}


def plan_records(rows: Sequence[placements.PlanRow]) -> Iterator[Mapping[str, Any]]:
    """Rows of a CSV file: records/s, seconds and shares; an infinite latency is empty."""
    for row in rows:
        yield {
            "plan": row.name.replace("\n", ", "),
            "ours": row.ours,
            "slots": row.slots,
            "tasks": " ".join(f"{operator}={count}" for operator, count in row.replicas.items()),
            "target_rate": row.target,
            "predicted_rate": row.rate,
            "latency": row.latency if math.isfinite(row.latency) else None,
            "peak_compute": row.peaks.get("compute"),
            "peak_network": row.peaks.get("network"),
            "bottleneck": row.bottleneck,
            "broken": "; ".join(row.broken),
            "proven": row.proven,
            "seconds": row.seconds,
        }


UNKNOWN = (
    f"The rate at which the queries were measured is not in the data. For Q3 it is taken to be "
    f"{artifact.PROFILE_RATE:g} records/s, as in CAPSys's artifact; the bytes per record agree with it.",
    "Q3 was measured on m5d.2xlarge, the plans ran on c5d.4xlarge. One number, the ratio of their clocks, stands for all "
    "differences between them (`--speedup`); caches, memory bandwidth and the image library may scale otherwise.",
    "A task is taken to be one thread that serves a record in the measured compute per record. Compute includes what other "
    "threads do (windows of Q2 use 1.8 cores each, inference 1.05), so that service rates of such tasks are not known; a window "
    "that stores state in RocksDB may wait for its disk as well.",
    "Two hardware threads of a core are one core here (`--cores`). Garbage collection, network buffers, skewed keys and limits "
    "of the disk are in no number that we have.",
    "Latency is that of M/M/1 queues at the full rate plus a delay between workers. CAPSys's latencies were measured with "
    "backpressure, where records wait in network buffers: numbers cannot be compared, only their order.",
    "The file's plan of CAPSys has ten tasks on each of two workers with eight slots, 27 in all, where the paper has 26 slots. "
    "Our plans keep to eight.",
    "Which of ODRP's plans is called by which name differs: the artifact calls the plan of 26 slots ODRP-Weighted, that of 32 "
    "ODRP-Latency. Rows carry the names in the file.",
)
"""Sentences on the limits of the comparison."""


def unknown_table() -> Table:
    """Build the table of what the paper leaves open, which limits the comparison."""
    return Table("What the model cannot know", ("",), tuple((sentence,) for sentence in UNKNOWN), open=True)


def setting_table(problem: EdrpProblem) -> Table:
    """The numbers that the inference problem rests on."""
    capacity = problem.network.nodes[0].capacity
    facts = {
        "workers, slots of each": f"{artifact.CAPSYS_WORKERS}, {artifact.CAPSYS_SLOTS}",
        "target": f"{placements.target_rate(problem):g} records/s",
        "rate of the measurement": f"{artifact.PROFILE_RATE:g} records/s",
        "workers against those of the measurement": f"{artifact.SPEEDUP:g} times as fast, unless told otherwise",
        "compute of a worker": f"{capacity['compute']:g} {artifact.UNITS['compute']}",
        "network of a worker": f"{artifact.BANDWIDTH:g} {artifact.UNITS['network']}",
        "delay between workers": f"{1e3 * artifact.DELAY:g} ms",
    }
    for operator in problem.application.operators:
        rate = operator.latency.true_rate(1) if operator.latency is not None else 0.0
        facts[f"a task of {operator.name} serves"] = f"{rate:,.1f} records/s"
    return facts_table("Numbers of the model of Q3", facts)


SCALED, SCALED_TASKS = "Q2", 256
"""A query that is placed with more tasks as well, and how many; each has a slot."""


@dataclass(frozen=True, slots=True)
class CapsysResults:
    """Placements of the queries as measured and of one with more tasks, deployments of the inference problem, and verdicts."""

    measured: Sequence[placements.QueryRow]
    scaled: Sequence[placements.QueryRow]
    problem: EdrpProblem
    plans: Sequence[placements.PlanRow]
    statements: Sequence[Statement]


def investigate(
    data: Path | None = None,
    *,
    slack: float = 0.0,
    speedup: float = artifact.SPEEDUP,
    cores: int = artifact.CORES,
    out: Path | None = None,
    tell: Tell = str,
) -> CapsysResults:
    """Place the queries in every way, and evaluate the plans of Q3 next to joint optima.

    Parameters
    ----------
    data : folder that holds `capsys/queries_4x8.json` and `capsys/q3_inf_plans.json`; default: what EDRP_DATA names.
    slack : share of its optimum by which later stages may worsen an earlier one.
    speedup, cores : of the plans' workers, against those on which Q3 was measured.
    out : folder of the report; packages that it needs are looked for before anything runs.
    """
    if out is not None:
        require_packages(jinja2="report")
    queries, plans = artifact.capsys_queries(data), artifact.capsys_plans(data)
    problem = artifact.inference_problem(data, rate=_rate(plans), speedup=speedup, cores=cores)
    tell("importing methods")
    for name, query in list(queries.items())[:1]:  # so that seconds are those of solving
        list(placements.query_rows(name, query))
    list(placements.joint_rows(problem, None))
    measured: list[placements.QueryRow] = []
    for name, query in queries.items():
        tell(f"placing {name}")
        measured += placements.query_rows(name, query, slack=slack)
    tell(f"placing {SCALED} with {SCALED_TASKS} tasks")
    scaled = [row for query in _scaled(data, queries) for row in placements.query_rows(SCALED, query, slack=slack, alone=False)]
    tell("joint optima")
    rows = placements.plan_rows(problem, plans)
    statements = [*_query_statements(measured), *_scaled_statements(scaled), *_plan_statements(rows)]
    return CapsysResults(measured, scaled, problem, rows, statements)


def _rate(plans: Mapping[str, artifact.MeasuredPlan]) -> float:
    """Records/s that all plans were asked for."""
    rates = sorted({plan.input_rate for plan in plans.values()})
    if len(rates) != 1:
        rates_text = ", ".join(f"{rate:g}" for rate in rates) or "none"
        raise InvalidInstanceError(
            [Fault(artifact.PLANS_FILE, "input_rate", f"must be the same in all plans, which are compared (got {rates_text})")]
        )
    return rates[0]


def _scaled(data: Path | None, queries: Mapping[str, EdrpProblem]) -> Iterator[EdrpProblem]:
    """The query with more tasks, on as many workers with as many slots as it takes; nothing if there is no such query."""
    if SCALED in queries:
        tasks = sum(operator.max_replicas for operator in queries[SCALED].application.operators)
        yield artifact.capsys_queries(data, scale=SCALED_TASKS / tasks, slots=-(-SCALED_TASKS // artifact.CAPSYS_WORKERS))[SCALED]


def report(results: CapsysResults) -> Report:
    """The report of finished runs."""
    queries, plans = query_table([*results.measured, *results.scaled]), plan_table(results.plans)
    return Report(
        "CAPSys: six queries and the plans of Q3",
        "Placements by CAPS's rule and by Flink next to proven optima; ODRP's and CAPSys's plans next to joint optima.",
        verdicts=list(verdicts(results)),
        statements=results.statements,
        shown=[queries, plans, unknown_table()],
        documented=[queries, claim_table(results.statements), plans, setting_table(results.problem), unknown_table()],
        sections=lambda drawings, command: sections(results, command),
        records={
            "queries": list(query_records([*results.measured, *results.scaled])),
            "plans": list(plan_records(results.plans)),
            "statements": claim_records(results.statements),
        },
        further=({}, {"unknown": list(UNKNOWN)}),
    )


def verdicts(results: CapsysResults) -> Iterator[str]:
    """The results in a few sentences."""
    confirmed = sum(statement.holds for statement in results.statements)
    yield f"Of {len(results.statements)} statements {confirmed} hold."
    better = [*improvable(results.measured), *improvable(results.scaled)]
    yield (
        "A placement that is better than CAPS's in one peak and worse in none exists "
        + (f"for {', '.join(better)}, and for no other query." if better else "for no query.")
    )
    own_plans = [row for row in results.plans if row.ours and row.reaches]
    if own_plans:
        listed = "; ".join(f"{row.slots} slots, {1e3 * row.latency:.0f} ms, {row.name}" for row in own_plans)
        yield f"Joint optima that carry {own_plans[0].target:g} records/s: {listed}."


def sections(results: CapsysResults, command: str) -> Iterator[Section]:
    """The sections of the page."""
    yield Section(
        "What the paper says, and what we aim at",
        ("Nothing here is drawn but Flink's orders of tasks and CAPS's choice among plans: statements hold or not.",),
        tables=(claim_table(results.statements),),
    )
    yield Section(
        "Six queries",
        (
            "The tasks of each query are given; they go to four workers with eight slots. `fixed-tasks` proves the least peak of "
            "compute, then that of state access, then that of the network, each within the slack of those before it. `caps` is "
            "CAPSys's rule as its paper describes it: a plan below its thresholds that no other of those found dominates, and "
            "the first one found. The optimum within CAPS's has CAPS's peaks as limits: where it is the same, nothing is better "
            "in one peak and worse in none. Flink gives out slots in a random order of tasks: to one worker after the other "
            "(default), or to all in turn (evenly).",
        ),
        tables=(query_table([*results.measured, *results.scaled]),),
    )
    yield Section(
        "Plans of Q3",
        (
            "The plans that CAPSys's artifact holds, evaluated by our model of contention, next to our own: numbers of tasks and "
            "places together, proven by `equal-nodes` with no worker asked for more than it has, then the places of these tasks "
            "proven by `fixed-tasks` for the least peaks.",
        ),
        tables=(plan_table(results.plans), setting_table(results.problem)),
    )
    yield Section("Limits of the comparison", tables=(unknown_table(),))
    yield how_run(command, {"queries": str(len({row.query for row in results.measured})), "plans": str(len(results.plans))})
