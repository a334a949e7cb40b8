"""Explains why an instance is infeasible: a minimal set of limits, resources and rules that cannot be met together, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from edrp.core.budget import now, units_left
from edrp.core.document import named_resources
from edrp.core.errors import InvalidInstanceError, OutOfTimeError, ProblemTooLargeError
from edrp.core.methods import Method, Options
from edrp.core.problem import derived_once
from edrp.core.wording import enumerated
from edrp.placement.application import Operator, OperatorBase
from edrp.placement.ceilings import cost_ceiling
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem, Weights
from edrp.placement.problem import PlacementProblem, StreamPlacement
from edrp.placement.rules.base import Rule
from edrp.placement.shortage import homeless_operators, shortages, usable

MAX_EXPLANATION_WORK = 20.0
"""Seconds that the whole explanation may take."""

UNEXAMINED = "there was no time to find out which of these are needed for the clash, and by how much limits are missed"
"""Follows demands of which not all were examined."""

LOOSE = 1000.0
"""Multiple of a limit up to which the explanation says by how much the limit is missed."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A condition on deployments.

    Attributes
    ----------
    text : the condition in words.
    drop : makes a problem without it.
    limit : the metric, if the condition is the limit of one.
    """

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

    def decide(self, problem: PlacementProblem, metric: str = "cost", gap: float = 1e9) -> tuple[str, Deployment | None]:
        """Status and decision when one metric is minimised; with the default gap any feasible deployment will do."""
        single = _for_metric(problem, metric) if isinstance(problem, EdrpProblem) else problem
        with derived_once(single):
            try:
                method = next(iter(self.methods(single)), None)
                if method is None or self.units <= 0:
                    return "none", None
                answer = method.run(single, Options(work_limit=min(self.units, MAX_EXPLANATION_WORK), gap=gap))
            except (ProblemTooLargeError, OutOfTimeError):  # nothing exact can be said of a problem of this size, or in this time
                return "none", None
        return ("feasible" if answer.decision is not None else answer.status), answer.decision


def explain_infeasibility(
    problem: PlacementProblem, methods: Callable[[Any], Sequence[Method]], units: float = MAX_EXPLANATION_WORK
) -> tuple[str, ...]:
    """Name demands that cannot be met together, such that leaving any one of them out helps.

    Operators that are overloaded, fit on no node, or only where rules forbid it, are reported alone, then nodes that offer less
    than the operators need that must run there. Otherwise candidate sets, resources, loads, rules and limits are dropped one
    after the other (deletion filter): those that stay are needed for the clash. For each limit that stays, the sentence says
    how far it would have to be loosened.

    Parameters
    ----------
    methods
        Finds exact methods that take a problem; the first of them decides whether it is feasible.
    units
        Units of work, after a first question that may take as long, but not beyond the limits of `edrp.solve`; demands that
        are not examined by then stay in the list, which is then not minimal, and a last sentence says so.

    Returns
    -------
    tuple of str
        One sentence per demand; empty if the problem turns out to be feasible.
    """
    if alone := (*_overloaded(problem), *homeless_operators(problem)):
        return alone
    if short := _short(problem):
        return short
    if Prover(methods, now() + units).decide(_cheapest(problem))[0] == "feasible":
        return ()
    prover = Prover(methods, now() + units)
    clashing, relaxed = clashing_demands(problem, prover)
    sentences = tuple(_with_remedy(demand, relaxed, prover) for demand in clashing)
    return sentences if prover.units > 0 else (*sentences, UNEXAMINED)


def clashing_demands(problem: PlacementProblem, prover: Prover) -> tuple[list[Demand], Any]:
    """The demands of an infeasible problem that the deletion filter keeps, and the problem with these demands only."""
    current, clashing = _cheapest(problem), []
    for demand in demands(problem):
        try:
            without = demand.drop(current)
        except InvalidInstanceError:  # wider candidate sets may need links that are not there
            continue
        if prover.decide(without)[0] == "infeasible":
            current = without
        else:
            clashing.append(demand)
    return clashing, current


def _cheapest(problem: PlacementProblem) -> PlacementProblem:
    """Any objective will do; cost is the easiest to express and needs a limit, here one that never binds."""
    if any(not rule.hard for rule in problem.rules):
        problem = problem.replace(rules=tuple(rule for rule in problem.rules if rule.hard))
    if not isinstance(problem, EdrpProblem):
        return problem
    return problem.replace(
        priorities=(), weights=Weights(cost=1.0), limits=problem.limits.replace(cost=problem.limits.cost or cost_ceiling(problem))
    )


def _for_metric(problem: EdrpProblem, metric: str) -> EdrpProblem:
    limited = problem if problem.limits.of(metric) is not None else _limited(problem, metric, cost_ceiling(problem))
    return limited.replace(weights=Weights.of_metrics({metric: 1.0}))


def demands(problem: Any) -> list[Demand]:
    """All demands that the deletion filter may drop; those that users change most easily come last."""
    application = problem.application
    enumerated = [_candidates(operator) for operator in application.operators if operator.candidates is not None]
    needed = {operator.name: _min_stable_replicas(problem, operator) for operator in application.operators}
    if isinstance(problem, EdrpProblem):
        enumerated += [_min_replicas(operator) for operator in application.operators if operator.min_replicas > 1]
        enumerated += [load_demand(problem, o, needed[o.name]) for o in application.operators if needed[o.name] > o.min_replicas]
    scarce = {name for node in problem.network.nodes if node.resources is not None for name in named_resources(node.resources)}
    enumerated += [_resource(problem, name, needed) for name in sorted(scarce)]
    enumerated += [_rule(rule) for rule in problem.rules if rule.hard]
    limited = problem.metrics if isinstance(problem, EdrpProblem) else ()
    return enumerated + [_limit(problem, name) for name in limited if problem.limits.of(name) is not None]


def _candidates(operator: OperatorBase) -> Demand:
    nodes = operator.candidates or ()
    shown = ", ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
    return Demand(f"candidates of {operator.name}: {shown}", lambda problem: _changed(problem, operator.name, candidates=None))


def _min_replicas(operator: Operator) -> Demand:
    text = f"min_replicas of {operator.name}: {operator.min_replicas}"
    return Demand(text, lambda problem: _changed(problem, operator.name, min_replicas=1))


def load_demand(problem: StreamPlacement, operator: Operator, min_replicas: int) -> Demand:
    """The demand that the load of an operator is served, which takes some replicas at least."""
    load = problem.application.load(operator.name)
    text = f"{operator.name}: its load of {load:.6g} tuples/s needs at least {min_replicas} replicas"
    return Demand(text, lambda problem: _changed(problem, operator.name, latency=None))


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
    offers = enumerated([f"{node} {room:.6g}" for node, room in limited.items()])
    needs = enumerated([f"{operator} {use[operator] * replicas:.6g}" for operator, replicas in needed.items() if use[operator]])
    return Demand(f"{name} of the nodes: {offers}; the operators need at least {need:.6g} ({needs})", drop)


def _rule(rule: Rule) -> Demand:
    def drop(problem: PlacementProblem) -> PlacementProblem:
        return problem.replace(rules=tuple(other for other in problem.rules if other.name != rule.name))

    return Demand(rule.demand, drop)


def _limit(problem: EdrpProblem, name: str) -> Demand:
    text = f"limits.{name}: {problem.limits.of(name):.6g} {problem.metrics[name].unit}".removesuffix(" 1")
    return Demand(text, lambda problem: _limited(problem, name, cost_ceiling(problem) if name == "cost" else None), name)


def _limited(problem: EdrpProblem, name: str, limit: float | None) -> EdrpProblem:
    return problem.replace(limits=problem.limits.with_limit(name, limit))


def _changed(problem: PlacementProblem, operator: str, **changes: object) -> PlacementProblem:
    application = problem.application
    operators = tuple(o.replace(**changes) if o.name == operator else o for o in application.operators)
    return problem.replace(application=application.replace(operators=operators))


def _with_remedy(demand: Demand, relaxed: Any, prover: Prover) -> str:
    """The demand in words; for a limit also the best value that the other demands allow."""
    if not demand.limit:
        return demand.text
    metric, limit = relaxed.metrics[demand.limit], relaxed.limits.of(demand.limit)
    assert limit is not None
    loosened = max(limit**LOOSE, 1e-9) if demand.limit == "availability" else limit * LOOSE
    _, decision = prover.decide(_limited(relaxed, demand.limit, loosened), demand.limit, gap=1e-6)
    if decision is None:
        return demand.text
    best = metric.evaluate(relaxed, decision)
    side = "at most" if demand.limit == "availability" else "at least"
    return f"{demand.text}; it is {side} {best:.6g}".rstrip() + (f" {metric.unit}" if metric.unit != "1" else "")


def _min_stable_replicas(problem: PlacementProblem, operator: Any) -> int:
    """Smallest number of replicas that is allowed and serves an operator's load."""
    if getattr(operator, "latency", None) is None:
        return int(operator.min_replicas)
    load, allowed = problem.application.load(operator.name), range(operator.min_replicas, operator.max_replicas + 1)
    return next((r for r in allowed if math.isfinite(operator.latency.at(load / r, r))), operator.max_replicas + 1)


def _short(problem: Any) -> tuple[str, ...]:
    """Nodes with too little room for the fewest replicas that must run there, and why these operators need so many."""
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
            faults.append(f"{operator.name}: with {replicas} it cannot serve its load of {load:.6g} tuples/s")
    return faults
