"""Judges of maps and of shared links: the value of a decision, and of all decisions of a tiny problem, by the document alone.

No code of the package is used, and numbers are the fractions that the text states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import accumulate, pairwise, product
from operator import mul
from typing import Any

from edrp.validation.oracles.judging import SLACK, Document, Judged


def _task(document: Document) -> tuple[list[Any], list[Any]]:
    """Rate of each hop and need of each component."""
    task = document["task"]
    parts, rates = task["components"], task.get("bandwidths")
    if rates is None:
        rates = list(accumulate((part.get("shrinkage", 1) for part in parts), mul, initial=task["rate"]))
    return rates, [p.get("capacity", 0) + p.get("cpu_factor", 0) * rate for p, rate in zip(parts, rates, strict=False)]


def _arcs(network: Document) -> dict[tuple[str, str], Document]:
    turns = (1, -1) if network.get("symmetric", True) else (1,)
    return {(link["source"], link["target"])[::turn]: link for turn in turns for link in network.get("links", [])}


def _access(server: Document, quantity: str) -> Any:
    """The up- or downlink of a server; None where nothing limits it."""
    return server.get(quantity, 0 if quantity == "uplink" else None)


def judge_map(document: Document, decision: Any) -> Judged:
    """A map: `nodes`, `routes` and `public` of the solution document."""
    (rates, needs), arcs, task = _task(document), _arcs(document["network"]), document["task"]
    servers = {server["name"]: server for server in document["network"]["nodes"]}
    nodes, routes = decision["nodes"], decision["routes"]
    public = decision.get("public") or [False] * len(routes)
    ends = [task["source"], *nodes, task["delivery"]]
    fine = [(route[0], route[-1]) == pair for route, pair in zip(routes, pairwise(ends), strict=True)]
    used, cost, links, passed, dedicated = dict[Any, list[Any]](), Fraction(0), 0, list[int](), 0
    for route, over, rate in zip(routes, public, rates, strict=True):
        if over:
            fine.append(len(route) == 2 and route[0] != route[1] and servers[route[0]].get("uplink", 0) > 0)
            cost += document.get("public_cost", 0)
            used.setdefault(("uplink", route[0]), []).append(rate)
            used.setdefault(("downlink", route[-1]), []).append(rate)
            continue
        dedicated += len(route) > 1
        passed.append(max(0, len(route) - 2))
        for arc in pairwise(route):
            fine.append(arc in arcs)
            cost, links = cost + arcs[arc].get("cost", 0), links + 1
            used.setdefault(("link", arc), []).append(rate)
    add_up = max if document.get("bandwidth", "cumulative") == "per_edge" else sum
    for (quantity, where), amounts in used.items():
        free = arcs[where]["bandwidth"] if quantity == "link" else _access(servers[where], quantity)
        fine.append(free is None or add_up(amounts) <= free * SLACK)
    max_empty_hops = document.get("max_empty_hops", 2)
    fine.append((sum(passed) if document.get("empty_hops") == "total" else max(passed, default=0)) <= max_empty_hops)
    hosted = Counter[str]()
    for name, need, part in zip(nodes, needs, task["components"], strict=True):
        hosted[name] += need
        offered = servers[name].get("services")
        fine.append(part.get("service") is None or offered is None or part["service"] in offered)
    loads = []
    for name, need in hosted.items():
        fine.append(need <= servers[name]["capacity"] * SLACK)
        whole = servers[name].get("total_capacity")
        whole = servers[name]["capacity"] if whole is None else whole
        loads.append((whole - servers[name]["capacity"] + need) / Fraction(whole) if whole else Fraction(0))
    load = sum(loads, Fraction(0)) / max(1, len(loads))
    hops = len(routes)
    longest = hops + max_empty_hops * (1 if document.get("empty_hops") == "total" else hops)
    objective = {
        "additive": cost,
        "load-balance": load,
        "public-hops": sum(public) + load / 2,
        "public-hops-links": sum(public) * (longest + 1) + links + load / 2,
    }[document.get("cost", "additive")]
    metrics = {"cost": cost, "links": links, "public_hops": sum(public), "dedicated_hops": dedicated, "load_balance": load}
    return Judged(Fraction(objective), {**metrics, "empty_hops": Fraction(sum(passed))}, all(fine))


def _paths(arcs: Iterable[tuple[str, str]], source: str, target: str, most: int) -> Iterator[tuple[str, ...]]:
    """Paths of at most so many links, without a server twice."""
    waiting: list[tuple[str, ...]] = [(source,)]
    while waiting:
        path = waiting.pop()
        if path[-1] == target:
            yield path
        elif len(path) <= most:
            waiting += [(*path, v) for u, v in arcs if u == path[-1] and v not in path]


def map_values(document: Document) -> Iterator[Fraction]:
    """Values of all maps whose hops pass no server twice, which others cannot improve on."""
    task, arcs, max_hops = document["task"], _arcs(document["network"]), document.get("max_empty_hops", 2) + 1
    names = [server["name"] for server in document["network"]["nodes"]]
    hops = {(u, v): [(path, False) for path in _paths(arcs, u, v, max_hops)] for u, v in product(names, names)}
    for (u, v), ways in hops.items():
        ways += [((u, v), True)] if u != v else []
    for nodes in product(names, repeat=len(task["components"])):
        for way in product(*(hops[pair] for pair in pairwise((task["source"], *nodes, task["delivery"])))):
            routes, public = zip(*way, strict=True)
            value = judge_map(document, {"nodes": nodes, "routes": routes, "public": public})
            if value.feasible:
                yield value.objective


def judge_links(document: Document, decision: Any) -> Judged:
    """Allocations of all flows."""
    arcs, flows = _arcs(document["network"]), {flow["name"]: flow for flow in document["flows"]}
    servers = {server["name"]: server for server in document["network"]["nodes"]}
    share, price = document.get("public_share", Fraction("0.81")), document.get("forwarding_price", 0)
    fine, used = [sorted(part["flow"] for part in decision) == sorted(flows)], dict[Any, Fraction]()
    lost, forwarding, delivered, changed, routed = Fraction(0), Fraction(0), Fraction(0), 0, 0
    for part in decision:
        flow, route, rate = flows[part["flow"]], part.get("route"), part.get("public_rate", 0)
        changed += route != flow.get("route")
        fine.append(0 <= rate <= (0 if route else flow["rate"] * SLACK))
        if route is None:
            fine.append(not (document.get("keep", True) and flow.get("route")))
            ends, amount, through = [("uplink", flow["source"]), ("downlink", flow["target"])], rate, share * rate
        else:
            routed += 1
            fine.append((route[0], route[-1]) == (flow["source"], flow["target"]) and set(pairwise(route)) <= arcs.keys())
            fine.append(len(route) - 1 <= document.get("max_links", 6) and (len(route) - 2) * price <= flow["price"] * SLACK)
            forwarding += price * flow["rate"] * (len(route) - 2)
            ends, amount, through = [("link", arc) for arc in pairwise(route)], flow["rate"], flow["rate"]
        delivered += through
        lost += flow["price"] * (flow["rate"] - through)
        for end in ends:
            used[end] = used.get(end, Fraction(0)) + amount
    for (quantity, where), amount in used.items():
        free = arcs[where]["bandwidth"] if quantity == "link" else _access(servers[where], quantity)
        fine.append(free is None or amount <= free * SLACK)
    whole, revenue = sum(flow["rate"] for flow in flows.values()), sum(flow["rate"] * flow["price"] for flow in flows.values())
    metrics = {
        "lost_revenue": lost,
        "forwarding": forwarding,
        "compliance": 1 - lost / revenue if revenue else Fraction(1),
        "delivered_share": delivered / whole,
        "dedicated_flows": Fraction(routed),
        "public_flows": Fraction(len(flows) - routed),
        "changed_flows": Fraction(changed),
    }
    return Judged(lost + forwarding, metrics, all(fine))


def link_values(document: Document) -> Iterator[Fraction]:
    """The best value for each choice of routes: what is left shares the public network by a flow of the largest revenue."""
    arcs = _arcs(document["network"])
    ways = []
    for flow in document["flows"]:
        paths = _paths(arcs, flow["source"], flow["target"], document.get("max_links", 6))
        ways.append(
            [None, *(path for path in paths if all(arcs[arc]["bandwidth"] * SLACK >= flow["rate"] for arc in pairwise(path)))]
        )
    for routes in product(*ways):
        chosen = list(zip(document["flows"], routes, strict=True))
        shared = iter(_shared(document, [flow for flow, route in chosen if route is None]))
        parts = [{"flow": f["name"], "route": r} if r else {"flow": f["name"], "public_rate": next(shared)} for f, r in chosen]
        value = judge_links(document, [{**part, "route": list(part["route"])} if part.get("route") else part for part in parts])
        if value.feasible:
            yield value.objective


def _shared(document: Document, flows: list[Document]) -> list[Fraction]:
    """Rates on the public network of the largest revenue: augmenting paths between uplinks and downlinks, the dearest first."""
    servers = {server["name"]: server for server in document["network"]["nodes"]}
    rate = [Fraction(0) for _ in flows]
    sides = [("uplink", "source"), ("downlink", "target")]
    room = {(quantity, flow[end]): _access(servers[flow[end]], quantity) for flow in flows for quantity, end in sides}
    while True:
        best: tuple[Fraction, list[tuple[int, int]]] = (Fraction(0), [])
        for first in range(len(flows)):
            if room["uplink", flows[first]["source"]] == 0:
                continue
            waiting = [(flows[first]["price"], [(first, 1)])]
            while waiting:  # flows are taken by turns forwards and backwards, from one downlink or uplink to the next
                gain, path = waiting.pop()
                if any((flows[i]["rate"] - rate[i] if sign > 0 else rate[i]) <= 0 for i, sign in path):
                    continue
                last, sign = path[-1]
                if sign > 0 and room["downlink", flows[last]["target"]] != 0 and gain > best[0]:
                    best = (gain, path)
                end = "target" if sign > 0 else "source"
                flows_on_path = {i for i, _ in path}
                for i, flow in enumerate(flows):
                    if i not in flows_on_path and flow[end] == flows[last][end]:
                        waiting.append((gain - sign * flow["price"], [*path, (i, -sign)]))
        gain, path = best
        if not path:
            return rate
        ends = [("uplink", flows[path[0][0]]["source"]), ("downlink", flows[path[-1][0]]["target"])]
        max_change = [flows[i]["rate"] - rate[i] if sign > 0 else rate[i] for i, sign in path]
        amount = min(max_change + [free for end in ends if (free := room[end]) is not None])
        for i, sign in path:
            rate[i] += sign * amount
        for used in ends:
            room[used] = None if room[used] is None else room[used] - amount
