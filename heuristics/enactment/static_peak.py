"""The static policy: a deployment for the peak load, made at the start and never changed, which over-provisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Annotated, Self

from pydantic import Field

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.enactment import Action, EnactmentState, TentativeState
from edrp.enactment.containers import ContainerApplication, Host
from edrp.heuristics.enactment.host_packing import Packing
from edrp.heuristics.enactment.upscaling import lease_type, priced_sizes
from edrp.placement.application import Stream


@dataclass(frozen=True, slots=True)
class StaticPeakParameters:
    """Load for which the deployment is made.

    Attributes
    ----------
    peak : multiple of the external rates
        The load to be served; the largest of the forecast where it is not given.
    forecast : multiples of the external rates
        Loads that are expected.
    headroom : 1
        Factor on the peak for which instances are placed, as service and arrivals vary.
    """

    peak: Annotated[float, Field(ge=0)] | None = None
    forecast: tuple[Annotated[float, Field(ge=0)], ...] = ()
    headroom: Annotated[float, Field(ge=1)] = 1.2

    def knowing(self, forecast: Sequence[float]) -> Self:
        """Return the parameters with this forecast, unless a peak or a forecast is given."""
        return self if self.forecast or self.peak is not None else replace(self, forecast=tuple(forecast))


class StaticPeakPolicy:
    """Serves a known largest load with one deployment, placed at the start and never changed.

    Running instances count; missing ones are placed largest first, on the first hosts with room and on hosts leased for
    them, the cheapest per instance.

    Raises
    ------
    InvalidInstanceError
        When neither a peak nor a forecast is given.

    Examples
    --------
    At eight times 2 items/s, of which an instance serves two, and 20 % above:

    >>> from edrp.enactment.containers import ContainerOperator, HostType
    >>> from edrp.enactment import OperatorState
    >>> small = HostType(name="small", resources={"cpu": 16}, price=1, billing_time=600)
    >>> work = ContainerOperator(name="filter", processing_duration=0.5, external_rate=2.0, resources={"cpu": 1})
    >>> start = EnactmentState(0.0, 60.0, {"filter": OperatorState(work, running=0)}, {}, {"small": small})
    >>> actions = StaticPeakPolicy(StaticPeakParameters(forecast=(1.0, 8.0))).observe(start)
    >>> len(actions), str(actions[0]), str(actions[-1])
    (11, 'lease host-1 of type small', 'place filter on host-1')
    """

    name = "static-peak"

    def __init__(self, parameters: StaticPeakParameters) -> None:
        if parameters.peak is None and not parameters.forecast:
            why = "missing: give the largest load as a multiple of the external rates, or a forecast that contains it"
            raise InvalidInstanceError([Fault("peak", "", why)], "parameters of policy static-peak")
        self._peak = max(parameters.forecast) if parameters.peak is None else parameters.peak
        self._headroom = parameters.headroom
        self._placed = False

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Place all instances at the first call, and do nothing afterwards."""
        if self._placed:
            return ()
        self._placed = True
        tentative = TentativeState(state)
        running = [
            Host(name=name, type=tentative.type(name).name, instances=state.hosts[name].instances) for name in tentative.hosts
        ]
        packing = Packing(priced_sizes(tentative), running)
        target_counts = self._target_counts(state)
        for index in packing.sizes.decreasing():
            packing.first_fit(index, max(0, target_counts[index] - int(packing.totals[index])))
        _carry_out(tentative, packing, running)
        return tentative.actions

    def _target_counts(self, state: EnactmentState) -> list[int]:
        """Number of instances that each operator needs at the peak."""
        operators = tuple(monitored.operator for monitored in state.operators.values())
        streams = tuple(Stream(source=source, target=target) for source, target in state.streams)
        application = ContainerApplication(operators=operators, streams=streams)
        counts = []
        for operator in operators:
            needed = ceil(self._headroom * self._peak * application.load(operator.name) * operator.occupied - WHOLE_NUMBER_SLACK)
            count = max(operator.min_instances, needed)
            counts.append(count if operator.max_instances is None else min(count, operator.max_instances))
        return counts


def _carry_out(tentative: TentativeState, packing: Packing, running: list[Host]) -> None:
    """Lease the hosts that a packing has beyond those running, and place the instances that are new."""
    names = list(tentative.state.operators)
    for index, (host, row) in enumerate(zip(packing.hosts, packing.counts.tolist(), strict=True)):
        runs_already = index < len(running)
        name = host.name if runs_already else lease_type(tentative, host.type)
        if name is None:
            continue
        present = running[index].instances if runs_already else {}
        for operator, count in zip(names, row, strict=True):
            for _ in range(count - present.get(operator, 0)):
                tentative.place(operator, name)
