"""Random changes of certificates and solutions, to see that the checker refuses all that is not true."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from edrp.certificates import checker

AMOUNTS = (0, 1, -1, 2, 7, 10**9, -(10**9))
FACTORS = ("9/10", "11/10", "1000001/1000000")
DECISIONS = ("objective", "intervals", "deployment", "nodes", "routes")
"""Fields of solution documents that are changed."""

MALFORMED = (checker.Refused, *checker.MALFORMED)
"""Errors that `checker.verdict` turns into "not proven"."""


class Verdicts(NamedTuple):
    """Changes that were refused, and changes that passed and leave the claim true."""

    refused: int
    passed: int


def check_documents(problem: Any, solution: dict[str, Any], certificate: str) -> str:
    """The checker's verdict on a problem, a solution document and the text of a certificate."""
    documents = (checker.parse(problem.model_dump_json()), checker.parse(json.dumps(solution)))
    return checker.check(*documents, certificate.splitlines())


IsTrue = Callable[[dict[str, Any], Fraction | None], bool]


def try_corruptions(problem: Any, solution: Any, count: int, random: np.random.Generator, is_true: IsTrue) -> Verdicts:
    """Change a certified solution or its certificate so many times.

    Parameters
    ----------
    is_true
        Whether what a solution document and a bound claim is true: the decision is feasible, worth what the
        document says, and nothing is below the bound − 1e-6; a bound of None claims that nothing is feasible.

    Raises
    ------
    AssertionError
        When a change makes the claim false and passes.
    """
    document = json.loads(json.dumps(solution.to_document()))
    refused = passed = 0
    for _ in range(count):
        changed, certificate = corrupt(document, solution.certificate, random)
        try:
            check_documents(problem, changed, certificate)
        except MALFORMED:
            refused += 1
            continue
        header = json.loads(certificate.splitlines()[0])
        if not is_true(changed, Fraction(header["bound"]) if header["claim"] == "optimal" else None):
            raise AssertionError(f"a false claim passes: {problem.model_dump_json()}\n{json.dumps(changed)}\n{certificate}")
        passed += 1
    return Verdicts(refused, passed)


def corrupt(solution: dict[str, Any], certificate: str, random: np.random.Generator) -> tuple[dict[str, Any], str]:
    """A solution document and a certificate, of which a number, the order of lines or the length is changed."""
    lines = [json.loads(line) for line in certificate.splitlines()]
    what = random.random()
    if what < 0.35:
        fields = {name: solution[name] for name in DECISIONS if name in solution}
        solution = {**solution, **_with_a_change(fields, random)}
        if random.random() < 0.5 and solution["objective"] is not None:  # the same false claim in both
            lines[0]["bound"] = str(Fraction(solution["objective"]))
    elif what < 0.9:
        lines = _with_a_change(lines, random)
        if random.random() < 0.3 and isinstance(lines[0].get("bound"), str):
            solution = {**solution, "objective": float(Fraction(lines[0]["bound"]))}
    else:
        order = random.permutation(len(lines) - 1) + 1 if random.random() < 0.3 else np.arange(1, len(lines))
        lines = [lines[0], *(lines[i] for i in order)][: int(random.integers(1, len(lines) + 1))]
    return solution, "".join(json.dumps(line) + "\n" for line in lines)


def _with_a_change(value: Any, random: np.random.Generator) -> Any:
    """A copy of a JSON value with one number changed (a little, by a lot, or to null, or null to one), or one name."""
    value = json.loads(json.dumps(value))
    paths, names = list(_numbers(value)), list(_names(value))
    if len(names) > 1 and random.random() < 0.5:
        one, other = random.integers(len(names), size=2)
        return _replaced(value, names[one][1], names[other][0])
    *path, last = paths[random.integers(len(paths))]
    inside = value
    for key in path:
        inside = inside[key]
    old, amount = inside[last], int(random.choice(AMOUNTS))
    if old is None or random.random() < 0.05:
        inside[last] = amount if old is None else None
    elif isinstance(old, str):
        inside[last] = str(Fraction(old) * Fraction(str(random.choice(FACTORS))) + amount)
    else:
        inside[last] = old + amount
    return value


def _numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all numbers, fractions in texts and nulls in a JSON value."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _numbers(part, (*path, key))
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)) or _is_fraction(value):
        yield path


def _names(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Texts that are no numbers, with the paths to them."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _names(part, (*path, key))
    elif isinstance(value, str) and not _is_fraction(value):
        yield value, path


def _replaced(value: Any, path: tuple[Any, ...], part: Any) -> Any:
    """The value with another part at a path."""
    inside = value
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = part
    return value


def _is_fraction(value: Any) -> bool:
    try:
        return isinstance(value, str) and isinstance(Fraction(value), Fraction)
    except ValueError:
        return False
