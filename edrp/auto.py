"""The default method: chooses, and says what it chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edrp.core.errors import UnsupportedProblemError
from edrp.core.methods import FirstOf, Method, Options, ResolvedMethod, get_method
from edrp.core.solution import Answer
from edrp.enactment.snapshot import EnactmentProblem
from edrp.formulations.placement.compact import estimated_columns
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.placement.compilation import compile_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem

MAX_PROOF_SIZE = 100_000
"""Operators × nodes above which no proof is attempted."""


def choose(problem: Any) -> Method:
    """The method to use for a problem of any kind."""
    return CHOICES[problem.kind](problem)


MAX_PROVEN_INSTANCES = 80
"""Instances above which no proof of a latency-aware placement is attempted."""

MAX_COLUMNS = 1_000_000
"""Columns of the compact program above which no proof is attempted either."""


def _choose_for_deployment(problem: EdrpProblem) -> Method:
    """`eliminate` where it can express the problem, else `highs`; a search beyond what either can hold."""
    if len(problem.application.operators) * len(problem.network.nodes) > MAX_PROOF_SIZE:
        return _search(problem)
    eliminate = get_method("eliminate", problem.kind)
    if eliminate.refusal(problem) is None:
        return eliminate
    proof = estimated_columns(compile_problem(problem)) <= MAX_COLUMNS
    return get_method("highs", problem.kind).resolve(problem) if proof else _search(problem)


_search = FirstOf(("iterated-local-search", "annealing"))
"""The best search, or the one that does not look at replicas one by one where there are too many of them."""


def _choose_for_score(problem: LatencyAwareProblem) -> Method:
    """Proof where the column generation may come to an end, else the search that is best without."""
    instances = sum(operator.instances for operator in problem.application.operators)
    proof = ("column-generation",) if instances <= MAX_PROVEN_INSTANCES else ()
    return FirstOf((*proof, "iterated-local-search"))(problem)


MAX_PROVEN_CONTAINERS = 2_000
"""Instances that a load needs above which no proof of a snapshot is attempted."""


def _choose_for_snapshot(problem: EnactmentProblem) -> Method:
    """`highs`, or `first-fit-decreasing` where there are too many instances for a program."""
    needed = sum(problem.minimum_instances.values())
    return FirstOf(("highs" if needed <= MAX_PROVEN_CONTAINERS else "first-fit-decreasing",))(problem)


MAX_FLOWS_ON_ARCS = 200_000
"""Flows × arcs above which no proof of a link allocation is attempted."""


def _choose_for_flows(problem: LinkAllocationProblem) -> Method:
    """`highs`, or `greedy-reallocation` where there are too many flows and links for a program."""
    size = len(problem.flows) * len(problem.network.arcs)
    return FirstOf(("highs" if size <= MAX_FLOWS_ON_ARCS else "greedy-reallocation",))(problem)


CHOICES: dict[str, Callable[[Any], Method]] = {
    "edrp": _choose_for_deployment,
    "latency-aware": _choose_for_score,
    "migration": FirstOf(("ssm",)),
    "migration-sequence": FirstOf(("oms",)),
    "migration-policy": FirstOf(("pmc",)),
    "enactment": _choose_for_snapshot,
    "leasing": FirstOf(("highs",)),
    "enactment-scenario": FirstOf(("predictive-policy",)),
    "mapping": FirstOf(("label-setting", "least-cost-map")),
    "link-allocation": _choose_for_flows,
    "bimodal-scenario": FirstOf(("public-hops-links-mapping",)),
}
"""By kind of problem, what chooses."""


class Auto(Method):
    """Runs the method that `choose` names."""

    name = "auto"
    kinds = tuple(CHOICES)
    exact = True
    summary = (
        "eliminate, highs or column-generation for deployments, a search where no proof is in reach; "
        "ssm, oms, pmc for migrations; highs or first fit for leased hosts, the predictive policy for runs; "
        "label-setting for maps of tasks, the least-cost map where costs do not add up; highs or the greedy rule for flows"
    )

    def refusal(self, problem: Any) -> str | None:
        """Why no method of the choice takes the problem; None if one does."""
        try:
            self.resolve(problem)
        except UnsupportedProblemError as error:
            return str(error)
        return None

    def resolve(self, problem: Any) -> Method:
        """The chosen method, which takes the problem."""
        return choose(problem)

    def run(self, problem: Any, options: Options) -> Answer:
        """Run the chosen method; the answer's method says which it was."""
        return ResolvedMethod(self.name, self.resolve(problem)).run(problem, options)


METHODS = (Auto(),)
"""For the registry."""
