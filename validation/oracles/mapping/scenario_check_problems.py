"""Scenarios on which the contract of ways to choose among maps is checked."""

from __future__ import annotations

from typing import Any

from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.validation.oracles.check_problems import ContractProblems


class BimodalScenarioProblems(ContractProblems):
    """Kind `bimodal-scenario`: nothing is infeasible, for a task may be refused, and no run loses less than nothing."""

    provable = False

    def feasible(self) -> dict[str, Any]:
        """A short trace on small platforms: every network, expected flows, buffers."""
        small: dict[str, Any] = {"servers": 20, "links": 19, "tasks": 15, "flow_interval": 0.1}
        return {
            "both": bimodal_scenario(**small),
            "dedicated": bimodal_scenario(**small, networks="dedicated"),
            "public": bimodal_scenario(**small, networks="public"),
            "expected": bimodal_scenario(**small, flow="expected"),
            "buffers": bimodal_scenario(**small, buffer=0.5),
            "total": bimodal_scenario(**small, empty_hops="total", max_empty_hops=4, reallocation_interval=0),
        }

    def infeasible(self) -> dict[str, Any]:
        """A task that cannot be mapped is refused, which is an answer."""
        return {}

    def degenerate(self) -> dict[str, Any]:
        """Two servers or one, a task without components, one that stays where it is, one that nothing has room for."""
        nodes = [{"name": name, "capacity": 2, "uplink": 2e5, "downlink": 2e5} for name in "ab"]
        task = {"arrival": 0, "source": "a", "delivery": "b", "services": ["f"], "rate": 1e5, "data": 1e6}
        described = {"network": {"nodes": nodes}, "services": [{"name": "f", "capacity": 1}], "tasks": [task]}
        alone = {"network": {"nodes": [{"name": "a", "capacity": 2}]}, "tasks": [{**task, "delivery": "a"}]}
        return {
            "no links": BimodalScenario(**described),
            "no components": BimodalScenario(**{**described, "tasks": [{**task, "services": []}]}),
            "one server": BimodalScenario(**{**described, **alone}),
            "no room": BimodalScenario(**{**described, "tasks": [{**task, "rate": 1e9}]}),
            "no variation": BimodalScenario(**described, variation=0),
            "at once": BimodalScenario(**{**described, "tasks": [task] * 3}),
        }

    def large(self) -> Any:
        """A trace as long as four of the paper's, at twice the rate."""
        return bimodal_scenario(tasks=2_000, rate=120.0)

    def optimum(self, problem: BimodalScenario) -> float | None:
        """A bound: every task admitted, nothing late."""
        return 0.0
