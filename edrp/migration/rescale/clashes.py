"""Why an operator alone leaves nothing feasible, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.migration.rescale.documents import KeyedOperator
from edrp.migration.rescale.splits import possible_replicas, range_fits


def operator_clashes(problem: Any) -> tuple[str, ...]:
    """Operators that no number of replicas keeps stable and within the tolerance, or whose replicas fit on no node."""
    return tuple(sentence for operator in problem.application.operators for sentence in _clashes(problem, operator))


def _clashes(problem: Any, operator: KeyedOperator) -> Iterator[str]:
    if not possible_replicas(problem, operator):
        yield _overload(problem, operator)
    pool = operator.candidates or tuple(problem.network.by_name)
    if not any(_has_room(problem.network.by_name[node].resources, operator) for node in pool):
        need = ", ".join(f"{name} {amount:.6g}" for name, amount in named_resources(operator.resources).items())
        where = "any of its candidates" if operator.candidates is not None else "any node"
        yield f"{operator.name}: a replica ({need}) does not fit on {where}"


def _overload(problem: Any, operator: KeyedOperator) -> str:
    most, load = operator.most_replicas, problem.application.load(operator.name)
    replicas = f"{most} replicas at most" if most > 1 else "a single replica"
    below = f" below utilisation {problem.utilisation:g}" if problem.utilisation < 1 else ""
    below += problem.heaviest_text
    if operator.tasks is None or most == 1:
        return f"{operator.name}: with {replicas} it cannot serve its load of {load:.6g} tuples/s{below}"
    tolerated = "" if problem.tolerance is None else f" and within tolerance {problem.tolerance:g}"
    alone = [task for task in range(operator.tasks.count) if not range_fits(problem, operator, task, task + 1, most)]
    if alone:
        heaviest = max(alone, key=operator.tasks.work.__getitem__)
        rate = load * operator.tasks.share(heaviest, heaviest + 1)
        return (
            f"{operator.name}: task {heaviest} alone brings {rate:.6g} of {load:.6g} tuples/s, "
            f"which one of {replicas} does not serve{below}{tolerated}; split the task or serve faster"
        )
    even = "even ranges" if problem.ranges == "even" else "ranges of neighbouring tasks"
    return f"{operator.name}: with {replicas} no {even} keep all of them stable{below}{tolerated}"


def _has_room(resources: Any, operator: KeyedOperator) -> bool:
    if resources is None:
        return True
    room = named_resources(resources)
    needed = named_resources(operator.resources).items()
    return all(amount <= room.get(name, 0.0) * (1 + LIMIT_SLACK) for name, amount in needed)
