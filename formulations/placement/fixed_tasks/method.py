"""`fixed-tasks`: the least peak load of given tasks on equal nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.core.methods import Method, Options
from edrp.core.problem import RULES
from edrp.core.solution import Answer
from edrp.core.tolerances import LIMIT_SLACK
from edrp.formulations.placement.fixed_tasks.search import PeakInterval
from edrp.formulations.placement.handover import leaving_out_rules, rules_left_out
from edrp.formulations.placement.proof import answer_with_bound
from edrp.placement.compilation import compile_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.fixed_tasks import fixed_tasks_refusal, given_cost, load_limits, minimised, read_fixed_tasks
from edrp.placement.metrics.base import PEAKS, TRAFFIC


class FixedTasksMethod(Method):
    """Peak loads of shared resources, one after the other, where all numbers of replicas are given and nodes are equal."""

    name = "fixed-tasks"
    kinds = ("edrp",)
    takes = frozenset({TRAFFIC, PEAKS, RULES})
    exact = True
    summary = "given numbers of replicas on equal nodes: least peak load by patterns of nodes; hundreds of tasks"

    def obstacle(self, problem: EdrpProblem) -> str | None:
        """Numbers of replicas that are open, nodes that differ, other metrics."""
        with rules_left_out(problem) as relaxed:
            return fixed_tasks_refusal(relaxed, self.name, peaks=1)

    @leaving_out_rules
    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Prove the least peak load, or return what was reached with a bound when time runs out."""
        compiled = compile_problem(problem)
        degrees = compiled.max_replicas
        stable = np.isfinite(compiled.latency[np.arange(degrees.size), degrees]).all()
        if not stable or given_cost(compiled) > compiled.limit["cost"] * (1 + LIMIT_SLACK):
            return Answer("infeasible", "finished")
        tasks, shared = read_fixed_tasks(problem), minimised(compiled)
        weight = max(compiled.weight[metric] for metric in compiled.contention.metrics)
        constant = compiled.weight["cost"] * given_cost(compiled)

        def report() -> None:
            options.tell(constant + weight * search.value, constant + weight * search.bound)

        search = PeakInterval(tasks, shared, load_limits(compiled), options, report)
        build_seconds = options.seconds
        for known in (options.start, problem.current):
            if known is not None and problem.evaluate(known).feasible:
                search.hold(compiled.counts(known).T)
        stopped = search.run()
        size: dict[str, Any] = {"patterns": max(search.patterns, len(search.pool.patterns))}
        if search.impossible:
            return Answer("infeasible", "finished", size=size, build_seconds=build_seconds)
        if search.counts is None:
            return Answer("none", "time_limit" if stopped == "finished" else stopped, size=size, build_seconds=build_seconds)
        deployment = compiled.deployment(np.ascontiguousarray(search.counts.T))
        gap = weight * max(0.0, search.value - search.bound)
        return answer_with_bound(problem, deployment, gap, options.gap, stopped, size, build_seconds)


METHODS = (FixedTasksMethod(),)
"""Methods of this module, for the registry."""
