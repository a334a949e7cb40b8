"""Why an instance is infeasible: a smallest set of limits and resources that cannot be met together, in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from edrp.core.derived import derived_once
from edrp.core.document import named_resources
from edrp.core.errors import InvalidInstanceError, ProblemTooLargeError
from edrp.core.methods import Options, methods
from edrp.placement.application import Operator
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem, Weights
from edrp.placement.metrics import EDRP_METRICS
from edrp.placement.metrics.base import LIMIT_SLACK

TIME_LIMIT = 20.0
"""Seconds that the whole explanation may take."""

LOOSE = 1000.0
"""How many times a limit may be missed for the explanation to say by how much."""

PROVERS = ("eliminate", "highs")
"""Exact methods that may be asked, by preference."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Something that a deployment must meet: in words, and the problem without it. `limit` names a limited metric."""

    text: str
    drop: Callable[[EdrpProblem], EdrpProblem]
    limit: str = ""


def explain_infeasibility(problem: EdrpProblem, time_limit: float = TIME_LIMIT) -> tuple[str, ...]:
    """Name demands that cannot be met together, such that leaving any one of them out helps.

    Operators that are overloaded or fit on no node are reported alone. Otherwise candidate sets, resources,
    loads and limits are dropped one after the other (deletion filter): what stays is needed for the clash. Of
    each limit that stays it is said how far it would have to be loosened.

    Parameters
    ----------
    problem
        An infeasible problem.
    time_limit
        Seconds, after a first question that may take as long; afterwards what is not yet examined stays in the list,
        which is then not the smallest.

    Returns
    -------
    tuple of str
        One sentence per demand; empty if the problem turns out to be feasible or no exact method is registered.

    Examples
    --------
    >>> problem = EdrpProblem(
    ...     application={"operators": [
    ...         {"name": "parser", "latency": {"model": "mm1", "service_rate": 10.0}, "external_rate": 25.0, "max_replicas": 2}
    ...     ]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 9.0},
    ... )
    >>> explain_infeasibility(problem)
    ('parser: with 2 replicas at most it cannot serve its load of 25 tuples/s',)
    """
    alone = [*_overloaded(problem), *_homeless(problem)]
    if alone:
        return tuple(alone)
    if _decision(_cheapest(problem), perf_counter() + time_limit)[0] == "feasible":
        return ()
    # The first question may have had to wait for kernels to be compiled, which must not shorten the explanation.
    deadline = perf_counter() + time_limit
    kept, relaxed = clashing_demands(problem, deadline)
    return tuple(_with_remedy(demand, relaxed, deadline) for demand in kept)


def clashing_demands(problem: EdrpProblem, deadline: float = math.inf) -> tuple[list[Demand], EdrpProblem]:
    """The demands that the deletion filter keeps, and the problem with these demands only.

    Parameters
    ----------
    problem
        An infeasible problem.
    deadline
        On the clock of `time.perf_counter`.
    """
    current, kept = _cheapest(problem), []
    for demand in demands(problem):
        try:
            without = demand.drop(current)
        except InvalidInstanceError:  # wider candidate sets may need links that are not there
            continue
        if _decision(without, deadline)[0] == "infeasible":
            current = without
        else:
            kept.append(demand)
    return kept, current


def _cheapest(problem: EdrpProblem) -> EdrpProblem:
    """Any objective will do; cost is the easiest to express and needs a limit, here one that never binds."""
    return problem.replace(
        weights=Weights(cost=1.0), limits=problem.limits.replace(cost=problem.limits.cost or _ceiling(problem))
    )


def demands(problem: EdrpProblem) -> list[Demand]:
    """Everything that the deletion filter may drop; what users change most easily is dropped last."""
    application = problem.application
    found = [_candidates(operator) for operator in application.operators if operator.candidates is not None]
    needed = {operator.name: _least_replicas(problem, operator) for operator in application.operators}
    found += [_fewest(operator) for operator in application.operators if operator.min_replicas > 1]
    found += [_load(problem, o, needed[o.name]) for o in application.operators if needed[o.name] > o.min_replicas]
    scarce = {name for node in problem.network.nodes if node.resources is not None for name in named_resources(node.resources)}
    found += [_resource(problem, name, needed) for name in sorted(scarce)]
    return found + [_limit(problem, name) for name in EDRP_METRICS if getattr(problem.limits, name) is not None]


def _candidates(operator: Operator) -> Demand:
    nodes = operator.candidates or ()
    shown = ", ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
    return Demand(f"candidates of {operator.name}: {shown}", lambda problem: _changed(problem, operator.name, candidates=None))


def _fewest(operator: Operator) -> Demand:
    text = f"min_replicas of {operator.name}: {operator.min_replicas}"
    return Demand(text, lambda problem: _changed(problem, operator.name, min_replicas=1))


def _load(problem: EdrpProblem, operator: Operator, least: int) -> Demand:
    load = problem.application.load(operator.name)
    text = f"{operator.name}: its load of {load:.6g} tuples/s needs at least {least} replicas"
    return Demand(text, lambda problem: _changed(problem, operator.name, latency=None))


def _resource(problem: EdrpProblem, name: str, needed: dict[str, int]) -> Demand:
    use = {o.name: named_resources(o.resources).get(name, 0.0) for o in problem.application.operators}
    least = sum(use[operator] * replicas for operator, replicas in needed.items())
    plenty = 1.0 + sum(use[o.name] * o.max_replicas for o in problem.application.operators)
    offers = [node.resources for node in problem.network.nodes]
    total = math.inf if None in offers else sum(named_resources(offer).get(name, 0.0) for offer in offers if offer is not None)

    def drop(problem: EdrpProblem) -> EdrpProblem:
        nodes = [
            node.replace(resources={**node.resources, name: plenty})
            if isinstance(node.resources, dict)
            else node.replace(resources=None)
            for node in problem.network.nodes
        ]
        return problem.replace(network=problem.network.replace(nodes=tuple(nodes)))

    offered = "some nodes are limited" if math.isinf(total) else f"the nodes offer {total:.6g} in all"
    return Demand(f"{name} of the nodes: {offered}, the operators need at least {least:.6g}", drop)


def _limit(problem: EdrpProblem, name: str) -> Demand:
    text = f"limits.{name}: {getattr(problem.limits, name):.6g} {EDRP_METRICS[name].unit}".removesuffix(" 1")
    return Demand(text, lambda problem: _limited(problem, name, _ceiling(problem) if name == "cost" else None), name)


def _limited(problem: EdrpProblem, name: str, limit: float | None) -> EdrpProblem:
    return problem.replace(limits=problem.limits.replace(**{name: limit}))


def _ceiling(problem: EdrpProblem) -> float:
    """More than any deployment costs."""
    application = problem.application
    replicas = sum(operator.max_replicas * operator.replica_cost for operator in application.operators)
    dearest = max((link.cost for link in (*problem.network.links, *problem.network.classes)), default=0.0)
    return 1.0 + replicas + dearest * sum(application.rate(s.source, s.target) for s in application.streams)


def _changed(problem: EdrpProblem, operator: str, **changes: object) -> EdrpProblem:
    application = problem.application
    operators = tuple(each.replace(**changes) if each.name == operator else each for each in application.operators)
    return problem.replace(application=application.replace(operators=operators))


def _decision(problem: EdrpProblem, deadline: float, metric: str = "cost", gap: float = 1e9) -> tuple[str, Deployment | None]:
    """Status and decision of an exact method that minimises one metric; with the default gap any feasible deployment will do."""
    limit = getattr(problem.limits, metric)
    asked = (problem if limit is not None else _limited(problem, metric, _ceiling(problem))).replace(
        weights=Weights(**{metric: 1.0})
    )
    registered = methods(problem.kind)
    with derived_once(asked):
        provers = [registered[name] for name in PROVERS if name in registered and registered[name].refusal(asked) is None]
        left = deadline - perf_counter()
        if not provers or left <= 0:
            return "none", None
        try:
            answer = provers[0].run(asked, Options(time_limit=min(left, TIME_LIMIT), gap=gap))
        except ProblemTooLargeError:  # nothing exact can be said of a problem of this size
            return "none", None
    return ("feasible" if answer.decision is not None else answer.status), answer.decision


def _with_remedy(demand: Demand, relaxed: EdrpProblem, deadline: float) -> str:
    """The demand's text, for a limit with the best value that the other demands leave."""
    if not demand.limit:
        return demand.text
    metric, limit = EDRP_METRICS[demand.limit], getattr(relaxed.limits, demand.limit)
    loosened = max(limit**LOOSE, 1e-9) if demand.limit == "availability" else limit * LOOSE
    _, decision = _decision(_limited(relaxed, demand.limit, loosened), deadline, demand.limit, gap=1e-6)
    if decision is None:
        return demand.text
    best = metric.evaluate(relaxed, decision)
    side = "at most" if demand.limit == "availability" else "at least"
    return f"{demand.text}; it is {side} {best:.6g}".rstrip() + (f" {metric.unit}" if metric.unit != "1" else "")


def _least_replicas(problem: EdrpProblem, operator: Operator) -> int:
    """Fewest replicas that are allowed and serve an operator's load."""
    if operator.latency is None:
        return operator.min_replicas
    load, allowed = problem.application.load(operator.name), range(operator.min_replicas, operator.max_replicas + 1)
    return next((r for r in allowed if math.isfinite(operator.latency.at(load / r))), operator.max_replicas + 1)


def _overloaded(problem: EdrpProblem) -> list[str]:
    """Operators whose load no allowed number of replicas serves."""
    found = []
    for operator in problem.application.operators:
        if _least_replicas(problem, operator) > operator.max_replicas:
            load = problem.application.load(operator.name)
            most = f"{operator.max_replicas} replicas at most" if operator.max_replicas > 1 else "a single replica"
            found.append(f"{operator.name}: with {most} it cannot serve its load of {load:.6g} tuples/s")
    return found


def _homeless(problem: EdrpProblem) -> list[str]:
    """Operators one replica of which fits on none of their candidates."""
    found = []
    for operator in problem.application.operators:
        pool = operator.candidates or tuple(problem.network.by_name)
        if not any(_fits(problem, operator, node) for node in pool):
            need = ", ".join(f"{name} {amount:.6g}" for name, amount in named_resources(operator.resources).items())
            where = "any of its candidates" if operator.candidates is not None else "any node"
            found.append(f"{operator.name}: a replica ({need}) does not fit on {where}")
    return found


def _fits(problem: EdrpProblem, operator: Operator, node: str) -> bool:
    free = problem.network.by_name[node].resources
    if free is None:
        return True
    room = named_resources(free)
    return all(amount <= room.get(name, 0.0) * (1 + LIMIT_SLACK) for name, amount in named_resources(operator.resources).items())
