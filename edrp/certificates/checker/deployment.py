"""Documents of kind "edrp": the value of a deployment, and their program.

Availability, priorities, the reconfiguration of Storm, and rules and metrics in Python are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement as multisets
from itertools import islice, pairwise, product
from operator import mul
from typing import Any

from .fields import METRICS
from .network import Application, by_resource, fits, unit_patterns, units_of
from .program import ExactProgram
from .reading import MAX_PARTS, SLACK, Unknown, Unsupported, fraction, need
from .rules import penalties

IN_FLIGHT = "network_usage"
"""Name of the metric that sums tuples in flight."""

Place = tuple[str, str]
"""A node, and a shared resource that it has."""


class Deployments(Application):
    """The parts of a deployment's metrics: of one operator on a multiset of nodes, and of a stream between two of them."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem)
        self.current = problem.get("current")
        self.weights = _by_metric(problem.get("weights") or {"response_time": Fraction(1, 2), "cost": Fraction(1, 2)})
        self.limits = _by_metric(problem.get("limits") or {})
        storm = self.current is not None and problem.get("reconfiguration") == "storm"
        if "availability" in self.limits or self.weights.get("availability") or storm:
            raise Unknown("the checker knows neither availability nor Storm's reconfiguration")
        named = [name for part in (self.weights, self.limits) for name in part if part[name]]
        own = [name for name in named if name.partition(".")[0] not in METRICS]
        if own:
            raise Unknown(f"the checker does not know what metrics in Python say, such as {own[0]!r}")
        if problem.get("priorities"):
            raise Unsupported("the checker does not know priorities")
        self.peaks = sorted({name for name in named if name.startswith("peak_load")})
        self.stream = {(stream["source"], stream["target"]): stream for stream in problem["application"].get("streams", ())}
        self.pause = fraction(problem.get("synchronisation_time", 0))

    def price(self, operator: dict[str, Any]) -> Fraction:
        """Money/h of one replica."""
        price, resources = operator.get("cost", 0), operator.get("resources", 1)
        if isinstance(price, dict):
            return sum((fraction(amount) * resources[name] for name, amount in price.items()), Fraction(0))
        return fraction(price if isinstance(resources, dict) else price * resources)

    def alone(self, name: str, nodes: tuple[str, ...]) -> tuple[Fraction, Fraction, Fraction] | None:
        """Latency, cost and downtime of an operator; None where it is overloaded or too much for a node."""
        operator, need_of, used = self.operators[name], by_resource(self.operators[name].get("resources", 1)), set(nodes)
        rate, speeds = self.load[name] / len(nodes), {fraction(self.nodes[node].get("speedup", 1)) for node in used}
        seconds = [seconds_at(operator.get("latency"), rate, len(nodes), speed) for speed in speeds]
        if None in seconds or any(self.excess(node, {r: [a] * nodes.count(node) for r, a in need_of.items()}) for node in used):
            return None
        return (
            max(value for value in seconds if value is not None),
            self.price(operator) * len(nodes),
            self.downtime(operator, nodes),
        )

    def excess(self, node: str, used: dict[str, list[Any]]) -> bool:
        """Whether needs of replicas are more than a node has of a resource."""
        return any(not fits(self.nodes[node], resource, needs) for resource, needs in used.items())

    def between(self, stream: tuple[str, str], us: tuple[str, ...], vs: tuple[str, ...]) -> tuple[Fraction, Fraction, Fraction]:
        """Longest delay, cost and tuples in flight of a stream."""
        pairs = [(u, v) for u, v in product(set(us), set(vs)) if u != v]
        links, counts = [self.link(u, v) for u, v in pairs], [us.count(u) * vs.count(v) for u, v in pairs]
        share, delays = self.rate[stream] / (len(us) * len(vs)), [fraction(link["delay"]) for link in links]
        cost = sum(count * link.get("cost", 0) for count, link in zip(counts, links, strict=True))
        return max(delays, default=Fraction(0)), share * cost, share * sum(map(mul, counts, delays))

    def asked(self, name: str, nodes: tuple[str, ...]) -> Iterator[tuple[Place, Fraction]]:
        """Shares of shared resources of nodes that replicas of an operator ask for."""
        for resource, usage in (self.operators[name].get("usage") or {}).items() if self.peaks else ():
            rate = self.load[name] / len(nodes)
            amount = fraction(usage.get("per_replica", 0)) + rate * usage.get("per_tuple", 0)
            yield from ((place, amount / self.capacity(place)) for place in product(nodes, [resource]) if amount)

    def sent(self, stream: tuple[str, str], us: tuple[str, ...], vs: tuple[str, ...]) -> Iterator[tuple[Place, Fraction]]:
        """Shares of shared resources of the senders' nodes that tuples ask for which a stream sends to other nodes."""
        for resource, per_tuple in (self.stream[stream].get("usage") or {}).items() if self.peaks else ():
            for u in set(us):
                senders, receivers = us.count(u), vs.count(u)
                left = senders * Fraction(len(vs) - receivers, len(vs))
                if self.stream[stream].get("partitioning") == "forward":
                    left = Fraction(max(senders - receivers, 0))
                if amount := per_tuple * self.rate[stream] * left / len(us):
                    yield (u, resource), amount / self.capacity((u, resource))

    def capacity(self, place: Place) -> Fraction:
        """Units/s of a shared resource that a node has."""
        node, resource = place
        capacity = (self.nodes[node].get("capacity") or {}).get(resource)
        need(capacity, f"node {node} has no {resource}")
        return fraction(capacity)

    def counts(self, peak: str, place: Place) -> bool:
        """Whether a peak load is that of a resource, or of all."""
        return peak in ("peak_load", f"peak_loads.{place[1]}")

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
        store, described = self.network.get("store") or {}, self.nodes[node]
        delay = described["store_delay"] if described.get("store_delay") is not None else store.get("delay", 0)
        bandwidth = described["store_bandwidth"] if described.get("store_bandwidth") is not None else store.get("bandwidth")
        return 2 * fraction(delay) + (fraction(size) / bandwidth if bandwidth else 0)

    def factor(self, metric: str) -> Fraction:
        """Objective for each unit of a metric."""
        weight = fraction(self.weights.get(metric, 0))
        return weight / self.limits.get(metric, 1) if weight else weight


def _by_metric(values: dict[str, Any]) -> dict[str, Any]:
    """Weights or limits by metric; peak loads of single resources are called `peak_loads.<resource>`."""
    single = {f"peak_loads.{resource}": value for resource, value in (values.get("peak_loads") or {}).items()}
    return {name: value for name, value in (values | single).items() if name != "peak_loads" and value is not None}


def latency_at(model: Any, rate: Fraction, replicas: int) -> Fraction | None:
    """Latency in seconds of one of `replicas` replicas at a rate; None for an overload."""
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


def seconds_at(model: Any, rate: Fraction, replicas: int, speed: Fraction) -> Fraction | None:
    """Latency on a node of a speed-up (EDRP, eq. 1); None for an overload, which nodes slower than the reference reach sooner."""
    named = model is not None and model.get("model") != "polynomial"
    if named and speed < 1 and latency_at(model, rate / speed, replicas) is None:
        return None
    latency = latency_at(model, rate, replicas)
    return None if latency is None else latency / speed


def evaluate_deployment(problem: dict[str, Any], decision: Any) -> Fraction:
    """Weighted sum of response time, cost, downtime and tuples in flight (EDRP, eq. 12), each within its limit, and penalties."""
    model, used, finish = Deployments(problem), dict[str, dict[str, list[Any]]](), dict[str, Fraction]()
    metrics = dict.fromkeys(("response_time", "cost", "downtime", IN_FLIGHT, *model.peaks), Fraction(0))
    asked = list[tuple[Place, Fraction]]()
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
            metrics[IN_FLIGHT] += usage
            asked += model.sent((source, name), tuple(decision[source]), nodes)
        asked += model.asked(name, nodes)
        finish[name] = ready + latency
        metrics["cost"] += cost
        metrics["downtime"] = max(metrics["downtime"], downtime)
        for node, (resource, amount) in product(nodes, by_resource(operator.get("resources", 1)).items()):
            used.setdefault(node, {}).setdefault(resource, []).append(amount)
    metrics["response_time"] = max(finish.values())
    shares = {place: sum((share for there, share in asked if there == place), Fraction(0)) for place, _ in asked}
    metrics |= {
        peak: max((share for place, share in shares.items() if model.counts(peak, place)), default=Fraction(0))
        for peak in model.peaks
    }
    for name, limit in model.limits.items():
        need(metrics[name] <= limit * SLACK, f"{name} is {float(metrics[name])!r} against {float(limit)!r}")
    for node, needs in used.items():
        need(not model.excess(node, needs), f"node {node}: too much of a resource")
    return sum((model.factor(name) * value for name, value in metrics.items()), penalties(model.rules, decision))


def deployment_program(problem: dict[str, Any]) -> ExactProgram:
    """EDRP's program (eqs. 12–23): a column for each operator and multiset of nodes, and for each pair of them along a stream.

    In place of a row for each path (eq. 13) every operator has a column for the time by which it is done.
    Rows of rules follow last.
    """
    model, program, used = Deployments(problem), ExactProgram(), dict[Any, list[tuple[int, Any]]]()
    limit = {name: fraction(value) * SLACK for name, value in model.limits.items()}
    placed, flows, finish, latest = dict[str, dict[Any, int]](), list[Any](), dict[str, int](), dict[str, Fraction]()
    total = dict[str, list[tuple[int, Fraction]]]({"cost": [], IN_FLIGHT: []})
    asked = dict[Place, list[tuple[int, Fraction]]]()
    last = program.column(model.factor("response_time"), 0, None)
    pause = program.column(model.factor("downtime"), 0, 0)
    for name in model.order:
        operator, placed[name] = model.operators[name], {}
        replicas = range(operator.get("min_replicas", 1), operator.get("max_replicas", 1) + 1)
        own_downtime, longest = [(pause, Fraction(1))], list[tuple[int, Fraction]]()
        choices = (nodes for k in replicas for nodes in multisets(sorted(operator.get("candidates") or model.nodes), k))
        for number, nodes in enumerate(choices):
            need(number < MAX_PARTS, f"more than {MAX_PARTS} choices of nodes for {name}")
            parts = model.alone(name, nodes)
            if parts is not None:
                column = placed[name][nodes] = program.column(model.factor("cost") * parts[1], integer=True)
                longest.append((column, parts[0]))
                total["cost"].append((column, parts[1]))
                _add_shares(asked, column, model.asked(name, nodes))
                own_downtime.append((column, -parts[2]))
                program.upper[pause] = max(program.upper[pause] or Fraction(0), parts[2])
                for node, (resource, amount) in product(nodes, by_resource(operator.get("resources", 1)).items()):
                    used.setdefault((node, resource), []).append((column, amount))
        latest[name] = latest_end = max((value for _, value in longest), default=Fraction(0))
        finish[name] = program.column(0, min((value for _, value in longest), default=0), latest_end)
        program.row([(column, 1) for column in placed[name].values()], 1, 1)
        program.row(own_downtime, 0)
        program.row([(finish[name], 1), *((column, -value) for column, value in longest)], 0)
        for source in model.before[name]:
            out, into = {us: list[int]() for us in placed[source]}, {vs: list[int]() for vs in placed[name]}
            arrival = [(finish[name], Fraction(1)), (finish[source], Fraction(-1))]
            arrival += [(column, -value) for column, value in longest]
            slowest = Fraction(0)
            for us, vs in product(placed[source], placed[name]):
                delay, cost, usage = model.between((source, name), us, vs)
                column = program.column(model.factor("cost") * cost + model.factor(IN_FLIGHT) * usage)
                out[us].append(column)
                into[vs].append(column)
                arrival.append((column, -delay))
                slowest = max(slowest, delay)
                total["cost"].append((column, cost))
                total[IN_FLIGHT].append((column, usage))
                _add_shares(asked, column, model.sent((source, name), us, vs))
            flows += [(placed[source][us], columns) for us, columns in out.items()]
            flows += [(placed[name][vs], columns) for vs, columns in into.items()]
            program.row(arrival, 0)
            latest[name] = max(latest[name], latest[source] + slowest + latest_end)
        program.upper[finish[name]] = latest[name]
        program.row([(last, 1), (finish[name], -1)], 0)
    program.upper[pause] = min(program.upper[pause] or Fraction(0), limit.get("downtime", program.upper[pause] or Fraction(0)))
    program.upper[last] = min(max(latest.values()), limit.get("response_time", max(latest.values())))
    for column, columns in flows:
        program.row([(column, -1), *((other, 1) for other in columns)], 0, 0)
    for metric, entries in total.items():
        if metric in limit:
            program.row(entries, None, limit[metric])
    _add_node_rows(program, model, asked, used)
    for rule in model.rules:
        rule.add_to(program, placed)
    return program


def _add_node_rows(
    program: ExactProgram,
    model: Deployments,
    asked: dict[Place, list[tuple[int, Fraction]]],
    used: dict[Any, list[tuple[int, Any]]],
) -> None:
    """Peak loads are at least the shares that are asked for of each node, and each node has room for what runs there."""
    for peak in model.peaks:
        limit = model.limits.get(peak)
        column = program.column(model.factor(peak), 0, None if limit is None else fraction(limit) * SLACK)
        for place in filter(partial(model.counts, peak), asked):
            program.row([(column, 1), *((other, -share) for other, share in asked[place])], 0)
    for (node, resource), entries in used.items():
        free = model.nodes[node].get("resources")
        if (units := units_of(model.nodes[node], resource)) is not None:
            _add_unit_rows(program, entries, units)
        elif free is not None:
            program.row(entries, None, fraction(by_resource(free).get(resource, 0)) * SLACK)


def _add_shares(asked: dict[Place, list[tuple[int, Fraction]]], column: int, shares: Iterable[tuple[Place, Fraction]]) -> None:
    for place, share in shares:
        asked.setdefault(place, []).append((column, share))


def _add_unit_rows(program: ExactProgram, entries: list[tuple[int, Any]], units: int) -> None:
    """Whole units and those filled by patterns of fractions are no more than there are; patterns hold all fractions."""
    kinds = sorted({amount for _, amount in entries if 0 < amount < 1}, reverse=True)
    ways = unit_patterns(kinds, [int(SLACK / amount) for amount in kinds]) if kinds else ()
    patterns = list(islice(ways, MAX_PARTS + 1))
    need(len(patterns) <= MAX_PARTS, f"more than {MAX_PARTS} ways to fill a unit")
    shared = [(program.column(0, 0, units, integer=True), pattern) for pattern in patterns]
    program.row([*((column, int(amount)) for column, amount in entries), *((column, 1) for column, _ in shared)], None, units)
    for k, demand in enumerate(kinds):
        held = [(column, -pattern[k]) for column, pattern in shared]
        program.row([*held, *((column, 1) for column, amount in entries if amount == demand)], None, 0)
