"""Sustainable throughput of a placement, the rate at which the first supervisor is full, and its latency by simulation.

A tuple that goes from one supervisor to another is serialised on one side and read on the other. That costs both `h`
times what it costs to process a mean tuple; co-located operators hand tuples over for nothing. Kind `edrp` says all of it, with
the cores of a supervisor as a shared resource. In simulation, tuples wait for cores, take them, and travel between supervisors.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.document import named_resources
from edrp.core.errors import BackendUnavailableError
from edrp.placement.deployment import Deployment, DeploymentLike
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.throughput import largest_multiple

TRANSFER = 0.2
"""h: cost of sending or of receiving a tuple over the network, relative to processing a mean one."""

CPU = "cpu"

READER = "{} reads"
"""Name of the operator that stands for the reading of another."""


def shared_cpu(problem: LatencyAwareProblem, *, transfer: float = TRANSFER) -> EdrpProblem:
    """State a problem in kind `edrp`, where the instances on a supervisor share its cores.

    An operator's need is understood at the rates of the problem: it uses its need over its load per tuple, whatever the rates.
    The price of a tuple that leaves a supervisor is the stream's usage. Kind `edrp` knows no price of a tuple that arrives:
    each operator gets a second one without needs, and the streams between these run back, so that what leaves there is what
    arrives here. Operators and their readers are placed alike.

    Operators state the resource `cpu` in cores and rates in tuples/s; `transfer` is h, relative to the cores of a mean tuple. An
    InvalidInstanceError says that streams form a cycle, or that a supervisor states no cores.
    """
    application = problem.application
    cores = {o.name: o.instances * named_resources(o.resources).get(CPU, 0.0) for o in application.operators}
    load = {name: application.load(name) for name in cores}
    sent = {CPU: transfer * sum(cores.values()) / (sum(load.values()) or 1.0)}
    operators: list[dict[str, Any]] = []
    for o in application.operators:
        use = {"per_tuple": cores[o.name] / load[o.name]} if load[o.name] else {"per_replica": cores[o.name] / o.instances}
        count = {"min_replicas": o.instances, "max_replicas": o.instances}
        operators.append({"name": o.name, "external_rate": o.external_rate, "usage": {CPU: use}, **count})
        operators.append({"name": READER.format(o.name), **count})
    streams: list[dict[str, Any]] = []
    for s in application.streams:
        rate = {"rate": application.rate(s.source, s.target), "usage": sent}
        streams.append({"source": s.source, "target": s.target, **rate})
        streams.append({"source": READER.format(s.target), "target": READER.format(s.source), **rate})
    offered = {node.name: named_resources(node.resources or {}) for node in problem.network.nodes}
    nodes = [{"name": name, "capacity": {CPU: has[CPU]} if CPU in has else {}} for name, has in offered.items()]
    return EdrpProblem(
        application={"operators": operators, "streams": streams},
        network=problem.network.replace(nodes=nodes),
        weights={"peak_load": 1.0},
    )


def sustainable_throughput(problem: EdrpProblem, deployment: DeploymentLike) -> float:
    """Tuples/s of all sources together that a placement sustains, at which the first supervisor is full; infinite without needs.

    Whether the placement keeps the limits on utilisation plays no part: a supervisor is full when all its cores are.
    The problem is one of `shared_cpu`, the placement one of its operators, without readers.
    """
    readers = {READER.format(name): nodes for name, nodes in deployment.items()}
    multiple = largest_multiple(problem, {**deployment, **readers}).multiple
    return sum(operator.external_rate for operator in problem.application.operators) * (multiple or 0.0)


def end_to_end_latencies(
    problem: LatencyAwareProblem,
    deployment: DeploymentLike,
    *,
    tuples: int = 1000,
    rate_share: float = 1.0,
    transfer: float = TRANSFER,
    seed: int = 0,
) -> Floats:
    """Seconds from a source to a sink for every tuple that reaches one, in the order of arrival.

    Sources bring tuples at random (Poisson), at their rates times `rate_share`. A tuple goes to a random instance of
    each operator that follows, and leaves as many tuples as the rates say. A supervisor serves tuples first come, first
    served, with as many threads as it has cores (rounded up), which share its cores. Work per tuple is an operator's
    need over its load; tuples that come from or go to another supervisor cost more (`shared_cpu`) and are on their way for
    the delay of the link. So many `tuples` enter; the simulation ends when all have left. Problem, `transfer` and errors are
    those of `shared_cpu`; a BackendUnavailableError says that SimPy is not installed.
    """
    try:
        import simpy
    except ImportError as error:
        raise BackendUnavailableError('simulations need the package simpy: pip install "edrp[simulate]"') from error
    placed: Deployment = problem.read_decision(deployment, "deployment")
    simulation = _Simulation(simpy, problem, placed, transfer, np.random.default_rng(seed))
    rates = {o.name: o.external_rate * rate_share for o in problem.application.operators if o.external_rate * rate_share > 0}
    for name, rate in rates.items():
        simulation.clock.process(simulation.arrive(name, rate, round(tuples * rate / sum(rates.values()))))
    simulation.clock.run()
    return np.array(simulation.latencies)


class _Simulation:
    """Supervisors as queues on a clock."""

    def __init__(
        self, simpy: Any, problem: LatencyAwareProblem, deployment: Deployment, transfer: float, random: np.random.Generator
    ) -> None:
        application, shared = problem.application, shared_cpu(problem, transfer=transfer)
        self.clock = simpy.Environment()
        self.network = problem.network
        self.random = random
        self.homes = {operator: deployment[operator] for operator in deployment}
        self.cores = {node.name: node.capacity[CPU] for node in shared.network.nodes}
        self.queues = {node: simpy.Resource(self.clock, capacity=ceil(cores)) for node, cores in self.cores.items()}
        self.work = {o.name: shared.application.by_name[o.name].usage[CPU].per_tuple for o in application.operators}
        self.transfer = max((stream.usage[CPU] for stream in shared.application.streams), default=0.0)
        self.outflows: dict[str, list[tuple[str, float]]] = {name: [] for name in self.work}  # targets, tuples per tuple received
        for stream in application.streams:
            ratio = application.rate(stream.source, stream.target) / (application.load(stream.source) or 1.0)
            self.outflows[stream.source].append((stream.target, ratio))
        self.latencies: list[float] = []

    def arrive(self, operator: str, rate: float, tuples: int) -> Iterator[Any]:
        for _ in range(tuples):
            yield self.clock.timeout(self.random.exponential(1 / rate))
            self.clock.process(self.serve(operator, self._home(operator), self.clock.now, 0.0))

    def serve(self, operator: str, node: str, born: float, reading: float) -> Iterator[Any]:
        """Let a tuple wait on a supervisor, be processed, and be sent on."""
        leaving = [
            (target, self._home(target))
            for target, ratio in self.outflows[operator]
            for _ in range(int(ratio) + int(self.random.random() < ratio % 1))
        ]
        sending = self.transfer * sum(home != node for _, home in leaving)
        with self.queues[node].request() as turn:
            yield turn
            threads = self.queues[node].capacity
            yield self.clock.timeout((self.work[operator] + reading + sending) * threads / self.cores[node])
        if not self.outflows[operator]:
            self.latencies.append(self.clock.now - born)
        for target, home in leaving:
            self.clock.process(self._travel(node, target, home, born))

    def _travel(self, node: str, target: str, home: str, born: float) -> Iterator[Any]:
        if home != node:
            yield self.clock.timeout(self.network.delay(node, home))
        yield from self.serve(target, home, born, self.transfer if home != node else 0.0)

    def _home(self, operator: str) -> str:
        homes = self.homes[operator]
        return homes[int(self.random.integers(len(homes)))]
