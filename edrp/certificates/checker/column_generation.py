"""Format `column-generation`: latency-aware placements."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import count as numbers_from
from itertools import product
from operator import gt, le, mul, sub
from typing import Any

from .latency_aware import Instances
from .program import PLACES, SHIFT
from .reading import MAX_PARTS, MAX_STATES, NEVER, TOLERANCE, claimed_bound, counted_leaves, fraction, need, refuted, tree_nodes

Pattern = tuple[int, ...]  # how many instances of each operator are on one node


class Window:
    """Range of the number of nodes in use, in all and of each class."""

    def __init__(self, least: int, most: int, low: tuple[int, ...], high: tuple[int, ...]) -> None:
        self.least, self.most, self.low, self.high = least, most, low, high

    def halves(self, which: int, floor: int) -> tuple[Window, Window]:
        """Split the range of a class (-1: of all nodes) into at most `floor` nodes and at least one more."""
        need(which in range(-1, len(self.low)) and type(floor) is int, "there is no such class")
        if which < 0:
            lower, upper = min(self.most, floor), max(self.least, floor + 1)
            return Window(self.least, lower, self.low, self.high), Window(upper, self.most, self.low, self.high)
        high = (*self.high[:which], min(self.high[which], floor), *self.high[which + 1 :])
        low = (*self.low[:which], max(self.low[which], floor + 1), *self.low[which + 1 :])
        return Window(self.least, self.most, self.low, high), Window(self.least, self.most, low, self.high)

    def cheapest(self, cost: Sequence[int], used: Sequence[int]) -> Any:
        """The least cost of nodes of which at least `used` of each class are used."""
        low = list(map(max, self.low, used))
        count, total = sum(low), sum(map(mul, low, cost))
        if any(map(gt, low, self.high)) or count > self.most or sum(self.high) < self.least:
            return NEVER
        for price, c in sorted(zip(cost, numbers_from(), strict=False)):
            more = min(self.high[c] - low[c], self.most - count if price < 0 else max(0, min(self.most, self.least) - count))
            count, total = count + more, total + more * price
        return total if count >= self.least else NEVER


class Patterns:
    """A problem of kind "latency-aware" in integers, in 2^-SHIFT of the objective; operators by number.

    Nodes with equal room for the same operators are a class. Only paths tell the nodes of a class apart. Without objective all
    placements are worth 0.
    """

    def __init__(self, problem: dict[str, Any], order: list[str], objective: bool) -> None:
        model, unit = Instances(problem), 2**SHIFT if objective else 0
        need(sorted(order) == sorted(model.operators), "order: not each operator once")
        position, self.size = {name: i for i, name in enumerate(order)}, len(order)
        self.price, self.apart = math.floor(model.price * unit), math.floor(sum(model.cut.values()) * unit)
        self.count = tuple(model.count[name] for name in order)
        self.saved: list[dict[int, int]] = [{} for _ in order]  # by later and earlier operator: when two instances are together
        for (u, v), value in model.cut.items():
            early, late = sorted((position[u], position[v]))
            pair = math.ceil(value * unit / (model.count[u] * model.count[v]))
            self.saved[late][early] = self.saved[late].get(early, 0) + pair
        last = [max((k for k in range(self.size) if i in self.saved[k]), default=i) for i in range(self.size)]
        self.fronts = [[i for i in range(k) if last[i] >= k] for k in range(self.size + 1)]
        self.paths = [(position[name], [position[u] for u in model.before[name]]) for name in model.order]
        names = sorted({resource for need_of in model.need.values() for resource in need_of})
        scale = math.lcm(*(fraction(x).denominator for need_of in model.need.values() for x in need_of.values()))
        self.need = [tuple(int(model.need[name].get(r, 0) * scale) for r in names) for name in order]
        all_need = [sum(map(mul, self.count, column)) for column in zip(*self.need, strict=True)]
        classes = dict[Any, list[str]]()
        for node in model.nodes:
            rooms = ((model.room(node, r), largest) for r, largest in zip(names, all_need, strict=True))
            room = tuple(largest if x is None else min(largest, math.floor(x * scale)) for x, largest in rooms)
            is_candidate = [node in (model.operators[name].get("candidates") or model.nodes) for name in order]
            fits = (min((x // a for x, a in zip(room, need_of, strict=True) if a), default=n) for n, need_of in self._needs())
            largest = tuple(min(n, fit) if may else 0 for n, fit, may in zip(self.count, fits, is_candidate, strict=True))
            if any(largest):
                classes.setdefault((room, largest), []).append(node)
        self.rooms, self.most = [room for room, _ in classes], [largest for _, largest in classes]
        self.members = list(classes.values())
        self.model, self.unit, self.known = model, math.floor(model.second * unit), dict[Any, Any]()

    def _needs(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        return zip(self.count, self.need, strict=True)

    @property
    def root(self) -> Window:
        """Return the window that admits every placement."""
        sizes = tuple(map(len, self.members))
        return Window(1, sum(sizes), (0,) * len(sizes), sizes)

    def gain(self, k: int, x: int, front: Iterable[tuple[int, int]], worth: list[int]) -> int:
        """Value of x instances of operator k with those before them on the same node."""
        return x * (worth[k] + sum(n * self.saved[k].get(i, 0) for i, n in front))

    def tables(self, c: int, worth: list[int]) -> list[dict[Pattern, list[tuple[int, int, int]]]]:
        """By operator and by counts of those before it that matter, what those from it on can be worth: most first.

        Labels are worth and use of the two shortest resources; others are ignored here.
        """
        room, demand = self.rooms[c], [sum(map(mul, self.most[c], column)) for column in zip(*self.need, strict=True)]
        short = sorted((r for r, x in enumerate(room) if demand[r] > x), key=lambda r: Fraction(room[r], demand[r]))[:2]
        tables: list[dict[Pattern, list[tuple[int, int, int]]]] = [{(): [(0, 0, 0)]}]
        looked = 0
        for k in reversed(range(self.size)):
            a, b = ([self.need[k][r] for r in short] + [0, 0])[:2]
            top = ([room[r] for r in short] + [0, 0])[:2]
            table, front = {}, self.fronts[k]
            for state in product(*(range(self.most[c][i] + 1) for i in front)):
                counts, labels = dict(zip(front, state, strict=True)), []
                for x in range(self.most[c][k] + 1):
                    counts[k] = x
                    more = self.gain(k, x, zip(front, state, strict=True), worth)
                    later = tables[-1][tuple(counts[i] for i in self.fronts[k + 1])]
                    p, q = x * a, x * b
                    labels += [(w + more, u + p, v + q) for w, u, v in later if u + p <= top[0] and v + q <= top[1]]
                looked += len(labels)
                need(looked <= MAX_STATES, f"more than {MAX_STATES} states")
                table[state] = _undominated(labels)
            tables.append(table)
        self.short = short
        return tables[::-1]

    def above(self, c: int, tables: Any, worth: list[int], threshold: Any, most: int) -> Iterator[tuple[int, Pattern]]:
        """Patterns of a class that are worth at least the threshold."""
        short, looked = self.short, 0
        stack: list[tuple[Pattern, int, tuple[int, ...]]] = [((), 0, self.rooms[c])]
        while stack:
            pattern, value, room = stack.pop()
            k = len(pattern)
            if k == self.size:
                if any(pattern):
                    yield value, pattern
                continue
            for x in range(self.most[c][k] + 1):
                free_after = tuple(free - x * amount for free, amount in zip(room, self.need[k], strict=True))
                if min(free_after, default=0) < 0:
                    break
                need((looked := looked + 1) <= most, f"more than {most} parts of patterns")
                total = value + self.gain(k, x, ((i, pattern[i]) for i in self.fronts[k]), worth)
                after = (*pattern, x)
                p, q = ([free_after[r] for r in short] + [0, 0])[:2]
                labels = tables[k + 1][tuple(after[i] for i in self.fronts[k + 1])]
                follow = next((w for w, used, also in labels if used <= p and also <= q), None)
                if follow is not None and total + follow >= threshold:
                    stack.append((after, total, free_after))

    def close(self, window: Window, worth: list[int], target: int, most: int) -> int:
        """See that nothing in a window is below the target; how many parts of placements were looked at."""
        fixed, none = self.apart + sum(map(mul, self.count, worth)), (0,) * len(self.members)
        tables, shorts, least_values = [], [], []
        for c in range(len(self.members)):
            tables.append(self.tables(c, worth))
            shorts.append(self.short)
            least_values.append(self.price - tables[c][0][()][0][0])
        if fixed + window.cheapest(least_values, none) >= target:
            return 0
        listed = list[tuple[int, int, Pattern]]()
        for c in range(len(self.members)):
            using = fixed + window.cheapest(least_values, [int(d == c) for d in range(len(none))])
            if using < target:  # one that costs more than the least by what is left to the target is in nothing below it
                self.short = shorts[c]
                some = self.above(c, tables[c], worth, self.price - least_values[c] - (target - using) + 1, most)
                listed += [(self.price - value - least_values[c], c, pattern) for value, pattern in some]
                need(len(listed) <= most, f"more than {most} patterns")
        return len(listed) + self._cover(window, fixed, least_values, sorted(listed), target, most)

    def _cover(self, window: Window, fixed: int, least_values: list[int], listed: Any, target: int, most: int) -> int:
        """Go through all choices of listed patterns that hold each instance once; operators in few patterns come first."""
        holders = [[p for p, (_, _, pattern) in enumerate(listed) if pattern[a]] for a in range(self.size)]
        order, rest, looked = sorted(range(self.size), key=lambda a: len(holders[a])), dict[Any, Any](), 0
        stack: list[Any] = [(self.count, (0,) * len(least_values), (), 0, order[0], 0)]
        while stack:
            uncovered, used, chosen, above, a, begin = stack.pop()
            for at in range(begin, len(holders[a])):
                excess, c, pattern = listed[holders[a][at]]
                need((looked := looked + 1) <= most, f"more than {most} parts of placements")
                if fixed + window.cheapest(least_values, used) + above + excess >= target:
                    break
                uncovered_after = tuple(map(sub, uncovered, pattern))
                if min(uncovered_after) < 0:
                    continue
                counts, more = (*used[:c], used[c] + 1, *used[c + 1 :]), (*chosen, (c, pattern))
                if counts not in rest:
                    rest[counts] = fixed + window.cheapest(least_values, counts)
                bound = rest[counts] + above + excess
                if bound >= target or bound + self.latency(self.legs(more), [c for c, _ in more]) >= target:
                    continue
                b = next((b for b in order if uncovered_after[b]), None)
                if b is not None:
                    stack.append((uncovered_after, counts, more, above + excess, b, at if a == b else 0))
                elif sum(counts) >= window.least and all(map(le, window.low, counts)):
                    score = fixed + sum(map(mul, least_values, counts)) + above + excess
                    looked += self._seat(list(more), target - score, most - looked)
        return looked

    def _seat(self, chosen: list[tuple[int, Pattern]], latency: int, most: int) -> int:
        """Go through all ways to give nodes of their classes to patterns with less than that path latency."""
        chosen = self._connected(chosen)
        stack, looked, ways = [tuple[str, ...]()], 0, self.legs(chosen)
        while stack:
            nodes = stack.pop()
            at = len(nodes)
            need(at < len(chosen), "there may be a better placement")
            after = nodes[-1] if at and chosen[at] == chosen[at - 1] else None  # equal patterns in the order of nodes
            members, tried = self.members[chosen[at][0]], set()
            for node in members[members.index(after) + 1 if after in members else 0 :]:
                twin = self.twins[node]
                if node not in nodes and (twin not in tried or after is not None):
                    tried.add(twin)
                    need((looked := looked + 1) <= most, f"more than {most} parts of placements")
                    places = [*nodes, node, *(c for c, _ in chosen[at + 1 :])]
                    if self.latency(ways, places) < latency:
                        stack.append((*nodes, node))
        return looked

    def _connected(self, chosen: list[tuple[int, Pattern]]) -> list[tuple[int, Pattern]]:
        """Patterns with few nodes to choose from first, then those with the most streams to those before; equal ones together."""
        unplaced, order = Counter(chosen), list[tuple[int, Pattern]]()

        def rank(item: tuple[int, Pattern]) -> Any:
            pairs = ((a, b) for b, sources in self.paths for a in sources)
            joined = sum(any((p[a] and item[1][b]) or (p[b] and item[1][a]) for _, p in order) for a, b in pairs)
            return len(self.members[item[0]]) == 1, joined, item

        while unplaced:
            best = max(unplaced, key=rank)
            order += [best] * unplaced.pop(best)
        return order

    @cached_property
    def twins(self) -> dict[str, tuple[Any, ...]]:
        """Nodes without links of their own are alike where their zones are, which is what this says of each."""
        listed = {node for ends in self.model.links for node in ends}
        return {name: (name, 0) if name in listed else (node.get("zone"),) for name, node in self.model.nodes.items()}

    def hop(self, x: Any, y: Any) -> Any:
        """Objective of a hop between two places at least: a node each, or any of a class, but not the same one."""
        if (x, y) not in self.known:
            starts, ends = ([z] if isinstance(z, str) else self.members[z] for z in (x, y))
            pairs = ((u, v) for u, v in product(starts, ends) if u != v)
            delays = (fraction(link["delay"]) if link else NEVER for link in (self.model.find_link(*pair) for pair in pairs))
            shortest = min(delays, default=NEVER)
            self.known[x, y] = NEVER if shortest == NEVER else math.floor(shortest * self.unit)
        return self.known[x, y]

    def legs(self, chosen: Sequence[tuple[int, Pattern]]) -> tuple[int, list[tuple[int, int, int, int]]]:
        """Numbers of (operator, place) pairs of patterns, and from which a tuple goes to which, with the numbers of the places.

        Operators that no pattern holds are at place -1.
        """
        number: list[dict[int, int]] = [{} for _ in self.count]
        legs, count = list[tuple[int, int, int, int]](), numbers_from()
        for b, sources in self.paths:
            for j in [j for j, (_, pattern) in enumerate(chosen) if pattern[b]] or [-1]:
                number[b][j] = next(count)
                legs += [(k, number[b][j], i, j) for a in sources for i, k in number[a].items()]
        return next(count), legs

    def latency(self, ways: tuple[int, list[tuple[int, int, int, int]]], places: Sequence[Any]) -> Any:
        """Objective of the slowest path through the instances of patterns at different places; others are passed at once."""
        size, legs = ways
        arrival = [0] * size
        for k, at, i, j in legs:
            seconds = arrival[k] if i == j or i < 0 or j < 0 else arrival[k] + self.hop(places[i], places[j])
            if seconds > arrival[at]:
                arrival[at] = seconds
        return max(arrival)


def _undominated(labels: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Labels (worth, use, use) of which no other is worth as much and uses no more; the one that is worth most first."""
    kept, stairs = [], list[tuple[int, int]]()  # uses of those kept: the first ascends, the second descends
    for label in sorted(labels, key=lambda label: (-label[0], label)):
        _, p, q = label
        at = bisect_right(stairs, (p, NEVER))
        if not at or stairs[at - 1][1] > q:
            kept.append(label)
            end = at
            while end < len(stairs) and stairs[end][1] >= q:
                end += 1
            stairs[at:end] = [(p, q)]
    return kept


def check_column_generation(problem: dict[str, Any], _: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """`column-generation`: a tree of windows on how many nodes are used, with prices of instances in its leaves; "latency-aware".

    A pattern says how many instances of each operator a node holds. The header's `order` names the operators in an order of
    which few must be remembered. The tree follows in pre-order, a line for each node:

    ["W", class, floor]   of the nodes of a class (-1: of all) at most floor are in use, or at least floor + 1
    ["P", [k, …]]         a leaf: prices k/2^40 of the objective for an instance of each operator, in that order

    Classes are those of nodes with equal room for the same operators, in the order of their first nodes. At any prices a
    placement costs Σ prices of all instances, plus for each node in use its price less what its pattern is worth: prices, and
    what pairs of instances save by being together. The checker finds the most that a pattern of each class is worth by dynamic
    programming. Where that leaves room below the bound, it lists all patterns that fit in there, and goes through all choices
    of them that hold each instance once, and their places, with the shortest paths that are possible. A claim that nothing is
    feasible is proven in the same way, with placements that are worth 0, and a bound of 1.
    """
    patterns, bound = Patterns(problem, header["order"], header["claim"] == "optimal"), claimed_bound(header)
    target = 1 if bound is None else math.ceil((bound - TOLERANCE) * 2**SHIFT)
    stack, leaves, looked = [patterns.root], 0, 0
    for window, line in tree_nodes(stack, lines):
        if line[0] == "W":
            stack += reversed(window.halves(line[1], line[2]))
            continue
        worth = [k << SHIFT - PLACES for k in line[1]]
        need(line[0] == "P" and len(worth) == patterns.size, f"leaf {leaves + 1} has no price for each operator")
        leaves, looked = leaves + 1, looked + patterns.close(window, worth, target, MAX_PARTS)
    return f"no decision is {refuted(bound)} ({counted_leaves(leaves)}, {looked} parts of placements)"
