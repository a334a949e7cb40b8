"""Replicas, key ranges and nodes as tables."""

from __future__ import annotations

from collections.abc import Iterator

from edrp.cli.display.migration import move_lines
from edrp.cli.display.placement import UNCHANGED, metric_table
from edrp.cli.terminal import first_rows, table
from edrp.migration.intervals import task_numbers
from edrp.migration.rescale.documents import KeyedDeployment, replica_loads
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution
from edrp.placement.deployment import counted
from edrp.report.tables import Table

SHOWN_REPLICAS = 100
"""Replicas after which the rest are only counted; the solution document has them all."""


def rescale_parts(problem: RescaleProblem, solution: RescaleSolution) -> Iterator[Table | str]:
    """Every replica with its node, tasks and load, every metric, and what changes and moves."""
    if solution.deployment is not None:
        yield operator_table(problem, solution.deployment)
        yield from replica_tables(problem, solution.deployment)
        yield metric_table(problem, solution.metrics)
    yield from (f"• {action}" for action in solution.actions)
    yield from move_lines(solution.moves)
    if solution.deployment is not None and solution.deployment == problem.current:
        yield UNCHANGED


def operator_table(problem: RescaleProblem, deployment: KeyedDeployment) -> Table:
    """Where each operator runs."""
    rows = []
    for operator in problem.application.operators:
        nodes = tuple(sorted(deployment.nodes(operator.name)))
        before = nodes if problem.current is None else tuple(sorted(problem.current.nodes(operator.name)))
        rows.append((operator.name, str(len(nodes)), counted(nodes), "" if before == nodes else counted(before)))
    return table(("operator", "replicas", "nodes", "before"), rows, right=("replicas",))


def replica_tables(problem: RescaleProblem, deployment: KeyedDeployment) -> Iterator[Table | str]:
    """The range and the load of each replica of operators with tasks."""
    rows = []
    for operator in problem.application.operators:
        if operator.tasks is None:
            continue
        for load in replica_loads(problem.application, deployment, operator.name):
            assert load.tasks is not None
            tasks, share = task_numbers(*load.tasks), f"{100 * load.share:.3g} %"
            rows.append((operator.name, load.node, tasks, share, f"{load.rate:.6g}"))
    if rows:
        columns = ("operator", "node", "tasks", "share", "load (tuples/s)")
        yield from first_rows(columns, rows, SHOWN_REPLICAS, "replicas", columns[2:])
