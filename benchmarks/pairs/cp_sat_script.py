"""A placement for response time and cost by CP-SAT, as a script that a practitioner would write: `python cp_sat_script.py FILE`.

It reads instances of kind `edrp` with M/M/1 queues on nodes of speed 1 that all have links with each other, and prints status,
objective and bound. Delays and latencies become whole numbers, ten millionths of the response limit.
"""

from __future__ import annotations

import json
import sys
from typing import Any

UNITS = 10_000_000


def delays(network: Any) -> dict[tuple[str, str], float]:
    """One-way delay of every pair of different nodes in seconds."""
    names = [node["name"] for node in network["nodes"]]
    zone = network.get("within_zone") or {}
    known = {(u, v): zone.get("delay", 0.0) for u in names for v in names if u != v}
    for link in network["links"]:
        known[link["source"], link["target"]] = known[link["target"], link["source"]] = link["delay"]
    return known


def loads(application: Any) -> dict[str, float]:
    """Tuples/s that each operator receives; operators are listed before those that they send to."""
    load = {operator["name"]: operator["external_rate"] for operator in application["operators"]}
    factor = {operator["name"]: operator["selectivity"] for operator in application["operators"]}
    for name in load:
        for stream in application["streams"]:
            if stream["source"] == name:
                load[stream["target"]] += load[name] * factor[name] if stream["rate"] is None else stream["rate"]
    return load


def latencies(operator: Any, load: float) -> dict[int, float]:
    """Seconds per tuple by the number of replicas, for those that serve the load."""
    counts = range(operator["min_replicas"], operator["max_replicas"] + 1)
    spare = {count: operator["latency"]["service_rate"] - load / count for count in counts}
    return {count: 1.0 / rate for count, rate in spare.items() if rate > 1e-6}


def main(file: str) -> None:
    """Solve one instance."""
    from ortools.sat.python import cp_model

    with open(file, encoding="utf-8") as opened:  # noqa: PTH123 -- as scripts do
        problem = json.load(opened)
    application, network, limits, weights = (problem[name] for name in ("application", "network", "limits", "weights"))
    unit = limits["response_time"] / UNITS
    model = cp_model.CpModel()
    load, replicas, used, finish = loads(application), {}, {}, {}
    cost = 0
    for operator in application["operators"]:
        name = operator["name"]
        for node in operator["candidates"] or [node["name"] for node in network["nodes"]]:
            replicas[name, node] = model.new_int_var(0, operator["max_replicas"], "")
            used[name, node] = model.new_bool_var("")
            model.add(replicas[name, node] >= 1).only_enforce_if(used[name, node])
            model.add(replicas[name, node] == 0).only_enforce_if(~used[name, node])
        times = latencies(operator, load[name])
        count = {number: model.new_bool_var("") for number in times}
        model.add_exactly_one(count.values())
        total = sum(variable for (owner, _), variable in replicas.items() if owner == name)
        model.add(total == sum(number * chosen for number, chosen in count.items()))
        cost += operator["cost"] * total
        latency = sum(round(times[number] / unit) * chosen for number, chosen in count.items())
        finish[name] = model.new_int_var(0, UNITS, "")
        model.add(finish[name] >= latency)
        for stream in application["streams"]:
            if stream["target"] != name:
                continue
            delay = model.new_int_var(0, UNITS, "")
            model.add(finish[name] >= finish[stream["source"]] + delay + latency)
            for (u, v), seconds in delays(network).items():
                ends = used.get((stream["source"], u)), used.get((name, v))
                if all(end is not None for end in ends):
                    model.add(delay >= round(seconds / unit)).only_enforce_if(*ends)
    for node in network["nodes"]:
        needs = {operator["name"]: operator["resources"] for operator in application["operators"]}
        model.add(sum(needs[name] * v for (name, u), v in replicas.items() if u == node["name"]) <= int(node["resources"]))
    response = model.new_int_var(0, UNITS, "")
    model.add_max_equality(response, list(finish.values()))
    model.add(cost <= int(limits["cost"]))
    money = UNITS * weights["cost"] / limits["cost"]
    model.minimize(weights["response_time"] * response + money * cost)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = 60.0
    status = solver.solve(model)
    print(solver.status_name(status), solver.objective_value / UNITS, solver.best_objective_bound / UNITS)


if __name__ == "__main__":
    main(sys.argv[1])
