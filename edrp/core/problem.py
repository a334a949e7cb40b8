"""Base of all kinds of problems: data, an independent evaluation, the form of the solution, and results derived once."""

from __future__ import annotations

import math
import os
import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, overload

from pydantic import TypeAdapter, ValidationError

from edrp.core.document import Document, Faults
from edrp.core.document_text import short_problem
from edrp.core.errors import Fault, InvalidInstanceError, ProblemWarning
from edrp.core.plugins import own
from edrp.core.solution import Solution
from edrp.core.wording import invalid

T = TypeVar("T")


@overload
def read_as(form: type[T], value: Any, place: str) -> T: ...
@overload
def read_as(form: Any, value: Any, place: str) -> Any: ...
def read_as(form: Any, value: Any, place: str) -> Any:
    """Read a value, such as a decision that is given as a plain dict, as a type that pydantic knows.

    Parameters
    ----------
    form
        The type. A value that is an instance of it already is returned as it is, and so is every value for `Any`.
    value
        The value that the caller gave.
    place
        Name of the value where it was given, for the message.

    Raises
    ------
    InvalidInstanceError
        Every fault of the value, with its place.

    Examples
    --------
    >>> read_as(tuple[int, ...], ["3", 4], "steps")
    (3, 4)
    >>> read_as(tuple[int, ...], [3, None], "steps")
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: 1 fault in the input
      steps[1]: must be a whole number (got null)
    """
    if form is Any or (isinstance(form, type) and isinstance(value, form)):
        return value
    try:
        return _adapter(form).validate_python({place: value})[place]
    except ValidationError as error:
        raise invalid(error, dict[str, form]) from None


@cache
def _adapter(form: Any) -> TypeAdapter[dict[str, Any]]:
    return TypeAdapter(dict[str, form])


Source = TypeVar("Source")
Result = TypeVar("Result")


class _Work(NamedTuple):
    """A problem, and the results that were derived from it by function."""

    problem: Any
    results: dict[Callable[[Any], Any], Any]


_current: ContextVar[_Work | None] = ContextVar("work", default=None)


@contextmanager
def derived_once(problem: object, results: dict[Callable[[Any], Any], Any] | None = None) -> Iterator[None]:
    """Derive from this problem, by functions that are `derived`, only once inside the block.

    Nothing is kept beyond the block, neither on the problem nor elsewhere, and each thread has blocks of its own. A block
    inside another one with the same problem shares its results; with a different problem it starts empty, so that the many
    variants that some methods solve do not pile up, or from `results`, by function, to which it adds.
    """
    outer = _current.get()
    if outer is not None and outer.problem is problem:
        yield
        return
    token = _current.set(_Work(problem, {} if results is None else results))
    try:
        yield
    finally:
        _current.reset(token)


def derived(derive: Callable[[Source], Result]) -> Callable[[Source], Result]:
    """Decorate a function of an immutable problem so that `derived_once` shares its result.

    Examples
    --------
    >>> @derived
    ... def counted(problem):
    ...     print("counting")
    ...     return len(problem)
    >>> with derived_once("four"):
    ...     counted("four") + counted("four")
    counting
    8
    """

    @wraps(derive)
    def shared(problem: Source) -> Result:
        work = _current.get()
        if work is None or work.problem is not problem:
            return derive(problem)
        if derive not in work.results:
            work.results[derive] = derive(problem)
        result: Result = work.results[derive]
        return result

    return shared


RULES, SCENARIOS = "rules", "scenarios"
"""Parts of problems that have rules of their user's, and of those whose decision is judged under several loads."""


class _AllParts:
    def __contains__(self, part: object) -> bool:
        return True


EVERYTHING = _AllParts()
"""What methods take that know a problem by `evaluate` alone, or leave it to others, which refuse what they do not know."""


def _why_no_decision(decision: Any) -> str:
    """Why a value that is easily taken for a decision is none, and what would be right; empty for all others."""
    if isinstance(decision, Solution):
        return f"is a {decision.kind}; give a decision about this problem, or a solution of it"
    if isinstance(decision, os.PathLike) or (isinstance(decision, str) and decision.endswith(".json")):
        return "is the name of a file; edrp.load_solution(path) reads a solution"
    if decision is None:
        return "is None; a solution without a decision has none"
    if isinstance(decision, dict) and str(decision.get("kind", "")).endswith("-solution"):
        return "is the document of a solution; edrp.load_solution(path) makes a solution of its file"
    return ""


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


@dataclass(frozen=True, slots=True)
class Margin:
    """One limit: what is used of it. `used` is the share, 1 at the limit; above 1 it is broken.

    >>> Margin.of("work of node 0", 3.0, 4.0, "1").used
    0.75
    """

    name: str
    value: float
    limit: float
    unit: str
    used: float

    @classmethod
    def of(cls, name: str, value: float, limit: float, unit: str) -> Margin:
        """The margin of a limit from above."""
        return cls(name, value, limit, unit, value / limit if limit else math.inf if value else 0.0)


class ShownInNotebooks:
    """Something that notebooks show as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The HTML that notebooks show."""
        return str(own("edrp.notebook")(self))


class Problem(Document, ShownInNotebooks):
    """Base of all kinds of problems.

    A kind adds its `kind`, its fields, `evaluate` and `solution`; it knows nothing of methods. With a `decision_type` that
    pydantic knows, decisions may be given as plain dicts and lists. Making a problem
    raises `InvalidInstanceError` with all faults of the document and of its parts, each with its place.
    """

    decision_type: ClassVar[Any] = Any
    can_be_unbounded: ClassVar[bool] = False
    """Whether the objective of feasible decisions may have no least value; an answer that claims this of others is refused."""

    possible_parts: ClassVar[Collection[str]] = ()
    """What `parts` may name; of kinds with rules, rules anyway."""

    objective_terms: ClassVar[tuple[str, ...]] = ()
    """Metrics that add up to the objective; a name that is no metric is that of what they leave."""

    kind: str

    @property
    def resolution(self) -> float:
        """Difference of two objectives that rounding may make where they are small relative to what they are differences of."""
        return 0.0

    @property
    def stage_count(self) -> int:
        """Number of stages in which the problem is solved (`edrp.core.stages`); 0 where it is solved as it is."""
        return 0

    @property
    def parts(self) -> Mapping[str, str]:
        """Parts that a method has to know lest it answers another question, each in the words of a refusal."""
        return {RULES: RULES} if getattr(self, "rules", ()) else {}

    @abstractmethod
    def evaluate(self, decision: Any) -> Evaluation:
        """Evaluate a decision with plain code that shares nothing with any method."""

    def objective_parts(self, evaluation: Evaluation) -> dict[str, float]:
        """What each term costs: parts that sum to the objective, by what they are; see `objective_terms`."""
        parts = {name: evaluation.metrics.get(name, 0.0) for name in self.objective_terms}
        rest = evaluation.objective - sum(parts.values())
        return {name: parts[name] if name in evaluation.metrics else rest for name in parts}

    def margins(self, decision: Any) -> Iterator[Margin]:
        """Yield how much a decision uses of each limit of the problem, where a kind says so."""
        return iter(())

    def inconsistency(self, decision: Any) -> str:
        """Disagreement of two computations of the same part of an evaluation, such as the faces of a user's rule; or ""."""
        return ""

    def read_decision(self, decision: Any, place: str = "decision") -> Any:
        """Read a decision about this problem, which may be a solution or plain dicts and lists; `place` is named in errors.

        Raises
        ------
        InvalidInstanceError
            When it is no decision, or names what the problem does not have; every fault with its place.
        """
        if isinstance(decision, Solution) and decision.kind == f"{self.kind}-solution":
            decision = decision.decision
        try:
            read = read_as(self.decision_type, decision, place)
        except InvalidInstanceError:
            if why := _why_no_decision(decision):
                raise InvalidInstanceError([Fault(place, "", why)]) from None
            raise
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

    def __repr__(self) -> str:
        return short_problem(self)

    def clashes(self) -> tuple[str, ...]:
        """Why no decision is feasible, in words; empty where the kind cannot tell without solving."""
        return ()

    def warnings(self) -> tuple[Fault, ...]:
        """Statements of the problem without any effect, and numbers that look like those of another unit, with their places.

        Such a problem is valid, but probably not what was meant. `edrp.solve` warns of it, and `--strict` refuses it.

        Examples
        --------
        >>> from edrp import LatencyAwareProblem
        >>> problem = LatencyAwareProblem(application={"operators": [{"name": "read"}]}, network={"nodes": [{"name": "edge"}]})
        >>> [fault.sentence for fault in problem.warnings()]
        ['application has no load: no operator has an external_rate, and no stream a rate']
        """
        return tuple(self._warnings())

    def _warnings(self) -> Iterator[Fault]:
        """Yield what `warnings` gives; a kind adds its own to those of its base."""
        return iter(())


def warning_texts(problem: Solvable[Any]) -> Iterator[str]:
    """Statements of a problem without effect or in an unlikely unit, in words; found when the first one is asked for."""
    yield from (fault.sentence for fault in problem.warnings())


def warn_caller(sentences: Iterable[str]) -> None:
    """Give each sentence as a `ProblemWarning` of the line that called the public function which calls this.

    Where that line is in this package, nothing is asked for or given: its own caller is told, or it solves a mere variant.
    """
    if sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] != "edrp":
        for sentence in sentences:
            warnings.warn(ProblemWarning(sentence), stacklevel=3)


class Solvable(Protocol[SolutionType]):
    """A problem, as `solve` sees it: the type of its solutions follows from its own."""

    @property
    def kind(self) -> str:
        """Names the kind of problem."""
        ...

    def evaluate(self, decision: Any) -> Evaluation:
        """Evaluate a decision independently."""
        ...

    def inconsistency(self, decision: Any) -> str:
        """Disagreement of two computations of the same part of an evaluation, or ""."""
        ...

    @property
    def resolution(self) -> float:
        """Difference of two objectives that counts as rounding."""
        ...

    @property
    def stage_count(self) -> int:
        """Number of stages in which the problem is solved."""
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

    def warnings(self) -> tuple[Fault, ...]:
        """Statements of the problem without any effect or in an unlikely unit."""
        ...
