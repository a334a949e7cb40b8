"""The test bed of latency-aware placement, section 6.1: its network (Fig. 2) and its topologies (Table 1).

The paper prints capacities, counts and how random topologies grow. It prints neither latencies nor what operators
need; those are ours. Java's random numbers are not reproduced: topologies are like the
paper's, with its counts, from seeds of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import networkx as nx
import numpy as np

from edrp.core.arrays import Floats
from edrp.core.document import Resources, named_resources
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import suggestion
from edrp.datasets.families.placement.shapes import Shape, sequential, series_parallel
from edrp.datasets.random_numbers import rounded
from edrp.placement.application import Topology
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.network import Network

CLOUD, EDGE_SERVER, DEVICE = (1.5, 2048), (1.0, 1024), (0.3, 768)
"""Cores and MB of memory (section 6.1.1)."""

SUPERVISORS: dict[str, tuple[float, int]] = {
    "w1": CLOUD,
    "w2": EDGE_SERVER,
    **dict.fromkeys(("w3", "w4", "w5"), DEVICE),
    **dict.fromkeys(("w6", "w7"), EDGE_SERVER),
    **dict.fromkeys(("w8", "w9", "w10", "w11"), DEVICE),
}
"""Cores and MB by name."""

LATENCIES: dict[tuple[str, str], float] = {
    ("core", "w1"): 3.0,
    ("core", "west"): 2.0,
    ("core", "east"): 1.0,
    ("west", "w2"): 1.0,
    ("west", "w3"): 1.0,
    ("west", "w4"): 2.0,
    ("west", "w5"): 3.0,
    ("east", "w6"): 1.0,
    ("east", "w7"): 1.0,
    ("east", "w8"): 1.0,
    ("east", "w9"): 2.0,
    ("east", "w10"): 2.0,
    ("east", "w11"): 3.0,
}
"""One-way delays of the physical links in milliseconds; our choice, as Fig. 2 prints none that are legible.

The paper says: switches, a site of factory size, latencies in the low single digits that "vary to represent the
distance", below 10 ms from a user to an edge server. So: a core switch with the cloud's supervisor behind the longest
link; below it two switches, one per run of w2…w5 and w6…w11; edge servers next to their switch, devices 1 to 3 ms
away. Two supervisors are 2 to 9 ms apart.
"""

OPERATIONS: dict[str, int] = {
    "T-M1": 6, "T-M2": 3, "T-M3": 3,
    "T-R1": 16, "T-R2": 7, "T-R3": 12, "T-R4": 15, "T-R5": 11, "T-R6": 11, "T-R7": 22,
    "T-R8": 8, "T-R9": 10,
}  # fmt: skip
"""Operations of Table 1, source and sink included."""

CYCLIC = ("T-R8", "T-R9")
LOADS = (0.2, 0.4, 0.7)
"""Shares of the cluster's cores at which the paper's topologies are solved here; the paper shows its own only in figures."""

MIN_OPERATIONS, MAX_OPERATIONS = 3, 24
INSTANCES, INSTANCES_OF_M2 = 2, 10
"""Instances of every operation between source and sink: operators = 2 · (operations − 2) + 2 gives all counts of Table 1."""

SEED = 31415
"""Seed of the paper's topologies, followed by the number of the topology. Like the paper's it is the first digits of π, as
many as give nine random topologies that can all take the highest of our loads."""

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


def paper_network() -> Network:
    """Build the network of the eleven supervisors of Fig. 2, with delays of the shortest paths over its switches.

    Examples
    --------
    >>> network = paper_network()
    >>> len(network.nodes), network.by_name["w1"].resources["cpu"], network.delay("w1", "w3"), network.delay("w6", "w7")
    (11, 1.5, 0.006, 0.002)
    """
    graph: nx.Graph[str] = nx.Graph()
    graph.add_weighted_edges_from((source, target, latency) for (source, target), latency in LATENCIES.items())
    milliseconds = dict(nx.all_pairs_dijkstra_path_length(graph))
    nodes = [
        {"name": name, "resources": {CPU: cores, MEMORY: megabytes * MEGABYTE}}
        for name, (cores, megabytes) in SUPERVISORS.items()
    ]
    links = [{"source": u, "target": v, "delay": milliseconds[u][v] / 1000} for u, v in combinations(SUPERVISORS, 2)]
    return Network(nodes=nodes, links=links)


def paper_problem(name: str, load: float = 0.4) -> LatencyAwareProblem:
    """Build a topology of Table 1 on the network of Fig. 2.

    Parameters
    ----------
    name
        "T-M1" to "T-M3", "T-R1" to "T-R9".
    load
        Need of all instances, as a share of the cluster's cores; `LOADS` are those of our tables.
        The manual topologies have too few instances for the higher ones and then take what they can.

    Raises
    ------
    InvalidInstanceError
        For another name, or a load that is not above 0 and at most 1.

    Examples
    --------
    >>> problem = paper_problem("T-R7", 0.7)
    >>> sum(operator.instances for operator in problem.application.operators)
    42
    """
    if name not in OPERATIONS:
        raise InvalidInstanceError([Fault("name", repr(name), f"is no topology of Table 1{suggestion(name, OPERATIONS)}")])
    _check_load(load)
    number = list(OPERATIONS).index(name)
    random = np.random.default_rng(np.random.SeedSequence([SEED, number]))
    make = series_parallel if name.startswith("T-R") else sequential
    inner = {"T-M1": 1, "T-M2": INSTANCES_OF_M2, "T-M3": 1}.get(name, INSTANCES)
    return _problem(make(OPERATIONS[name], random), inner, load, random, cyclic=name in CYCLIC)


def random_problem(seed: int, *, operations: int | None = None, load: float = 0.4, cyclic: bool = False) -> LatencyAwareProblem:
    """Draw a random topology as in section 6.1.2, on the network of Fig. 2.

    It grows from a source that sends to a sink: a random stream gets one operation (60 %) or two parallel ones, until
    the count is reached. Every operation sends each of its output tuples to all that follow it. Operations other than
    source and sink have two instances.

    Parameters
    ----------
    operations
        With source and sink; default: uniform from 3 to 24.
    load
        Need of all instances, as a share of the cluster's cores. Few instances take what they can, and
        needs are scaled down until a packing is found: every problem has a feasible placement.

    Raises
    ------
    InvalidInstanceError
        For a negative seed, fewer than 3 operations (4 with a cycle), or a load that is not above 0 and at most 1.
    """
    min_operations = MIN_OPERATIONS + cyclic
    if seed < 0:
        raise InvalidInstanceError([Fault("seed", str(seed), "must not be negative")])
    if operations is not None and operations < min_operations:
        why = f"must be at least {min_operations}: source, sink and {'two that form a cycle' if cyclic else 'one between them'}"
        raise InvalidInstanceError([Fault("operations", str(operations), why)])
    _check_load(load)
    random = np.random.default_rng(seed)
    count = int(random.integers(min_operations, MAX_OPERATIONS + 1)) if operations is None else operations
    return _problem(series_parallel(count, random), INSTANCES, load, random, cyclic=cyclic)


def stream_back(shape: Shape, random: np.random.Generator) -> tuple[int, int]:
    """Draw a stream from an inner operation to an earlier one, so that they form a cycle.

    >>> stream_back(sequential(4, np.random.default_rng(0)), np.random.default_rng(0))
    (2, 1)
    """
    graph: nx.DiGraph[int] = nx.DiGraph(shape.streams)
    inner = range(1, shape.operators - 1)
    pairs = [(later, earlier) for earlier in inner for later in inner if earlier != later and nx.has_path(graph, earlier, later)]
    # Two parallel operations alone lie on no common path: the second then sends to itself.
    return pairs[int(random.integers(len(pairs)))] if pairs else (2, 2)


def _problem(shape: Shape, inner: int, load: float, random: np.random.Generator, *, cyclic: bool) -> LatencyAwareProblem:
    instances = [1, *[inner] * (shape.operators - 2), 1]
    network = paper_network()
    application = draw_topology(shape, instances, network, load, random, back=stream_back(shape, random) if cyclic else None)
    return LatencyAwareProblem(application=application, network=network)


def _check_load(load: float) -> None:
    if not 0 < load <= 1:
        raise InvalidInstanceError([Fault("load", str(load), "must be a share of the cluster's cores, above 0 and at most 1")])


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
