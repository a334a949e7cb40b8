"""The checker of certificates: one file that trusts nobody and needs nothing but Python 3.11 or later.

    python checker.py INSTANCE SOLUTION CERTIFICATE

reads an instance file, a solution document of it and a certificate, and prints `proven: …` (exit code 0), or the first thing
that does not hold (exit code 2). All arithmetic is exact: numbers are the rationals that the files state.

Limits
    An instance or solution of more than `MAX_DOCUMENT` bytes, a certificate of more than `MAX_CERTIFICATE`, a line of more
    than `MAX_LINE`, a number of more than `MAX_DIGITS` characters or with an exponent beyond `MAX_EXPONENT`, NaN and infinity
    are refused. A certificate is read line by line: memory stays below 50 times the largest line and document, and no line is
    read after `MAX_SECONDS`.

Header
    A certificate is a text of JSON lines. The first is an object:

    format    one of the keys of `FORMATS`, for a kind of problem that it is for
    version   1
    instance  hashes of the documents that state the instance, with and without what has a default (see `instance_hash`)
    claim     "optimal" or "infeasible", the `status` of the solution
    bound     of an optimal solution, as "p/q": no decision is better than this − 1e-6 (`TOLERANCE`)

    An instance of a kind in `FIELDS` must have no other fields than those, no name twice, and no number below 0 where there
    is none to be. The checker evaluates the decision of the solution itself where `EVALUATE` knows the kind of problem, and
    all that is in it: it must keep to all limits, and its value must be the solution's objective and the bound, to 1e-9 of the
    value (`SAME`).
    The other lines are the format's: its function in `FORMATS` reads them all, raises `Refused` where something does not hold,
    and returns what has been proven, in words; its docstring says what they are.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import accumulate, pairwise, product
from itertools import combinations_with_replacement as multisets
from itertools import count as numbers_from
from operator import add, gt, le, mul, sub
from pathlib import Path
from time import monotonic
from typing import Any

VERSION = 1
MAX_DOCUMENT, MAX_CERTIFICATE, MAX_LINE = 2**26, 2**28, 2**24
MAX_SECONDS = 1800
MAX_DIGITS, MAX_EXPONENT, MAX_PARTITIONS, MAX_STATES, MAX_PARTS, MAX_OPEN = 400, 400, 10**6, 10**6, 10**7, 10**4
TOLERANCE, SAME, SLACK = Fraction(1, 10**6), Fraction(1, 10**9), 1 + Fraction(1, 10**9)
"""By how much a better decision may be missed; relative error of a stated value; what limits on decisions are multiplied by."""


class Refused(Exception):  # noqa: N818 - the word that the checker says
    """The first thing that does not hold."""


class Unknown(Refused):
    """Something that the checker does not know; a program that the certificate states may still be proven."""


MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, StopIteration, RecursionError)
"""Errors that reading a document raises that is not as it should be."""


def need(holds: object, why: str) -> None:
    """Refuse with this sentence unless something holds."""
    if not holds:
        raise Refused(why)


# --- reading ---


def unique(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dict of pairs whose keys all differ."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        need(key not in found, f"{str(key)[:100]} is given twice")
        found[key] = value
    return found


def _integer(text: str) -> int:
    need(len(text) <= MAX_DIGITS, f"a number of {len(text)} digits; {MAX_DIGITS} are read")
    return int(text)


def _rational(text: str) -> Fraction:
    need(len(text) <= MAX_DIGITS, f"a number of {len(text)} digits; {MAX_DIGITS} are read")
    exponent = re.search(r"[eE]([-+]?\d+)", text)
    need(exponent is None or abs(int(exponent[1])) <= MAX_EXPONENT, f"the number {text}; exponents to {MAX_EXPONENT} are read")
    return Fraction(text)


def _constant(text: str) -> None:
    raise Refused(f"{text} is no number")


def parse(text: str) -> Any:
    """The value of a JSON text; numbers with a point or an exponent become fractions, and no field may be given twice."""
    try:
        return json.loads(text, parse_int=_integer, parse_float=_rational, parse_constant=_constant, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise Refused(f"no JSON: {str(error)[:100]}") from None


def fraction(value: Any) -> Fraction:
    """A number of a document, or a text "p/q", exactly."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,4000}(/[1-9]\d{0,3999})?", value):
        return Fraction(value)
    need(isinstance(value, int | Fraction) and not isinstance(value, bool), f"{str(value)[:40]!r} is no number")
    return Fraction(value)


def read_text(path: str) -> str:
    """The text of an instance or solution."""
    with Path(path).open("rb") as file:  # whose size is not known beforehand where it is a pipe
        content = file.read(MAX_DOCUMENT + 1)
    need(len(content) <= MAX_DOCUMENT, f"{path}: more than {MAX_DOCUMENT} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Refused(f"{path}: no text in UTF-8") from None


def read_document(path: str, text: str) -> dict[str, Any]:
    """The JSON object that the text of a file is."""
    try:
        document = parse(text)
    except Refused as error:
        raise Refused(f"{path}: {error}") from None
    need(isinstance(document, dict), f"{path}: no JSON object")
    return dict(document)


def read_lines(path: str) -> Iterator[str]:
    """The lines of a certificate, one after the other."""
    need(Path(path).stat().st_size <= MAX_CERTIFICATE, f"{path}: more than {MAX_CERTIFICATE} bytes")
    with Path(path).open(encoding="utf-8") as file:
        while line := file.readline(MAX_LINE + 1):
            need(len(line) <= MAX_LINE, f"a line of more than {MAX_LINE} characters")
            yield line


def instance_hash(problem: dict[str, Any]) -> str:
    """SHA-256 of the instance's canonical JSON: sorted keys, no spaces, numbers as the shortest fraction "=p/q" or "=p".

    A text that begins with "=" has one more in front, so that it is no number.
    """

    def canonical(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: canonical(part) for key, part in value.items()}
        if isinstance(value, list):
            return [canonical(part) for part in value]
        number = isinstance(value, int | Fraction) and not isinstance(value, bool)
        return f"={Fraction(value)}" if number else f"={value}" if isinstance(value, str) and value[:1] == "=" else value

    text = json.dumps(canonical(problem), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# --- programs ---

SHIFT, PLACES, MAX_COLUMNS = 60, 40, 500_000
"""Numbers of a program are rounded to multiples of 2^-SHIFT, on the safe side; multipliers are multiples of 2^-PLACES."""
Entries = dict[int, Fraction]
Bound = Fraction | None


class Program:
    """Minimise constant + Σ cost·x over columns with bounds, some of them integer, and rows lower ≤ Σ a·x ≤ upper; exact."""

    def __init__(self) -> None:
        self.constant, self.cost, self.integer = Fraction(0), list[Fraction](), list[bool]()
        self.lower, self.upper, self.rows = list[Bound](), list[Bound](), list[tuple[Entries, Bound, Bound]]()

    def column(self, cost: Any = 0, lower: Any = 0, upper: Any = 1, integer: bool = False) -> int:
        """Add a column; its number. A bound of None is none."""
        need(len(self.cost) < MAX_COLUMNS, f"a program of more than {MAX_COLUMNS} columns")
        self.cost.append(fraction(cost))
        self.lower.append(None if lower is None else fraction(lower))
        self.upper.append(None if upper is None else fraction(upper))
        self.integer.append(integer)
        return len(self.cost) - 1

    def row(self, entries: Iterable[tuple[int, Any]], lower: Any = None, upper: Any = None) -> None:
        """Add a row; coefficients of one column add up."""
        row: Entries = {}
        for column, value in entries:
            row[column] = row.get(column, Fraction(0)) + value
        self.rows.append((row, None if lower is None else fraction(lower), None if upper is None else fraction(upper)))

    def close(self, cutoff: Bound) -> None:
        """Give columns without a bound the one that a row implies, or the cutoff: worse points than that do not matter."""
        objective = {column: value for column, value in enumerate(self.cost) if value}
        rows = self.rows if cutoff is None else [*self.rows, (objective, None, cutoff - self.constant)]
        opened = {column for column, ends in enumerate(zip(self.lower, self.upper, strict=True)) if None in ends}
        rows = [row for row in rows if not opened.isdisjoint(row[0])]
        while opened and sum(self._imply(row, column) for row in rows for column in opened & row[0].keys()):
            opened = {column for column in opened if None in (self.lower[column], self.upper[column])}

    def _imply(self, row: tuple[Entries, Bound, Bound], column: int) -> bool:
        """Give a column the bounds that it lacks and a row implies; whether there was one."""
        entries, low, high = row
        found = False
        for limit, sign in ((high, 1), (low, -1)):  # sign·(the row) ≤ sign·limit
            bounds = self.upper if entries[column] * sign > 0 else self.lower
            if limit is None or bounds[column] is not None or not entries[column]:
                continue
            ends = [(a, (self.lower if a * sign > 0 else self.upper)[other]) for other, a in entries.items() if other != column]
            if all(end is not None for _, end in ends):
                bounds[column] = (limit - sum(a * end for a, end in ends if end is not None)) / entries[column]
                found = True
        return found

    def round(self) -> None:
        """Go over to integers, in units of 2^-SHIFT; ranges and the constant give way by what rounding can change."""
        ends = zip(self.lower, self.upper, strict=True)
        self.largest = [None if low is None or high is None else max(abs(low), abs(high)) for low, high in ends]
        self.low = [None if low is None else math.floor(low * 2**SHIFT) for low in self.lower]
        self.high = [None if high is None else math.ceil(high * 2**SHIFT) for high in self.upper]
        self.whole_rows = []
        for entries, low, high in self.rows:
            whole, error = self._whole(entries)
            least = None if low is None or error is None else math.floor(low * 2**SHIFT - error)
            most = None if high is None or error is None else math.ceil(high * 2**SHIFT + error)
            self.whole_rows.append((whole, least, most))
        costs, error = self._whole(dict(enumerate(self.cost)))
        self.bounded, self.whole_cost = error is not None, dict(costs)
        self.whole_constant = math.floor(self.constant * 2**SHIFT - (error or 0))

    def _whole(self, entries: Entries) -> tuple[list[tuple[int, int]], Bound]:
        """Coefficients as integers, and how far that can be from the sum; None where a column has no bounds."""
        whole, error = [], Fraction(0)
        for column, value in entries.items():
            near, size = round(value * 2**SHIFT), self.largest[column]
            whole.append((column, near))
            if near != value * 2**SHIFT:
                if size is None:
                    return whole, None
                error += abs(near - value * 2**SHIFT) * size
        return whole, error

    def at_least(self, multipliers: list[int], low: list[Any], high: list[Any], costs: bool) -> int | None:
        """Lower bound on the objective (without costs: on 0) in a box, by multipliers row, k, …; units 2^-(2·SHIFT + PLACES).

        For every point x that keeps to the rows, c·x = y·(A·x) + (c − Aᵀy)·x, of which each term has a bound of its own.
        """
        reduced = [self.whole_cost[column] << PLACES for column in range(len(low))] if costs else [0] * len(low)
        total = self.whole_constant << PLACES if costs else 0
        for row, k in zip(multipliers[::2], multipliers[1::2], strict=True):
            whole, least, most = self.whole_rows[row]
            side = least if k > 0 else most
            if side is not None:  # a multiplier of the wrong sign is dropped
                total += k * side
                for column, value in whole:
                    reduced[column] -= k * value
        total <<= SHIFT
        for r, least, most in zip(reduced, low, high, strict=True):
            side = least if r > 0 else most
            if side is None and r:
                return None
            total += r * (side or 0)
        return total


def check_tree(program: Program, lines: Iterator[Any], target: Bound) -> str:
    """Every leaf of a tree in pre-order reaches the target, or holds no point; no target: no leaf holds one."""
    program.close(target)
    program.round()
    goal = None if target is None else math.ceil((target - TOLERANCE) * 2 ** (2 * SHIFT + PLACES))
    stack: list[Any] = [()]
    leaves = 0
    line: Any
    while stack:
        path, line = stack.pop(), next(lines, None)
        need(isinstance(line, list) and line, "the tree ends before all of it is closed")
        need(len(stack) < MAX_OPEN, f"a tree with more than {MAX_OPEN} open nodes")
        if line[0] in ("B", "F"):
            need(len(set(line[1][::2])) * 2 == len(line[1]), f"leaf {leaves + 1} has a row twice, or one without multiplier")
            low, high = list(program.low), list(program.high)
            while path:
                path, changes = path
                for column, least, most in changes:
                    low[column] = least if least is not None and (low[column] is None or least > low[column]) else low[column]
                    high[column] = most if most is not None and (high[column] is None or most < high[column]) else high[column]
            value = program.at_least(line[1], low, high, costs=line[0] == "B") if line[0] == "F" or program.bounded else None
            empty = any(least is not None and most is not None and least > most for least, most in zip(low, high, strict=True))
            enough = empty or (value is not None and (value > 0 if line[0] == "F" else goal is not None and value >= goal))
            leaves += 1
            need(enough, f"leaf {leaves} does not reach the bound")
        elif line[0] == "S":  # S column floor: x ≤ floor or x ≥ floor + 1
            need(program.integer[line[1]] and isinstance(line[2], int), f"column {line[1]} is not integer")
            stack += [(path, [(line[1], line[2] + 1 << SHIFT, None)]), (path, [(line[1], None, line[2] << SHIFT)])]
        else:  # G row columns: all of these are 0, or all others of the row are
            need(line[0] == "G", f"line {str(line[0])[:40]!r} is none of B, F, S, G")
            entries, _, most = program.rows[line[1]]
            need(most is not None and most <= 1 and all(_binary(program, c) and a >= 1 for c, a in entries.items()), "no group")
            need(set(line[2]) <= entries.keys(), f"row {line[1]} does not have these columns")
            others = entries.keys() - set(line[2])
            stack += [(path, [(c, None, 0) for c in others]), (path, [(c, None, 0) for c in line[2]])]
    need(next(lines, None) is None, "there are lines after the tree")
    return f"{leaves} {'leaf' if leaves == 1 else 'leaves'}"


def _binary(program: Program, column: int) -> bool:
    low = program.lower[column]
    return program.integer[column] and low is not None and low >= 0


# --- migrations: documents of kind "migration" ---

Arc = tuple[tuple[int, int, int], tuple[int, int, int], Fraction]


def evaluate_migration(problem: dict[str, Any], decision: Any) -> Fraction:
    """State of all tasks that change their node; each task is held once, by n′ nodes within the limit on the load."""
    work, size, before = problem["work"], problem["state_size"], problem["intervals"]
    present = [(node, *interval) for node, interval in enumerate(decision) if interval is not None]
    held = sorted((first, end) for _, first, end in present if first < end)
    need(len(present) == problem["nodes"], "another number of nodes")
    need([0, *(end for _, end in held)] == [*(first for first, _ in held), len(work)], "a task is not held exactly once")
    limit, kept = (1 + fraction(problem["tolerance"])) * sum(work) / problem["nodes"] * SLACK, Fraction(0)
    for node, first, end in present:
        need(0 <= first <= end <= len(work), f"node {node} holds no interval of tasks")
        need(problem.get("allow_empty", True) or first < end, f"node {node} holds no task")
        need(sum(work[first:end]) <= limit, f"node {node} holds too much work")
        old = before[node] if node < len(before) else (0, 0)
        kept += sum(size[max(first, old[0]) : min(end, old[1])])
    return sum(size) - kept


def migration_arcs(problem: dict[str, Any]) -> Iterator[Arc]:
    """Arcs from (0, 0, 0) to (n′, tasks, 0): an interval of tasks and the old node that keeps it, or none, and the state moved.

    A point is the number of intervals before it, a boundary, and whether the old node around the boundary keeps one of them.
    """
    work, size, nodes, tasks = problem["work"], problem["state_size"], problem["nodes"], len(problem["work"])
    held, full = sorted((a, b) for a, b in problem["intervals"] if a < b), not problem.get("allow_empty", True)
    limit = (1 + fraction(problem["tolerance"])) * sum(work) / nodes * SLACK
    loads, sizes = list(accumulate(work, initial=Fraction(0))), list(accumulate(size, initial=Fraction(0)))
    reached = {(0, 0, 0)}
    for place in range(nodes):
        layer, reached = reached, set()
        for _, first, taken in sorted(layer):
            for end in range(first + 1, tasks + 1):
                if loads[end] - loads[first] > limit:
                    break
                if end == tasks and full and place + 1 < nodes:
                    continue
                over = [old for old in held if old[0] < end and old[1] > first]
                for old in [None, *over[taken:]]:
                    kept = Fraction(0) if old is None else sizes[min(old[1], end)] - sizes[max(old[0], first)]
                    inside = over[-1][1] > end and (old == over[-1] or (taken and len(over) == 1))
                    target = (nodes, end, 0) if end == tasks else (place + 1, end, int(inside))
                    reached |= set() if end == tasks else {target}
                    yield (place, first, taken), target, sizes[end] - sizes[first] - kept


def migration_program(problem: dict[str, Any]) -> Program:
    """A column for each arc of `migration_arcs`; as many lead to a point as away from it, and one from the first to the last."""
    program, flow = Program(), dict[Any, list[tuple[int, int]]]({(0, 0, 0): [], (problem["nodes"], len(problem["work"]), 0): []})
    for source, target, moved in migration_arcs(problem):
        column = program.column(moved, integer=True)
        flow.setdefault(source, []).append((column, 1))
        flow.setdefault(target, []).append((column, -1))
    for number, entries in enumerate(flow.values()):
        balance = 1 if number == 0 else -1 if number == 1 else 0
        program.row(entries, balance, balance)
    return program


# --- allocation of links: documents of kind "link-allocation" ---


def _network(problem: dict[str, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Links by source and target, in both directions where the network is symmetric, and nodes by name."""
    network = problem["network"]
    both = [1, -1] if network.get("symmetric", True) else [1]
    arcs = unique(((link["source"], link["target"])[::turn], link) for turn in both for link in network.get("links", ()))
    return arcs, unique((node["name"], node) for node in network["nodes"])


def _free(problem: dict[str, Any], end: tuple[Any, ...]) -> Bound:
    """The rate that an arc, an uplink or a downlink may carry; None for any amount."""
    arcs, nodes = _network(problem)
    if end[0] == "arc":
        need(end[1] in arcs, f"there is no link {end[1]}")
        return fraction(arcs[end[1]]["bandwidth"]) * SLACK
    free = nodes[end[1]].get(end[0], 0 if end[0] == "uplink" else None)
    return None if free is None else fraction(free) * SLACK


def evaluate_link_allocation(problem: dict[str, Any], decision: Any) -> Fraction:
    """Revenue lost and price of forwarding, where links, up- and downlinks carry no more than they have."""
    given, value, used = {path["flow"]: path for path in decision}, Fraction(0), dict[Any, Fraction]()
    need(len(given) == len(decision) == len(problem["flows"]), "not one allocation for each flow")
    share, forwarding = problem.get("public_share", Fraction("0.81")), problem.get("forwarding_price", 0)
    for flow in problem["flows"]:
        route, public = given[flow["name"]].get("route"), given[flow["name"]].get("public_rate", 0)
        rate, ends = flow["rate"], list[Any]([("uplink", flow["source"]), ("downlink", flow["target"])])
        need(0 <= public <= (0 if route else rate * SLACK), f"flow {flow['name']}: wrong rate on the public network")
        need(route or not (problem.get("keep", True) and flow.get("route")), f"flow {flow['name']} must keep a route")
        if route:
            need((route[0], route[-1]) == (flow["source"], flow["target"]), f"flow {flow['name']}: the route ends elsewhere")
            need(len(route) <= _links(problem, flow) + 1, f"flow {flow['name']}: too long a route")
            ends = [("arc", arc) for arc in pairwise(route)]
        value += forwarding * rate * (len(route) - 2) if route else flow["price"] * (rate - share * public)
        for end in ends:
            used[end] = used.get(end, Fraction(0)) + (rate if route else public)
    for end, amount in used.items():
        free = _free(problem, end)
        need(free is None or amount <= free, f"{' '.join(map(str, end))} carries too much")
    return fraction(value)


def _links(problem: dict[str, Any], flow: dict[str, Any]) -> int:
    """Links that a route of a flow may have, by number and price."""
    most, forwarding = problem.get("max_links", 6), problem.get("forwarding_price", 0)
    return min(most, 1 + math.floor(flow["price"] * SLACK / forwarding)) if forwarding else most


def link_allocation_program(problem: dict[str, Any]) -> Program:
    """A column says that a flow has a route, one which share of its rate is public, and one for each arc that it may take."""
    program, uses, arcs = Program(), dict[Any, list[tuple[int, Any]]](), _network(problem)[0]
    share, forwarding = problem.get("public_share", Fraction("0.81")), problem.get("forwarding_price", 0)
    for flow in problem["flows"]:
        rate, source, target = fraction(flow["rate"]), flow["source"], flow["target"]
        value, steps = flow["price"] * rate, forwarding * rate
        keep = int(problem.get("keep", True) and flow.get("route") is not None)
        routed, public = program.column(-value, keep, integer=True), program.column(-share * value, upper=SLACK)
        program.constant += value
        balance = dict[Any, list[tuple[int, int]]]({source: [(routed, -1)], target: [(routed, 1)]})
        taken = []
        for u, v in arcs:
            if rate <= fraction(arcs[u, v]["bandwidth"]) * SLACK and v != source and u != target:
                taken.append(program.column(0 if u == source else steps, integer=True))
                balance.setdefault(u, []).append((taken[-1], 1))
                balance.setdefault(v, []).append((taken[-1], -1))
                uses.setdefault(("arc", (u, v)), []).append((taken[-1], rate))
        for end in (("uplink", source), ("downlink", target)):
            uses.setdefault(end, []).append((public, rate))
        for entries in balance.values():
            program.row(entries, 0, 0)
        program.row([(routed, -_links(problem, flow)), *((column, 1) for column in taken)], None, 0)
        program.row([(routed, 1), (public, 1)], None, SLACK)
    for end, entries in uses.items():
        program.row(entries, None, _free(problem, end))
    return program


# --- deployments: documents of kind "edrp", without availability, peak loads, priorities and Storm's reconfiguration ---


def _named(resources: Any) -> dict[str, Any]:
    return resources if isinstance(resources, dict) else {"resources": resources}


class Application:
    """Operators, streams with their rates, and links between nodes of a placement problem."""

    def __init__(self, problem: dict[str, Any]) -> None:
        graph, self.network = problem["application"], problem["network"]
        self.links, self.nodes = _network(problem)
        self.operators = unique((operator["name"], operator) for operator in graph["operators"])
        self.streams = unique(((s["source"], s["target"]), s.get("rate")) for s in graph.get("streams", ()))
        self.before = {name: [u for u, v in self.streams if v == name] for name in self.operators}
        try:
            self.order = tuple(TopologicalSorter(self.before).static_order())
        except CycleError:
            raise Unknown("the checker does not know which of the streams of a cycle count for paths") from None
        self.load = {name: fraction(operator.get("external_rate", 0)) for name, operator in self.operators.items()}
        self.rate = dict[Any, Fraction]()
        for name in self.order:
            for stream in (stream for stream in self.streams if stream[1] == name):
                flow = self.load[stream[0]] * self.operators[stream[0]].get("selectivity", 1)
                self.rate[stream] = flow if self.streams[stream] is None else fraction(self.streams[stream])
                self.load[name] += self.rate[stream]

    def find_link(self, u: str, v: str) -> Any:
        """The link between two nodes: listed, else what holds for their zones, or None."""
        zone = self.nodes[u].get("zone")
        within = zone is not None and zone == self.nodes[v].get("zone")
        return self.links.get((u, v)) or self.network.get("within_zone" if within else "between_zones")

    def link(self, u: str, v: str) -> dict[str, Any]:
        """The link between two nodes, which there must be."""
        found = self.find_link(u, v)
        need(found, f"there is no link {u} → {v}")
        return dict(found)

    def choices(self, name: str, nodes: Iterable[str]) -> None:
        """Refuse nodes that are no candidates of an operator."""
        allowed = self.operators[name].get("candidates") or self.nodes
        need(set(nodes) <= set(allowed), f"{name}: runs on a node that is no candidate")


class Deployments(Application):
    """The parts of a deployment's metrics: of one operator on a multiset of nodes, and of a stream between two of them."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem)
        self.current = problem.get("current")
        self.weights = problem.get("weights") or {"response_time": Fraction(1, 2), "cost": Fraction(1, 2)}
        self.limits = {name: limit for name, limit in (problem.get("limits") or {}).items() if limit not in (None, {})}
        storm = self.current is not None and problem.get("reconfiguration") == "storm"
        if "availability" in self.limits or self.weights.get("availability") or storm:
            raise Unknown("the checker knows neither availability nor Storm's reconfiguration")
        peaks = [name for part in (self.weights, self.limits) for name in ("peak_load", "peak_loads") if part.get(name)]
        need(not peaks and not problem.get("priorities"), "the checker knows neither peak loads nor priorities")
        self.pause = fraction(problem.get("synchronisation_time", 0))

    def price(self, operator: dict[str, Any]) -> Fraction:
        """Money/h of one replica."""
        price, resources = operator.get("cost", 0), operator.get("resources", 1)
        if isinstance(price, dict):
            return sum((fraction(amount) * resources[name] for name, amount in price.items()), Fraction(0))
        return fraction(price if isinstance(resources, dict) else price * resources)

    def alone(self, name: str, nodes: tuple[str, ...]) -> tuple[Fraction, Fraction, Fraction] | None:
        """Latency, cost and downtime of an operator; None where it is overloaded or too much for a node."""
        operator, need_of = self.operators[name], _named(self.operators[name].get("resources", 1))
        latency = _latency(operator.get("latency"), self.load[name] / len(nodes), len(nodes))
        if latency is None or any(self.excess(node, {r: a * nodes.count(node) for r, a in need_of.items()}) for node in nodes):
            return None
        slowest = max(latency / fraction(self.nodes[node].get("speedup", 1)) for node in nodes)
        return slowest, self.price(operator) * len(nodes), self.downtime(operator, nodes)

    def excess(self, node: str, used: dict[str, Any]) -> bool:
        """Whether that is more than a node has of a resource."""
        free = self.nodes[node].get("resources")
        return free is not None and any(amount > _named(free).get(resource, 0) * SLACK for resource, amount in used.items())

    def between(self, stream: tuple[str, str], us: tuple[str, ...], vs: tuple[str, ...]) -> tuple[Fraction, Fraction, Fraction]:
        """Longest delay, cost and tuples in flight of a stream."""
        links = [self.link(u, v) for u in us for v in vs if u != v]
        share, delays = self.rate[stream] / (len(us) * len(vs)), [fraction(link["delay"]) for link in links]
        return max(delays, default=Fraction(0)), share * sum(link.get("cost", 0) for link in links), share * sum(delays)

    def downtime(self, operator: dict[str, Any], after: tuple[str, ...]) -> Fraction:
        """Pause and resume (EDRP, eqs. 24–32)."""
        before = () if self.current is None else tuple(self.current[operator["name"]])
        if not before or sorted(before) == sorted(after):
            return Fraction(0)
        state, old, new = fraction(operator.get("state_size", 0)), len(before), len(after)
        longest = Fraction(0)
        for u, v in {(u, v) for u in before for v in after if u != v}:
            leaving, arriving = max(before.count(u) - after.count(u), 0), max(after.count(v) - before.count(v), 0)
            up = state * leaving / old + state * before.count(u) * max(new - old, 0) / (old * new)
            down = state * arriving / new + state * min(before.count(v), after.count(v)) * max(old - new, 0) / (old * new)
            code = Fraction(0) if v in before else self.transfer(v, operator.get("code_size", 0))
            spawn = self.nodes[v].get("spawn_time", 0) if arriving else 0
            longest = max(longest, max(code, self.transfer(u, up)) + self.transfer(v, down) + spawn)
        return self.pause + longest

    def transfer(self, node: str, size: Any) -> Fraction:
        """Seconds between a node and the store."""
        store, own = self.network.get("store") or {}, self.nodes[node]
        delay = own["store_delay"] if own.get("store_delay") is not None else store.get("delay", 0)
        bandwidth = own["store_bandwidth"] if own.get("store_bandwidth") is not None else store.get("bandwidth")
        return 2 * fraction(delay) + (fraction(size) / bandwidth if bandwidth else 0)

    def factor(self, metric: str) -> Fraction:
        """Objective for each unit of a metric."""
        weight = fraction(self.weights.get(metric, 0))
        return weight / self.limits[metric] if weight else weight


def _latency(model: Any, rate: Fraction, replicas: int) -> Fraction | None:
    """Seconds at a rate, of one of so many replicas; None for an overload."""
    if model is None:
        return Fraction(0)
    if model.get("model", "mm1") == "mm1":
        return 1 / (fraction(model["service_rate"]) - rate) if rate < model["service_rate"] else None
    if model["model"] == "polynomial":
        seconds = sum((fraction(c) * rate**power for power, c in enumerate(model["coefficients"])), Fraction(0))
        need(seconds >= 0, f"a latency is negative at {float(rate)!r} tuples/s")
        return seconds
    if model["model"] == "capacity-curve":
        knots = [
            (Fraction(0), Fraction(0)),
            *zip(map(Fraction, model["replicas"]), map(fraction, model["capacities"]), strict=True),
        ]
        before = max((point for point in knots[:-1] if point[0] < replicas), default=knots[0])
        after = knots[knots.index(before) + 1]
        served = before[1] + (after[1] - before[1]) * (replicas - before[0]) / (after[0] - before[0])
        return replicas / (served - rate * replicas) if rate * replicas < served else None
    points = list(zip(map(fraction, model["rates"]), map(fraction, model["latencies"]), strict=True))
    if rate <= points[0][0]:
        return points[0][1]
    for (low, first), (high, second) in pairwise(points):
        if low <= rate <= high:
            return first + (second - first) * (rate - low) / (high - low)
    return None


def evaluate_deployment(problem: dict[str, Any], decision: Any) -> Fraction:
    """Weighted sum of response time, cost, downtime and tuples in flight (EDRP, eq. 12), each within its limit."""
    model, used, finish = Deployments(problem), dict[str, dict[str, Any]](), dict[str, Fraction]()
    metrics = dict.fromkeys(("response_time", "cost", "downtime", "network_usage"), Fraction(0))
    need(decision.keys() == model.operators.keys(), "other operators than those of the application")
    for name in model.order:
        operator, nodes = model.operators[name], tuple(decision[name])
        need(
            operator.get("min_replicas", 1) <= len(nodes) <= operator.get("max_replicas", 1), f"{name}: wrong number of replicas"
        )
        model.choices(name, nodes)
        parts = model.alone(name, nodes)
        need(parts is not None, f"{name}: overloaded, or too much for a node")
        latency, cost, downtime = parts or (Fraction(0),) * 3
        ready = Fraction(0)
        for source in model.before[name]:
            delay, price, usage = model.between((source, name), tuple(decision[source]), nodes)
            ready, cost = max(ready, finish[source] + delay), cost + price
            metrics["network_usage"] += usage
        finish[name] = ready + latency
        metrics["cost"] += cost
        metrics["downtime"] = max(metrics["downtime"], downtime)
        for node, (resource, amount) in product(nodes, _named(operator.get("resources", 1)).items()):
            used.setdefault(node, {})[resource] = used.setdefault(node, {}).get(resource, 0) + amount
    metrics["response_time"] = max(finish.values())
    for name, limit in model.limits.items():
        need(metrics[name] <= limit * SLACK, f"{name} is {float(metrics[name])!r} against {float(limit)!r}")
    for node, amounts in used.items():
        need(not model.excess(node, amounts), f"node {node}: too much of a resource")
    return sum((model.factor(name) * value for name, value in metrics.items()), Fraction(0))


def deployment_program(problem: dict[str, Any]) -> Program:
    """EDRP's program (eqs. 12–23): a column for each operator and multiset of nodes, and for each pair of them along a stream.

    In place of a row for each path (eq. 13) every operator has a column for the time by which it is done.
    """
    model, program, used = Deployments(problem), Program(), dict[Any, list[tuple[int, Any]]]()
    limit = {name: fraction(value) * SLACK for name, value in model.limits.items()}
    place, flows, done, latest = dict[str, dict[Any, int]](), list[Any](), dict[str, int](), dict[str, Fraction]()
    total = dict[str, list[tuple[int, Fraction]]]({"cost": [], "network_usage": []})
    last = program.column(model.factor("response_time"), 0, None)
    pause = program.column(model.factor("downtime"), 0, 0)
    for name in model.order:
        operator, place[name] = model.operators[name], {}
        replicas = range(operator.get("min_replicas", 1), operator.get("max_replicas", 1) + 1)
        own, longest = [(pause, Fraction(1))], list[tuple[int, Fraction]]()
        choices = (nodes for k in replicas for nodes in multisets(sorted(operator.get("candidates") or model.nodes), k))
        for number, nodes in enumerate(choices):
            need(number < MAX_PARTS, f"more than {MAX_PARTS} choices of nodes for {name}")
            parts = model.alone(name, nodes)
            if parts is not None:
                column = place[name][nodes] = program.column(model.factor("cost") * parts[1], integer=True)
                longest.append((column, parts[0]))
                total["cost"].append((column, parts[1]))
                own.append((column, -parts[2]))
                program.upper[pause] = max(program.upper[pause] or Fraction(0), parts[2])
                for node, (resource, amount) in product(nodes, _named(operator.get("resources", 1)).items()):
                    used.setdefault((node, resource), []).append((column, amount))
        latest[name] = most = max((value for _, value in longest), default=Fraction(0))
        done[name] = program.column(0, min((value for _, value in longest), default=0), most)
        program.row([(column, 1) for column in place[name].values()], 1, 1)
        program.row(own, 0)
        program.row([(done[name], 1), *((column, -value) for column, value in longest)], 0)
        for source in model.before[name]:
            out, into = {us: list[int]() for us in place[source]}, {vs: list[int]() for vs in place[name]}
            arrival = [(done[name], Fraction(1)), (done[source], Fraction(-1)), *((column, -value) for column, value in longest)]
            slowest = Fraction(0)
            for us, vs in product(place[source], place[name]):
                delay, cost, usage = model.between((source, name), us, vs)
                column = program.column(model.factor("cost") * cost + model.factor("network_usage") * usage)
                out[us].append(column)
                into[vs].append(column)
                arrival.append((column, -delay))
                slowest = max(slowest, delay)
                total["cost"].append((column, cost))
                total["network_usage"].append((column, usage))
            flows += [(place[source][us], columns) for us, columns in out.items()]
            flows += [(place[name][vs], columns) for vs, columns in into.items()]
            program.row(arrival, 0)
            latest[name] = max(latest[name], latest[source] + slowest + most)
        program.upper[done[name]] = latest[name]
        program.row([(last, 1), (done[name], -1)], 0)
    program.upper[pause] = min(program.upper[pause] or Fraction(0), limit.get("downtime", program.upper[pause] or Fraction(0)))
    program.upper[last] = min(max(latest.values()), limit.get("response_time", max(latest.values())))
    for column, columns in flows:
        program.row([(column, -1), *((other, 1) for other in columns)], 0, 0)
    for metric, entries in total.items():
        if metric in limit:
            program.row(entries, None, limit[metric])
    for (node, resource), entries in used.items():
        free = model.nodes[node].get("resources")
        if free is not None:
            program.row(entries, None, fraction(_named(free).get(resource, 0)) * SLACK)
    return program


# --- migrations: formats ssm and pmc ---

_Layer = tuple[list[int], list[int], list[int]]
"""By boundary: most state kept of the tasks before it, with the old node there free, and used; the first less all state."""


class _Line:
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
        """For each boundary, the first task of the longest interval that ends there, within the load limit of `nodes` nodes."""
        most = math.floor((1 + self.tolerance) * self.work[-1] * SLACK / nodes)
        return [bisect_left(self.work, load - most) for load in self.work]

    def least(self, first: list[int], nodes: int) -> list[int]:
        """For k = 0 … n′, the least boundary from which k intervals reach the last task."""
        return list(accumulate(range(nodes), lambda b, _: first[b], initial=self.size))

    def ends(self, assignment: Any) -> tuple[int, ...]:
        """The boundaries of an assignment, which must hold each task once."""
        held = sorted(tuple(ab) for ab in assignment if ab is not None and ab[0] != ab[1])
        ends = (0, *(b for _, b in held))
        right = all(type(x) is int for ab in held for x in ab) and ends[:-1] == tuple(a for a, _ in held)
        need(right and ends == tuple(sorted(set(ends))) and ends[-1] == self.size, "intervals: they must hold each task once")
        return ends

    def extend(self, before: _Layer, b: int, j: int, old: Sequence[int], first: int) -> tuple[int, int]:
        """Most state that stays of the tasks before b when one interval more ends there, from `first` or a later task on.

        b lies in (old[j], old[j + 1]]. The first value leaves the old node at b free, the second uses it; at its end it does
        not matter. An interval keeps what it shares with one old node that no other interval keeps, or nothing.
        """
        if first >= b:
            return self.never, self.never
        (free, used, less), state, begin = before, self.state, max(first, old[j])
        most, own = max(free[begin:b]), max(max(less[begin:b]) + state[b], *used[begin:b])
        inner, end, node = 0, old[j], j - 1
        while end > first:
            begin = max(first, old[node])
            top = max(max(free[begin:end]), *used[begin:end])
            most, own = max(most, top + inner, max(less[begin:end]) + state[end]), max(own, top + state[b] - state[old[j]])
            inner, end, node = max(inner, state[end] - state[old[node]]), old[node], node - 1
        return (max(most, own), self.never) if b == old[j + 1] else (most, own)


def check_ssm(problem: dict[str, Any], _: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """`ssm`: potentials, which prove how much state can stay (state migration, section 3.2).

    Lines k = 1 … n′ are `[b, free, used]`: upper bounds, in units of 1/(common denominator of `state_size`) bytes, on the state
    that stays of the tasks before boundary b, b + 1, … when these are held by k intervals (by at most k where intervals
    may be empty): in `free` where no interval keeps the old node on both sides of the boundary, in `used` where one
    does. Negative: there are no such intervals; so it is where nothing is listed. The checker goes through all intervals: from
    what line k − 1 says where one begins, and what it keeps, must follow no more than line k says where it ends.
    """
    line, nodes = _Line(problem), problem["nodes"]
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


def _partitions(line: _Line, nodes: int) -> list[tuple[int, ...]]:
    """Partitions into that many intervals within the load limit, in order: the boundaries, without empty intervals."""
    first, found = line.first(nodes), list[tuple[int, ...]]()
    least, stack = line.least(first, nodes), [(0,), *found]
    while stack:
        ends = stack.pop()
        if ends[-1] == line.size and (line.empty or len(ends) == nodes + 1):
            found.append(ends)
            need(len(found) <= MAX_PARTITIONS, f"more than {MAX_PARTITIONS} partitions")
        elif ends[-1] < line.size and len(ends) <= nodes:
            reach = bisect_right(first, ends[-1]) - 1
            stack += [(*ends, b) for b in range(reach, max(ends[-1] + 1, least[nodes - len(ends)]) - 1, -1)]
    return found


class _Responses:
    """Least of h·c(P, Q) + g·V(Q), γ = g/h, over the partitions Q into so many intervals, for one partition P after the other."""

    def __init__(self, line: _Line, nodes: int, values: dict[tuple[int, ...], Any], discount: Fraction) -> None:
        self.line, self.nodes, self.first, self.h = line, nodes, line.first(nodes), discount.denominator
        self.tree: Any = [0, {}]  # the least g·V, and branches by boundary, from the last on
        for ends, value in values.items():
            branch, weighed = self.tree, discount.numerator * value
            for b in reversed(ends[:-1]):
                branch = branch[1].setdefault(b, [weighed, {}])
                branch[0] = min(branch[0], weighed)
        self.layers: list[_Layer] = []
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
            bound, _, b, free, used, left, branches = heappop(heap)
            if b == 0:
                return bound
            j, top = node[b] - 1, max(free, used)
            for a, (weighed, further) in branches.items():
                i = node[a] if a == old[node[a]] else node[a] - 1
                if i == j:
                    new, own = free, max(free + state[b] - state[a], used)
                else:
                    inner = max((state[old[x + 1]] - state[old[x]] for x in range(i + 1, j)), default=0)
                    new, own = max(free + state[b] - state[old[j]], top + inner), top + state[old[i + 1]] - state[a]
                if a == old[i]:
                    new, own = max(new, own), never
                before = layers[left - 1]
                stays = max(before[0][a] + max(new, own), before[1][a] + new)
                entry += 1
                heappush(heap, (self.h * (state[-1] - stays) + weighed, entry, a, new, own, left - 1, further))
        raise Refused("no partition may follow")


def check_pmc(problem: dict[str, Any], decision: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """`pmc`: projected costs V of all partitions (state migration, Fig. 6), whose errors a Bellman sweep bounds.

    The header's `unit` is a fraction of bytes. Lines are `[n, V]`, one for each number of nodes that can come up, ascending: V of
    the partitions into n intervals in units, in the order of their boundaries. The checker lists the partitions itself and
    computes TV(P) = Σ_n M[|P|, n]·min_Q (c(P, Q) + γ·V(Q)) exactly. With q = γ·(largest sum of a row of M),
    TV + q/(1−q)·min(0, TV − V) ≤ C ≤ TV + q/(1−q)·max(0, TV − V), so it knows what the decision and all others are worth.
    """
    unit, counts, discount = fraction(header["unit"]), problem["node_counts"], fraction(problem["discount"])
    line, chances = _Line(problem, unit.denominator), dict[int, dict[int, Fraction]]()
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
        least = (p * responses[other].least(old) for other, p in chances[count].items())
        swept[count][old] = sum(least, Fraction(0)) / discount.denominator
    changes = [swept[n][old] - value for n in values for old, value in values[n].items()]
    q = discount * max(sum(chances[n].values()) for n in values)
    need(0 <= q < 1, "discount: the sweep is no contraction")
    reach = discount * q / (1 - q) / line.scale
    low, high = reach * min(Fraction(0), *changes), reach * max(Fraction(0), *changes)
    now, before = swept[problem["nodes"]], line.ends(problem["intervals"])
    worth = evaluate_migration(problem, decision) + discount * now[line.ends(decision)] / line.scale
    best = _Responses(line, problem["nodes"], now, discount).least(before) / discount.denominator / line.scale
    bound = fraction(header["bound"])
    off = max(worth + high - bound, bound - worth - low)
    need(off <= max(TOLERANCE, SAME * abs(bound)), f"the decision is worth {float(worth)!r}")
    need(best + low >= bound - TOLERANCE, f"it is proven that nothing is below {float(best + low)!r}, not {float(bound)!r}")
    return f"nothing is below {float(bound)!r} bytes"


# --- deployments: format eliminate ---

_NEVER, _SUMMED = float("inf"), ("response_time", "cost")
_Choice = tuple[tuple[int, int], ...]  # nodes by number, with the replicas on each
_Tables = list[tuple[tuple[int, ...], dict[Any, Any]]]  # by operator: those that matter, and least costs by their choices


class Prices:
    """Multipliers of the relaxation, in 2^-PLACES: a flow of at most 1 along paths of streams, and rents of capacities."""

    def __init__(self, model: Placement, line: Any) -> None:
        self.flow, places = {int(e): k for e, k in line["flow"]}, range(len(model.operators))
        self.rent, worth = [[Fraction(0)] * len(model.free) for _ in places], Fraction(0)
        for u, name, k in line["rent"]:
            free = model.free[u]
            need(k >= 0 and free is not None, "a rent below 0, or of a node without limit")
            worth += k * (free or {}).get(name, 0) * SLACK
            for i in places:
                self.rent[i][u] += k * model.need[i].get(name, 0)
        self.worth = math.ceil(worth * 2 ** (SHIFT - PLACES))
        self.rents = [[math.floor(rent * 2 ** (SHIFT - PLACES)) for rent in row] for row in self.rent]
        ends = [(*model.streams[e], k) for e, k in self.flow.items()]
        both = [(sum(k for _, t, k in ends if t == i), sum(k for s, _, k in ends if s == i)) for i in places]
        self.through, self.ends = [max(into, out) for into, out in both], [max(0, into - out) for into, out in both]
        starts = sum(max(0, out - into) for into, out in both)
        need(min(self.flow.values(), default=0) >= 0 and starts <= 2**PLACES, "the flow is negative, or more than 1")
        self.stop = {int(i): k for i, k in line.get("stop", ())}
        whole = min(self.stop.values(), default=0) >= 0 and sum(self.stop.values()) <= 2**PLACES
        need(whole, "the shares of downtime are negative, or more than 1")


class Placement:
    """A problem of kind "edrp" with its response time and cost in integers; operators and nodes by number.

    Times and money are in 2^-SHIFT of the objective, rounded down; one without weight in 2^-SHIFT s or money/h, and not counted.
    Tuples in flight that have a weight count as money, of which there is no limit then, which leaves every bound a bound.
    `shares`, of the limits of response time and cost, take the place of the weights.
    """

    def __init__(self, problem: dict[str, Any], order: list[str], shares: Sequence[Fraction] | None = None) -> None:
        self.model = model = Deployments(problem)
        need(sorted(order) == sorted(model.operators), "order: not each operator once")
        place, nodes = {name: i for i, name in enumerate(order)}, list(model.nodes)
        self.streams = [(place[source], place[target]) for source, target in model.streams]
        need(all(i < j for i, j in self.streams), "order: a stream goes backward")
        factors, most = [model.factor(name) for name in _SUMMED], list[Any](model.limits.get(name) for name in _SUMMED)
        if shares is not None:
            kept = all(x >= 0 and (limit or not x) for x, limit in zip(shares, most, strict=True))
            need(kept, "shares: below 0, or of a metric without limit")
            factors = [x / limit if x else x for x, limit in zip(shares, most, strict=True)]
        flight, self.stop = (Fraction(0) if shares is not None else model.factor(x) for x in ("network_usage", "downtime"))
        units = [(x or 1) * 2**SHIFT for x in factors]
        if flight:
            units[1], most[1] = factors[1] * 2**SHIFT, None
        self.counts = [int(factors[0] > 0), int(factors[1] + flight > 0)]
        self.limits = [_NEVER if m is None else math.ceil(m * SLACK * unit) for m, unit in zip(most, units, strict=True)]
        self.node, speeds = {name: u for u, name in enumerate(nodes)}, [model.nodes[name].get("speedup", 1) for name in nodes]
        self.operators = [model.operators[name] for name in order]
        self.time: list[dict[int, list[int]]] = []  # by operator, stable number of replicas and node
        for name, operator in zip(order, self.operators, strict=True):
            degrees = range(operator.get("min_replicas", 1), operator.get("max_replicas", 1) + 1)
            seconds = {r: _latency(operator.get("latency"), model.load[name] / r, r) for r in degrees}
            self.time.append({r: [math.floor(s * units[0] / v) for v in speeds] for r, s in seconds.items() if s is not None})
        self.price = [math.floor(model.price(operator) * units[1]) for operator in self.operators]
        links = [[{"delay": 0} if u == v else model.find_link(u, v) for v in nodes] for u in nodes]
        self.hop = [[math.floor(link["delay"] * units[0]) if link else _NEVER for link in row] for row in links]
        flight, limit = flight * 2**SHIFT, model.limits.get("network_usage")
        self.most_flying = _NEVER if limit is None else math.ceil(limit * SLACK * 2**SHIFT)
        flying = [[link["delay"] * 2**SHIFT if link and limit is not None else 0 for link in row] for row in links]
        self.flight = [[[math.floor(model.rate[s] * x) if x else 0 for x in row] for row in flying] for s in model.streams]
        tolls = [[link.get("cost", 0) * units[1] + link["delay"] * flight if link else 0 for link in row] for row in links]
        self.toll = [[[math.floor(model.rate[s] * x) if x else 0 for x in row] for row in tolls] for s in model.streams]
        self.need = [_named(operator.get("resources", 1)) for operator in self.operators]
        own = [model.nodes[name].get("resources") for name in nodes]
        self.free = [None if resources is None else _named(resources) for resources in own]
        scale = math.lcm(*(fraction(amount).denominator for need_of in self.need for amount in need_of.values()))
        self.whole_need = [[(name, int(amount * scale)) for name, amount in need_of.items()] for need_of in self.need]
        has = [(u, free) for u, free in enumerate(self.free) if free is not None]
        self.room = {(u, name): math.floor(x * SLACK * scale) for u, free in has for name, x in free.items()}
        self.left: list[list[Any]] = [[self.node[x] for x in o.get("candidates") or nodes] for o in self.operators]
        longest = model.limits.get("downtime")
        self.longest_stop = _NEVER if longest is None else longest * SLACK
        self.listed, self.known, self.names = False, dict[Any, tuple[Any, int, int]](), nodes
        self.before = [() if model.current is None else tuple(model.current[name]) for name in order]

    def used(self, choices: Iterable[tuple[int, _Choice]]) -> Any:
        """Amounts that choices take of each resource of each node with limits, whole; None where that is more than there is."""
        used: dict[tuple[int, str], int] = {}
        for i, choice in choices:
            for u, count in choice:
                for name, amount in self.whole_need[i] if self.free[u] is not None else ():
                    used[u, name] = taken = used.get((u, name), 0) + count * amount
                    if taken > self.room.get((u, name), 0):
                        return None
        return used

    def own(self, i: int, choice: Any, prices: Prices) -> Any:
        """Cost of an operator at a node, with the best number of replicas, of which one is there, or of a choice."""
        k, rents = prices.through[i] * self.counts[0], prices.rents[i]
        money, stop = self.price[i] * self.counts[1], 0
        if i in prices.stop:
            stop = prices.stop[i] * self.downtime(i, choice) >> PLACES
        if isinstance(choice, tuple):
            r = sum(n for _, n in choice)
            slowest = max(self.time[i][r][u] for u, _ in choice)
            return (k * slowest >> PLACES) + r * money + sum(n * rents[u] for u, n in choice) + stop
        cheapest = min((rents[u] for u in self.left[i] if not isinstance(u, tuple)), default=0)
        times = self.time[i].items()
        costs = ((k * t[choice] >> PLACES) + r * money + rents[choice] + (r - 1) * cheapest for r, t in times)
        return min(costs, default=_NEVER) + stop

    def between(self, e: int, k: int, a: Any, b: Any) -> Any:
        """Cost of a stream with flow k between nodes, of which each end surely has a replica, or between choices."""
        if isinstance(a, tuple):
            hop, toll, _ = self.far(e, a, b)
        else:
            hop, toll = self.hop[a][b], self.toll[e][a][b] // max(max(self.time[i], default=1) for i in self.streams[e])
        return hop if hop == _NEVER else (k * self.counts[0] * hop >> PLACES) + toll * self.counts[1]

    def far(self, e: int, a: _Choice, b: _Choice) -> tuple[Any, int, int]:
        """The longest hop of a stream between two choices, its toll, and its tuples in flight where these have a limit."""
        if (e, a, b) not in self.known:
            pairs, shares = list(product(a, b)), sum(n for _, n in a) * sum(n for _, n in b)
            hop = max(self.hop[u][v] for (u, _), (v, _) in pairs)
            toll, flown = (sum(n * m * x[e][u][v] for (u, n), (v, m) in pairs) // shares for x in (self.toll, self.flight))
            self.known[e, a, b] = hop, toll, flown
        return self.known[e, a, b]

    def sweep(self, prices: Prices, limit: int) -> tuple[list[dict[Any, Any]], _Tables]:
        """For each operator and what is left to it, the least cost with it; and the tables; without what reaches the limit.

        A dynamic program over the operators in order, which remembers those with listed streams to later ones.
        """
        places, flow, left = range(len(self.operators)), prices.flow, self.left
        own = [[self.own(i, choice, prices) for choice in left[i]] for i in places]
        rest = [*accumulate((min(row, default=_NEVER) for row in reversed(own)), initial=0)][::-1]
        fronts = [tuple(sorted({s for s, t in map(self.streams.__getitem__, flow) if s < i <= t})) for i in range(len(own) + 1)]
        forward: list[dict[tuple[int, ...], Any]] = [{(): 0}]
        steps = []
        for i in places:
            into = [(fronts[i].index(self.streams[e][0]), e, k) for e, k in flow.items() if self.streams[e][1] == i]
            pairs = [(p, [[self.between(e, k, a, b) for b in left[i]] for a in left[fronts[i][p]]]) for p, e, k in into]
            keep, stays = [p for p, j in enumerate(fronts[i]) if j in fronts[i + 1]], i in fronts[i + 1]
            steps.append((pairs, keep, stays))
            table: dict[tuple[int, ...], Any] = {}
            for state, cost in forward[i].items():
                kept, rows = tuple(state[p] for p in keep), [own[i], *(pair[state[p]] for p, pair in pairs)]
                for x, more in enumerate(map(sum, zip(*rows, strict=True))):
                    after = (*kept, x) if stays else kept
                    if cost + more + rest[i + 1] < limit and cost + more < table.get(after, _NEVER):
                        table[after] = cost + more
            need(len(table) <= MAX_STATES, f"more than {MAX_STATES} states")
            forward.append(table)
        behind: dict[tuple[int, ...], Any] = {(): 0}
        tables, least = [(fronts[-1], behind)], list[dict[Any, Any]]()
        for i in reversed(places):
            pairs, keep, stays = steps[i]
            before, marginal = {}, [_NEVER] * len(left[i])
            for state, cost in forward[i].items():
                kept, rows = tuple(state[p] for p in keep), [own[i], *(pair[state[p]] for p, pair in pairs)]
                best = _NEVER
                for x, more in enumerate(map(sum, zip(*rows, strict=True))):
                    go = more + behind.get((*kept, x) if stays else kept, _NEVER)
                    best, marginal[x] = min(best, go), min(marginal[x], cost + go)
                before[state] = best
            behind = before
            tables.append((fronts[i], behind))
            least.append(dict(zip(left[i], marginal, strict=True)))
        return least[::-1], tables[::-1]

    def shrink(self, prices: Prices, target: int, choices: bool) -> bool:
        """Take away what no deployment below the target uses; `choices`: go on from nodes to choices. Whether any may be left."""
        limit = target + prices.worth
        least, _ = self.sweep(prices, limit)
        if choices and not self.listed:
            found = []
            for i, row in enumerate(least):
                above = {u: cost - self.own(i, u, prices) for u, cost in row.items() if cost < limit}
                some = self._choices(i, list(above))
                found.append([c for c in some if max(above[u] for u, _ in c) + self.own(i, c, prices) < limit])
            self.left, self.listed = found, True
        else:
            self.left = [[choice for choice, cost in row.items() if cost < limit] for row in least]
        return all(self.left)

    def _choices(self, i: int, nodes: list[int]) -> Iterator[_Choice]:
        """All that an operator can choose among some nodes."""
        for r in self.time[i]:
            need(math.comb(len(nodes) + r - 1, r) <= MAX_STATES, f"more than {MAX_STATES} choices")
            for members in multisets(nodes, r):
                choice = tuple(sorted(Counter(members).items()))
                if self.used([(i, choice)]) is not None and self.stops(i, choice) <= self.longest_stop:
                    yield choice

    def downtime(self, i: int, choice: Any) -> int:
        """Downtime of an operator in the objective where it has a weight: with a choice, or at least where it uses a node."""
        operator, model, before = self.operators[i], self.model, self.before[i]
        if not self.stop or not before:
            return 0
        if isinstance(choice, tuple):
            seconds = self.stops(i, choice)
        elif (node := self.names[choice]) in before:
            return 0
        else:  # a node without a replica has to download the code
            code = model.transfer(node, operator.get("code_size", 0)) + model.transfer(node, 0)
            seconds = model.pause + code + model.nodes[node].get("spawn_time", 0)
        return math.floor(self.stop * 2**SHIFT * seconds)

    def stops(self, i: int, choice: _Choice) -> Fraction:
        """Seconds of downtime of an operator."""
        return self.model.downtime(self.operators[i], tuple(self.names[u] for u, n in choice for _ in range(n)))

    def search(self, several: list[Prices], target: int, most: int) -> int:
        """Go through all deployments below the target, operator by operator; how many parts of some were looked at.

        A part is given up where prices say that nothing below the target follows, or where another uses the same and is
        nowhere later and no more expensive.
        """
        tables, looked = [self.sweep(prices, target + prices.worth)[1] for prices in several], 0
        # Numbers and choices so far, when each is done and all are; cost, tuples in flight, longest downtime; rents by prices.
        parts: list[Any] = [((), (), (), 0, (0, 0, 0), (0,) * len(several))]
        for i, left in enumerate(self.left):
            front, into = {s for s, t in self.streams if s <= i < t}, [e for e, (_, t) in enumerate(self.streams) if t == i]
            rents = [[sum(n * p.rents[i][u] for u, n in choice) for p in several] for choice in left]
            follows = [self._follows(prices, table[i + 1], i) for prices, table in zip(several, tables, strict=True)]
            groups = dict[Any, list[tuple[Any, Any]]]()
            stops = [self.downtime(i, choice) for choice in left]
            for (before, chosen, finish, end, (paid, flown, stopped), held), (x, choice) in product(parts, enumerate(left)):
                looked += 1
                hops = [(self.streams[e][0], *self.far(e, chosen[self.streams[e][0]], choice)) for e in into]
                r = sum(n for _, n in choice)
                done = max((finish[s] + hop for s, hop, *_ in hops), default=0) + max(self.time[i][r][u] for u, _ in choice)
                top, numbers, times = max(end, done), (*before, x), (*finish, done)
                cost = paid + r * self.price[i] + sum(toll for *_, toll, _ in hops)
                held_now = tuple(map(add, held, rents[x]))
                worth = [rent + follow(numbers, times) for rent, follow in zip(held_now, follows, strict=True)]
                stop, flying = max(stopped, stops[x]), flown + sum(more for *_, more in hops)
                bound = cost * self.counts[1] + max(top * self.counts[0], *worth) + stop
                if bound >= target or top > self.limits[0] or cost > self.limits[1] or flying > self.most_flying:
                    continue
                used = self.used(enumerate((*chosen, choice)))
                if used is not None:
                    key = (*(numbers[j] for j in front), *sorted(used.items()))
                    late = (cost, top, flying, stop, *(times[j] for j in front))
                    group = groups.setdefault(key, [])
                    if not any(all(map(le, other, late)) for other, _ in group):
                        group.append((late, (numbers, (*chosen, choice), times, top, (cost, flying, stop), held_now)))
            need(looked <= most, f"more than {most} parts of deployments")
            parts = [part for group in groups.values() for _, part in group]
        need(not parts, "there may be a better deployment")
        return looked

    def _follows(self, prices: Prices, table: Any, i: int) -> Callable[[Any, Any], Any]:
        """Cost of operators to i by the flow that leaves them and when they are done, and the least that follows."""
        weights = prices.ends[: i + 1]
        for e, k in prices.flow.items():
            if self.streams[e][0] <= i < self.streams[e][1]:
                weights[self.streams[e][0]] += k
        flows, (front, behind) = [(j, w * self.counts[0]) for j, w in enumerate(weights) if w], table

        def follow(numbers: Any, times: Any) -> Any:
            go = behind.get(tuple(numbers[j] for j in front), _NEVER)
            return go - prices.worth + (sum(w * times[j] for j, w in flows) >> PLACES)

        return follow


def check_eliminate(problem: dict[str, Any], _: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """`eliminate`: prices at which relaxations in integers leave nothing below the bound; kind "edrp".

    The header's `order` names the operators such that streams go forward. A line is an object: `do`, and prices, in k/2^40 of
    the objective: `flow`, pairs [stream, k], at most 1 along paths, `rent`, triples [node, resource, k], for each unit of
    capacity, and perhaps `stop`, pairs [operator, k], at most 1 in sum. A deployment is worth at least the latencies and hops
    along the flow, what it costs, its rents and those shares of the operators' downtimes, less the rents of all capacities, with
    each operator at any one of its nodes. "nodes" takes from each operator the nodes (later choices) with which that is not below
    the bound, whatever all others do; "choices" then lists the multisets of nodes that are left to it. "search", with a list
    `prices`, comes last and tries the choices operator by operator, with their downtimes. Proven where an operator has nothing
    left, or the search ends without a deployment. That nothing is feasible is proven in the same way: the header's `shares` (at
    least 0) of the limits of response time and cost take the place of the weights, and all that keeps to the limits is worth no
    more than their sum.
    """
    if header["claim"] == "optimal":
        model, bound = Placement(problem, header["order"]), fraction(header["bound"])
        target, said = math.ceil((bound - TOLERANCE) * 2**SHIFT), f"no deployment is below {float(bound)!r} − 1e-6"
    else:
        shares = [fraction(share) for share in header["shares"]]
        model, said = Placement(problem, header["order"], shares), "no deployment is feasible"
        target = math.floor(sum(shares) * SLACK * 2**SHIFT) + 1
    for line in lines:
        if line["do"] == "search":
            need(model.listed, "there are no choices to search")
            need(not any("stop" in prices for prices in line["prices"]), "a search counts the downtime by itself")
            looked = model.search([Prices(model, prices) for prices in line["prices"]], target, MAX_PARTS)
            return f"{said} ({looked} parts of deployments searched)"
        if not model.shrink(Prices(model, line), target, line["do"] == "choices"):
            return said
    raise Refused("the certificate ends before all deployments are excluded")


# --- latency-aware placements: format column-generation ---

_Pattern = tuple[int, ...]  # how many instances of each operator are on one node


class Instances(Application):
    """A problem of kind "latency-aware": what its streams cost when cut, what nodes cost, what instances and nodes have."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem)
        weights = {"supervisors": 1, "colocation": 1, "events": 1, "latency": Fraction("1e-6"), **problem.get("weights", {})}
        self.second, self.price = 1000 * fraction(weights["latency"]), fraction(weights["supervisors"]) / len(self.nodes)
        self.count = {name: operator.get("instances", 1) for name, operator in self.operators.items()}
        pairs = {(u, v): self.count[u] * self.count[v] for u, v in self.streams}
        shares = ((weights["colocation"], pairs), (weights["events"], self.rate))
        self.cut = {s: sum((w * x[s] / sum(x.values()) for w, x in shares if any(x.values())), Fraction(0)) for s in self.streams}
        """Objective of each stream when no instances of its ends are together."""
        usable = problem.get("utilisation", {"cpu": Fraction("0.95"), "memory": 1})
        self.need = {name: _named(operator.get("resources", 1)) for name, operator in self.operators.items()}
        self.usable = dict[str, Any]()
        for name, node in self.nodes.items():
            free = node.get("resources")
            self.usable[name] = None if free is None else {r: x * usable.get(r, 1) * SLACK for r, x in _named(free).items()}

    def room(self, node: str, resource: str) -> Bound:
        """How much of a resource instances on a node may use together; None for any amount."""
        free = self.usable[node]
        return None if free is None else fraction(free.get(resource, 0))


def evaluate_latency_aware(problem: dict[str, Any], decision: Any) -> Fraction:
    """Nodes in use, streams and tuples between nodes, and the slowest path through instances (latency-aware placement, eq. 1)."""
    model, used, arrival = Instances(problem), dict[Any, Any](), dict[str, dict[str, Fraction]]()
    need(decision.keys() == model.operators.keys(), "other operators than those of the application")
    value = sum(model.cut.values(), Fraction(0))
    for name in model.order:
        need(len(decision[name]) == model.count[name], f"{name}: wrong number of instances")
        model.choices(name, decision[name])
        arrival[name] = dict.fromkeys(decision[name], Fraction(0))
        for source, v in product(model.before[name], arrival[name]):
            ways = (seconds + (fraction(model.link(u, v)["delay"]) if u != v else 0) for u, seconds in arrival[source].items())
            arrival[name][v] = max(arrival[name][v], *ways)
            together = decision[source].count(v) * decision[name].count(v)
            value -= model.cut[source, name] * together / (model.count[source] * model.count[name])
        for node, (resource, amount) in product(decision[name], model.need[name].items()):
            used[node, resource] = used.get((node, resource), 0) + amount
    for (node, resource), amount in used.items():
        room = model.room(node, resource)
        need(room is None or amount <= room, f"node {node}: too much of {resource}")
    nodes = {node for row in arrival.values() for node in row}
    return value + model.price * len(nodes) + model.second * max(x for row in arrival.values() for x in row.values())


class Window:
    """How many nodes may be in use, in all and of each class."""

    def __init__(self, least: int, most: int, low: tuple[int, ...], high: tuple[int, ...]) -> None:
        self.least, self.most, self.low, self.high = least, most, low, high

    def halves(self, which: int, floor: int) -> tuple[Window, Window]:
        """At most floor, and more, of the nodes of a class; of all nodes for -1."""
        need(which in range(-1, len(self.low)) and type(floor) is int, "there is no such class")
        if which < 0:
            lower, upper = min(self.most, floor), max(self.least, floor + 1)
            return Window(self.least, lower, self.low, self.high), Window(upper, self.most, self.low, self.high)
        high = (*self.high[:which], min(self.high[which], floor), *self.high[which + 1 :])
        low = (*self.low[:which], max(self.low[which], floor + 1), *self.low[which + 1 :])
        return Window(self.least, self.most, self.low, high), Window(self.least, self.most, low, self.high)

    def cheapest(self, cost: Sequence[int], used: Sequence[int]) -> Any:
        """The least cost of nodes by class, of which so many are used at least."""
        low = list(map(max, self.low, used))
        count, total = sum(low), sum(map(mul, low, cost))
        if any(map(gt, low, self.high)) or count > self.most or sum(self.high) < self.least:
            return _NEVER
        for price, c in sorted(zip(cost, numbers_from(), strict=False)):
            more = min(self.high[c] - low[c], self.most - count if price < 0 else max(0, min(self.most, self.least) - count))
            count, total = count + more, total + more * price
        return total if count >= self.least else _NEVER


class Patterns:
    """A problem of kind "latency-aware" in integers, in 2^-SHIFT of the objective; operators by number.

    Nodes with equal room for the same operators are a class. Only paths tell the nodes of a class apart. Without objective all
    placements are worth 0.
    """

    def __init__(self, problem: dict[str, Any], order: list[str], objective: bool) -> None:
        model, unit = Instances(problem), 2**SHIFT if objective else 0
        need(sorted(order) == sorted(model.operators), "order: not each operator once")
        place, self.size = {name: i for i, name in enumerate(order)}, len(order)
        self.price, self.apart = math.floor(model.price * unit), math.floor(sum(model.cut.values()) * unit)
        self.count = tuple(model.count[name] for name in order)
        self.saved: list[dict[int, int]] = [{} for _ in order]  # by later and earlier operator: when two instances are together
        for (u, v), value in model.cut.items():
            early, late = sorted((place[u], place[v]))
            pair = math.ceil(value * unit / (model.count[u] * model.count[v]))
            self.saved[late][early] = self.saved[late].get(early, 0) + pair
        last = [max((k for k in range(self.size) if i in self.saved[k]), default=i) for i in range(self.size)]
        self.fronts = [[i for i in range(k) if last[i] >= k] for k in range(self.size + 1)]
        self.paths = [(place[name], [place[u] for u in model.before[name]]) for name in model.order]
        names = sorted({resource for need_of in model.need.values() for resource in need_of})
        scale = math.lcm(*(fraction(x).denominator for need_of in model.need.values() for x in need_of.values()))
        self.need = [tuple(int(model.need[name].get(r, 0) * scale) for r in names) for name in order]
        all_need = [sum(map(mul, self.count, column)) for column in zip(*self.need, strict=True)]
        classes = dict[Any, list[str]]()
        for node in model.nodes:
            rooms = ((model.room(node, r), most) for r, most in zip(names, all_need, strict=True))
            room = tuple(most if x is None else min(most, math.floor(x * scale)) for x, most in rooms)
            runs = [node in (model.operators[name].get("candidates") or model.nodes) for name in order]
            fits = (min((x // a for x, a in zip(room, need_of, strict=True) if a), default=n) for n, need_of in self._needs())
            most = tuple(min(n, fit) if may else 0 for n, fit, may in zip(self.count, fits, runs, strict=True))
            if any(most):
                classes.setdefault((room, most), []).append(node)
        self.rooms, self.most = [room for room, _ in classes], [most for _, most in classes]
        self.members = list(classes.values())
        self.model, self.unit, self.known = model, math.floor(model.second * unit), dict[Any, Any]()

    def _needs(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        return zip(self.count, self.need, strict=True)

    @property
    def root(self) -> Window:
        """All placements."""
        sizes = tuple(map(len, self.members))
        return Window(1, sum(sizes), (0,) * len(sizes), sizes)

    def gain(self, k: int, x: int, front: Iterable[tuple[int, int]], worth: list[int]) -> int:
        """Value of x instances of operator k with those before them on the same node."""
        return x * (worth[k] + sum(n * self.saved[k].get(i, 0) for i, n in front))

    def tables(self, c: int, worth: list[int]) -> list[dict[_Pattern, list[tuple[int, int, int]]]]:
        """By operator and by counts of those before it that matter, what those from it on can be worth: most first.

        Labels are worth and use of the two shortest resources; others are ignored here.
        """
        room, wanted = self.rooms[c], [sum(map(mul, self.most[c], column)) for column in zip(*self.need, strict=True)]
        short = sorted((r for r, x in enumerate(room) if wanted[r] > x), key=lambda r: Fraction(room[r], wanted[r]))[:2]
        found: list[dict[_Pattern, list[tuple[int, int, int]]]] = [{(): [(0, 0, 0)]}]
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
                    rest = found[-1][tuple(counts[i] for i in self.fronts[k + 1])]
                    p, q = x * a, x * b
                    labels += [(w + more, u + p, v + q) for w, u, v in rest if u + p <= top[0] and v + q <= top[1]]
                looked += len(labels)
                need(looked <= MAX_STATES, f"more than {MAX_STATES} states")
                table[state] = _undominated(labels)
            found.append(table)
        self.short = short
        return found[::-1]

    def above(self, c: int, tables: Any, worth: list[int], threshold: Any, most: int) -> Iterator[tuple[int, _Pattern]]:
        """Patterns of a class that are worth at least the threshold."""
        short, looked = self.short, 0
        stack: list[tuple[_Pattern, int, tuple[int, ...]]] = [((), 0, self.rooms[c])]
        while stack:
            pattern, value, room = stack.pop()
            k = len(pattern)
            if k == self.size:
                if any(pattern):
                    yield value, pattern
                continue
            for x in range(self.most[c][k] + 1):
                left = tuple(free - x * amount for free, amount in zip(room, self.need[k], strict=True))
                if min(left, default=0) < 0:
                    break
                need((looked := looked + 1) <= most, f"more than {most} parts of patterns")
                go = value + self.gain(k, x, ((i, pattern[i]) for i in self.fronts[k]), worth)
                after = (*pattern, x)
                p, q = ([left[r] for r in short] + [0, 0])[:2]
                labels = tables[k + 1][tuple(after[i] for i in self.fronts[k + 1])]
                follow = next((w for w, used, also in labels if used <= p and also <= q), None)
                if follow is not None and go + follow >= threshold:
                    stack.append((after, go, left))

    def close(self, window: Window, worth: list[int], target: int, most: int) -> int:
        """See that nothing in a window is below the target; how many parts of placements were looked at."""
        fixed, none = self.apart + sum(map(mul, self.count, worth)), (0,) * len(self.members)
        tables, shorts, least = [], [], []
        for c in range(len(self.members)):
            tables.append(self.tables(c, worth))
            shorts.append(self.short)
            least.append(self.price - tables[c][0][()][0][0])
        if fixed + window.cheapest(least, none) >= target:
            return 0
        listed = list[tuple[int, int, _Pattern]]()
        for c in range(len(self.members)):
            using = fixed + window.cheapest(least, [int(d == c) for d in range(len(none))])
            if using < target:  # one that costs more than the least by what is left to the target is in nothing below it
                self.short = shorts[c]
                some = self.above(c, tables[c], worth, self.price - least[c] - (target - using) + 1, most)
                listed += [(self.price - value - least[c], c, pattern) for value, pattern in some]
                need(len(listed) <= most, f"more than {most} patterns")
        return len(listed) + self._cover(window, fixed, least, sorted(listed), target, most)

    def _cover(self, window: Window, fixed: int, least: list[int], listed: Any, target: int, most: int) -> int:
        """Go through all choices of listed patterns that hold each instance once; operators in few patterns come first."""
        holders = [[p for p, (_, _, pattern) in enumerate(listed) if pattern[a]] for a in range(self.size)]
        order, rest, looked = sorted(range(self.size), key=lambda a: len(holders[a])), dict[Any, Any](), 0
        stack: list[Any] = [(self.count, (0,) * len(least), (), 0, order[0], 0)]
        while stack:
            left, used, chosen, above, a, begin = stack.pop()
            for at in range(begin, len(holders[a])):
                excess, c, pattern = listed[holders[a][at]]
                need((looked := looked + 1) <= most, f"more than {most} parts of placements")
                if fixed + window.cheapest(least, used) + above + excess >= target:
                    break
                now = tuple(map(sub, left, pattern))
                if min(now) < 0:
                    continue
                counts, more = (*used[:c], used[c] + 1, *used[c + 1 :]), (*chosen, (c, pattern))
                if counts not in rest:
                    rest[counts] = fixed + window.cheapest(least, counts)
                bound = rest[counts] + above + excess
                if bound >= target or bound + self.latency(self.legs(more), [c for c, _ in more]) >= target:
                    continue
                b = next((b for b in order if now[b]), None)
                if b is not None:
                    stack.append((now, counts, more, above + excess, b, at if a == b else 0))
                elif sum(counts) >= window.least and all(map(le, window.low, counts)):
                    score = fixed + sum(map(mul, least, counts)) + above + excess
                    looked += self._seat(list(more), target - score, most - looked)
        return looked

    def _seat(self, chosen: list[tuple[int, _Pattern]], latency: int, most: int) -> int:
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

    def _connected(self, chosen: list[tuple[int, _Pattern]]) -> list[tuple[int, _Pattern]]:
        """Patterns with few nodes to choose from first, then those with the most streams to those before; equal ones together."""
        left, order = Counter(chosen), list[tuple[int, _Pattern]]()

        def rank(item: tuple[int, _Pattern]) -> Any:
            pairs = ((a, b) for b, sources in self.paths for a in sources)
            joined = sum(any((p[a] and item[1][b]) or (p[b] and item[1][a]) for _, p in order) for a, b in pairs)
            return len(self.members[item[0]]) == 1, joined, item

        while left:
            best = max(left, key=rank)
            order += [best] * left.pop(best)
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
            delays = (fraction(link["delay"]) if link else _NEVER for link in (self.model.find_link(*pair) for pair in pairs))
            shortest = min(delays, default=_NEVER)
            self.known[x, y] = _NEVER if shortest == _NEVER else math.floor(shortest * self.unit)
        return self.known[x, y]

    def legs(self, chosen: Sequence[tuple[int, _Pattern]]) -> tuple[int, list[tuple[int, int, int, int]]]:
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
        at = bisect_right(stairs, (p, _NEVER))
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
    optimal = header["claim"] == "optimal"
    patterns = Patterns(problem, header["order"], optimal)
    bound = fraction(header["bound"]) if optimal else None
    target = 1 if bound is None else math.ceil((bound - TOLERANCE) * 2**SHIFT)
    stack, leaves, looked = [patterns.root], 0, 0
    line: Any
    while stack:
        window, line = stack.pop(), next(lines, None)
        need(isinstance(line, list) and line, "the tree ends before all of it is closed")
        need(len(stack) < MAX_OPEN, f"a tree with more than {MAX_OPEN} open nodes")
        if line[0] == "W":
            stack += reversed(window.halves(line[1], line[2]))
            continue
        worth = [k << SHIFT - PLACES for k in line[1]]
        need(line[0] == "P" and len(worth) == patterns.size, f"leaf {leaves + 1} has no price for each operator")
        leaves, looked = leaves + 1, looked + patterns.close(window, worth, target, MAX_PARTS)
    need(next(lines, None) is None, "there are lines after the tree")
    said = "feasible" if bound is None else f"below {float(bound)!r} − 1e-6"
    return f"no decision is {said} ({leaves} {'leaf' if leaves == 1 else 'leaves'}, {looked} parts of placements)"


# --- maps: documents of kind "mapping", format label-setting ---


_Place = tuple[str, int, int, int]


class Maps:
    """Maps of a path task, in units of which all costs, rates and needs are whole.

    A place (u, j, passed, moving) says where a map's beginning ends: at server u with j components mapped, with so many servers
    passed without one, and with the hop at hand not begun (0), on links (1), or ended by the public network (2).
    """

    def __init__(self, problem: dict[str, Any]) -> None:
        if problem.get("cost", "additive") != "additive":
            raise Unknown("the checker knows the additive cost of maps only")
        task, self.parts = problem["task"], problem["task"].get("components", [])
        self.ends, self.most = (task["source"], task["delivery"]), problem.get("max_empty_hops", 2)
        self.total, self.add_up = problem.get("empty_hops") == "total", problem.get("bandwidth", "cumulative") == "cumulative"
        arcs, nodes = _network(problem)
        rates = task.get("bandwidths")
        if rates is None:
            rates = list(accumulate((part.get("shrinkage", 1) for part in self.parts), lambda x, y: x * y, initial=task["rate"]))
        needs = [part.get("capacity", 0) + part.get("cpu_factor", 0) * x for part, x in zip(self.parts, rates, strict=False)]
        free = {("bandwidth", *arc): link["bandwidth"] for arc, link in arcs.items()}
        free |= {("uplink", name): node.get("uplink", 0) for name, node in nodes.items()}
        free |= {("downlink", name): node["downlink"] for name, node in nodes.items() if node.get("downlink") is not None}
        free |= {("capacity", name): node["capacity"] for name, node in nodes.items()}
        scale = math.lcm(*(fraction(x).denominator for x in (*rates, *needs)))
        self.rates, self.needs = [int(x * scale) for x in rates], [int(x * scale) for x in needs]
        self.free = {what: math.floor(amount * SLACK * scale) for what, amount in free.items()}
        self.senders = {name for name, node in nodes.items() if node.get("uplink", 0)}  # by any uplink, since rates may be 0
        costs = {arc: fraction(link.get("cost", 0)) for arc, link in arcs.items()}
        public = fraction(problem.get("public_cost", 0))
        self.unit = math.lcm(public.denominator, *(cost.denominator for cost in costs.values()))
        self.cost, self.public, self.nodes = {arc: int(x * self.unit) for arc, x in costs.items()}, int(public * self.unit), nodes
        self.out = dict[str, list[str]]()
        for u, v in arcs:
            self.out.setdefault(u, []).append(v)

    def hosts(self, u: str, j: int) -> bool:
        """Whether a server hosts the service of a component."""
        service, offered = self.parts[j].get("service"), self.nodes[u].get("services")
        return service is None or offered is None or service in offered

    def moves(self, place: _Place) -> Iterator[tuple[_Place, int, tuple[tuple[tuple[str, ...], int], ...]]]:
        """Places that follow one, with the cost and what is used of resources; each use fits by itself."""
        u, j, passed, moving = place
        rate = self.rates[j]
        if j < len(self.parts) and self.hosts(u, j) and self.needs[j] <= self.free["capacity", u]:
            yield (u, j + 1, passed if self.total else 0, 0), 0, ((("capacity", u), self.needs[j]),)
        for v in self.out.get(u, ()) if moving < 2 and passed + moving <= self.most else ():
            if rate <= self.free["bandwidth", u, v]:
                yield (v, j, passed + moving, 1), self.cost[u, v], ((("bandwidth", u, v), rate),)
        if moving == 0 and u in self.senders and rate <= self.free["uplink", u]:
            for v in self.nodes:
                if v != u and rate <= self.free.get(("downlink", v), rate):
                    yield (v, j, passed, 2), self.public, ((("uplink", u), rate), (("downlink", v), rate))

    @cached_property
    def ahead(self) -> dict[_Place, int]:
        """The least cost from each place to the end of a map, with resources that do not add up."""
        back, waiting, seen = dict[_Place, list[tuple[_Place, int]]](), [(self.ends[0], 0, 0, 0)], {(self.ends[0], 0, 0, 0)}
        while waiting:
            place = waiting.pop()
            for after, cost, _ in self.moves(place):
                back.setdefault(after, []).append((place, cost))
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        least, heap = dict[_Place, int](), [(0, place) for place in seen if place[:2] == (self.ends[1], len(self.parts))]
        while heap:
            cost, place = heappop(heap)
            if place not in least:
                least[place] = cost
                for before, more in back.get(place, ()):
                    heappush(heap, (cost + more, before))
        return least

    def search(self, tracked: list[tuple[str, ...]], target: float, most: int) -> tuple[int, list[_Place] | None]:
        """Labels looked at in search of a map below the target that overloads no tracked resource, and the first such map.

        Cheapest prospect first. A label is dropped where another at its place costs and uses no more; a server that has room for
        all the rest of the task counts as unused.
        """
        number, ahead = {what: k for k, what in enumerate(tracked)}, self.ahead
        rest = [*accumulate(reversed(self.needs), initial=0)][::-1]
        begin, looked, order, kept = (self.ends[0], 0, 0, 0), 0, numbers_from(1), dict[_Place, list[tuple[int, ...]]]()
        heap: list[Any] = [(ahead[begin], 0, begin, 0, (0,) * len(tracked), None)] if begin in ahead else []
        while heap and heap[0][0] < target:
            _, _, place, cost, used, path = heappop(heap)
            path = (place, path)
            if place[:2] == (self.ends[1], len(self.parts)):
                return looked, _unwound(path)[::-1]
            need((looked := looked + 1) <= most, f"more than {most} labels")
            for after, more, uses in self.moves(place):
                now = list(used)
                for what, amount in uses:
                    if what in number and (what[0] == "capacity" or self.add_up):
                        now[number[what]] += amount
                if after not in ahead or any(now[k] > self.free[what] for what, k in number.items()):
                    continue
                for what, k in number.items():
                    if what[0] == "capacity" and self.free[what] - now[k] >= rest[after[1]]:
                        now[k] = 0
                label, others = (cost + more, *now), kept.setdefault(after, [])
                if not any(all(map(le, other, label)) for other in others):
                    others[:] = [other for other in others if not all(map(le, label, other))] + [label]
                    heappush(heap, (cost + more + ahead[after], next(order), after, cost + more, tuple(now), path))
        return looked, None

    def follow(self, places: list[_Place]) -> tuple[int, list[tuple[str, ...]]]:
        """The cost of a way through places, and the resources that it overloads."""
        total, used = 0, dict[tuple[str, ...], int]()
        for place, after in pairwise(places):
            options = {option: (cost, uses) for option, cost, uses in self.moves(place)}
            need(after in options, f"component {after[1]}: {place[0]} does not lead to {after[0]} within the limits")
            total += options[after][0]
            for what, amount in options[after][1]:
                used[what] = used.get(what, 0) + amount
        adds = {what: amount for what, amount in used.items() if what[0] == "capacity" or self.add_up}
        return total, [what for what, amount in adds.items() if amount > self.free.get(what, amount)]


def _unwound(path: Any) -> list[_Place]:
    """Places of a chain, the last first."""
    found = []
    while path is not None:
        place, path = path
        found.append(place)
    return found


def evaluate_map(problem: dict[str, Any], decision: Any) -> Fraction:
    """Prices of links and public hops of a map that keeps to all limits."""
    maps, nodes, routes = Maps(problem), decision["nodes"], decision["routes"]
    public = decision.get("public") or [False] * len(routes)
    need(len(nodes) == len(maps.parts) == len(routes) - 1 == len(public) - 1, "not one server and one route for each component")
    places: list[_Place] = [(maps.ends[0], 0, 0, 0)]
    for j, (route, over) in enumerate(zip(routes, public, strict=True)):
        need(route[0] == places[-1][0] and route[-1] == [*nodes, maps.ends[1]][j], f"hop {j}: the route ends elsewhere")
        need(not over or len(route) == 2, f"hop {j}: is no connection over the public network")
        for v in route[1:]:
            _, _, passed, moving = places[-1]
            places.append((v, j, passed, 2) if over else (v, j, passed + moving, 1))
        if j < len(nodes):
            places.append((route[-1], j + 1, places[-1][2] if maps.total else 0, 0))
    cost, overloaded = maps.follow(places)
    need(not overloaded, f"{overloaded[:1]}: more is used than there is")
    return Fraction(cost, maps.unit)


def check_label_setting(problem: dict[str, Any], _: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """`label-setting`: the resources that must be tracked for no cheaper map to be left.

    One line lists resources: ["capacity", server], ["bandwidth", source, target], ["uplink", server], ["downlink", server]. The
    checker searches for the cheapest map that overloads none of them, whatever it does to others, by labels: the cost of a
    beginning of a map, and what it uses of them. It proves the bound where nothing below it is left.
    """
    maps, tracked = Maps(problem), [tuple(what) for what in next(lines, [])]
    need(set(tracked) <= maps.free.keys(), "there is no such resource")
    bound = fraction(header["bound"]) if header["claim"] == "optimal" else None
    target = _NEVER if bound is None else math.ceil((bound - TOLERANCE) * maps.unit)
    looked, found = maps.search(tracked, target, MAX_PARTS)
    need(found is None, "there may be a better map")
    return f"no map is {'feasible' if bound is None else f'below {float(bound)!r} − 1e-6'} ({looked} labels)"


# --- formats ---

Check = Callable[[dict[str, Any], Any, dict[str, Any], Iterator[Any]], str]
PROGRAMS: dict[str, Callable[[dict[str, Any]], Program]] = {
    "edrp": deployment_program,
    "migration": migration_program,
    "link-allocation": link_allocation_program,
}
"""Builders of programs by kind of problem: every feasible decision is a point of no more value."""


def stated_program(lines: Iterator[Any]) -> tuple[Program, str]:
    """A program that a certificate states, and its hash: that of its lines as canonical JSON."""
    program, digest = Program(), hashlib.sha256()
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


def check_program(problem: dict[str, Any], decision: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """Branch and bound over a program that the checker builds from the instance, or that the certificate states.

    The header's `program` is "built" (see `PROGRAMS`), or a hash: then the program comes first, and the verdict is about it. A
    line [columns, rows, constant], for each column [cost, lower, upper, 1 if integer], for each row [lower, upper, column,
    coefficient, …]; null is no bound, numbers are decimals. The tree follows in pre-order, a line for each node:

    ["S", column, floor]     an integer column is at most floor, or at least floor + 1
    ["G", row, [columns]]    of a row that lets at most one of its columns be other than 0: all of these are 0, or all others
    ["B", [row, k, …]]       a leaf: multipliers k/2^40 of rows prove that nothing in it is below the bound − 1e-6
    ["F", [row, k, …]]       a leaf: the multipliers prove that there is nothing in it

    `Program.at_least` says how multipliers prove a bound, `close` where columns get the bounds that they lack, and `round` how
    the arithmetic is one of integers.
    """
    target = fraction(header["bound"]) if header["claim"] == "optimal" else None
    if header["program"] == "built":
        program, what = PROGRAMS[problem["kind"]](problem), "decision"
    else:
        program, digest = stated_program(lines)
        need(digest == header["program"], "the program has another hash")
        what = f"point of the program {digest}"
    leaves = check_tree(program, lines, target)
    return f"no {what} is feasible ({leaves})" if target is None else f"no {what} is below {float(target)!r} − 1e-6 ({leaves})"


DECISION = {
    "edrp": "deployment",
    "latency-aware": "deployment",
    "migration": "intervals",
    "migration-policy": "intervals",
    "rescale": "deployment",
    "enactment": "hosts",
    "leasing": "hosts",
    "link-allocation": "allocations",
}
"""Where the solution document of a kind keeps the decision; of other kinds the decision is the whole document."""

EVALUATE: dict[str, Callable[[dict[str, Any], Any], Fraction]] = {
    "edrp": evaluate_deployment,
    "latency-aware": evaluate_latency_aware,
    "migration": evaluate_migration,
    "link-allocation": evaluate_link_allocation,
    "mapping": evaluate_map,
}
"""Objective of a decision that keeps to all limits, by kind of problem; `Refused` where it does not."""

FORMATS: dict[str, Check] = {
    "program": check_program,
    "ssm": check_ssm,
    "pmc": check_pmc,
    "eliminate": check_eliminate,
    "column-generation": check_column_generation,
    "label-setting": check_label_setting,
}
"""Functions of problem, decision, header and the remaining lines (parsed), by format."""

KINDS = {
    "ssm": "migration",
    "pmc": "migration-policy",
    "eliminate": "edrp",
    "column-generation": "latency-aware",
    "label-setting": "mapping",
}
"""The kind of problem that a format is for; one of programs is for all."""

_PLACED = {
    "application": "operators streams",
    "application.operators": "name state_size code_size resources candidates external_rate selectivity",
    "application.streams": "source target rate partitioning usage",
    "network": "nodes links symmetric store within_zone between_zones",
    "network.nodes": "name coordinates resources capacity speedup spawn_time availability zone store_delay store_bandwidth",
    "network.links": "source target delay bandwidth cost availability",
    "network.within_zone": "delay bandwidth cost availability",
    "network.between_zones": "delay bandwidth cost availability",
    "network.store": "delay bandwidth local_bandwidth",
}
_SERVERS = {
    "network": "nodes links symmetric",
    "network.nodes": "name coordinates capacity total_capacity services uplink downlink access_delay",
    "network.links": "source target bandwidth cost delay",
}
_METRICS = "response_time cost downtime network_usage availability peak_load peak_loads"
_TASKS = "kind work state_size intervals nodes tolerance allow_empty"
FIELDS: dict[str, dict[str, str]] = {
    "edrp": {
        **_PLACED,
        "": "kind application network current weights limits synchronisation_time reconfiguration priorities",
        "application.operators": f"{_PLACED['application.operators']} latency cost max_replicas min_replicas usage",
        "application.operators.latency": "model service_rate replicas capacities coefficients rates latencies",
        "weights": _METRICS,
        "limits": _METRICS,
    },
    "latency-aware": {
        **_PLACED,
        "": "kind application network current weights utilisation",
        "application.operators": f"{_PLACED['application.operators']} instances",
        "weights": "latency supervisors colocation events",
    },
    "migration": {"": _TASKS},
    "migration-policy": {"": f"{_TASKS} node_counts transitions discount"},
    "link-allocation": {
        **_SERVERS,
        "": "kind network flows max_links forwarding_price public_share keep",
        "flows": "name source target rate price route",
    },
    "mapping": {
        **_SERVERS,
        "": "kind network task max_empty_hops empty_hops bandwidth cost public_cost",
        "task": "source delivery components bandwidths rate price",
        "task.components": "name shrinkage capacity cpu_factor service",
    },
}
"""Fields of instances by kind and place. Objects at other places are by name: of resources, operators or metrics."""
FLAGS, SIGNED = (
    {"allow_empty", "keep", "network.symmetric"},
    {"network.nodes.coordinates", "application.operators.latency.coefficients"},
)


def _check_fields(known: dict[str, str], value: Any, place: str = "") -> None:
    """A part of an instance has no field that the checker does not know, and is of the sign and type that it takes."""
    if isinstance(value, list):
        for part in value:
            _check_fields(known, part, place)
    elif isinstance(value, dict):
        for name, part in value.items():
            need(place not in known or name in known[place].split(), f"{place or 'instance'}: has no field {name[:40]!r}")
            _check_fields(known, part, f"{place}.{name}".lstrip("."))
    else:
        need(isinstance(value, bool) == (place in FLAGS), f"{place}: {str(value)[:40]!r} is of another type")
        need(not isinstance(value, int | Fraction) or value >= 0 or place in SIGNED, f"{place}: is below 0")


def check(problem: dict[str, Any], solution: dict[str, Any], lines: Iterable[str]) -> str:
    """Say what a certificate proves of a solution; `Refused` where something does not hold."""
    rest = _within_time(lines)
    header: Any = next(rest, None)
    kind = problem.get("kind")
    need(isinstance(header, dict), "the certificate is empty, or its first line is no object")
    need(header.get("format") in FORMATS, f"format {str(header.get('format'))[:40]!r} is none of {', '.join(FORMATS)}")
    need(header.get("version") == VERSION, f"version {str(header.get('version'))[:40]}; version {VERSION} is read")
    need(kind == KINDS.get(header["format"], kind), f"this format is for problems of kind {KINDS.get(header['format'])}")
    need(instance_hash(problem) in header.get("instance", ()), "the certificate is of another instance")
    if kind in FIELDS:
        _check_fields(FIELDS[str(kind)], problem)
    need(solution.get("kind") == f"{kind}-solution", f"the solution is no {kind}-solution")
    need(header.get("claim") in ("optimal", "infeasible"), "claim: must be optimal or infeasible")
    status = str(solution.get("status"))[:40]
    need(header["claim"] == status, f"the certificate claims {header['claim']}, the solution {status}")
    decision = solution.get(DECISION[str(kind)]) if kind in DECISION else solution
    if header["claim"] == "optimal":
        _check_value(problem, decision, fraction(solution.get("objective")), fraction(header.get("bound")))
    return FORMATS[header["format"]](problem, decision, header, rest)


def _within_time(lines: Iterable[str]) -> Iterator[Any]:
    """The lines parsed, as long as there is time."""
    started = monotonic()
    for line in lines:
        need(monotonic() - started < MAX_SECONDS, f"more than {MAX_SECONDS} s")
        yield parse(line)


def _check_value(problem: dict[str, Any], decision: Any, objective: Fraction, bound: Fraction) -> None:
    """The decision keeps to the limits, and its value is the stated objective, and the bound."""
    evaluate = EVALUATE.get(problem["kind"])
    try:
        value = objective if evaluate is None else evaluate(problem, decision)
    except Unknown:
        value = objective  # which the format may refuse
    allowed = SAME * max(Fraction(1), abs(value))
    need(abs(value - objective) <= allowed, f"the decision is worth {float(value)!r}, the solution says {float(objective)!r}")
    need(abs(value - bound) <= allowed, f"the decision is worth {float(value)!r}, the certificate says {float(bound)!r}")


def check_files(instance: str, solution: str, certificate: str) -> str:
    """Say what a certificate proves of a solution, given the paths of the files; `Refused` where something does not hold."""
    problem, answer = (read_document(path, read_text(path)) for path in (instance, solution))
    return check(problem, answer, read_lines(certificate))


def verdict(judge: Callable[..., str], *paths: str) -> str:
    """Say in one line what a judge finds proven in files, or the first thing that does not hold."""
    try:
        said = f"proven: {judge(*paths)}"
    except (Refused, OSError, UnicodeDecodeError) as error:
        said = f"not proven: {error}"
    except MemoryError:
        said = "not proven: this takes more memory than there is"
    except MALFORMED as error:
        said = f"not proven: something is malformed ({type(error).__name__}: {str(error)[:100]})"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in said)  # names may hold what a terminal obeys


if __name__ == "__main__":
    said = verdict(check_files, *sys.argv[1:]) if len(sys.argv) == 4 else "usage: python checker.py INSTANCE SOLUTION CERTIFICATE"
    print(said)  # noqa: T201 - a program of its own
    sys.exit(0 if said.startswith("proven: ") else 2)
