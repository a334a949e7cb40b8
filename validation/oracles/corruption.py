"""Random changes of certificates and solutions, to see that the checker refuses all that is not true."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from edrp.certificates import checker
from edrp.core.errors import InvalidInstanceError
from edrp.core.kinds import get_kind
from edrp.core.solve import solve
from edrp.core.tolerances import CORRUPTED_CLAIM, CORRUPTED_VALUE

AMOUNTS = (0, 1, -1, 2, 7, 10**9, -(10**9))
FACTORS = ("9/10", "11/10", "1000001/1000000")
DECISIONS = ("objective", "intervals", "deployment", "nodes", "routes", "hosts", "allocations")
"""Fields of solution documents that are changed."""

MAP = ("nodes", "routes", "public")
"""Fields of a solution document that are a map; decisions of other kinds are one field."""

MALFORMED = (checker.Refused, *checker.MALFORMED)
"""Errors that `checker.verdict` turns into "not proven"."""

NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")

CASES = (
    ("program", "link-allocation", "mesh", 6, "highs"),
    ("program", "migration", "zipf", 12, "highs"),
    ("program", "edrp", "series-parallel-barabasi", 4, "highs"),
    ("program", "edrp", "sequential-geometric", 4, "highs"),
    ("program", "enactment", "containers-diamond", 4, "highs"),
    ("ssm", "migration", "zipf", 12, "ssm"),
    ("pmc", "migration-policy", None, 6, "pmc"),
    ("eliminate", "edrp", "series-parallel-barabasi", 4, "eliminate"),
    ("label-setting", "mapping", "grid", 3, "label-setting"),
    ("column-generation", "latency-aware", "fat-geometric", 4, "column-generation"),
)
"""Format, kind, family, size and method of certified instances."""


class Verdicts(NamedTuple):
    """Changes that were refused, and changes that passed and leave the claim true."""

    refused: int
    passed: int


def check_documents(problem: Any, solution: dict[str, Any], certificate: str) -> str:
    """The checker's verdict on a problem, a solution document and the text of a certificate."""
    return _check_texts(problem, json.dumps(solution), certificate)


def _check_texts(problem: Any, solution: str, certificate: str) -> str:
    return checker.check(checker.parse(problem.model_dump_json()), checker.parse(solution), certificate.splitlines())


def change_certified(problems: Iterable[Any], method: str, count: int) -> Verdicts:
    """Solve problems with certificates, and change each answer `count` times; see `try_corruptions`."""
    random = np.random.default_rng(0)
    outcomes = [try_corruptions(problem, solve(problem, method, certify=True), count, random) for problem in problems]
    return Verdicts(*map(sum, zip(*outcomes, strict=True)))


def corrupt_all_formats(count: int, seed: int = 0) -> dict[str, Verdicts]:
    """Outcomes of `count` random changes, by format, each in two turns of instances; see `try_corruptions`."""
    random, outcomes = np.random.default_rng(seed), dict[str, Verdicts]()
    for format_, kind, family, size, method in CASES:
        chosen = next(f for f in get_kind(kind).families if f.kind == kind and family in (None, f.name))
        for instance in (3, 8):
            problem = chosen.make(size, np.random.default_rng(instance))
            solution = solve(problem, method, certify=True)
            if solution.certificate is not None and json.loads(solution.certificate.split("\n", 1)[0])["format"] == format_:
                found = try_corruptions(problem, solution, count // (2 * len(CASES)), random)
                outcomes[format_] = Verdicts(*map(sum, zip(outcomes.get(format_, (0, 0)), found, strict=True)))
    return outcomes


def try_corruptions(problem: Any, solution: Any, count: int, random: np.random.Generator) -> Verdicts:
    """Change a certified solution or its certificate `count` times.

    Raises
    ------
    AssertionError
        When a change makes the claim false and passes.
    """
    document = json.dumps(solution.to_document())
    refused = passed = 0
    for _ in range(count):
        change = corrupt if random.random() < 0.5 else corrupt_text
        changed, certificate = change(document, solution.certificate, random)
        try:
            _check_texts(problem, changed, certificate)
        except MALFORMED:
            refused += 1
            continue
        try:
            true = is_true(problem, solution, json.loads(changed), json.loads(certificate.splitlines()[0]))
        except InvalidInstanceError:  # `edrp check` refuses a field that the checker does not know
            refused += 1
            continue
        if not true:
            raise AssertionError(f"a false claim passes: {problem.model_dump_json()}\n{changed}\n{certificate}")
        passed += 1
    return Verdicts(refused, passed)


def is_true(problem: Any, solution: Any, document: dict[str, Any], header: dict[str, Any]) -> bool:
    """Whether a document and the header of its certificate claim what holds: nothing is feasible, or a decision is optimal."""
    optimum = solution.objective
    if optimum is None or header["claim"] != "optimal":
        return optimum is None and header["claim"] == "infeasible"
    allowed = CORRUPTED_CLAIM * max(1.0, abs(optimum))
    if Fraction(header["bound"]) > Fraction(optimum) + Fraction(allowed):
        return False
    close = abs(document["objective"] - optimum) <= allowed
    if problem.kind == "migration-policy":
        return close and document["intervals"] == solution.to_document()["intervals"]
    if problem.kind not in checker.EVALUATE:  # the value of such a decision is not the checker's business, the bound is
        return True
    field = checker.DECISION.get(problem.kind)
    evaluation = problem.evaluate(document[field] if field else {name: document[name] for name in MAP if name in document})
    same = abs(evaluation.objective - document["objective"]) <= CORRUPTED_VALUE * max(1.0, abs(evaluation.objective))
    return bool(evaluation.feasible and same and close)


def corrupt(text: str, certificate: str, random: np.random.Generator) -> tuple[str, str]:
    """A solution document and a certificate, of which a number, the order of lines or the length is changed."""
    solution, lines = json.loads(text), [json.loads(line) for line in certificate.splitlines()]
    draw = random.random()
    if draw < 0.35:
        fields = {name: solution[name] for name in DECISIONS if name in solution}
        solution = {**solution, **_with_a_change(fields, random)}
        if random.random() < 0.5 and solution["objective"] is not None:  # the same false claim in both
            lines[0]["bound"] = str(Fraction(solution["objective"]))
    elif draw < 0.9:
        lines = _with_a_change(lines, random)
        if random.random() < 0.3 and isinstance(lines[0].get("bound"), str):
            solution = {**solution, "objective": float(Fraction(lines[0]["bound"]))}
    else:
        order = random.permutation(len(lines) - 1) + 1 if random.random() < 0.3 else np.arange(1, len(lines))
        lines = [lines[0], *(lines[i] for i in order)][: int(random.integers(1, len(lines) + 1))]
    return json.dumps(solution), "".join(json.dumps(line) + "\n" for line in lines)


def corrupt_text(solution: str, certificate: str, random: np.random.Generator) -> tuple[str, str]:
    """Return a solution document and a certificate of which one has a random change in its text."""
    if random.random() < 0.25:
        return _changed_text(solution, random), certificate
    return solution, _changed_text(certificate, random)


def _changed_text(text: str, random: np.random.Generator) -> str:
    """A text with one number or sign replaced, a line dropped, doubled or swapped, its end cut off, or two numbers swapped."""
    lines, numbers = text.split("\n"), list(NUMBER.finditer(text))
    at, (a, b) = int(random.integers(len(text))), sorted(random.integers(len(lines), size=2).tolist())
    first, second = (numbers[i] for i in sorted(random.integers(len(numbers), size=2).tolist()))
    match random.integers(7):
        case 0:
            return text[: first.start()] + _other_number(first[0], random) + text[first.end() :]
        case 1:
            return text[:at] + str(random.choice(list('0123456789-./,:[]{}"abGSBF '))) + text[at + 1 :]
        case 2:
            return "\n".join([*lines[:a], *lines[a + 1 :]])
        case 3:
            return "\n".join([*lines[: a + 1], *lines[a:]])
        case 4:
            lines[a], lines[b] = lines[b], lines[a]
            return "\n".join(lines)
        case 5:
            return text[:at]
    middle = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + middle + first[0] + text[second.end() :] if first is not second else text


def _other_number(text: str, random: np.random.Generator) -> str:
    value = float(text)
    others = [value + 1, value - 1, -value, value * 2, value / 2, 0.0, value * (1 + 1e-7), 1e300, 1e-300, 1e9]
    other = others[int(random.integers(len(others)))]
    return str(int(other)) if re.fullmatch(r"-?\d+", text) and abs(other) < 1e18 else repr(other)


def _with_a_change(value: Any, random: np.random.Generator) -> Any:
    """A copy of a JSON value with one number changed (a little, by a lot, or to null, or null to one), or one name."""
    value = json.loads(json.dumps(value))
    leaves = list(_leaves(value))
    names = [(leaf, path) for leaf, path in leaves if isinstance(leaf, str) and not _is_fraction(leaf)]
    paths = [path for leaf, path in leaves if not isinstance(leaf, bool) and (not isinstance(leaf, str) or _is_fraction(leaf))]
    if len(names) > 1 and random.random() < 0.5:
        one, other = random.integers(len(names), size=2)
        *path, last = names[one][1]
        reduce(getitem, path, value)[last] = names[other][0]
        return value
    *path, last = paths[random.integers(len(paths))]
    inside = reduce(getitem, path, value)
    old, amount = inside[last], int(random.choice(AMOUNTS))
    if old is None or random.random() < 0.05:
        inside[last] = amount if old is None else None
    elif isinstance(old, str):
        inside[last] = str(Fraction(old) * Fraction(str(random.choice(FACTORS))) + amount)
    else:
        inside[last] = old + amount
    return value


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Numbers, texts, truth values and nulls in a JSON value, with the paths to them."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(part, (*path, key))
    else:
        yield value, path


def _is_fraction(value: Any) -> bool:
    try:
        return isinstance(value, str) and isinstance(Fraction(value), Fraction)
    except ValueError:
        return False
