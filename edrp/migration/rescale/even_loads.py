"""A rescaling as EDRP sees it: load and state of every operator split evenly over its replicas."""

from __future__ import annotations

from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.application import Application, Operator
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import Limits, Weights
from edrp.placement.metrics.peak_load import shared_resources

COMMON = ("response_time", "cost", "downtime", "peak_load")
"""Metrics that both kinds have."""


def as_edrp(problem: RescaleProblem) -> EdrpProblem:
    """The problem of kind `edrp` that is left without tasks.

    Weights of the metrics that both kinds have keep their proportions; where there are none, cost counts. Utilisation,
    tolerance, and the form of ranges and transfers are left out.
    """
    weights = {name: problem.weights.of(name) for name in COMMON}
    if not shared_resources(problem.application):
        del weights["peak_load"]
    total = sum(weights.values())
    limits = {name: limit for name in weights if (limit := problem.limits.of(name)) is not None}
    if not total:
        weights, limits = {"cost": 1.0}, {"cost": MAX_MONEY, **limits}
    application = problem.application
    return EdrpProblem(
        application=Application(
            operators=tuple(_without_tasks(operator) for operator in application.operators), streams=application.streams
        ),
        network=problem.network,
        rules=problem.rules,
        synchronisation_time=problem.synchronisation_time,
        weights=Weights(**{name: weight / (total or 1.0) for name, weight in weights.items()}),
        limits=Limits(**limits),
        current=None if problem.current is None else problem.current.places,
    )


MAX_MONEY = 1e9
"""A limit on cost that is none: the largest number of money per hour that documents take."""


def _without_tasks(operator: Operator) -> Operator:
    fields = {name: getattr(operator, name) for name in Operator.model_fields}
    tasks = getattr(operator, "tasks", None)
    if tasks is None:
        return Operator(**fields)
    max_replicas = min(operator.max_replicas, tasks.count)
    return Operator(**{**fields, "state_size": tasks.total_state, "max_replicas": max_replicas})
