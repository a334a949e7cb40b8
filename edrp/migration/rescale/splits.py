"""Which numbers of replicas keep an operator stable, and why none does: operator by operator, whatever the nodes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from edrp.core.tolerances import LIMIT_SLACK
from edrp.migration.rescale.deployment import even_boundaries
from edrp.migration.rescale.documents import KeyedOperator
from edrp.placement.latency import CapacityCurveLatency


def range_fits(problem: Any, operator: KeyedOperator, first: int, end: int, replicas: int) -> bool:
    """Whether a replica may hold the tasks [first, end) when there are so many replicas."""
    assert operator.tasks is not None
    share = operator.tasks.share(first, end)
    if problem.tolerance is not None and share > (1 + problem.tolerance) / replicas * (1 + LIMIT_SLACK):
        return False
    return bool(problem.is_stable(operator, problem.application.load(operator.name) * share, replicas))


def possible_replicas(problem: Any, operator: KeyedOperator) -> list[int]:
    """Numbers of replicas with which the operator can be stable and within the tolerance, ascending."""
    allowed = range(operator.min_replicas, operator.most_replicas + 1)
    if operator.tasks is not None and not depends_on_number(problem, operator):
        fewest = len(packed(problem, operator, operator.most_replicas)) - 1
        return [replicas for replicas in allowed if replicas >= fewest]
    return [replicas for replicas in allowed if is_possible(problem, operator, replicas)]


def depends_on_number(problem: Any, operator: KeyedOperator) -> bool:
    """Whether what a replica may hold or how fast it is depends on how many replicas there are."""
    curve = isinstance(operator.latency, CapacityCurveLatency)
    return bool(problem.ranges == "even" or problem.tolerance is not None or curve)


def is_possible(problem: Any, operator: KeyedOperator, replicas: int) -> bool:
    """Whether some split among so many replicas keeps all of them stable and within the tolerance."""
    load = problem.application.load(operator.name)
    if operator.tasks is None:
        return bool(problem.is_stable(operator, load / replicas, replicas))
    if problem.ranges == "even":
        ends = even_boundaries(operator.tasks.count, replicas)
        return all(range_fits(problem, operator, a, b, replicas) for a, b in pairwise(ends))
    return len(packed(problem, operator, replicas)) - 1 <= replicas


def packed(problem: Any, operator: KeyedOperator, replicas: int) -> list[int]:
    """Boundaries of the fewest ranges that replicas may hold when there are so many of them, each as long as possible.

    A task that no replica may hold is a range of its own that counts as more than there may be: the list is then too long.
    """
    assert operator.tasks is not None
    count, ends = operator.tasks.count, [0]
    while ends[-1] < count and len(ends) <= replicas + 1:
        end = _longest(lambda end: range_fits(problem, operator, ends[-1], end, replicas), ends[-1] + 1, count)
        if end is None:
            return list(range(replicas + 3))
        ends.append(end)
    return ends if ends[-1] == count else list(range(replicas + 3))


def _longest(fits: Callable[[int], bool], first: int, last: int) -> int | None:
    """The last end that fits, None if the first does not."""
    if not fits(first):
        return None
    return first + bisect_right(range(first + 1, last + 1), 0, key=lambda end: 0 if fits(end) else 1)
