"""Documents of kind "link-allocation": their value and their program."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

from .network import read_network
from .program import Bound, ExactProgram
from .reading import SLACK, fraction, need


def _free(problem: dict[str, Any], end: tuple[Any, ...]) -> Bound:
    """The rate that an arc, an uplink or a downlink may carry; None for any amount."""
    arcs, nodes = read_network(problem)
    if end[0] == "arc":
        need(end[1] in arcs, f"there is no link {end[1]}")
        return fraction(arcs[end[1]]["bandwidth"]) * SLACK
    free = nodes[end[1]].get(end[0], 0 if end[0] == "uplink" else None)
    return None if free is None else fraction(free) * SLACK


def evaluate_link_allocation(problem: dict[str, Any], decision: Any) -> Fraction:
    """Revenue lost and price of forwarding, where links, up- and downlinks carry no more than they have."""
    path_of_flow, value, used = {path["flow"]: path for path in decision}, Fraction(0), dict[Any, Fraction]()
    need(len(path_of_flow) == len(decision) == len(problem["flows"]), "not one allocation for each flow")
    share, forwarding = problem.get("public_share", Fraction("0.81")), problem.get("forwarding_price", 0)
    for flow in problem["flows"]:
        route, public = path_of_flow[flow["name"]].get("route"), path_of_flow[flow["name"]].get("public_rate", 0)
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
    max_links: int = problem.get("max_links", 6)
    forwarding = problem.get("forwarding_price", 0)
    return min(max_links, 1 + math.floor(flow["price"] * SLACK / forwarding)) if forwarding else max_links


def link_allocation_program(problem: dict[str, Any]) -> ExactProgram:
    """A column says that a flow has a route, one which share of its rate is public, and one for each arc that it may take."""
    program, uses, arcs = ExactProgram(), dict[Any, list[tuple[int, Any]]](), read_network(problem)[0]
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
