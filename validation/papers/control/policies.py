"""Policies that decide once a period how many replicas a job has: constant, myopic, rules of engines, looking ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import REPLICAS_SLACK
from edrp.engines.day_control import SCENARIOS
from edrp.engines.fit import NO_TIME, JobFit, OperatorFit
from edrp.engines.forecast import RateHistory, forecast
from edrp.engines.observation import CheckpointObservation, Observation, OperatorObservation
from edrp.engines.rolling_horizon import ControlPrices, OperatorCapacity, RollingHorizon
from edrp.heuristics.placement.ds2 import Ds2Parameters
from edrp.placement.deployment import Deployment
from edrp.placement.latency import CapacityCurveLatency
from edrp.replanning.replanner import DowntimePolicy, PlanOption, choose_option
from edrp.validation.flink.control_policies import CATCH_UP, SCALE_DOWN, AutoscalerControl
from edrp.validation.flink.control_watch import HORIZON
from edrp.validation.papers.control.days import DAY_STEPS, STEP, TracedDay
from edrp.validation.papers.control.setting import SPEED
from edrp.validation.simulation.placement.fluid_job import FluidJob

BUSY_LIMIT = 0.85
"""Most that a replica is to be busy under the rule of `edrp watch` that weighs each minute."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The knowledge of a policy at the beginning of a period.

    Attributes
    ----------
    number : of the period, from 0.
    last_rate : tuples/s of the period before this one, which was yesterday where this is the first.
    backlog : tuples that wait.
    running : replicas of the period before; None at the beginning of the day.
    last_change : number of the period that began with the last change; None if there was none.
    """

    number: int
    last_rate: float
    backlog: float
    running: Ints | None
    last_change: int | None


Policy = Callable[[Moment], Ints]
"""Gives the replicas of each operator from now on."""


def follow(policy: Policy, job: FluidJob, day: TracedDay) -> Ints:
    """The replicas of each period of a day under a policy, shape (periods, operators)."""
    course: list[Ints] = []
    backlog, last_change = 0.0, None
    for number, rate in enumerate(day.rates.tolist()):
        last_rate = float(day.rates[number - 1] if number else day.history[-1])
        running = course[-1] if course else None
        replicas = np.asarray(policy(Moment(number, last_rate, backlog, running, last_change)))
        changed = running is not None and not np.array_equal(replicas, running)
        last_change = number if changed else last_change
        _, left = job.step(rate, job.capacity(replicas), backlog, changed * job.silence)
        backlog = float(left)
        course.append(replicas)
    return np.array(course)


def hold_peak(job: FluidJob, rates: Floats) -> Policy:
    """The same replicas all day: the fewest that serve the highest of the rates, which is enough for a fluid."""
    replicas = job.fewest(float(rates.max()))
    return lambda moment: replicas


def myopic(job: FluidJob) -> Policy:
    """The replicas that would cost least in this period if its rate were that of the last one and changes were free."""
    capacities = np.array([job.capacity(level) for level in job.levels])
    rent = job.period * job.levels.sum(axis=1)

    def decide(moment: Moment) -> Ints:
        late, _ = job.step(moment.last_rate, capacities, moment.backlog, 0.0)
        return job.levels[np.argmin(rent + job.late_price * late)]

    return decide


def paying(job: FluidJob) -> Policy:
    """The replicas with the least score and price of downtime, by the rule of `edrp watch` and its settings on the cluster.

    The score is the cost per second if the last rate stays as it is, with the replicas at most `BUSY_LIMIT` busy; all tuples
    that more would be needed for are late. A gain lasts an hour of the original day.
    """
    vectors = job.vectors
    usable = BUSY_LIMIT * np.array([job.capacity(vector) for vector in vectors])
    deployments = [
        Deployment({name: ["cluster"] * count for name, count in zip(job.names, vector, strict=True)})
        for vector in vectors.tolist()
    ]

    def decide(moment: Moment) -> Ints:
        scores = vectors.sum(axis=1) + job.late_price * np.maximum(0.0, moment.last_rate - usable)
        if moment.running is None:
            return np.asarray(vectors[np.argmin(scores)])
        rule = DowntimePolicy(horizon=HORIZON / SPEED, downtime_worth=job.late_price * moment.last_rate)
        moves = np.abs(vectors - moment.running).sum(axis=1)
        downtimes = np.where(moves > 0, job.silence, 0.0)
        listed = np.flatnonzero((scores <= scores.min() * (1 + rule.hysteresis)) | (moves == 0)).tolist()
        options = [
            PlanOption(deployments[v], float(scores[v]), float(downtimes[v]), rule.price(float(downtimes[v])), int(moves[v]))
            for v in listed
        ]
        chosen = choose_option(options, rule.hysteresis)
        return np.asarray(vectors[listed[next(number for number, option in enumerate(options) if option is chosen)]])

    return decide


def ds2(job: FluidJob) -> Policy:
    """DS2's replicas for the last rate at its utilisation of 0.7, as method `ds2` gives them; backlogs play no part."""
    curves = [CapacityCurveLatency(replicas=range(1, len(curve) + 1), capacities=curve) for curve in job.capacities]
    most = np.array([len(curve) for curve in job.capacities])
    utilisation = Ds2Parameters().utilisation

    def decide(moment: Moment) -> Ints:
        needed = [curve.fewest_replicas(moment.last_rate / utilisation * (1 - REPLICAS_SLACK)) for curve in curves]
        return np.clip(needed, 1, most).astype(np.int64)

    return decide


def autoscaler(job: FluidJob) -> Policy:
    """The rule of Flink's autoscaler with its default settings on the compressed clock, as on the cluster.

    It is told the offered rate of the last period and the backlog, which is to be caught up with in half an hour of the original
    day; replicas are given up after an hour in which fewer were wanted.
    """
    control = AutoscalerControl(round(SCALE_DOWN / SPEED / job.period), max(len(curve) for curve in job.capacities))
    start = ds2(job)

    def decide(moment: Moment) -> Ints:
        if moment.running is None:
            return start(moment)
        capacity = job.capacity(moment.running)
        served = capacity if moment.backlog > 0 else min(moment.last_rate, capacity)
        plan = control.plan(_fit(job, moment.running, served), moment.last_rate, moment.backlog / (CATCH_UP / SPEED))
        return np.array([plan[name] for name in job.names])

    return decide


SOURCE = "source"
"""Name of the operator that only sends."""


def _fit(job: FluidJob, running: Ints, served: float) -> JobFit:
    """The fit that observing the job would yield, as far as the autoscaler's rule reads it."""
    most = (1, *map(len, job.capacities))
    names, replicas = (SOURCE, *job.names), (1, *running.tolist())
    busy = (None, *(served / curve[number - 1] for curve, number in zip(job.capacities, running.tolist(), strict=True)))
    operators = tuple(_operator(*row, served) for row in zip(names, replicas, busy, strict=True))
    observed = tuple(
        OperatorObservation(name, name, ("cluster",) * number, limit, None, name, (), (0.0, 0.0), ())
        for name, number, limit in zip(names, replicas, most, strict=True)
    )
    checkpoints = CheckpointObservation(None, (), 0, None)
    observation = Observation("fluid", "", "", "", True, None, observed, (), (), checkpoints, ())
    return JobFit(observation, operators, (), NO_TIME, NO_TIME, None, ())


def _operator(name: str, replicas: int, busy: float | None, rate: float) -> OperatorFit:
    return OperatorFit(
        name=name,
        source=name == SOURCE,
        replicas=replicas,
        rate=rate,
        load=rate,
        broadcast=0.0,
        highest=rate,
        busy=busy,
        service=None,
        method=None,
        capacities=(),
        skew=1.0,
        selectivity=1.0,
        state_sizes=(),
        backpressured=0.0,
    )


PLANNED = 24
"""Periods that are planned at most: four hours of the original day. The account ends with the day."""


def forecasts(day: TracedDay) -> list[Floats]:
    """Scenarios of the rates to come before each period, (scenarios, periods), by the weeks before and the day so far."""
    step = STEP / SPEED
    history = RateHistory(step, DAY_STEPS * step, day.history)
    return [
        forecast(history, day.rates[:number], min(PLANNED, DAY_STEPS - number), SCENARIOS) for number in range(len(day.rates))
    ]


def known_rates(day: TracedDay) -> list[Floats]:
    """The rates to come before each period, (1, periods): what is lost with them is not lost to errors of forecasts."""
    return [day.rates[None, number : number + PLANNED] for number in range(len(day.rates))]


def look_ahead(job: FluidJob, demands: Sequence[Floats]) -> Policy:
    """The rolling horizon over what is expected before each period. It begins with what is best if changes are free."""
    operators = tuple(
        OperatorCapacity(name, np.arange(1, len(curve) + 1), np.array(curve))
        for name, curve in zip(job.names, job.capacities, strict=True)
    )
    prices = ControlPrices(replica=1.0, late=job.late_price, silence=job.silence, late_after=job.bound)
    controller = RollingHorizon(operators, prices)
    first = RollingHorizon(operators, replace(prices, silence=0.0))

    def decide(moment: Moment) -> Ints:
        expected, now = demands[moment.number], moment.number * job.period
        if moment.running is None:
            outlook = first.decide(now, dict.fromkeys(job.names, 1), None, None, expected, job.period)
        else:
            running = dict(zip(job.names, moment.running.tolist(), strict=True))
            changed = None if moment.last_change is None else moment.last_change * job.period
            outlook = controller.decide(now, running, None, moment.backlog, expected, job.period, changed)
        return np.array([outlook.replicas[name] for name in job.names])

    return decide
