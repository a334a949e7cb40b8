"""Problems of kinds `edrp` and `migration` as rescalings, which must then have the same optima."""

from __future__ import annotations

from edrp.migration.rescale.documents import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem
from edrp.migration.single_step import MigrationProblem
from edrp.placement.edrp import EdrpProblem

WEIGHTS = {"response_time": 0.5, "cost": 0.3, "downtime": 0.2}
LIMITS = {"response_time": 5.0, "cost": 60.0, "downtime": 40.0}
"""Weights and limits of the metrics that both kinds have."""


def without_tasks(problem: EdrpProblem) -> tuple[RescaleProblem, EdrpProblem]:
    """A placement as a rescaling without tasks, and the placement with the same weights and limits."""
    described = problem.model_dump(exclude={"kind", "weights", "limits", "priorities", "evenness", "reconfiguration", "current"})
    current = None if problem.current is None else KeyedDeployment(dict(problem.current))
    rescale = RescaleProblem(**described, weights=WEIGHTS, limits=LIMITS, current=current)
    return rescale, problem.replace(weights=WEIGHTS, limits=LIMITS, priorities=(), reconfiguration="pause-and-resume")


def as_one_operator(migration: MigrationProblem) -> RescaleProblem:
    """A migration as a rescaling of one operator on equal nodes of one seat each, where only bytes count."""
    size = max(len(migration.intervals), migration.nodes)
    replicas = {"min_replicas": migration.nodes, "max_replicas": migration.nodes}
    tasks = {"work": migration.work, "state_size": migration.state_size}
    current_replicas = [{"node": f"n{u}", "tasks": i} for u, i in enumerate(migration.intervals) if i[0] < i[1]]
    return RescaleProblem(
        application={"operators": [{"name": "work", "tasks": tasks, **replicas}]},
        network={"nodes": [{"name": f"n{u}", "resources": 1} for u in range(size)]},
        tolerance=migration.tolerance,
        weights={"moved_state": 1.0},
        limits={"moved_state": sum(migration.state_size)},
        current={"work": current_replicas},
    )
