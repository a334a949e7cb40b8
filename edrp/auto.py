"""The default method: chooses, and says what it chose."""

from __future__ import annotations

from typing import Any

from edrp.core.errors import UnsupportedProblemError
from edrp.core.kinds import find_kind, kinds
from edrp.core.methods import FirstOf, Method, Options, ResolvedMethod, get_method, methods
from edrp.core.solution import Answer
from edrp.core.wording import suggestion
from edrp.enactment.snapshot import EnactmentProblem
from edrp.formulations.placement.compact import estimated_columns
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.placement.compilation import compile_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem

MAX_PROOF_SIZE = 100_000
"""Operators × nodes above which no proof is attempted."""


MAX_PROVEN_INSTANCES = 80
"""Instances above which no proof of a latency-aware placement is attempted."""

MAX_COLUMNS = 1_000_000
"""Columns of the compact program above which no proof is attempted either."""


def choose_for_edrp(problem: EdrpProblem) -> Method:
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


def choose_for_latency_aware(problem: LatencyAwareProblem) -> Method:
    """Proof where the column generation may come to an end, else the search that is best without."""
    instances = sum(operator.instances for operator in problem.application.operators)
    proof = ("column-generation",) if instances <= MAX_PROVEN_INSTANCES else ()
    return FirstOf((*proof, "iterated-local-search"))(problem)


MAX_PROVEN_CONTAINERS = 2_000
"""Instances that a load needs above which no proof of a snapshot is attempted."""


def choose_for_snapshot(problem: EnactmentProblem) -> Method:
    """`highs`, or `first-fit-decreasing` where there are too many instances for a program."""
    needed = sum(problem.minimum_instances.values())
    return FirstOf(("highs" if needed <= MAX_PROVEN_CONTAINERS else "first-fit-decreasing",))(problem)


MAX_FLOWS_ON_ARCS = 200_000
"""Flows × arcs above which no proof of a link allocation is attempted."""


def choose_for_flows(problem: LinkAllocationProblem) -> Method:
    """`highs`, or `greedy-reallocation` where there are too many flows and links for a program."""
    size = len(problem.flows) * len(problem.network.arcs)
    return FirstOf(("highs" if size <= MAX_FLOWS_ON_ARCS else "greedy-reallocation",))(problem)


def choose(problem: Any) -> Method:
    """The method to use for a problem of any kind; it takes the problem.

    Raises
    ------
    UnsupportedProblemError
        When no method is chosen for its kind, or the chosen one refuses the problem.
    """
    kind = find_kind(problem.kind)
    if kind is None or kind.choose is None:
        why = f"there is no automatic choice for problems of kind {problem.kind!r}"
        raise UnsupportedProblemError(why + suggestion("", methods(problem.kind)))
    return kind.choose(problem)


class Auto(Method):
    """Runs the method that `choose` names."""

    name = "auto"
    exact = True
    summary = (
        "eliminate, highs or column-generation for deployments, a search where no proof is in reach; "
        "ssm, oms, pmc for migrations; highs or first fit for leased hosts, the predictive policy for runs; "
        "label-setting for maps of tasks, the least-cost map where costs do not add up; highs or the greedy rule for flows"
    )

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds for which a method is chosen."""
        return tuple(name for name, kind in kinds().items() if kind.has("choose"))

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
