"""Brute force for snapshots of enactment: host by host every content, valued by eq. 1 from the documents alone.

It shares no table and no algorithm with the methods that it checks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.containers import ContainerOperator, Host, HostType
from edrp.enactment.snapshot import EnactmentProblem

State = tuple[tuple[int, ...], tuple[int, ...]]
"""Hosts of each type, and instances of each operator on all of them."""

Content = tuple[str, tuple[int, ...]]
"""Type of a host, and instances of each operator on it."""


def brute_force_enactment(problem: EnactmentProblem) -> tuple[float | None, tuple[Host, ...]]:
    """Least objective over all decisions, and a decision that reaches it.

    Hosts are added one at a time, with every content that fits. Decisions with the same hosts and the same instances in
    all are worth the same, so that one of them goes on. It ends when hosts alone cost more than the best decision found.

    Returns
    -------
    tuple
        (None, ()) where no decision is feasible.

    Raises
    ------
    ValueError
        For hosts without price, while filling them counts and nothing limits their number: there may be no optimum.
    """
    names = list(problem.application.by_name)
    fewest, operators = problem.minimum_instances, problem.application.operators
    if any(operator.max_instances is not None and operator.max_instances < fewest[operator.name] for operator in operators):
        return None, ()
    useful = {name: max(count, _in_time(problem, name)) for name, count in fewest.items()}
    contents = [
        (host_type.name, counts)
        for host_type in problem.host_types
        for counts in host_contents(operators, host_type, useful)
        if not any(sum(counts[names.index(name)] > 0 for name in rule.operators) > 1 for rule in problem.rules)
    ]
    max_hosts = _most_hosts(problem, sum(useful.values()))
    best: float = math.inf
    chosen: tuple[Content, ...] = ()
    layer: dict[State, tuple[Content, ...]] = {((0,) * len(problem.host_types), (0,) * len(names)): ()}
    for hosts in range(max_hosts + 1):
        for state, decision in layer.items():
            value = _objective(problem, state)
            if value < best:
                best, chosen = value, decision
        cheapest = min((_price(problem, state) for state in layer), default=math.inf)
        if cheapest >= best or hosts == max_hosts:
            break
        layer = _with_another_host(problem, layer, contents, best)
    if math.isinf(best):
        return None, ()
    return best, tuple(
        Host(name=f"host-{i}", type=kind, instances={name: count for name, count in zip(names, counts, strict=True) if count})
        for i, (kind, counts) in enumerate(chosen, start=1)
    )


def host_contents(
    operators: Sequence[ContainerOperator], host_type: HostType, useful: Mapping[str, int]
) -> Iterator[tuple[int, ...]]:
    """Every number of instances of each operator that fits on one host, the empty host included.

    Operators that need no resources get no more instances than are useful.
    """
    max_counts = []
    for operator in operators:
        needs = named_resources(operator.resources).items()
        rooms = [host_type.capacity[name] / amount for name, amount in needs if amount]
        may_run = operator.candidates is None or host_type.name in operator.candidates
        max_counts.append(math.floor(min(rooms, default=useful[operator.name]) * (1 + LIMIT_SLACK)) if may_run else 0)
    for counts in product(*(range(count + 1) for count in max_counts)):
        if all(
            math.fsum(n * named_resources(o.resources).get(name, 0.0) for n, o in zip(counts, operators, strict=True))
            <= amount * (1 + LIMIT_SLACK)
            for name, amount in host_type.capacity.items()
        ):
            yield counts


def _with_another_host(
    problem: EnactmentProblem, layer: dict[State, tuple[Content, ...]], contents: list[Content], best: float
) -> dict[State, tuple[Content, ...]]:
    types = [host_type.name for host_type in problem.host_types]
    max_counts = [
        math.inf if operator.max_instances is None else operator.max_instances for operator in problem.application.operators
    ]
    following: dict[State, tuple[Content, ...]] = {}
    for (hosts, counts), decision in layer.items():
        for kind, more in contents:
            index = types.index(kind)
            limit = problem.host_types[index].limit
            if limit is not None and hosts[index] >= limit:
                continue
            leased = (*hosts[:index], hosts[index] + 1, *hosts[index + 1 :])
            state = leased, tuple(a + b for a, b in zip(counts, more, strict=True))
            if any(count > allowed for count, allowed in zip(state[1], max_counts, strict=True)):
                continue
            if state not in following and _price(problem, state) < best:
                following[state] = (*decision, (kind, more))
    return following


def _price(problem: EnactmentProblem, state: State) -> float:
    prices = (count * host_type.price for count, host_type in zip(state[0], problem.host_types, strict=True))
    return problem.weights.host_cost * math.fsum(prices)


def _objective(problem: EnactmentProblem, state: State) -> float:
    """Eq. 1; infinite where the instances are too few or too many."""
    hosts, counts = state
    operators = problem.application.operators
    for operator, count in zip(operators, counts, strict=True):
        if count < problem.minimum_instances[operator.name] or (
            operator.max_instances is not None and count > operator.max_instances
        ):
            return math.inf
    free = 0.0
    for name in {name for host_type in problem.host_types for name in host_type.capacity}:
        offered = math.fsum(n * host_type.capacity.get(name, 0.0) for n, host_type in zip(hosts, problem.host_types, strict=True))
        used = math.fsum(n * named_resources(o.resources).get(name, 0.0) for n, o in zip(counts, operators, strict=True))
        free += 1 - used / offered if offered else 0.0
    late = math.fsum(problem.expected_violations(o.name, n) for o, n in zip(operators, counts, strict=True))
    weights = problem.weights
    return _price(problem, state) + weights.free_resources * free + weights.violations * problem.penalty * late


def _in_time(problem: EnactmentProblem, operator: str) -> int:
    """Instances that leave no item late."""
    count = 0
    while problem.expected_violations(operator, count) > 0:
        count += 1
    return count


def _most_hosts(problem: EnactmentProblem, useful: int) -> int:
    """Number of hosts beyond which none can hold a useful instance, pay off by being filled, or be leased."""
    limits = [math.inf if host_type.limit is None else host_type.limit for host_type in problem.host_types]
    if problem.weights.free_resources > 0:
        prices = [problem.weights.host_cost * host_type.price for host_type in problem.host_types]
        if any(price == 0 and math.isinf(limit) for price, limit in zip(prices, limits, strict=True)):
            raise ValueError("hosts without price and without limit: filling ever more of them may be ever better")
        worst = max(prices) * useful + len(named_resources(problem.host_types[0].resources)) + len(limits) * 10
        affordable = (limit if price == 0 else worst / price for price, limit in zip(prices, limits, strict=True))
        useful = math.ceil(sum(affordable))
    return int(min(sum(limits), useful))
