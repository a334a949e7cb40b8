"""Families of deployment problems: every shape of application on every family of networks, and clusters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from edrp.datasets.families.family import Family, Fields, first_line
from edrp.datasets.families.placement.clusters import CLUSTER_FAMILIES, EARLIER_LEVELS
from edrp.datasets.families.placement.layered import longest_path_time, mean_delay
from edrp.datasets.families.placement.networks import EARLIER_NETWORKS, NETWORKS, NetworkMaker
from edrp.datasets.families.placement.plausible_deployments import near_fit, plain_amount, replicas_for
from edrp.datasets.families.placement.shapes import SHAPES, Shape, ShapeMaker
from edrp.datasets.placement import edrp_parameters
from edrp.datasets.random_numbers import rounded
from edrp.placement.application import Application
from edrp.placement.edrp import EdrpProblem
from edrp.placement.network import Network

DEFAULT_EDRP_OPERATORS = 6
NODES_PER_OPERATOR = 1.25
MAX_EDRP_NODES = 200

LOAD_LEVELS = (0.1, 1.04)
"""Load relative to what the bottleneck carries with all its replicas: above 1 no deployment is stable."""

RUNNING_EDRP_SHARE = 0.35
COPYING_SHARE = 0.3
"""Probability that an operator sends every tuple to all its successors instead of to one of them."""

REPLICAS = (0.4, 0.5, 0.1)
"""Probabilities that an operator may have one, two or three replicas."""

PINNED_UTILISATION = 0.4
"""Utilisation of source and sink at full load."""

NODE_ROOM = (1.0, 3.0)
"""Resources of all nodes relative to what all replicas need."""

SPEEDUPS = (0.8, 1.0, 1.0, 1.25, 1.5)
STATE_SIZES = (1e3, 3e7)
"""Bytes of those operators that have state."""

UNCHECKED_LIMIT_SHARE = 0.05
"""Probability that limits stay as drawn, whether they can be met or not."""

LIMIT_FACTORS = (0.9, 1.6)
"""Response-time limit relative to the time of the longest path with all replicas and mean delays."""

MAX_TIMED_LOAD = 0.95
"""Load at which that path is timed when the load is higher still: beyond it queues have no bounds."""

EDRP_DOWNTIME_LIMIT = 7.5
"""Seconds, T_D,max of EDRP, section 7.2."""

WEIGHTINGS: tuple[Fields, ...] = (
    {"response_time": 0.5, "cost": 0.5},
    {"response_time": 0.7, "cost": 0.3},
    {"response_time": 0.3, "cost": 0.7},
)
RECONFIGURATION_WEIGHTINGS: tuple[Fields, ...] = (
    {"response_time": 0.4, "cost": 0.3, "downtime": 0.3},
    {"response_time": 0.3, "cost": 0.3, "downtime": 0.4},
    {"response_time": 0.5, "cost": 0.5},
)


def _families() -> Iterator[Family]:
    """Shapes and networks crossed, in an order in which neighbours differ in both."""
    for turn in range(len(NETWORKS)):
        for position, (shape, (make_shape, min_operators)) in enumerate(SHAPES.items()):
            network, (make_network, packages) = list(NETWORKS.items())[(position + turn) % len(NETWORKS)]
            make, *earlier = (
                partial(_crossed, make_shape=make_shape, make_network=maker)
                for maker in (make_network, *EARLIER_NETWORKS.get(network, ()))
            )
            yield Family(
                name=f"{shape}-{network}",
                kind="edrp",
                summary=f"{first_line(make_shape)}. {first_line(make_network)}",
                make=make,
                size="operators",
                default_size=DEFAULT_EDRP_OPERATORS,
                least_size=min_operators,
                packages=packages,
                earlier=tuple(earlier),
            )


def _crossed(operators: int, random: np.random.Generator, make_shape: ShapeMaker, make_network: NetworkMaker) -> EdrpProblem:
    shape = make_shape(operators, random)
    network = make_network(min(MAX_EDRP_NODES, max(3, round(NODES_PER_OPERATOR * operators))), random)
    return placement_problem(shape, network, random)


def placement_problem(shape: Shape, network: Network, random: np.random.Generator) -> EdrpProblem:
    """A problem of kind `edrp` with random figures: from idle to overloaded, some with an application that already runs.

    Source and sink are pinned. Limits are such that few problems but the overloaded ones are infeasible.

    Parameters
    ----------
    network
        Delays and prices; resources and speed-ups of the nodes are drawn again.
    """
    level = float(random.uniform(*LOAD_LEVELS))
    operators, streams = _application(shape, [node.name for node in network.nodes], level, random)
    application = Application(operators=tuple(rounded(operators)), streams=streams)
    network = _equipped(network, application, random)
    current = None
    if random.random() < RUNNING_EDRP_SHARE:
        earlier = replicas_for(application, float(random.uniform(*EARLIER_LEVELS)), random)
        current = near_fit(application, network, earlier, random, choices=3)
    weightings = WEIGHTINGS if current is None else RECONFIGURATION_WEIGHTINGS
    problem = EdrpProblem(
        application=application,
        network=network,
        synchronisation_time=edrp_parameters.SYNCHRONISATION_TIME,
        weights=weightings[int(random.integers(len(weightings)))],
        limits=rounded(_limits(application, network, level, random)),
        current=current,
    )
    return problem if random.random() < UNCHECKED_LIMIT_SHARE else _attainable(problem, random)


def _application(
    shape: Shape, nodes: list[str], level: float, random: np.random.Generator
) -> tuple[list[Fields], tuple[Fields, ...]]:
    """Draw operators and streams; operators of one role have the same parameters."""
    count, roles = shape.operators, np.array(shape.roles)
    drawn = _figures_of_roles(int(roles.max()) + 1, random)
    replicas, utilisation, selectivity = (drawn[name][roles] for name in ("replicas", "utilisation", "selectivity"))
    copies = random.random(count) < COPYING_SHARE
    load = np.zeros(count)
    load[0] = random.uniform(100.0, 400.0)
    for i in range(count):
        targets = [target for source, target in shape.streams if source == i]
        if not copies[i] or len(set(roles[targets])) < len(targets):
            selectivity[i] /= max(1, len(targets))
        load[targets] += selectivity[i] * load[i]
    source, sink = random.choice(len(nodes), 2, replace=len(nodes) < 2)
    pins = {0: nodes[source], count - 1: nodes[sink]}
    operators = [
        {
            "name": f"o{i}",
            "latency": {"model": "mm1", "service_rate": float(load[i] / (replicas[i] * utilisation[i]))},
            "state_size": float(drawn["state_size"][roles[i]]),
            "code_size": edrp_parameters.CODE_SIZE,
            "resources": float(drawn["resources"][roles[i]]),
            "cost": edrp_parameters.OPERATOR_COST,
            "max_replicas": int(replicas[i]),
            "candidates": [pins[i]] if i in pins else None,
            "external_rate": float(level * load[0]) if i == 0 else 0.0,
            "selectivity": float(selectivity[i]),
        }
        for i in range(count)
    ]
    return operators, tuple({"source": f"o{i}", "target": f"o{j}"} for i, j in shape.streams)


def _figures_of_roles(roles: int, random: np.random.Generator) -> Fields:
    """Draw parameters by role, each of shape (roles,); the first role is the source, the last the sink."""
    utilisation = random.uniform(0.3, 1.0, roles)
    utilisation[1:-1] /= utilisation[1:-1].max(initial=1e-9)
    replicas = random.choice([1, 2, 3], roles, p=REPLICAS)
    smallest, largest = np.log(STATE_SIZES)
    state = np.exp(random.uniform(smallest, largest, roles)) * (random.random(roles) < 0.6)
    resources = random.choice([1.0, 2.0], roles, p=[0.8, 0.2])
    for end in (0, -1):
        utilisation[end], replicas[end], resources[end] = PINNED_UTILISATION, 1, 1.0
    return {
        "utilisation": utilisation,
        "replicas": replicas,
        "selectivity": random.uniform(0.6, 1.3, roles),
        "state_size": state,
        "resources": resources,
    }


def _equipped(network: Network, application: Application, random: np.random.Generator) -> Network:
    """Give the network about the resources that the application needs; every other draw has unequal nodes."""
    count = len(network.nodes)
    needed = sum(operator.max_replicas * plain_amount(operator.resources) for operator in application.operators)
    room = max(edrp_parameters.NODE_RESOURCES, float(np.ceil(needed * random.uniform(*NODE_ROOM) / count)))
    resources = np.full(count, room)
    speedup = np.ones(count)
    if random.random() < 0.5:
        resources += random.integers(0, 2, count)
        speedup = random.choice(SPEEDUPS, count)
    described = network.model_dump(exclude={"nodes"})
    nodes = [
        {**node.model_dump(), "resources": float(amount), "speedup": float(speed)}
        for node, amount, speed in zip(network.nodes, resources, speedup, strict=True)
    ]
    return Network(**rounded({"nodes": nodes, **described}))


def _limits(application: Application, network: Network, level: float, random: np.random.Generator) -> Fields:
    traffic = sum(application.rate(stream.source, stream.target) for stream in application.streams)
    replicas = sum(operator.max_replicas * operator.replica_cost for operator in application.operators)
    path_time = longest_path_time(application, mean_delay(network), min(1.0, MAX_TIMED_LOAD / level))
    return {
        "response_time": path_time * random.uniform(*LIMIT_FACTORS),
        "cost": (replicas + traffic * edrp_parameters.LINK_PRICE) * random.uniform(*LIMIT_FACTORS),
        "downtime": EDRP_DOWNTIME_LIMIT,
    }


def _attainable(problem: EdrpProblem, random: np.random.Generator) -> EdrpProblem:
    """Widen the limits of a problem to the metrics of a deployment with all replicas near each other.

    Where that deployment is overloaded or finds no room, limits stay as they are.
    """
    replicas = {operator.name: operator.max_replicas for operator in problem.application.operators}
    witness = near_fit(problem.application, problem.network, replicas, random)
    if witness is None:
        return problem
    reached = problem.evaluate(witness).metrics
    if math.isinf(reached["response_time"]):
        return problem
    drawn = problem.limits.model_dump(exclude_defaults=True)
    return problem.replace(limits=rounded({name: max(limit, reached[name] * (1 + 1e-5)) for name, limit in drawn.items()}))


FAMILIES = (*_families(), *CLUSTER_FAMILIES)
"""Families of deployment problems, for the record of their kind."""
