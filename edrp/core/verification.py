"""Whether an answer may be believed: it must contradict neither itself nor the independent evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final, get_args

import numpy as np
from pydantic import BaseModel

from edrp.core.problem import Evaluation, Solvable
from edrp.core.solution import Answer, Solution, Status, StoppedBecause

ROUNDING = 1e-9
"""Relative difference, absolute below 1, that rounding may make between two computations of the same number."""

GAP = 1e-9
"""Relative gap at which an incumbent counts as optimal unless the caller says otherwise."""

HOLDING: Final = ("optimal", "feasible")
"""Statuses that claim a decision; every other one claims that there is none."""


def checked(problem: Solvable[Any], answer: Answer, gap: float = GAP) -> tuple[Evaluation | None, str]:
    """Evaluate an answer's decision independently and say what contradicts what, or an empty string.

    Parameters
    ----------
    problem
        The problem that was solved.
    answer
        The claims of a method.
    gap
        Relative gap at which an incumbent counts as optimal.

    Examples
    --------
    >>> checked(None, Answer("optimal", "finished"))
    (None, "claims status 'optimal' without a decision")
    """
    contradiction = _contradiction(answer)
    if contradiction or answer.decision is None:
        return None, contradiction
    evaluation = problem.evaluate(answer.decision)
    return evaluation, _disagreement(answer, evaluation, gap, problem.resolution)


def within_gap(objective: float, bound: float, gap: float) -> bool:
    """Whether an objective is as near to its bound as a relative gap asks for, up to rounding.

    >>> within_gap(100.0, 99.0, 0.01), within_gap(100.0, 98.0, 0.01)
    (True, False)
    """
    return objective - bound <= gap * abs(objective) + ROUNDING * max(1.0, abs(objective))


def first_not_finite(solution: Solution) -> str:
    """Place and value of the first NaN or infinity that would be written with a solution, or an empty string."""
    return next((f"{place} is {value!r}" for place, value in _not_finite(solution, "")), "")


def _contradiction(answer: Answer) -> str:
    """What an answer says against itself, or an empty string."""
    for name, value, known in (("status", answer.status, Status), ("stopped_because", answer.stopped_because, StoppedBecause)):
        if value not in get_args(known):
            return f"{name} must be one of {', '.join(get_args(known))}, not {value!r}"
    for name in ("objective", "bound"):
        value = getattr(answer, name)
        if value is not None and not math.isfinite(value):
            return f"claims {value!r} as {name}, which must be a finite number or None"
    if answer.status in HOLDING:
        if answer.decision is None:
            return f"claims status {answer.status!r} without a decision"
        if answer.status == "optimal" and answer.bound is None:
            return "claims status 'optimal' without a bound"
    elif answer.decision is not None:
        return f"claims status {answer.status!r} and gives a decision"
    elif answer.objective is not None:
        return f"claims status {answer.status!r} and gives an objective, {answer.objective!r}"
    return ""


def _disagreement(answer: Answer, evaluation: Evaluation, gap: float, resolution: float) -> str:
    """How an answer with a decision disagrees with its evaluation, or an empty string."""
    objective, bound = evaluation.objective, answer.bound
    slack = max(ROUNDING * max(1.0, abs(objective)), resolution)
    if answer.objective is not None and abs(answer.objective - objective) > max(slack, ROUNDING * abs(answer.objective)):
        return f"claimed objective {answer.objective!r}, evaluated {objective!r}"
    if not evaluation.feasible:
        return f"claimed {answer.status}, but breaks {'; '.join(evaluation.broken)}"
    for name, value in {"objective": objective, **evaluation.metrics}.items():
        if not math.isfinite(value):
            return f"claimed {answer.status}, but {name} is evaluated as {value!r}"
    if bound is not None and bound > objective + slack:
        return f"bound {bound!r} above the evaluated objective {objective!r}"
    if answer.status == "optimal" and bound is not None and not within_gap(objective, bound + resolution, gap):
        return f"claimed optimal, but the bound {bound!r} is further below the evaluated {objective!r} than the gap {gap:g}"
    return ""


def _not_finite(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """Places and values of the NaN and infinities in documents, containers and arrays."""
    if value is None or isinstance(value, (str, int)):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            yield place, float(value)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _not_finite(getattr(value, name), f"{place}.{name}" if place else name)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _not_finite(item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _not_finite(item, f"{place}[{index}]")
    elif isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            yield from ((f"{place}{index.tolist()}", float(value[tuple(index)])) for index in np.argwhere(~np.isfinite(value)))
    elif is_dataclass(value):
        for field in fields(value):
            yield from _not_finite(getattr(value, field.name), f"{place}.{field.name}")
