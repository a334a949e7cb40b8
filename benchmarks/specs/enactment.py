"""Enactment: the programs, cheapest leases by themselves, and runs by both simulators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from registry import BenchSpec, register
from specs.programs import program_phases

from edrp.datasets.enactment.manufacturing import manufacturing_scenario, manufacturing_snapshot
from edrp.enactment.leasing import LeasingProblem
from edrp.enactment.snapshot import EnactmentProblem
from edrp.formulations.enactment.leasing import cheapest_units
from edrp.heuristics.enactment import ThresholdParameters, ThresholdPolicy
from edrp.validation.oracles.enactment.reference_simulator import simulate_reference
from edrp.validation.simulation.enactment.simulator import simulate


def snapshot(machines: float) -> EnactmentProblem:
    """The factory at a load, with items that wait."""
    return manufacturing_snapshot(machines, queues={"monitor-temperature": 300.0, "calculate-oee": 120.0})


def horizon(periods: int) -> LeasingProblem:
    """The factory under a random walk of loads, in periods of five minutes."""
    moment = manufacturing_snapshot(1.0)
    steps = np.random.default_rng(0).normal(0.0, 1.0, periods)
    forecast = np.clip(4.0 + np.cumsum(steps), 1.0, 8.0).tolist()
    return LeasingProblem(
        application=moment.application,
        host_types=moment.host_types,
        period=300.0,
        forecast=forecast,
        queues={"calculate-oee": 900},
    )


def planned(problem: LeasingProblem) -> Callable[[], object]:
    """Leases where each instance of a period needs a host of its own."""
    needed = [sum(instances.values()) for instances in problem.minimum_instances]
    return partial(cheapest_units, needed, round(problem.host_types[0].billing_time / problem.period))


SNAPSHOTS = {"18 instances": 2.0, "57 instances": 8.0}
register(BenchSpec("hosts program", snapshot, SNAPSHOTS, program_phases("hosts", solve=True)))
HORIZONS = {"6 periods": 6, "12 periods": 12, "24 periods": 24}
register(BenchSpec("leases program", horizon, HORIZONS, program_phases("leases", solve=True)))
register(BenchSpec("cheapest leases", horizon, {"20 periods": 20, "60 periods": 60}, {"solve": planned}))


RUNS = {"2 minutes, 15,000 items": 120.0, "120 minutes, 1.7 million items": 7200.0}


def run(simulator: Callable[..., object], scenario: Any) -> Callable[[], object]:
    """One run with a policy that scales, which is new in every run; modules are imported."""
    simulate(manufacturing_scenario("stepwise", duration=60.0), ThresholdPolicy(ThresholdParameters()), 0)
    return lambda: simulator(scenario, ThresholdPolicy(ThresholdParameters()), 1)


def scenario(seconds: float) -> object:
    """The stepwise pattern."""
    return manufacturing_scenario("stepwise", duration=seconds)


register(BenchSpec("enactment simulation", scenario, RUNS, {"solve": partial(run, simulate)}))
register(BenchSpec("enactment simulation, reference", scenario, RUNS, {"solve": partial(run, simulate_reference)}))
