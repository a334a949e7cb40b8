"""Relations between the fields of an instance: names exist and are unique, lists have one length, sums and orders are right."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate, chain, pairwise, product
from operator import mul
from typing import Any

from .fields import FIELDS, METRICS, check_fields
from .network import Graph, by_resource, find_link, read_network, read_pairs, units_of
from .reading import SAME, SLACK, Refused, Unknown, fraction, need, unique
from .rules import chosen, nodes_by_place

MAX_RATE, MAX_NEED, MAX_INSTANCES = 10**12, 10**15, 10**5
"""Largest load of an operator (tuples/s), rate and need of a task, and number of instances of an operator."""
LATENCIES = {
    "mm1": "service_rate",
    "capacity-curve": "replicas capacities",
    "polynomial": "coefficients",
    "table": "rates latencies",
}
WEIGHTED = tuple(name for name in METRICS if not name.startswith("peak_load"))


def check_instance(problem: dict[str, Any]) -> None:
    """An instance of a kind in `FIELDS` is one that can be read in one way, and that the package reads."""
    kind = str(problem["kind"])
    check_fields(FIELDS[kind], problem)
    RELATIONS[kind](problem)


def _known(place: str, names: Iterable[Any], there: Any) -> None:
    for name in names:
        need(name in there, f"{place}: there is no {str(name)[:40]!r}")


def _differ(place: str, names: Iterable[Any]) -> dict[Any, None]:
    try:
        return unique((name, None) for name in names)
    except Refused as error:
        raise Refused(f"{place}: {error}") from None


def _rise(place: str, values: list[Any], equal: bool = False) -> None:
    need(all(a < b or (equal and a == b) for a, b in pairwise(values)), f"{place}: must rise")


def _sums_to_one(place: str, values: Iterable[Any]) -> None:
    need(abs(sum(values) - 1) < SAME, f"{place}: must sum to 1")


def _check_network(problem: dict[str, Any]) -> dict[str, Any]:
    """Links join two nodes that there are, each two once, and servers name services once; the nodes by name."""
    arcs, nodes = read_network(problem)
    _known("network.links", chain.from_iterable(arcs), nodes)
    need(all(u != v for u, v in arcs), "network.links: one joins a node to itself")
    for node in nodes.values():
        _differ("network.nodes.services", node.get("services") or ())
        total_capacity = node.get("total_capacity")
        need(total_capacity is None or total_capacity >= node["capacity"], "network.nodes.total_capacity: is below capacity")
    return nodes


def _check_graph(problem: dict[str, Any], places: Iterable[str]) -> None:
    """Streams join operators that there are, candidates are places that there are, and loads are no larger than rates may be."""
    application = problem["application"]
    operators = unique((operator["name"], operator) for operator in application["operators"])
    streams = application.get("streams", [])
    _known("application.streams", (stream[end] for stream in streams for end in ("source", "target")), operators)
    _differ("application.streams", ((stream["source"], stream["target"]) for stream in streams))
    for operator in operators.values():
        _known("application.operators.candidates", _differ("candidates", operator.get("candidates") or ()), places)
    loads = Graph(problem).load.values()
    all_rated = all(stream.get("rate") is not None for stream in streams)
    need(all_rated or all(load <= MAX_RATE for load in loads), "application: an operator's load is beyond all rates")


def _check_placement(problem: dict[str, Any]) -> None:
    """Resources are all numbers or all by name, and there is a link wherever a stream may need one."""
    nodes, network, application = _check_network(problem), problem["network"], problem["application"]
    zones = [node.get("zone") for node in nodes.values()]
    need(network.get("within_zone") is None or any(zones), "network.within_zone: no node has a zone")
    classes = (network.get("within_zone"), network.get("between_zones"))
    need(not network.get("routed") or classes == (None, None), "network.routed: with links that zones describe")
    operators = {operator["name"]: operator for operator in application["operators"]}
    forms = {isinstance(node["resources"], dict) for node in nodes.values() if node.get("resources") is not None}
    for operator in operators.values():
        demand = operator.get("resources", 1)
        need(
            demand in ({}, 0) or forms <= {isinstance(demand, dict)},
            "application.operators.resources: all numbers or all by name",
        )
        for node in (nodes[name] for name in operator.get("candidates") or nodes if name in nodes and isinstance(demand, dict)):
            whole = (amount < 1 or amount == int(amount) or units_of(node, r) is None for r, amount in demand.items())
            need(all(whole), "application.operators.resources: no whole units")
    current = problem.get("current")
    if current is not None:
        need(current.keys() == operators.keys(), "current: has other operators than the application")
        for name, used in current.items():
            _known("current", used, operators[name].get("candidates") or nodes)
            _known("current", used, nodes)
    _check_rules(problem, nodes, operators)
    try:
        _check_graph(problem, nodes)
    except Unknown:  # of streams in a cycle, about which nothing but a stated program is proven
        need(problem["kind"] != "edrp", "application.streams: form a cycle")
    arcs, pools = read_pairs(problem), {name: operator.get("candidates") or nodes for name, operator in operators.items()}
    everywhere = network.get("between_zones") is not None and (network.get("within_zone") is not None or not any(zones))
    for stream in () if everywhere or len(arcs) == len(nodes) * (len(nodes) - 1) else application.get("streams", []):
        for u, v in product(pools[stream["source"]], pools[stream["target"]]):
            need(u == v or find_link(network, arcs, nodes, u, v), f"network.links: there is no link {u} → {v}")


def _check_rules(problem: dict[str, Any], nodes: dict[str, Any], operators: dict[str, Any]) -> None:
    """Rules have names of their own, and are about operators, nodes, zones and labels that there are."""
    rules, labels = problem.get("rules", []), dict[str, set[str]]()
    for key, value in chain.from_iterable(node.get("labels", {}).items() for node in nodes.values()):
        labels.setdefault(key, set()).add(value)
    zones = {node["zone"] for node in nodes.values() if node.get("zone") is not None}
    _differ("rules", (rule["name"] for rule in rules))
    for rule in rules:
        place, terms, counted = f"rules.{rule['rule']}", rule.get("terms", []), rule["rule"] == "at_least_zones"
        for names in (rule.get("operators", ()), rule.get("beside", ())):
            _known(f"{place}.operators", _differ(place, names), operators)
        _known(f"{place}.terms.operator", (term["operator"] for term in terms), operators)
        kept = {"node", *labels} - {"zone"} | ({"zone"} if zones else set())
        _known(f"{place}.per", [rule.get("per", "zone" if counted else "node")], kept)
        for choice in [*terms, *([] if counted else [rule])]:
            _known(f"{place}.nodes", _differ(place, choice.get("nodes", ())), nodes)
            _known(f"{place}.zones", _differ(place, choice.get("zones", ())), zones)
            for key, values in choice.get("labels", {}).items():
                _known(f"{place}.labels", [key], labels)
                _known(f"{place}.labels.{key}", _differ(place, values), labels[key])
            need(chosen(problem, choice), f"{place}: no node meets all that is given")
        need(
            _is_complete(problem, rule), f"{place}: {rule['name'][:40]!r} lacks a field, has one too many, or contradicts itself"
        )


def _is_complete(problem: dict[str, Any], rule: dict[str, Any]) -> bool:
    """Whether the fields of a rule go together."""
    match rule["rule"]:
        case "apart":
            return rule.get("between") != "operators" or len(rule["operators"]) > 1
        case "together":
            return bool(rule.get("beside")) or len(rule["operators"]) > 1
        case "spread":
            given = [rule.get(name) is not None for name in ("most", "share", "max_skew")]
            return sum(given) == 1 and (given[2] or rule.get("min_domains", 1) == 1)
        case "at_least_zones":
            return bool(rule["zones"] <= len(nodes_by_place(problem, rule.get("per", "zone"), loners=False)))
        case "forbidden" | "required":
            return any(rule.get(name) for name in ("nodes", "zones", "labels"))
        case "linear":
            ends = [rule[name] for name in ("lower", "upper") if rule.get(name) is not None]
            return bool(ends) and ends == sorted(ends)
    return True


def _check_edrp(problem: dict[str, Any]) -> None:
    _check_placement(problem)
    operators, streams = problem["application"]["operators"], problem["application"].get("streams", [])
    weights, limits = problem.get("weights"), problem.get("limits", {})
    users: dict[str, set[str]] = {operator["name"]: set(operator.get("usage", ())) for operator in operators}
    for stream in streams:
        users[stream["source"]] |= stream.get("usage", {}).keys()
    for operator in operators:
        min_replicas, max_replicas = operator.get("min_replicas", 1), operator.get("max_replicas", 1)
        need(min_replicas <= max_replicas, "application.operators.min_replicas: above max_replicas")
        price, demand = operator.get("cost", 0), operator.get("resources", 1)
        _known("application.operators.cost", price if isinstance(price, dict) else (), demand if isinstance(demand, dict) else ())
        _check_latency(operator.get("latency"))
        for node in problem["network"]["nodes"]:
            if node["name"] in (operator.get("candidates") or (node["name"],)):
                _known(f"network.nodes.capacity of {node['name']}", users[operator["name"]], node.get("capacity", {}))
    if weights is not None:
        peaks = (weights.get("peak_load", 0), *weights.get("peak_loads", {}).values())
        own = (weights[name] for name in weights if name not in METRICS)
        _sums_to_one("weights", (*(weights.get(name, 0) for name in WEIGHTED), *own, *peaks))
    first = [priority["metric"] for priority in problem.get("priorities", [])]
    need(not first, "priorities: certificates know none")
    for name in WEIGHTED:
        weighted = weights.get(name, 0) if weights is not None else name in ("response_time", "cost")
        need(not weighted or limits.get(name) is not None, f"limits.{name}: is missing, with a weight on it")
    shared = set().union(*users.values())
    for part in (weights or {}, limits):
        need(not part.get("peak_load") or shared, "peak_load: no resource is shared")
        _known("peak_loads", part.get("peak_loads", ()), shared)


def _check_latency(model: Any) -> None:
    """A model has the fields of its own, as many of one as of the other, that rise."""
    if model is None:
        return
    place, fields = "application.operators.latency", LATENCIES[model["model"]].split()
    need(model.keys() == {"model", *fields}, f"{place}: has other fields than {', '.join(fields)}")
    if len(fields) == 2:
        first, second = (model[name] for name in fields)
        need(len(first) == len(second), f"{place}: as many {fields[0]} as {fields[1]}")
        _rise(place, first)
        _rise(place, second if model["model"] == "capacity-curve" else [], equal=True)


def _check_latency_aware(problem: dict[str, Any]) -> None:
    _check_placement(problem)
    application = problem["application"]
    for stream in application.get("streams", []):
        need(
            not stream.get("usage") and stream.get("partitioning") != "forward",
            "application.streams: have what is for kind edrp only",
        )
    demands = [operator.get("resources", 1) for operator in application["operators"]]
    offered = [node.get("resources") or {} for node in problem["network"]["nodes"]]
    _known("utilisation", problem.get("utilisation", ()), {"cpu", "memory"}.union(*map(by_resource, (*demands, *offered))))


def _check_migration(problem: dict[str, Any]) -> None:
    tasks = len(problem["work"])
    need(len(problem["state_size"]) == tasks, "state_size: as many as tasks")
    need(all(first <= end for first, end in problem["intervals"]), "intervals: one ends before it begins")
    intervals = sorted((first, end) for first, end in problem["intervals"] if first < end)
    need(
        [0, *(end for _, end in intervals)] == [*(first for first, _ in intervals), tasks],
        "intervals: a task is not held exactly once",
    )


def _check_task_rules(problem: dict[str, Any]) -> None:
    """Rules have names of their own, ranges of tasks and current nodes."""
    _check_migration(problem)
    rules, tasks, nodes = problem.get("rules", []), len(problem["work"]), len(problem["intervals"])
    _differ("rules", (rule["name"] for rule in rules))
    for rule in rules:
        need(all(first < end <= tasks for first, end in rule["tasks"]), "rules.tasks: one is no range of tasks")
        need(max(rule["nodes"]) < nodes, "rules.nodes: one is no current node")


def _check_named_rules(problem: dict[str, Any], field: str, there: Any) -> None:
    """Rules have names of their own, and each is about two at least that there are."""
    rules = problem.get("rules", [])
    _differ("rules", (rule["name"] for rule in rules))
    for rule in rules:
        need(len(_differ(f"rules.{field}", rule[field])) > 1, f"rules.{field}: one alone")
        _known(f"rules.{field}", rule[field], there)


def _check_policy(problem: dict[str, Any]) -> None:
    _check_migration(problem)
    counts, rows = problem["node_counts"], problem["transitions"]
    _differ("node_counts", counts)
    need(min(counts) >= 1 and problem["nodes"] in counts, "node_counts: one is below 1, or that of nodes is missing")
    need({len(rows), *map(len, rows)} == {len(counts)}, "transitions: a row, and a number in it, for each of node_counts")
    for row in rows:
        _sums_to_one("transitions", row)


def _check_link_allocation(problem: dict[str, Any]) -> None:
    nodes, (arcs, _) = _check_network(problem), read_network(problem)
    _differ("flows", (flow["name"] for flow in problem["flows"]))
    for flow in problem["flows"]:
        ends = (flow["source"], flow["target"])
        _known("flows", ends, nodes)
        need(ends[0] != ends[1], f"flows: {flow['name']} leads from a server to itself")
        route = flow.get("route")
        if route is not None:
            need(len(route) > 1 and (route[0], route[-1]) == ends, f"flows.route: that of {flow['name']} leads elsewhere")
            _known("flows.route", pairwise(route), arcs)


def _check_mapping(problem: dict[str, Any]) -> None:
    nodes, task = _check_network(problem), problem["task"]
    parts, rates = task["components"], task.get("bandwidths")
    _known("task", (task["source"], task["delivery"]), nodes)
    _differ("task.components", (part["name"] for part in parts))
    need((rates is None) != (task.get("rate") is None), "task: either bandwidths or rate")
    need(rates is None or len(rates) == len(parts) + 1, "task.bandwidths: one more than components")
    if rates is None:
        rates = list(accumulate((part.get("shrinkage", 1) for part in parts), mul, initial=task["rate"]))
    needs = [part.get("capacity", 0) + part.get("cpu_factor", 0) * rate for part, rate in zip(parts, rates, strict=False)]
    need(max((*rates, *needs)) <= MAX_NEED, "task.components: a rate or a need is beyond all ranges")
    offered = [node.get("services") for node in nodes.values()]
    if None not in offered:
        services = (part["service"] for part in parts if part.get("service") is not None)
        _known("task.components.service", services, set(chain.from_iterable(offered)))
    _check_named_rules(problem, "components", {part["name"] for part in parts})


def _check_containers(problem: dict[str, Any]) -> None:
    """Host types, operators of which each fits on one, and no more instances than can be named."""
    types = unique((host["name"], host) for host in problem["host_types"])
    _check_graph(problem, types)
    loads, busy = Graph(problem).load, problem.get("utilisation", 1)
    for host in types.values():
        minimum, maximum = host.get("start_up", (30, 60))
        need(minimum <= maximum <= host["billing_time"], f"host_types: the start-up or billing time of {host['name']} is wrong")
    for operator in problem["application"]["operators"]:
        name, maximum = operator["name"], operator.get("max_instances")
        need(maximum is None or operator.get("min_instances", 1) <= maximum, f"{name}: min_instances is above max_instances")
        need(any(fits(operator, host, 1) for host in types.values()), f"application.operators: {name} fits on no host")
        rate, seconds = max(problem.get("forecast", [1])) * loads[name], operator["processing_duration"]
        occupied = rate * seconds * operator.get("occupancy", 1)
        need(busy is None or occupied <= MAX_INSTANCES * busy, f"application.operators: {name} needs too many instances")
    _known("queues", problem.get("queues", ()), loads)
    hosts = problem.get("current", problem.get("leased", []))
    _differ("hosts", (host["name"] for host in hosts))
    _known("hosts", (host["type"] for host in hosts), types)
    _known("hosts", chain.from_iterable((*host.get("instances", ()), *host.get("images", ())) for host in hosts), loads)
    _check_named_rules(problem, "operators", loads)


def fits(operator: dict[str, Any], host: dict[str, Any], count: int) -> bool:
    """Whether an empty host has room for `count` instances of an operator, and may run it."""
    offered, demand = by_resource(host["resources"]), by_resource(operator.get("resources", 1))
    room = all(count * amount <= offered.get(name, 0) * SLACK for name, amount in demand.items())
    return room and host["name"] in (operator.get("candidates") or (host["name"],))


def _check_leasing(problem: dict[str, Any]) -> None:
    _check_containers(problem)
    for host in problem["host_types"]:
        periods = fraction(host["billing_time"]) / problem["period"]
        whole_periods = round(periods)
        need(
            whole_periods >= 1 and abs(periods - whole_periods) < SAME * whole_periods,
            "host_types.billing_time: is no whole number of periods",
        )


RELATIONS: dict[str, Callable[[dict[str, Any]], None]] = {
    "edrp": _check_edrp,
    "latency-aware": _check_latency_aware,
    "migration": _check_task_rules,
    "migration-policy": _check_policy,
    "link-allocation": _check_link_allocation,
    "mapping": _check_mapping,
    "enactment": _check_containers,
    "leasing": _check_leasing,
}
"""Check of the relations between the fields of an instance, by kind."""
