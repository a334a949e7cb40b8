"""The policy of cost-efficient enactment, which uses hosts to the end of their paid time (Algs. 1 to 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from edrp.enactment import Action, EnactmentState, OperatorState, TentativeState
from edrp.heuristics.enactment.host_selection import CACHED_FACTOR, usable
from edrp.heuristics.enactment.release import LeaseEnds, OperatorSelection, Utilities, Weight
from edrp.heuristics.enactment.upscaling import needs_instance, scale_up


@dataclass(frozen=True, slots=True)
class BtuParameters(OperatorSelection):
    """Constants of the policy; unless noted otherwise, the defaults are those that the paper prints.

    Attributes
    ----------
    observations : 1
        N of Alg. 1, recorded durations that make the trend. The paper does not print it; its published code takes 5.
    scaling_threshold : items
        An operator is not scaled up while no more items than this wait.
    second_threshold : items
        Above this number it gets two instances at once; None for never more than one. As in the baseline and the published code.
    cached_factor : 1
        CF of Alg. 2.
    instances_weight, queue_weight, delay_weight, scalings_weight, queue_load, penalty
        W1 to W4, QL and P of Alg. 3, see `OperatorSelection`.
    cooldown : s
        Time after a scale-up in which no operator is scaled down; the paper does not print it.
    shared_cooldown
        Whether any scale-up counts, or only one of the same operator. With True instances do not change hands while the load
        rises, and the printed compliance is met better; it was chosen for that, with the stalls of the factory.
    window : share of a billing time unit (BTU)
        Within its last 5 %, a host is prolonged or released.
    window_rounds : observations
        The window lasts at least this many observations.
    release_share : share of an operator's instances
        Largest share that is removed with a host; one instance may be removed in any case.
    place_on_starting
        Whether a host that is still starting may take new instances. The paper assesses "currently running hosts", so that
        every instance that finds no room leases its own host until the first of these is up. Migrations always go to
        hosts that are up: others would take longer than the paid time.
    ask_once
        Whether a host that cannot be released at the first attempt is kept for the next unit, as in Fig. 5; False tries again in
        every round of the window.
    """

    observations: Annotated[int, Field(ge=2)] = 5
    scaling_threshold: Weight = 50.0
    second_threshold: Weight | None = 250.0
    cached_factor: Annotated[float, Field(gt=0, le=1)] = CACHED_FACTOR
    cooldown: Weight = 180.0
    shared_cooldown: bool = True
    window: Annotated[float, Field(gt=0, le=1)] = 0.05
    window_rounds: Annotated[int, Field(ge=0)] = 1
    release_share: Annotated[float, Field(ge=0, le=1)] = 0.2
    place_on_starting: bool = False
    ask_once: bool = True


class BtuPolicy:
    """Scales up when items are late and wait, and gives hosts back only at the end of their billing time unit (BTU).

    In every round operators are scaled up first, in document order; then the hosts whose paid time ends are prolonged by
    doing nothing or released, the emptiest first.

    Examples
    --------
    The filter is late and 300 items wait; both instances it gets fit on the host that is there:

    >>> from edrp.enactment.containers import ContainerOperator, HostType
    >>> from edrp.enactment import HostState
    >>> small = HostType(name="small", resources={"cpu": 4}, price=1, billing_time=600)
    >>> work = ContainerOperator(name="filter", processing_duration=0.5, resources={"cpu": 1})
    >>> monitored = {"filter": OperatorState(work, queue=300, durations=(0.5, 0.9))}
    >>> hosts = {"a": HostState("a", small, paid_until=600.0, instances={"filter": 1})}
    >>> policy = BtuPolicy(BtuParameters())
    >>> [str(action) for action in policy.observe(EnactmentState(60.0, 60.0, monitored, hosts, {"small": small}))]
    ['place filter on a', 'place filter on a']
    """

    name = "btu"

    def __init__(self, parameters: BtuParameters) -> None:
        self._parameters = parameters
        self._scaled_up: dict[str, float] = {}
        self._ends = LeaseEnds(parameters.window, parameters.window_rounds, ask_once=parameters.ask_once)

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Scale up operators that are late, then decide on hosts whose paid time ends."""
        tentative = TentativeState(state)
        for name, operator in state.operators.items():
            for _ in range(self._missing(operator)):
                hosts = usable(tentative, starting=self._parameters.place_on_starting)
                if not scale_up(tentative, name, hosts, self._utilities(state), self._parameters.cached_factor):
                    break
                self._scaled_up[name] = state.time
        parameters = self._parameters
        return self._ends.decide(tentative, self._utilities(state), parameters.release_share, parameters.cached_factor).actions

    def _missing(self, operator: OperatorState) -> int:
        """Return how many instances an operator gets in this round."""
        parameters = self._parameters
        if not needs_instance(operator, parameters.observations, parameters.scaling_threshold):
            return 0
        return 1 if parameters.second_threshold is None or operator.queue <= parameters.second_threshold else 2

    def _utilities(self, state: EnactmentState) -> Utilities:
        """Utilities of Alg. 3; -1 for operators within their cooldown, or for all of them where the cooldown is shared."""
        cooling = {name for name, since in self._scaled_up.items() if state.time - since < self._parameters.cooldown}
        if cooling and self._parameters.shared_cooldown:
            cooling = set(state.operators)

        def utilities(instances: Mapping[str, int]) -> dict[str, float]:
            values = self._parameters.utilities(state.operators, instances)
            return {name: -1.0 if name in cooling else value for name, value in values.items()}

        return utilities
