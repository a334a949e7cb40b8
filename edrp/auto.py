"""The default method: chooses, and says what it chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from edrp.core.methods import Method, Options, get_method
from edrp.core.solution import Answer
from edrp.enactment.snapshot import EnactmentProblem
from edrp.formulations.placement.compact import estimated_columns
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.mapping.path_mapping import MappingProblem
from edrp.placement.compiled import compile_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem

LARGEST_PROOF = 100_000
"""Operators × nodes above which no proof is attempted."""


def choose(problem: Any) -> Method:
    """The method to use for a problem of any kind."""
    return CHOICES[problem.kind](problem)


MOST_PROVEN_INSTANCES = 80
"""Instances above which no proof of a latency-aware placement is attempted."""

LARGEST_PROGRAM = 1_000_000
"""Columns of the compact program above which no proof is attempted either."""


def _choose_for_deployment(problem: EdrpProblem) -> Method:
    """`eliminate` where it can express the problem, else `highs`; a search beyond what either can hold."""
    if len(problem.application.operators) * len(problem.network.nodes) > LARGEST_PROOF:
        return _search(problem)
    eliminate = get_method("eliminate", problem.kind)
    if eliminate.refusal(problem) is None:
        return eliminate
    proof = estimated_columns(compile_problem(problem)) <= LARGEST_PROGRAM
    return get_method("highs", problem.kind) if proof else _search(problem)


def _search(problem: EdrpProblem) -> Method:
    """`iterated-local-search`, or `annealing` where there are too many replicas to be looked at one by one."""
    best = get_method("iterated-local-search", problem.kind)
    return best if best.refusal(problem) is None else get_method("annealing", problem.kind)


def _choose_for_score(problem: LatencyAwareProblem) -> Method:
    """Proof where the column generation may come to an end, else the search that is best without."""
    instances = sum(operator.instances for operator in problem.application.operators)
    exact = get_method("column-generation", problem.kind)
    if instances <= MOST_PROVEN_INSTANCES and exact.refusal(problem) is None:
        return exact
    return get_method("iterated-local-search", problem.kind)


MOST_PROVEN_CONTAINERS = 2_000
"""Instances that a load needs above which no proof of a snapshot is attempted."""


def _choose_for_snapshot(problem: EnactmentProblem) -> Method:
    """`highs`, or `first-fit-decreasing` where there are too many instances for a program."""
    needed = sum(problem.minimum_instances.values())
    return get_method("highs" if needed <= MOST_PROVEN_CONTAINERS else "first-fit-decreasing", problem.kind)


def _choose_for_map(problem: MappingProblem) -> Method:
    """`label-setting` where it takes the cost, else `least-cost-map`."""
    exact = get_method("label-setting", problem.kind)
    return exact if exact.refusal(problem) is None else get_method("least-cost-map", problem.kind)


MOST_FLOWS_ON_ARCS = 200_000
"""Flows × arcs above which no proof of a link allocation is attempted."""


def _choose_for_flows(problem: LinkAllocationProblem) -> Method:
    """`highs`, or `greedy-reallocation` where there are too many flows and links for a program."""
    size = len(problem.flows) * len(problem.network.arcs)
    return get_method("highs" if size <= MOST_FLOWS_ON_ARCS else "greedy-reallocation", problem.kind)


def _always(name: str) -> Callable[[Any], Method]:
    return lambda problem: get_method(name, problem.kind)


CHOICES: dict[str, Callable[[Any], Method]] = {
    "edrp": _choose_for_deployment,
    "latency-aware": _choose_for_score,
    "migration": _always("ssm"),
    "migration-sequence": _always("oms"),
    "migration-policy": _always("pmc"),
    "enactment": _choose_for_snapshot,
    "leasing": _always("highs"),
    "enactment-scenario": _always("predictive-policy"),
    "mapping": _choose_for_map,
    "link-allocation": _choose_for_flows,
    "bimodal-scenario": _always("public-hops-links-mapping"),
}
"""By kind of problem, what chooses."""


class Auto:
    """Runs the method that `choose` names."""

    name = "auto"
    kinds: tuple[str, ...] = tuple(CHOICES)
    exact = True
    summary = (
        "eliminate, highs or column-generation for deployments, a search where no proof is in reach; "
        "ssm, oms, pmc for migrations; highs or first fit for leased hosts, the predictive policy for runs; "
        "label-setting for maps of tasks, the least-cost map where costs do not add up; highs or the greedy rule for flows"
    )

    def refusal(self, problem: Any) -> str | None:
        """Takes what the chosen method takes."""
        return choose(problem).refusal(problem)

    def run(self, problem: Any, options: Options) -> Answer:
        """Run it; the answer's method says which it was."""
        chosen = choose(problem)
        answer = chosen.run(problem, options)
        return replace(answer, method=f"auto: {answer.method or chosen.name}")


METHODS = (Auto(),)
"""For the registry."""
