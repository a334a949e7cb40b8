"""Chains on equal nodes: a family of the recipe."""

import numpy as np

from edrp.datasets.families.family import Family, first_line
from edrp.placement.application import Application, Operator, Stream
from edrp.placement.edrp import EdrpProblem
from edrp.placement.network import Network, Node


def chain(size: int, random: np.random.Generator) -> EdrpProblem:
    """Operators in a chain on three equal nodes."""
    rates = random.uniform(20.0, 40.0, size).round(3).tolist()
    latency = [{"model": "mm1", "service_rate": 100.0 + rate} for rate in rates]
    operators = [
        Operator(name=f"o{i}", external_rate=0.0 if i else rates[0], latency=latency[i], max_replicas=2) for i in range(size)
    ]
    streams = [Stream(source=f"o{i}", target=f"o{i + 1}") for i in range(size - 1)]
    nodes = [Node(name=f"n{u}", resources=size) for u in range(3)]
    return EdrpProblem(
        application=Application(operators=operators, streams=streams),
        network=Network(nodes=nodes, between_zones={"delay": 1e-3}),
        limits={"response_time": 10.0},
        weights={"response_time": 1.0},
    )


FAMILIES = (Family("chain", "edrp", first_line(chain), chain, "operators", 6),)
