"""Small random problems of kind `latency-aware` that use every feature of the model, for agreement tests and fuzzing."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.problems.latency_aware import LatencyAwareProblem

WEIGHTINGS = (
    {},
    {"latency": 0.05},
    {"latency": 0.0, "supervisors": 0.0},
    {"latency": 1.0, "supervisors": 0.0, "colocation": 0.0, "events": 0.0},
    {"latency": 0.01, "colocation": 0.0, "events": 2.0},
    {"supervisors": 3.0, "events": 0.0},
)
"""What is weighted, and how; the first is the paper's."""


def random_scores(seed: int, *, operators: tuple[int, int] = (2, 5), nodes: tuple[int, int] = (2, 4)) -> LatencyAwareProblem:
    """Draw a problem; about a fifth of them are infeasible, a third have cycles.

    Parameters
    ----------
    seed
        The same seed draws the same problem.
    operators, nodes
        Fewest and most.

    Examples
    --------
    >>> random_scores(1).kind
    'latency-aware'
    """
    random = np.random.default_rng([seed, 3])
    count, hosts = int(random.integers(operators[0], operators[1] + 1)), int(random.integers(nodes[0], nodes[1] + 1))
    names = [f"n{u}" for u in range(hosts)]
    application = _application(count, names, random)
    links = [
        {"source": u, "target": v, "delay": float(random.integers(0, 9)) * 1e-3} for i, u in enumerate(names) for v in names[:i]
    ]
    sizes = [{"cpu": 0.4, "memory": 3e9}, {"cpu": 0.8, "memory": 3e9}, {"cpu": 1.6, "memory": 8e9}]
    described = [{"name": name, "resources": sizes[int(random.integers(len(sizes)))]} for name in names]
    return LatencyAwareProblem(
        application=application,
        network={"nodes": described, "links": links},
        weights=WEIGHTINGS[int(random.integers(len(WEIGHTINGS)))],
        utilisation={"cpu": float(random.choice([0.75, 0.95, 1.0]))},
        current=_current(application, names, random) if random.random() < 0.3 else None,
    )


def _application(count: int, names: list[str], random: np.random.Generator) -> dict[str, Any]:
    cyclic = random.random() < 0.35
    operators = [
        {
            "name": f"o{i}",
            "resources": {"cpu": float(random.choice([0.0, 0.1, 0.25, 0.3])), "memory": float(random.choice([0.5e9, 1e9]))},
            "instances": int(random.choice([1, 1, 2, 3])),
            "external_rate": 5.0 if i == 0 else 0.0,
            "candidates": _some(names, random) if random.random() < 0.2 else None,
        }
        for i in range(count)
    ]
    streams = [
        {"source": f"o{i}", "target": f"o{j}", "rate": float(random.integers(0, 6))}
        for i in range(count)
        for j in range(count)
        if random.random() < (0.6 if i < j else 0.2 if cyclic else 0.0)
    ]
    return {"operators": operators, "streams": streams}


def _current(application: dict[str, Any], names: list[str], random: np.random.Generator) -> dict[str, list[str]]:
    return {
        operator["name"]: [str(random.choice(operator["candidates"] or names)) for _ in range(operator["instances"])]
        for operator in application["operators"]
    }


def _some(names: list[str], random: np.random.Generator) -> list[str]:
    kept = [name for name in names if random.random() < 0.6]
    return kept or names[:1]
