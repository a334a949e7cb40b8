"""Weights and limits by metric: those of this package as fields, those of your own under their registered names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import ConfigDict, Field, create_model, model_validator

from edrp.core.document import Document, Faults, Name, Positive, unit
from edrp.core.tolerances import UNIT_SUM_SLACK
from edrp.placement.metrics import EDRP_METRICS
from edrp.placement.metrics.evenness import EVENNESS
from edrp.placement.metrics.own import HOW_REGISTERED, Total, registered_metrics
from edrp.placement.metrics.peak_load import PEAK_LOADS
from edrp.placement.metrics.penalties import ALL, SINGLE
from edrp.placement.problem import sum_needed

OF_PROBLEMS = (f"{EVENNESS}.", f"{SINGLE}.")
"""Beginnings of the names of metrics that a problem has by its own entries and rules; values have their whole names."""

Share = Annotated[float, Field(ge=0, le=1)]


class MetricValues(Document):
    """One value for each of some metrics; those of your own have their registered names (`edrp.register_metric`).

    Those of a problem's `evenness` are called `evenness.<name>`, those of its rules with a penalty `penalty.<rule>`, and that of
    all these rules `penalties`.
    """

    model_config = ConfigDict(extra="allow")

    if TYPE_CHECKING:

        def __init__(self, **values: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    @property
    def own(self) -> dict[str, Any]:
        """Values of registered metrics; which others there are by its own entries and rules, a problem knows."""
        extra = self.__pydantic_extra__ or {}
        return {name: value for name, value in extra.items() if name != ALL and not name.startswith(OF_PROBLEMS)}

    def of(self, metric: str) -> Any:
        """Value of the metric of that name, such as "cost" or "peak_loads.cpu"; None where there is none."""
        name, _, resource = metric.partition(".")
        return getattr(self, name).get(resource) if name == PEAK_LOADS and resource else getattr(self, metric, None)

    @property
    def named(self) -> list[str]:
        """Names of the metrics that have a value which is not 0, besides those of `peak_loads`."""
        return [name for name, value in self if value and name != PEAK_LOADS]

    def replace(self, **changes: Any) -> Self:
        """Return a validated copy with some values changed."""
        return type(self)(**{**dict(self), **changes})

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        faults = Faults(type(self).__name__)
        for name in self.own:  # without any, packages are not imported: they may need what is being defined
            if name not in (known := registered_metrics()):
                faults.add_unknown((name,), name, f"metric; {HOW_REGISTERED}", [*type(self).model_fields, *known])
        faults.raise_if_any()
        return self


_WEIGHTS: Any = create_model(
    "Weights",
    __base__=MetricValues,
    **{name: (Share, Field(0.0, description=metric.weight_text, **unit("1"))) for name, metric in EDRP_METRICS.items()},  # type: ignore[call-overload]
)
_LIMITS: Any = create_model(
    "Limits",
    __base__=MetricValues,
    **{  # type: ignore[call-overload]
        name: (metric.limit_type | None, Field(None, description=metric.limit_text, **unit(metric.unit)))
        for name, metric in EDRP_METRICS.items()
    },
)


class Weights(_WEIGHTS):  # type: ignore[misc]
    """Weight of each metric in the objective (EDRP, eq. 12); they sum to 1."""

    __pydantic_extra__: dict[str, Share]

    peak_load: Share = Field(0.0, description="of the largest share of a node's capacity that is asked for", **unit("1"))
    peak_loads: dict[Name, Share] = Field({}, description="the same of single shared resources, by name", **unit("1"))

    @classmethod
    def of_metrics(cls, weights: Mapping[str, float]) -> Self:
        """Weights by metric, such as "cost" or "peak_loads.cpu"."""
        plain = {name: weight for name, weight in weights.items() if not name.startswith(f"{PEAK_LOADS}.")}
        peaks = {name.partition(".")[2]: weight for name, weight in weights.items() if name not in plain}
        return cls(**plain, peak_loads=peaks)

    @model_validator(mode="after")
    def _check(self) -> Self:
        single = (value for name, value in self if name != PEAK_LOADS)
        total = sum(single) + sum(self.peak_loads.values())
        if abs(total - 1.0) > UNIT_SUM_SLACK:
            faults = Faults("weights")
            faults.add((), total, sum_needed(total, "Weights"))
            faults.raise_if_any()
        return self


class Limits(_LIMITS):  # type: ignore[misc]
    """Worst acceptable value of each metric (EDRP, eqs. 15–17); it also normalises the metric's term (eq. 12)."""

    __pydantic_extra__: dict[str, Total | None]

    peak_load: Positive | None = Field(
        None, description="maximum share of any node's capacity of any shared resource", **unit("1")
    )
    peak_loads: dict[Name, Positive] = Field({}, description="the same of single shared resources, by name", **unit("1"))

    def with_limit(self, metric: str, limit: float | None) -> Self:
        """The same with another limit, or none, on the metric of that name."""
        name, _, resource = metric.partition(".")
        if name != PEAK_LOADS or not resource:
            return self.replace(**{metric: limit})
        others = {key: value for key, value in self.peak_loads.items() if key != resource}
        return self.replace(peak_loads=others if limit is None else {**others, resource: limit})
