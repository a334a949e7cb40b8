"""Metrics about the slowest path: they can name its legs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import MeasuredProblem, PlainMetric


@dataclass(frozen=True, slots=True)
class PathPart:
    """One leg of the critical path: an operator or a stream, with its seconds."""

    name: str
    seconds: float
    is_stream: bool


class PathMetric(PlainMetric):
    """A metric whose value is the time along the slowest path."""

    @abstractmethod
    def critical_path(self, problem: MeasuredProblem, deployment: Deployment) -> tuple[PathPart, ...]:
        """The slowest path, leg by leg."""
