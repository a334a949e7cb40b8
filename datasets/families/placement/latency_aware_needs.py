"""Random rates and needs of the operations of a latency-aware placement problem, for which the paper prints no figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.document import Resources, named_resources
from edrp.datasets.families.placement.shapes import Shape
from edrp.datasets.random_numbers import rounded
from edrp.placement.application import Topology
from edrp.placement.deployment import Deployment
from edrp.placement.network import Network

CPU, MEMORY = "cpu", "memory"
"""Resources: cores and bytes."""

MEGABYTE = 1e6

FULL_RATE = 1000.0
"""Tuples/s of the source at load 1; the objective knows only shares of rates."""

SELECTIVITIES = (0.4, 1.2)
"""Tuples that an operation puts on each of its streams per tuple it receives. With the copies that a split makes, some
topologies put out more than they take in and some less."""

BACK_SHARE = 0.1
"""Tuples on a stream that goes back, relative to the other tuples of its receiver."""

WORK_FACTORS = (0.5, 1.5)
"""Random factor on the cores that an operation needs."""

MEMORY_SHARE = (0.6, 1.0)
"""Share of the cluster's memory that is needed per share of its cores. Edge servers have the least memory per core: from
about 0.68 on their memory is full before their cores."""

MAX_CORES, MAX_MEGABYTES = 0.6, 512
"""Needs of one instance: one fits on an edge server next to a smaller one, two on the cloud; a device has 0.285 usable cores."""

UTILISATION = 0.95
"""Usable share of a supervisor's cores, as in the paper (section 4.2)."""

SHRINK_FACTOR = 0.95
"""Factor by which all needs shrink, repeatedly, until a packing is found."""


def draw_topology(
    shape: Shape,
    instances: Sequence[int],
    network: Network,
    load: float,
    random: np.random.Generator,
    back: tuple[int, int] | None = None,
) -> Topology:
    """Draw rates and needs for a shape such that its instances use a share of the network.

    * Rates: the source brings `load` times `FULL_RATE`. An operation sends selectivity × the tuples that it receives on
      each of its streams. Rates are written for all streams.
    * Cores of an instance: one half the same for all operations, one half by the tuples that it receives, times a
      random factor; scaled so that all instances need `load` of the network's cores, none more than `MAX_CORES`.
    * Memory of an instance: half the same, half at random; all together `MEMORY_SHARE` of `load`.
    * Where `packing` finds no place for all, all needs shrink by 5 % until it does. Cores are rounded to thousandths,
      memory to MB.

    Parameters
    ----------
    instances : shape (operations,)
        Number of instances of each operation.
    back
        Stream that closes a cycle; its tuples are added to the others.
    """
    received, rates = _rates(shape, load, random, back)
    counts = np.array(instances, float)
    share = received / counts
    cores = (0.5 + 0.5 * share / share.mean()) * random.uniform(*WORK_FACTORS, shape.operators)
    memory = random.uniform(0.5, 1.5, shape.operators)
    memory_load = load * float(random.uniform(*MEMORY_SHARE))
    all_cores, all_memory = np.array([_amounts(node.resources) for node in network.nodes]).sum(axis=0)
    cores = _scaled(cores, counts, load * all_cores, MAX_CORES)
    memory = _scaled(memory, counts, memory_load * all_memory, MAX_MEGABYTES * MEGABYTE)
    streams = tuple({"source": f"o{i}", "target": f"o{j}", "rate": rounded(rate)} for (i, j), rate in rates.items())
    while True:
        operators = tuple(
            {"name": f"o{i}", "resources": _resources(cores[i], memory[i]), "instances": count}
            for i, count in enumerate(instances)
        )
        operators[0]["external_rate"] = rounded(load * FULL_RATE)
        topology = Topology(operators=operators, streams=streams)
        if packing(topology, network) is not None:
            return topology
        cores, memory = cores * SHRINK_FACTOR, memory * SHRINK_FACTOR


def packing(application: Topology, network: Network) -> Deployment | None:
    """Pack the instances by first fit, those with the greatest need first; None where one finds no room.

    At most 95 % of a node's cores are used. Candidates of operators are ignored.

    >>> network = Network(nodes=[{"name": name, "resources": {"cpu": 1.0, "memory": 1.0}} for name in "ab"])
    >>> operators = [{"name": "o", "resources": {"cpu": 0.4, "memory": 0.1}, "instances": 3}]
    >>> packing(Topology(operators=operators), network)["o"]
    ('a', 'a', 'b')
    """
    free = np.array([_amounts(node.resources) for node in network.nodes])
    free[:, 0] *= UTILISATION
    needs = np.array([_amounts(operator.resources) for operator in application.operators])
    neediest_first = np.argsort(-(needs / free.sum(axis=0)).max(axis=1), kind="stable")
    chosen: dict[str, list[str]] = {}
    for i in neediest_first:
        operator = application.operators[i]
        for _ in range(operator.instances):
            fitting = np.flatnonzero((free >= needs[i] - 1e-9).all(axis=1))
            if fitting.size == 0:
                return None
            free[fitting[0]] -= needs[i]
            chosen.setdefault(operator.name, []).append(network.nodes[fitting[0]].name)
    return Deployment(chosen)


def _amounts(resources: Resources | None) -> list[float]:
    """Cores and bytes among resources that name both."""
    named = named_resources(resources or {})
    return [named[CPU], named[MEMORY]]


def _resources(cores: float, memory: float) -> dict[str, float]:
    return {CPU: max(1.0, round(cores * 1000)) / 1000, MEMORY: round(memory / MEGABYTE) * MEGABYTE}


def _rates(
    shape: Shape, load: float, random: np.random.Generator, back: tuple[int, int] | None
) -> tuple[Floats, dict[tuple[int, int], float]]:
    """Tuples/s that operations receive, shape (operations,), and that streams carry."""
    selectivity = random.uniform(*SELECTIVITIES, shape.operators)
    received = np.zeros(shape.operators)
    received[0] = load * FULL_RATE
    rates: dict[tuple[int, int], float] = {}
    for i in range(shape.operators):
        if back is not None and back[1] == i:
            rates[back] = BACK_SHARE * float(received[i])
            received[i] += rates[back]
        for source, target in shape.streams:
            if source == i:
                rates[source, target] = float(selectivity[i] * received[i])
                received[target] += rates[source, target]
    return received, rates


def _scaled(weight: Floats, counts: Floats, total: float, limit: float) -> Floats:
    """Needs per instance proportional to weights and at most `limit`, that add up to the total if they can."""
    total = min(total, limit * float(counts.sum()))
    free = np.ones(weight.size, bool)
    while True:
        remaining = total - limit * counts[~free].sum()
        need = np.where(free, weight * remaining / max((weight * counts)[free].sum(), 1e-300), limit)
        over = free & (need > limit)
        if not over.any():
            return need
        free &= ~over
