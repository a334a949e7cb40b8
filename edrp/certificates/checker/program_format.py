"""Format `program`: branch and bound over a program that is built from the instance, or stated."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from .deployment import Deployments, deployment_program
from .link_allocation import link_allocation_program
from .migration import migration_program
from .program import ExactProgram, check_tree
from .reading import Unknown, claimed_bound, fraction, instance_hash, need, refuted

PROGRAMS: dict[str, Callable[[dict[str, Any]], ExactProgram]] = {
    "edrp": deployment_program,
    "migration": migration_program,
    "link-allocation": link_allocation_program,
}
"""Builders of programs by kind of problem: every feasible decision is a point of no more value."""


def stated_program(lines: Iterator[Any]) -> tuple[ExactProgram, str]:
    """A program that a certificate states, and its hash: that of its lines as canonical JSON."""
    program, digest = ExactProgram(), hashlib.sha256()
    line = next(lines)
    columns, rows, program.constant = line[0], line[1], fraction(line[2])
    digest.update(instance_hash(line).encode())
    for number in range(columns + rows):
        line = next(lines)
        digest.update(instance_hash(line).encode())
        if number < columns:
            program.column(line[0], line[1], line[2], line[3] == 1)
        else:
            program.row(zip(line[2::2], line[3::2], strict=True), line[0], line[1])
    return program, digest.hexdigest()


class Stated(str):
    """Verdict that is proven only about the program that a certificate states, not about the instance."""

    __slots__ = ()


def is_built(problem: dict[str, Any]) -> bool:
    """Whether the checker builds the program of a problem by itself: it knows the kind, and all that is in the problem.

    Rules are in its programs of deployments alone; other programs are no more than bounds where there are some.
    """
    try:
        deployments = problem["kind"] == "edrp" and Deployments(problem) is not None
        return deployments or (problem["kind"] in PROGRAMS and problem["kind"] != "edrp" and not problem.get("rules"))
    except Unknown:
        return False


def check_program(problem: dict[str, Any], decision: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """Branch and bound over a program that the checker builds from the instance, or that the certificate states.

    The header's `program` is "built", which it must be where the checker can build it (`is_built`), or a hash: then the program
    comes first, and the verdict is about it alone (`Stated`). A line [columns, rows, constant], for each column [cost, lower,
    upper, 1 if integer], for each row [lower, upper, column, coefficient, …]; null is no bound, numbers are decimals. The tree
    follows in pre-order, a line for each node:

    ["S", column, floor]     an integer column is at most floor, or at least floor + 1
    ["G", row, [columns]]    of a row that lets at most one of its columns be other than 0: all of these are 0, or all others
    ["B", [row, k, …]]       a leaf: multipliers k/2^40 of rows prove that nothing in it is below the bound − 1e-6
    ["F", [row, k, …]]       a leaf: the multipliers prove that there is nothing in it

    `ExactProgram.at_least` says how multipliers prove a bound, `close` where columns get the bounds that they lack, and `round`
    how the arithmetic is one of integers.
    """
    target = claimed_bound(header)
    if header["program"] == "built":
        need(problem["kind"] in PROGRAMS, f"the checker builds no program of problems of kind {problem['kind']}")
        return f"no decision is {refuted(target)} ({check_tree(PROGRAMS[problem['kind']](problem), lines, target)})"
    need(not is_built(problem), "the checker builds the program of this instance by itself, and takes none that is stated")
    program, digest = stated_program(lines)
    need(digest == header["program"], "the program has another hash")
    return Stated(f"no point of the program {digest} is {refuted(target)} ({check_tree(program, lines, target)})")
