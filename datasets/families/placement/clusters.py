"""Clusters as stream processors run on: few equal nodes, many slots on each, many replicas, short delays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from edrp.datasets.families.family import Family, Fields
from edrp.datasets.families.placement.layered import longest_path_time
from edrp.datasets.families.placement.plausible_deployments import replicas_for
from edrp.datasets.families.placement.shapes import ShapeMaker, layered_shape, sequential
from edrp.datasets.random_numbers import rounded
from edrp.placement.application import Application
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.network import Network

SIZES = ((4, 8, 12), (8, 8, 12), (16, 8, 24), (32, 16, 24))
"""Nodes, slots of each, and maximum replicas of an operator."""

NEEDED_SLOT_SHARES = (0.25, 0.6)
"""Share of all slots that operators need for their load."""

WITHIN_ZONE, BETWEEN_ZONES = (0.0001, 0.0005), (0.0006, 0.002)
"""Seconds, one way."""

CLUSTER_LOADS = (2e3, 5e4)
"""Tuples/s from the source."""

STATE_SIZES = (1e6, 2e9)
"""Bytes of those operators that have state."""

CLUSTER_STORE = {"delay": 0.001, "bandwidth": 1.25e8}
CLUSTER_SPAWN_TIME = 0.5
CLUSTER_SYNCHRONISATION_TIME = 0.2
CLUSTER_DOWNTIME_LIMIT = 30.0
EARLIER_LEVELS = (0.5, 1.5)
"""Load for which a running application was deployed, relative to the load now."""

WEIGHTINGS: tuple[Fields, ...] = (
    {"response_time": 1.0},
    {"response_time": 0.5, "cost": 0.5},
    {"response_time": 0.2, "cost": 0.8},
    {"cost": 1.0},
)
RUNNING_WEIGHTINGS: tuple[Fields, ...] = (
    {"response_time": 0.4, "cost": 0.3, "downtime": 0.3},
    {"response_time": 0.7, "cost": 0.1, "downtime": 0.2},
    {"response_time": 0.5, "cost": 0.5},
)


def cluster(
    operators: int,
    random: np.random.Generator,
    *,
    shape: ShapeMaker = layered_shape,
    zones: int = 1,
    running: bool = False,
    size: tuple[int, int, int] | None = None,
    weights: Fields | None = None,
) -> EdrpProblem:
    """A random application on a cluster of equal nodes.

    Operators need a quarter to six tenths of all slots for their load, M/M/1 queues each, and may have up to 12 or 24
    replicas. With latencies and delays both below a millisecond, a stream that stays on one node is worth a replica or two.

    Parameters
    ----------
    running
        Whether the application already runs, deployed for half to one and a half times the load, its replicas dealt to the
        nodes in turn.
    size
        Nodes, slots of each, and maximum replicas; one of `SIZES` with room for the operators when None.
    weights
        Weights of the metrics; drawn when None.
    """
    if size is None:
        fitting = [sizes for sizes in SIZES if sizes[0] * sizes[1] * NEEDED_SLOT_SHARES[0] >= operators]
        size = fitting[int(random.integers(len(fitting)))] if fitting else SIZES[-1]
    nodes, slots, max_replicas = size
    application = _application(shape, operators, nodes * slots, max_replicas, random)
    network = _network(nodes, slots, zones, random)
    delay = BETWEEN_ZONES[1] if zones > 1 else WITHIN_ZONE[1]
    weightings = RUNNING_WEIGHTINGS if running else WEIGHTINGS
    drawn = weightings[int(random.integers(len(weightings)))]
    limits = {
        "response_time": 2.0 * longest_path_time(application, delay),
        "cost": float(sum(o.max_replicas for o in application.operators)),
        "downtime": CLUSTER_DOWNTIME_LIMIT,
    }
    return EdrpProblem(
        application=application,
        network=network,
        synchronisation_time=CLUSTER_SYNCHRONISATION_TIME,
        weights=weights or drawn,
        limits=rounded(limits),
        current=_dealt(application, network, slots, random) if running else None,
    )


def _application(shape: ShapeMaker, count: int, slots: int, max_replicas: int, random: np.random.Generator) -> Application:
    streams = shape(count, random).streams
    needed = random.uniform(0.3, 3.0, count)
    needed = np.clip(np.rint(needed * slots * random.uniform(*NEEDED_SLOT_SHARES) / needed.sum()), 1, max_replicas // 2)
    load = np.zeros(count)
    load[0] = random.uniform(*CLUSTER_LOADS)
    selectivity = random.uniform(0.6, 1.2, count)
    leaving = np.bincount([i for i, _ in streams], minlength=count)
    for i, j in streams:
        load[j] += selectivity[i] / leaving[i] * load[i]
    smallest, largest = np.log(STATE_SIZES)
    state = np.exp(random.uniform(smallest, largest, count)) * (random.random(count) < 0.5)
    operators = [
        {
            "name": f"o{i}",
            "latency": {"model": "mm1", "service_rate": float(load[i] / (needed[i] * random.uniform(0.6, 0.95)))},
            "state_size": float(state[i]),
            "code_size": 1e6,
            "cost": 1.0,
            "max_replicas": max_replicas,
            "external_rate": float(load[0]) if i == 0 else 0.0,
            "selectivity": float(selectivity[i] / max(1, leaving[i])),
        }
        for i in range(count)
    ]
    joined = tuple({"source": f"o{i}", "target": f"o{j}"} for i, j in streams)
    return Application(operators=tuple(rounded(operators)), streams=joined)


def _network(nodes: int, slots: int, zones: int, random: np.random.Generator) -> Network:
    described = [
        {"name": f"tm{u}", "resources": slots, "spawn_time": CLUSTER_SPAWN_TIME, "zone": "abc"[u * zones // nodes]}
        for u in range(nodes)
    ]
    links = {"within_zone": {"delay": float(random.uniform(*WITHIN_ZONE))}}
    if zones > 1:
        links["between_zones"] = {"delay": float(random.uniform(*BETWEEN_ZONES))}
    return Network(**rounded({"nodes": described, **links, "store": CLUSTER_STORE}))


def _dealt(application: Application, network: Network, slots: int, random: np.random.Generator) -> Deployment:
    """Deploy replicas for an earlier load, dealt to the nodes in turn; those without room are left out."""
    replicas = replicas_for(application, float(random.uniform(*EARLIER_LEVELS)), random)
    names = [node.name for node in network.nodes]
    room, turn = len(names) * slots, 0
    chosen: dict[str, list[str]] = {}
    for number, (name, count) in enumerate(replicas.items()):
        count = max(1, min(count, room - turn - (len(replicas) - number - 1)))
        chosen[name] = [names[(turn + n) % len(names)] for n in range(count)]
        turn += count
    return Deployment(chosen)


def _families() -> Iterator[Family]:
    shapes: dict[str, ShapeMaker] = {"sequential": sequential, "layered": layered_shape}
    for running, zones, (name, shape) in product((False, True), (1, 2, 3), shapes.items()):
        zones_text = f"{zones} zones" if zones > 1 else "one zone"
        yield Family(
            name=f"{name}-cluster" + (f"-{zones}-zones" if zones > 1 else "") + ("-running" if running else ""),
            kind="edrp",
            summary=f"A {name} application on equal nodes in {zones_text}" + (", already running." if running else "."),
            make=partial(cluster, shape=shape, zones=zones, running=running),
            size="operators",
            default_size=10,
            least_size=3,
        )


CLUSTER_FAMILIES = tuple(_families())
"""Chains and layered applications, on one to three zones, to be deployed and to be reconfigured."""
