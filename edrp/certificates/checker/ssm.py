"""Format `ssm`: tasks in order, and how much state can stay where they are held by intervals."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from operator import sub
from typing import Any

from .reading import SLACK, TOLERANCE, fraction, need

Layer = tuple[list[int], list[int], list[int]]
"""By boundary: most state kept of the tasks before it, with the old node there free, and used; the first less all state."""


class TaskLine:
    """Tasks in order: work and state before each boundary as integers, the state in units of 1/`scale` bytes."""

    def __init__(self, problem: dict[str, Any], scale: int = 1) -> None:
        work, state = ([fraction(value) for value in problem[name]] for name in ("work", "state_size"))
        self.size, self.empty, self.tolerance = len(work), problem.get("allow_empty", True), fraction(problem["tolerance"])
        need(self.size == len(state) > 0 and min(work) >= 0 <= min(state), "work, state_size: as many numbers, none below 0")
        self.scale, factor = math.lcm(scale, *(x.denominator for x in state)), math.lcm(*(x.denominator for x in work))
        self.work = [0, *accumulate(int(value * factor) for value in work)]
        self.state = [0, *accumulate(int(value * self.scale) for value in state)]
        self.never = -self.state[-1] - 1

    def first(self, nodes: int) -> list[int]:
        """Return per boundary the first task of the longest interval that ends there within the load limit of `nodes` nodes."""
        max_work = math.floor((1 + self.tolerance) * self.work[-1] * SLACK / nodes)
        return [bisect_left(self.work, load - max_work) for load in self.work]

    def least(self, first: list[int], nodes: int) -> list[int]:
        """Return for k = 0 … n′ the least boundary from which k intervals reach the last task."""
        return list(accumulate(range(nodes), lambda b, _: first[b], initial=self.size))

    def ends(self, assignment: Any) -> tuple[int, ...]:
        """The boundaries of an assignment, which must hold each task once."""
        intervals = sorted(tuple(ab) for ab in assignment if ab is not None and ab[0] != ab[1])
        ends = (0, *(b for _, b in intervals))
        right = all(type(x) is int for ab in intervals for x in ab) and ends[:-1] == tuple(a for a, _ in intervals)
        need(right and ends == tuple(sorted(set(ends))) and ends[-1] == self.size, "intervals: they must hold each task once")
        return ends

    def extend(self, before: Layer, b: int, j: int, old: Sequence[int], first: int) -> tuple[int, int]:
        """Most state that stays of the tasks before b when one interval more ends there, from `first` or a later task on.

        b lies in (old[j], old[j + 1]]. The first value leaves the old node at b free, the second uses it; at its end it does
        not matter. An interval keeps what it shares with one old node that no other interval keeps, or nothing.
        """
        if first >= b:
            return self.never, self.never
        (free, used, less), state, begin = before, self.state, max(first, old[j])
        kept_free, kept_used = max(free[begin:b]), max(max(less[begin:b]) + state[b], *used[begin:b])
        inner, end, node = 0, old[j], j - 1
        while end > first:
            begin = max(first, old[node])
            top = max(max(free[begin:end]), *used[begin:end])
            kept_free, kept_used = (
                max(kept_free, top + inner, max(less[begin:end]) + state[end]),
                max(kept_used, top + state[b] - state[old[j]]),
            )
            inner, end, node = max(inner, state[end] - state[old[node]]), old[node], node - 1
        return (max(kept_free, kept_used), self.never) if b == old[j + 1] else (kept_free, kept_used)


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
