"""Random layered applications on random networks."""

from __future__ import annotations

import numpy as np

from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.shapes import layered_shape
from edrp.datasets.placement import edrp_parameters
from edrp.placement.application import Application
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import Limits, Weights
from edrp.placement.network import Network


def layered(operators: int, seed: int, *, nodes: int = 24, max_replicas: int = 3, resources: float = 2.0) -> EdrpProblem:
    """A random layered application, to be placed for response time and cost in equal parts.

    A pinned source, layers of one to three operators, a pinned sink. Every operator has one or two predecessors
    in the layer before it (the sink has all of them), and sometimes a third one that otherwise would have no
    successor. Its load is between 50 and 150 tuples/s, in equal parts from its predecessors. Its queue (M/M/1)
    serves between 0.6 and 1.8 times that with one replica: some operators need a second replica, for others more
    replicas only help. With queues of 10 to 40 ms and delays of 32 ms on average neither dominates. Replicas use one
    unit of resources and cost 1 money/h. The response limit is the time of the longest path with all replicas in use
    and mean delays on every stream; the cost limit pays for all replicas.

    Parameters
    ----------
    operators
        Number of operators, source and sink included; at least 3.
    seed
        The same seed gives the same problem.
    nodes
        Size of the `geometric` network: with two replicas a node, 15 operators fit comfortably on 24 nodes and
        tightly on 16.
    max_replicas
        Maximum replicas of each operator that is not pinned.
    resources
        Resources of each node.

    Raises
    ------
    ValueError
        For fewer than three operators.

    Examples
    --------
    >>> problem = layered(10, seed=0)
    >>> len(problem.application.operators), len(problem.network.nodes)
    (10, 24)
    """
    if operators < 3:
        raise ValueError(f"a layered application needs a source, a sink and an operator between them, not {operators} operators")
    random = np.random.default_rng(seed)
    network = geometric(nodes, seed, resources=resources)
    streams = layered_shape(operators, random).streams
    source_node, sink_node = random.choice(nodes, 2, replace=nodes < 2)
    load = random.uniform(50.0, 150.0, operators)
    service_rate = load * random.uniform(0.6, 1.8, operators)
    described = []
    for index in range(operators):
        pinned = index in (0, operators - 1)
        described.append(
            {
                "name": f"o{index}",
                "latency": {"model": "mm1", "service_rate": max(2.0 * load[index] if pinned else 0.0, service_rate[index])},
                "cost": edrp_parameters.OPERATOR_COST,
                "max_replicas": 1 if pinned else max_replicas,
                "candidates": (f"n{sink_node if index else source_node}",) if pinned else None,
                "external_rate": load[0] if index == 0 else 0.0,
            }
        )
    incoming = np.bincount([target for _, target in streams], minlength=operators)
    joined = tuple({"source": f"o{i}", "target": f"o{j}", "rate": load[j] / incoming[j]} for i, j in streams)
    application = Application(operators=tuple(described), streams=joined)
    path_time = longest_path_time(application, mean_delay(network))
    limits = Limits(response_time=path_time, cost=float(2 + (operators - 2) * max_replicas))
    return EdrpProblem(
        application=application,
        network=network,
        synchronisation_time=edrp_parameters.SYNCHRONISATION_TIME,
        weights=Weights(response_time=0.5, cost=0.5),
        limits=limits,
    )


def mean_delay(network: Network) -> float:
    """Compute the mean delay of the links in seconds; 0 for a single node."""
    return sum(link.delay for link in network.links) / max(1, len(network.links))


def longest_path_time(application: Application, delay: float, share: float = 1.0) -> float:
    """Compute the time of the longest path in seconds, with all replicas, `delay` on every stream and a share of the load."""
    finish: dict[str, float] = {}
    for name in application.topological_order:
        operator = application.by_name[name]
        assert operator.latency is not None
        arrived = [finish[stream.source] + delay for stream in application.streams if stream.target == name]
        replicas = operator.max_replicas
        finish[name] = max(arrived, default=0.0) + operator.latency.at(share * application.load(name) / replicas, replicas)
    return max(finish.values())
