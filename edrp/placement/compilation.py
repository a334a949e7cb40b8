"""How a problem becomes arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.document import named_resources
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.problem import derived
from edrp.core.tolerances import MIN_SPARE_CAPACITY
from edrp.placement.compiled import Compiled, LinkArrays, count_replicas
from edrp.placement.contention_arrays import contention_arrays
from edrp.placement.devices import units_of, usable_units
from edrp.placement.latency import MAX_LATENCY, MAX_REPLICAS, CapacityCurveLatency, Mm1Latency, fewest_replicas
from edrp.placement.metrics import package_metrics
from edrp.placement.network import Node
from edrp.placement.problem import PlacementProblem
from edrp.placement.rules.arrays import RuleArrays, record_rules


@derived
def compile_problem(problem: PlacementProblem) -> Compiled:
    """Turn a problem into arrays; inside `derived_once`, as in `solve`, this is done once.

    Raises
    ------
    InvalidInstanceError
        When a latency model gives a negative latency at a load that a replica may get.
    """
    application, network, terms = problem.application, problem.network, problem.edrp_terms()
    order = application.topological_order
    operators = [application.by_name[name] for name in order]
    names = _used_nodes(problem, operators)
    position = {name: i for i, name in enumerate(order)}
    nodes = [network.by_name[name] for name in names]
    resources = tuple(sorted({name for operator in operators for name in named_resources(operator.resources)}))
    load = np.array([application.load(name) for name in order])
    rates = terms.stream_rate or [application.rate(s.source, s.target) for s in application.streams]
    store = network.store
    contention = contention_arrays(application, operators, nodes, load)
    metrics = package_metrics(contention.resources)
    current = None if problem.current is None else count_replicas(problem.current, order, names)
    allowed = _candidates(operators, names)
    candidate, rules = _ruled(problem, allowed, order, names, current)
    speedup = np.array([1.0 if terms.equal_nodes else node.speedup for node in nodes])
    fewest = _fewest_replicas(operators, load, speedup)
    return Compiled(
        problem=problem,
        operators=order,
        nodes=names,
        resources=resources,
        stream_source=np.array([position[s.source] for s in application.streams], np.int64),
        stream_target=np.array([position[s.target] for s in application.streams], np.int64),
        stream_rate=np.array(rates, float),
        load=load,
        min_replicas=np.array([operator.min_replicas for operator in operators], np.int64),
        max_replicas=np.array([operator.max_replicas for operator in operators], np.int64),
        candidate=candidate,
        latency=_latency_table(problem, operators, load, np.where(allowed, fewest, MAX_REPLICAS + 1).min(axis=1)),
        speedup=speedup,
        fewest_replicas=fewest,
        replica_cost=np.array([terms.replica_cost.get(name, 0.0) for name in order]),
        demand=np.array([[named_resources(o.resources).get(name, 0.0) for name in resources] for o in operators]).reshape(
            len(order), len(resources)
        ),
        capacity=(capacity := capacities(problem, nodes, resources)),
        units=_units(nodes, resources, capacity),
        links=LinkArrays(network, names, terms.link_price),
        contention=contention,
        node_loss=-np.log([node.availability for node in nodes])
        if terms.node_loss is None
        else np.full(len(nodes), terms.node_loss),
        current=current,
        synchronisation_time=terms.synchronisation_time,
        state_size=np.array([operator.state_size for operator in operators]),
        code_size=np.array([operator.code_size for operator in operators]),
        spawn_time=np.array([node.spawn_time for node in nodes]),
        store_delay=np.array([store.delay if node.store_delay is None else node.store_delay for node in nodes]),
        store_bandwidth=np.array([node.store_bandwidth or store.bandwidth or np.inf for node in nodes]),
        local_bandwidth=store.local_bandwidth or np.inf,
        storm=terms.storm,
        instance_paths=terms.instance_paths,
        weight={**dict.fromkeys(metrics, 0.0), **terms.weight},
        limit={**dict.fromkeys(metrics, np.inf), **terms.limit},
        rules=rules,
    )


def _ruled(
    problem: PlacementProblem, candidate: Bools, operators: tuple[str, ...], nodes: tuple[str, ...], current: Ints | None
) -> tuple[Bools, RuleArrays]:
    """Candidates without the nodes that hard rules close to an operator, and the other rows of rules.

    Nodes that run it now stay candidates, and their rows stay. So do all rows where no candidate would be left to an operator:
    by them programs prove that nothing is feasible.
    """
    rules = record_rules((*problem.counted_rules, *problem.metric_rows), problem, operators, nodes)
    if not len(rules):
        return candidate, rules
    rows, closed = rules.closed(np.zeros_like(candidate) if current is None else current > 0, len(problem.counted_rules))
    narrowed = candidate & ~closed
    return (narrowed, rules.without(rows)) if narrowed.any(axis=1).all() else (candidate, rules)


def with_all_rule_rows(compiled: Compiled) -> Compiled:
    """The same with rows for all rules, also for those that narrow the candidates otherwise: what explains clashes sees them."""
    problem = compiled.problem
    candidate = _candidates([problem.application.by_name[name] for name in compiled.operators], compiled.nodes)
    rules = record_rules((*problem.counted_rules, *problem.metric_rows), problem, compiled.operators, compiled.nodes)
    return replace(compiled, candidate=candidate, rules=rules)


def _candidates(operators: list[Any], nodes: tuple[str, ...]) -> Bools:
    candidate = np.ones((len(operators), len(nodes)), bool)
    for i, operator in enumerate(operators):
        if operator.candidates is not None:
            allowed = set(operator.candidates)
            candidate[i] = [name in allowed for name in nodes]
    return candidate


def capacities(problem: PlacementProblem, nodes: Sequence[Node], resources: tuple[str, ...]) -> Floats:
    """Amounts of resources that nodes offer, shape (nodes, resources); infinite where a node has no limit."""
    capacity = np.full((len(nodes), len(resources)), np.inf)
    for u, node in enumerate(nodes):
        if node.resources is not None:
            free = named_resources(node.resources)
            capacity[u] = [free.get(name, 0.0) * problem.usable_share(name) for name in resources]
    return capacity


def _units(nodes: list[Node], resources: tuple[str, ...], capacity: Floats) -> Ints:
    units = np.full(capacity.shape, -1)
    for u, node in enumerate(nodes):
        for name in units_of(node).keys() & {*resources}:
            units[u, resources.index(name)] = usable_units(capacity[u, resources.index(name)])
    return units


def _used_nodes(problem: PlacementProblem, operators: list[Any]) -> tuple[str, ...]:
    if any(operator.candidates is None for operator in operators):
        return tuple(node.name for node in problem.network.nodes)
    used = {name for operator in operators for name in operator.candidates or ()}
    if problem.current is not None:
        used |= {node for name in problem.current for node in problem.current[name]}
    return tuple(node.name for node in problem.network.nodes if node.name in used)


def _fewest_replicas(operators: list[Any], load: Floats, speedup: Floats) -> Ints:
    """Fewest replicas of each operator of which none is overloaded on each node, one more than allowed where there are none."""
    speeds, number = np.unique(np.minimum(speedup, 1.0), return_inverse=True)
    fewest = [
        [fewest_replicas(getattr(operator, "latency", None), rate, replicas, speed) for speed in speeds.tolist()]
        for operator, rate in zip(operators, load.tolist(), strict=True)
        for replicas in [range(operator.min_replicas, operator.max_replicas + 1)]
    ]
    return np.array(fewest, np.int64)[:, number]


def _latency_table(problem: PlacementProblem, operators: list[Any], load: Floats, fewest: Ints) -> Floats:
    """Latencies by number of replicas; infinite below the `fewest` that are not overloaded on some candidate."""
    table = np.full((len(operators), 1 + max(operator.max_replicas for operator in operators)), np.inf)
    faults = []
    document = {operator.name: index for index, operator in enumerate(problem.application.operators)}
    for i, operator in enumerate(operators):
        model = getattr(operator, "latency", None)
        if isinstance(model, CapacityCurveLatency):
            table[i, : operator.max_replicas + 1] = _curve_latencies(model, float(load[i]), operator.max_replicas)
            table[i, : operator.min_replicas] = np.inf
            continue
        if model is None or isinstance(model, Mm1Latency):
            numbers = np.arange(operator.min_replicas, operator.max_replicas + 1)
            table[i, numbers] = 0.0 if model is None else _queue_latencies(model, load[i] / numbers)
            continue
        for replicas in range(operator.min_replicas, operator.max_replicas + 1):
            rate = load[i] / replicas
            table[i, replicas] = model.at(rate)
            if table[i, replicas] < 0:
                path = f"application.operators[{document[operator.name]}].latency"
                faults.append(
                    Fault(path, f"{table[i, replicas]:.6g} s", f"is negative at {rate:.6g} tuples/s; fit it over that load")
                )
    InvalidInstanceError.raise_if_any(faults)
    table[np.arange(table.shape[1]) < fewest[:, None]] = np.inf
    return table


def _queue_latencies(model: Mm1Latency, rates: Floats) -> Floats:
    """Seconds at each rate, 1 / (service rate − rate); of thousands of numbers of replicas at once."""
    spare = model.service_rate - rates
    latencies: Floats = np.divide(1.0, spare, out=np.full(spare.size, np.inf), where=spare * MAX_LATENCY >= 1.0)
    return latencies


def _curve_latencies(model: CapacityCurveLatency, load: float, max_replicas: int) -> Floats:
    """Seconds with 0 … max_replicas replicas, n / (capacity(n) − load); written apart from what the evaluator reads."""
    replicas = np.arange(max_replicas + 1)
    numbers, capacities = np.array([0, *model.replicas]), np.array([0.0, *model.capacities])
    slope = (capacities[-1] - capacities[-2]) / (numbers[-1] - numbers[-2])
    capacity = np.interp(replicas, numbers, capacities) + slope * np.maximum(replicas - numbers[-1], 0)
    spare = capacity - load
    stable = (spare > MIN_SPARE_CAPACITY * capacity) & (spare * MAX_LATENCY > replicas)
    latencies: Floats = np.divide(replicas, spare, out=np.full(max_replicas + 1, np.inf), where=stable)
    return latencies
