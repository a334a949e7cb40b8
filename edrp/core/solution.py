"""Answers of methods, and the solutions that they become once checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, GetJsonSchemaHandler, PrivateAttr
from pydantic_core import CoreSchema

from edrp.core.document import Name, NonNegative, Outcome, unit
from edrp.core.errors import EdrpError
from edrp.core.files import save_text, write_whole
from edrp.core.plugins import own
from edrp.core.tolerances import SAME_VALUE

Status = Literal["optimal", "feasible", "infeasible", "unbounded", "none"]
StoppedBecause = Literal["finished", "time_limit", "work_limit", "iteration_limit", "interrupted", "error"]
Proof = Literal["checked certificate", "solver's word", "own algorithm, not certified"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a method before it is checked.

    Attributes
    ----------
    status, stopped_because
        The best that the method can claim, and why it stopped.
    decision
        The decision (a deployment, an assignment, …), or None.
    objective
        Its objective as the method computes it, to be compared with the independent evaluation.
    bound
        Proven lower bound on the objective, or None.
    size
        Columns, rows and nonzeros of the program, or other counts worth reporting.
    build_seconds
        Share of the time that went into tables and programs.
    method
        Full name of the method that ran, where it differs from the name in the call ("auto: eliminate").
    notes
        Sentences for the user.
    proof
        The proof that status or bound rest on; None where nothing is claimed, and of claims of our own algorithms.
    stages
        Outcomes of the stages of a problem with priorities.
    """

    status: Status
    stopped_because: StoppedBecause
    decision: Any = None
    objective: float | None = None
    bound: float | None = None
    size: dict[str, int] = field(default_factory=dict)
    build_seconds: float = 0.0
    method: str = ""
    notes: tuple[str, ...] = ()
    proof: Proof | None = None
    stages: tuple[StageOutcome, ...] = ()

    @property
    def claims(self) -> bool:
        """Whether something is claimed that needs a proof: an optimum, that nothing is feasible, or a bound."""
        return self.status in ("optimal", "infeasible") or self.bound is not None

    @property
    def basis(self) -> Proof | None:
        """The proof that what is claimed rests on, or None.

        >>> Answer("infeasible", "finished").basis
        'own algorithm, not certified'
        """
        return (self.proof or "own algorithm, not certified") if self.claims else None

    def resting_on(self, proof: Proof | None) -> Answer:
        """The answer with this proof of what it claims, and without any where it claims nothing."""
        return replace(self, proof=proof if self.claims else None)


@dataclass(frozen=True, slots=True)
class Infeasibility:
    """Why nothing is feasible: demands that cannot hold together, and what makes the whole problem feasible or not, in words."""

    clashes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()


class StageOutcome(Outcome):
    """The value of one stage of a lexicographic objective, in the unit of its metric."""

    metric: Name = Field(description='what was minimised; "objective" for the weighted sum, which comes last')
    value: float = Field(description="reached by the stage; later ones may worsen it up to `limit`", **unit("1"))
    bound: float | None = Field(description="proven: nothing within the limits of earlier stages is better", **unit("1"))
    gap: NonNegative | None = Field(description="relative difference of both", **unit("1"))
    proven: bool = Field(description="whether the stage is optimal within the gap asked for")
    limit: float | None = Field(description="what later stages keep to; null for the last", **unit("1"))
    method: Name = Field(description="what found it")
    proof: Proof | None = Field(None, description="what optimum or bound rest on; null: nothing is claimed")
    seconds: NonNegative = Field(description="time that the stage took", **unit("s"))


class Solved:
    """The problem that a solution answers, where `solve` has made it: no part of the document, neither compared nor pickled."""

    __slots__ = ("problem",)

    def __init__(self, problem: Any = None) -> None:
        self.problem = problem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Solved)

    __hash__ = None  # type: ignore[assignment]  # nothing to tell two of them apart by

    def __reduce__(self) -> tuple[type[Solved], tuple[()]]:
        return Solved, ()


class Solution(Outcome):
    """A checked answer; each kind of problem adds the decision in its own words.

    `status` says what we hold, `stopped_because` why the method stopped. `bound` and `gap` are None where
    nothing was proven.

    Attributes
    ----------
    metric_units
        Unit of each metric that has one; a kind names those of its own, for tables and for the schema of the document.
    """

    metric_units: ClassVar[Mapping[str, str]] = {}

    kind: str = Field(description="says what the document is")
    status: Status = Field(description="what we hold")
    stopped_because: StoppedBecause = Field(description="why the method stopped")
    objective: float | None = Field(description="what is minimised, as re-evaluated", **unit("1"))
    bound: float | None = Field(description="proven: nothing is better than this", **unit("1"))
    gap: NonNegative | None = Field(description="(objective - bound) / objective", **unit("1"))
    metrics: dict[Name, float] = Field(description="every metric as re-evaluated", **unit("1"))
    broken: tuple[str, ...] = Field(description="limits that the decision breaks, in words")
    clashes: tuple[str, ...] = Field(description="why nothing is feasible: limits that clash, in words")
    remedies: tuple[str, ...] = Field((), description="what makes an infeasible problem feasible, and what not: tested, in words")
    method: Name = Field(description="what found it")
    seconds: dict[Name, NonNegative] = Field(
        description="time to build, to solve, and to find out why nothing is feasible", **unit("s")
    )
    size: dict[Name, Annotated[int, Field(ge=0)]] = Field(
        description="columns, rows and nonzeros of the program, or other counts", **unit("1")
    )
    seed: int = Field(description="seed of the random number generator", **unit("1"))
    versions: dict[Name, str] = Field(description="versions of the packages that the answer depends on")
    notes: tuple[str, ...] = Field((), description="sentences for the user")
    proof: Proof | None = Field(None, description="what optimum, infeasibility or bound rest on; null: nothing is claimed")
    stages: tuple[StageOutcome, ...] = Field((), description="outcomes of `priorities`, one after the other; empty without")
    _certificate: str | None = PrivateAttr(None)
    _solved: Solved = PrivateAttr(default_factory=Solved)

    @property
    def certificate(self) -> str | None:
        """The text of the certificate, which the checker has accepted; None without one. It is no part of the document."""
        return self._certificate

    @property
    def holds_decision(self) -> bool:
        """Whether there is a decision to act on."""
        return self.objective is not None

    @property
    def decision(self) -> Any:
        """The decision as `evaluate` of the problem takes it; None where nothing was decided, or the kind does not offer it."""
        return None

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core_schema)
        handler.resolve_ref_schema(schema)["properties"]["metrics"]["unit"] = describe_units(cls.metric_units)
        return schema

    def to_document(self) -> dict[str, Any]:
        """The solution document (JSON)."""
        return self.model_dump(mode="json")

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the solution document; the file appears whole or not at all.

        Raises
        ------
        UnwritableError
            When a file that holds something else is there, which `force` replaces, or none can be written there.
        """
        save_text(path, _json_text(self.to_document()), force=force)

    def _repr_html_(self) -> str:
        """The HTML that notebooks show."""
        return str(own("edrp.notebook")(self, self._solved.problem))

    def explore(
        self, path: str | Path = "explore.html", problem: Any = None, *, title: str = "", work_limit: float | None = None
    ) -> Path:
        """Write a page that shows the solution, to be opened in a browser; return its path.

        Parameters
        ----------
        path
            Where the page goes; a file that is there is replaced.
        problem
            The problem; needed only where the solution was read from a file or came from another process.
        title
            Heading of the page; empty for the kind of the problem.
        work_limit
            Units of work for the second best decision of kinds that show one; None for the default of `edrp.explain`.

        Raises
        ------
        EdrpError
            When the problem is not known.
        UnwritableError
            When no file can be written there.
        """
        known = self._solved.problem if problem is None else problem
        if known is None:
            raise EdrpError("a solution that was read from a file does not know its problem; call explore(path, problem)")
        own("edrp.explorer")(known, self, path, title=title, work_limit=work_limit)
        return Path(path)


def describe_units(units: Mapping[str, str]) -> str:
    """Units of named numbers in words.

    >>> describe_units({"moved": "B", "kept": "B", "projected": "B", "duration": "s"})
    'moved, kept and projected B, duration s, others 1'
    """
    names: dict[str, list[str]] = {}
    for name, unit_name in units.items():
        names.setdefault(unit_name, []).append(name)
    parts = [f"{' and '.join(', '.join(those).rsplit(', ', 1))} {unit_name}" for unit_name, those in names.items()]
    return ", ".join([*parts, "others 1" if names else "1"])


def write_json(path: Path, document: dict[str, Any], *, replace: bool = True) -> None:
    """Write a document as JSON; the file appears whole or not at all, and in the place of another one only with `replace`."""
    write_whole(path, _json_text(document), replace=replace)


def _json_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def resolution(objective: float) -> float:
    """The difference of objectives that counts as none: `SAME_VALUE`, relative to the objective, or absolute below 1.

    >>> resolution(0.0), resolution(-4.0)
    (1e-09, 4e-09)
    """
    return SAME_VALUE * max(1.0, abs(objective))


def relative_gap(objective: float, bound: float) -> float:
    """(objective − bound) / |objective|, 0 where the difference is within the resolution of objectives.

    Relative to the bound where the objective itself counts as 0.

    >>> relative_gap(100.0, 99.0), relative_gap(0.0, -8e-15), relative_gap(0.0, -3.0)
    (0.01, 0.0, 1.0)
    """
    if objective - bound <= resolution(objective):
        return 0.0
    size = abs(objective)
    return (objective - bound) / (size if size > SAME_VALUE else max(size, abs(bound)))


def within_gap(objective: float, bound: float, gap: float) -> bool:
    """Whether an objective is as near to its bound as a relative gap asks for, up to the resolution of objectives.

    >>> within_gap(100.0, 99.0, 0.01), within_gap(100.0, 98.0, 0.01)
    (True, False)
    """
    return objective - bound <= gap * abs(objective) + resolution(objective)


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def installed_versions(*packages: str) -> dict[str, str]:
    """Versions of `edrp` and of the packages that an answer depends on."""
    return {package: _version(package) for package in ("edrp", *packages)}
