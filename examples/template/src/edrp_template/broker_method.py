"""A heuristic for the kind `brokers`: the heaviest partition first, each where that is best now."""

from __future__ import annotations

from functools import partial

from edrp import Answer, Method, Options
from edrp_template.documents import Assignment, Broker, BrokerProblem, Partition


class HeaviestFirst(Method):
    """Partitions by decreasing rate, each on the broker on which the objective grows least."""

    name, kinds, summary = "heaviest-first", ("brokers",), "partitions by rate, each where the objective grows least"

    def run(self, problem: BrokerProblem, options: Options) -> Answer:
        """Assign one partition after the other; the rest counts once it is assigned."""
        self.read_parameters(options)
        order = sorted(problem.partitions, key=lambda partition: -partition.rate)
        assignment: Assignment = {}
        loads = dict.fromkeys((broker.name for broker in problem.brokers), 0.0)
        for partition in order:
            if options.remaining == 0.0:
                return Answer("none", "time_limit")
            best = min(problem.brokers, key=partial(self._value, problem, loads, partition))
            assignment[partition.name] = best.name
            loads[best.name] += partition.rate / best.bandwidth
        if problem.evaluate(assignment).broken:
            return Answer("none", "finished")
        return Answer("feasible", "finished", assignment)

    @staticmethod
    def _value(problem: BrokerProblem, loads: dict[str, float], partition: Partition, broker: Broker) -> float:
        """The objective once the partition is on the broker, as far as it is known."""
        stays = problem.current is None or problem.current[partition.name] == broker.name
        moved = 0.0 if stays else problem.moved_weight * partition.size / problem.total_size
        return max(loads[broker.name] + partition.rate / broker.bandwidth, *loads.values()) + moved


HEAVIEST_FIRST = HeaviestFirst()
