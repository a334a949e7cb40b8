"""Features of tiny problems that can be enumerated: each is written into a document, so that any two of them can meet in one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from itertools import islice, pairwise
from typing import Any

import numpy as np

from edrp.check_problems.placement.enumeration import deployments
from edrp.core.instances import loads
from edrp.core.kinds import get_kind
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.families.placement.random_sequence import random_policy, random_sequence
from edrp.datasets.families.placement.rules import with_rules
from edrp.datasets.families.tiny_documents import TINY, tiny_document

Document = dict[str, Any]
Random = np.random.Generator
Feature = Callable[[Document, Random], None]

TO_CHOOSE_FROM = 60
"""Deployments of which one is current."""

DRAWS: dict[str, Callable[[int], Any]] = {
    "edrp": lambda seed: random_problem(seed, operators=(2, 3), nodes=(2, 3), combinations_limit=150),
    "edrp-sequence": lambda seed: random_sequence(seed, periods=(2, 3), combinations=30),
    "edrp-policy": lambda seed: random_policy(seed, levels=(1, 3), combinations=20),
    "latency-aware": lambda seed: random_latency_aware_problem(seed, operators=(2, 3), nodes=(2, 3), combinations_limit=150),
    "rescale": lambda seed: random_rescale(seed, keyed=(1, 1), tasks=(3, 4)),
}
"""Kinds that place operators, with functions that draw a problem of few deployments from a seed."""


def base_document(kind: str, seed: int) -> Document:
    """Draw a tiny problem of a kind as a document."""
    if kind in TINY:
        return tiny_document(kind, seed)
    problems: Any = get_kind(kind).check_problems
    own = getattr(problems, "draw", None) or (lambda number: list(problems().degenerate().values())[number % 3])
    return json.loads(DRAWS.get(kind, own)(seed).model_dump_json())


def _operators(document: Document) -> list[Document]:
    return list(document.get("application", {}).get("operators", ()))


def _loads(document: Document) -> list[Document]:
    return [*document.get("periods", ()), *document.get("levels", ())]


def one_operator(document: Document, random: Random) -> None:
    """Keep the first operator, component or flow."""
    task = document.get("task", {})
    for holder, field, kept in ((task, "components", 1), (task, "bandwidths", 2), (document, "flows", 1)):
        holder.update({field: holder[field][:kept]} if field in holder else {})
    if "application" in document:
        document["application"] |= {"operators": _operators(document)[:1], "streams": []}
        names = {operator["name"] for operator in _operators(document)}
        for holder in (document, *_loads(document)):
            for field in ("current", "initial", "queues", "external_rates"):
                if isinstance(holder.get(field), dict):
                    holder[field] = {name: value for name, value in holder[field].items() if name in names}


def one_node(document: Document, random: Random) -> None:
    """Keep the first node or host type, and nothing that runs elsewhere."""
    document.update({"host_types": document["host_types"][:1]} if "host_types" in document else {})
    if "network" in document:
        document["network"] |= {"nodes": document["network"]["nodes"][:1], "links": []}
        name = document["network"]["nodes"][0]["name"]
        document.get("task", {}).update(source=name, delivery=name)
    for operator in _operators(document):
        operator["candidates"] = None
    document.update({field: None for field in ("current", "initial") if isinstance(document.get(field), dict)})


def zero_rates(document: Document, random: Random) -> None:
    """Let nothing flow, and no task have any work."""
    task, streams = document.get("task", {}), document.get("application", {}).get("streams", ())
    for operator in _operators(document):
        operator["external_rate"] = 0.0
    for load in _loads(document):
        load["external_rates"] = dict.fromkeys(load["external_rates"], 0.0)
    for holder, field in (
        (task, "bandwidths"),
        (task, "rate"),
        (document, "forecast"),
        (document, "work"),
        *((s, "rate") for s in streams),
    ):
        if holder.get(field):
            holder[field] = (0.0 * np.array(holder[field])).tolist()


def no_resources(document: Document, random: Random) -> None:
    """Give nodes no limit of resources."""
    for node in document["network"]["nodes"]:
        node["resources"] = None


def peak_load(document: Document, random: Random) -> None:
    """Let replicas and streams use cores, and half of the weight be on the largest load of a node."""
    rate = sum(operator["external_rate"] for operator in _operators(document)) or 1.0
    for operator in _operators(document):
        operator["usage"] = {"cores": {"per_replica": 0.1, "per_tuple": float(random.choice([0.0, 0.5])) / rate}}
    for stream in document["application"]["streams"]:
        stream["usage"] = {"cores": 0.2 / rate} if random.random() < 0.5 else {}
    for node in document["network"]["nodes"]:
        node["capacity"] = {"cores": float(random.choice([0.5, 1.0, 2.0]))}
    weights = {name: 0.5 * value for name, value in document["weights"].items() if isinstance(value, float)}
    document["weights"] = {**weights, "peak_load": 0.5}
    document["limits"]["peak_load"] = float(random.choice([1.0, 4.0])) if random.random() < 0.5 else None


def current_deployment(document: Document, random: Random) -> None:
    """Let something run already."""
    problem: Any = loads(json.dumps(document))
    listed = list(islice(deployments(getattr(problem, "base", problem)), TO_CHOOSE_FROM))
    chosen: Any = listed[int(random.integers(len(listed)))]
    document["initial" if problem.kind == "edrp-sequence" else "current"] = json.loads(chosen.model_dump_json())


def routed_network(document: Document, random: Random) -> None:
    """Join the nodes by a line of physical links."""
    names = [node["name"] for node in document["network"]["nodes"]]
    links = [{"source": u, "target": v, "delay": float(random.choice([0.0, 0.01, 0.3]))} for u, v in pairwise(names)]
    document["network"] |= {"routed": True, "links": links, "symmetric": True, "between_zones": None, "within_zone": None}


def cyclic(document: Document, random: Random) -> None:
    """Lead a stream from the last operator back to the first, or to itself."""
    first, last = (_operators(document)[place]["name"] for place in (0, -1))
    for stream in document["application"]["streams"]:
        stream["rate"] = stream["rate"] or 1.0
    known = {(stream["source"], stream["target"]) for stream in document["application"]["streams"]}
    if (last, first) not in known:
        document["application"]["streams"].append({"source": last, "target": first, "rate": 2.0})


def narrow_capacity(document: Document, random: Random) -> None:
    """Let up to three needs, or some tasks, exceed a capacity by 1e-12 to 1e-6 of it, or just meet it, in numbers of any size."""
    excess = float(random.choice([0.0, -1.0, 1.0, 1.0])) * 10.0 ** float(random.uniform(-12, -6))
    network = document.get("network", {})
    homes = [*network.get("nodes", ()), *document.get("host_types", ())]
    parts, flows = document.get("task", {}).get("components", ()), document.get("flows", ())
    sides = ((_operators(document), homes, "resources"), (parts, homes, "capacity"), (flows, network.get("links", ()), "rate"))
    for needing, offering, field in sides:
        needs = _amounts(needing, field)
        rooms = _amounts(offering, "bandwidth" if field == "rate" else field) if needs else []
        if rooms:
            scale = 10.0 ** float(random.uniform(0, 12)) / max(holder[name] for holder, name in (*needs, *rooms))
            for holder, name in (*needs, *rooms):
                holder.pop("total_capacity", None)
                holder[name] = float(f"{holder[name] * scale:.6g}")
            chosen = random.permutation(len(needs))[: int(random.integers(1, 4))]
            holder, name = rooms[int(random.integers(len(rooms)))]
            holder[name] = math.fsum(needs[place][0][needs[place][1]] for place in chosen) / (1 + excess)
    if (work := np.array(document.get("work", 0.0))).any():
        first, end = np.sort(random.permutation(work.shape[-1] + 1)[:2])
        held = work[..., first:end].sum(axis=-1) * np.array(document["nodes"]) / np.maximum(work.sum(axis=-1), 1e-300)
        tolerance = np.maximum(held / (1 + excess) - 1, 0.0)
        document |= {"work": (10.0 ** random.uniform(0, 12) * work).tolist(), "tolerance": tolerance.tolist()}


def _amounts(holders: Iterable[Document], field: str) -> list[tuple[Document, str]]:
    """Places of the positive numbers of a field, of the last one in a table of resources."""
    values = [(holder, field, holder.get(field, 1.0 if field == "resources" else 0.0)) for holder in holders]
    for holder, _, value in values:
        holder.update({} if value is None or isinstance(value, dict) else {field: value})
    places = [(value, list(value)[-1]) if isinstance(value, dict) else (holder, name) for holder, name, value in values if value]
    return [(holder, name) for holder, name in places if holder[name] > 0]


def scenarios(document: Document, random: Random) -> None:
    """Let the load be higher at times."""
    document["scenarios"] = [{"factor": 1.0, "probability": 0.75}, {"factor": 1.125, "probability": 0.25}]


def priorities(document: Document, random: Random) -> None:
    """Put one or two metrics before the weighted sum."""
    metrics = random.permutation(["cost", "response_time"])[: int(random.integers(1, 3))].tolist()
    document["priorities"] = [{"metric": metric, "slack": float(random.choice([0.0, 0.25]))} for metric in metrics]


def hard_rule(document: Document, random: Random) -> None:
    """State a rule that must be met."""
    kind = document["kind"]
    if kind in DRAWS:
        _add_placement_rule(document, random, None)
        return
    names = [part["name"] for part in (_operators(document) or document.get("task", {}).get("components", ()))]
    drained = {"rule": "forbidden", "tasks": [[0, 1]], "nodes": [int(random.integers(len(document.get("intervals", [0]))))]}
    apart = {"rule": "apart", "operators" if kind == "enactment" else "components": names}
    document["rules"] = [{"name": "hard", **(drained if kind == "migration" else apart)}]


def _add_placement_rule(document: Document, random: Random, penalty: float | None) -> None:
    """State a rule that may be broken at a price, the penalty; None where it must be met."""
    problem: Any = loads(json.dumps(document))
    ruled = json.loads(with_rules(problem, int(random.integers(2**31)), hard=True).model_dump_json())
    rule = {**ruled["rules"][0], "name": "hard" if penalty is None else "soft", "penalty": penalty}
    document |= {"network": ruled["network"], "rules": [*document.get("rules", ()), rule]}


def change_prices(document: Document, random: Random) -> None:
    """Let a host run now, and price what starts elsewhere."""
    running = {_operators(document)[0]["name"]: int(random.integers(1, 3))}
    document["current"] = [{"name": "now", "type": document["host_types"][0]["name"], "instances": running}]
    document["changes"] = {"started_instance": float(random.choice([0.1, 1.0])), "hours": float(random.choice([0.1, 0.5]))}


WITH_OPERATORS = (*DRAWS, *(kind for kind in TINY if kind != "link-allocation"))
PARTITIONED = ("migration", "migration-sequence", "migration-policy")
FEATURES: dict[str, tuple[Feature, tuple[str, ...]]] = {
    "one operator": (one_operator, (*DRAWS, *TINY)),
    "one node": (one_node, WITH_OPERATORS),
    "zero rates": (zero_rates, (*WITH_OPERATORS, *PARTITIONED)),
    "no resources": (no_resources, tuple(DRAWS)),
    "peak load": (peak_load, ("edrp", "edrp-sequence", "edrp-policy", "rescale")),
    "routed network": (routed_network, tuple(DRAWS)),
    "cyclic": (cyclic, ("latency-aware",)),
    "narrow capacity": (narrow_capacity, (*DRAWS, *TINY, *PARTITIONED)),
    "scenarios": (scenarios, ("rescale",)),
    "priorities": (priorities, ("edrp",)),
    "current deployment": (current_deployment, tuple(DRAWS)),
    "hard rule": (hard_rule, (*DRAWS, "migration", "enactment", "mapping")),
    "soft rule": (
        lambda document, random: _add_placement_rule(document, random, float(random.choice([0.05, 2.0]))),
        tuple(DRAWS),
    ),
    "changes": (change_prices, ("enactment",)),
}
"""Features with the kinds that have them, in the order in which they are written: rules refer to what is there."""
