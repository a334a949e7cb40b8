"""Rules about where replicas may run, with two faces: `evaluate` a deployment in plain code, `linearise` as rows."""

from typing import Annotated

from pydantic import Field

from edrp.placement.rules.grouping import Apart, AtLeastZones, Spread, Together
from edrp.placement.rules.location import Forbidden, LinearRule, Required
from edrp.placement.rules.own import PythonRule

PlacementRule = Annotated[
    Apart | Together | Spread | AtLeastZones | Forbidden | Required | LinearRule | PythonRule, Field(discriminator="rule")
]

__all__ = [
    "Apart",
    "AtLeastZones",
    "Forbidden",
    "LinearRule",
    "PlacementRule",
    "PythonRule",
    "Required",
    "Spread",
    "Together",
]
