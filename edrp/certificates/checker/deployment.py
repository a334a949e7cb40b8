"""Documents of kind "edrp": the value of a deployment, and their program.

Availability, peak loads, priorities, the reconfiguration of Storm, and rules and metrics in Python are not known.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement as multisets
from itertools import pairwise, product
from typing import Any

from .fields import METRICS
from .network import Application, by_resource
from .program import ExactProgram
from .reading import MAX_PARTS, SLACK, Unknown, Unsupported, fraction, need
from .rules import penalties

IN_FLIGHT = "network_usage"
"""Name of the metric that sums tuples in flight."""


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
        own = [name for part in (self.weights, self.limits) for name in part if name not in METRICS and part[name]]
        if own:
            raise Unknown(f"the checker does not know what metrics in Python say, such as {own[0]!r}")
        peaks = [name for part in (self.weights, self.limits) for name in ("peak_load", "peak_loads") if part.get(name)]
        if peaks or problem.get("priorities"):
            raise Unsupported("the checker knows neither peak loads nor priorities")
        self.pause = fraction(problem.get("synchronisation_time", 0))

    def price(self, operator: dict[str, Any]) -> Fraction:
        """Money/h of one replica."""
        price, resources = operator.get("cost", 0), operator.get("resources", 1)
        if isinstance(price, dict):
            return sum((fraction(amount) * resources[name] for name, amount in price.items()), Fraction(0))
        return fraction(price if isinstance(resources, dict) else price * resources)

    def alone(self, name: str, nodes: tuple[str, ...]) -> tuple[Fraction, Fraction, Fraction] | None:
        """Latency, cost and downtime of an operator; None where it is overloaded or too much for a node."""
        operator, need_of = self.operators[name], by_resource(self.operators[name].get("resources", 1))
        latency = latency_at(operator.get("latency"), self.load[name] / len(nodes), len(nodes))
        if latency is None or any(self.excess(node, {r: a * nodes.count(node) for r, a in need_of.items()}) for node in nodes):
            return None
        slowest = max(latency / fraction(self.nodes[node].get("speedup", 1)) for node in nodes)
        return slowest, self.price(operator) * len(nodes), self.downtime(operator, nodes)

    def excess(self, node: str, used: dict[str, Any]) -> bool:
        """Whether that is more than a node has of a resource."""
        free = self.nodes[node].get("resources")
        return free is not None and any(amount > by_resource(free).get(resource, 0) * SLACK for resource, amount in used.items())

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
        store, described = self.network.get("store") or {}, self.nodes[node]
        delay = described["store_delay"] if described.get("store_delay") is not None else store.get("delay", 0)
        bandwidth = described["store_bandwidth"] if described.get("store_bandwidth") is not None else store.get("bandwidth")
        return 2 * fraction(delay) + (fraction(size) / bandwidth if bandwidth else 0)

    def factor(self, metric: str) -> Fraction:
        """Objective for each unit of a metric."""
        weight = fraction(self.weights.get(metric, 0))
        return weight / self.limits[metric] if weight else weight


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


def evaluate_deployment(problem: dict[str, Any], decision: Any) -> Fraction:
    """Weighted sum of response time, cost, downtime and tuples in flight (EDRP, eq. 12), each within its limit, and penalties."""
    model, used, finish = Deployments(problem), dict[str, dict[str, Any]](), dict[str, Fraction]()
    metrics = dict.fromkeys(("response_time", "cost", "downtime", IN_FLIGHT), Fraction(0))
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
        finish[name] = ready + latency
        metrics["cost"] += cost
        metrics["downtime"] = max(metrics["downtime"], downtime)
        for node, (resource, amount) in product(nodes, by_resource(operator.get("resources", 1)).items()):
            used.setdefault(node, {})[resource] = used.setdefault(node, {}).get(resource, 0) + amount
    metrics["response_time"] = max(finish.values())
    for name, limit in model.limits.items():
        need(metrics[name] <= limit * SLACK, f"{name} is {float(metrics[name])!r} against {float(limit)!r}")
    for node, amounts in used.items():
        need(not model.excess(node, amounts), f"node {node}: too much of a resource")
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
    for (node, resource), entries in used.items():
        free = model.nodes[node].get("resources")
        if free is not None:
            program.row(entries, None, fraction(by_resource(free).get(resource, 0)) * SLACK)
    for rule in model.rules:
        rule.add_to(program, placed)
    return program
