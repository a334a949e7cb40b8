"""Metrics of who runs which keys where: those of EDRP with the true share of every replica, and the state that moves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from edrp.core.problem import RULES, SCENARIOS
from edrp.core.program import Linear
from edrp.migration.rescale.documents import is_unchanged, moved_bytes, node_shares, replica_loads
from edrp.placement.metrics.base import PACKAGE_METRICS, PathPart, PlainMetric
from edrp.placement.metrics.cost import Cost
from edrp.placement.metrics.downtime import Carrier, Downtime, transfer_time
from edrp.placement.metrics.peak_load import PeakLoad
from edrp.placement.metrics.response_time import ResponseTime


class KeyedResponseTime(ResponseTime):
    """Critical-path delay in seconds (EDRP, eqs. 1, 3, 5–7), each replica at its own rate; expected over load scenarios."""

    def evaluate(self, problem: Any, deployment: Any) -> float:
        """The mean over scenarios of EDRP, eq. 5, at the load of each."""
        cases = zip(problem.load_scenarios, problem.scenario_problems, strict=True)
        return math.fsum(scenario.probability * super(KeyedResponseTime, self).evaluate(at, deployment) for scenario, at in cases)

    def critical_path(self, problem: Any, deployment: Any) -> tuple[PathPart, ...]:
        """The slowest path at the heaviest load."""
        factors = [scenario.factor for scenario in problem.load_scenarios]
        return super().critical_path(problem.scenario_problems[factors.index(max(factors))], deployment)

    def operator_latency(self, problem: Any, deployment: Any, operator: str) -> float:
        """The slowest replica's latency or the mean over tuples, in seconds; infinite when one is overloaded."""
        model = problem.application.by_name[operator].latency
        if model is None:
            return 0.0
        replicas = replica_loads(problem.application, deployment, operator)
        speed = {node.name: node.speedup for node in problem.network.nodes}
        seconds = [model.at(replica.rate, len(replicas)) / speed[replica.node] for replica in replicas]
        if problem.operator_latency == "slowest" or not all(map(math.isfinite, seconds)):
            return float(max(seconds))
        return math.fsum(replica.share * value for replica, value in zip(replicas, seconds, strict=True))


class KeyedCost(Cost):
    """Money per hour (EDRP, eqs. 2, 4, 8), traffic by the shares of both ends."""

    def stream_cost(self, problem: Any, deployment: Any, source: str, target: str) -> float:
        """EDRP, eq. 4, where the rate between two nodes is the product of their shares."""
        application, network = problem.application, problem.network
        if application.by_name[source].tasks is None and application.by_name[target].tasks is None:
            return super().stream_cost(problem, deployment, source, target)
        senders = node_shares(application, deployment, source)
        receivers = node_shares(application, deployment, target)
        price = math.fsum(p * q * network.link_cost(u, v) for u, p in senders.items() for v, q in receivers.items())
        return float(application.rate(source, target) * price)


class KeyedPeakLoad(PeakLoad):
    """Largest share of a node's capacity that is asked for, of any shared resource, with the true share of every replica."""

    def evaluate(self, problem: Any, deployment: Any) -> float:
        """The maximum over nodes and resources of demand over capacity."""
        application, shares = problem.application, {}
        demands: dict[tuple[str, str], float] = {}

        def add(node: str, resource: str, amount: float) -> None:
            demands[node, resource] = demands.get((node, resource), 0.0) + amount

        for operator in application.operators:
            shares[operator.name] = node_shares(application, deployment, operator.name)
            for replica in replica_loads(application, deployment, operator.name) if operator.usage else ():
                for resource, usage in operator.usage.items():
                    add(replica.node, resource, usage.at(replica.rate))
        for stream in application.streams:
            rate = application.rate(stream.source, stream.target)
            for resource, per_tuple in stream.usage.items():
                for node, share in shares[stream.source].items():
                    add(node, resource, per_tuple * rate * share * max(0.0, 1 - shares[stream.target].get(node, 0.0)))
        nodes = problem.network.by_name
        used = [amount / nodes[node].capacity[resource] for (node, resource), amount in demands.items() if amount]
        return max(used, default=0.0)


MOVED = "moved state"
"""What a method has to know of `MovedState`."""

RESCALE_PARTS = PACKAGE_METRICS | {MOVED, RULES, SCENARIOS}
"""All parts of problems of this kind."""


class MovedState(PlainMetric):
    """Bytes of state that change their node, over all operators."""

    name = "moved_state"
    unit = "bytes"
    part = MOVED

    def evaluate(self, problem: Any, deployment: Any) -> float:
        """The sum of what arrives anywhere."""
        if problem.current is None:
            return 0.0
        return math.fsum(
            size
            for operator in problem.application.operators
            for size in moved_bytes(problem.application, problem.current, deployment, operator.name).arriving.values()
        )

    def linearise(self, expressions: Any) -> Linear:
        """A sum over columns."""
        value: Linear = expressions.moved_state()
        return value

    def zero_because(self, problem: Any) -> str:
        """Return why the metric is 0: there is nothing to be moved."""
        if problem.current is None:
            return "`current` is not given, and an initial placement moves nothing"
        stateful = any(operator.total_state for operator in problem.application.operators)
        return "" if stateful else "no operator has a state_size, nor have its tasks"


class KeyedDowntime(Downtime):
    """Seconds during which the application does not process: state by way of the store, or from node to node."""

    def evaluate(self, problem: Any, deployment: Any) -> float:
        """EDRP, eq. 10, or where state goes directly the time that its transfers over all operators need together."""
        if problem.current is None:
            return 0.0
        return super().evaluate(problem, deployment) if problem.transfer == "store" else _direct(problem, deployment)

    def carriers(self, problem: Any) -> Iterator[Carrier]:
        """State, by way of the store or from node to node, and code."""
        state, code = super().carriers(problem)
        operators, nodes = problem.application.operators, problem.network.nodes
        index, largest = max(enumerate(operators), key=lambda pair: pair[1].total_state)
        place = f"application.operators[{index}].{'state_size' if largest.tasks is None else 'tasks.state_size'}"
        state = state._replace(size=largest.total_state, size_place=place)
        if problem.transfer == "direct":
            rates = [rate for node in nodes for rate in (node.up_rate, node.down_rate) if rate is not None]
            state = state._replace(rate=max(rates, default=None), rate_place="up_rate or down_rate of network.nodes")
        yield state
        yield code

    def operator_downtime(self, problem: Any, deployment: Any, operator: str) -> float:
        """EDRP, eqs. 25–32, with the bytes of the tasks that leave a node and reach another."""
        if problem.current is None or is_unchanged(problem.current, deployment, operator):
            return 0.0
        if problem.application.by_name[operator].tasks is None:
            return super().operator_downtime(problem, deployment, operator)
        before, after = problem.current.replicas(operator), deployment.replicas(operator)
        moved = moved_bytes(problem.application, problem.current, deployment, operator)
        longest = 0.0
        for v in after:
            code = transfer_time(problem, v, problem.application.by_name[operator].code_size) if not before[v] else 0.0
            spawn = problem.network.by_name[v].spawn_time if after[v] > before[v] else 0.0
            download = transfer_time(problem, v, moved.arriving.get(v, 0.0))
            for u in before:
                if u != v:
                    upload = transfer_time(problem, u, moved.leaving.get(u, 0.0))
                    longest = max(longest, max(code, upload) + download + spawn)
        return float(problem.synchronisation_time + longest)


def _direct(problem: Any, deployment: Any) -> float:
    """Synchronisation, then the longest of transfers and downloads of code, then the longest start of replicas."""
    application, network, current = problem.application, problem.network, problem.current
    changed = [o.name for o in application.operators if not is_unchanged(current, deployment, o.name)]
    if not changed:
        return 0.0
    leaving: dict[str, float] = {}
    arriving: dict[str, float] = {}
    code, spawn = 0.0, 0.0
    for operator in changed:
        moved = moved_bytes(application, current, deployment, operator)
        for total, part in ((leaving, moved.leaving), (arriving, moved.arriving)):
            for node, size in part.items():
                total[node] = total.get(node, 0.0) + size
        before, after = current.replicas(operator), deployment.replicas(operator)
        for node, count in after.items():
            if not before[node]:
                code = max(code, transfer_time(problem, node, application.by_name[operator].code_size))
            if count > before[node]:
                spawn = max(spawn, network.by_name[node].spawn_time)
    transfer = 0.0
    for node in network.nodes:
        up, down = node.up_rate or math.inf, node.down_rate or math.inf
        transfer = max(transfer, leaving.get(node.name, 0.0) / up, arriving.get(node.name, 0.0) / down)
    return float(problem.synchronisation_time + max(transfer, code) + spawn)


RESCALE_METRICS: dict[str, Any] = {
    metric.name: metric for metric in (KeyedResponseTime(), KeyedCost(), KeyedDowntime(), MovedState(), KeyedPeakLoad())
}
"""Metrics of problems of kind `rescale` by the name under which weights and limits refer to them."""
