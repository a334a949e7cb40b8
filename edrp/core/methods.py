"""The registry of methods: one problem, many ways to solve it, each with its parameters."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import import_module
from math import inf, isfinite
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from edrp.core import budget, errors
from edrp.core.arguments import check_arguments, described
from edrp.core.plugins import added, is_ours, own, refuse_taken
from edrp.core.solution import Answer
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.core.wording import list_faults, nearest, shown, suggestion

Parameters = TypeVar("Parameters")


@dataclass(frozen=True, slots=True)
class NoParameters:
    """The parameters of a method that has none."""


def read_parameters(kind: type[Parameters], values: Mapping[str, Any], method: str, options: Sequence[str] = ()) -> Parameters:
    """Read the parameters of a method from values by name; the others keep their defaults.

    Values may be text, as on a command line, where the text says a number or a truth value.

    Parameters
    ----------
    kind
        A dataclass that has one field with a default per parameter, and perhaps a `__post_init__` that raises ValueError.
        Types and pydantic's constraints (`Annotated[float, Field(gt=0)]`) are checked.
    values
        Values by name, as in `Options.parameters`.
    method
        Name of the method, for the message.
    options
        Further names that could have been meant in place of an unknown one.

    Raises
    ------
    InvalidInstanceError
        Naming every parameter that does not exist, next to those that do, and every value that is not allowed.

    Examples
    --------
    >>> from edrp.heuristics.placement.ds2 import Ds2Parameters
    >>> read_parameters(Ds2Parameters, {"utilisation": "0.8"}, "ds2")
    Ds2Parameters(utilisation=0.8)
    >>> read_parameters(Ds2Parameters, {"utilisation": 0}, "ds2")
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: parameters of method ds2: 1 fault in the input
      utilisation: must be above 0 (got 0)
    """
    described: Any = kind
    known = [field.name for field in fields(described)]
    faults = [
        errors.Fault(name, shown(value), _unknown(name, known, options)) for name, value in values.items() if name not in known
    ]
    read: Parameters | None = None
    try:
        read = _adapter(described).validate_python({name: value for name, value in values.items() if name in known})
    except ValidationError as error:
        faults += _faults(error, kind)
    if read is None or faults:
        raise errors.InvalidInstanceError(faults, f"parameters of method {method}")
    return read


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _faults(error: ValidationError, kind: type[Any]) -> list[errors.Fault]:
    first = error.errors(include_url=False)[0]
    if first["type"] == "value_error":  # of `__post_init__`, which runs only where every value is fine by itself
        return [errors.Fault("parameters", "", str(first["ctx"]["error"]))]
    return list_faults(error, kind)


def _unknown(name: str, known: list[str], options: Sequence[str]) -> str:
    if meant := nearest(name, [*known, *options]):
        return f"is no parameter of this method; did you mean {meant!r}?"
    return "is no parameter of this method" + (suggestion(name, known) if known else ", which has none")


Progress = Callable[[float, float | None, float | None], None]
"""Called with seconds since the start, incumbent objective and bound."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a method.

    Attributes
    ----------
    time_limit : seconds from the start, or None for none; they end a run and decide nothing else.
    work_limit : units of work from the start (`edrp.core.budget`), or None for none.
    gap : relative gap at which an incumbent counts as optimal.
    seed : seed of the random number generator.
    threads : number of threads, for backends that can use more than one.
    program : which program backends solve, by name; None for the first that there is for the kind of problem.
    start : decision to start from; what is current is always tried too.
    progress : called now and then with (seconds, incumbent, bound).
    parameters : parameters of the method, by name.
    whole_limit : whether a search without proof goes on while the limit lasts; not where other methods have what it leaves.
    """

    time_limit: float | None = None
    gap: float = OPTIMALITY_GAP
    seed: int = 0
    threads: int = 1
    program: str | None = None
    start: Any = None
    progress: Progress | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    work_limit: float | None = None
    whole_limit: bool = True
    started: float = field(default_factory=lambda: budget.now())
    began: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the start, which is what `progress` is called with; nothing is decided by them."""
        return perf_counter() - self.began

    @property
    def elapsed(self) -> float:
        """Units of work since the start; more than any limit when the time limit has passed."""
        return budget.now() - self.started

    @property
    def limit(self) -> float:
        """Units from the start to the end, infinite without a limit: a second of a time limit stands for a unit."""
        return min(inf if limit is None else limit for limit in (self.time_limit, self.work_limit))

    @property
    def many_threads(self) -> int:
        """Threads for methods whose answers do not depend on how many there are: all cores by default.

        OMP_NUM_THREADS is obeyed, as in a batch, where each core has a process of its own.
        """
        return self.threads if self.threads > 1 else int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)

    @property
    def remaining(self) -> float:
        """Units left, infinite without a limit, never below 0; none once interrupted; to ask is a look at the clock."""
        if budget.clock().interrupted:
            return 0.0
        if self.limit == inf:
            return inf
        budget.spend(budget.LOOK)
        return max(0.0, self.limit - self.elapsed)

    @property
    def goes_on(self) -> bool:
        """Whether a search that has come to its end begins again: there is a limit, and some of it is left for it alone."""
        return self.whole_limit and self.limit < inf and self.remaining > 0

    def tell(self, incumbent: float | None, bound: float | None = None) -> None:
        """Call `progress`, if there is any; what is infinite or NaN is not known."""
        if self.progress is not None:
            known = (None if value is None or not isfinite(value) else value for value in (incumbent, bound))
            self.progress(self.seconds, *known)

    def within(self, units: float) -> Options:
        """The same options for a sub-task that starts now and may take `units` of what remains."""
        left = min(units, self.remaining)
        limit, began = None if left == inf else left, perf_counter()
        part = replace(self, time_limit=None, work_limit=limit, started=budget.now(), began=began, progress=None)
        return replace(part, whole_limit=False)


OPTION_NAMES = ("time_limit", "work_limit", "gap", "seed", "threads", "program", "start", "progress")
"""Arguments of `edrp.solve` that are options of any method."""


class Method(ABC):
    """A way to solve problems of some kinds; one instance is registered under its name.

    Attributes
    ----------
    name : in the registry.
    summary : one line for `edrp methods`.
    takes : parts of problems (`Problem.parts`) that it knows, such as "rules"; it refuses problems with others.
    exact : whether it proves what it returns when given time.
    undivided : the largest step that a work limit does not stop, in words; empty where all steps are small.
    parameters : dataclass of its parameters (see `edrp.core.methods`); a batch refuses wrong ones before it begins.
    """

    name: str
    summary: str
    takes: Container[str] = frozenset()
    exact: bool = False
    undivided: str = ""
    parameters: type[Any] = NoParameters

    @property
    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """Kinds of problems that it takes; a subclass sets them as a class attribute."""

    @property
    def origin(self) -> type:
        """Class that says what it does, whose package it belongs to."""
        return type(self)

    def refusal(self, problem: Any) -> str | None:
        """Why the method does not take a problem; None if it does. `resolve` adds which method does.

        Parts of the problem that are not among `takes` come first, then what `obstacle` says.
        """
        untaken = next(((part, words) for part, words in problem.parts.items() if part not in self.takes), None)
        if untaken is None:
            return self.obstacle(problem)
        unstated = self.takes is Method.takes and not is_ours(self.origin)
        hint = f": its class has no `takes` that names {untaken[0]!r}" if unstated else ""
        return f"{self.name} does not take {untaken[1]} into account{hint}"

    def obstacle(self, problem: Any) -> str | None:
        """What else of a problem, all of whose parts it knows, the method does not take; None if it takes it."""
        return None

    def in_one_run(self, problem: Any) -> bool:
        """Whether it solves a problem with priorities whole, instead of one stage after the other."""
        return False

    def resolve(self, problem: Any) -> Method:
        """The method that runs on a problem: this one, unless it leaves that to others.

        Raises
        ------
        UnsupportedProblemError
            When the problem is refused.
        """
        if refusal := self.refusal(problem):
            raise errors.UnsupportedProblemError(refusal, alternative(problem, self.name))
        return self

    def read_parameters(self, options: Options) -> Any:
        """The parameters among the options, as an instance of `parameters`.

        Raises
        ------
        InvalidInstanceError
            For parameters that the method does not have, and values that cannot be.
        """
        return read_parameters(self.parameters, options.parameters, self.name, OPTION_NAMES)

    @abstractmethod
    def run(self, problem: Any, options: Options) -> Answer:
        """Solve. Infeasible is an answer."""


class ResolvedMethod(NamedTuple):
    """A method that takes a problem, and the name under which it was asked for."""

    name: str
    method: Method

    def named(self, answer: Answer) -> Answer:
        """Its answer; the method of the answer says both names where they differ ("auto: eliminate")."""
        if not isinstance(answer, Answer):
            return answer  # which the check of answers refuses
        name = answer.method or self.method.name
        return replace(answer, method=name if self.name == self.method.name else f"{self.name}: {name}")


@dataclass(frozen=True, slots=True)
class FirstOf:
    """Chooses the first of some methods that takes a problem.

    >>> FirstOf(("label-setting", "least-cost-map")).names
    ('label-setting', 'least-cost-map')
    """

    names: tuple[str, ...]

    def __call__(self, problem: Any) -> Method:
        """The method; each is asked once.

        Raises
        ------
        UnsupportedProblemError
            When all refuse the problem, with what the last one says.
        """
        *others, last = (get_method(name, problem.kind) for name in self.names)
        return next((method for method in others if method.refusal(problem) is None), None) or last.resolve(problem)


@cache
def _registry() -> dict[str, Method | str]:
    """Methods by name; of those not needed yet, the module that holds them in its `METHODS`."""
    return {name: module for module, names in own("edrp.methods").items() for name in names}


def _registered(name: str) -> Method | None:
    entry = _registry().get(name)
    if isinstance(entry, str):
        _registry().update((method.name, method) for method in import_module(entry).METHODS)
        return _registered(name)
    return entry


def register(method: Method, *, replace: bool = False) -> Method:
    """Add a method under its name.

    Parameters
    ----------
    method
        An instance of a subclass of `edrp.Method`.
    replace
        Whether to replace a method of that name which was registered before, as the cell of a notebook does that is run again.
        Methods of this package are never replaced. Batches that begin afterwards run the new definition; rows that a folder
        of results has already stay those of the old one.

    Raises
    ------
    InvalidArgumentError
        When it is no method, its name is taken, or its `takes` is no set.
    """
    name = getattr(method, "name", None)
    if not isinstance(method, Method) or not isinstance(name, str):
        made = f": {method.__name__}()" if isinstance(method, type) else ""
        why = f"is {described(method)}; give an instance of a subclass of edrp.Method that has a name{made}"
        raise errors.InvalidArgumentError([errors.Fault("method", "", why)], "edrp.register")
    if isinstance(method.takes, str) or not isinstance(method.takes, Container):
        why = f"is {described(method.takes)}; give a set of parts of problems, which `edrp methods --kind` lists, or EVERYTHING"
        raise errors.InvalidArgumentError([errors.Fault("takes", "", why)], "edrp.register")
    if name in _registry():
        ours = any(name in names for names in own("edrp.methods").values())
        refuse_taken("edrp.register(method)", f"a method called {name!r}", ours=ours, replace=replace)
    _registry()[name] = method
    return method


def methods(kind: str | None = None) -> dict[str, Method]:
    """All registered methods by name, those of other packages (entry point `edrp.methods`) included.

    Parameters
    ----------
    kind
        Name of a kind of problem, for the methods that take it; None for all.

    Raises
    ------
    EdrpError
        When no method takes problems of that kind.
    """
    known = {name: method for name in method_names() if (method := _registered(name))}
    if kind is None:
        return known
    check_arguments("edrp.methods", kind=kind)
    taking = {name: method for name, method in known.items() if kind in method.kinds}
    if not taking:
        kinds = sorted({name for method in known.values() for name in method.kinds})
        raise errors.EdrpError(f"no method takes problems of kind {kind!r}{suggestion(kind, kinds)}")
    return taking


def method_names() -> list[str]:
    """Names of all registered methods; the modules of our own are not imported."""
    for method in (*added("edrp.methods"), *(own("edrp.backends")(backend) for backend in added("edrp.backends"))):
        _registry().setdefault(method.name, method)
    return sorted(_registry())


def find_method(name: str) -> Method | None:
    """The method of that name, or None; other packages are asked only for what is not registered yet."""
    return _registered(name) or methods().get(name)


def get_method(name: str, kind: str | None = None) -> Method:
    """The method of that name.

    Raises
    ------
    EdrpError
        When there is none for this kind of problem; the message offers one, or lists those there are.
    """
    method = find_method(name)
    if method is not None and (kind is None or kind in method.kinds):
        return method
    if method is None:
        raise errors.EdrpError(f"no method {name!r}{suggestion(name, methods(kind))}")
    raise errors.EdrpError(f"method {name!r} takes no problems of kind {kind!r}; there are {', '.join(methods(kind))}")


def alternative(problem: Any, refusing: str, among: Sequence[str] | None = None) -> str:
    """Name a method that takes a problem, which each is asked, in words.

    Parameters
    ----------
    refusing
        Name of the method that does not.
    among
        Names of the only ones that may be named, by preference. None for all of the kind, those that prove their answers first.

    Returns
    -------
    str
        "" where none among some takes it.

    Examples
    --------
    >>> from edrp.datasets import layered
    >>> alternative(layered(4, seed=0), "eliminate", ("ssm", "annealing", "highs"))
    'use annealing, which proves nothing'
    """
    for method in _by_preference(problem.kind) if among is None else filter(None, map(find_method, among)):
        if method.name != refusing and problem.kind in method.kinds and method.refusal(problem) is None:
            return f"use {method.name}" + ("" if method.exact else ", which proves nothing")
    return "no method takes this problem" if among is None else ""


def _by_preference(kind: str) -> list[Method]:
    known = [method for name, method in methods(kind).items() if name not in ("auto", *NEEDS_PARAMETERS)]
    # Other backends solve the program of highs, which is always installed.
    return sorted(known, key=lambda method: (not method.exact, method.name != "highs"))


NEEDS_PARAMETERS = ("stored-policy",)
"""Methods that do not run without parameters."""


def run_method(method: Method, problem: Any, options: Options) -> Answer:
    """Run a method within the limits of its options.

    Parameters
    ----------
    method
        A method that takes the problem.
    options
        Made inside the run that this is a part of, or outside of all runs, which makes this a run of its own.
    """
    if budget.clock() is budget.OUTSIDE:
        with budget.running(options.time_limit, options.work_limit):
            return run_method(method, problem, replace(options, started=0.0))
    return run_within(method, problem, options)


def run_within(method: Method, problem: Any, options: Options) -> Answer:
    """The answer of a method within the limits of its options; one that was still preparing then has nothing to say."""
    try:
        with budget.deadline(options.started + options.limit):
            return method.run(problem, options)
    except errors.OutOfTimeError as error:
        return Answer("none", "time_limit", notes=(str(error),))
