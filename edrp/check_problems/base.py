"""Base of the problems on which the methods of a kind are checked: ordinary, infeasible, degenerate, large, and their optima."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

from edrp.core.instances import loads


class CheckProblems(ABC):
    """Problems of one kind."""

    provable = True
    """Whether exact methods prove optima of this kind; a run that chance has a hand in has none to be proven."""

    @abstractmethod
    def feasible(self) -> dict[str, Any]:
        """Ordinary problems that have an answer, by label."""

    @abstractmethod
    def infeasible(self) -> dict[str, Any]:
        """Return problems without a feasible decision."""

    @abstractmethod
    def degenerate(self) -> dict[str, Any]:
        """Small problems at the edge of the model, by what is special about them."""

    @abstractmethod
    def large(self) -> Any:
        """A problem on which a time limit may be felt."""

    def rare(self) -> list[Any]:
        """Problems that need kernels which the ordinary ones do not."""
        return []

    @abstractmethod
    def optimum(self, problem: Any) -> float | None:
        """Least objective, by brute force; None where the problem is infeasible."""

    def value(self, problem: Any, decision: Any) -> float:
        """The objective of a decision, to be compared with the optimum."""
        return float(problem.evaluate(decision).objective)

    def start(self, problem: Any) -> Any:
        """A decision to start a method from, or None."""
        return None


class DrawnCheckProblems(CheckProblems):
    """Problems of one kind, the ordinary ones drawn at random."""

    seeds: ClassVar[range]

    @staticmethod
    @abstractmethod
    def draw(seed: int) -> Any:
        """Draw a small problem, which may be infeasible."""

    def feasible(self) -> dict[str, Any]:
        """Those of the random problems that have an answer."""
        drawn = {f"seed {seed}": self.draw(seed) for seed in self.seeds}
        return {label: problem for label, problem in drawn.items() if self.optimum(problem) is not None}


class EnumeratedCheckProblems(DrawnCheckProblems):
    """Problems drawn at random, of which brute force finds each optimum once."""

    @staticmethod
    @abstractmethod
    def brute_force(problem: Any) -> Any:
        """Least objective over all decisions, None without any; where brute force knows them with decisions that reach it."""

    def optimum(self, problem: Any) -> float | None:
        """Least objective over all decisions."""
        return self._found(problem)[0]

    def optima(self, problem: Any) -> tuple[Any, ...]:
        """Decisions that reach it, as far as brute force tells them."""
        return self._found(problem)[1]

    def _found(self, problem: Any) -> tuple[float | None, tuple[Any, ...]]:
        found = _enumerated(self.brute_force, problem.model_dump_json())
        return found if isinstance(found, tuple) else (found, ())


@cache
def _enumerated(brute_force: Callable[[Any], Any], text: str) -> Any:
    """Return what brute force finds for the problem in a text: problems with named resources have no hash for the cache."""
    return brute_force(loads(text))
