"""Random capacity curves for agreement tests."""

import numpy as np

import edrp
from edrp.placement.latency import CapacityCurveLatency, Mm1Latency

EXPONENTS = (0.0, 0.5, 0.8, 0.8, 1.0)
"""Growth of capacities, n to this power: from none at all, over what was measured of Flink's operators, to n times as much."""


def with_capacity_curves(problem: edrp.EdrpProblem, seed: int = 0) -> edrp.EdrpProblem:
    """The problem with a random capacity curve in place of every constant service rate, which one replica keeps."""
    random = np.random.default_rng(seed)
    operators = []
    for operator in problem.application.operators:
        if isinstance(operator.latency, Mm1Latency):
            number = int(random.integers(1, operator.max_replicas + 1))
            numbers = sorted({1, number, number + int(random.integers(0, 3))})
            exponent = EXPONENTS[int(random.integers(len(EXPONENTS)))]
            capacities = [operator.latency.service_rate * n**exponent for n in numbers]
            operators.append(operator.replace(latency=CapacityCurveLatency(replicas=numbers, capacities=capacities)))
        else:
            operators.append(operator)
    return problem.replace(application=problem.application.replace(operators=tuple(operators)))
