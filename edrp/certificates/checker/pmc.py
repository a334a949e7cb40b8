"""Format `pmc`: policies of migration."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from fractions import Fraction
from heapq import heappop, heappush
from itertools import product
from typing import Any

from .migration import evaluate_migration
from .reading import MAX_PARTITIONS, SAME, TOLERANCE, Refused, fraction, need
from .ssm import Layer, TaskLine


def _partitions(line: TaskLine, nodes: int) -> list[tuple[int, ...]]:
    """Partitions into that many intervals within the load limit, in order: the boundaries, without empty intervals."""
    first, partitions = line.first(nodes), list[tuple[int, ...]]()
    least, stack = line.least(first, nodes), [(0,), *partitions]
    while stack:
        ends = stack.pop()
        if ends[-1] == line.size and (line.empty or len(ends) == nodes + 1):
            partitions.append(ends)
            need(len(partitions) <= MAX_PARTITIONS, f"more than {MAX_PARTITIONS} partitions")
        elif ends[-1] < line.size and len(ends) <= nodes:
            reach = bisect_right(first, ends[-1]) - 1
            stack += [(*ends, b) for b in range(reach, max(ends[-1] + 1, least[nodes - len(ends)]) - 1, -1)]
    return partitions


class _Responses:
    """Least of h·c(P, Q) + g·V(Q), γ = g/h, over the partitions Q into `nodes` intervals, for one partition P after the other."""

    def __init__(self, line: TaskLine, nodes: int, values: dict[tuple[int, ...], Any], discount: Fraction) -> None:
        self.line, self.nodes, self.first, self.h = line, nodes, line.first(nodes), discount.denominator
        self.tree: Any = [0, {}]  # the least g·V, and branches by boundary, from the last on
        for ends, value in values.items():
            branch, weighed = self.tree, discount.numerator * value
            for b in reversed(ends[:-1]):
                branch = branch[1].setdefault(b, [weighed, {}])
                branch[0] = min(branch[0], weighed)
        self.layers: list[Layer] = []
        for k in range(nodes + 1):
            free, used, less = ([line.never] * (line.size + 1) for _ in range(3))
            free[0] = less[0] = 0 if line.empty or k == 0 else line.never
            self.layers.append((free, used, less))
        self.last: tuple[int, ...] = (0,)

    def least(self, old: tuple[int, ...]) -> Any:
        """Best first: Q from its last interval to its first, with what can stay before it (kept from the P before)."""
        line, state, never, layers = self.line, self.line.state, self.line.never, self.layers
        same = next((i for i, (a, b) in enumerate(zip(old, self.last, strict=False)) if a != b), min(len(old), len(self.last)))
        for j in range(same - 1, len(old) - 1):
            for b, k in product(range(old[j] + 1, old[j + 1] + 1), range(1, self.nodes + 1)):
                free, used, less = layers[k]
                free[b], used[b] = line.extend(layers[k - 1], b, j, old, self.first[b])
                less[b] = free[b] - state[b]
        self.last = old
        heap: list[Any] = [(0, 0, line.size, 0, never, self.nodes, self.tree[1])]
        node, entry = [bisect_left(old, b) for b in range(line.size + 1)], 0
        while heap:
            bound, _, b, free, used, left_over, branches = heappop(heap)
            if b == 0:
                return bound
            j, top = node[b] - 1, max(free, used)
            for a, (weighed, further) in branches.items():
                i = node[a] if a == old[node[a]] else node[a] - 1
                if i == j:
                    new, own_used = free, max(free + state[b] - state[a], used)
                else:
                    inner = max((state[old[x + 1]] - state[old[x]] for x in range(i + 1, j)), default=0)
                    new, own_used = max(free + state[b] - state[old[j]], top + inner), top + state[old[i + 1]] - state[a]
                if a == old[i]:
                    new, own_used = max(new, own_used), never
                before = layers[left_over - 1]
                stays = max(before[0][a] + max(new, own_used), before[1][a] + new)
                entry += 1
                heappush(heap, (self.h * (state[-1] - stays) + weighed, entry, a, new, own_used, left_over - 1, further))
        raise Refused("no partition may follow")


def check_pmc(problem: dict[str, Any], decision: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """`pmc`: projected costs V of all partitions (state migration, Fig. 6), whose errors a Bellman sweep bounds.

    The header's `unit` is a fraction of bytes. Lines are `[n, V]`, one for each number of nodes that can come up, ascending: V of
    the partitions into n intervals in units, in the order of their boundaries. The checker lists the partitions itself and
    computes TV(P) = Σ_n M[|P|, n]·min_Q (c(P, Q) + γ·V(Q)) exactly. With q = γ·(largest sum of a row of M),
    TV + q/(1−q)·min(0, TV − V) ≤ C ≤ TV + q/(1−q)·max(0, TV − V), so it knows what the decision and all others are worth.
    """
    unit, counts, discount = fraction(header["unit"]), problem["node_counts"], fraction(problem["discount"])
    line, chances = TaskLine(problem, unit.denominator), dict[int, dict[int, Fraction]]()
    for n, row in zip(counts, problem["transitions"], strict=True):
        chances[n] = {other: fraction(p) for other, p in zip(counts, row, strict=True) if p}
    reached, waiting = set(), [problem["nodes"]]
    while waiting:
        if (n := waiting.pop()) not in reached:
            reached.add(n)
            waiting += chances[n]
    partitions = {n: _partitions(line, n) for n in sorted(reached)}
    if header["claim"] == "infeasible":
        need(not all(partitions.values()), "every number of nodes has a partition within the load limit")
        return "a number of nodes that may come up has no partition within the load limit"
    values = {}
    for n, listed in partitions.items():
        count, row = next(lines, (0, []))
        need(count == n and len(row) == len(listed) and all(type(x) is int for x in row), f"no values of {n} nodes")
        values[n] = {ends: int(x * unit * line.scale) for ends, x in zip(listed, row, strict=True)}
    responses = {n: _Responses(line, n, values[n], discount) for n in values}
    swept: dict[int, dict[tuple[int, ...], Fraction]] = {n: {} for n in values}
    for count, old in [(n, old) for n in values for old in values[n]]:
        responses_cost = (p * responses[other].least(old) for other, p in chances[count].items())
        swept[count][old] = sum(responses_cost, Fraction(0)) / discount.denominator
    changes = [swept[n][old] - value for n in values for old, value in values[n].items()]
    q = discount * max(sum(chances[n].values()) for n in values)
    need(0 <= q < 1, "discount: the sweep is no contraction")
    reach = discount * q / (1 - q) / line.scale
    low, high = reach * min(Fraction(0), *changes), reach * max(Fraction(0), *changes)
    value_now, before = swept[problem["nodes"]], line.ends(problem["intervals"])
    worth = evaluate_migration(problem, decision) + discount * value_now[line.ends(decision)] / line.scale
    best = _Responses(line, problem["nodes"], value_now, discount).least(before) / discount.denominator / line.scale
    bound = fraction(header["bound"])
    off = max(worth + high - bound, bound - worth - low)
    need(off <= max(TOLERANCE, SAME * abs(bound)), f"the decision is worth {float(worth)!r}")
    need(best + low >= bound - TOLERANCE, f"it is proven that nothing is below {float(best + low)!r}, not {float(bound)!r}")
    return f"nothing is below {float(bound)!r} bytes"
