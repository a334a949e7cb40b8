"""A solution as tables."""

from __future__ import annotations

from collections import Counter

from rich.console import Console

from edrp.cli.terminal import say, table
from edrp.documents import Deployment
from edrp.metrics import METRICS
from edrp.problems.edrp import EdrpProblem
from edrp.solution import Solution

VERDICTS = {
    "optimal": "optimal: proven that nothing is better",
    "feasible": "feasible: nothing better was found",
    "infeasible": "infeasible: proven that no deployment meets all limits",
    "unbounded": "unbounded",
    "none": "nothing found",
}
STOPS = {
    "finished": "",
    "time_limit": ", stopped by the time limit",
    "iteration_limit": ", stopped by the iteration limit",
    "interrupted": ", interrupted",
    "error": ", stopped by an error",
}
STYLES = {"optimal": "green", "feasible": "yellow", "infeasible": "red", "none": "red", "unbounded": "red"}


def print_solution(console: Console, name: str, problem: EdrpProblem, solution: Solution) -> None:
    """Print an answer: verdict, placement, metrics, reconfiguration, notes."""
    say(console, name, "bold")
    say(console, VERDICTS[solution.status] + STOPS[solution.stopped_because], STYLES[solution.status])
    say(console, _figures(solution))
    if solution.deployment is not None:
        console.print(placement_table(problem, solution.deployment))
        console.print(metric_table(problem, solution.metrics))
    for action in solution.actions:
        say(console, f"• {action}")
    if solution.clashes:
        say(console, "These cannot hold together:")
    for clash in solution.clashes:
        say(console, f"• {clash}")
    for note in solution.notes:
        say(console, note)


def placement_table(problem: EdrpProblem, deployment: Deployment) -> object:
    """Where each operator runs."""
    rows = []
    for operator in problem.application.operators:
        nodes = deployment[operator.name]
        before = problem.current[operator.name] if problem.current is not None else nodes
        rows.append((operator.name, str(len(nodes)), counted(nodes), "" if before == nodes else counted(before)))
    if problem.current is None:
        return table(("operator", "replicas", "nodes"), [row[:3] for row in rows], right=("replicas",))
    return table(("operator", "replicas", "nodes", "before"), rows, right=("replicas",))


def metric_table(problem: EdrpProblem, metrics: dict[str, float]) -> object:
    """Every metric beside its limit and weight."""
    rows = []
    for term in problem.terms:
        value = f"{metrics[term.metric]:.6g}"
        limit = "" if term.limit is None else f"{term.limit:.6g}"
        rows.append((term.metric, value, METRICS[term.metric].unit, limit, f"{term.weight:g}" if term.weight else ""))
    return table(("metric", "value", "unit", "limit", "weight"), rows, right=("value", "limit", "weight"))


def counted(nodes: tuple[str, ...]) -> str:
    """Nodes with the number of replicas where it is not one.

    >>> counted(("a", "b", "b"))
    'a, b ×2'
    """
    return ", ".join(node if count == 1 else f"{node} ×{count}" for node, count in Counter(nodes).items())


def _figures(solution: Solution) -> str:
    parts = []
    if solution.objective is not None:
        parts.append(f"objective {solution.objective:.9g}")
    if solution.gap is not None and solution.bound is not None and solution.status != "optimal":
        parts.append(f"bound {solution.bound:.9g} (gap {100 * solution.gap:.3g} %)")
    parts.append(f"method {solution.method}")
    parts.append(f"{solution.seconds['build']:.2f} s to build, {solution.seconds['solve']:.2f} s to solve")
    size = ", ".join(f"{value:,} {name}" for name, value in solution.size.items())
    return "; ".join([*parts, size] if size else parts)
