"""Which nodes offer too little for the operators that must run there: why a placement is infeasible, with names and amounts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Bools
from edrp.core.document import named_resources
from edrp.core.errors import numbered
from edrp.core.limits import digits_apart, exceeds, with_rounding
from edrp.core.wording import enumerated
from edrp.placement.devices import least_units, units_of, usable_units
from edrp.placement.rules.arrays import record_rules

MAX_POOLS = 200
"""Largest number of different sets of candidates that are looked at, the smallest ones first."""


class Shortage(NamedTuple):
    """Too little of a resource on some nodes: the sentence that says so, and the operators that need it there."""

    text: str
    operators: tuple[str, ...]


def usable(problem: Any, node: str, resource: str) -> float:
    """How much of a resource replicas may use on a node; infinite where it is not limited."""
    offered = problem.network.by_name[node].resources
    if offered is None:
        return math.inf
    return float(named_resources(offered).get(resource, 0.0) * problem.usable_share(resource))


def homeless_operators(problem: Any) -> Iterator[str]:
    """Yield a sentence for each operator of which a single replica fits on none of its nodes, or only where rules forbid it."""
    closing = _closing_rules(problem) if problem.rules else []
    for index, operator in enumerate(problem.application.operators):
        need = named_resources(operator.resources)
        pool = operator.candidates or tuple(problem.network.by_name)
        lacking = {
            node: next((name for name, amount in need.items() if exceeds(amount, usable(problem, node, name))), None)
            for node in pool
        }
        if None in lacking.values():
            yield from _ruled_out(problem, index, lacking, closing) if closing else ()
            continue
        what = "node" if operator.candidates is None else "candidate"
        for resource, amount in need.items():
            best = max(pool, key=lambda node: usable(problem, node, resource))
            most = usable(problem, best, resource)
            if exceeds(amount, most):
                need_text, most_text = digits_apart(amount, most)
                short = f"no {what} offers more than the {most_text} of {best} ({amount - most:.6g} short)"
                yield f"{resource} of {operator.name}: a replica needs {need_text}, {short}"
                break
        else:
            needs = enumerated([f"{resource} {amount:.6g}" for resource, amount in need.items()])
            lacks = [f"{node} has {usable(problem, node, str(name)):.6g} {name}" for node, name in lacking.items()]
            yield f"{operator.name}: a replica needs {needs}, which no {what} offers together ({enumerated(lacks)})"


def _closing_rules(problem: Any) -> list[tuple[Any, Bools]]:
    """Rules that close nodes to operators by themselves, each with what it closes, shape (operators, nodes)."""
    operators, nodes = tuple(problem.application.by_name), tuple(problem.network.by_name)
    rules, kept = record_rules(problem.rules, problem, operators, nodes), np.zeros((len(operators), len(nodes)), bool)
    return [(rules.rules[index], rules.without(rules.rule != index).closed(kept)[1]) for index in np.unique(rules.rule)]


def _ruled_out(problem: Any, index: int, lacking: Mapping[str, Any], closing: list[tuple[Any, Bools]]) -> Iterator[str]:
    """Yield a sentence where rules close every node that lacks nothing for a replica of an operator."""
    operator = problem.application.operators[index]
    fitting = np.array([node in lacking and lacking[node] is None for node in problem.network.by_name])
    if rules := _needed_rules(closing, index, fitting):
        names = enumerated([f"rule '{rule.name}' ({rule.sentence})" for rule in rules])
        what = "node" if operator.candidates is None else "candidate"
        room = " that has room for a replica" if any(lacking.values()) else ""
        yield f"{operator.name}: {names} leave{'s' * (len(rules) == 1)} no {what}{room}"


def _needed_rules(closing: list[tuple[Any, Bools]], index: int, fitting: Bools) -> list[Any]:
    """Rules, each of which is needed for that, that together close some nodes to an operator; none where they do not."""
    if not np.logical_or.reduce([~fitting, *(closed[index] for _, closed in closing)]).all():
        return []
    fewer = (_needed_rules(closing[:k] + closing[k + 1 :], index, fitting) for k in range(len(closing)))
    return next(filter(None, fewer), [rule for rule, _ in closing])


def shortages(problem: Any, replicas: Mapping[str, int]) -> Iterator[Shortage]:
    """Yield where nodes have too little room for operators that may run nowhere else, each resource at the fewest nodes.

    Sums are compared, and numbers of replicas with those of the smallest that find room one by one; that none is found does
    not mean that all fit.

    Parameters
    ----------
    problem
        Operators with candidates, nodes with resources.
    replicas
        Fewest replicas of each operator.

    Examples
    --------
    >>> from edrp import LatencyAwareProblem
    >>> problem = LatencyAwareProblem(
    ...     application={"operators": [{"name": "ingest", "instances": 4, "candidates": ["gw1", "gw2"]}]},
    ...     network={"nodes": [{"name": name, "resources": amount} for name, amount in (("gw1", 1), ("gw2", 1), ("dc", 9))]},
    ... )
    >>> [shortage.text for shortage in shortages(problem, {"ingest": 4})]
    ['resources of gw1 and gw2: they offer 2 in all, ingest needs 4 (4 replicas of 1)']
    """
    everywhere = tuple(problem.network.by_name)
    operators = problem.application.operators
    pools = sorted(dict.fromkeys(operator.candidates or everywhere for operator in operators), key=len)[:MAX_POOLS]
    found: list[tuple[str, set[str]]] = []
    for nodes in dict.fromkeys((*pools, everywhere)):
        pool = set(nodes)
        inside = [operator for operator in operators if pool.issuperset(operator.candidates or everywhere)]
        for resource in dict.fromkeys(name for operator in inside for name in named_resources(operator.resources)):
            users = {o.name: named_resources(o.resources).get(resource, 0.0) for o in inside}
            users = {name: amount for name, amount in users.items() if amount}
            known = any(name == resource and pool.issuperset(smaller) for name, smaller in found)
            if users and not known and (why := _shortage(problem, nodes, resource, users, replicas)):
                found.append((resource, pool))
                where = "the nodes" if len(nodes) == len(everywhere) else enumerated(list(nodes))
                yield Shortage(f"{resource} of {where}: {why}", tuple(users))


def _shortage(
    problem: Any, nodes: tuple[str, ...], resource: str, users: Mapping[str, float], replicas: Mapping[str, int]
) -> str:
    """Why operators with these needs of a resource find no room on the nodes, in words; empty where they may."""
    room = {node: usable(problem, node, resource) for node in nodes}
    needs = {name: amount * replicas[name] for name, amount in users.items()}
    offered, needed, smallest = sum(room.values()), sum(needs.values()), min(users.values())
    everywhere, who = len(nodes) == len(problem.network.nodes), f"{enumerated(list(users))} need{'s' * (len(users) == 1)}"
    they = "the nodes" if everywhere else "they" if len(nodes) > 1 else "it"
    s = "s" * (they == "it")
    if all(resource in units_of(problem.network.by_name[node]) for node in nodes):
        alike, units = Counter[float](), sum(map(usable_units, room.values()))
        for name, amount in users.items():
            alike[amount] += replicas[name]
        if (needed_units := least_units(alike)) > units:
            parts = [f"{name} {replicas[name]} of {amount:.6g}" for name, amount in users.items()]
            return f"{they} offer{s} {units} units in all, {who} at least {needed_units} ({enumerated(parts)})"
    if exceeds(needed, offered):
        parts = [f"{name} {amount:.6g}" for name, amount in needs.items()]
        ((first, amount), *others) = users.items()
        detail = enumerated(parts) if others else f"{numbered(replicas[first], 'replica')} of {amount:.6g}"
        sum_needed, sum_offered = digits_apart(needed, offered)
        return f"{they} offer{s} {sum_offered} in all, {who} {sum_needed} ({detail})"
    if math.isinf(offered):
        return ""
    places = {node: int(with_rounding(amount) // smallest) for node, amount in room.items()}
    count = sum(replicas[name] for name in users)
    if count <= sum(places.values()):
        return ""
    have = f"{they} ha{'s' if s else 've'} room for {numbered(sum(places.values()), 'replica')} of at least {smallest:.6g}"
    return f"{have} ({enumerated([f'{room[node]:.6g} on {node}' for node in nodes])}), {who} {count}"
