"""Problems of flows and links on which the contract of methods is checked, with their proven optima."""

from __future__ import annotations

from functools import cache
from typing import Any

from edrp.datasets.families.mapping.flows import bimodal_flows
from edrp.datasets.families.mapping.random_link_allocation import random_link_allocation_problem
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.validation.oracles.check_problems import ContractProblems
from edrp.validation.oracles.mapping.link_allocation_brute_force import brute_force_link_allocation


class LinkAllocationProblems(ContractProblems):
    """Kind `link-allocation`."""

    def feasible(self) -> dict[str, Any]:
        """Random problems."""
        drawn = {f"seed {seed}": random_link_allocation_problem(seed) for seed in range(16)}
        return {label: problem for label, problem in drawn.items() if self.optimum(problem) is not None}

    def infeasible(self) -> dict[str, Any]:
        """Links that have lost bandwidth that flows must keep: too little for one, too little for both."""
        return {
            "one flow": pair(bandwidth=2.0),
            "two flows": pair(bandwidth=4.0, flows=[_flow("f", route=["a", "b"]), _flow("g", route=["a", "b"])]),
        }

    def degenerate(self) -> dict[str, Any]:
        """No links, no price, no public network, no room to spare, forwarding that nobody can pay."""
        return {
            "no links": pair(links=[], flows=[_flow("f")]),
            "no price": pair(flows=[_flow("f", price=0.0)]),
            "no public network": pair(bandwidth=1.0, uplink=0.0, flows=[_flow("f")]),
            "no room to spare": pair(bandwidth=3.0),
            "nobody forwards": pair(forwarding_price=9.0),
        }

    def large(self) -> Any:
        """Three hundred flows on a platform with cycles: proving takes a minute."""
        return bimodal_flows(300, links=130)

    def optimum(self, problem: LinkAllocationProblem) -> float | None:
        """Least objective over all decisions."""
        return _best(problem.model_dump_json())

    def start(self, problem: LinkAllocationProblem) -> Any:
        """What flows have now."""
        return problem.current


def pair(*, bandwidth: float = 5.0, uplink: float = 9.0, **fields: Any) -> LinkAllocationProblem:
    """One flow of rate 3 on the link between two servers, and what should be different."""
    nodes = [{"name": "a", "capacity": 0.0, "uplink": uplink}, {"name": "b", "capacity": 0.0}]
    links = fields.pop("links", [{"source": "a", "target": "b", "bandwidth": bandwidth}])
    return LinkAllocationProblem(
        **{"network": {"nodes": nodes, "links": links}, "flows": [_flow("f", route=["a", "b"])], **fields}
    )


def _flow(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "source": "a", "target": "b", "rate": 3.0, "price": 1.0, **fields}


@cache
def _best(text: str) -> float | None:
    return brute_force_link_allocation(LinkAllocationProblem.model_validate_json(text))
