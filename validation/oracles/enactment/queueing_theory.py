"""The simulator against queueing theory: operators whose mean wait is known by a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import exp, sqrt
from typing import Any

from edrp.enactment import Action, EnactmentState
from edrp.enactment.scenario import EnactmentScenario
from edrp.validation.simulation.enactment.simulator import simulate


def erlang_c(servers: int, offered: float) -> float:
    """Share of arrivals that must wait in an M/M/c queue (Erlang's C formula).

    Parameters
    ----------
    servers
        c, at least 1.
    offered
        Arrival rate times mean service time, below c.

    Raises
    ------
    ValueError
        If the servers cannot keep up.

    Examples
    --------
    >>> erlang_c(1, 0.7), round(erlang_c(2, 1.0), 6)
    (0.7, 0.333333)
    """
    if not 0 <= offered < servers:
        raise ValueError(f"{servers} servers keep up with less than {servers} offered, not with {offered}")
    blocked = 1.0  # Erlang's B formula, by its recursion over the number of servers
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))


def mmc_wait(servers: int, rate: float, service: float) -> float:
    """Mean wait (s) in an M/M/c queue: `rate` arrivals per second, served in `service` seconds in the mean.

    >>> round(mmc_wait(1, 0.5, 1.0), 9)
    1.0
    """
    return erlang_c(servers, rate * service) * service / (servers - rate * service)


def mg1_wait(rate: float, service: float, variation: float) -> float:
    """Mean wait (s) in an M/G/1 queue (Pollaczek and Khinchine).

    Parameters
    ----------
    rate
        Arrivals per second.
    service
        Seconds, in the mean.
    variation
        Standard deviation of the service time over its mean: 0 for M/D/1, 1 for M/M/1.

    Raises
    ------
    ValueError
        If the server cannot keep up.

    Examples
    --------
    >>> mg1_wait(0.5, 1.0, 0.0), mg1_wait(0.5, 1.0, 1.0) == mmc_wait(1, 0.5, 1.0)
    (0.5, True)
    """
    load = rate * service
    if not 0 <= load < 1:
        raise ValueError(f"one server keeps up with less than 1 offered, not with {load}")
    return load * service * (1 + variation * variation) / (2 * (1 - load))


ITEMS = 3_000_000
"""Items of each check: mean waits then vary by up to one per cent from seed to seed."""

OBSERVATIONS = 200
"""Observations in a run; the first tenth is left out, in which the queue fills."""

LOG_DEVIATION = 0.41
"""Standard deviation of the logarithm of log-normal service."""


@dataclass(frozen=True, slots=True)
class QueueingCheck:
    """One operator, simulated and by its formula.

    Attributes
    ----------
    formula, simulated : mean wait, s.
    """

    operator: str
    formula: float
    simulated: float

    @property
    def difference(self) -> float:
        """Simulated over formula, less 1."""
        return self.simulated / self.formula - 1


class _WaitRecorder:
    """A policy that does nothing and adds up the recorded durations of the last operator."""

    name = "watch"

    def __init__(self) -> None:
        self.recorded, self.occupied, self.begun = 0.0, 0.0, 0

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        last = list(state.operators.values())[-1]
        if state.time > state.interval * OBSERVATIONS / 10:
            self.recorded += last.duration * last.begun
            self.occupied += last.busy / last.operator.occupancy
            self.begun += last.begun
        return ()

    @property
    def wait(self) -> float:
        """Mean wait in seconds: recorded durations minus the processing itself."""
        return (self.recorded - self.occupied) / self.begun


@dataclass(frozen=True, slots=True)
class _Case:
    """Operators in a chain, the last of which is observed; mean service is 1 s, a share of which occupies the instance."""

    name: str
    servers: int
    load: float
    wait: Callable[[float, float], float]
    service: str = "exponential"
    occupancy: float = 1.0
    operators: int = 1

    @property
    def rate(self) -> float:
        """Items per second."""
        return self.load * self.servers / self.occupancy


CASES = (
    _Case("M/M/1", 1, 0.7, lambda rate, service: mmc_wait(1, rate, service)),
    _Case("M/M/4", 4, 0.7, lambda rate, service: mmc_wait(4, rate, service)),
    _Case("M/M/10", 10, 0.8, lambda rate, service: mmc_wait(10, rate, service)),
    _Case("M/M/4, an item occupies for a fifth", 4, 0.7, lambda rate, service: mmc_wait(4, rate, service), occupancy=0.2),
    # What leaves an M/M/c queue is a Poisson process again (Burke).
    _Case("M/M/3 behind M/M/3", 3, 0.7, lambda rate, service: mmc_wait(3, rate, service), operators=2),
    _Case("M/D/1", 1, 0.7, lambda rate, service: mg1_wait(rate, service, 0.0), "constant"),
    _Case(
        "M/G/1, log-normal", 1, 0.7, lambda rate, service: mg1_wait(rate, service, sqrt(exp(LOG_DEVIATION**2) - 1)), "lognormal"
    ),
)
"""The queues that are checked."""


def queueing_check() -> Iterator[QueueingCheck]:
    """Simulate operators with a fixed number of instances and compare mean waits with their formulas."""
    for case in CASES:
        recorder = _WaitRecorder()
        simulate(_scenario(case), recorder, 0)
        yield QueueingCheck(case.name, case.wait(case.rate, case.occupancy), recorder.wait)


def _scenario(case: _Case) -> EnactmentScenario:
    """A run of `case.servers` instances of each operator, all on one host."""
    interval = ITEMS / case.rate / OBSERVATIONS
    names = [f"operator-{index}" for index in range(case.operators)]
    operators: list[dict[str, Any]] = [
        {"name": name, "processing_duration": 1.0, "occupancy": case.occupancy, "resources": 1.0} for name in names
    ]
    operators[0]["external_rate"] = case.rate
    streams = [{"source": source, "target": target} for source, target in pairwise(names)]
    return EnactmentScenario(
        application={"operators": operators, "streams": streams},  # type: ignore[arg-type]
        host_types=[{"name": "host", "resources": 1e6, "price": 1.0, "billing_time": 1e9}],  # type: ignore[arg-type]
        load=(1.0,) * OBSERVATIONS,
        load_step=interval,
        service=case.service,  # type: ignore[arg-type]
        variation=LOG_DEVIATION,
        arrivals="poisson",
        provisioning_interval=interval,
        monitoring_interval=interval,
        initial_instances=case.servers,
    )
