"""Places by named external resources: which of them an operator is to demand, so that it runs where a plan says."""

from __future__ import annotations

from collections import Counter

from edrp.engines.applying import PLACES, Change, Program
from edrp.engines.errors import EngineError


def demanded_resources(change: Change, program: Program) -> dict[str, str] | None:
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
    left = {resource: sum(amounts.values()) for resource, amounts in advertised.items()}
    chosen: dict[str, str] = {}
    for operator in change.plan:
        wanted = Counter(change.plan[operator])
        names = sorted(advertised, key=lambda resource: (resource != operator, resource)) if program.takes_places else [operator]
        fitting = [name for name in names if _leads_to(wanted, advertised.get(name, {}), left.get(name, 0.0))]
        if not fitting:
            raise EngineError(f"operator {operator}", _remedy(operator, wanted, program))
        resource = fitting[0]
        left[resource] -= wanted.total()
        chosen[operator] = resource
    return chosen


def _leads_to(wanted: Counter[str], amounts: dict[str, float], left: float) -> bool:
    if wanted.total() > left:
        return False
    return dict(wanted) == amounts or (len(wanted) == 1 and wanted.keys() == amounts.keys())


def _remedy(operator: str, wanted: Counter[str], program: Program) -> str:
    places = ", ".join(f"{count} on {node}" for node, count in sorted(wanted.items()))
    if program.takes_places:
        return f"no resource is advertised by exactly the TaskManagers of its places ({places}); start some that advertise it"
    why = f"no TaskManagers advertise resource {operator!r} for exactly its places ({places})"
    return f"{why}; start some that do, or say with {{places}} in --program-arg what each operator is to demand"


def program_arguments(program: Program, resources: dict[str, str] | None) -> list[str]:
    """Arguments of the program with the resources of all operators in them."""
    text = ",".join(f"{operator}={resource}" for operator, resource in (resources or {}).items())
    return [argument.replace(PLACES, text) for argument in program.arguments]
