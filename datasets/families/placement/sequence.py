"""Families of sequences of deployments: applications that need more replicas by day than by night."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.families.family import Family, first_line
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import longest_path_time, mean_delay
from edrp.datasets.families.placement.shapes import SHAPES
from edrp.datasets.placement import edrp_parameters
from edrp.datasets.random_numbers import rounded
from edrp.placement.application import Application
from edrp.placement.network import Network
from edrp.placement.sequence import EdrpSequence

DEFAULT_OPERATORS, DEFAULT_PERIODS = 6, 24
NODES_PER_OPERATOR = 1.4
DAY = 86_400.0

REPLICAS = 3
"""Most replicas of an operator on a network; the source and the sink have one."""

PEAK_SHARE = (0.6, 0.9)
"""Share of what all replicas can take that the busiest period brings."""

NIGHT = (0.1, 0.35)
"""Load of the quietest time relative to the busiest."""

NODE_ROOM = (1.3, 2.5)
"""Resources of all nodes relative to what all replicas need."""

START_HOURS = (0.3, 1.0)
"""Hours of a replica's rent that its start costs."""

CHANGE_HOURS = (0.0, 0.0, 0.1, 0.5)
"""Hours of all replicas' rent at half load that any change costs."""

STATE_SIZE = (1e5, 3e8)
"""Bytes of an operator's state."""

LIMIT_ROOM = 3.0
"""Limits relative to the response time and cost with all replicas."""

SLOTS_REPLICAS = 8
"""Most replicas of an operator on a cluster."""


def day_curve(periods: int, random: np.random.Generator) -> Floats:
    """Loads of a day relative to the busiest period: a quiet night, a morning and an evening peak, and noise.

    >>> curve = day_curve(24, np.random.default_rng(0))
    >>> float(curve.max()), bool(curve.min() < 0.4)
    (1.0, True)
    """
    hours = (np.arange(periods) + 0.5) * 24 / periods
    night = random.uniform(*NIGHT)
    morning, evening = random.uniform(8, 10), random.uniform(17, 20)
    shape = np.maximum(
        random.uniform(0.7, 1.0) * np.exp(-(((hours - morning) / 2.5) ** 2)), np.exp(-(((hours - evening) / 3.0) ** 2))
    )
    loads = (night + (1 - night) * shape) * random.uniform(0.93, 1.07, periods)
    return np.asarray(np.round(loads / loads.max(), 4))


def elastic_sequence(
    seed: int, *, operators: int = DEFAULT_OPERATORS, nodes: int | None = None, periods: int = DEFAULT_PERIODS
) -> EdrpSequence:
    """An instance of the family `elastic` by its seed, with any number of nodes and periods."""
    return _elastic(operators, np.random.default_rng([seed, operators, 2026]), nodes=nodes, periods=periods)


def _elastic(
    operators: int, random: np.random.Generator, *, nodes: int | None = None, periods: int = DEFAULT_PERIODS
) -> EdrpSequence:
    """Operators on nodes of a plane that need one replica by night and two or three by day."""
    nodes = nodes or max(3, round(NODES_PER_OPERATOR * operators))
    names = [name for name, (_, least) in SHAPES.items() if least <= operators]
    shape = SHAPES[names[int(random.integers(len(names)))]][0](operators, random)
    network = geometric(nodes, int(random.integers(2**31)))
    pins = dict(zip((0, operators - 1), random.choice([node.name for node in network.nodes], 2), strict=True))
    application = _application(shape.streams, operators, REPLICAS, {i: str(node) for i, node in pins.items()}, random)
    room = sum(operator.max_replicas for operator in application.operators) * random.uniform(*NODE_ROOM) / nodes
    described = network.model_dump(exclude={"nodes"})
    placed = [{**node.model_dump(), "resources": float(max(2, round(room)))} for node in network.nodes]
    return _over_a_day(application, Network(**rounded({"nodes": placed, **described})), day_curve(periods, random), random)


def _replicas_only(operators: int, random: np.random.Generator) -> EdrpSequence:
    """A chain on a cluster of one node, where only the numbers of replicas count."""
    streams = tuple((i, i + 1) for i in range(operators - 1))
    application = _application(streams, operators, SLOTS_REPLICAS, {}, random)
    slots = float(round(operators * SLOTS_REPLICAS * random.uniform(0.95, 1.1)))
    network = Network(nodes=[{"name": "cluster", "resources": slots}])
    return _over_a_day(application, network, day_curve(DEFAULT_PERIODS, random), random)


def _application(
    streams: tuple[tuple[int, int], ...], count: int, replicas: int, pins: dict[int, str], random: np.random.Generator
) -> Application:
    """Operators that need a share of all their replicas under the busiest load; those that are pinned have one replica."""
    load, share = np.zeros(count), random.uniform(0.5, 1.0, count)
    load[0] = random.uniform(100, 400)
    for i in range(count):
        targets = [target for source, target in streams if source == i]
        share[i] /= max(1, len(targets)) if random.random() < 0.5 else 1
        load[targets] += share[i] * load[i]
    operators = []
    for i in range(count):
        most = 1 if i in pins else replicas
        operators.append(
            {
                "name": f"o{i}",
                "latency": {"model": "mm1", "service_rate": float(load[i] / (most * random.uniform(*PEAK_SHARE)))},
                "state_size": float(np.exp(random.uniform(*np.log(STATE_SIZE)))),
                "cost": edrp_parameters.OPERATOR_COST,
                "max_replicas": most,
                "candidates": [pins[i]] if i in pins else None,
                "external_rate": float(load[0]) if i == 0 else 0.0,
                "selectivity": float(share[i]),
            }
        )
    return Application(operators=rounded(operators), streams=[{"source": f"o{i}", "target": f"o{j}"} for i, j in streams])


def _over_a_day(application: Application, network: Network, curve: Floats, random: np.random.Generator) -> EdrpSequence:
    """The application over a day, with limits that do not bind and prices relative to the rent of replicas."""
    rent = sum(operator.max_replicas * operator.replica_cost for operator in application.operators)
    traffic = sum(application.rate(stream.source, stream.target) for stream in application.streams)
    path_time = longest_path_time(application, mean_delay(network) if len(network.nodes) > 1 else 0.0, 1.0)
    limits = {"response_time": LIMIT_ROOM * path_time, "cost": LIMIT_ROOM * (rent + traffic * edrp_parameters.LINK_PRICE)}
    hour = 3600 * 0.5 / limits["cost"]  # of a unit of money, with a weight of one half
    state = max(operator.state_size for operator in application.operators)
    start = hour * edrp_parameters.OPERATOR_COST * random.uniform(*START_HOURS)
    prices = {
        "started_replicas": start,
        "moved_state": start / state * random.uniform(0.5, 2.0),
        "change": hour * 0.5 * rent * float(random.choice(CHANGE_HOURS)),
    }
    rate = application.operators[0].external_rate
    periods = [{"duration": DAY / len(curve), "external_rates": {"o0": rounded(float(rate * factor))}} for factor in curve]
    return EdrpSequence(
        application=application,
        network=network,
        weights={"response_time": 0.5, "cost": 0.5},
        limits=rounded(limits),
        periods=periods,
        changes=rounded(prices),
    )


FAMILIES = tuple(
    Family(
        name=name,
        kind="edrp-sequence",
        summary=first_line(make),
        make=make,
        size="operators",
        default_size=DEFAULT_OPERATORS,
        least_size=3,
    )
    for name, make in (("elastic", _elastic), ("cluster", _replicas_only))
)
"""Families of sequences, for the record of their kind."""
