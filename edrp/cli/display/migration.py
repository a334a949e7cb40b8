"""Migrations and rescales as tables: who holds which tasks, and what moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edrp.cli.display.placement import UNCHANGED, placement_table, term_table
from edrp.cli.display.solution import metric_table
from edrp.cli.terminal import first_rows, table
from edrp.migration.intervals import Interval, Move, load_limit, task_numbers
from edrp.migration.policy import MigrationPolicyProblem, MigrationPolicySolution
from edrp.migration.rescale.documents import KeyedDeployment, replica_loads
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution
from edrp.migration.sequence import MigrationSequence, MigrationSequenceSolution
from edrp.migration.single_step import MigrationProblem, MigrationSolution
from edrp.report.tables import Table

SHOWN_MOVES = 40
"""Moves after which the rest are only counted; the solution document has them all."""


def migration_parts(
    problem: MigrationProblem | MigrationPolicyProblem, solution: MigrationSolution | MigrationPolicySolution
) -> Iterator[Table | str]:
    """The tasks, load and transfers of each node, every metric, and the moves."""
    if solution.intervals is None:
        return
    average = sum(problem.work) / problem.nodes
    limit = load_limit(sum(problem.work), problem.nodes, problem.tolerance)
    yield f"work per node: average {average:.6g}, limit {limit:.6g}"
    yield node_table(problem.intervals, solution.intervals, solution.moves, problem.work)
    yield metric_table(solution.metrics, solution.metric_units)
    yield from move_lines(solution.moves)


def sequence_parts(problem: MigrationSequence, solution: MigrationSequenceSolution) -> Iterator[Table | str]:
    """The nodes and moved state of each step."""
    rows = []
    for number, step in enumerate(solution.steps or ()):
        total = sum(problem.state_size_at(number))
        share = f"{100 * step.moved_state / total:.2f} %" if total else ""
        held = ", ".join(_text(interval) for interval in step.intervals if interval is not None)
        rows.append((str(number), str(step.nodes), f"{step.moved_state:.6g}", share, str(len(step.moves)), held))
    if rows:
        columns = ("step", "nodes", "moved (B)", "of all state", "moves", "intervals")
        yield table(columns, rows, right=columns[:5])


def node_table(
    before: Sequence[Interval | None], after: Sequence[Interval | None], moves: Sequence[Move], work: Sequence[float]
) -> Table:
    """Each node with its tasks before and after, its work, and the bytes that it sends and receives."""
    rows = []
    for node in range(max(len(before), len(after))):
        old = before[node] if node < len(before) else None
        new = after[node] if node < len(after) else None
        sent = sum(move.size for move in moves if move.source == node)
        received = sum(move.size for move in moves if move.target == node)
        load = "" if new is None else f"{sum(work[new[0] : new[1]]):.6g}"
        name = f"{node} (new)" if node >= len(before) else str(node)
        rows.append((name, _text(old), "removed" if new is None else _text(new), load, f"{sent:.6g}", f"{received:.6g}"))
    columns = ("node", "tasks before", "tasks after", "work", "sends (B)", "receives (B)")
    return table(columns, rows, right=("work", "sends (B)", "receives (B)"))


def move_lines(moves: Sequence[object]) -> Iterator[str]:
    """One line for each move, the rest counted."""
    yield from (f"• {move}" for move in moves[:SHOWN_MOVES])
    if len(moves) > SHOWN_MOVES:
        yield f"… and {len(moves) - SHOWN_MOVES} more moves"


def _text(interval: Interval | None) -> str:
    return "" if interval is None else task_numbers(*interval)


SHOWN_REPLICAS = 100
"""Replicas after which the rest are only counted; the solution document has them all."""


def rescale_parts(problem: RescaleProblem, solution: RescaleSolution) -> Iterator[Table | str]:
    """Every replica with its node, tasks and load, every metric, and what changes and moves."""
    if solution.deployment is not None:
        yield from replica_tables(problem, solution.deployment)
        yield term_table(problem, solution.metrics)
    yield from (f"• {action}" for action in solution.actions)
    yield from move_lines(solution.moves)
    if solution.deployment is not None and solution.deployment == problem.current:
        yield UNCHANGED


def replica_tables(problem: RescaleProblem, deployment: KeyedDeployment) -> Iterator[Table | str]:
    """Where each operator runs, and the range and the load of each replica of operators with tasks."""
    yield placement_table(problem, deployment.places, None if problem.current is None else problem.current.places)
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
