"""Certified answers whose documents and certificates are changed at random: what becomes false must be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

import edrp
from edrp.validation.oracles.corruption import Verdicts, try_corruptions

ValueOf = Callable[[Any, Any, dict[str, Any]], float | None]
"""What the decision of a document is worth to a problem with this solution; None where it is not feasible."""


def worth(*fields: str) -> ValueOf:
    """The evaluation of the decision that stands in these fields of a document."""

    def value_of(problem: Any, _: Any, document: dict[str, Any]) -> float | None:
        decision = document[fields[0]] if len(fields) == 1 else {field: document[field] for field in fields}
        evaluation = problem.evaluate(decision)
        return evaluation.objective if evaluation.feasible else None

    return value_of


def change_certified(problems: Iterable[Any], method: str, count: int, value_of: ValueOf) -> Verdicts:
    """How many of so many changes of each answer are refused, and how many pass because the claim is still true."""
    random, found = np.random.default_rng(0), []
    for problem in problems:
        solution = edrp.solve(problem, method, certify=True)

        def is_true(document: dict[str, Any], bound: Any, problem: Any = problem, solution: Any = solution) -> bool:
            if bound is None or solution.objective is None:
                return bound is None and solution.objective is None
            value = value_of(problem, solution, document)
            known = value is not None and abs(value - document["objective"]) <= 2e-9 * max(1.0, abs(value))
            return known and bound <= Fraction(solution.objective) + Fraction(11, 10**7)

        found.append(try_corruptions(problem, solution, count, random, is_true))
    return Verdicts(*map(sum, zip(*found, strict=True)))
