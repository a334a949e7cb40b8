"""Deployments for a day: one for each period of a load that is known beforehand, with prices of changes between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from edrp.core.document import Faults, NonNegative, Outcome, Positive, unit
from edrp.core.errors import Fault, InvalidInstanceError, numbered
from edrp.core.problem import Evaluation
from edrp.core.solution import Solution
from edrp.placement.changes import ChangePrices
from edrp.placement.deployment import Action, Deployment
from edrp.placement.edrp import EdrpProblem, EdrpSolution
from edrp.placement.metrics.peak_load import PEAK_LOADS
from edrp.placement.over_time import Load, LoadedProblem, PlacementOverTime


class Period(Load):
    """A time in which load and limits stay the same."""

    duration: Positive = Field(description="length", **unit("s"))


class PeriodOutcome(Outcome):
    """The deployment of a period, its cost, and its change."""

    deployment: Deployment = Field(description="nodes per operator, once per replica")
    cost: float = Field(description="duration × weighted sum of the metrics", **unit("s"))
    change_cost: NonNegative = Field(description="prices of the change from the deployment before", **unit("s"))
    response_time: float = Field(description="of the application", **unit("s"))
    money: float = Field(description="cost of the deployment while it runs", **unit("money/h"))
    downtime: NonNegative = Field(description="of the change (EDRP, eq. 10)", **unit("s"))
    moved_state: NonNegative = Field(description="that reaches another node at least", **unit("B"))
    started_replicas: int = Field(description="replicas that start on a node", **unit("1"))
    actions: tuple[Action, ...] = Field(description="changes from the deployment before")


class EdrpSequenceSolution(Solution):
    """The answer of a method to a problem of kind `edrp-sequence`."""

    metric_units: ClassVar = {**EdrpSolution.metric_units, "moved_state": "B", "running": "s", "changing": "s"}

    kind: Literal["edrp-sequence-solution"] = Field("edrp-sequence-solution", description="says what the document is")
    objective: float | None = Field(description="cost of all periods and changes as re-evaluated", **unit("s"))
    bound: float | None = Field(description="proven: nothing costs less than this", **unit("s"))
    periods: tuple[PeriodOutcome, ...] | None = Field(description="what runs in each period")

    @property
    def decision(self) -> tuple[Deployment, ...] | None:
        """The deployment of each period."""
        return None if self.periods is None else tuple(period.deployment for period in self.periods)

    @property
    def changes(self) -> int:
        """Number of periods that begin with a change."""
        return sum(bool(period.actions) for period in self.periods or ())


class EdrpSequence(PlacementOverTime):
    """Joint replication and placement over periods with known loads.

    The objective is Σ duration × objective of `edrp` under the period's load + Σ prices of the changes from period to period,
    in seconds of an objective of 1. A period without a price of changes is a problem of kind `edrp`; downtime is priced per
    change instead of weighted.

    Examples
    --------
    An hour that needs two replicas, between two that need one; to start one costs as much as 100 s of an objective of 1:

    >>> queue = {"model": "mm1", "service_rate": 10.0}
    >>> problem = EdrpSequence(
    ...     application={"operators": [{"name": "work", "latency": queue, "external_rate": 5.0, "cost": 1.0, "max_replicas": 2}]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0, "response_time": 0.5},
    ...     periods=[{"duration": 3600, "external_rates": {"work": rate}} for rate in (5.0, 15.0, 5.0)],
    ...     changes={"started_replicas": 100.0},
    ... )
    >>> problem.evaluate([{"work": ["a"]}, {"work": ["a", "a"]}, {"work": ["a"]}]).objective
    3700.0
    """

    decision_type: ClassVar[Any] = tuple[Deployment, ...]
    before_field: ClassVar[str] = "initial"
    loads_field: ClassVar[str] = "periods"

    kind: Literal["edrp-sequence"] = Field("edrp-sequence", description="says what the document is")
    periods: Annotated[tuple[Period, ...], Field(min_length=1)] = Field(description="one after the other")
    initial: Deployment | None = Field(
        None, description="deployment before the first period, which may break limits; null: the first one costs no change"
    )

    @classmethod
    def of(
        cls,
        problem: EdrpProblem,
        rates: Mapping[str, Iterable[float]],
        duration: float,
        changes: ChangePrices | Mapping[str, float] | None = None,
    ) -> EdrpSequence:
        """The sequence of a problem of kind `edrp` under loads that follow one another.

        Parameters
        ----------
        problem
            Its current deployment becomes the initial one.
        rates
            Tuples/s of the sources, by name: one for each period.
        duration
            Seconds of each period.
        changes
            Prices of changes; None for none.

        Raises
        ------
        InvalidInstanceError
            When sources have different numbers of rates, when the problem has priorities or weighs downtime, which is priced
            instead, or when the sequence is not valid for another reason.

        Examples
        --------
        >>> problem = EdrpProblem(
        ...     application={"operators": [{"name": "work", "cost": 1.0}]},
        ...     network={"nodes": [{"name": "a"}]},
        ...     weights={"cost": 1.0},
        ...     limits={"cost": 5.0},
        ... )
        >>> EdrpSequence.of(problem, {"work": [5.0, 9.0]}, 3600, {"change": 60}).periods[1].external_rates
        {'work': 9.0}
        """
        series = {name: [float(rate) for rate in values] for name, values in rates.items()}
        faults = []
        if problem.priorities:
            why = "must be none: periods are weighed against changes"
            faults.append(Fault("problem.priorities", f"{len(problem.priorities)}", why))
        if len({len(values) for values in series.values()}) > 1:
            numbers = ", ".join(f"{name}: {len(values)}" for name, values in series.items())
            faults.append(Fault("rates", numbers, "must be as many for each source as for the others"))
        InvalidInstanceError.raise_if_any(faults, "EdrpSequence.of")
        loads = [dict(zip(series, row, strict=True)) for row in zip(*series.values(), strict=True)]
        fields = ("application", "network", "synchronisation_time", "weights", "limits", "reconfiguration", "rules")
        return cls(
            **{name: getattr(problem, name) for name in fields},
            periods=[{"duration": duration, "external_rates": load} for load in loads],
            changes=ChangePrices() if changes is None else changes,
            initial=problem.current,
        )

    @property
    def duration(self) -> float:
        """Seconds of all periods together."""
        return math.fsum(period.duration for period in self.periods)

    def period(self, number: int, before: Deployment | None = None) -> LoadedProblem:
        """The problem of kind `edrp` in a period, counted from 0, as a change from the deployment before."""
        return self.under(self.periods[number], before)

    def evaluate(self, decision: Sequence[Any]) -> Evaluation:
        """Evaluate the deployment of each period: cost of periods and changes, and the limits that are broken."""
        deployments: tuple[Deployment, ...] = self.read_decision(decision)
        broken: list[str] = []
        means = [name for name in self.base.metrics if name != "downtime" and not name.startswith(f"{PEAK_LOADS}.")]
        costs, prices, sums = [], [], dict.fromkeys((*means, "downtime", "moved_state", "started_replicas"), 0.0)
        changes, whole = 0, self.duration
        for number, (loaded, after) in enumerate(self._course(deployments)):
            evaluation = loaded.problem.evaluate(after)
            change = self.change(loaded, after)
            broken += [f"periods[{number}]: {why}" for why in evaluation.broken]
            costs.append(self.periods[number].duration * loaded.factor * evaluation.objective)
            for name in means:  # limits of a period may leave out a metric of your own, which is none of its problem then
                value = evaluation.metrics.get(name)
                value = self.base.metrics[name].evaluate(loaded.problem, after) if value is None else value
                sums[name] += self.periods[number].duration / whole * value
            if change is not None:
                changes += 1
                prices.append(self.changes.of(change))
                for name in ("downtime", "moved_state", "started_replicas"):
                    sums[name] += getattr(change, name)
        running, changing = math.fsum(costs), math.fsum(prices)
        metrics = {**sums, "changes": float(changes), "running": running, "changing": changing}
        return Evaluation(running + changing, metrics, tuple(broken))

    def _course(self, deployments: Sequence[Deployment]) -> Iterator[tuple[LoadedProblem, Deployment]]:
        """The problem of each period with what runs before, where that is something else, and what runs then."""
        before = self.initial
        for number, after in enumerate(deployments):
            yield self.period(number, None if before == after else before), after
            before = after

    def _check_decision(self, decision: tuple[Deployment, ...], place: str, faults: Faults) -> None:
        if len(decision) != len(self.periods):
            why = f"must be one deployment for each of {numbered(len(self.periods), 'period')}"
            faults.add((place,), f"{len(decision)}", why)
            return
        known: set[Deployment] = set()
        for number, deployment in enumerate(decision):
            if deployment not in known:
                self.base._check_decision(deployment, f"{place}[{number}]", faults)
                known.add(deployment)

    def inconsistency(self, decision: Any) -> str:
        """A disagreement of `evaluate` and `linearise` of a rule in Python or a metric in some period, or ""."""
        course = self._course(self.read_decision(decision))
        return next(filter(None, (loaded.problem.inconsistency(after) for loaded, after in course)), "")

    def solution(self, decision: tuple[Deployment, ...] | None, fields: dict[str, Any]) -> EdrpSequenceSolution:
        """The solution with the deployment of each period, its cost, and the actions that lead there."""
        periods = None if decision is None else tuple(self.outcomes(decision))
        return EdrpSequenceSolution.model_construct(**fields, periods=periods)

    def outcomes(self, decision: Sequence[Deployment]) -> Iterator[PeriodOutcome]:
        """The deployment of each period, its cost, and the effects of its change."""
        for number, (loaded, after) in enumerate(self._course(decision)):
            evaluation = loaded.problem.evaluate(after)
            change, before = self.change(loaded, after), loaded.problem.current
            yield PeriodOutcome.model_construct(
                deployment=after,
                cost=self.periods[number].duration * loaded.factor * evaluation.objective,
                change_cost=self.changes.of(change),
                response_time=evaluation.metrics["response_time"],
                money=evaluation.metrics["cost"],
                downtime=0.0 if change is None else change.downtime,
                moved_state=0.0 if change is None else change.moved_state,
                started_replicas=0 if change is None else change.started_replicas,
                actions=() if before is None else before.actions_to(after),
            )

    def clashes(self) -> tuple[str, ...]:
        """Why some period has no feasible deployment, where that can be told without solving."""
        return tuple(
            f"periods[{number}]: {why}"
            for number in range(len(self.periods))
            for why in self.period(number, None).problem.clashes()
        )
