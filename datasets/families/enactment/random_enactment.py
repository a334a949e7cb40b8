"""Small random problems of enactment and of leasing that use every feature of the models, for agreement tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.enactment.leasing import LeasingProblem
from edrp.enactment.snapshot import EnactmentProblem

Random = np.random.Generator

WEIGHTINGS: tuple[dict[str, float], ...] = (
    {},
    {},
    {"free_resources": 0.0},
    {"free_resources": 0.0, "violations": 0.0},
    {"violations": 0.0},
    {"host_cost": 0.7},
    {"free_resources": 0.1, "violations": 2.0},
    {"host_cost": 0.0},
)
UTILISATIONS = (1.0, 0.8, None)
RESOURCES = (("cpu", "memory"), ("cpu", "memory"), ("slots",), ())


def random_enactment_problem(
    seed: int, *, operators: tuple[int, int] = (1, 3), types: tuple[int, int] = (1, 2)
) -> EnactmentProblem:
    """Draw a snapshot; about one in six is infeasible.

    Several host types with limits, candidates, minimum and maximum instances, queues, two resources or one or a plain
    number, operators that need none of a resource, and weights of zero occur.
    """
    random = np.random.default_rng([seed, 2017])
    weights = WEIGHTINGS[random.integers(len(WEIGHTINGS))]
    resources = RESOURCES[random.integers(len(RESOURCES))]
    names = [f"h{k}" for k in range(random.integers(types[0], types[1] + 1))]
    application = _application(random, int(random.integers(operators[0], operators[1] + 1)), names, resources)
    limited = 1.0 if weights.get("host_cost") == 0.0 else 0.3
    queues = {operator["name"]: float(random.integers(0, 40)) for operator in application["operators"] if random.random() < 0.5}
    return EnactmentProblem(
        application=application,
        host_types=_host_types(random, names, resources, limited),
        queues=queues,
        horizon=float(random.choice([10.0, 60.0])),
        utilisation=UTILISATIONS[random.integers(len(UTILISATIONS))],
        penalty=float(random.choice([1e-4, 0.01])),
        weights=weights,
    )


def random_leasing_problem(
    seed: int, *, operators: tuple[int, int] = (1, 2), types: tuple[int, int] = (1, 2), periods: tuple[int, int] = (1, 4)
) -> LeasingProblem:
    """Draw a leasing problem; about one in six is infeasible.

    As `random_enactment_problem`, with units of one to three periods, hosts that are leased already, and parts of units
    charged where they reach beyond the horizon or not.
    """
    random = np.random.default_rng([seed, 2018])
    resources = RESOURCES[random.integers(len(RESOURCES))]
    names = [f"h{k}" for k in range(random.integers(types[0], types[1] + 1))]
    application = _application(random, int(random.integers(operators[0], operators[1] + 1)), names, resources)
    host_types = _host_types(random, names, resources, limited=0.4)
    for host_type in host_types:
        host_type["billing_time"] = 60.0 * int(random.integers(1, 4))
    count = int(random.integers(periods[0], periods[1] + 1))
    leased = [
        {"name": f"mine-{i}", "type": str(random.choice(names)), "paid_periods": int(random.integers(0, count + 2))}
        for i in range(random.integers(0, 3))
    ]
    return LeasingProblem(
        application=application,
        host_types=host_types,
        period=60.0,
        forecast=random.choice([0.0, 0.5, 1.0, 1.3], count).tolist(),
        queues={
            operator["name"]: float(random.integers(0, 60)) for operator in application["operators"] if random.random() < 0.5
        },
        utilisation=UTILISATIONS[random.integers(len(UTILISATIONS))],
        penalty=float(random.choice([0.0, 1e-4, 0.01, 0.05])),
        leased=leased,
        prorate=bool(random.random() < 0.5),
    )


def _application(random: Random, count: int, types: list[str], resources: tuple[str, ...]) -> dict[str, Any]:
    described = []
    for i in range(count):
        fewest = int(random.integers(1, 3))
        described.append(
            {
                "name": f"o{i}",
                "resources": _amounts(random, resources, 0.2, 1.0),
                "processing_duration": float(random.choice([0.3, 0.5, 1.0])),
                "occupancy": float(random.choice([1.0, 0.5])),
                "external_rate": float(random.choice([0.0, 1.0, 3.0])) if i else 3.0,
                "selectivity": float(random.choice([0.1, 0.5, 1.0])),
                "min_instances": fewest,
                "max_instances": fewest + int(random.integers(0, 4)) if random.random() < 0.4 else None,
                # The first type can run everything, so that no document is refused.
                "candidates": types[: random.integers(1, len(types) + 1)] if random.random() < 0.3 else None,
            }
        )
    streams = [{"source": f"o{i}", "target": f"o{j}"} for i in range(count) for j in range(i + 1, count) if random.random() < 0.4]
    return {"operators": described, "streams": streams}


def _host_types(random: Random, names: list[str], resources: tuple[str, ...], limited: float) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "resources": _amounts(random, resources, 1.0, 2.2),
            "price": float(random.choice([1.0, 1.5, 2.5])),
            "billing_time": float(random.choice([600.0, 1200.0])),
            "limit": int(random.integers(0 if k else 1, 4)) if random.random() < limited else None,
        }
        for k, name in enumerate(names)
    ]


def _amounts(random: Random, resources: tuple[str, ...], low: float, high: float) -> Any:
    """Draw amounts of resources, rounded or not, and sometimes 0."""
    steps = random.random() < 0.5

    def amount() -> float:
        drawn = float(random.uniform(low, high))
        return 0.0 if high <= 1.0 and random.random() < 0.1 else round(drawn * 10) / 10 if steps else drawn

    return {name: amount() for name in resources} if resources else amount()
