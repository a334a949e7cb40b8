"""Families of latency-aware placement problems: the test bed of the paper, and every shape on networks of unequal nodes."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np

from edrp.core.document import named_resources
from edrp.datasets.families.family import Family, Fields, first_line
from edrp.datasets.families.placement.networks import NETWORKS, NetworkMaker
from edrp.datasets.families.placement.shapes import SHAPES, ShapeMaker
from edrp.datasets.placement import latency_aware_test_bed as test_bed
from edrp.datasets.placement.latency_aware_test_bed import (
    CLOUD,
    CPU,
    DEVICE,
    EDGE_SERVER,
    MEGABYTE,
    MEMORY,
    draw_topology,
    packing,
    stream_back,
)
from edrp.datasets.random_numbers import rounded
from edrp.placement.application import Topology
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.network import Network

DEFAULT_LATENCY_AWARE_OPERATORS = 8
NODES_PER_OPERATOR = 1.25
MAX_LATENCY_AWARE_NODES = 200

NEEDED_CORE_SHARES = (0.1, 0.75)
"""Share of all cores that is needed."""

OVERLOAD_SHARE, OVERLOADED_CORE_SHARES = 0.05, (1.0, 1.3)
"""Probability that more is needed than all nodes may use, and then the range of the share of their cores."""

INSTANCES = (0.3, 0.4, 0.2, 0.1)
"""Probabilities that an operator between source and sink has one to four instances."""

NODE_SIZES = ((CLOUD, 0.15), (EDGE_SERVER, 0.35), (DEVICE, 0.5))
"""Cores and MB of nodes, and how often they are drawn: those of the paper's test bed."""

PINNED_SHARE = 0.3
"""Probability that the source is pinned, for example to the sensor that it reads."""

RUNNING_LATENCY_AWARE_SHARE = 0.3
"""Probability that the application runs already."""

ZONES = (2, 4)
WITHIN_ZONE, BETWEEN_ZONES = (1e-4, 1e-3), (2e-3, 2e-2)
"""Seconds."""

WEIGHTINGS: tuple[Fields, ...] = (
    {},
    {},
    {"supervisors": 2.0, "colocation": 0.5},
    {"supervisors": 0.25, "events": 2.0},
    {"latency": 1e-5},
)
"""Weights of the objective; the paper's own ones ({}) twice as often."""


def zones(nodes: int, random: np.random.Generator) -> Network:
    """Nodes in two to four zones; near to all of their own zone, and equally far from all others."""
    count = int(random.integers(ZONES[0], ZONES[1] + 1))
    members = [{"name": f"n{index}", "zone": f"z{int(random.integers(count))}"} for index in range(nodes)]
    within, between = (float(random.uniform(*delays)) for delays in (WITHIN_ZONE, BETWEEN_ZONES))
    return Network(nodes=members, within_zone={"delay": within}, between_zones={"delay": between})


NETWORK_MAKERS: dict[str, tuple[NetworkMaker, tuple[str, ...]]] = {
    "zones": (zones, ()),
    **{name: NETWORKS[name] for name in ("zoo", "geometric", "barabasi")},
}
"""Makers of networks by name, each with the packages that it needs; resources of the nodes are drawn again."""


def _families() -> list[Family]:
    """The test bed first, then shapes and networks crossed such that neighbours differ in both, then cycles."""
    crossed = [
        (shape, list(NETWORK_MAKERS)[(position + turn) % len(NETWORK_MAKERS)], False)
        for turn in range(len(NETWORK_MAKERS))
        for position, shape in enumerate(SHAPES)
    ]
    cyclic = [("series-parallel", "zones", True), ("layered", "geometric", True)]
    return [
        *(_test_bed(cyclic=cycle) for cycle in (False, True)),
        *(_crossed(shape, network, cyclic=cycle) for shape, network, cycle in crossed + cyclic),
    ]


_family = partial(Family, kind="latency-aware", size="operators", default_size=DEFAULT_LATENCY_AWARE_OPERATORS)


def _test_bed(*, cyclic: bool) -> Family:
    def make(operations: int, random: np.random.Generator) -> LatencyAwareProblem:
        load = round(float(random.uniform(*NEEDED_CORE_SHARES)), 3)
        seed = int(random.integers(2**32))
        return _varied(test_bed.random_problem(seed, operations=operations, load=load, cyclic=cyclic), random)

    return _family(
        name="continuum-cyclic" if cyclic else "continuum",
        summary=f"random topologies {'with a cycle ' if cyclic else ''}on the eleven supervisors of the paper's test bed",
        make=make,
        least_size=test_bed.MIN_OPERATIONS + cyclic,
    )


def _crossed(shape: str, network: str, *, cyclic: bool) -> Family:
    (make_shape, min_operators), (make_network, packages) = SHAPES[shape], NETWORK_MAKERS[network]
    return _family(
        name=f"{shape}-{network}{'-cyclic' if cyclic else ''}",
        summary=f"{first_line(make_shape)}{', one stream going back' if cyclic else ''}. {first_line(make_network)}",
        make=partial(_problem, make_shape=make_shape, make_network=make_network, cyclic=cyclic),
        least_size=min_operators + cyclic,
        packages=packages,
    )


def _problem(
    operators: int, random: np.random.Generator, make_shape: ShapeMaker, make_network: NetworkMaker, *, cyclic: bool
) -> LatencyAwareProblem:
    shape = make_shape(operators, random)
    network = _equipped(make_network(min(MAX_LATENCY_AWARE_NODES, max(3, round(NODES_PER_OPERATOR * operators))), random), random)
    inner = 1 + random.choice(len(INSTANCES), operators - 2, p=INSTANCES)
    back = stream_back(shape, random) if cyclic else None
    load = float(random.uniform(*NEEDED_CORE_SHARES))
    application = draw_topology(shape, [1, *inner.tolist(), 1], network, load, random, back)
    return _varied(LatencyAwareProblem(application=application, network=network), random)


def _equipped(network: Network, random: np.random.Generator) -> Network:
    """Give the nodes of a network the paper's three sizes; at least one is no device."""
    sizes = [size for size, _ in NODE_SIZES]
    drawn = random.choice(len(sizes), len(network.nodes), p=[share for _, share in NODE_SIZES])
    drawn[int(random.integers(drawn.size))] = int(random.integers(2))
    nodes = [
        {"name": node.name, "zone": node.zone, "resources": {CPU: sizes[size][0], MEMORY: sizes[size][1] * MEGABYTE}}
        for node, size in zip(network.nodes, drawn, strict=True)
    ]
    classes = {name: network.model_dump()[name] for name in ("within_zone", "between_zones")}
    if not network.links:
        return Network(**rounded({"nodes": nodes, **classes}))
    pairs = combinations([node.name for node in network.nodes], 2)
    links = [{"source": u, "target": v, "delay": network.delay(u, v)} for u, v in pairs]
    return Network(**rounded({"nodes": nodes, "links": links}))


def _varied(problem: LatencyAwareProblem, random: np.random.Generator) -> LatencyAwareProblem:
    """Vary a problem: other weights, a pinned source, a current deployment, or too much load."""
    changes: Fields = {"weights": WEIGHTINGS[int(random.integers(len(WEIGHTINGS)))]}
    packed = packing(problem.application, problem.network)
    source = problem.application.operators[0]
    pinned, running, overloaded = random.random(3) < (PINNED_SHARE, RUNNING_LATENCY_AWARE_SHARE, OVERLOAD_SHARE)
    application = problem.application
    if overloaded:
        application = _with_need(application, problem.network, float(random.uniform(*OVERLOADED_CORE_SHARES)))
    if pinned and packed is not None:
        # On the node where a packing has it, so that there still is a packing.
        first = source.replace(candidates=(packed[source.name][0],))
        application = application.replace(operators=(first, *application.operators[1:]))
    if running:
        changes["current"] = packed
    return problem.replace(application=application, **changes)


def _with_need(application: Topology, network: Network, share: float) -> Topology:
    """Scale the needs of an application for cores to a share of all cores."""
    offered = sum(named_resources(node.resources or {})[CPU] for node in network.nodes)
    needs = [named_resources(operator.resources) for operator in application.operators]
    instances = [operator.instances for operator in application.operators]
    factor = share * offered / sum(count * need[CPU] for count, need in zip(instances, needs, strict=True))
    operators = tuple(
        operator.replace(resources={**need, CPU: rounded(factor * need[CPU])})
        for operator, need in zip(application.operators, needs, strict=True)
    )
    return application.replace(operators=operators)


FAMILIES = tuple(_families())
"""Families of latency-aware placement, for the record of their kind."""
