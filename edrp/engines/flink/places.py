"""Arguments that tell a program of a plan: replicas, and the named external resources that lead to its places."""

from __future__ import annotations

from collections import Counter

from edrp.engines.applying import PLACES, REPLICAS, REPLICAS_OF, PlannedChange, Program
from edrp.engines.errors import EngineError
from edrp.engines.flink.calls import takes_overrides
from edrp.placement.deployment import Deployment


def demanded_resources(change: PlannedChange, program: Program) -> dict[str, str] | None:
    """The resource that each operator is to demand; None where no TaskManager advertises any, and the scheduler chooses.

    An operator runs where the plan says if TaskManagers advertise as much of its resource as replicas are to run there, and
    no others advertise it; or if its replicas are all to run on the only one that advertises it.

    Raises
    ------
    EngineError
        No resource leads to the places of an operator.
    """
    advertised: dict[str, dict[str, float]] = {}
    for node in change.observation.nodes:
        for resource, amount in node.resources.items():
            if amount > 0:
                advertised.setdefault(resource, {})[node.name] = amount
    if not advertised:
        return None
    remaining = {resource: sum(amounts.values()) for resource, amounts in advertised.items()}
    chosen: dict[str, str] = {}
    for operator in change.plan:
        replicas_on = Counter(change.plan[operator])
        fixed = program.demands.get(operator, operator)
        names = sorted(advertised) if program.takes_places else [fixed]
        fitting = [name for name in names if _places_exactly(replicas_on, advertised.get(name, {}), remaining.get(name, 0.0))]
        if not fitting:
            raise EngineError(f"operator {operator}", _remedy(fixed, replicas_on, program))
        resource = fitting[0]
        remaining[resource] -= replicas_on.total()
        chosen[operator] = resource
    return chosen


def _places_exactly(replicas_on: Counter[str], amounts: dict[str, float], remaining: float) -> bool:
    if replicas_on.total() > remaining:
        return False
    return dict(replicas_on) == amounts or (len(replicas_on) == 1 and replicas_on.keys() == amounts.keys())


def _remedy(resource: str, replicas_on: Counter[str], program: Program) -> str:
    places = ", ".join(f"{count} on {node}" for node, count in sorted(replicas_on.items()))
    if program.takes_places:
        return f"no resource is advertised by exactly the TaskManagers of its places ({places}); start some that advertise it"
    why = f"no TaskManagers advertise resource {resource!r} for exactly its places ({places})"
    return f"{why}; start some that do, or name other resources by --demand or {{places}}"


def program_arguments(program: Program, plan: Deployment, resources: dict[str, str] | None) -> list[str]:
    """Arguments of the program with replicas and resources of all operators in them."""
    places = ",".join(f"{operator}={resource}" for operator, resource in (resources or {}).items())
    replicas = ",".join(f"{operator}={plan.degree(operator)}" for operator in plan)
    arguments = [argument.replace(PLACES, places).replace(REPLICAS, replicas) for argument in program.arguments]
    for operator in plan:
        arguments = [argument.replace(f"{REPLICAS_OF}{operator}}}", str(plan.degree(operator))) for argument in arguments]
    return arguments


def ignored_replicas(change: PlannedChange, program: Program) -> str | None:
    """An operator whose new number of replicas would be ignored, so that the program has to be told; None where there is none."""
    if takes_overrides(change.observation):
        return None
    current = change.current
    changed = (name for name in change.plan if change.plan.degree(name) != current.degree(name))
    return next((name for name in changed if not program.takes_replicas(name)), None)
