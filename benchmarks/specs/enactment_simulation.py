"""A run of the manufacturing scenario, item by item: the compiled simulator, and SimPy on the same scenario."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from registry import BenchSpec, register

from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.heuristics.enactment import ThresholdParameters, ThresholdPolicy
from edrp.validation.oracles.enactment.reference_simulator import simulate_reference
from edrp.validation.simulation.enactment.simulator import simulate

SIZES = {"2 minutes, 15,000 items": 120.0, "120 minutes, 1.7 million items": 7200.0}


def run(simulator: Callable[..., object], scenario: Any) -> Callable[[], object]:
    """One run with a policy that scales, which is new in every run; kernels are loaded."""
    simulate(manufacturing_scenario("stepwise", duration=60.0), ThresholdPolicy(ThresholdParameters()), 0)
    return lambda: simulator(scenario, ThresholdPolicy(ThresholdParameters()), 1)


def scenario(seconds: float) -> object:
    """The stepwise pattern."""
    return manufacturing_scenario("stepwise", duration=seconds)


register(BenchSpec("enactment simulation", scenario, SIZES, {"solve": partial(run, simulate)}))
register(
    BenchSpec("enactment simulation in SimPy", scenario, SIZES, {"solve": partial(run, simulate_reference)}, package="simpy")
)
