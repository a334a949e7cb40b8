"""The DEBS 2015 application on a small cluster that runs Apache Storm (EDRP, section 7.3).

The paper prints neither its measured latencies nor its delays. Delays, jitter and buffers below are ours; among
several settings tried, the one closest to Table V and to the paper's 8 to 10 replicas was kept: a calibration, not a
prediction.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.placement import edrp_parameters
from edrp.datasets.placement.debs2015 import RANK_UPDATES, application
from edrp.placement.deployment import DeploymentLike
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import LatencyModel, PolynomialLatency
from edrp.placement.metric_values import Limits, Weights
from edrp.placement.network import Network

STORM_NODES = 5
STORM_NODE_CAPACITY = 8.0
"""Replicas on a node: two slots of four executors."""

STORM_SYNCHRONISATION_TIME = 6.0
"""Seconds that Storm's rebalance takes, t_syn."""

STORM_MAX_REPLICAS = 3
LIMITS = Limits(response_time=0.150, cost=15.0, downtime=60.0)

LAN_DELAYS = (0.0024, 0.0033, 0.0042, 0.0051, 0.0027, 0.0036, 0.0045, 0.0030, 0.0039, 0.0048)
"""Seconds from each of the five nodes to each other, Storm's sending and receiving included.

In the order 1-2, 1-3, …, 4-5; ours, the paper prints none.
"""

JITTER = 0.25
"""Standard deviation of the logarithm of a measured delay."""

LOCAL_BANDWIDTH = 100e6
"""Bytes/s to and from a node's disk."""

BUFFER, RANK_BUFFER = 6, 12
"""Maximum queue length of a replica, in tuples, and for partialRank in bursts."""

POLYNOMIAL_DEGREE = 6
MAX_RATE = 320.0


def debs2015_storm(
    rate: float = 70.0,
    network: Network | None = None,
    *,
    weights: Weights | dict[str, float] | None = None,
    current: DeploymentLike | None = None,
) -> EdrpProblem:
    """The reference application under Storm: S-EDRP.

    Five nodes of eight executors, up to three replicas, t_syn of 6 s, at most 150 ms, 15 money/h and 60 s.
    Source and globalRank are pinned to the first node, which the eight operators fill when none has a second
    replica. Latencies are polynomials fitted to measurements (`measured_latency`).

    Parameters
    ----------
    rate
        Tuples/s that the source emits, at most 320: the polynomials are fitted up to there.
    network
        Default: `storm_cluster()`.
    weights
        Default: response time and cost, half each.
    current
        Deployment to reconfigure; none for an initial placement.

    Raises
    ------
    ValueError
        For a rate above 320 tuples/s.

    Examples
    --------
    >>> debs2015_storm(100.0).reconfiguration
    'storm'
    """
    if rate > MAX_RATE:
        raise ValueError(f"the latencies are fitted up to {MAX_RATE:g} tuples/s; {rate:g} lies beyond")
    network = storm_cluster() if network is None else network
    first = network.nodes[0].name
    return EdrpProblem(
        application=application(rate, STORM_MAX_REPLICAS, first, first, _latencies()),
        network=network,
        synchronisation_time=STORM_SYNCHRONISATION_TIME,
        weights=Weights(response_time=0.5, cost=0.5) if weights is None else weights,
        limits=LIMITS,
        current=current,
        reconfiguration="storm",
    )


def storm_cluster(seed: int | None = None) -> Network:
    """Build the cluster: five nodes in one room, with delays as measured once.

    Parameters
    ----------
    seed
        Seed of the measurement: delays differ from measurement to measurement, which makes S-EDRP move replicas
        (section 7.3); None gives the delays themselves.

    Examples
    --------
    >>> storm_cluster().delay("worker1", "worker2"), storm_cluster(seed=1).delay("worker1", "worker2") != 0.0024
    (0.0024, True)
    """
    noise = np.ones(len(LAN_DELAYS)) if seed is None else np.random.default_rng(seed).lognormal(0.0, JITTER, len(LAN_DELAYS))
    names = [f"worker{index + 1}" for index in range(STORM_NODES)]
    return Network(
        nodes=tuple({**edrp_parameters.NODE, "name": name, "resources": STORM_NODE_CAPACITY} for name in names),
        links=tuple(
            {
                "source": source,
                "target": target,
                "delay": float(delay * factor),
                "cost": edrp_parameters.LINK_PRICE,
            }
            for (source, target), delay, factor in zip(combinations(names, 2), LAN_DELAYS, noise, strict=True)
        ),
        store=edrp_parameters.STORE.replace(local_bandwidth=LOCAL_BANDWIDTH),
    )


def measured_latency(operator: str, rates: Floats) -> Floats:
    """Compute latencies in seconds at each rate with one replica, in place of the paper's measurements.

    The paper measured that M/M/1 fits poorly and fitted polynomials by least squares. Ours are the mean times
    in a queue with a bounded buffer (M/M/1/K), finite at every rate as measured ones are. partialRank gets its
    21.3 updates per tuple at once: its queue serves bursts. The two buffers are chosen so that partialRank is the
    bottleneck and 300 tuples/s cannot be had within 150 ms without replicas of it, as section 7.3 describes.
    """
    burst = RANK_UPDATES if operator == "partialRank" else 1.0
    service = edrp_parameters.SERVICE_RATE[operator] / burst
    queue_lengths = np.arange((RANK_BUFFER if operator == "partialRank" else BUFFER) + 1)
    share = (rates[:, None] / service) ** queue_lengths
    share /= share.sum(axis=1, keepdims=True)
    admitted = service * (1 - share[:, 0])
    return np.asarray((share * queue_lengths).sum(axis=1) / admitted)


@cache
def _latencies() -> dict[str, LatencyModel]:
    """Fit a polynomial per operator in its own input rate, at 22 source rates up to the highest."""
    rates = np.linspace(5.0, MAX_RATE, 22)
    fitted: dict[str, LatencyModel] = {}
    for name in edrp_parameters.SERVICE_RATE:
        load = rates * (RANK_UPDATES if name == "partialRank" else 1.0)
        fitted[name] = PolynomialLatency.fit(list(load), list(measured_latency(name, rates)), POLYNOMIAL_DEGREE)
    return fitted
