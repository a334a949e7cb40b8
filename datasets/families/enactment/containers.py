"""Random applications in containers, hosts to lease for them, and running instances."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edrp.datasets.families.placement.shapes import Shape
from edrp.datasets.random_numbers import log_uniform, rounded
from edrp.enactment import EnactmentState, OperatorState, TentativeState
from edrp.enactment.containers import ContainerApplication, Host, HostType, fits

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
