"""The manufacturing topology: machines whose sensors feed nine operators (cost-efficient enactment, Fig. 1, Tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.enactment.arrival_patterns import PATTERNS, arrivals
from edrp.enactment.containers import ContainerApplication, HostType
from edrp.enactment.scenario import EnactmentScenario
from edrp.enactment.snapshot import EnactmentProblem

__all__ = ["PATTERNS", "manufacturing_application", "manufacturing_scenario", "manufacturing_snapshot"]

EMISSION_INTERVAL = 0.48
"""Seconds between two emissions of a machine: a minute of the factory, sped up (section "Data arrival pattern")."""

OCCUPANCY = 0.20
"""Share of the processing duration in which an item occupies its instance.

A setting of ours, not the paper's: its durations include the way through the messaging infrastructure, and it does not print
which share. With a share of 1, 8 machines would need some 270 instances; its figures end at 70. Fitted with the noise of service
and the initial instances on the stepwise and the two-level pattern.
"""

STALL_INTERVAL, STALL_DURATION = 60.0, 2.0
"""Seconds: mean time between stalls of some operator, and the duration of a stall, in which none of its items is begun.

A setting of ours as well. The paper speaks of short delays by other applications on the same hardware, for which instances are
added from time to time, and does not print how many; fitted on all four patterns, seeds 1 to 3.
"""

EMISSIONS = {"filter-availability": 5, "monitor-temperature": 10, "parse-and-distribute-data": 1}
"""Items per machine and tick into the operators that read sensors (Table 1): S1 → O2, S3 → O6, S2 → O1."""

MILLISECOND, MEGABYTE = 1e-3, 1e6

OPERATORS: dict[str, tuple[float, float, float, float, float]] = {
    "parse-and-distribute-data": (1500, 660, 452, 89, 1),
    "filter-availability": (600, 131, 524, 68, 1 / 50),
    "calculate-performance": (750, 100, 430, 68, 1),
    "calculate-availability": (750, 83, 502, 68, 1),
    "calculate-quality": (750, 77, 527, 68, 1),
    "monitor-temperature": (600, 65, 440, 68, 1 / 100),
    "calculate-oee": (700, 46, 464, 68, 1 / 3),
    "inform-user": (500, 74, 466, 68, 0),
    "generate-report": (1300, 47, 452, 70, 1 / 300),
}
"""O1 to O9 (Table 2): processing duration in ms, CPU shares, memory in MB, image in MB, items out per item in on each stream.

The ratio 1:3 of O1 is one item on each of its three streams.
"""

STREAMS = (
    ("parse-and-distribute-data", "calculate-performance"),
    ("parse-and-distribute-data", "calculate-availability"),
    ("parse-and-distribute-data", "calculate-quality"),
    ("calculate-performance", "calculate-oee"),
    ("calculate-availability", "calculate-oee"),
    ("calculate-quality", "calculate-oee"),
    ("calculate-oee", "generate-report"),
    ("generate-report", "inform-user"),
    ("filter-availability", "inform-user"),
    ("monitor-temperature", "inform-user"),
)
"""Streams between the operators (Fig. 1), as pairs of sender and receiver."""

HOST_RESOURCES = {"cpu": 4 * 1024.0, "memory": 7e9}
"""Resources of a host: four cores of 1024 CPU shares each, and 7 GB."""

PRICED_TIME = 600.0
"""Seconds of a host that cost 1; the price of a billing time unit (BTU) is linear: 10, 30 and 60 minutes cost 1, 3 and 6."""

START_UP = (30.0, 60.0)
"""Seconds from the lease of a host to its readiness."""


def manufacturing_application(machines: float = 1.0, *, occupancy: float = OCCUPANCY) -> ContainerApplication:
    """Build the application of nine operators, fed by a number of machines.

    Parameters
    ----------
    machines
        Number of machines that send; 1 is load 1 of a scenario.
    occupancy
        Share of the processing duration in which an item occupies its instance.

    Raises
    ------
    InvalidInstanceError
        For a negative number of machines, or an occupancy that is not above 0 and at most 1.

    Examples
    --------
    >>> application = manufacturing_application(8)
    >>> round(application.load("parse-and-distribute-data"), 3), round(application.load("calculate-oee"), 3)
    (16.667, 50.0)
    """
    if not machines >= 0:
        raise InvalidInstanceError([Fault("machines", f"{machines:g}", "must not be negative")])
    operators = [
        {
            "name": name,
            "resources": {"cpu": cpu, "memory": memory * MEGABYTE},
            "code_size": image * MEGABYTE,
            "external_rate": machines * EMISSIONS.get(name, 0) / EMISSION_INTERVAL,
            "selectivity": selectivity,
            "processing_duration": round(duration * MILLISECOND, 3),
            "occupancy": occupancy,
        }
        for name, (duration, cpu, memory, image, selectivity) in OPERATORS.items()
    ]
    streams = [{"source": source, "target": target} for source, target in STREAMS]
    return ContainerApplication(operators=tuple(operators), streams=tuple(streams))


def manufacturing_host(billing_time: float = PRICED_TIME) -> HostType:
    """Build the host type of the paper, paid by billing time units (BTU) of the given length in seconds.

    Raises
    ------
    InvalidInstanceError
        When the unit is shorter than a host takes to start.

    Examples
    --------
    >>> manufacturing_host(3600.0).price
    6.0
    """
    return HostType(
        name="docker-host",
        resources=HOST_RESOURCES,
        price=max(billing_time, 0.0) / PRICED_TIME,
        billing_time=billing_time,
        start_up=START_UP,
    )


def manufacturing_scenario(
    pattern: str, *, billing_time: float = PRICED_TIME, seed: int = 0, duration: float = 7200.0, **fields: Any
) -> EnactmentScenario:
    """Build a scenario of the factory under one of the paper's arrival patterns, two hours by default.

    Parameters
    ----------
    pattern
        "stepwise", "two-level", "random-walk-1" or "random-walk-2".
    billing_time
        Seconds of the billing time unit (BTU); the paper has 600, 1800 and 3600.
    seed
        Seed of the random walks. The events of a run depend on the seed of the simulation.
    duration
        Whole seconds.
    fields
        Fields of `EnactmentScenario` that differ.

    Raises
    ------
    InvalidInstanceError
        For an unknown pattern, a negative duration, a unit shorter than a host takes to start, and fields that cannot be.

    Examples
    --------
    >>> scenario = manufacturing_scenario("stepwise", billing_time=1800.0)
    >>> scenario.load[:4], scenario.duration, scenario.host_types[0].price
    ((2.0, 5.0, 8.0, 5.0), 7200.0, 3.0)
    """
    machines, step = arrivals(pattern, duration, seed)
    return machine_scenario(machines, step, billing_time, **fields)


def machine_scenario(machines: list[float], step: float, billing_time: float = PRICED_TIME, **fields: Any) -> EnactmentScenario:
    """Build a scenario of the factory with the given number of machines in each step of time.

    >>> machine_scenario([2.0, 4.0], 60.0).duration
    120.0
    """
    described: dict[str, Any] = {
        "application": manufacturing_application(),
        "host_types": (manufacturing_host(billing_time),),
        "load": tuple(machines),
        "load_step": step,
        "emission_interval": EMISSION_INTERVAL,
        "stall_interval": STALL_INTERVAL,
        "stall_duration": STALL_DURATION,
    }
    return EnactmentScenario(**{**described, **fields})


def manufacturing_snapshot(
    machines: float, *, queues: Mapping[str, float] | None = None, billing_time: float = PRICED_TIME, **fields: Any
) -> EnactmentProblem:
    """Build a snapshot of the factory: which instances to run on which hosts at one moment.

    Parameters
    ----------
    machines
        Number of machines that send now.
    queues
        Items that wait by operator; default: none.
    billing_time
        Seconds of the billing time unit (BTU).
    fields
        Fields of `EnactmentProblem` that differ.

    Raises
    ------
    InvalidInstanceError
        For a negative number of machines, a unit shorter than a host takes to start, and fields that cannot be.

    Examples
    --------
    >>> manufacturing_snapshot(8).minimum_instances["monitor-temperature"]
    20
    """
    described: dict[str, Any] = {
        "application": manufacturing_application(machines),
        "host_types": (manufacturing_host(billing_time),),
        "queues": dict(queues or {}),
    }
    return EnactmentProblem(**{**described, **fields})
