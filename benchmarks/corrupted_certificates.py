"""Random changes of certificates and solutions, all of which the checker must reject if they make the claim false.

    python benchmarks/corrupted_certificates.py --count 10000

Small instances are solved and certified once for every format. Then one file of one of them is changed at random: a number, a
word, a line dropped, doubled, moved or cut, the end cut off. A change that the checker accepts is counted as harmless where
what the files then claim is still true (as with a note, or a multiplier that is not needed), and otherwise as a defect.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

import edrp
from edrp.certificates import checker
from edrp.core.errors import InvalidInstanceError
from edrp.core.kinds import get_kind

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
"""Format, kind, family, size and method."""

TRUE = 1e-6
"""By how much a stated value may be away from the truth."""


class Case(NamedTuple):
    """A certified answer: the problem, its solution and certificate as texts, and the optimum (None: infeasible)."""

    format: str
    problem: Any
    solution: str
    certificate: str
    optimum: float | None


def cases() -> list[Case]:
    """One for every format that has a writer, in two turns of instances."""
    found = []
    for format_, kind, family, size, method in CASES:
        families = [f for f in get_kind(kind).families if f.kind == kind and family in (None, f.name)]
        if format_ not in checker.FORMATS or not families:
            continue
        for seed in (3, 8):
            problem = families[0].make(size, np.random.default_rng(seed))
            solution = edrp.solve(problem, method, certify=True)
            if solution.certificate is not None and json.loads(solution.certificate.split("\n", 1)[0])["format"] == format_:
                text = json.dumps(solution.to_document())
                found.append(Case(format_, problem, text, solution.certificate, solution.objective))
    return found


def changed(text: str, source: random.Random) -> str:
    """A text with one random change."""
    lines, kind = text.split("\n"), source.randrange(7)
    if kind == 0:
        numbers = list(re.finditer(r"-?\d+(\.\d+)?(e-?\d+)?", text))
        found = source.choice(numbers)
        return text[: found.start()] + _other_number(found[0], source) + text[found.end() :]
    if kind == 1:
        at = source.randrange(len(text))
        return text[:at] + source.choice('0123456789-./,:[]{}"abGSBF ') + text[at + 1 :]
    if kind == 2 and len(lines) > 2:
        lines.pop(source.randrange(len(lines)))
        return "\n".join(lines)
    if kind == 3:
        at = source.randrange(len(lines))
        return "\n".join([*lines[: at + 1], *lines[at:]])
    if kind == 4 and len(lines) > 2:
        a, b = source.sample(range(len(lines)), 2)
        lines[a], lines[b] = lines[b], lines[a]
        return "\n".join(lines)
    if kind == 5:
        return text[: source.randrange(len(text))]
    numbers = list(re.finditer(r"-?\d+(\.\d+)?", text))
    a, b = sorted(source.sample(range(len(numbers)), 2))
    first, second = numbers[a], numbers[b]
    middle = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + middle + first[0] + text[second.end() :]


def _other_number(text: str, source: random.Random) -> str:
    """Another number in place of the one in the text."""
    value = float(text)
    others = [value + 1, value - 1, -value, value * 2, value / 2, 0, value * (1 + 1e-7), source.choice([1e300, 1e-300, 1e9])]
    other = source.choice(others)
    return str(int(other)) if re.fullmatch(r"-?\d+", text) and abs(other) < 1e18 else repr(other)


def outcome(case: Case, solution: str, certificate: str) -> str:
    """Outcome of a change: rejected, refused when `edrp` reads it, harmless, or accepted although the claim is false."""
    if (solution, certificate) == (case.solution, case.certificate):
        return "no change"
    try:
        lines = certificate.splitlines()
        checker.check(checker.parse(case.problem.model_dump_json()), checker.parse(solution), lines)
    except (checker.Refused, *checker.MALFORMED):
        return "rejected"
    try:
        return "harmless" if still_true(case, solution, certificate) else "ACCEPTED THOUGH FALSE"
    except InvalidInstanceError:  # a field whose name was changed: the checker takes its default, `edrp check` refuses the file
        return "refused when read"


def still_true(case: Case, solution: str, certificate: str) -> bool:
    """Whether what the files claim holds: status, decision, value and bound."""
    document, header = json.loads(solution), json.loads(certificate.split("\n", 1)[0])
    if (case.optimum is None) != (document["status"] == "infeasible") or header["claim"] != document["status"]:
        return False
    if case.optimum is None:
        return True
    field = checker.DECISION.get(case.problem.kind)
    allowed = TRUE * max(1.0, abs(case.optimum))
    if abs(document["objective"] - case.optimum) > allowed:
        return False
    if field is None or case.problem.kind not in checker.EVALUATE:  # such a decision is not the checker's business
        return True
    evaluation = case.problem.evaluate(document[field])
    return evaluation.feasible and abs(evaluation.objective - case.optimum) <= allowed


def run(count: int, seed: int = 0) -> dict[str, Counter[str]]:
    """Outcomes of random changes, by format."""
    source, made = random.Random(seed), cases()
    outcomes: dict[str, Counter[str]] = {case.format: Counter() for case in made}
    for turn in range(count):
        case = made[turn % len(made)]
        solution, certificate = case.solution, case.certificate
        if source.random() < 0.25:
            solution = changed(solution, source)
        else:
            certificate = changed(certificate, source)
        outcomes[case.format][outcome(case, solution, certificate)] += 1
    return outcomes


def main() -> None:
    """Print what became of the changes, by format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    defects = 0
    for format_, outcomes in run(asked.count, asked.seed).items():
        defects += outcomes["ACCEPTED THOUGH FALSE"]
        print(f"{format_}: {', '.join(f'{number} {what}' for what, number in sorted(outcomes.items()))}")
    sys.exit(defects > 0)


if __name__ == "__main__":
    main()
