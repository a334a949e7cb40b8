"""The default method: chooses, and says what it chose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from edrp.auto.portfolio import PROGRAM_FIRST, Portfolio, PortfolioStage, Stages, helped_out, program_first
from edrp.core.errors import ProblemTooLargeError, UnsupportedProblemError
from edrp.core.kinds import find_kind, kinds
from edrp.core.methods import FirstOf, Method, Options, ResolvedMethod, alternative, get_method, methods
from edrp.core.problem import EVERYTHING
from edrp.core.solution import Answer
from edrp.formulations.placement.compact import estimated_columns
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics.base import DEVICES
from edrp.placement.problem import PlacementProblem

if TYPE_CHECKING:
    from edrp.enactment.leasing import LeasingProblem
    from edrp.enactment.snapshot import EnactmentProblem
    from edrp.mapping.link_allocation import LinkAllocationProblem
    from edrp.migration.rescale.problem import RescaleProblem
    from edrp.placement.latency_aware import LatencyAwareProblem
    from edrp.placement.sequence import EdrpSequence

MAX_PROOF_SIZE = 100_000
"""Operators × nodes above which no proof is attempted."""

MAX_PROVEN_INSTANCES = 80
"""Instances above which no proof of a latency-aware placement is attempted."""

MAX_COLUMNS = 1_000_000
"""Columns of the compact program above which no proof is attempted either."""

SMALL_PROGRAM = 400
"""Columns up to which HiGHS is through with the compact program sooner than kernels are loaded."""

SMALL_SHARED_PROGRAM = 100
"""Columns up to which HiGHS is sooner than kernels where the program bounds peak loads on clusters; such programs are hard.

Those of given tasks are harder still, of any size: nodes are equal, and nothing but peak loads is left to be minimised.
"""

ON_CLUSTERS = ("fixed-tasks", "equal-nodes")
"""Methods that work with classes of equal nodes, those that take fewer problems and are faster on them in front."""

CLUSTER_SHARE = 0.7
"""Share of a limit that they have before a search and other proofs, which mostly come after them in vain."""

FLOW = "ordered-flow"
"""Method for priorities that are solved in one run."""

COLUMNS_PER_SEAT = 5
"""Columns of the compact program per operator and node up to which HiGHS proves more than other methods.

There are so few where hardly any operator has several replicas or streams; measured on the suite `placement`.
"""

RULED_SHARE = 0.5
"""Share of the operators that rules reach from which a program with few columns goes before methods that leave rules out.

What they prove is then far from the optimum: where wishes are most of the objective, 6,000 columns took them 18 units, and HiGHS
a third of one.
"""

SMALL_TRAFFIC = 30
"""Operators × nodes up to which elimination proves more on clusters where links cost or tuples in flight count."""

LARGE_PLACEMENT = 5_000
"""Operators × nodes from which a simple rule goes first: others may be at their tables when time is up."""

SEARCH_SHARE = 0.2
"""Share of a limit for the search before elimination; it mostly ends sooner."""

FIRST_PROOF = 30.0
"""Units of work after which a proof of a placement counts as stalled where there is no limit."""


def proofs(problem: EdrpProblem) -> list[Method]:
    """Exact methods that take a deployment problem, the one that will probably be through first in front.

    Raises
    ------
    ProblemTooLargeError
        When the arrays of the problem would not fit in memory.
    """
    compiled = compile_problem(problem)
    on_clusters = [] if _is_small(problem, compiled) else _on_clusters(problem, compiled)
    return [*on_clusters, *_on_any_nodes(problem, compiled)]


def _on_any_nodes(problem: EdrpProblem, compiled: Compiled) -> list[Method]:
    """Elimination and HiGHS, in the order in which they are likely to end, as far as they take the problem."""
    columns = estimated_columns(compiled)
    eliminate, highs = (get_method(name, problem.kind) for name in ("eliminate", "highs"))
    if eliminate.refusal(problem) is not None:
        return [highs] if columns <= MAX_COLUMNS else []
    if columns > MAX_COLUMNS:
        return [eliminate]
    return [highs, eliminate] if _is_plain(compiled) else [eliminate, highs]


def _is_plain(compiled: Compiled) -> bool:
    """Whether the compact program has few columns for its operators and nodes, so that HiGHS proves more than others."""
    seats = len(compiled.operators) * len(compiled.problem.network.nodes)
    return estimated_columns(compiled) <= max(SMALL_PROGRAM, COLUMNS_PER_SEAT * seats)


def _rules_decide(problem: EdrpProblem, compiled: Compiled) -> bool:
    """Whether rules reach too many operators of a plain program for methods that ignore them to say much.

    Peak loads with a weight stay hard for the program, with rules or without.
    """
    reached = np.bincount(compiled.rules.reach.indices, minlength=compiled.candidate.size).reshape(compiled.candidate.shape)
    share = (reached > 0).any(axis=1).mean()
    return bool(share >= RULED_SHARE and _is_plain(compiled) and not problem.weighted_peaks)


def _on_clusters(problem: EdrpProblem, compiled: Compiled) -> list[Method]:
    """The method that works with classes of equal nodes and takes the problem, if it proves more there than elimination."""
    # The number of classes of nodes decides how hard a proof is there, not the number of nodes.
    ruled = len(compiled.rules) > 0
    if ruled and (get_method("eliminate", problem.kind).refusal(problem) is None or _rules_decide(problem, compiled)):
        return []  # they leave rules out, elimination and the program do not
    methods = (get_method(name, problem.kind) for name in ON_CLUSTERS)
    method = next((method for method in methods if method.refusal(problem) is None), None)
    if method is None:
        return []
    seats = len(problem.application.operators) * len(problem.network.nodes)
    # What replicas on common nodes save is known to elimination, and to bounds over classes only in part.
    if method.name == "equal-nodes" and seats <= SMALL_TRAFFIC and not ruled:
        from edrp.formulations.placement.equal_nodes.downtimes import compiled_quotient  # and kernels, which others do not need

        if compiled_quotient(problem).traffic is not None:
            return []
    return [method]


def _is_small(problem: EdrpProblem, compiled: Compiled) -> bool:
    """Whether HiGHS is through with the compact program at once; no kernel is needed to say so."""
    columns = estimated_columns(compiled)
    if columns > SMALL_PROGRAM or not compiled.contended:
        return columns <= SMALL_PROGRAM
    if get_method("fixed-tasks", problem.kind).refusal(problem) is None:
        return len(compiled.rules) > 0 and columns <= SMALL_SHARED_PROGRAM  # few tasks need no kernels either
    # The weight of a peak load takes equal-nodes several proofs, and a small program one.
    shared = not (problem.weighted_peaks or (len(compiled.rules) and _rules_decide(problem, compiled)))
    shared = shared and get_method("equal-nodes", problem.kind).refusal(problem) is None
    return columns <= (SMALL_SHARED_PROGRAM if shared else SMALL_PROGRAM)


def _highs(problem: Any) -> Method:
    """HiGHS once it was asked whether it takes the problem."""
    return get_method("highs", problem.kind).resolve(problem)


def choose_for_edrp(problem: EdrpProblem) -> Method:
    """`highs` for small programs, `equal-nodes` or `fixed-tasks` for clusters, else `eliminate`; each helps the others out.

    A search where the problem is beyond what they hold. `ordered-flow` for all priorities at once, where it takes them.
    """
    if DEVICES in problem.parts:
        greedy = get_method("greedy-pipeline", problem.kind)
        return helped_out(problem, _highs(problem), *([greedy] if greedy.refusal(problem) is None else []))
    if problem.priorities and (flow := get_method(FLOW, problem.kind)).refusal(problem) is None:
        return flow
    if len(problem.application.operators) * len(problem.network.nodes) > MAX_PROOF_SIZE:
        return _searches(problem)
    try:
        compiled = compile_problem(problem)
        if _is_small(problem, compiled):
            return helped_out(problem, _highs(problem), *_plain_rules(problem), rule_first=False)
        columns = estimated_columns(compiled)
        if on_clusters := _on_clusters(problem, compiled):
            return _portfolio(problem, columns, on_clusters, lambda: _on_any_nodes(problem, compiled))
        return _portfolio(problem, columns, _on_any_nodes(problem, compiled))
    except ProblemTooLargeError:  # to tell whether its nodes are equal
        return _searches(problem)


def choose_for_latency_aware(problem: LatencyAwareProblem) -> Method:
    """Proof where one may come to an end, else the search that is best without."""
    if DEVICES in problem.parts:
        return _highs(problem)
    instances = sum(operator.instances for operator in problem.application.operators)
    if instances > MAX_PROVEN_INSTANCES:
        return _searches(problem)
    columns = estimated_columns(compile_problem(problem))
    if columns <= SMALL_PROGRAM:
        return helped_out(problem, _highs(problem), *_plain_rules(problem), rule_first=False)
    generation = get_method("column-generation", problem.kind)
    return _portfolio(problem, columns, [generation] if generation.refusal(problem) is None else [])


_search = FirstOf(("iterated-local-search", "annealing", "highs"))
"""The best search, the one that does not look at replicas one by one where there are too many of them, or HiGHS for metrics that
searches do not take."""


def _searches(problem: PlacementProblem) -> Method:
    """The best search, and simple rules for when it has nothing."""
    return Portfolio([*_first_rule(problem), PortfolioStage(_search(problem), 1.0)], _plain_rules(problem))


def _portfolio(
    problem: PlacementProblem,
    columns: float,
    proofs: Sequence[Method],
    further_proofs: Callable[[], Sequence[Method]] = tuple,
) -> Method:
    """Proofs by preference, between them a search: it finds at once what a proof that stalls may never look at.

    Whether further methods take the problem, which loads their modules, is asked when the first proof has stalled.
    A program of few columns has a short turn before all of them.
    """
    if not proofs:
        return _searches(problem)
    first = proofs[0]

    def further() -> Stages:
        others = list(proofs[1:])
        with suppress(ProblemTooLargeError):
            others += further_proofs()
        if first.name == "eliminate":
            # Under a limit it is not begun twice, nor is a program that takes as long to be built as it lasts.
            searching, shares = SEARCH_SHARE, [0.0 for _ in others]
        else:
            # Under a limit the last of the others has what is left: the first would start again, with less time than it had.
            searching, shares = 0.4, [*(0.6 for _ in others[1:]), 1.0]
        search = PortfolioStage(_search(problem), searching, FIRST_PROOF)
        turns = [PortfolioStage(proof, share, FIRST_PROOF) for proof, share in zip(others, shares, strict=False)]
        return (search, *turns, PortfolioStage(first, 1.0))

    before = 0.0 if first.name == "eliminate" else CLUSTER_SHARE if first.name in ON_CLUSTERS else 0.4
    program = [] if first.name in ("highs", "fixed-tasks") else program_first(problem, columns)
    stages = [*_first_rule(problem), *program, PortfolioStage(first, before, FIRST_PROOF)]
    repairs = first.name == "highs" and len(problem.rules) > 0  # of what a simple method breaks may take longer than the program
    return Portfolio(stages, _plain_rules(problem), further, rule_first=columns >= PROGRAM_FIRST and not repairs)


def _first_rule(problem: PlacementProblem) -> list[PortfolioStage]:
    large = len(problem.application.operators) * len(problem.network.nodes) >= LARGE_PLACEMENT
    return [PortfolioStage(rule, 0.2, FIRST_PROOF) for rule in _plain_rules(problem)[:1]] if large else []


def _plain_rules(problem: PlacementProblem) -> list[Method]:
    return [get_method(name, problem.kind) for name in ("greedy", "first-fit") if problem.kind in get_method(name).kinds]


SMALL_RANGES = 1_000
"""Columns of the program over ranges up to which HiGHS is through with it at once."""

MAX_RANGES = 60_000
"""Columns above which no proof of a rescaling is attempted."""


def choose_for_rescale(problem: RescaleProblem) -> Method:
    """`highs` for small programs over ranges; else a repair of what runs, search and bound, and a proof that may come to an end.

    The search alone where the bound does not take the problem.
    """
    from edrp.formulations.migration.rescale.columns import estimated_ranges

    if DEVICES in problem.parts:
        return _highs(problem)
    columns = estimated_ranges(problem)
    highs, search, bound = (get_method(name, problem.kind) for name in ("highs", "range-annealing", "range-decomposition"))
    plain = [get_method(name, problem.kind) for name in ("keep", "repair-ranges")]
    if columns <= SMALL_RANGES:
        return helped_out(problem, highs.resolve(problem), *plain)
    first = PortfolioStage(plain[-1], 0.5)
    bounded = bound.refusal(problem) is None
    if columns > MAX_RANGES:
        return Portfolio([first, PortfolioStage(bound if bounded else search, 1.0)], plain)
    second = PortfolioStage(bound, 0.5) if bounded else PortfolioStage(search, 0.3)
    return Portfolio([first, second, PortfolioStage(highs, 1.0)], plain)


MAX_PROVEN_CONTAINERS = 2_000
"""Instances that a load needs above which no proof of a snapshot is attempted."""


def choose_for_snapshot(problem: EnactmentProblem) -> Method:
    """`highs`, or a rule where there are too many instances for a program: `host-selection` where changes have prices."""
    needed = sum(problem.minimum_instances.values())
    rule = get_method("first-fit-decreasing" if problem.changes is None else "host-selection", problem.kind)
    small = needed <= MAX_PROVEN_CONTAINERS
    return helped_out(problem, _highs(problem), rule) if small else rule.resolve(problem)


def choose_for_leasing(problem: LeasingProblem) -> Method:
    """`highs`; under a limit `first-fit-leases` answers where it has nothing in time."""
    return helped_out(problem, _highs(problem), get_method("first-fit-leases", problem.kind))


MAX_FLOWS_ON_ARCS = 200_000
"""Flows × arcs above which no proof of a link allocation is attempted."""


def choose_for_flows(problem: LinkAllocationProblem) -> Method:
    """`route-selection`, `highs` for flows of many routes, or a rule where there are too many flows and links for a program."""
    size, rule = len(problem.flows) * len(problem.network.arcs), get_method("greedy-reallocation", problem.kind)
    if size > MAX_FLOWS_ON_ARCS:
        return rule.resolve(problem)
    return helped_out(problem, FirstOf(("route-selection", "highs"))(problem), rule)


PREFERRED_POLICIES = ("predictive-policy", "public-hops-links-mapping")
"""Policies that run first: where time is up, their runs are there."""


def choose_for_run(problem: Any) -> Method:
    """All policies in turn; the answer is the run with the lowest objective.

    A run tells what a policy is worth on a scenario, and takes less time than reasons for one of them would. What a policy
    may know is its own affair: `static-peak-policy` is told the peak.
    """
    run_methods = [method for name, method in methods(problem.kind).items() if name != Auto.name]
    policies = [method for method in run_methods if method.refusal(problem) is None]
    policies.sort(key=lambda method: method.name not in PREFERRED_POLICIES)
    return Portfolio([PortfolioStage(policy, 1.0) for policy in policies])


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
        raise UnsupportedProblemError(why, alternative(problem, Auto.name))
    return kind.choose(problem)


BEST_FOR_SEQUENCES = FirstOf(("replica-vectors", "priced-course", "highs", "myopic"))
"""Methods for deployments over time, of which the first that takes the problem is the default."""


def choose_for_sequence(problem: EdrpSequence) -> Method:
    """`replica-vectors` where only numbers of replicas count, else `priced-course`; `highs` for peak loads and small programs.

    `myopic` where none of them takes the problem; under a limit it answers where they have nothing in time.
    `static-deployment` is asked where it finds nothing either.
    """
    columns = estimated_columns(compile_problem(problem.base)) * len(problem.periods)
    rules = (get_method(name, problem.kind) for name in ("myopic", "static-deployment"))
    return helped_out(problem, BEST_FOR_SEQUENCES(problem), *rules, columns=columns)


class Auto(Method):
    """Runs the method that `choose` names."""

    name = "auto"
    exact = True
    takes = EVERYTHING
    summary = (
        "for priorities without streams ordered-flow; "
        "for deployments highs on small programs, equal-nodes or fixed-tasks on clusters, else eliminate or column-generation, "
        "a search and highs in turn; "
        "ssm, oms, pmc for migrations; highs, or a search and bounds, then highs, for rescalings; "
        "highs or first fit for leased hosts; for runs the policy that does best; "
        "label-setting for maps of tasks, the least-cost map where costs do not add up; "
        "route-selection, highs or the greedy rule for flows"
    )

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds for which a method is chosen."""
        return tuple(name for name, kind in kinds().items() if kind.has("choose"))

    def refusal(self, problem: Any) -> str | None:
        """Return the reason why no method of the choice takes the problem; None if one does."""
        try:
            self.resolve(problem)
        except UnsupportedProblemError as error:
            return error.why
        return None

    def in_one_run(self, problem: Any) -> bool:
        """Whether `ordered-flow` takes the priorities."""
        flow = get_method(FLOW)
        return problem.kind in flow.kinds and flow.refusal(problem) is None

    def resolve(self, problem: Any) -> Method:
        """The chosen method, which takes the problem."""
        return choose(problem)

    def run(self, problem: Any, options: Options) -> Answer:
        """Run the chosen method; the answer's method says which it was."""
        resolved = ResolvedMethod(self.name, self.resolve(problem))
        return resolved.named(resolved.method.run(problem, options))


METHODS = (Auto(),)
"""Methods that this module adds to the registry."""
