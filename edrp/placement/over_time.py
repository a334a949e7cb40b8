"""Base of the problems that decide deployments for changing load: the model of `edrp`, and prices of changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field, ValidationError

from edrp.core.document import Document, Faults, Name, NonNegative, checks, unit
from edrp.core.errors import Fault
from edrp.core.problem import Problem
from edrp.placement.application import Application, Operator
from edrp.placement.changes import Change, ChangePrices, change_between
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import OF_PROBLEMS, Limits, Weights
from edrp.placement.metrics.base import PARTS
from edrp.placement.metrics.penalties import ALL
from edrp.placement.network import Network
from edrp.placement.rules import PlacementRule

SINGLE_TERMS = ("moves", "moved_state", ALL)
"""Metrics of problems about one deployment, besides those of single entries and rules."""


class Load(Document):
    """A load of the application, and the limits that hold under it."""

    external_rates: dict[Name, NonNegative] = Field(
        {},
        description="load that no stream brings, by operator; operators that are not named keep their `external_rate`",
        **unit("tuples/s"),
    )
    limits: Limits | None = Field(
        None, description="on the metrics; null for those of the problem, which always normalise the objective"
    )


@dataclass(frozen=True, slots=True)
class LoadedProblem:
    """The problem of kind `edrp` under one load.

    Attributes
    ----------
    problem : with the deployment before as `current`.
    factor : objective on the scale of the whole problem for each unit of its objective; 1 where limits are those of the whole.
    """

    problem: EdrpProblem
    factor: float


class PlacementOverTime(Problem):
    """Base of the kinds that decide more than one deployment of an application.

    Attributes
    ----------
    before_field, loads_field : names of the fields of the deployment before the first one that is decided, and of the loads.
    """

    possible_parts: ClassVar[Collection[str]] = PARTS
    before_field: ClassVar[str]
    loads_field: ClassVar[str]

    application: Application = Field(description="what is to be placed, with the rates that hold where no others are given")
    network: Network = Field(description="where it can be placed")
    synchronisation_time: NonNegative = Field(0.0, description="t_syn of a reconfiguration", **unit("s"))
    weights: Weights = Field(
        Weights(response_time=0.5, cost=0.5),
        description="of the metrics in the objective; downtime has none here: `changes` price it",
    )
    limits: Limits = Field(
        Limits(),
        description="on the metrics; one is needed for each metric that has a weight; that on downtime holds for each change",
    )
    reconfiguration: Literal["pause-and-resume", "storm"] = Field(
        "pause-and-resume", description="how the application is reconfigured"
    )
    rules: tuple[PlacementRule, ...] = Field((), description="rules of your own about where replicas run")
    changes: ChangePrices = Field(ChangePrices(), description="prices of what a change does")

    @property
    def before(self) -> Deployment | None:
        """The deployment that runs when the first one is decided."""
        deployment: Deployment | None = getattr(self, self.before_field)
        return deployment

    @property
    def loads(self) -> tuple[str, tuple[Load, ...]]:
        """The field that gives loads, and these."""
        return self.loads_field, getattr(self, self.loads_field)

    @checks()
    def _check_parts(self, faults: Faults) -> None:
        if self.weights.downtime:
            why = "must be 0: downtime is priced for each change, by changes.downtime"
            faults.add(("weights", "downtime"), self.weights.downtime, why)
        _check_single_terms(("weights",), self.weights, faults)
        _check_single_terms(("limits",), self.limits, faults)
        try:
            _ = self.base
        except ValidationError as error:
            for item in error.errors(include_url=False):
                first, *others = item["loc"] or ("kind",)
                faults.add((self.before_field if first == "current" else first, *others), item["input"], item["msg"])
        field, loads = self.loads
        for index, load in enumerate(loads):
            self._check_load((field, index), load, faults)

    def _check_load(self, place: tuple[str | int, ...], load: Load, faults: Faults) -> None:
        fed = {stream.target for stream in self.application.streams}
        for name, rate in load.external_rates.items():
            operator = self.application.by_name.get(name)
            if operator is None:
                faults.add_unknown(
                    (*place, "external_rates", name), name, "operator of the application", self.application.by_name
                )
            elif name in fed and not operator.external_rate:
                why = f"is of no source: streams bring all the load of {name}; give it an external_rate, or name a source"
                faults.add((*place, "external_rates", name), rate, why)
        if load.limits is not None:
            _check_single_terms((*place, "limits"), load.limits, faults)
        for metric in type(self.limits).model_fields if load.limits is not None else ():
            weight, limit = getattr(self.weights, metric), getattr(load.limits, metric)
            if limit is None and metric != "peak_loads" and weight and getattr(self.limits, metric) is not None:
                why = f"is missing, and weights.{metric} is not 0; repeat that of the problem, or give another"
                faults.add((*place, "limits", metric), None, why)

    @cached_property
    def base(self) -> EdrpProblem:
        """The problem of kind `edrp` under the load of the application's own rates, with the deployment before.

        Raises
        ------
        pydantic.ValidationError
            Where it is not valid; problems over time then are not either, and say why.
        """
        fields = ("application", "network", "synchronisation_time", "weights", "limits", "reconfiguration", "rules")
        values = {name: getattr(self, name) for name in fields} | {"current": self.before}
        problem: EdrpProblem = EdrpProblem.__pydantic_validator__.validate_python(values)
        return problem

    @property
    def parts(self) -> Mapping[str, str]:
        """What methods have to know: parts of the problems under all loads."""
        problems = [self.base, *(self.under(load, None).problem for load in self.loads[1] if load.limits is not None)]
        return {part: words for problem in problems for part, words in problem.parts.items()}

    def under(self, load: Load, before: Deployment | None) -> LoadedProblem:
        """The problem of kind `edrp` under a load, as a change of a deployment or, without one, as an initial placement."""
        base, factor = (self.base, 1.0) if load.limits is None else self._with_limits(load.limits)
        application = self.application if not load.external_rates else _with_rates(self.application, load.external_rates)
        return LoadedProblem(base.model_copy(update={"application": application, "current": before}), factor)

    def _with_limits(self, limits: Limits) -> tuple[EdrpProblem, float]:
        """The base with other limits and with weights that make up for what these normalise; and the factor that is left."""
        coefficients = {term.metric: term.coefficient for term in self.base.terms if term.weight}
        scaled = {
            name: coefficient * (1.0 if (limit := limits.of(name)) is None else self.base.metrics[name].scaled(limit))
            for name, coefficient in coefficients.items()
        }
        factor = sum(scaled.values())
        weights = Weights.of_metrics({name: weight / factor for name, weight in scaled.items()})
        rules = tuple(rule.replace(penalty=rule.penalty / factor) if rule.penalty else rule for rule in self.rules)
        return self.base.replace(limits=limits, weights=weights, rules=rules), factor

    def change(self, loaded: LoadedProblem, after: Deployment) -> Change | None:
        """Effects of the change from a problem's current deployment to another; None where nothing changes."""
        problem = loaded.problem
        if problem.current is None or problem.current == after:
            return None
        return change_between(self, problem.current, after, problem.metrics["downtime"].evaluate(problem, after))

    def _warnings(self) -> Iterator[Fault]:
        for fault in self.base._warnings():
            of_state = fault.place.endswith(".state_size") and self.changes.moved_state
            if not of_state and not fault.place.startswith(("limits.downtime", "weights.downtime")):
                yield fault
        if all(stream.rate is not None for stream in self.application.streams) and self.application.streams:
            field, loads = self.loads
            if any(load.external_rates for load in loads):
                why = "reach sources alone: all streams give a rate of their own"
                yield Fault(f"{field}[…].external_rates", "", why)


def _check_single_terms(place: tuple[str | int, ...], values: Weights | Limits, faults: Faults) -> None:
    """Note weights or limits on metrics of one change, or of one problem: here `changes` have prices, and penalties add up."""
    for name in values.named:
        if name in SINGLE_TERMS or name.startswith(OF_PROBLEMS):
            faults.add((*place, name), values.of(name), "is taken by problems of kind edrp alone; leave it out")


def _with_rates(application: Application, rates: Mapping[str, float]) -> Application:
    """The application under other external rates; what was checked before is not checked again."""
    operators: tuple[Operator, ...] = tuple(
        operator if operator.name not in rates else operator.model_copy(update={"external_rate": rates[operator.name]})
        for operator in application.operators
    )
    return Application.model_construct(operators=operators, streams=application.streams)
