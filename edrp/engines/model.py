"""Build problems of the kinds `edrp`, `latency-aware` and `migration` from a fit, with the running deployment as `current`.

Where key groups are known, keyed operators get them as tasks (kind `rescale`). Slots are resources of nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, product
from math import prod
from typing import Any, TypeVar

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.tolerances import LIMIT_SLACK
from edrp.core.wording import suggestion
from edrp.engines.estimates import Estimate
from edrp.engines.fit import JobFit, OperatorFit
from edrp.engines.goals import Goals, ReplicaBounds
from edrp.engines.key_groups import KeyGroups, group_sizes, group_work, held_groups
from edrp.engines.observation import NodeObservation, Observation, OperatorObservation
from edrp.migration.rescale import documents
from edrp.migration.rescale.problem import RescaleLimits, RescaleProblem, RescaleWeights
from edrp.migration.single_step import MigrationProblem
from edrp.placement.application import Operator
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import MAX_REPLICAS, CapacityCurveLatency
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.network import LinkClass, Network
from edrp.placement.usage import Partitioning

LinkOrClass = TypeVar("LinkOrClass", bound=LinkClass | None)

MAX_REPLICAS_FACTOR = 2
"""Most replicas in the model, as a multiple of the fewest that carry the load, unless more run now."""

NEARLY_LOWEST = 1.05
"""Share of time busy over the lowest that is possible, up to which fewer replicas will do where none are enough."""

STEP, SMALL_STEP = 2.0, 1.5
"""Most tuples/s that a replica gets where its service rate is extrapolated, as a multiple of the most that one was seen to take:
replicas are halved at most, and an operator that is hardly busy loses a third at most, since something else may limit it."""

HARDLY_BUSY = 0.1
"""Share of time busy below which busy time says little about what limits an operator, such as answers that it waits for."""

RESPONSE_TIME_FACTOR = 2.0
"""The response time is normalised by this factor times that of the fewest replicas allowed, where the goals name no limit."""

MAX_SLOT_RULES = 64
"""Most combinations of operators, one of each slot-sharing group, for which slots are counted exactly."""


def placement_problem(
    fit: JobFit, goals: Goals, network: Network | None = None, held_operators: Collection[str] = ()
) -> EdrpProblem:
    """The job as a problem of kind `edrp`: fewest replicas that are not too busy, and a short response time.

    Service rates are those of the busiest replica: what all serve together is divided by the skew, but where key groups are
    known, which `rescale_problem` gives this problem. An operator has at least as many replicas that none is busier than the
    goal; operators of unknown service rate keep theirs unless the goals bound them, and sources never get fewer. Where the load
    needs more than are allowed (`shortages`), an operator has as many as help, and its waiting is left out. Operators in
    `held_operators` keep their replicas, however busy, and their waiting is left out.

    Raises
    ------
    InvalidInstanceError
        The network is not that of the nodes, or the goals name an unknown operator.
    """
    _refuse_unknown(fit, goals)
    slots, short = slot_resources(fit.observation.operators), shortages(fit, goals)
    operators = [
        _operator(fitted, observed, fit, goals, slots[fitted.name])
        | ({"latency": None} if fitted.name in short or fitted.name in held_operators else {})
        | (dict.fromkeys(("min_replicas", "max_replicas"), fitted.replicas) if fitted.name in held_operators else {})
        for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True)
    ]
    streams = list(_streams(fit, goals.rate_factor))
    placed = _network(fit, network, sorted({name for names in slots.values() for name in names}), goals.delay_factor)
    weight = goals.response_time_weight
    heaviest = [_heaviest(fitted, operator["min_replicas"]) for fitted, operator in zip(fit.operators, operators, strict=True)]
    slowest = _response_time_scale(operators, heaviest, streams, placed)
    try:
        return EdrpProblem(
            application={"operators": operators, "streams": streams},
            network=placed,
            rules=goals.rules,
            synchronisation_time=fit.restart.value,
            weights={"response_time": weight, "cost": 1.0 - weight},
            limits={
                "response_time": goals.response_time or slowest,
                "cost": goals.replica_cost * sum(operator["max_replicas"] for operator in operators),
            },
            current=fit.observation.deployment,
            reconfiguration="storm",
        )
    except InvalidInstanceError as error:
        ruled = all(fault.place.startswith("rules") for fault in error.faults)
        raise InvalidInstanceError(error.faults, goals.origin if ruled else "") from None


def _streams(fit: JobFit, factor: float) -> Iterator[dict[str, Any]]:
    """The streams as in documents, one at most between two operators; what only capacities hold, as broadcasts, is even there."""
    joined: dict[tuple[str, str], tuple[float, Partitioning]] = {}
    for stream, observed in zip(fit.streams, fit.observation.streams, strict=True):
        how: Partitioning = observed.partitioning if observed.partitioning in ("forward", "hash") else "rebalance"
        rate, before = joined.get((stream.source, stream.target), (0.0, how))
        joined[stream.source, stream.target] = rate + stream.rate * factor, how if before == how else "rebalance"
    for (source, target), (rate, how) in joined.items():
        yield {"source": source, "target": target, "rate": rate, "partitioning": how}


def latency_aware_problem(problem: EdrpProblem, deployment: Deployment) -> LatencyAwareProblem:
    """The placement of a deployment's replicas as a problem of kind `latency-aware`, which joins all of both ends of a stream."""
    kept = ("name", "resources", "state_size", "external_rate")
    operators = [
        {"instances": deployment.degree(operator.name), **{name: getattr(operator, name) for name in kept}}
        for operator in problem.application.operators
    ]
    streams = [stream.model_dump(exclude={"usage", "partitioning"}) for stream in problem.application.streams]
    assert problem.current is not None
    same = all(problem.current.degree(name) == deployment.degree(name) for name in deployment)
    return LatencyAwareProblem(
        application={"operators": operators, "streams": streams},
        network=problem.network,
        rules=problem.rules,
        current=problem.current if same else deployment,
    )


def migration_problem(
    fitted: OperatorFit, observed: OperatorObservation, replicas: int, tolerance: float = 0.2
) -> MigrationProblem:
    """The key groups of an operator as tasks of a problem of kind `migration`, to be held by `replicas` replicas.

    Where the fit does not know them, load and state of each replica are split evenly over its key groups.
    """
    groups = observed.max_parallelism
    loads = [sum(window.subtasks[u].records_in for window in observed.windows[-1:]) for u in range(observed.parallelism)]
    key_groups = fitted.groups or KeyGroups(tuple(group_work(loads, groups)), tuple(group_sizes(fitted.state_sizes, groups)))
    return MigrationProblem(
        work=key_groups.work,
        state_size=key_groups.state_size,
        intervals=[list(held_groups(u, observed.parallelism, groups)) for u in range(observed.parallelism)],
        nodes=replicas,
        tolerance=tolerance,
    )


def busy_share(fitted: OperatorFit, replicas: int, factor: float, service: float) -> float:
    """Share of time that the busiest of `replicas` replicas is busy, if one serves `service` tuples/s as things are now."""
    assert fitted.service is not None
    return fitted.load * factor * _heaviest(fitted, replicas) * fitted.service.value / (_capacity(fitted, replicas) * service)


def busy_estimate(fitted: OperatorFit, replicas: int, factor: float) -> Estimate:
    """Share of time that the busiest of `replicas` replicas is busy, with its interval by that of the service rate."""
    assert fitted.service is not None
    rates = (fitted.service.value, fitted.service.high, fitted.service.low)
    return Estimate(*(busy_share(fitted, replicas, factor, rate) for rate in rates))


def _heaviest(fitted: OperatorFit, replicas: int) -> float:
    """Load of the busiest replica over the mean, as far as the capacity does not hold it already."""
    return 1.0 if fitted.groups is None else replicas * fitted.groups.heaviest_share(replicas)


def _capacity(fitted: OperatorFit, replicas: int) -> float:
    """Tuples/s of its load that `replicas` replicas take in before the busiest has enough.

    What is broadcast or goes to the first replica does not divide by their number: the busiest gets all of it besides its part
    of the rest.
    """
    divided = CapacityCurveLatency(**_capacity_points(fitted)).capacity(replicas)
    if not fitted.undivided:
        return divided
    serving = CapacityCurveLatency(**_never_falling(dict(fitted.capacities))).true_rate(replicas)
    heaviest, alike = _heaviest(fitted, replicas), fitted.undivided / fitted.load
    return heaviest / ((1.0 - alike) * heaviest / divided + alike / serving)


def _skew(fitted: OperatorFit, replicas: int) -> float:
    """Load of the busiest of `replicas` replicas over the mean, as far as capacities hold it; a single one has none."""
    return fitted.skew if replicas > 1 and fitted.groups is None else 1.0


def _capacity_points(fitted: OperatorFit) -> dict[str, list[Any]]:
    """Tuples/s that replicas take in before the busiest has enough, by their number, with nothing broadcast.

    What replicas serve together is divided by the skew, but for a single one, which has none. Where key groups are known,
    each number of replicas has a skew of its own, and this is what all serve together.
    """
    assert fitted.service is not None
    points = {replicas: capacity / _skew(fitted, replicas) for replicas, capacity in fitted.capacities}
    if _skew(fitted, 2) > 1:
        points.setdefault(1, min(fitted.service.value, *points.values()))
    return _never_falling(points)


def _never_falling(points: Mapping[int, float]) -> dict[str, list[Any]]:
    numbers = sorted(points)
    return {"replicas": numbers, "capacities": list(accumulate((points[replicas] for replicas in numbers), max))}


def replica_bounds(fitted: OperatorFit, observed: OperatorObservation, fit: JobFit, goals: Goals) -> tuple[int, int]:
    """Fewest and most replicas: none busier than the goal, no more than engine and slots allow, and no large step down.

    Where the load needs more than are allowed, both are the fewest that come nearest to the goal, and no fewer than run.
    """
    if fitted.service is None and fitted.name not in goals.operators:
        return fitted.replicas, fitted.replicas
    maximum = replica_ceiling(fitted, observed, fit, goals)
    floor = min(replica_floor(fitted, goals), maximum)
    if fitted.service is None:
        return floor, maximum
    needed = (n for n in range(floor, maximum + 1) if _share(fitted, n, goals) <= goals.busy_limit)
    fewest = next(needed, None)
    if fewest is not None:
        return fewest, maximum
    shares = {n: _share(fitted, n, goals) for n in range(floor, maximum + 1)}
    nearly = NEARLY_LOWEST * min(shares.values())
    best = max(min(fitted.replicas, maximum), next(n for n, share in shares.items() if share <= nearly))
    return best, best


def _share(fitted: OperatorFit, replicas: int, goals: Goals) -> float:
    """Share of time busy at the load to plan for."""
    assert fitted.service is not None
    return busy_share(fitted, replicas, goals.rate_factor, fitted.service.value)


def shortages(fit: JobFit, goals: Goals) -> dict[str, str]:
    """Operators that are busier than the goal with any number of replicas that is allowed, and why, with the remedy."""
    short = {}
    for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True):
        if fitted.service is None:
            continue
        best, _ = replica_bounds(fitted, observed, fit, goals)
        if _share(fitted, best, goals) > goals.busy_limit:
            short[fitted.name] = _why_too_few(fitted, best, replica_ceiling(fitted, observed, fit, goals), goals)
    return short


def replica_floor(fitted: OperatorFit, goals: Goals) -> int:
    """Fewest replicas that the goals and caution allow, however little they would be busy; without a goal a source keeps its."""
    bounds = goals.operators.get(fitted.name)
    minimum = bounds.min_replicas if bounds else fitted.replicas if fitted.source else 1
    return max(minimum, cautious_replicas(fitted, goals))


def cautious_replicas(fitted: OperatorFit, goals: Goals) -> int:
    """Fewest replicas in one step, where it is not known what a replica serves.

    None are taken away while more may be offered than is known. Where the service rate is extrapolated from a low load, a
    replica gets at most `STEP` times what one was seen to take, and if it is hardly busy, `SMALL_STEP` times, unless that is
    less than a replica at once.
    """
    if fitted.unbounded:
        return fitted.replicas
    if fitted.method == "ratio":
        return 1
    step = SMALL_STEP if (fitted.busy or 0.0) < HARDLY_BUSY else STEP
    steps = [*((n, step) for n in range(1, fitted.replicas)), (max(1, fitted.replicas - 1), STEP)]
    candidates = ((n, fitted.received(n) * goals.rate_factor / n, step * fitted.highest) for n, step in steps)
    return next((n for n, load, max_load in candidates if load <= max_load), fitted.replicas)


def replica_ceiling(fitted: OperatorFit, observed: OperatorObservation, fit: JobFit, goals: Goals) -> int:
    """Most replicas that the engine, its slots and the goals allow."""
    bounds = goals.operators.get(fitted.name, ReplicaBounds())
    slots = sum(fit.observation.open_slots.values())
    return min(MAX_REPLICAS, observed.max_parallelism, slots, bounds.max_replicas or MAX_REPLICAS)


def _why_too_few(fitted: OperatorFit, best: int, most: int, goals: Goals) -> str:
    """Return the reason why no allowed number of replicas carries the load, with the remedy."""
    assert fitted.service is not None
    goal = f"against {goals.busy_limit:.0%}"
    if fitted.groups is not None:
        load = fitted.load * goals.rate_factor * fitted.groups.heaviest_share(len(fitted.groups.work))
        alone = load / fitted.service.value
        if alone > goals.busy_limit:
            why = f"its busiest key group alone would keep a replica {alone:.0%} busy {goal}"
            return f"{why}, however many there are; split its keys, or raise busy_limit in the goals"
    if fitted.first * goals.rate_factor / fitted.service.value > goals.busy_limit:
        why = f"its first replica alone receives the {fitted.first:.6g} tuples/s of global()"
        return f"{why}, however many there are; divide them, as rebalance() does, or raise busy_limit in the goals"
    alike = fitted.broadcast * goals.rate_factor / fitted.service.value
    if alike > goals.busy_limit:
        why = f"what is broadcast to it alone would keep every replica {alike:.0%} busy {goal}, however many there are"
        return f"{why}; broadcast less, or raise busy_limit in the goals"
    share = _share(fitted, best, goals)
    among = "the most allowed" if best == most else f"and hardly less with up to {most}, the most allowed"
    why = f"{best} replica{'s' * (best != 1)}, {among}, would be {share:.0%} busy {goal}"
    slots = "add slots, give added_nodes in the goals if they can be started"
    return f"{why}; {slots}, or raise max_replicas or busy_limit there"


def _operator(
    fitted: OperatorFit, observed: OperatorObservation, fit: JobFit, goals: Goals, slots: Sequence[str]
) -> dict[str, Any]:
    minimum, maximum = replica_bounds(fitted, observed, fit, goals)
    # More would cost without making the operator much faster, and every number that is allowed makes the problem larger.
    maximum = min(maximum, max(MAX_REPLICAS_FACTOR * minimum, fitted.replicas))
    return {
        "name": fitted.name,
        "latency": _latency(fitted, maximum),
        "external_rate": fitted.load * goals.rate_factor if fitted.source else 0.0,
        "selectivity": fitted.selectivity * (fitted.received(fitted.replicas) / fitted.load if fitted.load else 1.0),
        "state_size": float(fitted.state_size),
        "resources": dict.fromkeys(slots, 1.0),
        "cost": goals.replica_cost,
        "min_replicas": minimum,
        "max_replicas": maximum,
    }


def _latency(fitted: OperatorFit, most: int) -> dict[str, Any] | None:
    """A replica as a queue, whose service rate is that by which the busiest one has enough."""
    if fitted.service is None:
        return None
    points = _capacity_points(fitted)
    if fitted.undivided:
        points = _never_falling({replicas: _capacity(fitted, replicas) for replicas in range(1, most + 1)})
    if len(points["replicas"]) == 1:
        return {"model": "mm1", "service_rate": points["capacities"][0] / points["replicas"][0]}
    return {"model": "capacity-curve", **points}


def _network(fit: JobFit, network: Network | None, slots: Sequence[str], factor: float) -> Network:
    """The nodes of the cluster with the slots that the job may have; delays are those that the user gives, times a factor."""
    open_slots = fit.observation.open_slots
    restoring = max(fit.restore.value, 1e-3)
    state = max((operator.state_size for operator in fit.operators), default=0)
    store = {"bandwidth": max(1.0, 2.0 * state / restoring)} if state else {}
    if network is None:
        nodes = [{"name": name, "resources": dict.fromkeys(slots, float(count))} for name, count in open_slots.items()]
        return Network(nodes=nodes, between_zones={"delay": 0.0}, store=store)
    faults = [
        Fault(f"nodes[{index}].name", node.name, f"is no node of the cluster{suggestion(node.name, open_slots)}")
        for index, node in enumerate(network.nodes)
        if node.name not in open_slots
    ]
    missing = ", ".join(name for name in open_slots if name not in network.by_name)
    if missing:
        faults.append(Fault("nodes", "", f"lack {missing} of the cluster; describe every TaskManager"))
    InvalidInstanceError.raise_if_any(faults, "network")
    nodes = [{**node.model_dump(), "resources": dict.fromkeys(slots, float(open_slots[node.name]))} for node in network.nodes]
    links = tuple(_delayed(link, factor) for link in network.links)
    classes = {name: _delayed(getattr(network, name), factor) for name in ("within_zone", "between_zones")}
    return network.replace(nodes=nodes, links=links, **classes)


def _delayed(link: LinkOrClass, factor: float) -> LinkOrClass:
    """The link with `factor` times its delay."""
    return link if link is None else link.replace(delay=link.delay * factor)


def _response_time_scale(
    operators: Sequence[dict[str, Any]], heaviest: Sequence[float], streams: Sequence[dict[str, Any]], network: Network
) -> float:
    """A response time that no useful plan exceeds: of all operators one after the other, with the fewest replicas allowed.

    `heaviest` are loads of the busiest replica of each operator over the mean.
    """
    received = {fields["name"]: fields["external_rate"] for fields in operators}
    for stream in streams:
        received[stream["target"]] += stream["rate"]
    total = 0.0
    for fields, times in zip(operators, heaviest, strict=True):
        operator = Operator(**fields)
        if operator.latency is not None:
            load = times * received[operator.name] / operator.min_replicas
            total += operator.latency.at(load, operator.min_replicas)
    delays = [link.delay for link in network.pair_links()]
    return RESPONSE_TIME_FACTOR * (total + max(delays, default=0.0) * len(streams)) or 1.0


def _refuse_unknown(fit: JobFit, goals: Goals) -> None:
    known = [operator.name for operator in fit.operators]
    hints = {name: suggestion(name, known) or f"; they are {', '.join(known)}" for name in goals.operators if name not in known}
    if hints:
        faults = [Fault(f"operators[{name}]", name, f"is no operator of the job{hint}") for name, hint in hints.items()]
        raise InvalidInstanceError(faults, goals.origin)


def rescale_problem(problem: EdrpProblem, fit: JobFit, goals: Goals) -> RescaleProblem:
    """The problem of a job with the key groups that its fit knows as tasks, in even ranges as engines run them.

    Replicas have the service rates that were measured, whatever the skew: what each receives follows from the work of its key
    groups. None may be busier than the goal. State is read at the rate at which the node with most of it restored its own.

    Parameters
    ----------
    problem
        The model of the job, by `placement_problem`.
    fit, goals
        As for the model; the fit of an operator has `groups`, or the operator stays as it is.
    """
    fits = {operator.name: operator for operator in fit.operators}
    operators = []
    for operator in problem.application.operators:
        fitted = fits[operator.name]
        groups = fitted.groups
        fields: dict[str, Any] = {name: getattr(operator, name) for name in Operator.model_fields}
        if groups is not None:
            fewest = operator.min_replicas
            if operator.latency is not None:  # ranges tell by themselves how many are enough
                fewest = min(replica_floor(fitted, goals), fewest)
            tasks = documents.KeyedTasks(work=groups.work, state_size=groups.state_size)
            fields |= {"tasks": tasks, "state_size": 0.0, "min_replicas": fewest}
        operators.append(documents.KeyedOperator(**fields))
    return RescaleProblem(
        application=documents.KeyedApplication(operators=operators, streams=problem.application.streams),
        network=_rescale_network(problem.network, fit),
        rules=problem.rules,
        synchronisation_time=problem.synchronisation_time,
        ranges="even",
        transfer="direct",
        utilisation=min(1.0, goals.busy_limit * (1.0 + LIMIT_SLACK)),
        weights=RescaleWeights(response_time=problem.weights.response_time, cost=problem.weights.cost),
        limits=RescaleLimits(response_time=problem.limits.response_time, cost=problem.limits.cost),
        current=_running(fit),
    )


def renamed(deployment: documents.KeyedDeployment, names: Mapping[str, str]) -> documents.KeyedDeployment:
    """The deployment with other names of nodes.

    >>> renamed(documents.KeyedDeployment({"read": ["a"], "count": [{"node": "a", "tasks": [0, 4]}]}), {"a": "b"})["read"]
    ('b',)
    """
    return documents.KeyedDeployment({name: [_on(replica, names) for replica in deployment[name]] for name in deployment})


def _on(replica: documents.Replica, names: Mapping[str, str]) -> documents.Replica:
    return names[replica] if isinstance(replica, str) else documents.KeyRange(node=names[replica.node], tasks=replica.tasks)


def _running(fit: JobFit) -> documents.KeyedDeployment:
    """Return the deployment that runs now: the i-th replica holds the i-th range of key groups."""
    replicas: dict[str, list[documents.Replica]] = {}
    for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True):
        count = observed.parallelism
        replicas[observed.name] = list(observed.nodes)
        if fitted.groups is not None:
            group_ranges = (held_groups(replica, count, observed.max_parallelism) for replica in range(count))
            replicas[observed.name] = [
                documents.KeyRange(node=node, tasks=tasks) for node, tasks in zip(observed.nodes, group_ranges, strict=True)
            ]
    return documents.KeyedDeployment(replicas)


def _rescale_network(network: Network, fit: JobFit) -> documents.RescaleNetwork:
    """The network with the rate at which nodes read state."""
    load_of_node: dict[str, float] = {}
    for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True):
        for node, size in zip(observed.nodes, fitted.state_sizes, strict=False):
            load_of_node[node] = load_of_node.get(node, 0.0) + size
    max_load = max(load_of_node.values(), default=0.0)
    rate = max_load / fit.restore.value if max_load and fit.restore.value else None
    fields = network.model_dump()
    return documents.RescaleNetwork(**{**fields, "nodes": [{**node, "down_rate": rate} for node in fields["nodes"]]})


def with_added_nodes(observation: Observation, count: int) -> Observation:
    """The observation with `count` more nodes (`added-1`, …), each with as many slots as the largest node, all of them free."""
    slots = max(node.slots for node in observation.nodes)
    added = (NodeObservation(f"added-{number}", slots, slots, {}) for number in range(1, count + 1))
    return replace(observation, nodes=(*observation.nodes, *added))


def slot_resources(operators: Sequence[OperatorObservation]) -> dict[str, list[str]]:
    """Resources of which a replica of each operator takes 1, and a node has as many as slots.

    A slot holds one replica of every operator of its slot-sharing group. A node with S slots therefore has room for certain
    replicas if, whichever operator of each group is taken, these have at most S replicas there: a resource per combination.
    Where there are too many combinations, no slot is shared in the model, which is on the safe side.

    >>> from types import SimpleNamespace as Seen
    >>> slot_resources([Seen(name="a", slot_group="x"), Seen(name="b", slot_group="x"), Seen(name="c", slot_group="y")])
    {'a': ['slots 1'], 'b': ['slots 2'], 'c': ['slots 1', 'slots 2']}
    """
    groups: dict[str, list[str]] = {}
    for operator in operators:
        groups.setdefault(operator.slot_group, []).append(operator.name)
    if prod(map(len, groups.values())) > MAX_SLOT_RULES:
        return {operator.name: ["slots"] for operator in operators}
    taken: dict[str, list[str]] = {operator.name: [] for operator in operators}
    for number, combination in enumerate(product(*groups.values()), 1):
        for name in combination:
            taken[name].append(f"slots {number}")
    return taken


def slot_clashes(observation: Observation, problem: EdrpProblem, clashes: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons why there is no plan: too few slots, by one operator of each group, else the method's own reasons.

    Parameters
    ----------
    problem
        The job as `placement_problem` gives it.
    clashes
        What clashes by the method, in which the resources of `slot_resources` become the operators that they stand for.
    """
    fewest = {operator.name: operator.min_replicas for operator in problem.application.operators}
    groups: dict[str, list[str]] = {}
    for observed in observation.operators:
        groups.setdefault(observed.slot_group, []).append(observed.name)
    largest = [max(members, key=fewest.__getitem__) for members in groups.values()]
    needed, available = sum(map(fewest.__getitem__, largest)), sum(observation.open_slots.values())
    if needed > available:
        counts = " + ".join(f"{fewest[name]} of {name}" for name in largest)
        return (f"slots: {counts} are needed, {needed} in all, and the job may have {available}",)
    users: dict[str, list[str]] = {}
    for name, resources in slot_resources(observation.operators).items():
        for resource in resources:
            users.setdefault(resource, []).append(name)
    parts = {clash: clash.partition(" of the nodes") for clash in clashes}
    short = [clash for clash in clashes if parts[clash][1] and parts[clash][0] in users]
    if len(short) > 1:  # not all of them were examined: which are needed is not known
        return (*(clash for clash in clashes if clash not in short), f"slots: the job may have {available}")
    return tuple(
        f"slots for {' + '.join(users[parts[clash][0]])}{parts[clash][2]}" if clash in short else clash for clash in clashes
    )
