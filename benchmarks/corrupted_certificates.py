"""Random changes of certificates and solutions, all of which the checker must reject if they make the claim false.

    python benchmarks/corrupted_certificates.py --count 10000

Small instances are solved and certified for every format. Then one file of one of them is changed at random: a number, a word,
a line dropped, doubled, moved or cut, the end cut off. A change that the checker accepts is counted as harmless where what the
files then claim is still true (as with a note, or a multiplier that is not needed); otherwise it is printed, and the exit code
is 1.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

import edrp
from edrp.core.kinds import get_kind
from edrp.validation.oracles.corruption import Verdicts, try_corruptions

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


def run(count: int, seed: int = 0) -> dict[str, Verdicts]:
    """Outcomes of random changes, by format, each in two turns of instances."""
    random, outcomes = np.random.default_rng(seed), dict[str, Verdicts]()
    for format_, kind, family, size, method in CASES:
        chosen = next(f for f in get_kind(kind).families if f.kind == kind and family in (None, f.name))
        for instance in (3, 8):
            problem = chosen.make(size, np.random.default_rng(instance))
            solution = edrp.solve(problem, method, certify=True)
            if solution.certificate is not None and json.loads(solution.certificate.split("\n", 1)[0])["format"] == format_:
                found = try_corruptions(problem, solution, count // (2 * len(CASES)), random)
                outcomes[format_] = Verdicts(*map(sum, zip(outcomes.get(format_, (0, 0)), found, strict=True)))
    return outcomes


def main() -> None:
    """Print what became of the changes, by format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    for format_, found in run(asked.count, asked.seed).items():
        print(f"{format_}: {found.refused} rejected, {found.passed} harmless")


if __name__ == "__main__":
    main()
