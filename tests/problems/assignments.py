"""Partitions with replicas on servers in racks: documents of kind `edrp`, and the values of goals by enumeration of their own."""

import itertools

import numpy as np
import pytest

import edrp


def seeds(few: int, many: int):
    """Parametrizes a test by a few seeds, and by many more where slow tests run."""
    slow = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(few, many)]
    return pytest.mark.parametrize("seed", [*range(few), *slow])


def random_assignment(seed: int) -> dict:
    """Few partitions on few servers; some have loads of their own, some a leader among their replicas."""
    random = np.random.default_rng(seed)
    count, servers, racks = int(random.integers(2, 5)), int(random.integers(3, 6)), int(random.integers(2, 5))
    racks = min(racks, servers)
    copies = int(random.integers(2, racks + 1))
    rack = [*range(racks), *random.integers(racks, size=servers - racks).tolist()]
    weighted, leaders = random.random() < 0.4, bool(random.random() < 0.4)
    choices = list(spread_choices(rack, copies))
    partitions = []
    for _ in range(count):
        current = choices[random.integers(len(choices))] if random.random() < 0.8 else tuple(range(copies))
        current = [int(server) for server in random.permutation(current)]
        size, load = int(random.integers(1, 21)) * 10**6, int(random.integers(1, 10)) if weighted else 1
        partitions.append({"bytes": size, "load": load, "current": current})
    return {"rack": rack, "copies": copies, "leaders": leaders, "partitions": partitions}


def spread_choices(rack: list[int], copies: int):
    """Servers of the replicas of a partition, all in different racks."""
    for chosen in itertools.combinations(range(len(rack)), copies):
        if len({rack[server] for server in chosen}) == copies:
            yield chosen


def assignment_document(case: dict, by: str, goals: list[str], **fields) -> dict:
    """The document with goals as priorities: two operators for each partition where it has a leader, else one."""
    operators, current, rules = [], {}, []
    for p, partition in enumerate(case["partitions"]):
        copies, now = case["copies"], [f"s{server}" for server in partition["current"]]
        use = {"load": {"per_replica": partition["load"]}}
        parts = {f"p{p}": (copies, now, use)}
        if case["leaders"]:
            parts = {f"p{p}": (1, now[:1], use | {"leader": {"per_replica": 1}}), f"p{p} followers": (copies - 1, now[1:], use)}
            wish = {"rule": "linear", "name": f"leader of p{p}", "penalty": 1, "lower": 1}
            rules.append(wish | {"terms": [{"operator": f"p{p}", "nodes": now[:1]}]})
        for name, (number, nodes, usage) in parts.items():
            operator = {"name": name, "min_replicas": number, "max_replicas": number, "resources": 0, "usage": usage}
            operator |= {"state_size": number * partition["bytes"], "external_rate": 1}
            operators.append(operator | ({} if name == f"p{p}" else {"state_of": f"p{p}"}))
            current[name] = nodes
        rules.append({"rule": "apart", "name": f"racks of p{p}", "operators": list(parts), "per": "zone"})
    capacity = {"load": 100.0, "leader": 100.0}
    nodes = [{"name": f"s{s}", "zone": f"r{rack}", "capacity": capacity} for s, rack in enumerate(case["rack"])]
    evenness = {"load": {"of": "load", "by": by}, "leader": {"of": "leader", "by": by}}
    return {
        "kind": "edrp",
        "application": {"operators": operators},
        "network": {"nodes": nodes},
        "rules": rules if "penalties" in goals else [rule for rule in rules if "penalty" not in rule],
        "current": current,
        "evenness": evenness if case["leaders"] else {"load": evenness["load"]},
        "priorities": [{"metric": goal} for goal in goals],
        **fields,
    }


def assignment(case: dict, by: str = "deviation", goals: list[str] | None = None, **fields) -> edrp.EdrpProblem:
    return edrp.EdrpProblem.model_validate(assignment_document(case, by, goals or goals_of(case), **fields))


def goals_of(case: dict) -> list[str]:
    """Load, leaders where there are some, bytes, moves, and leaders that change."""
    leaders = case["leaders"]
    return ["evenness.load", *["evenness.leader"] * leaders, "moved_state", "moves", *["penalties"] * leaders]


def measure(loads: list[float], by: str) -> float:
    mean = sum(loads) / len(loads)
    measures = {"max": max(loads), "skew": max(loads) - min(loads), "deviation": sum(abs(load - mean) for load in loads)}
    return measures[by]


def enumerated_values(case: dict, by: str = "deviation") -> list[float]:
    """Values of the goals, one after the other, of the best of all assignments; plain code of its own."""
    partitions, servers = case["partitions"], range(len(case["rack"]))
    choices = list(spread_choices(case["rack"], case["copies"]))
    if case["leaders"]:
        choices = [(leader, *(s for s in chosen if s != leader)) for chosen in choices for leader in chosen]
    listed = []
    for assigned in itertools.product(choices, repeat=len(partitions)):
        pairs = list(zip(partitions, assigned, strict=True))
        loads = [sum(p["load"] for p, chosen in pairs if server in chosen) for server in servers]
        moves = [sum(server not in p["current"] for server in chosen) for p, chosen in pairs]
        values = [measure(loads, by)]
        if case["leaders"]:
            values.append(measure([sum(chosen[0] == server for _, chosen in pairs) for server in servers], by))
        values += [sum(p["bytes"] * moved for p, moved in zip(partitions, moves, strict=True)), sum(moves)]
        if case["leaders"]:
            values.append(sum(chosen[0] != p["current"][0] for p, chosen in pairs))
        listed.append([round(value, 9) for value in values])
    return min(listed)
