"""The baseline: instances by the number of items that wait (cost-efficient enactment, section "Baseline")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from edrp.enactment import Action, EnactmentState, TentativeState
from edrp.heuristics.enactment.host_selection import usable
from edrp.heuristics.enactment.upscaling import lease_cheapest

Items = Annotated[float, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class ThresholdParameters:
    """Constants of the baseline; unless noted otherwise, the defaults are the paper's.

    Attributes
    ----------
    upper : items
        An operator gets one more instance while more items than this wait.
    second_upper : items
        It gets two while more than this wait; None for never more than one.
    lower : items
        It loses an instance while fewer than this wait.
    cooldown : s
        Time after a scale-up in which an operator is not scaled down. The paper does not print it (0 scales down at once);
        its compliance under patterns with few levels is met better with it.
    place_on_starting
        Whether a host that is still starting may take new instances. The baseline leases "as soon as all currently used
        VMs are fully utilized", and one that starts is not.
    """

    upper: Items = 50.0
    second_upper: Items | None = 250.0
    lower: Items = 1.0
    cooldown: Annotated[float, Field(ge=0)] = 180.0
    place_on_starting: bool = True


class ThresholdPolicy:
    """Adds an instance where many items wait and removes one where none does, ignoring billing time units.

    A new instance goes to the first host with room, a host is leased when there is none, and given back when the last
    instance on it has gone: the rest of its billing time unit is lost. The instance that goes is on the host with
    the largest free share, so that hosts become empty. Nothing is taken away at time 0, when nothing has been monitored.

    Examples
    --------
    >>> from edrp.enactment.containers import ContainerOperator, HostType
    >>> from edrp.enactment import HostState, OperatorState
    >>> small = HostType(name="small", resources={"cpu": 2}, price=1, billing_time=600)
    >>> work = ContainerOperator(name="filter", processing_duration=0.5, resources={"cpu": 1})
    >>> hosts = {"a": HostState("a", small, instances={"filter": 2}), "b": HostState("b", small, instances={"filter": 1})}
    >>> idle = EnactmentState(60.0, 60.0, {"filter": OperatorState(work, running=3)}, hosts, {"small": small})
    >>> [str(action) for action in ThresholdPolicy(ThresholdParameters()).observe(idle)]
    ['remove filter from b', 'release b']
    """

    name = "threshold"

    def __init__(self, parameters: ThresholdParameters) -> None:
        self._parameters = parameters
        self._scaled_up: dict[str, float] = {}

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Scale every operator by its queue, then give back the empty hosts."""
        tentative = TentativeState(state)
        for name in state.operators:
            change = self._step(tentative, name)
            for _ in range(change):
                if not place_first_fit(tentative, name, starting=self._parameters.place_on_starting):
                    break
                self._scaled_up[name] = state.time
            if change < 0:
                remove_from_emptiest_host(tentative, name)
        release_empty(tentative)
        return tentative.actions

    def _step(self, tentative: TentativeState, name: str) -> int:
        """Return how many instances an operator gets in this round; -1 where it loses one."""
        parameters, state = self._parameters, tentative.state
        waiting = state.operators[name].queue
        if parameters.second_upper is not None and waiting > parameters.second_upper:
            return 2
        if waiting > parameters.upper:
            return 1
        since = self._scaled_up.get(name)
        cooling = since is not None and state.time - since < parameters.cooldown
        return -1 if waiting < parameters.lower and state.time > 0 and not cooling else 0


def place_first_fit(tentative: TentativeState, operator: str, *, starting: bool) -> bool:
    """Place an instance on the first host with room, or on one leased for it; False where there can be none."""
    if not tentative.may_grow(operator):
        return False
    able = (host for host in usable(tentative, starting=starting) if tentative.fits(host, operator))
    host = next(able, None) or lease_cheapest(tentative, operator)
    if host is None:
        return False
    tentative.place(operator, host)
    return True


def remove_from_emptiest_host(tentative: TentativeState, operator: str) -> None:
    """Remove an instance from the emptiest host, the last leased of equals; none below the minimum."""
    if not tentative.may_shrink(operator):
        return
    hosts = [host for host in tentative.hosts if tentative.on(host).get(operator)]
    tentative.remove(operator, max(reversed(hosts), key=lambda host: _free_share(tentative, host)))


def release_empty(tentative: TentativeState) -> None:
    """Release all hosts on which nothing runs."""
    for host in tentative.hosts:
        if not tentative.on(host):
            tentative.release(host)


def _free_share(tentative: TentativeState, host: str) -> float:
    free = tentative.free(host)
    return sum(free[name] / amount for name, amount in tentative.type(host).capacity.items() if amount)
