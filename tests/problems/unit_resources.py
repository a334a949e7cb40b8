"""Tiny problems on nodes with GPUs, of which replicas need some or share one."""

import numpy as np

import edrp

SHARES = [0.0, 0.1, 0.2, 0.25, 0.29, 1 / 3, 0.34, 0.4, 0.5, 0.51, 0.6, 1.0, 1.0, 2.0]


def problem(nodes, operators, **changes):
    """Nodes by their GPUs, operators by need and number of replicas."""
    fields = {
        "application": {
            "operators": [
                {"name": f"o{i}", "resources": {"gpu": need}, "min_replicas": few, "max_replicas": many, "cost": 1 + i % 2}
                for i, (need, few, many) in enumerate(operators)
            ],
            "streams": [],
        },
        "network": {
            "nodes": [{"name": f"n{u}", "resources": {"gpu": gpus}} for u, gpus in enumerate(nodes)],
            "between_zones": {"delay": 0.001},
        },
        "weights": {"cost": 1.0},
        "limits": {"cost": 1000.0},
    }
    return edrp.EdrpProblem(**{**fields, **changes})


def drawn(seed):
    """A tiny problem on nodes with units, some with an amount, whose loads decide numbers of replicas."""
    random = np.random.default_rng(seed)
    gpus = [random.choice([1, 2, 3]) for _ in range(random.integers(1, 4))]
    offered = [1.5 if random.random() < 0.2 else {"units": int(count)} for count in gpus]
    operators = [(float(random.choice(SHARES)), 1, int(random.integers(1, 4))) for _ in range(random.integers(1, 4))]
    made = problem(offered, operators).model_dump(mode="json")
    for number, operator in enumerate(made["application"]["operators"]):
        operator["latency"] = {"model": "mm1", "service_rate": float(random.choice([3.0, 4.0, 6.0, 20.0]))}
        operator["external_rate"] = 5.0 * (number == 0)
        operator["candidates"] = [node["name"] for node in made["network"]["nodes"][: 1 + int(random.integers(9))]]
    ends = range(len(operators) - 1)
    made["application"]["streams"] = [{"source": f"o{i}", "target": f"o{i + 1}"} for i in ends]
    for node in made["network"]["nodes"]:
        node["speedup"] = float(random.choice([1.0, 1.0, 1.5]))
    made["weights"], made["limits"] = {"cost": 0.5, "response_time": 0.5}, {"cost": 100.0, "response_time": 5.0}
    return edrp.EdrpProblem(**made)
