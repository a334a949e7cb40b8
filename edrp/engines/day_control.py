"""Deciding for the day: from what was observed of a job to a forecast of its load and numbers of replicas over a horizon.

The load that is offered, and what has piled up before the job, follow from what its sources tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from statistics import median
from typing import Any, Literal

import numpy as np

from edrp.core.arrays import Floats
from edrp.engines.downtime import predict_downtime
from edrp.engines.errors import EngineError
from edrp.engines.fit import RECENT, JobFit, OperatorFit
from edrp.engines.forecast import RateHistory, forecast, forecast_remark
from edrp.engines.goals import Goals, ReplicaBounds
from edrp.engines.model import busy_share, replica_ceiling, replica_floor
from edrp.engines.observation import BacklogSample, OperatorObservation
from edrp.engines.predictions import throughput
from edrp.engines.rolling_horizon import ControlPrices, OperatorCapacity, Outlook, RollingHorizon
from edrp.engines.watch_journal import WatchState

SCENARIOS = tuple((number + 0.5) / 10 for number in range(10))
"""Probabilities of the quantiles that are taken for equally likely scenarios."""

LATE_WORTH = 3.0
"""Cost of a late tuple, in tuples that replicas could process instead, where no price is given."""

Evidence = Literal["pending records", "event-time lag", "measured rate", "unknown"]
"""Evidence of an offered rate; "unknown" where a source waits and does not tell its backlog."""

ORDER: tuple[Evidence, ...] = ("pending records", "event-time lag", "measured rate", "unknown")
"""From the best evidence to none; of several sources the worst counts."""


@dataclass(frozen=True, slots=True)
class DaySettings:
    """Settings of a watch that decides for the day.

    Attributes
    ----------
    history : past rates of the job.
    horizon : seconds that are planned; None for half a season.
    late_price : price of a late tuple in replica-seconds; None for `LATE_WORTH` times what a tuple takes.
    late_after : delay in seconds from which a tuple is late.
    silence : seconds without processing of a change until one has been measured; None for what is predicted.

    Raises
    ------
    EngineError
        The horizon is longer than the history or shorter than a step of it.
    """

    history: RateHistory
    horizon: float | None = None
    late_price: float | None = None
    late_after: float = 0.0
    silence: float | None = None

    def __post_init__(self) -> None:
        length = len(self.history.rates) * self.history.step
        if self.horizon is None:
            return
        if self.horizon > length:
            raise EngineError("--horizon", f"{self.horizon:g} s is longer than the history of {length:g} s")
        if self.horizon < self.history.step:
            raise EngineError("--horizon", f"{self.horizon:g} s is shorter than a step of the history, {self.history.step:g} s")

    def refuse_future(self, now: float) -> None:
        """Refuse a history that ends later than this time, in seconds since 1970, by more than a step."""
        if self.history.end > now + self.history.step:
            ahead = f"ends {self.history.end - now:.0f} s ahead of this clock"
            raise EngineError("--history", f"{ahead}; its times must be seconds since 1970")

    @property
    def steps(self) -> int:
        """Steps of the history that are planned."""
        history = self.history
        seconds = min(history.season / 2, len(history.rates) * history.step) if self.horizon is None else self.horizon
        return max(1, round(seconds / history.step))


@dataclass(frozen=True, slots=True)
class DayDecision:
    """A decision with what it follows from.

    Attributes
    ----------
    demand : (scenarios, steps) tuples/s that were forecast.
    prices : prices between which was weighed, in replica-seconds.
    measured_silence : whether the silence of a change is that of past changes; else it is predicted.
    remark : what limits the forecast, in a sentence; None where nothing does.
    """

    outlook: Outlook
    offered: OfferedLoad
    demand: Floats
    step: float
    prices: ControlPrices
    measured_silence: bool
    remark: str | None


def decide_for_day(fit: JobFit, goals: Goals, settings: DaySettings, state: WatchState, mode: str, now: float) -> DayDecision:
    """Decide numbers of replicas for the hours to come.

    Parameters
    ----------
    goals
        The goals with the floors and ceilings of the watch; an operator keeps up while no replica is busier than they allow.
    state
        The past of the watch: offered rates and measured downtimes of changes.
    mode
        How changes are made, by which their downtimes are remembered.
    now
        Time in seconds since 1970.
    """
    history, offered = settings.history, offered_load(fit)
    known = history.extended(state.offered, now)
    demand = forecast(known, [], settings.steps, SCENARIOS)
    capacities = tuple(operator_capacities(fit, goals))
    running = {operator.name: operator.replicas for operator in fit.operators}
    measured = state.silences.get(mode, [])
    silence = median(measured) if measured else settings.silence
    if silence is None:
        current = fit.observation.deployment
        silence = predict_downtime(fit, current, goals).silence.value
    late = settings.late_price
    if late is None:  # by what a tuple takes at the goals, with the largest numbers of replicas that are allowed
        late = LATE_WORTH * float(sum(operator.replicas[-1] / operator.capacity[-1] for operator in capacities))
    prices = ControlPrices(replica=1.0, late=late, silence=silence, late_after=settings.late_after)
    if not capacities:
        outlook = Outlook(running, False, "of no operator it is known how many tuples/s it can take")
    else:
        controller = RollingHorizon(capacities, prices)
        rate = offered.rate
        if rate is None and not _catches_up(controller, state, running, demand, now):
            rate = offered.processed
        first = min(history.step, max(1.0, known.end + history.step - now))
        outlook = controller.decide(now, running, rate, offered.backlog, demand, history.step, state.changed_at, first)
    return DayDecision(outlook, offered, demand, history.step, prices, bool(measured), forecast_remark(known))


def _catches_up(controller: RollingHorizon, state: WatchState, running: dict[str, int], demand: Floats, now: float) -> bool:
    """Whether sources that tell no backlog may be reading what the last change has left, which is more than is offered."""
    if state.changed_at is None:
        return False
    return controller.catching_up(now, running, float(demand[:, 0].mean()), state.changed_at) is not None


def operator_capacities(fit: JobFit, goals: Goals) -> list[OperatorCapacity]:
    """Offered tuples/s up to which each operator keeps to the goals, by the numbers of replicas that are allowed.

    Operators whose service rate is unknown or that are not used keep their replicas and are left out.
    """
    capacities = []
    for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True):
        if fitted.service is None or fitted.load <= 0:
            continue
        most = replica_ceiling(fitted, observed, fit, goals)
        numbers = np.arange(min(replica_floor(fitted, goals), most), most + 1)
        shares = [busy_share(fitted, int(n), goals.rate_factor, fitted.service.value) for n in numbers]
        capacities.append(OperatorCapacity(fitted.name, numbers, throughput(fit) * goals.busy_limit / np.array(shares)))
    return capacities


def chosen_goals(goals: Goals, replicas: dict[str, int]) -> Goals:
    """The goals with these numbers of replicas and no others, for a plan of where they run."""
    fixed = {name: ReplicaBounds(min_replicas=count, max_replicas=count) for name, count in replicas.items()}
    return goals.replace(operators=fixed)


def decision_fields(decision: DayDecision) -> dict[str, Any]:
    """A decision as fields of a line of the journal; of the forecast, its lowest, middle and highest scenarios."""
    outlook, demand = decision.outlook, decision.demand
    scenarios = {"low": demand[0], "middle": demand[len(demand) // 2], "high": demand[-1]}
    return {
        "change": outlook.change,
        "replicas": outlook.replicas,
        "reason": outlook.reason,
        "saving": outlook.saving if isfinite(outlook.saving) else None,
        "later": [{"at": later.at, "replicas": later.replicas} for later in outlook.at],
        "prices": asdict(decision.prices),
        "measured_silence": decision.measured_silence,
        "forecast": {"step": decision.step, **{name: rates.round(3).tolist() for name, rates in scenarios.items()}},
        "remark": decision.remark,
    }


def observed_seconds(fit: JobFit) -> float:
    """Seconds for which the rates of the sources stand."""
    windows = (
        operator.windows for operator, fitted in zip(fit.observation.operators, fit.operators, strict=True) if fitted.source
    )
    return min(RECENT, *(sum(window.seconds for window in own) for own in windows))


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """The load that is offered to all sources of a job.

    Attributes
    ----------
    processed : tuples/s that the sources send.
    rate : tuples/s that are offered; None where that is unknown, and then at least what is processed.
    backlog : tuples that were offered and not read; None where no source tells it.
    evidence : what the rate follows from.
    """

    processed: float
    rate: float | None
    backlog: float | None
    evidence: Evidence


def offered_load(fit: JobFit) -> OfferedLoad:
    """The offered load by what the sources report, over the end of the observation.

    Where a source reports its pending records, what is offered is what it sends and the growth of the backlog. Else, where it
    reports the lag of event time, its backlog is the lag times the rate. Else the rate that it sends is what is offered, unless
    it waits for those after it: then nobody knows.
    """
    parts = [
        _source_load(operator, observed)
        for operator, observed in zip(fit.operators, fit.observation.operators, strict=True)
        if operator.source
    ]
    rates = [part.rate for part in parts if part.rate is not None]
    backlogs = [part.backlog for part in parts if part.backlog is not None]
    return OfferedLoad(
        processed=sum(part.processed for part in parts),
        rate=sum(rates) if len(rates) == len(parts) else None,
        backlog=sum(backlogs) if backlogs else None,
        evidence=max((part.evidence for part in parts), key=ORDER.index, default="unknown"),
    )


def _source_load(fitted: OperatorFit, observed: OperatorObservation) -> OfferedLoad:
    for evidence, backlog_at in _readings(fitted.rate):
        points = [(sample.at, value) for sample in observed.backlog if (value := backlog_at(sample)) is not None]
        if points:
            # Tuples/s by which a backlog has grown lately; 0 where there is one sample only.
            last_at, last = points[-1]
            first_at, first = next(point for point in points if point[0] >= last_at - RECENT)
            if first_at == last_at and len(points) > 1:
                first_at, first = points[-2]
            rate = max(0.0, fitted.rate + ((last - first) / (last_at - first_at) if last_at > first_at else 0.0))
            return OfferedLoad(fitted.rate, rate, points[-1][1], evidence)
    if fitted.unbounded:
        return OfferedLoad(fitted.rate, None, None, "unknown")
    return OfferedLoad(fitted.rate, fitted.rate, None, "measured rate")


def _readings(rate: float) -> Sequence[tuple[Evidence, Callable[[BacklogSample], float | None]]]:
    """Ways to read a backlog from a sample, the best first."""
    return (
        ("pending records", lambda sample: sample.pending),
        ("event-time lag", lambda sample: None if sample.lag is None else sample.lag * rate),
    )
