"""`edrp plan`: a migration, a rescaling, moves of replicas, or the changes of a day as work to be done."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from edrp.cli import options
from edrp.cli.app import outcome_code
from edrp.cli.display import plan as display
from edrp.cli.display.solution import clash_parts, verdict
from edrp.cli.terminal import output, say, show
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import refuse_inputs, refuse_target
from edrp.core.solution import write_json
from edrp.mdp.transfer.migration_plan import plan_migration
from edrp.mdp.transfer.placement_plan import PhaseLimits, plan_placement, refuse_unplanned
from edrp.mdp.transfer.rescale_plan import plan_changes, plan_rescale
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.rescale.problem import RescaleProblem
from edrp.migration.single_step import MigrationProblem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.sequence import EdrpSequence
from edrp.report.tables import Table

PLANNED = (EdrpProblem, EdrpSequence, MigrationProblem, MigrationPolicyProblem, RescaleProblem)
"""Problems that have plans."""

UPLINK = 1.25e8
"""Bytes/s of a node of a migration where none are given."""


def plan_file(
    file: Annotated[Path, options.argument("Instance of kind edrp, edrp-sequence, migration, migration-policy or rescale.")],
    solution_file: options.SolutionFile = None,
    uplink: Annotated[
        float | None, options.finite_option("Upload rate of a node in bytes/s; default: 1.25e8.", "--uplink")
    ] = None,
    downlink: Annotated[float | None, options.finite_option("Download rate of a node in bytes/s; default: as --uplink.")] = None,
    max_move_ins: Annotated[
        int | None, options.option("Maximum number of tasks that move to a node in one step; default: all at once.", min=1)
    ] = None,
    phase_bytes: Annotated[
        list[str] | None,
        options.option(
            "Maximum of bytes that each node, zone or value of a label sends, or receives, in one phase, such as rack=5e9.",
            metavar="PLACE=BYTES",
        ),
    ] = None,
    phase_moves: Annotated[
        list[str] | None,
        options.option(
            "Maximum number of states that leave each node, zone or value of a label, or reach it, in one phase, such as node=2.",
            metavar="PLACE=NUMBER",
        ),
    ] = None,
    in_sync: Annotated[
        int | None,
        options.option(
            "Minimum number of nodes with all of a state, where old replicas stop first for want of room; default: none does.",
            min=1,
        ),
    ] = None,
    method: options.Method = "auto",
    time_limit: options.BoundedTime = 60.0,
    out: Annotated[Path | None, options.out_option("Output file for the plan as JSON.")] = None,
    force: options.Force = False,
    strict: options.Strict = False,
) -> None:
    """Plan a migration, a rescaling or moves of replicas, with schedules of transfers, or when deployments of a day change.

    Options of phases and replicas in sync go with kind edrp, which has to have `current` and no streams.
    """
    problem = options.read_problem(file, strict)
    if not isinstance(problem, PLANNED):
        why = "must be edrp, edrp-sequence, migration, migration-policy or rescale"
        raise InvalidInstanceError([Fault("kind", problem.kind, why)], str(file))
    if out is not None:
        refuse_target(out, replace=force)
        refuse_inputs(out, (file, solution_file))
    given = {"--uplink": uplink, "--downlink": downlink, "--max-move-ins": max_move_ins}
    phases = {"--phase-bytes": " ".join(phase_bytes or ()), "--phase-moves": " ".join(phase_moves or ()), "--in-sync": in_sync}
    _refuse_options(problem, given, phases)
    limits = _phase_limits(phase_bytes or (), phase_moves or ())
    if isinstance(problem, EdrpProblem):
        refuse_unplanned(problem)
    solution = options.read_or_solve(problem, file, solution_file, method, time_limit=time_limit)
    if solution.decision is None:
        say(output(), f"No plan: {verdict(solution)}")
        show(output(), [*clash_parts(solution), *solution.notes])
        raise typer.Exit(outcome_code(solution))
    document, parts = _planned(problem, solution, {**given, "--in-sync": in_sync}, limits)
    if out is not None:
        write_json(out, document, replace=force)  # before a pipe that nobody reads ends the command
    say(output(), str(file), "bold")
    show(output(), parts)
    if out is not None:
        say(output(), f"written to {out}")


def _phase_limits(sizes: Sequence[str], moves: Sequence[str]) -> dict[str, PhaseLimits]:
    """Limits by what a place is.

    >>> _phase_limits(["rack=5e9"], ["node=2", "rack=3"])["rack"]
    PhaseLimits(bytes_in=5000000000.0, bytes_out=5000000000.0, moves_in=3, moves_out=3)
    """
    numbers: dict[str, dict[str, float]] = {"--phase-bytes": {}, "--phase-moves": {}}
    for option, word in [("--phase-bytes", word) for word in sizes] + [("--phase-moves", word) for word in moves]:
        place, _, number = word.rpartition("=")
        with suppress(ValueError):
            numbers[option][place] = float(number) if option == "--phase-bytes" else int(number)
        if not place or not 0 < numbers[option].get(place, 0) < math.inf:
            raise InvalidInstanceError([Fault(option, word, "must be PLACE=NUMBER, such as node=2 or rack=3, above 0")])
    by_bytes, by_moves = numbers.values()
    return {place: PhaseLimits.same(by_bytes.get(place), by_moves.get(place)) for place in by_bytes | by_moves}  # type: ignore[arg-type]


def _planned(
    problem: Any, solution: Any, given: Mapping[str, Any], limits: Mapping[str, PhaseLimits]
) -> tuple[dict[str, Any], Iterable[Table | str]]:
    """The plan of a solution as a document, and as the parts that a terminal shows."""
    up, down, most = UPLINK if given["--uplink"] is None else given["--uplink"], given["--downlink"], given["--max-move-ins"]
    rates = {"uplink": up, "downlink": down}
    if isinstance(problem, EdrpSequence):
        changes = plan_changes(problem, solution.decision)
        return display.change_plan_document(changes), display.change_plan_parts(changes)
    if isinstance(problem, EdrpProblem):
        placement = plan_placement(problem, solution.decision, **rates, limits=limits, in_sync=given["--in-sync"])
        return display.placement_plan_document(placement), display.placement_plan_parts(placement)
    if isinstance(problem, RescaleProblem):
        rescale = plan_rescale(problem, solution.deployment, max_move_ins=most)
        return display.rescale_plan_document(rescale), display.rescale_plan_parts(rescale)
    work, size = problem.work, problem.state_size
    plan = plan_migration(problem.intervals, solution.intervals, work, size, **rates, max_move_ins=most)
    return display.migration_plan_document(plan), display.migration_plan_parts(plan)


def _refuse_options(problem: Any, given: Mapping[str, float | None], phases: Mapping[str, Any]) -> None:
    """Nodes of a rescaling have rates of their own; the changes of a day have no transfers that could be limited."""
    refused = dict.fromkeys(phases, "goes with moves of replicas (kind edrp)")
    if isinstance(problem, EdrpProblem):
        refused = {"--max-move-ins": "goes with tasks; replicas that move at once are limited by --phase-moves node=NUMBER"}
    elif isinstance(problem, RescaleProblem):
        why = "goes with migrations; the nodes of a rescaling have `up_rate` and `down_rate` in the document"
        refused |= dict.fromkeys(("--uplink", "--downlink"), why)
    elif isinstance(problem, EdrpSequence):
        refused |= dict.fromkeys(given, "goes with migrations and rescalings; the plan of a day says when it changes")
    stated = {name: value for name, value in {**given, **phases}.items() if name in refused and value not in (None, "")}
    faults = [Fault(name, f"{v:g}" if isinstance(v, float) else str(v), refused[name]) for name, v in stated.items()]
    InvalidInstanceError.raise_if_any(faults)
