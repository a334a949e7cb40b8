"""Guards of a watch: limits that the user sets, and what speaks against applying a plan now."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from edrp.core.wording import suggestion
from edrp.engines.advice import Advice
from edrp.engines.errors import EngineError
from edrp.engines.fit import JobFit
from edrp.engines.goals import Goals, ReplicaBounds
from edrp.engines.predictions import Prediction
from edrp.engines.watch_state import MAX_MISSES, WatchState

Mode = Literal["rescale", "redeploy", "live"]

CLOCK_TOLERANCE = 1.0
"""Seconds by which a clock may be set back."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of what is applied.

    Attributes
    ----------
    mode : how changes are made; None for a dry run.
    max_downtime : most seconds without processing that a change may take, by the upper end of its interval.
    cooldown : seconds after a change, made or tried, in which there is no other.
    bounds : floor and ceiling of the replicas of each operator; "" stands for all operators that have none of their own.
    """

    mode: Mode | None = None
    max_downtime: float | None = None
    cooldown: float | None = None
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def bounded_goals(goals: Goals, limits: Limits, fit: JobFit) -> Goals:
    """The goals with the floors and ceilings of the limits.

    "" bounds those operators only whose service rate is known: no others can be given a number of replicas by their load. Where
    tasks move while the job runs, an operator has at most as many replicas as workers, and operators without keep theirs.

    Raises
    ------
    EngineError
        The limits name an operator that the job does not have, or an operator that may change has no bounds and is to be
        changed.
    """
    names = [operator.name for operator in fit.operators]
    unknown = next((name for name in limits.bounds if name and name not in names), None)
    if unknown is not None:
        raise EngineError(f"--replicas {unknown}", f"is no operator of the job{suggestion(unknown, names)}")
    operators = dict(goals.operators)
    for operator, observed in zip(fit.operators, fit.observation.operators, strict=True):
        if limits.mode == "live" and observed.workers is None:
            operators[operator.name] = ReplicaBounds(min_replicas=operator.replicas, max_replicas=operator.replicas)
            continue
        everywhere = limits.bounds.get("") if operator.service is not None and operator.name not in operators else None
        bounds = limits.bounds.get(operator.name, everywhere)
        if bounds is not None:
            most = observed.workers or bounds[1]
            operators[operator.name] = ReplicaBounds(min_replicas=min(bounds[0], most), max_replicas=min(bounds[1], most))
        own_bounds = operators.get(operator.name)
        if limits.mode is not None and operator.service is not None and (own_bounds is None or own_bounds.max_replicas is None):
            why = "has no floor and ceiling, which --apply needs"
            remedy = f"give --replicas {shlex.quote(f'{operator.name}=1:4')}, or --replicas 1:4 for all"
            raise EngineError(f"operator {operator.name}", f"{why}; {remedy}")
    return goals.replace(operators=operators)


def objections(advice: Advice, prediction: Prediction, limits: Limits, state: WatchState, now: float) -> Iterator[str]:
    """Reasons against applying the plan now, in sentences."""
    if limits.mode is None:
        yield "dry run"
        return
    if state.last_at is not None and now < state.last_at - CLOCK_TOLERANCE:
        yield f"the clock is {state.last_at - now:.0f} s behind the journal; set it"
    if state.misses >= MAX_MISSES:
        yield f"{state.misses} predictions in a row missed (at most {MAX_MISSES - 1} may); nothing is applied until one fits"
    seconds_left = 0.0 if state.acted_at is None or limits.cooldown is None else state.acted_at + limits.cooldown - now
    if seconds_left > 0:
        yield f"cooldown: {seconds_left:.0f} s are left"
    if state.probation is not None:
        yield "the last change has not been judged yet"
    if dict(prediction.replicas) in state.rolled_back:
        yield "these numbers of replicas were rolled back before; name a new journal to try them again"
    downtime = prediction.downtime
    if downtime is not None and limits.max_downtime is not None and downtime.high > limits.max_downtime:
        yield f"downtime: up to {downtime.high:.3g} s, above --max-downtime {limits.max_downtime:g}"
    live = advice.fit.observation.live
    if limits.mode == "rescale" and not live:
        yield "the scheduler of this job cannot rescale it live; use --apply redeploy"
    if limits.mode == "redeploy" and live and not advice.fit.observation.follows_slots:
        yield "the adaptive scheduler ignores demands for places; use --apply rescale, or run the job with the default scheduler"
    yield from _too_busy(advice, prediction)


def _too_busy(advice: Advice, prediction: Prediction) -> Iterator[str]:
    """Replicas are taken away only where even the upper end of the interval leaves something to spare."""
    for operator in advice.operators:
        busy = prediction.busy.get(operator.name)
        if operator.proposed < operator.replicas and busy is not None and busy.high >= 1.0:
            yield f"{operator.name} with {operator.proposed} could be {busy.high:.0%} busy, by the upper end of its interval"
