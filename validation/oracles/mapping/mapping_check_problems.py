"""Problems of mapping tasks on which the contract of methods is checked, with their proven optima."""

from __future__ import annotations

from functools import cache
from typing import Any

from edrp.datasets.families.mapping.platforms import mapping_problem
from edrp.datasets.families.mapping.random_path_mapping import random_mapping_problem
from edrp.mapping.documents import PathMap
from edrp.mapping.path_mapping import MappingProblem
from edrp.validation.oracles.check_problems import ContractProblems
from edrp.validation.oracles.mapping.path_mapping_brute_force import brute_force_mapping

Fields = dict[str, Any]


class MappingProblems(ContractProblems):
    """Kind `mapping`, with additive cost, which all methods take."""

    def feasible(self) -> dict[str, Any]:
        """Random problems."""
        drawn = {f"seed {seed}": random_mapping_problem(seed, most_servers=6, most_components=4) for seed in range(14)}
        return {label: problem for label, problem in drawn.items() if self.optimum(problem) is not None}

    def infeasible(self) -> dict[str, Any]:
        """Too little capacity in all, a link too slow for both hops that need it, no way back, too few empty hops."""
        return {
            "capacity": _line(needs=[2, 2, 2]),
            "bandwidth": _line(needs=[2, 3], capacities=[0, 3, 2], bandwidth=1.5),
            "no way back": _line(delivery="a", needs=[1], capacities=[0, 0, 2], symmetric=False),
            "empty hops": _line(needs=[1], capacities=[0, 0, 2], max_empty_hops=0),
        }

    def degenerate(self) -> dict[str, Any]:
        """No components, nothing moves, no needs, no rates, no prices, one server, only the public network."""
        uplinks: Fields = {"uplinks": [5, 5, 0], "links": [], "public_cost": 2.0}
        return {
            "no components": _line(needs=[]),
            "nothing moves": _line(delivery="a", needs=[]),
            "no needs": _line(needs=[0, 0], capacities=[0, 0, 0]),
            "no rates": _line(needs=[1, 1], rate=0, bandwidth=0),
            "no prices": _line(needs=[2, 2], cost=0),
            "there and back": _line(delivery="a", needs=[2], capacities=[0, 0, 2]),
            "public network": _line(needs=[2, 2], **uplinks),
        }

    def large(self) -> Any:
        """Forty components on 120 servers."""
        return mapping_problem(120, components=40, seed=3)

    def optimum(self, problem: MappingProblem) -> float | None:
        """Least cost over all maps."""
        return _best(problem.model_dump_json())[0]

    def start(self, problem: MappingProblem) -> PathMap | None:
        """The map of brute force."""
        maps = _best(problem.model_dump_json())[1]
        return maps[0] if maps else None


def _line(
    *,
    source: str = "a",
    delivery: str = "c",
    needs: list[float],
    capacities: list[float] | None = None,
    uplinks: list[float] | None = None,
    rate: float = 1.0,
    bandwidth: float = 2.0,
    cost: float = 1.0,
    symmetric: bool = True,
    **fields: Any,
) -> MappingProblem:
    """Three servers in a line with room for two each, and links that carry two hops."""
    nodes = [
        {"name": name, "capacity": capacity, "uplink": uplink}
        for name, capacity, uplink in zip("abc", capacities or [2, 2, 1], uplinks or [0, 0, 0], strict=True)
    ]
    links = [{"source": u, "target": v, "bandwidth": bandwidth, "cost": cost} for u, v in ("ab", "bc")]
    components = [{"name": f"c{i}", "capacity": need} for i, need in enumerate(needs)]
    task = {"source": source, "delivery": delivery, "components": components, "bandwidths": [rate] * (len(needs) + 1)}
    network = {"nodes": nodes, "links": fields.pop("links", links), "symmetric": symmetric}
    return MappingProblem(network=network, task=task, **fields)


@cache
def _best(problem: str) -> tuple[float | None, tuple[PathMap, ...]]:
    """By text, since a problem has no hash."""
    return brute_force_mapping(MappingProblem.model_validate_json(problem))
