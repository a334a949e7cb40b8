"""Problems with known optima, on which `edrp.testing.check_method` checks methods of the kind `brokers`."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from edrp.check_problems import CheckProblems
from edrp_template.documents import BrokerProblem


def draw(size: int, random: np.random.Generator) -> BrokerProblem:
    """Random partitions on a quarter as many brokers, at least two, each with its place now."""
    brokers = [{"name": f"b{index}", "bandwidth": 1e8} for index in range(max(2, size // 4))]
    rates, sizes = random.uniform(1e6, 2e7, size).round(-3), random.uniform(1e8, 1e10, size).round(-6)
    partitions = [{"name": f"p{i}", "rate": float(rates[i]), "size": float(sizes[i])} for i in range(size)]
    current = {partition["name"]: f"b{random.integers(len(brokers))}" for partition in partitions}
    return BrokerProblem(partitions=partitions, brokers=brokers, current=current)


class BrokerCheckProblems(CheckProblems):
    """Small problems, whose optimum is found by trying everything."""

    def feasible(self) -> dict[str, Any]:
        """Random problems."""
        return {f"seed {seed}": draw(6, np.random.default_rng(seed)) for seed in range(5)}

    def infeasible(self) -> dict[str, Any]:
        """Partitions that need more bandwidth than there is."""
        return {"too much": draw(6, np.random.default_rng(0)).replace(brokers=[{"name": "b0", "bandwidth": 1e6}], current=None)}

    def degenerate(self) -> dict[str, Any]:
        """A single broker, and a first assignment."""
        drawn = draw(4, np.random.default_rng(1))
        alone = [{"name": "only", "bandwidth": 1e9}]
        return {"one broker": drawn.replace(brokers=alone, current=None), "first": drawn.replace(current=None)}

    def large(self) -> Any:
        """Two hundred partitions on fifty brokers."""
        return draw(200, np.random.default_rng(0)).replace(brokers=[{"name": f"b{b}", "bandwidth": 1e9} for b in range(50)])

    def optimum(self, problem: BrokerProblem) -> float | None:
        """By trying all assignments."""
        names, brokers = [p.name for p in problem.partitions], [b.name for b in problem.brokers]
        evaluations = (problem.evaluate(dict(zip(names, places, strict=True))) for places in product(brokers, repeat=len(names)))
        return min((evaluation.objective for evaluation in evaluations if evaluation.feasible), default=None)
