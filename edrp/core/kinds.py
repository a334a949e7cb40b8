"""Kinds of problems: one record holds everything that there is for a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from edrp.core.arguments import described
from edrp.core.errors import EdrpError, Fault, InvalidArgumentError
from edrp.core.plugins import added, own, refuse_taken
from edrp.core.problem import Problem
from edrp.core.solution import Infeasibility, Solution
from edrp.core.wording import suggestion

if TYPE_CHECKING:
    from edrp.core.methods import Method

T = TypeVar("T")

SOLUTION = "-solution"
"""After the name of a kind of problem in that of its solution documents."""

Builder = Callable[[Any, str], Any]
"""Makes a formulation of a problem, given its name."""


class Lazy(Generic[T]):
    """A part of a record that may be given as "package.module:attribute", which is imported when the part is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, record: Any, owner: type | None = None) -> T:
        if record is None:
            raise AttributeError(self._name)  # the dataclass asks for a default; there is none, so that no part is forgotten
        part: T = _imported(record.__dict__[self._name])
        record.__dict__[self._name] = part
        return part

    def __set__(self, record: Any, part: T | str) -> None:
        record.__dict__[self._name] = part


@dataclass(frozen=True, kw_only=True, eq=False)
class Kind:
    """Everything that there is for one kind of problem.

    Every part is named, also where a kind lacks it. Parts may be given by name, as "package.module:attribute": they are
    imported when they are first used.

    Attributes
    ----------
    name : the `kind` of its instance files; that of its solution documents is `<name>-solution`.
    problem, solution : classes of its documents.
    formulations : functions of a problem and a name that formulate it as a program, by that name; the first is the default.
    refuse_formulation : says why no program can express a problem, or None where one can; None if every problem has one.
    find_directly : a bound and a decision, each of which may be None, found before a program is built, which is not where they
        meet; None for kinds that are always given to a program.
    choose : the method that `auto` runs on a problem, which takes the problem; None if there is no choice to be made.
    display : tables and sentences that show a solution of a problem on a terminal; None for its metrics.
    view : what a page shows of a problem and its solution (`edrp.explorer.view`); None for the metrics. Of a kind with `explain`
        it takes `work_limit` by name, too.
    explain : tables and sentences that explain a solution of a problem, given units of work for each search or None for
        their default; None for its objective, limits and rules (`objective_parts` and `margins` of the problem).
    explain_infeasibility : says why a problem is infeasible, given units of work for it: an `Infeasibility`, or clashes alone;
        None for `clashes` of the problem.
    families : families of random instances (`edrp.datasets.families`); those of other kinds among them are ignored.
    check_problems : class of the problems with known optima on which methods are checked (`edrp.testing`), or None.

    Examples
    --------
    >>> get_kind("migration").problem.__name__, list(get_kind("migration").formulations)
    ('MigrationProblem', ['intervals'])
    """

    name: str
    problem: Lazy[type[Problem]] = Lazy()
    solution: Lazy[type[Solution]] = Lazy()
    formulations: Mapping[str, Builder | str]
    refuse_formulation: Lazy[Callable[[Any], str | None] | None] = Lazy()
    find_directly: Lazy[Callable[[Any], tuple[float | None, Any]] | None] = Lazy()
    choose: Lazy[Callable[[Any], Method] | None] = Lazy()
    display: Lazy[Callable[[Any, Any], Iterable[Any]] | None] = Lazy()
    view: Lazy[Callable[..., Any] | None] = Lazy()
    explain: Lazy[Callable[[Any, Any, float | None], Iterable[Any]] | None] = Lazy()
    explain_infeasibility: Lazy[Callable[[Any, float], Infeasibility | Sequence[str]] | None] = Lazy()
    families: Lazy[Iterable[Any]] = Lazy()
    check_problems: Lazy[Callable[[], Any] | None] = Lazy()

    def has(self, part: str) -> bool:
        """Whether the kind has a part; nothing is imported."""
        return self.__dict__[part] is not None

    def builder(self, program: str) -> Builder:
        """The function that formulates a problem as the program of that name; it is imported now.

        >>> get_kind("migration").builder("intervals").__name__
        'formulate_migration'
        """
        build: Builder = _imported(self.formulations[program])
        return build


def _imported(part: Any) -> Any:
    """A part itself, or what its name stands for."""
    return resolve_name(part) if isinstance(part, str) else part


@cache
def _registry() -> dict[str, Kind]:
    return {kind.name: kind for kind in own("edrp.kinds")}


def register_kind(kind: Kind, *, replace: bool = False) -> Kind:
    """Add a kind under its name.

    Parameters
    ----------
    kind
        Its record.
    replace
        Whether to replace a kind of that name which was registered before; kinds of this package are never replaced.

    Raises
    ------
    InvalidArgumentError
        When it is no record of a kind, or its name is taken.
    """
    if not isinstance(kind, Kind):
        why = f"is {described(kind)}; give a record, an edrp.Kind"
        raise InvalidArgumentError([Fault("kind", "", why)], "edrp.register_kind")
    if known := _registry().get(kind.name):
        what = f"a kind of problem called {kind.name!r}"
        refuse_taken("edrp.register_kind(kind)", what, ours=known in own("edrp.kinds"), replace=replace)
    _registry()[kind.name] = kind
    return kind


def kinds() -> dict[str, Kind]:
    """All registered kinds by name, those of other packages (entry point `edrp.kinds`) included."""
    for kind in added("edrp.kinds"):
        _registry().setdefault(kind.name, kind)
    return dict(_registry())


def solution_kinds() -> list[str]:
    """Kinds of solution documents."""
    return [name + SOLUTION for name in kinds()]


def document_kinds() -> list[str]:
    """Kinds of documents that a file can hold: those of problems, then those of their solutions."""
    return [*kinds(), *solution_kinds()]


def document_class(kind: str) -> type[Problem | Solution]:
    """The class of a kind of documents.

    >>> document_class("migration-solution").__name__
    'MigrationSolution'
    """
    known = kinds()
    return known[kind].problem if kind in known else known[kind.removesuffix(SOLUTION)].solution


def program_names() -> tuple[str, ...]:
    """Names of the programs of all kinds.

    >>> "literal" in program_names()
    True
    """
    return tuple(dict.fromkeys(name for kind in kinds().values() for name in kind.formulations))


def find_kind(name: str) -> Kind | None:
    """The kind of that name, or None; other packages are asked only for what is not registered yet."""
    return _registry().get(name) or kinds().get(name)


def get_kind(name: str) -> Kind:
    """The kind of that name.

    Raises
    ------
    EdrpError
        When there is none.
    """
    if found := find_kind(name):
        return found
    raise EdrpError(f"no problems of kind {name!r}{suggestion(name, kinds())}")
