"""Deployments, policies and deployments over periods as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edrp.cli.display.solution import metric_table
from edrp.cli.terminal import first_rows, table
from edrp.core.solution import StageOutcome
from edrp.placement.deployment import Deployment, counted
from edrp.placement.edrp import EdrpSolution
from edrp.placement.latency_aware import LatencyAwareSolution
from edrp.placement.policy import EdrpPolicyProblem, EdrpPolicySolution
from edrp.placement.problem import PENALTIES, PlacementProblem, StreamPlacement
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution, PeriodOutcome
from edrp.report.tables import Table

UNCHANGED = "Nothing changes: what runs now stays as it is"


def deployment_parts(problem: PlacementProblem, solution: EdrpSolution | LatencyAwareSolution) -> Iterator[Table | str]:
    """Where each operator runs, every metric, rules that are violated, and the actions that lead there."""
    if solution.deployment is not None:
        yield placement_table(problem, solution.deployment, problem.current)
        yield term_table(problem, solution.metrics)
        violations = [(rule, rule.evaluate(problem, solution.deployment)) for rule in problem.rules]
        yield from (f"• {rule.demand}: violated by {by:.6g}" for rule, by in violations if rule.violated(by))
        if solution.stages:
            yield stage_table(problem, solution.stages)
    yield from (f"• {action}" for action in solution.actions)
    if solution.deployment is not None and solution.deployment == problem.current:
        yield UNCHANGED


def placement_table(problem: StreamPlacement, deployment: Deployment, current: Deployment | None) -> Table:
    """Where each operator runs, and where it did."""
    rows = []
    for operator in problem.application.operators:
        nodes = deployment[operator.name]
        before = nodes if current is None else current[operator.name]
        rows.append((operator.name, str(len(nodes)), counted(nodes), "" if before == nodes else counted(before)))
    shown = 3 if current is None else 4
    return table(("operator", "replicas", "nodes", "before")[:shown], [row[:shown] for row in rows], right=("replicas",))


def term_table(problem: StreamPlacement, metrics: dict[str, float]) -> Table:
    """Every metric with its limit and weight."""
    rows = []
    for term in problem.terms:
        value = f"{metrics[term.metric]:.6g}"
        limit = "" if term.limit is None else f"{term.limit:.6g}"
        rows.append((term.metric, value, problem.metrics[term.metric].unit, limit, f"{term.weight:g}" if term.weight else ""))
    if PENALTIES in metrics:
        rows.append((PENALTIES, f"{metrics[PENALTIES]:.6g}", "1", "", "1"))
    return table(("metric", "value", "unit", "limit", "weight"), rows, right=("value", "limit", "weight"))


def stage_table(problem: PlacementProblem, stages: Sequence[StageOutcome]) -> Table:
    """The value of every priority, one after the other."""
    rows = []
    for outcome in stages:
        unit = problem.metrics[outcome.metric].unit if outcome.metric in problem.metrics else "1"
        gap = "no bound is known" if outcome.gap is None else f"gap {100 * outcome.gap:.2g} %"
        limit = "" if outcome.limit is None else f"{outcome.limit:.6g}"
        proof = outcome.proof or "optimal" if outcome.proven else gap
        rows.append((outcome.metric, f"{outcome.value:.6g}", unit, proof, limit, outcome.method))
    columns = ("priority", "reached", "unit", "proof", "later at most", "method")
    return table(columns, rows, "One after the other", right=("reached", "later at most"))


SHOWN_STATES = 40
"""Rows after which the rest are only counted; the solution document has them all."""


def policy_parts(problem: EdrpPolicyProblem, solution: EdrpPolicySolution) -> Iterator[Table | str]:
    """Deployments of the policy, what it does in each state, the metrics, and the actions that lead to what is to run now."""
    if solution.policy is None:
        return
    rows = []
    for index, deployment in enumerate(solution.policy.deployments):
        replicas = sum(len(nodes) for nodes in deployment.values())
        runs = "now" if index == 0 else "before" if deployment == problem.current else ""
        placed = "; ".join(f"{name}: {counted(nodes)}" for name, nodes in deployment.items())
        rows.append((str(index), runs, str(replicas), placed))
    yield table(("deployment", "runs", "replicas", "nodes"), rows, right=("deployment", "replicas"))
    steps = [
        (state.level, str(state.deployment), str(state.next) if state.next != state.deployment else "stays", f"{state.cost:.6g}")
        for state in solution.policy.states
    ]
    columns = ("when the load is", "while this runs", "run", "expected cost (s)")
    yield from first_rows(columns, steps, SHOWN_STATES, "states", columns[1:])
    yield metric_table(solution.metrics, solution.metric_units)
    yield from (f"• {action}" for action in solution.actions)


SHOWN_COURSES = 40
"""Rows after which the rest are only counted; the solution document has them all."""


def sequence_parts(problem: EdrpSequence, solution: EdrpSequenceSolution) -> Iterator[Table | str]:
    """One row for each time in which nothing changes, and the metrics of the whole."""
    if solution.periods is None:
        return
    yield from course_table(problem, solution.periods)
    yield metric_table(solution.metrics, solution.metric_units)


def course_table(problem: EdrpSequence, periods: Sequence[PeriodOutcome]) -> Iterator[Table | str]:
    """One row for each time in which nothing changes."""
    rows: list[tuple[str, ...]] = []
    begins = [t for t, period in enumerate(periods) if t == 0 or period.actions]
    for begin, end in zip(begins, [*begins[1:], len(periods)], strict=True):
        first = periods[begin]
        hours = sum(period.duration for period in problem.periods[begin:end]) / 3600
        placed = "; ".join(f"{name}: {counted(nodes)}" for name, nodes in first.deployment.items())
        replicas = sum(len(nodes) for nodes in first.deployment.values())
        cost = sum(period.cost for period in periods[begin:end])
        span = f"{begin}" if end == begin + 1 else f"{begin}–{end - 1}"
        rows.append(
            (span, f"{hours:.4g}", str(replicas), f"{cost:.6g}", f"{first.change_cost:.6g}" if first.actions else "", placed)
        )
    columns = ("periods", "hours", "replicas", "cost (s)", "change (s)", "nodes")
    yield from first_rows(columns, rows, SHOWN_COURSES, "changes", columns[1:5])
