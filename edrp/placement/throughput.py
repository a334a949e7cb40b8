"""Throughput of a deployment: how much of its load it carries, and the largest multiple of its load that it carries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from edrp.core.arguments import check_arguments, refuse_other_kinds
from edrp.core.document import RANGES
from edrp.core.errors import Fault, InvalidArgumentError, InvalidInstanceError
from edrp.core.limits import exceeds
from edrp.core.tolerances import RATE_STEP, SAME_VALUE
from edrp.core.wording import shown, suggestion
from edrp.placement.application import Application, Operator, Stream
from edrp.placement.deployment import Deployment, DeploymentLike
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import PolynomialLatency, TableLatency, served_share
from edrp.placement.metrics.peak_load import PEAK_LOAD, PEAK_LOADS, node_demands
from edrp.placement.network import Node
from edrp.placement.usage import leaving_share


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """A shared resource of a node: what is asked for at full load, what there is, and the share of the load that it carries.

    `fixed` is the part of `demand` that is asked for whatever the load; units/s.
    """

    node: str
    resource: str
    demand: float
    fixed: float
    capacity: float

    @property
    def share(self) -> float:
        """Demand over capacity; above 1 replicas on the node slow down."""
        return self.demand / self.capacity

    @property
    def carried(self) -> float:
        """Largest share of the load for which the capacity is enough, at most 1."""
        if self.demand <= self.capacity:
            return 1.0
        spare, varying = self.capacity - self.fixed, self.demand - self.fixed
        return max(0.0, spare / varying) if varying > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Throughput:
    """The throughput of a deployment.

    Attributes
    ----------
    share : of the load of every operator; 1 where it carries all.
    rates : tuples/s that each operator processes.
    service_rates : tuples/s that a replica of an operator on a node can serve, by (operator, node), where that is known.
    node_loads : every shared resource of every node in use, fullest first.
    bottleneck : what holds the application back, in words; empty where nothing does.
    unequal : streams that are partitioned "forward" between unequal numbers of replicas, in words.
    """

    share: float
    rates: Mapping[str, float]
    service_rates: Mapping[tuple[str, str], float]
    node_loads: tuple[NodeLoad, ...]
    bottleneck: str = ""
    unequal: tuple[str, ...] = ()


def predict_throughput(problem: EdrpProblem, deployment: DeploymentLike) -> Throughput:
    """Predict how much of its load a deployment carries.

    A replica serves tuples at its service rate (latency model; times the speed-up of its node where that is below 1), as long as
    its node has enough of all shared resources. Where demand at full load exceeds a capacity, all replicas on the node slow down
    alike: each serves no more than the share of its input for which the capacity is enough, σ = (capacity − what is used whatever
    the load) / the rest of the demand. Streams split tuples evenly, so that the slowest replica holds back what is before it
    (backpressure), and with it all sources alike: the throughput is the load times the least share over replicas.

    Examples
    --------
    >>> problem = EdrpProblem(
    ...     application={"operators": [
    ...         {"name": "work", "external_rate": 100, "max_replicas": 2, "usage": {"cpu": {"per_tuple": 0.05}}},
    ...     ]},
    ...     network={"nodes": [{"name": name, "capacity": {"cpu": 4}} for name in "ab"], "between_zones": {"delay": 0.001}},
    ...     weights={"peak_load": 1.0},
    ... )
    >>> together, apart = (predict_throughput(problem, {"work": list(nodes)}) for nodes in ("aa", "ab"))
    >>> together.share, together.rates["work"], together.bottleneck
    (0.8, 80.0, 'cpu of node a, 125 % of its capacity')
    >>> apart.share
    1.0
    """
    check_arguments("edrp.predict_throughput", problem=problem)
    refuse_other_kinds("edrp.predict_throughput", problem, EdrpProblem)
    placed: Deployment = problem.read_decision(deployment, "deployment")
    loads = node_loads(problem, placed)
    slowest = {name: min((load.carried for load in loads if load.node == name), default=1.0) for name in problem.network.by_name}
    service_rates: dict[tuple[str, str], float] = {}
    ends = [(1.0, "")]
    ends += [(load.carried, f"{load.resource} of node {load.node}, {100 * load.share:.3g} % of its capacity") for load in loads]
    for operator in problem.application.operators:
        replicas = placed.replicas(operator.name)
        rate = problem.application.load(operator.name) / replicas.total()
        for node in replicas:
            slower = served_share(operator.latency, problem.network.by_name[node].speedup)
            served = service_rate(operator, replicas.total()) * slower
            if rate > 0:
                ends.append((served / rate, f"service rate of {operator.name} on node {node}, {served:.6g} tuples/s"))
            if slowest[node] < 1:
                served = min(served, rate * slowest[node])
            if math.isfinite(served):
                service_rates[operator.name, node] = served
    share, bottleneck = min(ends, key=lambda end: end[0])
    rates = {operator.name: share * problem.application.load(operator.name) for operator in problem.application.operators}
    return Throughput(share, rates, service_rates, loads, bottleneck, tuple(_unequal_forwards(problem, placed)))


def node_loads(problem: EdrpProblem, deployment: Deployment) -> tuple[NodeLoad, ...]:
    """Every shared resource of every node in use that is asked for, fullest first."""
    fixed: dict[tuple[str, str], float] = {}
    for operator in problem.application.operators:
        for node, count in deployment.replicas(operator.name).items():
            for resource, usage in operator.usage.items():
                fixed[node, resource] = fixed.get((node, resource), 0.0) + count * usage.per_replica
    loads = [
        NodeLoad(node, resource, demand, fixed.get((node, resource), 0.0), problem.network.by_name[node].capacity[resource])
        for node, demands in node_demands(problem, deployment).items()
        for resource, demand in demands.items()
        if demand
    ]
    return tuple(sorted(loads, key=lambda load: (-load.share, load.node, load.resource)))


def _unequal_forwards(problem: EdrpProblem, deployment: Deployment) -> Iterator[str]:
    """Streams partitioned "forward" whose ends have unequal numbers of replicas, and what leaves nodes then."""
    for stream in problem.application.streams:
        senders, receivers = deployment.replicas(stream.source), deployment.replicas(stream.target)
        if stream.partitioning == "forward" and senders.total() != receivers.total():
            away = sum(leaving_share(stream.partitioning, senders, receivers, node) for node in senders)
            yield (
                f"{stream.source} → {stream.target} is partitioned forward between {senders.total()} and {receivers.total()} "
                f"replicas: senders without a receiver of their own on their node send away, {100 * away:.3g} % of the stream"
            )


def service_rate(operator: Operator, replicas: int) -> float:
    """Tuples/s that a replica on the reference node serves; infinite where the latency model names none."""
    model = operator.latency
    return math.inf if model is None or isinstance(model, PolynomialLatency) else model.true_rate(replicas)


ARROW = " → "
"""Between source and target in the name of a stream."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The largest multiple of the load that a deployment carries.

    Attributes
    ----------
    multiple : the supremum of the multiples; infinite where nothing limits it, None where no multiple is feasible, not even 0.
    attained : whether the deployment carries `multiple` itself; a queue only approaches it.
    binding : what keeps it from carrying more, or what it breaks at every rate, in words; empty where nothing does.
    within : the multiple within which it would stay without limits on metrics that grow with the rate.
    """

    multiple: float | None
    attained: bool = False
    binding: str = ""
    within: float = math.inf


class GrowingLoad:
    """A problem whose sources grow by one multiple; everything that follows from rates is affine in it.

    A source is an operator with an external rate, called by its name, or a stream with a rate of its own, "source → target".
    `scale` names those that grow, the others stay as they are; empty for all. What names no source is refused as an
    InvalidArgumentError, a problem without any as an InvalidInstanceError.
    """

    def __init__(self, problem: EdrpProblem, scale: Sequence[str] = ()) -> None:
        self.problem, application = problem, problem.application
        self.sources = {operator.name: operator.external_rate for operator in application.operators if operator.external_rate > 0}
        self.sources |= {_name(stream): stream.rate for stream in application.streams if stream.rate}
        if not self.sources:
            why = "has no source, so that no rate can grow; give an operator an `external_rate` or a stream a `rate`"
            raise InvalidInstanceError([Fault("application", "", why)])
        names = [ARROW.join(part.strip() for part in name.replace("->", "→").split("→")) for name in scale]
        for index, name in enumerate(names):
            if name not in self.sources:
                why = f"is no source with a rate of its own{suggestion(name, self.sources)}"
                raise InvalidArgumentError([Fault(f"scale[{index}]", shown(scale[index]), why)], "edrp.largest_rate")
        self.growing = frozenset(names or self.sources)

    def application(self, multiple: float, others: float = 1.0) -> Application:
        """The application with the rates of growing sources times `multiple`, and those of others times `others`."""
        application, growing = self.problem.application, self.growing

        def times(document: Any, name: str, field: str) -> Any:
            rate = getattr(document, field)
            return document.replace(**{field: rate * (multiple if name in growing else others)}) if rate else document

        operators = tuple(times(operator, operator.name, "external_rate") for operator in application.operators)
        streams = tuple(times(stream, _name(stream), "rate") for stream in application.streams)
        return application.replace(operators=operators, streams=streams)

    def at(self, multiple: float) -> EdrpProblem:
        """The problem at a multiple, in which no shared resource may be asked for more than its capacity."""
        limits = self.problem.limits
        if PEAK_LOAD in self.problem.metrics:
            limits = limits.replace(peak_load=min(1.0, limits.peak_load or 1.0))
        return self.problem.replace(application=self.application(multiple), limits=limits)

    @cached_property
    def start(self) -> EdrpProblem:
        """The problem with the fixed sources alone."""
        return self.at(0.0)

    @cached_property
    def growth(self) -> Application:
        """The application with the growing sources alone, and without what replicas use whatever their load."""
        grown = self.application(1.0, others=0.0)
        usage = [{name: used.replace(per_replica=0.0) for name, used in o.usage.items()} for o in grown.operators]
        return grown.replace(operators=tuple(o.replace(usage=use) for o, use in zip(grown.operators, usage, strict=True)))

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The smallest multiple above 0 and the largest one for which documents take all rates."""
        rates, allowed = [self.growth.load(operator.name) for operator in self.growth.operators], RANGES["tuples/s"]
        smallest = allowed.smallest / min(self.sources[name] for name in self.growing)
        return smallest, 0.5 * allowed.largest / max(*rates, *self.sources.values())

    @cached_property
    def graded(self) -> tuple[str, ...]:
        """Metrics with a limit that may be met at a low rate and missed at a higher one, besides peak loads."""
        priced = any(link.cost > 0 for link in (*self.problem.network.links, *self.problem.network.classes))
        names = ("response_time", "network_usage", *(["cost"] if priced else []))
        return tuple(name for name in names if self.problem.limits.of(name) is not None)

    def capacity(self, node: Node, resource: str) -> float:
        """Units/s that a node may be asked for of a shared resource: its capacity, or less where a limit on peak load says so."""
        limits = self.problem.limits
        shares = (limits.peak_load, limits.of(f"{PEAK_LOADS}.{resource}"))
        return node.capacity[resource] * min([1.0, *(share for share in shares if share is not None)])

    def carried(self, deployment: Deployment) -> Carried:
        """The largest multiple that a deployment carries."""
        if broken := self.start.evaluate(deployment).broken:
            return Carried(None, binding="; ".join(broken))
        ends = [*self._queues(deployment), *self._shared(deployment)]
        lowest = min(ends, key=_multiple, default=Carried(math.inf))
        if lowest.multiple is None:
            return lowest
        near = (end for end in ends if not end.attained and _multiple(end) <= lowest.multiple * (1 + SAME_VALUE))
        if queue := min(near, key=_multiple, default=None):  # whatever rounding did, a queue is not full
            lowest = replace(queue, multiple=lowest.multiple)
        return replace(self._within_graded(deployment, lowest), within=_multiple(lowest))

    def _queues(self, deployment: Deployment) -> Iterator[Carried]:
        """The multiple at which each operator is overloaded: r·μ(r)·min(1, S) of its slowest node, over its load."""
        nodes = self.problem.network.by_name
        for operator in self.problem.application.operators:
            replicas = deployment.replicas(operator.name)
            slowest = min(served_share(operator.latency, nodes[node].speedup) for node in replicas)
            served = replicas.total() * service_rate(operator, replicas.total()) * slowest
            fixed, growth = self.start.application.load(operator.name), self.growth.load(operator.name)
            attained = isinstance(operator.latency, TableLatency)
            if exceeds(fixed, served) or (fixed >= served and not attained):
                yield Carried(None, binding=f"{operator.name} is overloaded by sources that do not grow")
            elif growth > 0 and math.isfinite(served):
                words = f"{operator.name} serves {served:.6g} tuples/s with {replicas.total()} replica(s)"
                yield Carried(max(0.0, (served - fixed) / growth), attained, words)

    def _shared(self, deployment: Deployment) -> Iterator[Carried]:
        """The multiple at which all of each shared resource of each node in use is asked for."""
        fixed = node_demands(self.start, deployment)
        growth = node_demands(self._under(self.growth), deployment)
        for node, demands in growth.items():
            for resource, demand in demands.items():
                if demand > 0:
                    capacity = self.capacity(self.problem.network.by_name[node], resource)
                    spare = capacity - fixed[node][resource]
                    yield Carried(max(0.0, spare / demand), True, f"{resource} of node {node}, {capacity:.6g} units/s")

    def _within_graded(self, deployment: Deployment, end: Carried) -> Carried:
        """The same within limits on metrics that grow with the rate: where the plain evaluation meets the last of them."""
        if not self.graded:
            return end
        smallest, largest = self.extremes
        low, high = 0.0, min(_multiple(end), largest)
        high *= 1.0 if end.attained else 1 - RATE_STEP
        if not self._missed(deployment, high):
            return end
        while max(low, smallest) < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if self._missed(deployment, middle) else (middle, high)
        return Carried(low, True, self._missed(deployment, high))

    def _under(self, application: Application) -> Any:
        """The network under one load, as metrics read it, which is not checked again."""
        return SimpleNamespace(application=application, network=self.problem.network)

    def _missed(self, deployment: Deployment, multiple: float) -> str:
        """The first limit on a metric that grows with the rate which a deployment misses at a multiple, in words; or ""."""
        at = self._under(self.application(multiple))
        for term in self.problem.terms:
            if term.metric in self.graded:
                metric = self.problem.metrics[term.metric]
                value = metric.evaluate(at, deployment)
                if not metric.scaled(value) <= term.scaled_limit:  # strictly: rounding is no room for a larger multiple
                    return f"limits.{term.metric}, {term.limit:.6g} {metric.unit}".removesuffix(" 1")
        return ""


def _multiple(carried: Carried) -> float:
    return -math.inf if carried.multiple is None else carried.multiple


def _name(stream: Stream) -> str:
    return f"{stream.source}{ARROW}{stream.target}"


def largest_multiple(problem: EdrpProblem, deployment: DeploymentLike, scale: Sequence[str] = ()) -> Carried:
    """Find the largest multiple of its load that a deployment carries, in closed form.

    No replica and no shared resource may be overloaded, and limits and rules are met; for those on response time, network usage
    and cost of traffic, the plain evaluation is bisected to the last digit. The sources that `scale` names grow, as in
    `largest_rate`; an InvalidInstanceError says that there are none, or that this is no deployment.

    Examples
    --------
    >>> queue = {"model": "mm1", "service_rate": 60}
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "work", "external_rate": 100, "max_replicas": 2, "latency": queue}]},
    ...     network={"nodes": [{"name": "a"}]}, weights={"cost": 1}, limits={"cost": 1},
    ... )
    >>> largest_multiple(problem, {"work": ["a", "a"]})
    Carried(multiple=1.2, attained=False, binding='work serves 120 tuples/s with 2 replica(s)', within=1.2)
    """
    check_arguments("edrp.largest_multiple", problem=problem)
    refuse_other_kinds("edrp.largest_multiple", problem, EdrpProblem)
    return GrowingLoad(problem, scale).carried(problem.read_decision(deployment, "deployment"))
