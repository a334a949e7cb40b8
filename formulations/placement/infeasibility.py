"""Explains why an instance is infeasible: a minimal set of limits, resources and rules that cannot be met together, in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from edrp.core.budget import now, units_left
from edrp.core.clash_search import Findings, Relaxed, Verdict, find_clash
from edrp.core.document import named_resources
from edrp.core.errors import InvalidInstanceError, OutOfTimeError, ProblemTooLargeError, numbered
from edrp.core.methods import Method, Options
from edrp.core.problem import derived_once
from edrp.core.solution import Answer, Infeasibility
from edrp.core.wording import enumerated
from edrp.placement.application import Operator, OperatorBase
from edrp.placement.devices import least_units, units_of
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import MAX_REPLICAS, serves
from edrp.placement.metric_values import Weights
from edrp.placement.metrics.penalties import ALL, SINGLE
from edrp.placement.network import Node
from edrp.placement.problem import PlacementProblem, StreamPlacement
from edrp.placement.rules.base import Rule
from edrp.placement.shortage import homeless_operators, shortages, usable

MAX_EXPLANATION_WORK = 20.0
"""Units of work that the whole explanation may take."""

NOTHING = Answer("none", "finished")

EACH_ALONE = "each of these alone leaves nothing feasible: all of them have to be changed"

LOOSE = 1000.0
"""Multiple of a limit up to which the explanation says by how much the limit is missed."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A condition on deployments.

    Attributes
    ----------
    name : the condition in a few words.
    text : the condition in words.
    drop : makes a problem without it.
    limit : the metric, if the condition is the limit of one.
    """

    name: str
    text: str
    drop: Callable[[Any], Any]
    limit: str = ""


@dataclass(frozen=True, slots=True)
class Prover:
    """Exact methods that decide whether problems are feasible, and the time by which they must have done so.

    Attributes
    ----------
    methods : those that take a problem, by preference.
    deadline : on the clock of `edrp.core.budget`; a time limit for all that is done counts too.
    """

    methods: Callable[[Any], Sequence[Method]]
    deadline: float = math.inf

    @property
    def units(self) -> float:
        """Units of work left, below 0 when the deadline has passed."""
        return min(self.deadline - now(), units_left())

    def decide(self, problem: PlacementProblem, metric: str = "cost", gap: float = 1e9) -> Answer:
        """Minimise one metric; with the default gap any feasible deployment will do. Status "none" where time is up."""
        if self.units <= 0:
            return NOTHING
        single = problem
        if isinstance(problem, EdrpProblem):
            limited = problem if problem.limits.of(metric) is not None else _limited(problem, metric, problem.ceiling("cost"))
            single = limited.replace(weights=Weights.of_metrics({metric: 1.0}))
        with derived_once(single):
            try:
                method = next(iter(self.methods(single)), None)
                if method is None:
                    return NOTHING
                return method.run(single, Options(work_limit=self.units, gap=gap))
            except (ProblemTooLargeError, OutOfTimeError):  # nothing exact can be said of a problem of this size, or in this time
                return NOTHING

    def verdict(self, problem: PlacementProblem) -> Verdict:
        """Whether a problem is feasible."""
        answer = self.decide(problem)
        return "feasible" if answer.decision is not None else "infeasible" if answer.status == "infeasible" else "unknown"


def explain_infeasibility(
    problem: PlacementProblem, methods: Callable[[Any], Sequence[Method]], units: float = MAX_EXPLANATION_WORK
) -> Infeasibility:
    """Name demands that cannot be met together, each of which is needed for that, and what makes the whole problem feasible.

    Operators that are overloaded, fit on no node, or only where rules forbid it, are reported alone, then nodes that offer less
    than the operators need that must run there. Otherwise candidate sets, resources, loads, rules and limits are dropped
    (deletion filter): those that stay are needed for the clash. For each limit among them without which the whole problem is
    feasible, the sentence says how far it would have to be loosened.

    Parameters
    ----------
    methods
        Finds exact methods that take a problem; the first of them decides whether it is feasible.
    units
        Units of work, but not beyond the limits of `edrp.solve`; demands that are not examined by then stay in the list, which is
        then not minimal, and a remedy says so.

    Returns
    -------
    Infeasibility
        One sentence per demand; empty if the problem turns out to be feasible.
    """
    if alone := (*_overloaded(problem), *homeless_operators(problem)):
        return Infeasibility(alone, (EACH_ALONE,) if len(alone) > 1 else ())
    if short := _short(problem):
        return Infeasibility(short)
    known = demands(problem)
    found = clashing_demands(feasibility_problem(problem), known, Prover(methods, now() + units))
    return Infeasibility(found.sentences([demand.text for demand in known]), found.remedies)


def clashing_demands(problem: Any, known: Sequence[Demand], prover: Prover) -> Findings:
    """The demands of an infeasible problem that clash, and what makes the whole problem feasible."""

    def decide(kept: frozenset[int]) -> Verdict:
        try:
            return prover.verdict(without(problem, [demand for k, demand in enumerate(known) if k not in kept]))
        except InvalidInstanceError:  # wider candidate sets may need links that are not there
            return "impossible"

    def relax(number: int, left_out: frozenset[int], values: dict[int, float]) -> Relaxed | None:
        limits = {known[k].limit: value for k, value in values.items()}
        relaxed = without(problem, [known[k] for k in sorted(left_out) if k not in values])
        for name, value in limits.items():
            relaxed = _limited(relaxed, name, value)
        return (
            _best_value(relaxed, problem.limits.of(known[number].limit), known[number].limit, prover)
            if known[number].limit
            else None
        )

    return find_clash([demand.name for demand in known], decide, relax)


def without(problem: Any, dropped: Iterable[Demand]) -> Any:
    """The problem without some of its demands."""
    return reduce(lambda relaxed, demand: demand.drop(relaxed), dropped, problem)


def feasibility_problem(problem: PlacementProblem) -> PlacementProblem:
    """Any objective will do; cost is the easiest to express and needs a limit, here one that never binds."""
    limited = {*problem.limits.named} if isinstance(problem, EdrpProblem) else set()
    kept = tuple(rule for rule in problem.rules if rule.hard or {ALL, f"{SINGLE}.{rule.name}"} & limited)
    if not isinstance(problem, EdrpProblem):
        return problem if len(kept) == len(problem.rules) else problem.replace(rules=kept)
    limits = problem.limits.replace(cost=problem.limits.cost or problem.ceiling("cost"))
    return problem.replace(priorities=(), weights=Weights(cost=1.0), limits=limits, rules=kept)


def demands(problem: Any) -> list[Demand]:
    """All demands that the deletion filter may drop; those that users change most easily come last."""
    application = problem.application
    enumerated = [_candidates(operator) for operator in application.operators if operator.candidates is not None]
    needed = {operator.name: _min_stable_replicas(problem, operator) for operator in application.operators}
    if isinstance(problem, EdrpProblem):
        enumerated += [_min_replicas(operator) for operator in application.operators if operator.min_replicas > 1]
        asking = [o for o in application.operators if needed[o.name] > o.min_replicas or _slow_nodes(problem, o, needed[o.name])]
        enumerated += [load_demand(problem, operator, needed[operator.name]) for operator in asking]
    scarce = {name for node in problem.network.nodes if node.resources is not None for name in named_resources(node.resources)}
    enumerated += [_resource(problem, name, needed) for name in sorted(scarce)]
    enumerated += [_rule(rule) for rule in problem.rules if rule.hard]
    limited = problem.metrics if isinstance(problem, EdrpProblem) else ()
    return enumerated + [_limit(problem, name) for name in limited if problem.limits.of(name) is not None]


def _candidates(operator: OperatorBase) -> Demand:
    nodes = operator.candidates or ()
    shown = ", ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
    name = f"candidates of {operator.name}"
    return Demand(name, f"{name}: {shown}", lambda problem: _changed(problem, operator.name, candidates=None))


def _min_replicas(operator: Operator) -> Demand:
    name = f"min_replicas of {operator.name}"
    return Demand(name, f"{name}: {operator.min_replicas}", lambda problem: _changed(problem, operator.name, min_replicas=1))


def load_demand(problem: StreamPlacement, operator: Operator, min_replicas: int) -> Demand:
    """The demand that the load of an operator is served, which takes some replicas at least."""
    load = problem.application.load(operator.name)
    text = f"{operator.name}: its load of {load:.6g} tuples/s needs at least {numbered(min_replicas, 'replica')}"
    if slow := _slow_nodes(problem, operator, min_replicas):
        text += f", and more where some run on {enumerated(slow)}, which {'is' if len(slow) == 1 else 'are'} slower"
    return Demand(f"the load of {operator.name}", text, lambda problem: _changed(problem, operator.name, latency=None))


def _resource(problem: Any, name: str, needed: dict[str, int]) -> Demand:
    use = {o.name: named_resources(o.resources).get(name, 0.0) for o in problem.application.operators}
    need = sum(use[operator] * replicas for operator, replicas in needed.items())
    plenty = 1.0 + sum(use[o.name] * o.max_replicas for o in problem.application.operators) / problem.usable_share(name)

    def drop(problem: PlacementProblem) -> PlacementProblem:
        nodes = [
            node.replace(resources={**node.resources, name: plenty})
            if isinstance(node.resources, dict)
            else node.replace(resources=None)
            for node in problem.network.nodes
        ]
        return problem.replace(network=problem.network.replace(nodes=tuple(nodes)))

    limited = {node: room for node in problem.network.by_name if math.isfinite(room := usable(problem, node, name))}
    if any(name in units_of(node) for node in problem.network.nodes):
        alike = Counter[float]()
        for operator, replicas in needed.items():
            alike[use[operator]] += replicas
        need = least_units(alike)
    offers = enumerated([f"{node} {room:.6g}" for node, room in limited.items()])
    needs = enumerated([f"{operator} {use[operator] * replicas:.6g}" for operator, replicas in needed.items() if use[operator]])
    title = f"{name} of the nodes"
    return Demand(f"limits on {title}", f"{title}: {offers}; the operators need at least {need:.6g} ({needs})", drop)


def _rule(rule: Rule) -> Demand:
    def drop(problem: PlacementProblem) -> PlacementProblem:
        return problem.replace(rules=tuple(other for other in problem.rules if other.name != rule.name))

    return Demand(f"rule '{rule.name}'", rule.demand, drop)


def _limit(problem: EdrpProblem, name: str) -> Demand:
    title = f"limits.{name}"
    text = f"{title}: {problem.limits.of(name):.6g} {problem.metrics[name].unit}".removesuffix(" 1")
    return Demand(title, text, lambda problem: _limited(problem, name, problem.ceiling("cost") if name == "cost" else None), name)


def _limited(problem: EdrpProblem, name: str, limit: float | None) -> EdrpProblem:
    return problem.replace(limits=problem.limits.with_limit(name, limit))


def _changed(problem: PlacementProblem, operator: str, **changes: object) -> PlacementProblem:
    application = problem.application
    operators = tuple(o.replace(**changes) if o.name == operator else o for o in application.operators)
    return problem.replace(application=application.replace(operators=operators))


def _best_value(problem: EdrpProblem, limit: float, name: str, prover: Prover) -> Relaxed | None:
    """The best value of a metric within all limits but its own; None where nothing is found up to a multiple of that."""
    is_minimum = name == "availability"
    loosened = _limited(problem, name, max(limit**LOOSE, 1e-9) if is_minimum else limit * LOOSE)
    metric = loosened.metrics[name]
    answer = prover.decide(loosened, name, gap=1e-6)
    if answer.decision is None or not loosened.evaluate(answer.decision).feasible:
        return None
    return Relaxed(metric.evaluate(loosened, answer.decision), metric.unit, answer.status == "optimal", is_minimum)


def _min_stable_replicas(problem: PlacementProblem, operator: Any, most: int | None = None) -> int:
    """Smallest number of replicas that serves an operator's load, and one more than `most` (what is allowed) where none does."""
    if getattr(operator, "latency", None) is None:
        return int(operator.min_replicas)
    load, most = problem.application.load(operator.name), most or operator.max_replicas
    counts, fastest = range(operator.min_replicas, most + 1), max(node.speedup for node in _candidate_nodes(problem, operator))
    return next((r for r in counts if serves(operator.latency, load / r, r, fastest)), most + 1)


def _candidate_nodes(problem: StreamPlacement, operator: OperatorBase) -> list[Node]:
    return [node for node in problem.network.nodes if operator.candidates is None or node.name in operator.candidates]


def _slow_nodes(problem: StreamPlacement, operator: Operator, replicas: int) -> list[str]:
    """Candidates on which an operator with so many replicas is overloaded, because they are slower than others."""
    rate = problem.application.load(operator.name) / replicas
    slow = (node for node in _candidate_nodes(problem, operator) if not serves(operator.latency, rate, replicas, node.speedup))
    return [node.name for node in slow]


def _short(problem: Any) -> tuple[str, ...]:
    """Nodes with too little room for the fewest replicas that must run there, and why these operators need that number."""
    operators = problem.application.by_name
    needed = {name: _min_stable_replicas(problem, operator) for name, operator in operators.items()}
    shortages_found = list(shortages(problem, needed))
    involved = [operators[name] for name in dict.fromkeys(name for short in shortages_found for name in short.operators)]
    demands = [load_demand(problem, o, needed[o.name]) for o in involved if needed[o.name] > o.min_replicas]
    demands += [_min_replicas(o) for o in involved if needed[o.name] == o.min_replicas > 1]
    return (*(demand.text for demand in demands), *(short.text for short in shortages_found))


def _overloaded(problem: Any) -> list[str]:
    """Operators whose load no allowed number of replicas serves."""
    faults = []
    for operator in problem.application.operators:
        if _min_stable_replicas(problem, operator) > operator.max_replicas:
            load = problem.application.load(operator.name)
            replicas = f"{operator.max_replicas} replicas at most" if operator.max_replicas > 1 else "a single replica"
            fastest = max(node.speedup for node in _candidate_nodes(problem, operator))
            replicas += f" on nodes of a speed-up of at most {fastest:g}" if fastest < 1 else ""
            enough = _min_stable_replicas(problem, operator, MAX_REPLICAS)
            remedy = f"; that takes max_replicas of at least {enough}" if enough <= MAX_REPLICAS else ""
            faults.append(f"{operator.name}: with {replicas} it cannot serve its load of {load:.6g} tuples/s{remedy}")
    return faults
