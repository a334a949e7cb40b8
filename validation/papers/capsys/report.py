"""CAPSys's queries and plans next to proven optima: run, judged, and written as a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.placement.capsys import (
    CAPSYS_WORKERS,
    CORES,
    PLANS_FILE,
    SPEEDUP,
    MeasuredPlan,
    capsys_plans,
    capsys_queries,
    inference_problem,
)
from edrp.placement.edrp import EdrpProblem
from edrp.report.page import Section, how_run, require_packages
from edrp.report.progress import Tell
from edrp.report.publication import Report
from edrp.report.statements import Statement
from edrp.validation.papers.capsys.inference import PlanRow, joint_rows, plan_rows
from edrp.validation.papers.capsys.queries import QueryRow, query_rows
from edrp.validation.papers.capsys.statements import capsys_statements, improvable
from edrp.validation.papers.capsys.tables import (
    UNKNOWN,
    plan_records,
    plan_table,
    query_records,
    query_table,
    setting_table,
    unknown_table,
)
from edrp.validation.papers.claims import claim_records, claim_table

SCALED, SCALED_TASKS = "Q2", 256
"""A query that is placed with more tasks as well, and how many; each has a slot."""


@dataclass(frozen=True, slots=True)
class CapsysResults:
    """Placements of the queries as measured and of one with more tasks, deployments of the inference problem, and verdicts."""

    measured: Sequence[QueryRow]
    scaled: Sequence[QueryRow]
    problem: EdrpProblem
    plans: Sequence[PlanRow]
    statements: Sequence[Statement]


def investigate(
    data: Path | None = None,
    *,
    slack: float = 0.0,
    speedup: float = SPEEDUP,
    cores: int = CORES,
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
    queries, plans = capsys_queries(data), capsys_plans(data)
    problem = inference_problem(data, rate=_rate(plans), speedup=speedup, cores=cores)
    tell("compiling kernels")
    _warm(queries, problem)
    measured: list[QueryRow] = []
    for name, query in queries.items():
        tell(f"placing {name}")
        measured += query_rows(name, query, slack=slack)
    tell(f"placing {SCALED} with {SCALED_TASKS} tasks")
    scaled = [row for query in _scaled(data, queries) for row in query_rows(SCALED, query, slack=slack, alone=False)]
    tell("joint optima")
    rows = plan_rows(problem, plans)
    return CapsysResults(measured, scaled, problem, rows, capsys_statements(measured, scaled, rows))


def _rate(plans: Mapping[str, MeasuredPlan]) -> float:
    """Records/s that all plans were asked for."""
    rates = sorted({plan.input_rate for plan in plans.values()})
    if len(rates) != 1:
        rates_text = ", ".join(f"{rate:g}" for rate in rates) or "none"
        raise InvalidInstanceError(
            [Fault(PLANS_FILE, "input_rate", f"must be the same in all plans, which are compared (got {rates_text})")]
        )
    return rates[0]


def _warm(queries: Mapping[str, EdrpProblem], problem: EdrpProblem) -> None:
    """Have all kernels compiled, so that seconds are those of solving."""
    for name, query in list(queries.items())[:1]:
        list(query_rows(name, query))
    list(joint_rows(problem, None))


def _scaled(data: Path | None, queries: Mapping[str, EdrpProblem]) -> Iterator[EdrpProblem]:
    """The query with more tasks, on as many workers with as many slots as it takes; nothing if there is no such query."""
    if SCALED in queries:
        tasks = sum(operator.max_replicas for operator in queries[SCALED].application.operators)
        yield capsys_queries(data, scale=SCALED_TASKS / tasks, slots=-(-SCALED_TASKS // CAPSYS_WORKERS))[SCALED]


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
