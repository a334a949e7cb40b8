"""The largest multiple of a load by classes of equal nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edrp.core.methods import Options
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem


@dataclass(frozen=True, slots=True)
class ClassBound:
    """A multiple that nothing exceeds, and a deployment that may carry it; None where none was constructed."""

    bound: float
    deployment: Deployment | None


def carry_by_classes(problem: EdrpProblem, scale: Sequence[str], options: Options) -> ClassBound | None:
    """Bound the largest multiple by classes of equal nodes; None where that does not apply, which is everywhere so far."""
    return None
