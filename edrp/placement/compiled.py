"""A problem as flat arrays: what builders, kernels and heuristics see instead of documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.document import named_resources
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.memory import refuse_beyond_memory
from edrp.placement.configurations import NO_NODE
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.link_arrays import LinkTables
from edrp.placement.metrics import METRICS, SCORE_METRICS
from edrp.placement.problem import PlacementProblem

MILLISECONDS = SCORE_METRICS["path_latency"].scaled(1.0)
"""In a second."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """Arrays over operators i, streams e, nodes u, resources m; operators in topological order.

    Only nodes that some operator may use (or uses now) are kept. Problems of both kinds become the same arrays: a
    latency-aware one is put in the terms of EDRP (see `_score_terms`), its objective is the sum over the five metrics of
    EDRP as for any problem.

    Attributes
    ----------
    operators, nodes, resources : tuple of str
        Names by index.
    stream_source, stream_target, stream_rate : shape (streams,)
        Operator indices and tuples/s; streams in document order.
    load : shape (operators,)
        Tuples/s into each operator.
    min_replicas, max_replicas : shape (operators,)
    candidate : shape (operators, nodes), bool
    latency : shape (operators, 1 + most replicas)
        Reference latency in seconds with r replicas; infinite where unstable or r is too small or too large.
    speedup : shape (nodes,)
    replica_cost : shape (operators,)
        Money/h of one replica.
    demand : shape (operators, resources)
        Of one replica.
    capacity : shape (nodes, resources)
        Infinite where a node has no limit.
    links
        Delay, price and availability of all pairs of nodes, as tables that are made when first asked for.
    node_loss : shape (nodes,)
        −ln of the availability.
    current : shape (operators, nodes) or None
        Replicas now.
    synchronisation_time : float
    state_size, code_size : shape (operators,)
        Bytes.
    spawn_time, store_delay, store_bandwidth : shape (nodes,)
        Seconds, seconds one way, bytes/s (infinite for no limit).
    local_bandwidth : float
        Bytes/s (infinite for no limit).
    storm : bool
        Storm's downtime instead of pause-and-resume.
    weight, limit : dict of str to float
        Objective per unit of each metric's scaled value, and upper limit of the scaled value (infinite for none).
    """

    problem: PlacementProblem
    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    resources: tuple[str, ...]
    stream_source: Ints
    stream_target: Ints
    stream_rate: Floats
    load: Floats
    min_replicas: Ints
    max_replicas: Ints
    candidate: Bools
    latency: Floats
    speedup: Floats
    replica_cost: Floats
    demand: Floats
    capacity: Floats
    links: LinkTables
    node_loss: Floats
    current: Ints | None
    synchronisation_time: float
    state_size: Floats
    code_size: Floats
    spawn_time: Floats
    store_delay: Floats
    store_bandwidth: Floats
    local_bandwidth: float
    storm: bool
    weight: dict[str, float]
    limit: dict[str, float]

    @property
    def delay(self) -> Floats:
        """Seconds between nodes, shape (nodes, nodes); infinite without link."""
        return self.links.delay

    @property
    def link_cost(self) -> Floats:
        """Money/h per tuple/s between nodes, shape (nodes, nodes)."""
        return self.links.cost

    @property
    def link_availability(self) -> Floats:
        """Probability that a link works, shape (nodes, nodes)."""
        return self.links.availability

    @property
    def forward(self) -> Bools:
        """Which streams lie on paths, shape (streams,): all but those that close a cycle."""
        return np.asarray(self.stream_source < self.stream_target)

    def candidates(self, operator: int) -> Ints:
        """Node indices that may run the operator."""
        return np.flatnonzero(self.candidate[operator])

    def deployment(self, counts: NDArray[Any]) -> Deployment:
        """Name the deployment given as replicas per operator and node, shape (operators, nodes)."""
        named = {}
        for i, operator in enumerate(self.operators):
            named[operator] = [self.nodes[u] for u in np.flatnonzero(counts[i]) for _ in range(int(counts[i, u]))]
        return Deployment({operator.name: named[operator.name] for operator in self.problem.application.operators})

    def counts(self, deployment: Deployment) -> Ints:
        """Replicas per operator and node of a named deployment, shape (operators, nodes).

        Raises
        ------
        KeyError
            When it names an operator or node that this problem cannot use.
        """
        index = {name: u for u, name in enumerate(self.nodes)}
        counts = np.zeros((len(self.operators), len(self.nodes)), np.int64)
        for i, operator in enumerate(self.operators):
            for node in deployment[operator]:
                counts[i, index[node]] += 1
        return counts

    def members(self, counts: NDArray[Any]) -> list[Ints32]:
        """Configuration of each operator, shape (max_replicas,) padded with -1, from replicas per node."""
        rows = []
        for i, row in enumerate(np.asarray(counts, np.int64)):
            nodes = np.repeat(np.arange(row.size), row)
            padded = np.full(max(int(self.max_replicas[i]), nodes.size), NO_NODE, np.int32)
            padded[: nodes.size] = nodes
            rows.append(padded)
        return rows


def compile_problem(problem: PlacementProblem) -> Compiled:
    """Turn a problem into arrays, once.

    Raises
    ------
    ProblemTooLargeError
        When the tables over pairs of nodes would take more than `memory_limit()` bytes.
    InvalidInstanceError
        When a latency model gives a negative latency at a load that a replica may get.
    """
    application, network = problem.application, problem.network
    order = application.topological_order
    operators = [application.by_name[name] for name in order]
    nodes = _used_nodes(problem, operators)
    refuse_beyond_memory(
        3 * 8 * len(nodes) ** 2, f"tables over the pairs of {len(nodes)} nodes", "narrow the operators' candidates"
    )
    position = {name: i for i, name in enumerate(order)}
    described = [network.by_name[name] for name in nodes]
    resources = tuple(sorted({name for operator in operators for name in named_resources(operator.resources)}))
    load = np.array([application.load(name) for name in order])
    candidate = np.ones((len(order), len(nodes)), bool)
    for i, operator in enumerate(operators):
        if operator.candidates is not None:
            candidate[i] = [name in set(operator.candidates) for name in nodes]
    store = network.store
    capacity = np.full((len(nodes), len(resources)), np.inf)
    for u, node in enumerate(described):
        if node.resources is not None:
            free = named_resources(node.resources)
            capacity[u] = [free.get(name, 0.0) * problem.usable_share(name) for name in resources]
    compiled = Compiled(
        problem=problem,
        operators=order,
        nodes=nodes,
        resources=resources,
        stream_source=np.array([position[s.source] for s in application.streams], np.int64),
        stream_target=np.array([position[s.target] for s in application.streams], np.int64),
        stream_rate=np.array([application.rate(s.source, s.target) for s in application.streams], float),
        load=load,
        min_replicas=np.array([operator.min_replicas for operator in operators], np.int64),
        max_replicas=np.array([operator.max_replicas for operator in operators], np.int64),
        candidate=candidate,
        latency=_latency_table(problem, operators, load),
        speedup=np.array([node.speedup for node in described]),
        replica_cost=np.zeros(len(order)),
        demand=np.array([[named_resources(o.resources).get(name, 0.0) for name in resources] for o in operators]).reshape(
            len(order), len(resources)
        ),
        capacity=capacity,
        links=LinkTables(network, nodes),
        node_loss=-np.log([node.availability for node in described]),
        current=None,
        synchronisation_time=0.0,
        state_size=np.array([operator.state_size for operator in operators]),
        code_size=np.array([operator.code_size for operator in operators]),
        spawn_time=np.array([node.spawn_time for node in described]),
        store_delay=np.array([store.delay if n.store_delay is None else n.store_delay for n in described]),
        store_bandwidth=np.array([n.store_bandwidth or store.bandwidth or np.inf for n in described]),
        local_bandwidth=store.local_bandwidth or np.inf,
        storm=False,
        weight=dict.fromkeys(METRICS, 0.0),
        limit=dict.fromkeys(METRICS, np.inf),
    )
    compiled = replace(compiled, **_terms_of(problem, compiled))
    if problem.current is not None:
        object.__setattr__(compiled, "current", compiled.counts(problem.current))
    return compiled


def _terms_of(problem: PlacementProblem, compiled: Compiled) -> dict[str, Any]:
    if isinstance(problem, LatencyAwareProblem):
        return _score_terms(problem, compiled)
    assert isinstance(problem, EdrpProblem)
    return {
        "replica_cost": np.array([problem.application.by_name[name].replica_cost for name in compiled.operators]),
        "synchronisation_time": problem.synchronisation_time,
        "storm": problem.reconfiguration == "storm",
        "weight": {term.metric: term.coefficient for term in problem.terms},
        "limit": {term.metric: term.scaled_limit for term in problem.terms},
    }


def _score_terms(problem: LatencyAwareProblem, compiled: Compiled) -> dict[str, Any]:
    """The score (latency-aware placement, eq. 1) in the terms of EDRP.

    Operators take no time, so that the response time is the path latency. A stream's rate is what the score grows by
    when all of it leaves its node, any link costs 1 per unit of that, so that the cost is the sum of the terms of
    co-location and events. A node is available with probability exp(−w2/S), so that −ln of the availability is the
    term of supervisors.
    """
    application, weights = problem.application, problem.weights
    instances = {operator.name: operator.instances for operator in application.operators}
    pairs = np.array([instances[s.source] * instances[s.target] for s in application.streams], float)
    stream_rate = np.zeros(pairs.size)
    for weight, carried in ((weights.colocation, pairs), (weights.events, compiled.stream_rate)):
        if carried.sum() > 0:
            stream_rate = stream_rate + weight * carried / carried.sum()
    price = weights.supervisors / len(problem.network.nodes)
    return {
        "stream_rate": stream_rate,
        "links": compiled.links.replace(price=1.0),
        "node_loss": np.full(len(compiled.nodes), price),
        "speedup": np.ones(len(compiled.nodes)),
        "weight": {
            **dict.fromkeys(METRICS, 0.0),
            "response_time": weights.latency * MILLISECONDS,
            "cost": 1.0,
            "availability": 1.0,
        },
    }


def _used_nodes(problem: PlacementProblem, operators: list[Any]) -> tuple[str, ...]:
    if any(operator.candidates is None for operator in operators):
        return tuple(node.name for node in problem.network.nodes)
    used = {name for operator in operators for name in operator.candidates or ()}
    if problem.current is not None:
        used |= {node for name in problem.current for node in problem.current[name]}
    return tuple(node.name for node in problem.network.nodes if node.name in used)


def _latency_table(problem: PlacementProblem, operators: list[Any], load: Floats) -> Floats:
    table = np.full((len(operators), 1 + max(operator.max_replicas for operator in operators)), np.inf)
    faults = []
    document = {operator.name: index for index, operator in enumerate(problem.application.operators)}
    for i, operator in enumerate(operators):
        for replicas in range(operator.min_replicas, operator.max_replicas + 1):
            rate = load[i] / replicas
            model = getattr(operator, "latency", None)
            table[i, replicas] = 0.0 if model is None else model.at(rate)
            if table[i, replicas] < 0:
                place = f"application.operators[{document[operator.name]}].latency"
                faults.append(
                    Fault(place, f"{table[i, replicas]:.6g} s", f"is negative at {rate:.6g} tuples/s; fit it over that load")
                )
    if faults:
        raise InvalidInstanceError(faults)
    return table
