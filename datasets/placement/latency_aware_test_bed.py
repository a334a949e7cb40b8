"""The test bed of latency-aware placement, section 6.1: its network (Fig. 2) and its topologies (Table 1).

The paper prints capacities, counts and how random topologies grow. It prints neither latencies nor what operators
need; those are ours, here and in `latency_aware_needs`. Java's random numbers are not reproduced: topologies are like the
paper's, with its counts, from seeds of ours.
"""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import suggestion
from edrp.datasets.families.placement.shapes import Shape, sequential, series_parallel
from edrp.datasets.placement.latency_aware_test_bed import CPU, MEGABYTE, MEMORY, draw_topology
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
