"""A deployment as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edrp.cli.terminal import table
from edrp.core.solution import StageOutcome
from edrp.placement.deployment import Deployment, counted
from edrp.placement.edrp import EdrpSolution
from edrp.placement.latency_aware import LatencyAwareSolution
from edrp.placement.problem import PENALTIES, PlacementProblem, StreamPlacement
from edrp.report.tables import Table

UNCHANGED = "Nothing changes: what runs now stays as it is"


def deployment_parts(problem: PlacementProblem, solution: EdrpSolution | LatencyAwareSolution) -> Iterator[Table | str]:
    """Where each operator runs, every metric, rules that are violated, and the actions that lead there."""
    if solution.deployment is not None:
        yield placement_table(problem, solution.deployment)
        yield metric_table(problem, solution.metrics)
        violations = [(rule, rule.evaluate(problem, solution.deployment)) for rule in problem.rules]
        yield from (f"• {rule.demand}: violated by {by:.6g}" for rule, by in violations if rule.violated(by))
        if solution.stages:
            yield stage_table(problem, solution.stages)
    yield from (f"• {action}" for action in solution.actions)
    if solution.deployment is not None and solution.deployment == problem.current:
        yield UNCHANGED


def placement_table(problem: PlacementProblem, deployment: Deployment) -> Table:
    """Where each operator runs."""
    rows = []
    for operator in problem.application.operators:
        nodes = deployment[operator.name]
        before = problem.current[operator.name] if problem.current is not None else nodes
        rows.append((operator.name, str(len(nodes)), counted(nodes), "" if before == nodes else counted(before)))
    if problem.current is None:
        return table(("operator", "replicas", "nodes"), [row[:3] for row in rows], right=("replicas",))
    return table(("operator", "replicas", "nodes", "before"), rows, right=("replicas",))


def metric_table(problem: StreamPlacement, metrics: dict[str, float]) -> Table:
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
