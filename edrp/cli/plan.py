"""`edrp plan`: a migration as work to be done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from edrp.cli.app import outcome_code
from edrp.cli.display.migration import move_lines
from edrp.cli.options import Method, SolutionFile, finite, read_solution
from edrp.cli.terminal import output, say, table
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.instances import load
from edrp.core.solve import solve
from edrp.mdp.transfer.migration_plan import MigrationPlan, plan_migration
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.single_step import MigrationProblem

SHOWN_PHASES = 40

Rate = Annotated[float, typer.Option("--uplink", min=0, callback=finite, help="Upload rate of a node in bytes/s.")]


def plan_file(
    file: Annotated[Path, typer.Argument(help="Instance of kind migration or migration-policy.", show_default=False)],
    solution_file: SolutionFile = None,
    uplink: Rate = 1.25e8,
    downlink: Annotated[
        float | None, typer.Option(min=0, callback=finite, help="Download rate of a node in bytes/s; default: as --uplink.")
    ] = None,
    most_move_ins: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of tasks that move to a node in one step; default: all at once.")
    ] = None,
    method: Method = "auto",
) -> None:
    """Plan a migration: what stays and moves on each node, in which steps, and transfers as fast as links allow."""
    problem = load(file)
    if not isinstance(problem, (MigrationProblem, MigrationPolicyProblem)):
        raise InvalidInstanceError([Fault("kind", problem.kind, "must be migration or migration-policy")], str(file))
    solution: Any = solve(problem, method) if solution_file is None else read_solution(problem, solution_file)
    if solution.intervals is None:
        for clash in solution.clashes:
            say(output(), f"• {clash}")
        raise typer.Exit(outcome_code(solution))
    plan = plan_migration(
        problem.intervals,
        solution.intervals,
        problem.work,
        problem.state_size,
        uplink=uplink,
        downlink=downlink,
        most_move_ins=most_move_ins,
    )
    _print(str(file), plan)


def _print(name: str, plan: MigrationPlan) -> None:
    console = output()
    say(console, name, "bold")
    rows = [(str(node), *(_ranges(tasks) for tasks in role)) for node, role in enumerate(plan.roles)]
    console.print(table(("node", "to stay", "to move out", "to move in"), rows))
    for number, step in enumerate(plan.steps):
        schedule = step.schedule
        few = f"{len(schedule.phases)} phase" + "s" * (len(schedule.phases) != 1)
        say(console, f"step {number}: {schedule.total_seconds:.6g} s in {few}; fullest node holds work {step.largest_load:.6g}")
        for line in move_lines(step.moves):
            say(console, line)
        phases = [
            (
                f"{phase.start:.6g}",
                f"{phase.duration:.6g}",
                ", ".join(f"{t.source} → {t.target}: {t.size:.6g}" for t in phase.transfers),
            )
            for phase in schedule.phases[:SHOWN_PHASES]
        ]
        console.print(table(("start (s)", "lasts (s)", "from → to (B)"), phases, right=("start (s)", "lasts (s)")))
        if len(schedule.phases) > SHOWN_PHASES:
            say(console, f"… and {len(schedule.phases) - SHOWN_PHASES} more phases")
    say(console, f"{plan.total_seconds:.6g} s in all; no schedule with one transfer at a time per link is shorter")


def _ranges(tasks: np.ndarray) -> str:
    """Task numbers with runs shortened: 0–3, 7."""
    runs = np.split(tasks, np.flatnonzero(np.diff(tasks) > 1) + 1) if tasks.size else []
    return ", ".join(str(run[0]) if run.size == 1 else f"{run[0]}–{run[-1]}" for run in runs)
