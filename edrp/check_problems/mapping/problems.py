"""Mapping problems on which methods are checked, with their proven optima."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from edrp.check_problems.base import CheckProblems, DrawnCheckProblems, EnumeratedCheckProblems
from edrp.check_problems.mapping.link_allocation_brute_force import brute_force_link_allocation
from edrp.check_problems.mapping.path_mapping_brute_force import brute_force_mapping
from edrp.datasets.families.mapping.link_allocation import bimodal_flows, random_link_allocation_problem
from edrp.datasets.families.mapping.path_mapping import random_mapping_problem
from edrp.datasets.families.mapping.platforms import bimodal_scenario, mapping_problem
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.path_tasks import PathMap

Fields = dict[str, Any]


class MappingCheckProblems(DrawnCheckProblems):
    """Kind `mapping`, with additive cost, which all methods take."""

    seeds = range(14)
    draw = staticmethod(partial(random_mapping_problem, max_servers=6, max_components=4))

    def infeasible(self) -> dict[str, Any]:
        """Too little capacity in all, a link too slow for both hops that need it, no way back, too few empty hops."""
        return {
            "capacity": _line([2, 2, 2]),
            "bandwidth": _line([2, 3], capacities=[0, 3, 2], bandwidth=1.5),
            "no way back": _line([1], delivery="a", capacities=[0, 0, 2], symmetric=False),
            "empty hops": _line([1], capacities=[0, 0, 2], max_empty_hops=0),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: no components, nothing moves, no needs, no rates, no prices, one server, only the public network."""
        uplinks: Fields = {"uplinks": [5, 5, 0], "links": [], "public_cost": 2.0}
        return {
            "no components": _line([]),
            "nothing moves": _line([], delivery="a"),
            "no needs": _line([0, 0], capacities=[0, 0, 0]),
            "no rates": _line([1, 1], rate=0, bandwidth=0),
            "no prices": _line([2, 2], cost=0),
            "there and back": _line([2], delivery="a", capacities=[0, 0, 2]),
            "public network": _line([2, 2], **uplinks),
        }

    def large(self) -> Any:
        """Forty components on 120 servers."""
        return mapping_problem(120, components=40, seed=3)

    def rare(self) -> list[Any]:
        """More servers, so that labels are searched."""
        return [mapping_problem(12, components=6, seed=3)]

    def optimum(self, problem: MappingProblem) -> float | None:
        """Least cost over all maps."""
        return _best_map(problem.model_dump_json())[0]

    def start(self, problem: MappingProblem) -> PathMap | None:
        """The map of brute force."""
        maps = _best_map(problem.model_dump_json())[1]
        return maps[0] if maps else None


def _line(needs: list[float], **changed: Any) -> MappingProblem:
    """Three servers in a line with room for two each, links that carry two hops, and what should be different."""
    defaults: Fields = {
        "source": "a", "delivery": "c", "capacities": [2, 2, 1], "uplinks": [0, 0, 0],
        "rate": 1.0, "bandwidth": 2.0, "cost": 1.0, "symmetric": True, **changed,
    }  # fmt: skip
    nodes = [
        {"name": name, "capacity": capacity, "uplink": uplink}
        for name, capacity, uplink in zip("abc", defaults.pop("capacities"), defaults.pop("uplinks"), strict=True)
    ]
    bandwidth, cost, rate = (defaults.pop(name) for name in ("bandwidth", "cost", "rate"))
    links = [{"source": u, "target": v, "bandwidth": bandwidth, "cost": cost} for u, v in ("ab", "bc")]
    network = {"nodes": nodes, "links": defaults.pop("links", links), "symmetric": defaults.pop("symmetric")}
    components = [{"name": f"c{i}", "capacity": need} for i, need in enumerate(needs)]
    ends = {name: defaults.pop(name) for name in ("source", "delivery")}
    task = {**ends, "components": components, "bandwidths": [rate] * (len(needs) + 1)}
    return MappingProblem(network=network, task=task, **defaults)


@cache
def _best_map(problem: str) -> tuple[float | None, tuple[PathMap, ...]]:
    """Return the best map of the problem in a text; a cache needs the text, since a problem has no hash."""
    return brute_force_mapping(MappingProblem.model_validate_json(problem))


class LinkAllocationCheckProblems(EnumeratedCheckProblems):
    """Kind `link-allocation`."""

    seeds = range(16)
    draw = staticmethod(random_link_allocation_problem)
    brute_force = staticmethod(brute_force_link_allocation)

    def infeasible(self) -> dict[str, Any]:
        """Links that have lost bandwidth that flows must keep: too little for one, too little for both."""
        return {
            "one flow": pair(bandwidth=2.0),
            "two flows": pair(bandwidth=4.0, flows=[_flow("f", route=["a", "b"]), _flow("g", route=["a", "b"])]),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: no links, no price, no public network, no room to spare, forwarding that nobody can pay."""
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

    def start(self, problem: LinkAllocationProblem) -> Any:
        """The current allocations."""
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


class BimodalScenarioCheckProblems(CheckProblems):
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
        """Return edge cases: one or two servers, a task without components, one that stays, one that nothing has room for."""
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
