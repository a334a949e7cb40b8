"""Scenarios on which the contract of policies as methods is checked."""

from __future__ import annotations

from typing import Any

from edrp.datasets.enactment.manufacturing import PATTERNS, manufacturing_scenario
from edrp.enactment.scenario import EnactmentScenario
from edrp.validation.oracles.check_problems import ContractProblems


class ScenarioProblems(ContractProblems):
    """Kind `enactment-scenario`: nothing is infeasible, and no run costs less than what every run must lease."""

    provable = False

    def feasible(self) -> dict[str, Any]:
        """Ten minutes of every pattern, paid by units of four."""
        return {pattern: manufacturing_scenario(pattern, duration=600.0, billing_time=240.0) for pattern in PATTERNS}

    def infeasible(self) -> dict[str, Any]:
        """An operator that fits on no host is refused with the document."""
        return {}

    def degenerate(self) -> dict[str, Any]:
        """One operator, no load, one host with no room to spare, hosts of two types."""
        work = {"name": "work", "processing_duration": 0.5, "external_rate": 4.0, "resources": {"cpu": 1}}
        small = {"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 120.0}
        large = {"name": "large", "resources": {"cpu": 8}, "price": 3.0, "billing_time": 120.0}
        alone = {"application": {"operators": [work]}, "host_types": [small], "load": [1, 2, 0, 1], "load_step": 60.0}
        return {
            "one operator": EnactmentScenario(**alone),
            "no load": EnactmentScenario(**{**alone, "load": [0, 0]}),
            "no room to spare": EnactmentScenario(**{**alone, "host_types": [{**small, "limit": 1}]}),
            "two types": EnactmentScenario(**{**alone, "host_types": [small, large]}),
        }

    def large(self) -> Any:
        """A day under the stepwise pattern."""
        return manufacturing_scenario("stepwise", duration=86_400.0)

    def optimum(self, problem: EnactmentScenario) -> float | None:
        """A bound: some host is leased for the whole run."""
        return min(each.price * -(-problem.duration // each.billing_time) for each in problem.host_types)
