"""Trees of branch and bound over a program."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .claims import counted_leaves, tree_nodes
from .program import PLACES, SHIFT, Bound, Program
from .reading import TOLERANCE, need


def check_tree(program: Program, lines: Iterator[Any], target: Bound) -> str:
    """Every leaf of a tree in pre-order reaches the target, or holds no point; no target: no leaf holds one."""
    program.close(target)
    program.round()
    goal = None if target is None else math.ceil((target - TOLERANCE) * 2 ** (2 * SHIFT + PLACES))
    stack: list[Any] = [()]
    leaves = 0
    for path, line in tree_nodes(stack, lines):
        if line[0] in ("B", "F"):
            need(len(set(line[1][::2])) * 2 == len(line[1]), f"leaf {leaves + 1} has a row twice, or one without multiplier")
            low, high = list(program.low), list(program.high)
            while path:
                path, changes = path
                for column, new_low, new_high in changes:
                    low[column] = (
                        new_low if new_low is not None and (low[column] is None or new_low > low[column]) else low[column]
                    )
                    high[column] = (
                        new_high if new_high is not None and (high[column] is None or new_high < high[column]) else high[column]
                    )
            value = program.at_least(line[1], low, high, costs=line[0] == "B") if line[0] == "F" or program.bounded else None
            empty = any(
                new_low is not None and new_high is not None and new_low > new_high
                for new_low, new_high in zip(low, high, strict=True)
            )
            enough = empty or (value is not None and (value > 0 if line[0] == "F" else goal is not None and value >= goal))
            leaves += 1
            need(enough, f"leaf {leaves} does not reach the bound")
        elif line[0] == "S":  # S column floor: x ≤ floor or x ≥ floor + 1
            need(program.integer[line[1]] and isinstance(line[2], int), f"column {line[1]} is not integer")
            stack += [(path, [(line[1], line[2] + 1 << SHIFT, None)]), (path, [(line[1], None, line[2] << SHIFT)])]
        else:  # G row columns: all of these are 0, or all others of the row are
            need(line[0] == "G", f"line {str(line[0])[:40]!r} is none of B, F, S, G")
            entries, _, new_high = program.rows[line[1]]
            need(
                new_high is not None and new_high <= 1 and all(_binary(program, c) and a >= 1 for c, a in entries.items()),
                "no group",
            )
            need(set(line[2]) <= entries.keys(), f"row {line[1]} does not have these columns")
            others = entries.keys() - set(line[2])
            stack += [(path, [(c, None, 0) for c in others]), (path, [(c, None, 0) for c in line[2]])]
    return counted_leaves(leaves)


def _binary(program: Program, column: int) -> bool:
    low = program.lower[column]
    return program.integer[column] and low is not None and low >= 0
