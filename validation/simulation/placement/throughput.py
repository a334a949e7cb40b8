"""Throughput of a placement: the rate at which the first supervisor is full.

A tuple that goes from one supervisor to another is serialised on one side and read on the other. That costs both `h`
times what it costs to process a mean tuple; co-located operators hand tuples over for nothing. With it, the order of
schedulers that the paper measured on Storm (latency-aware placement, Tables 2 and 3) follows from placements alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edrp.core.document import named_resources
from edrp.placement.deployment import Deployment, DeploymentLike
from edrp.placement.latency_aware import LatencyAwareProblem

TRANSFER = 0.2
"""h: cost of sending or of receiving a tuple over the network, relative to processing a mean one."""

CPU = "cpu"


@dataclass(frozen=True, slots=True)
class SimulatedThroughput:
    """The throughput of a placement, and the cores that it reserves.

    Attributes
    ----------
    throughput : tuples/s of all sources together at which the first supervisor is full; infinite where nothing needs cores.
    reserved : cores of all supervisors in use.
    bottleneck : name of that supervisor.
    """

    throughput: float
    reserved: float
    bottleneck: str


def carried(problem: LatencyAwareProblem, deployment: DeploymentLike, *, transfer: float = TRANSFER) -> SimulatedThroughput:
    """Throughput of a placement, by the cores that it takes at the rates of the problem.

    The needs of operators are understood at those rates, so that they grow with the sources' rates. Whether
    the placement keeps the limits on utilisation plays no part: a supervisor is full when all its cores are.

    Parameters
    ----------
    problem
        Operators with the resource `cpu` in cores, and rates in tuples/s.
    deployment
        Any placement of all operators; a plain dict will do.
    transfer
        h, relative to the cores that a mean tuple takes.
    """
    needed = cores_needed(problem, deployment, transfer=transfer)
    sources = sum(operator.external_rate for operator in problem.application.operators)
    offered = {name: offered_cores(problem, name) for name in needed}
    full = {name: offered[name] / cores if cores > 0 else math.inf for name, cores in needed.items()}
    bottleneck = min(full, key=lambda name: full[name])
    return SimulatedThroughput(sources * full[bottleneck], sum(offered.values()), bottleneck)


def cores_needed(problem: LatencyAwareProblem, deployment: DeploymentLike, *, transfer: float = TRANSFER) -> dict[str, float]:
    """Cores that each supervisor in use needs at the rates of the problem, tuples on the network included."""
    placed: Deployment = problem.read_decision(deployment, "deployment")
    needed: dict[str, float] = {}
    for operator in problem.application.operators:
        cores = named_resources(operator.resources).get(CPU, 0.0)
        for node, instances in placed.replicas(operator.name).items():
            needed[node] = needed.get(node, 0.0) + instances * cores
    price = transfer * cores_per_tuple(problem)
    for stream in problem.application.streams:
        senders, receivers = placed.replicas(stream.source), placed.replicas(stream.target)
        rate = problem.application.rate(stream.source, stream.target)
        share = rate / (senders.total() * receivers.total())
        for ends, others in ((senders, receivers), (receivers, senders)):
            for node, count in ends.items():
                needed[node] += price * share * count * (others.total() - others[node])
    return needed


def cores_per_tuple(problem: LatencyAwareProblem) -> float:
    """Cores that a tuple per second takes, on average over all tuples that operators receive."""
    application = problem.application
    cores = sum(o.instances * named_resources(o.resources).get(CPU, 0.0) for o in application.operators)
    tuples = sum(application.load(operator.name) for operator in application.operators)
    return cores / tuples if tuples else 0.0


def offered_cores(problem: LatencyAwareProblem, node: str, unlimited: float = math.inf) -> float:
    """Cores of a supervisor; `unlimited` where nothing limits them."""
    resources = problem.network.by_name[node].resources
    return unlimited if resources is None else named_resources(resources).get(CPU, 0.0)
