"""Documents of kind "mapping": maps of a task, their value, the search for the cheapest, and the format `label-setting`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from itertools import count as numbers_from
from operator import le
from typing import Any

from .network import read_network
from .reading import MAX_PARTS, NEVER, SLACK, TOLERANCE, Unknown, claimed_bound, fraction, need, refuted

MapPlace = tuple[str, int, int, int]


class Maps:
    """Maps of a path task, in units of which all costs, rates and needs are whole.

    A place (u, j, passed, moving) says where a map's beginning ends: at server u with j components mapped, with `passed` servers
    passed without one, and with the hop at hand not begun (0), on links (1), or ended by the public network (2).
    """

    def __init__(self, problem: dict[str, Any]) -> None:
        if problem.get("cost", "additive") != "additive":
            raise Unknown("the checker knows the additive cost of maps only")
        task, self.parts = problem["task"], problem["task"].get("components", [])
        self.ends, self.most = (task["source"], task["delivery"]), problem.get("max_empty_hops", 2)
        self.total, self.add_up = problem.get("empty_hops") == "total", problem.get("bandwidth", "cumulative") == "cumulative"
        arcs, nodes = read_network(problem)
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
        self.free = {resource: math.floor(amount * SLACK * scale) for resource, amount in free.items()}
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

    def moves(self, place: MapPlace) -> Iterator[tuple[MapPlace, int, tuple[tuple[tuple[str, ...], int], ...]]]:
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
    def ahead(self) -> dict[MapPlace, int]:
        """The least cost from each place to the end of a map, with resources that do not add up."""
        back, waiting, seen = dict[MapPlace, list[tuple[MapPlace, int]]](), [(self.ends[0], 0, 0, 0)], {(self.ends[0], 0, 0, 0)}
        while waiting:
            place = waiting.pop()
            for after, cost, _ in self.moves(place):
                back.setdefault(after, []).append((place, cost))
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        least_cost, heap = dict[MapPlace, int](), [(0, place) for place in seen if place[:2] == (self.ends[1], len(self.parts))]
        while heap:
            cost, place = heappop(heap)
            if place not in least_cost:
                least_cost[place] = cost
                for before, more in back.get(place, ()):
                    heappush(heap, (cost + more, before))
        return least_cost

    def search(self, tracked: list[tuple[str, ...]], target: float, most: int) -> tuple[int, list[MapPlace] | None]:
        """Labels looked at in search of a map below the target that overloads no tracked resource, and the first such map.

        Cheapest prospect first. A label is dropped where another at its place costs and uses no more; a server that has room for
        all the rest of the task counts as unused.
        """
        number, ahead = {resource: k for k, resource in enumerate(tracked)}, self.ahead
        needs_later = [*accumulate(reversed(self.needs), initial=0)][::-1]
        begin, looked, order, undominated = (self.ends[0], 0, 0, 0), 0, numbers_from(1), dict[MapPlace, list[tuple[int, ...]]]()
        heap: list[Any] = [(ahead[begin], 0, begin, 0, (0,) * len(tracked), None)] if begin in ahead else []
        while heap and heap[0][0] < target:
            _, _, place, cost, used, path = heappop(heap)
            path = (place, path)
            if place[:2] == (self.ends[1], len(self.parts)):
                return looked, _unwound(path)[::-1]
            need((looked := looked + 1) <= most, f"more than {most} labels")
            for after, more, uses in self.moves(place):
                used_now = list(used)
                for resource, amount in uses:
                    if resource in number and (resource[0] == "capacity" or self.add_up):
                        used_now[number[resource]] += amount
                if after not in ahead or any(used_now[k] > self.free[resource] for resource, k in number.items()):
                    continue
                for resource, k in number.items():
                    if resource[0] == "capacity" and self.free[resource] - used_now[k] >= needs_later[after[1]]:
                        used_now[k] = 0
                label, others = (cost + more, *used_now), undominated.setdefault(after, [])
                if not any(all(map(le, other, label)) for other in others):
                    others[:] = [other for other in others if not all(map(le, label, other))] + [label]
                    heappush(heap, (cost + more + ahead[after], next(order), after, cost + more, tuple(used_now), path))
        return looked, None

    def follow(self, places: list[MapPlace]) -> tuple[int, list[tuple[str, ...]]]:
        """The cost of a way through places, and the resources that it overloads."""
        total, used = 0, dict[tuple[str, ...], int]()
        for place, after in pairwise(places):
            options = {option: (cost, uses) for option, cost, uses in self.moves(place)}
            need(after in options, f"component {after[1]}: {place[0]} does not lead to {after[0]} within the limits")
            total += options[after][0]
            for resource, amount in options[after][1]:
                used[resource] = used.get(resource, 0) + amount
        adds = {resource: amount for resource, amount in used.items() if resource[0] == "capacity" or self.add_up}
        return total, [resource for resource, amount in adds.items() if amount > self.free.get(resource, amount)]


def _unwound(path: Any) -> list[MapPlace]:
    """Places of a chain, the last first."""
    places = []
    while path is not None:
        place, path = path
        places.append(place)
    return places


def evaluate_map(problem: dict[str, Any], decision: Any) -> Fraction:
    """Prices of links and public hops of a map that keeps to all limits."""
    maps, nodes, routes = Maps(problem), decision["nodes"], decision["routes"]
    public = decision.get("public") or [False] * len(routes)
    need(len(nodes) == len(maps.parts) == len(routes) - 1 == len(public) - 1, "not one server and one route for each component")
    places: list[MapPlace] = [(maps.ends[0], 0, 0, 0)]
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
    server = dict(zip((part["name"] for part in maps.parts), nodes, strict=True))
    for rule in problem.get("rules", []):
        used, most = {server[name] for name in rule["components"]}, len(rule["components"])
        need(len(used) == (most if rule["rule"] == "apart" else 1), f"rule {rule['name']!r} is broken")
    return Fraction(cost, maps.unit)


def check_label_setting(problem: dict[str, Any], _: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """`label-setting`: the resources that must be tracked for no cheaper map to be left.

    One line lists resources: ["capacity", server], ["bandwidth", source, target], ["uplink", server], ["downlink", server]. The
    checker searches for the cheapest map that overloads none of them, whatever it does to others, by labels: the cost of a
    beginning of a map, and what it uses of them. It proves the bound where nothing below it is left.
    """
    maps, tracked = Maps(problem), [tuple(resource) for resource in next(lines, [])]
    need(set(tracked) <= maps.free.keys(), "there is no such resource")
    bound = claimed_bound(header)
    target = NEVER if bound is None else math.ceil((bound - TOLERANCE) * maps.unit)
    looked, path = maps.search(tracked, target, MAX_PARTS)
    need(path is None, "there may be a better map")
    return f"no map is {refuted(bound)} ({looked} labels)"
