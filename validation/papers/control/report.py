"""Look-ahead control on real days against certified optima of those who know the day: run, judged, reported.

Policies decide once a period how many replicas a job has: they are constant, myopic, rules of engines, or look ahead. All run on
traced days, each next to the certified bound of the day; claims are on costs over bounds, and on differences on the same days.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK, REPLICAS_SLACK
from edrp.engines.day_control import SCENARIOS
from edrp.engines.fit import NO_TIME, JobFit, OperatorFit
from edrp.engines.flink.autoscaler import autoscaler_replicas
from edrp.engines.forecast import RateHistory, forecast
from edrp.engines.observation import CheckpointObservation, Observation, OperatorObservation
from edrp.engines.predictions import throughput
from edrp.engines.rolling_horizon import ControlPrices, OperatorCapacity, RollingHorizon
from edrp.heuristics.placement.ds2 import Ds2Parameters
from edrp.placement.deployment import Deployment
from edrp.placement.latency import CapacityCurveLatency
from edrp.replanning.replanner import DowntimePolicy, PlanOption, choose_option
from edrp.report.comparison import estimate_seeds
from edrp.report.estimates import Estimate
from edrp.report.formatting import Unit
from edrp.report.page import Section, how_run, require_packages
from edrp.report.progress import Tell
from edrp.report.publication import Report
from edrp.report.statements import Statement, claim
from edrp.report.tables import Table
from edrp.validation.papers.claims import Claims, Requirement, claim_records, claim_table, judged, positive
from edrp.validation.papers.control import days as traced
from edrp.validation.simulation.placement.fluid_job import DayCost, FluidJob, clairvoyant_day

BUSY_LIMIT = 0.85
"""Most that a replica is to be busy under the rule of `edrp watch` that weighs each minute."""

HORIZON = 3600.0
"""Seconds of the original day for which a gain is expected to last: the default of replanning."""

RESTART, CATCH_UP, SCALE_DOWN = 300.0, 1800.0, 3600.0
"""Seconds of the original day: the autoscaler's `restart.time`, `catch-up.duration` and `scale-down.interval`."""


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


def follow(policy: Policy, job: FluidJob, day: traced.TracedDay) -> Ints:
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
        rule = DowntimePolicy(horizon=HORIZON / traced.SPEED, downtime_worth=job.late_price * moment.last_rate)
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


class AutoscalerControl:
    """The autoscaler's rule over time: more replicas at once, fewer only when they have been wanted for long enough.

    Parameters
    ----------
    observations
        In a row that have to want fewer replicas; then as many remain as were wanted most among them.
    """

    def __init__(self, observations: int, max_replicas: int) -> None:
        self._observations, self._max_replicas = observations, max_replicas
        self._wanted: list[dict[str, int]] = []

    def plan(self, fit: JobFit, offered: float, catch_up: float = 0.0) -> dict[str, int]:
        """Replicas of every operator from now on, by the tuples/s that are offered and those by which a backlog is worked off."""
        taken_in = max(1e-9, throughput(fit))
        newest = autoscaler_replicas(fit, offered / taken_in, catch_up / taken_in, RESTART / CATCH_UP)
        self._wanted = [*self._wanted, newest][-self._observations :]
        running_replicas = {operator.name: operator.replicas for operator in fit.operators}
        plan = {name: min(self._max_replicas, self._next(name, count)) for name, count in running_replicas.items()}
        if plan != running_replicas:
            self._wanted = []
        return plan

    def _next(self, name: str, now: int) -> int:
        if self._wanted[-1][name] >= now:
            return self._wanted[-1][name]
        return min(now, max(plan[name] for plan in self._wanted)) if len(self._wanted) == self._observations else now


def autoscaler(job: FluidJob) -> Policy:
    """The rule of Flink's autoscaler with its default settings on the compressed clock, as on the cluster.

    It is told the offered rate of the last period and the backlog, which is to be caught up with in half an hour of the original
    day; replicas are given up after an hour in which fewer were wanted.
    """
    control = AutoscalerControl(round(SCALE_DOWN / traced.SPEED / job.period), max(len(curve) for curve in job.capacities))
    start = ds2(job)

    def decide(moment: Moment) -> Ints:
        if moment.running is None:
            return start(moment)
        capacity = job.capacity(moment.running)
        served = capacity if moment.backlog > 0 else min(moment.last_rate, capacity)
        plan = control.plan(_fit(job, moment.running, served), moment.last_rate, moment.backlog / (CATCH_UP / traced.SPEED))
        return np.array([plan[name] for name in job.names])

    return decide


SOURCE = "source"
"""Name of the operator that only sends."""


def _fit(job: FluidJob, running: Ints, served: float) -> JobFit:
    """The fit that observing the job would yield, as far as the autoscaler's rule reads it."""
    most = (1, *map(len, job.capacities))
    names, replicas = (SOURCE, *job.names), (1, *running.tolist())
    busy = (None, *(served / curve[number - 1] for curve, number in zip(job.capacities, running.tolist(), strict=True)))
    operators = tuple(
        OperatorFit(
            name=name,
            source=name == SOURCE,
            replicas=number,
            rate=served,
            load=served,
            broadcast=0.0,
            highest=served,
            busy=share,
            service=None,
            method=None,
            capacities=(),
            skew=1.0,
            selectivity=1.0,
            state_sizes=(),
            backpressured=0.0,
        )
        for name, number, share in zip(names, replicas, busy, strict=True)
    )
    observed = tuple(
        OperatorObservation(name, name, ("cluster",) * number, limit, None, name, (), (0.0, 0.0), ())
        for name, number, limit in zip(names, replicas, most, strict=True)
    )
    checkpoints = CheckpointObservation(None, (), 0, None)
    observation = Observation("fluid", "", "", "", True, None, observed, (), (), checkpoints, ())
    return JobFit(observation, operators, (), NO_TIME, NO_TIME, None, ())


PLANNED = 24
"""Periods that are planned at most: four hours of the original day. The account ends with the day."""


def forecasts(day: traced.TracedDay) -> list[Floats]:
    """Scenarios of the rates to come before each period, (scenarios, periods), by the weeks before and the day so far."""
    step = traced.STEP / traced.SPEED
    history = RateHistory(step, traced.DAY_STEPS * step, day.history)
    return [
        forecast(history, day.rates[:number], min(PLANNED, traced.DAY_STEPS - number), SCENARIOS)
        for number in range(len(day.rates))
    ]


def known_rates(day: traced.TracedDay) -> list[Floats]:
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


OWN_PEAK, PAST_PEAK, MYOPIC, PAYING = "static, the day's peak", "static, past peak", "myopic", "myopic with penalty"
AUTOSCALER, DS2, ROLLING = "autoscaler's rule", "DS2", "rolling horizon"
KNOWING, OPTIMUM = "rolling horizon, rates known", "clairvoyant"

Start = Callable[[FluidJob, traced.TracedDay], Policy]

RULES: dict[str, Start] = {
    OWN_PEAK: lambda job, day: hold_peak(job, day.rates),
    PAST_PEAK: lambda job, day: hold_peak(job, day.history),
    MYOPIC: lambda job, day: myopic(job),
    PAYING: lambda job, day: paying(job),
    AUTOSCALER: lambda job, day: autoscaler(job),
    DS2: lambda job, day: ds2(job),
}
"""Policies that the rolling horizon is compared with, by their names."""


@dataclass(frozen=True, slots=True)
class DayRow:
    """A day under a policy.

    Attributes
    ----------
    bound : certified bound on the cost of any course, in replica-seconds.
    cost : what the policy came to.
    tuples : of the day.
    """

    data_set: str
    day: str
    silence: float
    policy: str
    bound: float
    cost: DayCost
    tuples: float

    @property
    def ratio(self) -> float:
        """The certificate: the cost is at most this multiple of the least possible."""
        return self.cost.cost / self.bound

    @property
    def late(self) -> float:
        """Share of the tuples that are late."""
        return self.cost.late / self.tuples

    @property
    def replica_hours(self) -> float:
        """Hours of replicas, of the original day."""
        return self.cost.replica_seconds * traced.SPEED / 3600


def run_days(days: Sequence[traced.TracedDay], silences: Sequence[float], tell: Tell = str) -> list[DayRow]:
    """Run every policy on every day at every silence; the last row of a day is the course of the bound itself."""
    rows: list[DayRow] = []
    for day in days:
        tell(f"{day.data_set}, {day.name}")
        demands = {ROLLING: forecasts(day), KNOWING: known_rates(day)}
        for silence in silences:
            job = traced.control_job(silence)
            best, tuples = clairvoyant_day(job, day.rates), float(day.rates.sum()) * job.period
            policies = {name: start(job, day) for name, start in RULES.items()}
            policies |= {name: look_ahead(job, expected) for name, expected in demands.items()}
            costs = {name: job.course(day.rates, follow(policy, job, day)) for name, policy in policies.items()}
            for name, cost in {**costs, OPTIMUM: best.day}.items():
                rows.append(DayRow(day.data_set, day.name, silence, name, best.bound, cost, tuples))
    return rows


AIM = 1.1
"""Ratio that the rolling horizon is to keep on average."""

RATIO, PERCENT, HOURS, COUNT = Unit(1, ".3f"), Unit(100, ".1f"), Unit(1, ".1f"), Unit(1, ".1f")

Rows = Sequence[DayRow]
Place = tuple[str, float]
"""A data set and seconds of silence."""


def places(rows: Rows) -> list[tuple[str, Place]]:
    """Data sets and silences, with what they are called."""
    found = dict.fromkeys((row.data_set, row.silence) for row in rows)
    return [(f"{data_set}, {silence:g} s", (data_set, silence)) for data_set, silence in found]


def values(rows: Rows, place: Place, policy: str, value: Callable[[DayRow], float]) -> Floats:
    """A quantity of a policy on every day of a place, in the order of the days."""
    return np.array([value(row) for row in rows if (row.data_set, row.silence) == place and row.policy == policy])


def _ratios(rows: Rows, place: Place, policy: str) -> Floats:
    return values(rows, place, policy, lambda row: row.ratio)


def _at_most(maximum: float, policy: str) -> Requirement:
    return Requirement(places, lambda rows, place: estimate_seeds(_ratios(rows, place, policy)), RATIO, maximum=maximum)


def _above_rolling(policy: str) -> Callable[[Rows, Place], Estimate]:
    return lambda rows, place: estimate_seeds(_ratios(rows, place, policy) - _ratios(rows, place, ROLLING))


CLAIMS: Claims = (
    ("", f"the rolling horizon costs at most {AIM:g} times the bound", _at_most(AIM, ROLLING)),
    *(
        ("", f"the rolling horizon costs less than “{policy}”", positive(places, _above_rolling(policy), RATIO.signed))
        for policy in RULES
    ),
    (
        "",
        "with known rates the rolling horizon costs at most 1.02 times the bound: the rest is lost to forecasts",
        _at_most(1.02, KNOWING),
    ),
)
"""Expectations of each data set and silence."""


def statements(rows: Rows) -> tuple[Statement, ...]:
    """Checks of the bounds, and the claims, judged."""
    least = min(rows, key=lambda row: row.ratio)
    gaps = [row.ratio - 1 for row in rows if row.policy == OPTIMUM]
    return (
        claim(
            "no policy costs less than the bound of its day",
            least.ratio >= 1 - LIMIT_SLACK,
            f"least ratio {least.ratio:.4f}, of {least.policy}, in {len(rows)} runs",
        ),
        claim(
            "each bound is within 1 % of what a course costs",
            max(gaps) <= 0.01,
            f"gap {100 * np.mean(gaps):.3f} % in the mean of {len(gaps)}, {100 * max(gaps):.2f} % at most",
        ),
        *judged(CLAIMS, rows),
    )


def ratio_table(rows: Rows) -> Table:
    """Cost over bound of every policy, one column for each data set and silence."""
    policies = list(dict.fromkeys(row.policy for row in rows))
    shown = tuple(
        (policy, *(RATIO.above_interval(estimate_seeds(_ratios(rows, place, policy)), " to ") for _, place in places(rows)))
        for policy in policies
    )
    columns = tuple(where.replace(", ", "\n") for where, _ in places(rows))
    days = ", ".join(str(len(values(rows, place, OPTIMUM, lambda row: row.bound))) for _, place in places(rows))
    note = f"Means over days ({days}) with 95 % bootstrap intervals. Seconds are those of the silence that a change costs."
    return Table("Cost over the certified bound", ("policy", *columns), shown, columns, note=note, open=True)


def composition_table(rows: Rows) -> Table:
    """Late tuples, replica-hours and changes of every policy."""
    quantities: dict[str, tuple[Unit, Callable[[DayRow], float]]] = {
        "late tuples\n[%]": (PERCENT, lambda row: row.late),
        "replica-hours": (HOURS, lambda row: row.replica_hours),
        "changes": (COUNT, lambda row: row.cost.changes),
    }
    shown = [
        (policy, where, *(u.number(float(values(rows, place, policy, value).mean())) for u, value in quantities.values()))
        for where, place in places(rows)
        for policy in dict.fromkeys(row.policy for row in rows)
    ]
    right = tuple(quantities)
    return Table("What the costs are made of", ("policy", "days", *right), tuple(shown), right, note="Means over days.")


def day_records(rows: Rows) -> list[dict[str, Any]]:
    """Every run as a row of a CSV file."""
    names = ("data_set", "day", "silence", "policy", "bound", "cost.cost", "ratio", "late", "replica_hours", "cost.changes")
    return [{name.rpartition(".")[2]: attrgetter(name)(row) for name in names} for row in rows]


COSTS = (
    "The job is a fluid queue whose capacity is that of its slowest operator; every change of the replicas silences it. All "
    f"policies pay the same: 1 for a second of a replica, {traced.LATE_PRICE:g} for a tuple that waits longer than "
    f"{traced.LATE:g} s. What piles up is carried from period to period. The bound of a day is proven by a dynamic program over "
    "replicas and backlogs that rounds backlogs down; it holds for every course, also for those that are late on purpose."
)
KNOWLEDGE = (
    "At the begin of a period of ten minutes a policy knows the rates of the periods before it, the backlog, and up to six weeks "
    "before the day; rates are scaled by these weeks alone. Days were drawn by a seed that was not used while the policies were "
    "developed. The static peak of the day itself and the rolling horizon with known rates know what nobody knows."
)
TERMS = {
    "static": "the fewest replicas that serve the highest rate, of the day itself or of the weeks before it",
    "myopic": "what costs least in this period if the last rate and the backlog stay as they are and changes are free",
    "myopic with penalty": "the rule of `edrp watch`: at most 85 % busy, a gain lasts an hour, silence makes its tuples late",
    "autoscaler's rule": "that of Flink's autoscaler with its defaults, told the offered rate and the backlog",
    "DS2": "the fewest replicas that are at most 70 % busy at the last rate",
    "rolling horizon": "`edrp watch --decide day`: the cheapest course of the next four hours over ten scenarios of a forecast",
}

SEED = 40
"""Draws the days of the report; policies were developed on those that seed 1 draws."""


def investigate(
    data: Path | None = None, *, days: int = 20, seed: int = SEED, tell: Tell = str, out: Path | None = None
) -> list[DayRow]:
    """Run all policies on days of each data set.

    Parameters
    ----------
    data : folder of the taxi stream and the tweets; default: what EDRP_DATA names, and without it there are only flights.
    days, seed : number of days of each data set, and what they are drawn by.
    out : folder of the report; packages that it needs are looked for before anything runs.
    """
    if out is not None:
        require_packages(jinja2="report")
    data_sets = (traced.FLIGHTS,) if data is None and "EDRP_DATA" not in os.environ else traced.DATA_SETS
    drawn = [day for data_set in data_sets for day in traced.traced_days(data_set, days, seed, traced.PEAK, data)]
    return run_days(drawn, traced.SILENCES, tell)


def report(rows: Sequence[DayRow]) -> Report:
    """The report of finished runs."""
    found = statements(rows)
    return Report(
        "Control over days: cost over certified bounds",
        "Replicas of a job through real days: constant, by rules, and by a rolling horizon, against a clairvoyant bound.",
        verdicts=[f"Of {len(found)} statements {sum(statement.holds for statement in found)} hold."],
        statements=found,
        shown=[ratio_table(rows), composition_table(rows)],
        documented=[ratio_table(rows), claim_table(found), composition_table(rows)],
        sections=lambda drawings, command: _sections(rows, found, command),
        records={"days": day_records(rows), "statements": claim_records(found)},
    )


def _sections(rows: Sequence[DayRow], found: Sequence[Statement], command: str) -> Iterator[Section]:
    yield Section("What we aim at", tables=(claim_table(found),))
    yield Section("Cost over the certified bound", (COSTS, KNOWLEDGE), tables=(ratio_table(rows),), terms=TERMS)
    yield Section("What the costs are made of", tables=(composition_table(rows), _setting()))
    names = dict.fromkeys((row.data_set, row.day) for row in rows)
    counts = {data_set: str(sum(name[0] == data_set for name in names)) for data_set in traced.DATA_SETS}
    yield how_run(command, {f"days of {data_set}": count for data_set, count in counts.items()})


def _setting() -> Table:
    services = "; ".join(f"{name}: {rate:g} tuples/s a replica, at most {most}" for name, (rate, most) in traced.SERVICE.items())
    facts = {
        "operators": services,
        "median of past daily peaks": f"{traced.PEAK:g} tuples/s",
        "compression": f"{traced.SPEED:g} times",
        "silence of a change": ", ".join(f"{silence:g} s" for silence in traced.SILENCES),
    }
    return Table("The job", ("what", "value"), tuple(facts.items()))
