"""Random tasks with given parallelisms on equal nodes, for agreement tests."""

import numpy as np

import edrp


def tasks(seed: int, nodes: int, largest: int, slots: float = 1.3) -> edrp.EdrpProblem:
    """A random DAG with given parallelisms, three shared resources in a random order of priority, sometimes with limits."""
    random = np.random.default_rng(seed)
    operators = int(random.integers(2, 5))
    parallelism = random.integers(1, largest + 1, operators)
    room = max(1, int(np.ceil(parallelism.sum() / nodes * slots)))
    pairs = [(i, j) for i in range(operators) for j in range(i + 1, operators) if random.random() < 0.6]
    return edrp.EdrpProblem(
        application={
            "operators": [
                {
                    "name": f"o{i}",
                    "min_replicas": count,
                    "max_replicas": count,
                    "external_rate": 1.0,
                    "usage": {"cpu": {"per_replica": random.integers(1, 9)}, "disk": {"per_tuple": random.integers(0, 3)}},
                }
                for i, count in enumerate(parallelism.tolist())
            ],
            "streams": [
                {
                    "source": f"o{i}",
                    "target": f"o{j}",
                    "rate": 1.0 + random.integers(0, 5),
                    "partitioning": str(random.choice(["forward", "hash", "rebalance"])),
                    "usage": {"network": 1.0},
                }
                for i, j in pairs
            ],
        },
        network={
            "nodes": [
                {"name": f"tm{u}", "resources": room, "capacity": {"cpu": 20, "disk": 5, "network": 10}} for u in range(nodes)
            ],
            "between_zones": {"delay": 0.001},
        },
        limits={"peak_loads": {"cpu": float(random.choice([0.6, 1.0, 5.0]))}},
        priorities=[
            {"metric": f"peak_loads.{name}", "slack": float(random.choice([0.0, 0.2]))}
            for name in random.permutation(["cpu", "disk", *(["network"] if pairs else [])])
        ],
    )
