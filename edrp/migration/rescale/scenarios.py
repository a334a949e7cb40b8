"""Loads that a deployment has to serve until the next decision, with probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from edrp.core.document import Document, Faults, Positive, unit
from edrp.core.tolerances import UNIT_SUM_SLACK
from edrp.migration.rescale.documents import KeyedApplication


class LoadScenario(Document):
    """A load that the deployment has to serve, relative to the load that the application describes.

    >>> LoadScenario(factor=1.5, probability=0.2).factor
    1.5
    """

    factor: Positive = Field(description="by which the rates of sources and streams are multiplied", **unit("1"))
    probability: Annotated[float, Field(gt=0, le=1)] = Field(description="of this load, as a share of the time", **unit("1"))


NOW = (LoadScenario(factor=1.0, probability=1.0),)
"""The load of the application and no other."""


def note_scenario_faults(scenarios: Sequence[LoadScenario], faults: Faults) -> None:
    """Note probabilities that do not sum to 1, and a factor that is given twice."""
    factors = [scenario.factor for scenario in scenarios]
    for index, factor in enumerate(factors):
        if factor in factors[:index]:
            faults.add(("scenarios", index, "factor"), factor, "is given twice; add up the probabilities")
    total = math.fsum(scenario.probability for scenario in scenarios)
    if scenarios and abs(total - 1.0) > UNIT_SUM_SLACK:
        faults.add(("scenarios",), total, "is what the probabilities sum to; they must sum to 1")


def multiplied(application: KeyedApplication, factor: float) -> KeyedApplication:
    """The application with all rates of its sources and streams multiplied.

    >>> source = {"name": "source", "external_rate": 10.0}
    >>> multiplied(KeyedApplication(operators=[source]), 1.5).load("source")
    15.0
    """
    operators = [operator.replace(external_rate=factor * operator.external_rate) for operator in application.operators]
    streams = [stream if stream.rate is None else stream.replace(rate=factor * stream.rate) for stream in application.streams]
    return application.replace(operators=tuple(operators), streams=tuple(streams))
