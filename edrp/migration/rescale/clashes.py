"""Reasons why a single operator makes a rescaling infeasible, in words."""

from __future__ import annotations

from typing import Any

from edrp.migration.rescale.documents import KeyedOperator
from edrp.migration.rescale.splits import possible_replicas, range_fits
from edrp.placement.shortage import homeless_operators, shortages


def operator_clashes(problem: Any) -> tuple[str, ...]:
    """Return the reasons why no number of replicas keeps an operator stable and within the tolerance or fits on its nodes."""
    replicas = {operator.name: possible_replicas(problem, operator) for operator in problem.application.operators}
    overloaded = [_overload(problem, operator) for operator in problem.application.operators if not replicas[operator.name]]
    if alone := (*overloaded, *homeless_operators(problem)):
        return alone
    return tuple(shortage.text for shortage in shortages(problem, {name: counts[0] for name, counts in replicas.items()}))


def _overload(problem: Any, operator: KeyedOperator) -> str:
    max_replicas, load = operator.most_replicas, problem.application.load(operator.name)
    replicas = f"{max_replicas} replicas at most" if max_replicas > 1 else "a single replica"
    below = f" below utilisation {problem.utilisation:g}" if problem.utilisation < 1 else ""
    below += problem.heaviest_text
    if operator.tasks is None or max_replicas == 1:
        return f"{operator.name}: with {replicas} it cannot serve its load of {load:.6g} tuples/s{below}"
    tolerated = "" if problem.tolerance is None else f" and within tolerance {problem.tolerance:g}"
    alone = [task for task in range(operator.tasks.count) if not range_fits(problem, operator, task, task + 1, max_replicas)]
    if alone:
        heaviest = max(alone, key=operator.tasks.work.__getitem__)
        rate = load * operator.tasks.share(heaviest, heaviest + 1)
        return (
            f"{operator.name}: task {heaviest} alone brings {rate:.6g} of {load:.6g} tuples/s, "
            f"which one of {replicas} does not serve{below}{tolerated}; split the task or serve faster"
        )
    even = "even ranges" if problem.ranges == "even" else "ranges of neighbouring tasks"
    return f"{operator.name}: with {replicas} no {even} keep all of them stable{below}{tolerated}"
