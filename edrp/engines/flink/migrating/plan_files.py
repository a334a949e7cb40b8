"""Plans of `edrp plan` as moves of tasks of live operators, between workers or between TaskManagers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from edrp.core.errors import InvalidInstanceError
from edrp.core.files import content_digest, decode_text, read_regular
from edrp.engines.errors import EngineError
from edrp.mdp.transfer.migration_plan import MigrationPlan
from edrp.mdp.transfer.rescale_plan import RescalePlan

REMEDY = "write it with `edrp plan FILE -o plan.json`"

Index = Annotated[int, Field(ge=0)]


class PlannedMove(NamedTuple):
    """Neighbouring tasks [first, end) that move; ends are workers by number, or TaskManagers by name.

    Attributes
    ----------
    operator : None where the plan names none.
    """

    operator: str | None
    first: int
    end: int
    source: int | str
    target: int | str


@dataclass(frozen=True, slots=True)
class PlannedSteps:
    """The moves of a plan.

    Attributes
    ----------
    tasks : number of tasks of each operator, as far as the plan tells it; under None where it names no operator.
    others : operators whose replicas the plan starts or stops.
    origin : digest of the plan, by which it is known again.
    """

    steps: tuple[tuple[PlannedMove, ...], ...]
    tasks: dict[str | None, int]
    others: frozenset[str]
    origin: str


class _MigrationMove(BaseModel):
    first: Index
    end: Index
    source: Index
    target: Index


class _MigrationStep(BaseModel):
    moves: list[_MigrationMove]


class _MigrationRole(BaseModel):
    to_stay: list[Index]
    to_move_out: list[Index]


class _MigrationPlanFile(BaseModel):
    kind: Literal["migration-plan"]
    roles: list[_MigrationRole]
    steps: list[_MigrationStep]


class _RescaleMove(BaseModel):
    operator: str
    tasks: tuple[Index, Index] | None
    source: str
    target: str


class _RescaleStep(BaseModel):
    moves: list[_RescaleMove]


class _RescaleRole(BaseModel):
    keeps: dict[str, list[tuple[Index, Index]]]
    gives: dict[str, list[tuple[Index, Index]]]
    starts: dict[str, int]
    stops: dict[str, int]


class _RescalePlanFile(BaseModel):
    kind: Literal["rescale-plan"]
    roles: list[_RescaleRole]
    steps: list[_RescaleStep]


_FORMS: dict[str, type[_MigrationPlanFile] | type[_RescalePlanFile]] = {
    "migration-plan": _MigrationPlanFile,
    "rescale-plan": _RescalePlanFile,
}


def read_plan(path: Path) -> PlannedSteps:
    """Read a plan that `edrp plan -o` has written.

    Raises
    ------
    EngineError
        In one line: the file is none, is damaged or of another kind.
    """
    try:
        content = read_regular(path)
        document: Any = json.loads(decode_text(content, str(path)))
    except InvalidInstanceError as error:
        raise EngineError(str(path), error.faults[0].why) from None
    except (ValueError, RecursionError) as error:
        raise EngineError(str(path), f"is no plan: it is not JSON ({error}); {REMEDY}") from None
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in _FORMS:
        what = f"is of kind {kind!r}, not a plan" if isinstance(kind, str) else "is no plan: it has no kind"
        raise EngineError(str(path), f"{what}; {REMEDY}")
    try:
        plan = _FORMS[kind].model_validate(document)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise EngineError(str(path), f"is damaged at {where} ({fault['msg']}); {REMEDY}") from None
    if isinstance(plan, _RescalePlanFile):
        stateful = next((move.operator for step in plan.steps for move in step.moves if move.tasks is None), None)
        if stateful is not None:
            why = f"moves state of {stateful}, which has no tasks; plan with `tasks`, or without its state"
            raise EngineError(str(path), why)
    steps = _migration_moves(plan, None) if isinstance(plan, _MigrationPlanFile) else _rescale_moves(plan)
    for move in (move for step in steps for move in step):
        if move.end <= move.first:
            raise EngineError(str(path), f"is damaged: it moves tasks {move.first} to {move.end}; {REMEDY}")
    return PlannedSteps(steps, *_counts(plan), content_digest(content))


def _migration_moves(plan: _MigrationPlanFile | MigrationPlan, operator: str | None) -> tuple[tuple[PlannedMove, ...], ...]:
    return tuple(tuple(PlannedMove(operator, m.first, m.end, m.source, m.target) for m in step.moves) for step in plan.steps)


def _rescale_moves(plan: _RescalePlanFile | RescalePlan) -> tuple[tuple[PlannedMove, ...], ...]:
    return tuple(
        tuple(PlannedMove(m.operator, *m.tasks, m.source, m.target) for m in step.moves if m.tasks is not None)
        for step in plan.steps
    )


def _counts(plan: _MigrationPlanFile | _RescalePlanFile) -> tuple[dict[str | None, int], frozenset[str]]:
    """Number of tasks of each operator, and the operators whose replicas are started or stopped."""
    if isinstance(plan, _MigrationPlanFile):
        return {None: sum(len(role.to_stay) + len(role.to_move_out) for role in plan.roles)}, frozenset()
    tasks: dict[str | None, int] = {}
    for role in plan.roles:
        for ranges in (role.keeps, role.gives):
            for name, parts in ranges.items():
                tasks[name] = tasks.get(name, 0) + sum(end - first for first, end in parts)
    return tasks, frozenset(name for role in plan.roles for name in (*role.starts, *role.stops))


def migration_steps(plan: MigrationPlan, operator: str, origin: str) -> PlannedSteps:
    """The moves of a plan between the workers of an operator."""
    return PlannedSteps(_migration_moves(plan, operator), {}, frozenset(), origin)


def rescale_steps(plan: RescalePlan, origin: str) -> PlannedSteps:
    """The moves of a plan between TaskManagers, all operators of which have tasks."""
    return PlannedSteps(_rescale_moves(plan), {}, frozenset(), origin)
