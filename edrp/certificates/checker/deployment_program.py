"""The program of documents of kind "edrp"."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement as multisets
from itertools import product
from typing import Any

from .deployment import IN_FLIGHT, Deployments
from .network import by_resource
from .program import ExactProgram
from .reading import MAX_PARTS, SLACK, fraction, need


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
