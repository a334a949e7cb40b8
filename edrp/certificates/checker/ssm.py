"""Format `ssm`: migrations in a single step."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from operator import sub
from typing import Any

from .reading import TOLERANCE, fraction, need
from .task_line import TaskLine


def check_ssm(problem: dict[str, Any], _: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """`ssm`: potentials, which prove how much state can stay (state migration, section 3.2).

    Lines k = 1 … n′ are `[b, free, used]`: upper bounds, in units of 1/(common denominator of `state_size`) bytes, on the state
    that stays of the tasks before boundary b, b + 1, … when these are held by k intervals (by at most k where intervals
    may be empty): in `free` where no interval keeps the old node on both sides of the boundary, in `used` where one
    does. Negative: there are no such intervals; so it is where nothing is listed. The checker goes through all intervals: from
    what line k − 1 says where one begins, and what it keeps, must follow no more than line k says where it ends.
    """
    line, nodes = TaskLine(problem), problem["nodes"]
    tasks, never, first, old = line.size, line.never, line.first(nodes), line.ends(problem["intervals"])
    least, (free, used, last) = line.least(first, nodes), ([0] + [never] * tasks, [never] * (tasks + 1), 0)
    for k in range(1, nodes + 1):
        offset, *rows = next(lines, (0,))
        count = len(rows[0])
        need(len(rows) == 2 and count == len(rows[1]) and 1 <= offset <= tasks + 1 - count, f"line {k}: no such boundaries")
        need(all(type(x) is int for row in rows for x in row), f"line {k}: the bounds must be integers")
        before = (free, used, list(map(sub, free, line.state)))
        padded = ([-1] * offset + row + [-1] * (tasks + 1 - count - offset) for row in rows)
        free, used = ([x if x >= 0 else never for x in row] for row in padded)
        free[0] = 0 if line.empty else never
        j = 0
        for b in range(1, tasks + 1):
            j += b > old[j + 1]
            if first[b] <= last and b >= least[nodes - k]:
                most, own = line.extend(before, b, j, old, first[b])
                need(most < 0 or most <= free[b], f"line {k}: {most} may stay before boundary {b}, above {free[b]}")
                need(own < 0 or own <= used[b], f"line {k}: {own} may stay before boundary {b} with its node, above {used[b]}")
        for b in old:
            used[b] = never
        last = offset + count - 1
    if header["claim"] == "infeasible":
        need(free[tasks] < 0, "an assignment may be within the load limit")
        return "no assignment is within the load limit"
    moved, bound = Fraction(line.state[-1] - free[tasks], line.scale), fraction(header["bound"])
    need(moved >= bound - TOLERANCE, f"it is proven that {float(moved)!r} bytes move, not {float(bound)!r}")
    return f"at least {float(bound)!r} bytes move"
