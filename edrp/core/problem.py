"""Base of all kinds of problems: data, an independent evaluation, and the form of the solution."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from edrp.core.document import Document
from edrp.core.solution import Solution

SolutionType = TypeVar("SolutionType", bound=Solution, covariant=True)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The independent evaluation of a decision.

    `broken` names every limit that the decision breaks, in words; empty means feasible.
    """

    objective: float
    metrics: dict[str, float]
    broken: tuple[str, ...]

    @property
    def feasible(self) -> bool:
        """Whether all limits are met."""
        return not self.broken


class Problem(Document):
    """Base of all kinds of problems.

    A kind adds its `kind`, its fields, `evaluate` and `solution`; it knows nothing of methods.
    """

    kind: str

    @abstractmethod
    def evaluate(self, decision: Any) -> Evaluation:
        """Evaluate a decision with plain code that shares nothing with any method."""

    @abstractmethod
    def solution(self, decision: Any, fields: dict[str, Any]) -> Solution:
        """The solution that a checked decision (or None) makes; `fields` are those of every `Solution`."""

    def clashes(self) -> tuple[str, ...]:
        """Why no decision is feasible, in words; empty where the kind cannot tell without solving."""
        return ()


class Solvable(Protocol[SolutionType]):
    """A problem, as `solve` sees it: the type of its solutions follows from its own."""

    @property
    def kind(self) -> str:
        """Names the kind of problem."""
        ...

    def evaluate(self, decision: Any) -> Evaluation:
        """Evaluate a decision independently."""
        ...

    def solution(self, decision: Any, fields: dict[str, Any]) -> SolutionType:
        """Make the solution of a checked decision."""
        ...

    def clashes(self) -> tuple[str, ...]:
        """Why no decision is feasible, in words."""
        ...
