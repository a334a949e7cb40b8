"""Families of runs on bi-modal networks: traces of tasks on platforms of several sizes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from edrp.core.problem import Problem
from edrp.datasets.families.family import Family
from edrp.datasets.families.mapping.platforms import SERVERS, SERVICES, TASKS_PER_HOUR, Networks, bimodal_scenario
from edrp.datasets.families.mapping.power_law_networks import MEGABIT
from edrp.datasets.random_numbers import log_uniform, rounded
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.mapping.path_tasks import BimodalTask

DEFAULT_TASKS = 20
MAX_SEED = 2**31

LINKS_PER_SERVER = (0.3, 1.5)
RATE_FACTORS = (0.3, 3.0)
"""Tasks per hour and server, relative to the paper's; the logarithm is uniform."""

SMALL_SERVERS = (6, 20)
MIN_SERVICES = 3

NETWORKS: tuple[Networks, ...] = ("both", "both", "dedicated", "public")
VARIATIONS = (1.0, 1.0, 0.5, 0.0)
REALLOCATION_INTERVALS = (10.0, 60.0, 0.0)
BUFFERS = (0.0, 0.0, 1.0)
EMPTY_HOPS = (0, 3)

SOURCE_RATES = (0.2 * MEGABIT, 2 * MEGABIT)
DATA_SIZES = (1e7, 3e8)
PRICES = (2e-7, 5e-6)
"""Bytes/s, bytes and money per byte of unequal tasks; the logarithms are uniform."""

COMPONENTS = (1, 12)


def _small_platform(tasks: int, random: np.random.Generator) -> Problem:
    servers = int(random.integers(*SMALL_SERVERS, endpoint=True))
    buffer = float(random.choice(BUFFERS))
    return _scenario(
        servers,
        tasks,
        random,
        max_empty_hops=int(random.integers(*EMPTY_HOPS, endpoint=True)),
        variation=float(random.choice(VARIATIONS)),
        reallocation_interval=float(random.choice(REALLOCATION_INTERVALS)),
        buffer=buffer,
        flow="drawn" if buffer or random.random() < 0.5 else "expected",
    )


def _unequal_tasks(tasks: int, random: np.random.Generator) -> Problem:
    scenario = _scenario(int(random.integers(*SMALL_SERVERS, endpoint=True)), tasks, random)
    services = [service.name for service in scenario.services]

    def unequal(task: BimodalTask) -> BimodalTask:
        chosen = random.choice(len(services), int(random.integers(*COMPONENTS, endpoint=True)))
        return task.replace(
            services=tuple(services[index] for index in chosen),
            **rounded(
                {
                    name: log_uniform(ends, random)
                    for name, ends in (("rate", SOURCE_RATES), ("data", DATA_SIZES), ("price", PRICES))
                }
            ),
        )

    return scenario.replace(tasks=tuple(unequal(task) for task in scenario.tasks))


def _scenario(servers: int, tasks: int, random: np.random.Generator, **fields: Any) -> BimodalScenario:
    links = min(int(servers * random.uniform(*LINKS_PER_SERVER)), servers * (servers - 1) // 2)
    return bimodal_scenario(
        servers=servers,
        links=links,
        rate=TASKS_PER_HOUR * servers / SERVERS * log_uniform(RATE_FACTORS, random),
        tasks=tasks,
        networks=NETWORKS[int(random.integers(len(NETWORKS)))],
        seed=int(random.integers(MAX_SEED)),
        services=max(MIN_SERVICES, round(SERVICES * servers / SERVERS)),  # each is on as many servers as in the paper
        **fields,
    )


FAMILIES = tuple(
    Family(name, "bimodal-scenario", summary, make, "tasks", DEFAULT_TASKS)
    for name, summary, make in (
        ("platform", "the paper's platform at any rate and number of links", partial(_scenario, SERVERS)),
        ("small-platform", "few servers, any flow over the public network", _small_platform),
        ("unequal-tasks", "few servers, tasks that differ in components, rates, data and prices", _unequal_tasks),
    )
)
"""Families of runs on bi-modal networks, for the record of their kind."""
