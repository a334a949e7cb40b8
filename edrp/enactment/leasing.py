"""Leasing over a forecast: which hosts to lease, prolong and release in each of several periods.

Cost-efficient enactment decides this moment by moment (Figs. 4 and 5); here it is one problem over time. Billing time units
(BTU) are bought whole, and the hosts that they pay for can be used until they end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from edrp.core.document import Document, Faults, Name, NonNegative, Positive, Probability, checks, duplicates, unit
from edrp.core.errors import Fault
from edrp.core.problem import Evaluation, Margin, Problem
from edrp.core.solution import Solution
from edrp.core.tolerances import LIMIT_SLACK, SAME_VALUE
from edrp.enactment import containers
from edrp.enactment.snapshot import count_faults, fewest_instances, hosting_clashes, never_late
from edrp.placement.problem_warnings import unreached_operators

MAX_PERIODS = 100_000
"""Largest number of periods in a forecast."""

Instances = dict[Name, Annotated[int, Field(ge=0)]]


class PaidHost(Document):
    """A host that is leased already."""

    name: Name = Field(description="unique among the hosts")
    type: Name = Field(description="host type")
    paid_periods: Annotated[int, Field(ge=0)] = Field(description="first periods that are paid already", **unit("1"))


class PlannedHost(Document):
    """One host over the horizon: the units bought, and its instances in each period."""

    name: Name = Field(description="of a paid host, or another one for a new lease")
    type: Name = Field(description="host type")
    first: Annotated[int, Field(ge=0)] = Field(0, description="period in which the first unit bought begins", **unit("1"))
    units: Annotated[int, Field(ge=0)] = Field(description="billing time units bought, one after the other", **unit("1"))
    instances: tuple[Instances, ...] = Field(description="number of instances by operator, in each period", **unit("1"))


class LeasingSolution(Solution):
    """The decision of a method for a problem of kind `leasing`, and the bound that it proved."""

    metric_units: ClassVar[Mapping[str, str]] = {"lease_cost": "money", "violations": "items", "units": "BTU"}

    kind: Literal["leasing-solution"] = Field("leasing-solution", description="says what the document is")
    objective: float | None = Field(description="price of all units and expected penalties, as re-evaluated", **unit("money"))
    bound: float | None = Field(description="proven: nothing costs less than this", **unit("money"))
    hosts: tuple[PlannedHost, ...] | None = Field(description="hosts in use, with the units bought and the instances")

    @property
    def decision(self) -> tuple[PlannedHost, ...] | None:
        """The hosts."""
        return self.hosts


class LeasingProblem(Problem):
    """Lease hosts over a horizon so that they carry what the forecast needs, at the least price and penalty.

    Leases begin at the start of a period and are paid by whole billing time units; instances move between periods
    free of charge. Hosts are taken to be ready when their lease begins: order them a start-up time earlier.

    Examples
    --------
    Two periods of little load around one of much; a unit lasts two periods:

    >>> problem = LeasingProblem(
    ...     application={"operators": [{"name": "f", "processing_duration": 1.0, "external_rate": 1.0, "resources": {"cpu": 1}}]},
    ...     host_types=[{"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 600.0}],
    ...     period=300.0, forecast=[2, 4, 2],
    ... )
    >>> first = PlannedHost(name="a", type="small", first=0, units=2, instances=({"f": 2}, {"f": 2}, {"f": 2}))
    >>> second = PlannedHost(name="b", type="small", first=1, units=1, instances=({}, {"f": 2}, {}))
    >>> problem.evaluate((first, second)).objective
    3.0
    """

    objective_terms: ClassVar[tuple[str, ...]] = ("lease_cost", "penalties")
    decision_type: ClassVar[Any] = tuple[PlannedHost, ...]

    kind: Literal["leasing"] = Field("leasing", description="says what the document is")
    application: containers.ContainerApplication = Field(description="application; external rates are those of forecast 1")
    host_types: Annotated[tuple[containers.HostType, ...], Field(min_length=1)] = Field(
        description="types of hosts that can be leased"
    )
    period: Positive = Field(description="length of a period", **unit("s"))
    forecast: Annotated[tuple[NonNegative, ...], Field(min_length=1, max_length=MAX_PERIODS)] = Field(
        description="load in each period, as a multiple of the external rates", **unit("1")
    )
    queues: dict[Name, NonNegative] = Field({}, description="items that wait at the start, by operator", **unit("1"))
    utilisation: Probability | None = Field(
        1.0,
        description="share of its time that an instance may be occupied by the load; null: the load asks for none",
        **unit("1"),
    )
    penalty: NonNegative = Field(
        1e-4,
        description="for each item that a period leaves unserved, charged again in every later period that leaves it unserved",
        **unit("money"),
    )
    leased: tuple[PaidHost, ...] = Field((), description="hosts that are leased already")
    prorate: bool = Field(
        False, description="whether a unit that reaches beyond the horizon is charged only for the share within"
    )

    @checks()
    def _check(self, faults: Faults) -> None:
        containers.check_hosting(self.application, self.host_types, faults)
        containers.check_counts(self.application, max(self.forecast), self.utilisation, faults)
        for index, host_type in enumerate(self.host_types):
            periods = host_type.billing_time / self.period
            if round(periods) < 1 or abs(periods - round(periods)) > SAME_VALUE * periods:
                why = f"must be a whole number of periods of {self.period:g} s"
                faults.add(("host_types", index, "billing_time"), host_type.billing_time, why)
        names = [host.name for host in self.leased]
        faults.add_repeated_names("leased", names)
        for index, host in enumerate(self.leased):
            faults.add_unknown(("leased", index, "type"), host.type, "host type", self.types)
        containers.check_queues(self.queues, self.application, faults)

    @property
    def types(self) -> dict[str, containers.HostType]:
        """Host types by name."""
        return {host_type.name: host_type for host_type in self.host_types}

    def unit_periods(self, host_type: str) -> int:
        """Periods that one billing time unit lasts."""
        return round(self.types[host_type].billing_time / self.period)

    @property
    def minimum_instances(self) -> tuple[dict[str, int], ...]:
        """Fewest instances of each operator, in each period: those that serve its load."""
        load = self.application.load
        return tuple(
            {
                operator.name: fewest_instances(operator, factor * load(operator.name), self.utilisation)
                for operator in self.application.operators
            }
            for factor in self.forecast
        )

    def paid(self, host: PlannedHost) -> frozenset[int]:
        """Periods in which a host is paid, by earlier leases and by the units bought."""
        before = {host.name: host.paid_periods for host in self.leased}.get(host.name, 0)
        end = host.first + host.units * self.unit_periods(host.type)
        periods = len(self.forecast)
        return frozenset((*range(min(before, periods)), *range(host.first, min(end, periods))))

    def price(self, host: PlannedHost) -> float:
        """Money for the units bought of one host."""
        length = self.unit_periods(host.type)
        ends = (host.first + (index + 1) * length for index in range(host.units))
        beyond = (max(0, end - len(self.forecast)) / length if self.prorate else 0.0 for end in ends)
        return self.types[host.type].price * math.fsum(max(0.0, 1 - share) for share in beyond)

    def unserved(self, operator: str, instances: tuple[int, ...]) -> tuple[float, ...]:
        """Items left at the end of each period, by the numbers of instances that run in the periods."""
        described, rate = self.application.by_name[operator], self.application.load(operator)
        waiting, leftovers = self.queues.get(operator, 0.0), []
        for factor, count in zip(self.forecast, instances, strict=True):
            arriving = waiting + factor * rate * self.period
            waiting = arriving - count * self.period / described.occupied
            waiting = waiting if waiting > LIMIT_SLACK * arriving else 0.0
            leftovers.append(waiting)
        return tuple(leftovers)

    def _check_decision(self, decision: tuple[PlannedHost, ...], place: str, faults: Faults) -> None:
        known = self.application.by_name.keys()
        for index, host in enumerate(decision):
            faults.add_unknown((place, index, "type"), host.type, "host type", self.types)
            for period, instances in enumerate(host.instances):
                for operator in instances.keys() - known if instances else ():
                    location = (place, index, "instances", period, operator)
                    faults.add_unknown(location, operator, "operator of the application", self.application.by_name)

    def evaluate(self, decision: Sequence[PlannedHost | Mapping[str, Any]]) -> Evaluation:
        """Evaluate leases and the instances on them.

        Returns
        -------
        Evaluation
            Metrics: `lease_cost` (money), `violations` (items, counted again in every period), `units` bought, and
            `hosts`, the largest number that is leased at a time.

        Raises
        ------
        InvalidInstanceError
            When host types or operators are unknown.
        """
        hosts: tuple[PlannedHost, ...] = self.read_decision(decision)
        counts = [Counter[str]() for _ in self.forecast]
        leased: list[Counter[str]] = [Counter() for _ in self.forecast]
        for host in self._all(hosts):
            for period in self.paid(host):
                leased[period][host.type] += 1
        for host in hosts:
            for period, instances in enumerate(host.instances[: len(counts)]):
                if instances:  # of long horizons most are empty
                    counts[period].update(instances)
        operators = self.application.by_name
        violations = math.fsum(
            unserved for name in operators for unserved in self.unserved(name, tuple(in_period[name] for in_period in counts))
        )
        cost = math.fsum(self.price(host) for host in hosts)
        metrics = {
            "lease_cost": cost,
            "violations": violations,
            "units": float(sum(host.units for host in hosts)),
            "hosts": float(max(sum(by_type.values()) for by_type in leased)),
        }
        broken = (*self._broken_hosts(hosts), *self._broken_counts(counts, leased))
        return Evaluation(cost + self.penalty * violations, metrics, broken)

    def margins(self, decision: Any) -> Iterator[Margin]:
        """Yield the resources of each host that are used in each period."""
        for host in self.read_decision(decision):
            for period, instances in enumerate(host.instances):
                place = f"{host.name} in period {period}"
                yield from containers.host_margins(place, instances, self.types[host.type], self.application)

    def _all(self, decision: tuple[PlannedHost, ...]) -> Iterator[PlannedHost]:
        """The hosts of a decision, and those that are paid but not mentioned."""
        yield from decision
        named = {host.name for host in decision}
        for host in self.leased:
            if host.name not in named:
                yield PlannedHost(name=host.name, type=host.type, units=0, instances=({},) * len(self.forecast))

    def _broken_hosts(self, decision: tuple[PlannedHost, ...]) -> Iterator[str]:
        before = {host.name: host for host in self.leased}
        for index in duplicates([host.name for host in decision]):
            yield f"host {decision[index].name}: is there twice"
        for host in decision:
            if len(host.instances) != len(self.forecast):
                yield f"host {host.name}: instances of {len(host.instances)} periods against {len(self.forecast)}"
            kept_host = before.get(host.name)
            if kept_host is not None and kept_host.type != host.type:
                yield f"host {host.name}: is of type {kept_host.type}, not {host.type}"
            if kept_host is not None and host.units and host.first < kept_host.paid_periods:
                yield f"host {host.name}: a unit begins in period {host.first}, but it is paid until {kept_host.paid_periods}"
            paid, host_type = self.paid(host), self.types[host.type]
            for period, instances in enumerate(host.instances):
                if not instances:
                    continue
                if any(instances.values()) and period not in paid:
                    yield f"host {host.name}: carries instances in period {period}, which is not paid"
                for why in containers.overfull(instances, host_type, self.application):
                    yield f"host {host.name} in period {period}: {why}"

    def _broken_counts(self, counts: list[Counter[str]], leased: list[Counter[str]]) -> Iterator[str]:
        for period, fewest in enumerate(self.minimum_instances):
            for name, needed in fewest.items():
                for why in count_faults(self.application.by_name[name], counts[period][name], needed):
                    yield f"period {period}: {why}"
            for host_type in self.host_types:
                hosts = leased[period][host_type.name]
                if host_type.limit is not None and hosts > host_type.limit:
                    yield f"period {period}: limit of {host_type.name}: {hosts} hosts against {host_type.limit}"

    def solution(self, decision: tuple[PlannedHost, ...] | None, fields: dict[str, Any]) -> LeasingSolution:
        """The hosts."""
        return LeasingSolution.model_construct(**fields, hosts=decision)

    def _warnings(self) -> Iterator[Fault]:
        waiting = [name for name, items in self.queues.items() if items]
        yield from unreached_operators(self.application, waiting)
        if not any(self.forecast) and not waiting:
            yield Fault("forecast", "", "is 0 in every period, so that there is no load")
        why = never_late(self)
        if why and self.penalty and "penalty" in self.model_fields_set:
            yield Fault("penalty", f"{self.penalty:g}", f"has no effect: {why}")
        if not any(host_type.price for host_type in self.host_types) and (why or not self.penalty):
            yield Fault("host_types", "", "have no price, so that every plan costs nothing")

    def clashes(self) -> tuple[str, ...]:
        """The limits that leave no room for the instances that the forecast needs, in the first period where that shows."""
        for period, fewest in enumerate(self.minimum_instances):
            clashes = hosting_clashes(self.application, self.host_types, fewest)
            if not clashes[0].startswith("limits of the host types"):
                return tuple(f"period {period}: {clash}" for clash in clashes)
        return ("limits of the host types: in some period the instances that the forecast needs find no arrangement",)


def paid_spans(problem: LeasingProblem, host: PlannedHost) -> Iterator[tuple[float, float]]:
    """Begin and end of each time, in seconds, in which a host is paid."""
    paid = problem.paid(host)
    firsts = sorted(period for period in paid if period - 1 not in paid)
    lasts = sorted(period for period in paid if period + 1 not in paid)
    yield from ((first * problem.period, (last + 1) * problem.period) for first, last in zip(firsts, lasts, strict=True))
