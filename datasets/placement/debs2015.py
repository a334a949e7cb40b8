"""The DEBS 2015 Grand Challenge application: the most frequent taxi routes (EDRP, section 7.1, Fig. 4, Table II)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edrp.datasets.placement import edrp_parameters
from edrp.datasets.placement.topologies import ansnet
from edrp.placement.application import Application
from edrp.placement.deployment import DeploymentLike
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import LatencyModel, Mm1Latency
from edrp.placement.metric_values import Limits, Weights
from edrp.placement.network import Network

RANK_UPDATES = 21.3
"""Tuples on countByWindow → partialRank per tuple of the source.

The paper does not print it. Its second partialRank replica pays off at 105 tuples/s, and two replicas must be
stable at 220: 20.5 ≤ α < 21.55.
"""

METRONOME_RATE = 1.0
"""Ticks per second on metronome → countByWindow."""

REPLICABLE = ("parser", "filterByCoordinates", "computeRouteID", "countByWindow", "partialRank")
"""Operators that may have replicas; source and globalRank are pinned, the metronome keeps one instance."""

ANSNET_PINS = ("Washington, DC", "Hawaii")
"""Nodes of source and globalRank on ANSNET.

The paper does not print them. Pairs within 80 ms of each other respond 25 ms and more below Table III, or reach
the peak of 220 tuples/s without any deployment within 175 ms. Among the pairs farther apart, only Washington, DC and
Reston with Hawaii (84 ms) have deployments all the hour and make exactly the three reconfigurations that the paper
describes for the balanced weights.
"""

LIMITS = Limits(response_time=0.175, cost=30.0, downtime=7.5)
"""R_max, C_max and T_D,max of section 7.2."""

BALANCED_START = Weights(response_time=0.5, cost=0.5)
"""Weights of the initial placement in section 7.2."""


def debs2015(
    rate: float = 70.0,
    network: Network | None = None,
    *,
    max_replicas: int = 2,
    weights: Weights | dict[str, float] | None = None,
    limits: Limits | dict[str, float] | None = None,
    current: DeploymentLike | None = None,
    source_node: str | None = None,
    sink_node: str | None = None,
) -> EdrpProblem:
    """The reference application of the EDRP paper on a network.

    Parameters
    ----------
    rate
        Tuples/s that the source emits. Beyond 220 with two replicas, or 233 with source and metronome
        single, some operator is unstable and the problem infeasible.
    network
        Default: `ansnet(15)`.
    max_replicas
        Maximum replicas of each operator that may have more than one (k).
    weights
        Default: response time and cost, half each.
    limits
        Default: 175 ms, 30 money/h, 7.5 s.
    current
        Deployment to reconfigure; none for an initial placement.
    source_node, sink_node
        Where source and globalRank are pinned. Default: on ANSNET Washington, DC and Hawaii, 84 ms apart; on any
        other network the two nodes that are farthest apart.

    Returns
    -------
    EdrpProblem
        Ready to solve.

    Examples
    --------
    >>> problem = debs2015(rate=105.0)
    >>> problem.application.load("countByWindow"), round(problem.application.rate("countByWindow", "partialRank"), 1)
    (106.0, 2236.5)
    """
    network = ansnet() if network is None else network
    source, sink = _pins(network)
    return EdrpProblem(
        application=application(rate, max_replicas, source_node or source, sink_node or sink, queues()),
        network=network,
        synchronisation_time=edrp_parameters.SYNCHRONISATION_TIME,
        weights=BALANCED_START if weights is None else weights,
        limits=LIMITS if limits is None else limits,
        current=current,
    )


def queues() -> dict[str, LatencyModel]:
    """Return the latency model of every operator: an M/M/1 queue with its service rate (EDRP, section 7.2)."""
    return {name: Mm1Latency(service_rate=service_rate) for name, service_rate in edrp_parameters.SERVICE_RATE.items()}


def application(
    rate: float, max_replicas: int, source_node: str, sink_node: str, latency: Mapping[str, LatencyModel]
) -> Application:
    """Build the eight operators and their streams at a source rate in tuples/s (edges of Fig. 4)."""
    pins = {"source": (source_node,), "globalRank": (sink_node,)}
    operators: list[dict[str, Any]] = [
        {
            "name": name,
            "latency": model,
            "state_size": edrp_parameters.STATE_SIZE.get(name, 0.0),
            "code_size": edrp_parameters.CODE_SIZE,
            "cost": edrp_parameters.OPERATOR_COST,
            "max_replicas": max_replicas if name in REPLICABLE else 1,
            "candidates": pins.get(name),
            "external_rate": rate if name == "source" else 0.0,
        }
        for name, model in latency.items()
    ]
    rates = {
        ("source", "parser"): rate,
        ("parser", "filterByCoordinates"): rate,
        ("filterByCoordinates", "computeRouteID"): rate,
        ("filterByCoordinates", "metronome"): rate,
        ("computeRouteID", "countByWindow"): rate,
        ("metronome", "countByWindow"): METRONOME_RATE,
        ("countByWindow", "partialRank"): RANK_UPDATES * rate,
        ("partialRank", "globalRank"): rate,
    }
    streams = tuple({"source": source, "target": target, "rate": value} for (source, target), value in rates.items())
    return Application(operators=tuple(operators), streams=streams)


def _pins(network: Network) -> tuple[str, str]:
    if all(name in network.by_name for name in ANSNET_PINS):
        return ANSNET_PINS
    farthest = max(network.links, key=lambda link: link.delay, default=None)
    return (farthest.source, farthest.target) if farthest else (network.nodes[0].name, network.nodes[0].name)
