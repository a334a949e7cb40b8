"""Mean waiting times of queues for which there are formulas; service and arrivals as in Kendall's notation."""

from __future__ import annotations


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
        When the servers cannot keep up.

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
        Standard deviation of the service time over its mean: 0 gives M/D/1, 1 is what M/M/1 has.

    Raises
    ------
    ValueError
        When the server cannot keep up.

    Examples
    --------
    >>> mg1_wait(0.5, 1.0, 0.0), mg1_wait(0.5, 1.0, 1.0) == mmc_wait(1, 0.5, 1.0)
    (0.5, True)
    """
    load = rate * service
    if not 0 <= load < 1:
        raise ValueError(f"one server keeps up with less than 1 offered, not with {load}")
    return load * service * (1 + variation * variation) / (2 * (1 - load))
