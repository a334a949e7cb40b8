"""Format `eliminate`: deployments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, product
from itertools import combinations_with_replacement as multisets
from operator import add, le
from typing import Any

from .deployment import IN_FLIGHT, Deployments, seconds_at
from .network import amounts, by_resource
from .program import PLACES, SHIFT
from .reading import MAX_PARTS, MAX_STATES, NEVER, SLACK, TOLERANCE, Refused, claimed_bound, fraction, need, refuted

SUMMED = ("response_time", "cost")
Choice = tuple[tuple[int, int], ...]  # nodes by number, with the replicas on each
Tables = list[tuple[tuple[int, ...], dict[Any, Any]]]  # by operator: those that matter, and least costs by their choices


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
        position, nodes = {name: i for i, name in enumerate(order)}, list(model.nodes)
        self.streams = [(position[source], position[target]) for source, target in model.streams]
        need(all(i < j for i, j in self.streams), "order: a stream goes backward")
        factors, limits = [model.factor(name) for name in SUMMED], list[Any](model.limits.get(name) for name in SUMMED)
        if shares is not None:
            valid = all(x >= 0 and (limit or not x) for x, limit in zip(shares, limits, strict=True))
            need(valid, "shares: below 0, or of a metric without limit")
            factors = [x / limit if x else x for x, limit in zip(shares, limits, strict=True)]
        flight, self.stop = (Fraction(0) if shares is not None else model.factor(x) for x in (IN_FLIGHT, "downtime"))
        units = [(x or 1) * 2**SHIFT for x in factors]
        if flight:
            units[1], limits[1] = factors[1] * 2**SHIFT, None
        self.counts = [int(factors[0] > 0), int(factors[1] + flight > 0)]
        self.limits = [NEVER if m is None else math.ceil(m * SLACK * unit) for m, unit in zip(limits, units, strict=True)]
        self.node, speeds = (
            {name: u for u, name in enumerate(nodes)},
            [fraction(model.nodes[name].get("speedup", 1)) for name in nodes],
        )
        self.operators = [model.operators[name] for name in order]
        self.time: list[dict[int, list[Any]]] = []  # by operator, stable number of replicas and node
        for name, operator in zip(order, self.operators, strict=True):
            degrees = range(operator.get("min_replicas", 1), operator.get("max_replicas", 1) + 1)
            rates = {r: (operator.get("latency"), model.load[name] / r, r) for r in degrees}
            times = {r: {v: seconds_at(*rate, v) for v in set(speeds)} for r, rate in rates.items()}
            whole = {r: {v: NEVER if s is None else math.floor(s * units[0]) for v, s in t.items()} for r, t in times.items()}
            self.time.append({r: [t[v] for v in speeds] for r, t in whole.items() if min(t.values()) < NEVER})
        self.price = [math.floor(model.price(operator) * units[1]) for operator in self.operators]
        links = [[{"delay": 0} if u == v else model.find_link(u, v) for v in nodes] for u in nodes]
        self.hop = [[math.floor(link["delay"] * units[0]) if link else NEVER for link in row] for row in links]
        flight, limit = flight * 2**SHIFT, model.limits.get(IN_FLIGHT)
        self.most_flying = NEVER if limit is None else math.ceil(limit * SLACK * 2**SHIFT)
        flying = [[link["delay"] * 2**SHIFT if link and limit is not None else 0 for link in row] for row in links]
        self.flight = [[[math.floor(model.rate[s] * x) if x else 0 for x in row] for row in flying] for s in model.streams]
        tolls = [[link.get("cost", 0) * units[1] + link["delay"] * flight if link else 0 for link in row] for row in links]
        self.toll = [[[math.floor(model.rate[s] * x) if x else 0 for x in row] for row in tolls] for s in model.streams]
        self.need = [by_resource(operator.get("resources", 1)) for operator in self.operators]
        self.free = [amounts(model.nodes[name]) for name in nodes]
        scale = math.lcm(*(fraction(amount).denominator for need_of in self.need for amount in need_of.values()))
        self.whole_need = [[(name, int(amount * scale)) for name, amount in need_of.items()] for need_of in self.need]
        has = [(u, free) for u, free in enumerate(self.free) if free is not None]
        self.room = {(u, name): math.floor(x * SLACK * scale) for u, free in has for name, x in free.items()}
        self.left: list[list[Any]] = [[self.node[x] for x in o.get("candidates") or nodes] for o in self.operators]
        longest = model.limits.get("downtime")
        self.longest_stop = NEVER if longest is None else longest * SLACK
        self.listed, self.known, self.names = False, dict[Any, tuple[Any, int, int]](), nodes
        self.before = [() if model.current is None else tuple(model.current[name]) for name in order]

    def used(self, choices: Iterable[tuple[int, Choice]]) -> Any:
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
        costs = (
            (k * t[choice] >> PLACES) + r * money + rents[choice] + (r - 1) * cheapest for r, t in times if t[choice] < NEVER
        )
        return min(costs, default=NEVER) + stop

    def between(self, e: int, k: int, a: Any, b: Any) -> Any:
        """Cost of a stream with flow k between nodes, of which each end surely has a replica, or between choices."""
        if isinstance(a, tuple):
            hop, toll, _ = self.far(e, a, b)
        else:
            hop, toll = self.hop[a][b], self.toll[e][a][b] // max(max(self.time[i], default=1) for i in self.streams[e])
        return hop if hop == NEVER else (k * self.counts[0] * hop >> PLACES) + toll * self.counts[1]

    def far(self, e: int, a: Choice, b: Choice) -> tuple[Any, int, int]:
        """The longest hop of a stream between two choices, its toll, and its tuples in flight where these have a limit."""
        if (e, a, b) not in self.known:
            pairs, shares = list(product(a, b)), sum(n for _, n in a) * sum(n for _, n in b)
            hop = max(self.hop[u][v] for (u, _), (v, _) in pairs)
            toll, flown = (sum(n * m * x[e][u][v] for (u, n), (v, m) in pairs) // shares for x in (self.toll, self.flight))
            self.known[e, a, b] = hop, toll, flown
        return self.known[e, a, b]

    def sweep(self, prices: Prices, limit: int) -> tuple[list[dict[Any, Any]], Tables]:
        """Return the least cost of every choice left to each operator, and the tables; costs that reach the limit are left out.

        A dynamic program over the operators in order, which remembers those with listed streams to later ones.
        """
        places, flow, choices = range(len(self.operators)), prices.flow, self.left
        unary = [[self.own(i, choice, prices) for choice in choices[i]] for i in places]
        least_later = [*accumulate((min(row, default=NEVER) for row in reversed(unary)), initial=0)][::-1]
        fronts = [tuple(sorted({s for s, t in map(self.streams.__getitem__, flow) if s < i <= t})) for i in range(len(unary) + 1)]
        forward: list[dict[tuple[int, ...], Any]] = [{(): 0}]
        steps = []
        for i in places:
            into = [(fronts[i].index(self.streams[e][0]), e, k) for e, k in flow.items() if self.streams[e][1] == i]
            pairs = [(p, [[self.between(e, k, a, b) for b in choices[i]] for a in choices[fronts[i][p]]]) for p, e, k in into]
            keep, stays = [p for p, j in enumerate(fronts[i]) if j in fronts[i + 1]], i in fronts[i + 1]
            steps.append((pairs, keep, stays))
            table: dict[tuple[int, ...], Any] = {}
            for state, cost in forward[i].items():
                remembered, rows = tuple(state[p] for p in keep), [unary[i], *(pair[state[p]] for p, pair in pairs)]
                for x, more in enumerate(map(sum, zip(*rows, strict=True))):
                    after = (*remembered, x) if stays else remembered
                    if cost + more + least_later[i + 1] < limit and cost + more < table.get(after, NEVER):
                        table[after] = cost + more
            need(len(table) <= MAX_STATES, f"more than {MAX_STATES} states")
            forward.append(table)
        cost_to_go: dict[tuple[int, ...], Any] = {(): 0}
        tables, least_costs = [(fronts[-1], cost_to_go)], list[dict[Any, Any]]()
        for i in reversed(places):
            pairs, keep, stays = steps[i]
            before, marginal = {}, [NEVER] * len(choices[i])
            for state, cost in forward[i].items():
                remembered, rows = tuple(state[p] for p in keep), [unary[i], *(pair[state[p]] for p, pair in pairs)]
                best = NEVER
                for x, more in enumerate(map(sum, zip(*rows, strict=True))):
                    through = more + cost_to_go.get((*remembered, x) if stays else remembered, NEVER)
                    best, marginal[x] = min(best, through), min(marginal[x], cost + through)
                before[state] = best
            cost_to_go = before
            tables.append((fronts[i], cost_to_go))
            least_costs.append(dict(zip(choices[i], marginal, strict=True)))
        return least_costs[::-1], tables[::-1]

    def shrink(self, prices: Prices, target: int, choices: bool) -> bool:
        """Take away what no deployment below the target uses; `choices`: go on from nodes to choices. Whether any may be left."""
        limit = target + prices.worth
        least_costs, _ = self.sweep(prices, limit)
        if choices and not self.listed:
            remaining = []
            for i, row in enumerate(least_costs):
                above = {u: cost - self.own(i, u, prices) for u, cost in row.items() if cost < limit}
                some = self._choices(i, list(above))
                remaining.append([c for c in some if max(above[u] for u, _ in c) + self.own(i, c, prices) < limit])
            self.left, self.listed = remaining, True
        else:
            self.left = [[choice for choice, cost in row.items() if cost < limit] for row in least_costs]
        return all(self.left)

    def _choices(self, i: int, nodes: list[int]) -> Iterator[Choice]:
        """Return every choice of nodes that an operator has among `nodes`."""
        for r in self.time[i]:
            need(math.comb(len(nodes) + r - 1, r) <= MAX_STATES, f"more than {MAX_STATES} choices")
            for members in multisets(nodes, r):
                choice = tuple(sorted(Counter(members).items()))
                if max(self.time[i][r][u] for u in members) == NEVER:
                    continue
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
        units: int = math.floor(self.stop * 2**SHIFT * seconds)
        return units

    def stops(self, i: int, choice: Choice) -> Fraction:
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
        for i, choices in enumerate(self.left):
            front, into = {s for s, t in self.streams if s <= i < t}, [e for e, (_, t) in enumerate(self.streams) if t == i]
            rents = [[sum(n * p.rents[i][u] for u, n in choice) for p in several] for choice in choices]
            follows = [self._follows(prices, table[i + 1], i) for prices, table in zip(several, tables, strict=True)]
            groups = dict[Any, list[tuple[Any, Any]]]()
            stops = [self.downtime(i, choice) for choice in choices]
            for (before, chosen, finish, end, (paid, flown, stopped), memory), (x, choice) in product(parts, enumerate(choices)):
                looked += 1
                hops = [(self.streams[e][0], *self.far(e, chosen[self.streams[e][0]], choice)) for e in into]
                r = sum(n for _, n in choice)
                finished = max((finish[s] + hop for s, hop, *_ in hops), default=0) + max(self.time[i][r][u] for u, _ in choice)
                top, numbers, times = max(end, finished), (*before, x), (*finish, finished)
                cost = paid + r * self.price[i] + sum(toll for *_, toll, _ in hops)
                held_now = tuple(map(add, memory, rents[x]))
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
        flows, (front, cost_to_go) = [(j, w * self.counts[0]) for j, w in enumerate(weights) if w], table

        def follow(numbers: Any, times: Any) -> Any:
            total = cost_to_go.get(tuple(numbers[j] for j in front), NEVER)
            return total - prices.worth + (sum(w * times[j] for j, w in flows) >> PLACES)

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
    bound = claimed_bound(header)
    shares = [fraction(share) for share in header["shares"]] if bound is None else None
    model, claim = Placement(problem, header["order"], shares), f"no deployment is {refuted(bound)}"
    if bound is not None:
        target = math.ceil((bound - TOLERANCE) * 2**SHIFT)
    else:
        target = math.floor(sum(shares or ()) * SLACK * 2**SHIFT) + 1
    for line in lines:
        if line["do"] == "search":
            need(model.listed, "there are no choices to search")
            need(not any("stop" in prices for prices in line["prices"]), "a search counts the downtime by itself")
            looked = model.search([Prices(model, prices) for prices in line["prices"]], target, MAX_PARTS)
            return f"{claim} ({looked} parts of deployments searched)"
        if not model.shrink(Prices(model, line), target, line["do"] == "choices"):
            return claim
    raise Refused("the certificate ends before all deployments are excluded")
