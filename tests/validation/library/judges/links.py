"""Judges of paths over links: kinds `mapping` and `link-allocation`."""

import math
from itertools import pairwise

from common import Judgement, NotJudgedError, steps
from ortools.sat.python import cp_model


def _arcs(network):
    turns = (1, -1) if network["symmetric"] else (1,)
    return {(x["source"], x["target"])[::turn]: x for turn in turns for x in network["links"]}


def _walk(taken, source, target):
    """Nodes on the arcs from source to target."""
    after, route = dict(taken), [source]
    while route[-1] != target:
        route.append(after[route[-1]])
    return route


def judge_mapping(document, best):
    """A layer of arcs for each hop; components are where a layer is left for the next one."""
    task, network, model = document["task"], document["network"], cp_model.CpModel()
    if (
        document["rules"]
        or document["cost"] != "additive"
        or task["bandwidths"] is None
        or any(n["uplink"] for n in network["nodes"])
    ):
        raise NotJudgedError("rules, another cost, rates that shrink, or the public network")
    arcs, parts, rates = _arcs(network), task["components"], task["bandwidths"]
    nodes, empty, objective = {n["name"]: n for n in network["nodes"]}, [], 0
    host = [{n: int(n == task["source"]) for n in nodes}]
    for part in parts:
        host.append({n: model.new_bool_var("") for n in nodes})
        model.add_exactly_one(host[-1].values())
        for n, node in nodes.items():
            if part["service"] is not None and node["services"] is not None and part["service"] not in node["services"]:
                model.add(host[-1][n] == 0)
    host.append({n: int(n == task["delivery"]) for n in nodes})
    takes = [{arc: model.new_bool_var("") for arc in arcs} for _ in rates]
    for hop, taken in enumerate(takes):
        for n in nodes:
            out, back = (sum(x for arc, x in taken.items() if arc[end] == n) for end in (0, 1))
            model.add(host[hop][n] + back == out + host[hop + 1][n])
            model.add(out <= 1)
        objective += sum(steps(arcs[arc]["cost"], 10**7) * x for arc, x in taken.items())
        empty.append(model.new_int_var(0, document["max_empty_hops"], ""))
        model.add(empty[-1] >= sum(taken.values()) - 1)
    if document["empty_hops"] == "total":
        model.add(sum(empty) <= document["max_empty_hops"])
    for arc, link in arcs.items():
        uses = [math.ceil(rate * 1000 * (1 - 1e-12)) * taken[arc] for rate, taken in zip(rates, takes, strict=True)]
        room = math.floor(link["bandwidth"] * 1000 * (1 + 1e-12))
        for use in [sum(uses)] if document["bandwidth"] == "cumulative" else uses:
            model.add(use <= room)
    for n, node in nodes.items():
        needs = [math.ceil(p["capacity"] * 10**6 * (1 - 1e-12)) * x[n] for p, x in zip(parts, host[1:-1], strict=True)]
        model.add(sum(needs) <= math.floor(node["capacity"] * 10**6 * (1 + 1e-12)))

    def read(value):
        servers = [next(n for n, x in at.items() if value(x)) for at in host[1:-1]]
        ends = [task["source"], *servers, task["delivery"]]
        taken = [[arc for arc, x in t.items() if value(x)] for t in takes]
        return {"nodes": servers, "routes": [_walk(t, *pair) for t, pair in zip(taken, pairwise(ends), strict=True)]}

    return Judgement(model, [objective], 10**7, read)


def judge_link_allocation(document, best):
    """Arcs of each flow, or a share of its rate over the public network."""
    model, network, objective = cp_model.CpModel(), document["network"], 0
    arcs, nodes, scale = _arcs(network), {n["name"]: n for n in network["nodes"]}, 10**13
    uses, chosen, fine = {}, {}, 10**6
    for flow in document["flows"]:
        rate, source, target = flow["rate"], flow["source"], flow["target"]
        fits = [
            arc for arc, link in arcs.items() if rate <= link["bandwidth"] * (1 + 1e-12) and source != arc[1] and target != arc[0]
        ]
        taken, routed = {arc: model.new_bool_var("") for arc in fits}, model.new_bool_var("")
        public, most = model.new_int_var(0, fine, ""), document["max_links"]
        if document["forwarding_price"]:
            most = min(most, 1 + int(flow["price"] * (1 + 1e-9) / document["forwarding_price"]))
        chosen[flow["name"]] = (taken, routed, public, flow)
        for n in nodes:
            out, back = (sum(x for arc, x in taken.items() if arc[end] == n) for end in (0, 1))
            model.add(out - back == ((n == source) - (n == target)) * routed)
        model.add(sum(taken.values()) <= most * routed)
        model.add(public == 0).only_enforce_if(routed)
        if document["keep"] and flow["route"] is not None:
            model.add(routed == 1)
        forwarding = steps(document["forwarding_price"] * rate, scale)
        objective += forwarding * sum(taken.values()) - forwarding * routed + steps(flow["price"] * rate, scale) * routed.Not()
        objective -= steps(document["public_share"] * flow["price"] * rate, scale // fine) * public
        for arc, x in taken.items():
            uses.setdefault(arc, []).append(steps(rate, 1000) * x)
        for end in (("uplink", source), ("downlink", target)):
            uses.setdefault(end, []).append(steps(rate, 1000) * public)
    for end, amounts in uses.items():
        if end in arcs:
            model.add(sum(amounts) <= math.floor(arcs[end]["bandwidth"] * 1000 * (1 + 1e-12)))
        elif nodes[end[1]][end[0]] is not None:
            model.add(sum(amounts) <= math.floor(nodes[end[1]][end[0]] * 1000 * (1 + 1e-12)) * fine)

    def read(value):
        allocations = []
        for name, (taken, routed, public, flow) in chosen.items():
            route = (
                _walk([arc for arc, x in taken.items() if value(x)], flow["source"], flow["target"]) if value(routed) else None
            )
            allocations.append({"flow": name, "route": route, "public_rate": flow["rate"] * value(public) / fine})
        return allocations

    return Judgement(model, [objective], scale, read)
