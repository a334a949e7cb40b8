"""Base of all kinds of problems: data, an independent evaluation, and the form of the solution."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import ValidationError

from edrp.core.document import Document, Faults
from edrp.core.reading import read_as
from edrp.core.solution import Solution
from edrp.core.wording import invalid

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

    A kind adds its `kind`, its fields, `evaluate` and `solution`; it knows nothing of methods. With a `decision_type` that
    pydantic knows, decisions may be given as plain dicts and lists.
    """

    decision_type: ClassVar[Any] = Any

    kind: str

    @property
    def resolution(self) -> float:
        """Difference of two objectives that rounding may make where they are small beside what they are differences of."""
        return 0.0

    @abstractmethod
    def evaluate(self, decision: Any) -> Evaluation:
        """Evaluate a decision with plain code that shares nothing with any method."""

    def read_decision(self, decision: Any, place: str = "decision") -> Any:
        """Read a decision about this problem, which may be given as plain dicts and lists; `place` is named in errors.

        Raises
        ------
        InvalidInstanceError
            When it is no decision, or names what the problem does not have; every fault with its place.
        """
        read = read_as(self.decision_type, decision, place)
        faults = Faults(self.kind)
        self._check_decision(read, place, faults)
        try:
            faults.raise_if_any()
        except ValidationError as error:
            raise invalid(error, dict[str, Any]) from None
        return read

    def _check_decision(self, decision: Any, place: str, faults: Faults) -> None:
        """Note what a decision names that the problem does not have; locations begin with `place`."""

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

    @property
    def resolution(self) -> float:
        """Difference of two objectives that counts as rounding."""
        ...

    def read_decision(self, decision: Any, place: str = "decision") -> Any:
        """Read a decision that may be given as plain dicts and lists."""
        ...

    def solution(self, decision: Any, fields: dict[str, Any]) -> SolutionType:
        """Make the solution of a checked decision."""
        ...

    def clashes(self) -> tuple[str, ...]:
        """Why no decision is feasible, in words."""
        ...
