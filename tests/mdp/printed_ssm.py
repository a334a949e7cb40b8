"""The algorithm of state migration, Fig. 4, as printed: an exhibit of its errata, not to be used.

Line numbers and names are the paper's: tasks and nodes count from 1, an interval is [lb, ub), τ is the tolerance of
Definition 3.1. It returns the maximum gain that it finds. Each erratum can be repaired by its name, all others as printed.
"""

from typing import NamedTuple

REPAIRS = ("E1", "E2", "E3", "E4")
"""Repairs that Fig. 4 needs.

E1: lines 11 and 12 subtract w[lb] after lb has moved on, the wrong task; and lb may fall below α, so that tasks before the
    sub-problem count again.
E2: x ends at m in line 8; the last interval ends at m + 1.
E3: line 15 skips a redundant P2; it has to be replaced by the sub-problem that it is equal to (Lemma 3.3).
E4: sub-problems without a node left are not in the table, though intervals may have to be made of the tasks that remain.
"""


class Instance(NamedTuple):
    """`work`, `state`: of tasks 1…m; `bounds`: lb of nodes 1…n and m + 1; n′ = `nodes`; all in the paper's counting."""

    work: tuple[float, ...]
    state: tuple[float, ...]
    bounds: tuple[int, ...]
    nodes: int
    tolerance: float

    @property
    def m(self) -> int:
        return len(self.work)

    @property
    def n(self) -> int:
        return len(self.bounds) - 1

    @property
    def limit(self) -> float:
        return (1 + self.tolerance) * sum(self.work) / self.nodes * (1 + 1e-9)

    def w(self, task: int) -> float:
        return self.work[task - 1]

    def load(self, first: int, end: int) -> float:
        return sum(self.work[first - 1 : end - 1])

    def gain(self, first: int, end: int, y: int) -> float:
        """State of node y within the tasks [first, end)."""
        return sum(self.state[max(first, self.bounds[y - 1]) - 1 : min(end, self.bounds[y]) - 1])

    def own(self, task: int) -> int:
        """Node that holds a task."""
        return next(y for y in range(1, self.n + 1) if self.bounds[y - 1] <= task < self.bounds[y])

    def needed(self, first: int, end: int) -> float:
        """How many nodes the tasks [first, end) need."""
        nodes, load = 1, 0.0
        for task in range(first, end):
            if self.w(task) > self.limit:
                return float("inf")
            if load + self.w(task) > self.limit:
                nodes, load = nodes + 1, 0.0
            load += self.w(task)
        return nodes


def printed_ssm(given: Instance, repairs: tuple[str, ...] = ()) -> float:
    """Fig. 4."""
    m, n = given.m, given.n
    g: dict[tuple[int, int, int], float] = {}
    for n_p in range(1, given.nodes + 1):  # line 1
        for alpha in range(1, m + 1):  # line 2
            for gamma in (given.own(alpha), given.own(alpha) + 1):  # line 3
                if gamma > n and "E4" not in repairs:
                    continue
                nothing = 0.0 if "E4" in repairs and given.needed(alpha, m + 1) <= n_p else float("-inf")
                if n_p == 1:  # lines 4 and 5
                    gains = [given.gain(alpha, m + 1, y) for y in range(gamma, n + 1)]
                    fits = given.load(alpha, m + 1) <= given.limit
                    g[alpha, gamma, 1] = max([nothing, *gains]) if fits else float("-inf")
                else:
                    g[alpha, gamma, n_p] = max(nothing, _lines_7_to_20(given, g, alpha, gamma, n_p, repairs))
    return g[1, 1, given.nodes]


def _lines_7_to_20(
    given: Instance, g: dict[tuple[int, int, int], float], alpha: int, gamma: int, n_p: int, repairs: tuple[str, ...]
) -> float:
    m = given.m
    best, n_min, lb, w_y = float("-inf"), 1, 1, 0.0  # line 7
    for x in range(2, (m + 1 if "E2" in repairs else m) + 1):  # line 8
        w_y += given.w(x - 1)  # line 9
        while w_y > given.limit and lb < m:  # line 10
            if "E1" in repairs:
                w_y -= given.w(lb)
                lb += 1
            else:
                lb += 1  # line 11
                w_y -= given.w(lb)  # line 12
        if x <= alpha:
            continue  # P1 would hold no task
        if given.needed(alpha, x) > n_min:
            n_min += 1  # line 13
        first = max(lb, alpha) if "E1" in repairs else lb
        for y in _two_nodes(given, first, x, gamma):  # line 16
            after = y + 1  # line 14: P2 = ([x, m], [y + 1, n], n_p − n_min)
            if x <= m and after <= given.n and given.bounds[after] <= x:  # line 15: P2 is redundant
                if "E3" not in repairs:
                    continue
                after = given.own(x)
            rest = g.get((x, after, n_p - n_min), float("-inf"))
            if x == m + 1 and n_min <= n_p:
                rest = 0.0
            best = max(best, given.gain(first, x, y) + rest)  # lines 17 to 20, Solve_P1
    return best


def _two_nodes(given: Instance, first: int, x: int, gamma: int) -> list[int]:
    """The values of y that Lemma 3.5 leaves: the node of task x − 1, and the one that gains most and does not hold x."""
    others = [y for y in range(gamma, given.n + 1) if not given.bounds[y - 1] <= x < given.bounds[y]]
    found = {given.own(x - 1)} | {max(others, key=lambda y: given.gain(first, x, y)) for _ in others[:1]}
    return sorted(y for y in found if y >= gamma)
