"""Giving a host back: what is needed elsewhere moves there, and the rest stops."""

from __future__ import annotations

from collections.abc import Mapping

from edrp.enactment.tentative_state import TentativeState
from edrp.heuristics.enactment.predictive_filling import coverage, make_room, spare, tightest


def vacated(tentative: TentativeState, host: str, busy: Mapping[str, float], enough: float) -> TentativeState | None:
    """The tentative state with a host emptied and given back, or None where other hosts cannot take what must go on.

    Parameters
    ----------
    tentative
        Stays as it is.
    host
        To be given back.
    busy
        By operator: instances that its load occupies, above 0.
    enough
        Instances per busy one that an operator shall keep when others of it stop.
    """
    plan = TentativeState(tentative.state)
    for action in tentative.actions:
        plan.apply(action)
    hosts = [each for each in plan.hosts if each != host and each in plan.state.hosts and plan.state.hosts[each].ready]
    while here := plan.on(host):
        able = [each for each in here if spare(plan, each)]
        name = max(able, key=lambda each: coverage(plan, busy, each, -1), default=None)
        if name is not None and coverage(plan, busy, name, -1) >= enough:
            plan.remove(name, host)
            continue
        moving = name or next(iter(here))
        target = tightest(plan, moving, hosts)
        if target is None and make_room(plan, busy, moving, hosts):
            target = tightest(plan, moving, hosts)
        if target is not None:
            plan.migrate(moving, host, target)
        elif name is not None:
            plan.remove(name, host)
        else:
            return None
    plan.release(host)
    return plan
