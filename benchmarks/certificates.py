"""How many optima of programs are certified and checked within a minute each: `python benchmarks/certificates.py`.

For every kind of problem that has programs, random instances of all its families are solved by HiGHS and certified, at small
and at middle sizes. Deployments on clusters of equal nodes, of whose programs HiGHS proves few, have a row of their own
(`edrp-clusters`). A row says how many there were, how many HiGHS proved something about within the time limit, what share of
those has a checked certificate, for the problem itself or for the program that it states, and leaves, bytes and seconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import edrp
from edrp.certificates import checker
from edrp.core.certificates import with_certificate
from edrp.core.kinds import get_kind

SIZES = {
    "edrp": (4, 6),
    "edrp-clusters": (4, 6),
    "latency-aware": (4, 8),
    "migration": (16, 64),
    "enactment": (4, 8),
    "leasing": (4, 8),
    "mapping": (4, 8),
    "link-allocation": (6, 12),
    "rescale": (4, 8),
}
"""Small and middle size of each kind, in what its families count."""


HEAD = """\
| kind | size | instances | proven by HiGHS | certified | the problem itself | leaves | bytes | s to certify | s to check |
|---|---|---|---|---|---|---|---|---|---|"""
"""Leaves, bytes and seconds are median and most; certifying includes a first check."""


def instances(row: str, size: int, count: int, skipped: int = 0) -> Iterator[tuple[str, Any]]:
    """Instances that backends take, family by family, without the first ones."""
    kind = row.removesuffix("-clusters")
    families = [f for f in get_kind(kind).families if f.kind == kind and not f.packages and f.least_size <= size]
    families = [f for f in families if ("cluster" in f.name) == (row != kind)]
    refuse, made, seed = get_kind(kind).refuse_formulation, 0, 0
    while made < count:
        family = families[seed % len(families)]
        problem = family.make(size, np.random.default_rng([seed, size]))
        seed += 1
        if refuse is None or refuse(problem) is None:
            made += 1
            if made > skipped:
                yield f"{family.name}-{seed}", problem


def measured(problem: Any, seconds: float) -> dict[str, Any]:
    """Outcome, leaves, bytes and seconds of one instance."""
    started = time.perf_counter()
    solution = edrp.solve(problem, "highs", time_limit=seconds)
    row: dict[str, Any] = {"status": solution.status, "solve": time.perf_counter() - started}
    if solution.status not in ("optimal", "infeasible"):
        return row
    started = time.perf_counter()
    solution = with_certificate(problem, solution, seconds)
    row["certify"] = time.perf_counter() - started
    if solution.certificate is None:
        return {**row, "why": solution.notes[-1]}
    document, answer = checker.parse(problem.model_dump_json()), checker.parse(json.dumps(solution.to_document()))
    started = time.perf_counter()
    said = checker.check(document, answer, solution.certificate.splitlines())
    row |= {"check": time.perf_counter() - started, "bytes": len(solution.certificate)}
    return {**row, "leaves": int(said.rsplit("(", 1)[1].split()[0]), "built": "program" not in said}


def report(kind: str, size: int, rows: list[dict[str, Any]]) -> str:
    """A line of the table."""
    claimed = [row for row in rows if row["status"] in ("optimal", "infeasible")]
    proven = [row for row in claimed if "bytes" in row]
    if not proven:
        return f"| {kind} | {size} | {len(rows)} | {len(claimed)} | 0 % | | | | | |"
    cells = [f"{100 * len(proven) / len(claimed):.0f} %", f"{sum(row['built'] for row in proven)}"]
    for name, form in (("leaves", "{:.0f}"), ("bytes", "{:.0f}"), ("certify", "{:.2f}"), ("check", "{:.2f}")):
        values = sorted(row[name] for row in proven)
        cells.append(f"{form.format(statistics.median(values))}, {form.format(values[-1])}")
    return f"| {kind} | {size} | {len(rows)} | {len(claimed)} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print a row for each kind and size: shares certified and checked, nodes, bytes and seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[[], *SIZES], help="default: all")
    parser.add_argument("--count", type=int, default=100, help="instances of each kind and size")
    parser.add_argument("--skip", type=int, default=0, help="how many of them were measured before, and are left out")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of solving, and of certifying")
    parser.add_argument("--sizes", choices=["small", "middle", "both"], default="both")
    parser.add_argument("--rows", help="append a JSON line for each instance to this file")
    asked = parser.parse_args()
    print(HEAD, flush=True)
    for which in range(2):
        if asked.sizes == ("middle", "small")[which]:
            continue
        for kind in asked.kinds or SIZES:
            rows = []
            for name, problem in instances(kind, SIZES[kind][which], asked.count, asked.skip):
                rows.append(measured(problem, asked.seconds))
                if asked.rows:
                    with Path(asked.rows).open("a") as file:
                        file.write(json.dumps({"kind": kind, "size": SIZES[kind][which], "name": name, **rows[-1]}) + "\n")
            print(report(kind, SIZES[kind][which], rows), flush=True)


if __name__ == "__main__":
    main()
