"""Priorities: metrics that are minimised one after the other, before the weighted sum, each within a slack for the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from edrp.core.document import Document, Faults, Name, NonNegative, unit
from edrp.core.solution import StageOutcome
from edrp.core.stages import Stage
from edrp.core.tolerances import MIN_STAGE_LIMIT, REACHED_LIMIT_ROOM, STAGE_SLACK, STAGE_STEP_ROOM, STEP_ROUNDING
from edrp.core.wording import suggestion
from edrp.placement.metrics import EDRP_METRICS, NORMALISED
from edrp.placement.metrics.evenness import EVENNESS
from edrp.placement.metrics.own import HOW_REGISTERED, OwnMetric, registered_metrics
from edrp.placement.metrics.penalties import ALL, SINGLE


class Priority(Document):
    """One stage of a lexicographic objective.

    Examples
    --------
    >>> Priority(metric="peak_loads.cpu", slack=0.01).slack
    0.01
    """

    metric: Name = Field(
        description='metric to be minimised, such as "cost", "peak_loads.cpu", "evenness.<name>", "penalties" of all rules, '
        '"penalty.<rule>" of one (availability is maximised)'
    )
    slack: NonNegative = Field(
        0.0, description="share of its optimum by which later stages may worsen it (of availability, of −ln)", **unit("1")
    )


def check_priorities(problem: Any, faults: Faults) -> None:
    """Note priorities that name no metric of the problem, or the same goal twice, and penalties that none of them names."""
    for index, rule in enumerate(problem.rules if problem.priorities else ()):
        if rule.penalty is not None and rule in problem.counted_rules:
            name = f"{SINGLE}.{rule.name}"
            why = f'has no place among priorities; add one for "{name}", or for "{ALL}" of all rules, or make the rule hard'
            faults.add(("rules", index, "penalty"), rule.penalty, why)
    seen: dict[Any, int] = {}
    for index, priority in enumerate(problem.priorities):
        place, name = ("priorities", index, "metric"), priority.metric
        if name not in problem.metrics:
            faults.add(place, name, _unknown(problem, name))
            continue
        goal = _goal(problem, name)
        if goal in seen:
            what = "metric" if problem.priorities[seen[goal]].metric == name else "goal"
            faults.add(place, name, f"is the {what} of priorities[{seen[goal]}] already; name each once")
        seen.setdefault(goal, index)


def _unknown(problem: Any, name: str) -> str:
    """Why a name is that of no metric of a problem, in words."""
    field, _, single = name.partition(".")
    if field == SINGLE and any(rule.name == single for rule in problem.rules):
        return "names a rule that must be met, which leaves nothing to minimise; give it a penalty, or leave this out"
    if name == ALL:
        return "needs a rule with a penalty; there is none"
    known = {EVENNESS: problem.evenness, SINGLE: [rule.name for rule in problem.rules if not rule.hard]}
    if field in known:
        what = "entry of `evenness`" if field == EVENNESS else "rule with a penalty"
        return f"names no {what}{suggestion(single, list(known[field]))}"
    offered = dict.fromkeys([*problem.metrics, *EDRP_METRICS, *registered_metrics()])
    return f"names no metric of this problem{suggestion(name, list(offered))}; {HOW_REGISTERED}"


def _goal(problem: Any, name: str) -> Any:
    """The name of a metric, or what two entries of `evenness`, or all rules and one of them, may have in common."""
    field, _, single = name.partition(".")
    soft = [rule.name for rule in problem.rules if not rule.hard]
    if field == EVENNESS:
        return problem.evenness[single].model_dump_json()
    return f"{SINGLE}.{soft[0]}" if name == ALL and len(soft) == 1 else name


def has_weighted_stage(problem: Any) -> bool:
    """Whether the weighted sum is a stage of its own, as it is unless it is the last priority alone."""
    weighted = [term.metric for term in problem.terms if term.weight]
    return weighted != [problem.priorities[-1].metric]


def stage_after(problem: Any, done: Sequence[StageOutcome], decision: Any) -> Stage:
    """The stage of a problem with priorities that follows those that are done."""
    limits = {term.metric: term.scaled_limit for term in problem.terms if math.isfinite(term.scaled_limit)}
    for outcome in done:
        assert outcome.limit is not None
        room = STAGE_STEP_ROOM * (_step(problem, outcome.metric) or 0.0)
        reached = problem.metrics[outcome.metric].scaled(outcome.limit) + room
        limits[outcome.metric] = min(reached, limits.get(outcome.metric, math.inf))
    last = len(done) == problem.stage_count - 1
    coefficients = {term.metric: term.coefficient for term in problem.terms if term.weight}
    if len(done) == len(problem.priorities):
        single, factor = _single_problem(problem, coefficients, limits, decision)
        return Stage("objective", single, lambda objective: factor * objective, None, factor)
    priority = problem.priorities[len(done)]
    name = priority.metric
    single, factor = _single_problem(problem, {name: 1.0}, limits, decision)

    unscaled, step = problem.metrics[name].unscaled, _step(problem, name)

    def value(objective: float) -> float:
        return float(unscaled(factor * objective if step is None else step * round(factor * objective / step)))

    def limit(objective: float) -> float:
        reached = factor * objective * (1 + priority.slack) * (1 + STAGE_SLACK)
        whole = max(MIN_STAGE_LIMIT, reached) if step is None else step * math.floor(reached / step + STEP_ROUNDING)
        return float(unscaled(whole))

    return Stage(
        metric=name,
        problem=single,
        value=value,
        limit=None if last else limit,
        objective_factor=factor * coefficients[name] if last else None,
        step=None if step is None else step / factor,
    )


def _step(problem: Any, name: str) -> float | None:
    """A number of which all values of a metric are whole multiples; None where there is none."""
    metric = problem.metrics[name]
    step = metric.written(problem).step if isinstance(metric, OwnMetric) else None
    return None if step is None else float(step)


def _single_problem(
    problem: Any, coefficients: Mapping[str, float], limits: Mapping[str, float], decision: Any
) -> tuple[Any, float]:
    """The problem that minimises Σ coefficient × scaled metric, and what its objective has to be multiplied by.

    A metric needs a limit to have a weight: where there is none, one that no better decision than the known one exceeds (its
    term alone would be more than the known sum), or a value that none reaches.
    """
    within = dict(limits)
    known = {} if decision is None else problem.evaluate(decision).metrics
    total = sum(coefficient * problem.metrics[name].scaled(known[name]) for name, coefficient in coefficients.items() if known)
    for name, coefficient in coefficients.items():
        if name in NORMALISED:
            reached = [total / coefficient * (1 + REACHED_LIMIT_ROOM)] if known else []
            far = [limits[name]] if name in limits else [] if reached else [problem.ceiling(name)]
            within[name] = max(MIN_STAGE_LIMIT, min([*reached, *far]))
    parts = {name: coefficient * within.get(name, 1.0) for name, coefficient in coefficients.items()}
    factor = sum(parts.values())
    own = problem.limits
    for name, limit in within.items():
        own = own.with_limit(name, problem.metrics[name].unscaled(limit))
    weights = type(problem.weights).of_metrics({name: part / factor for name, part in parts.items()})
    kept = tuple(rule for rule in problem.rules if rule.hard or {ALL, f"{SINGLE}.{rule.name}"} & {*parts, *within})
    return problem.replace(weights=weights, limits=own, priorities=(), rules=kept), factor
