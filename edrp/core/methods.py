"""The registry of methods: one problem, many ways to solve it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Protocol

from edrp.core.errors import EdrpError
from edrp.core.plugins import added
from edrp.core.solution import Answer

Progress = Callable[[float, float | None, float | None], None]
"""Called with seconds since the start, incumbent objective and bound."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a method.

    Attributes
    ----------
    time_limit : seconds from the start, or None for none.
    gap : relative gap at which an incumbent counts as optimal.
    seed : of everything random.
    threads : for backends that can use more than one.
    program : which program backends solve, by name; None for the first that there is for the kind of problem.
    start : decision to start from; what is current is always tried too.
    progress : called now and then with (seconds, incumbent, bound).
    parameters : of the method, by name.
    """

    time_limit: float | None = None
    gap: float = 1e-9
    seed: int = 0
    threads: int = 1
    program: str | None = None
    start: Any = None
    progress: Progress | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)

    @property
    def elapsed(self) -> float:
        """Seconds since the start, which is what `progress` is called with."""
        return perf_counter() - self.started

    @property
    def many_threads(self) -> int:
        """Threads for methods whose answers do not depend on how many there are: all cores unless told otherwise.

        OMP_NUM_THREADS is obeyed, as in a batch, where each core has a process of its own.
        """
        return self.threads if self.threads > 1 else int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)

    @property
    def remaining(self) -> float:
        """Seconds left, infinite without a limit, never below 0."""
        if self.time_limit is None:
            return float("inf")
        return max(0.0, self.time_limit - self.elapsed)

    def within(self, seconds: float) -> Options:
        """The same options for a sub-task that starts now and may take `seconds` of what remains."""
        left = min(seconds, self.remaining)
        return replace(self, time_limit=None if left == float("inf") else left, started=perf_counter(), progress=None)


class Method(Protocol):
    """A way to solve a problem; instances are registered by name.

    `exact` methods prove what they return when given time; `kinds` are the problem kinds they take. A method with a
    dataclass `parameters` (see `edrp.core.parameters`) has wrong ones refused before a batch begins.
    """

    name: str
    kinds: tuple[str, ...]
    exact: bool
    summary: str

    def refusal(self, problem: Any) -> str | None:
        """Why this problem cannot be expressed, naming a method that can; None if it can."""
        ...

    def run(self, problem: Any, options: Options) -> Answer:
        """Solve. Infeasible is an answer."""
        ...


_REGISTRY: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Add a method under its name; a name is taken only once."""
    if method.name in _REGISTRY:
        raise ValueError(f"there is already a method called {method.name!r}")
    _REGISTRY[method.name] = method
    return method


def methods(kind: str | None = None) -> dict[str, Method]:
    """All registered methods by name, those of other packages (entry point `edrp.methods`) included."""
    for method in added("edrp.methods"):
        _REGISTRY.setdefault(method.name, method)
    return {name: method for name, method in sorted(_REGISTRY.items()) if kind is None or kind in method.kinds}


def get_method(name: str, kind: str | None = None) -> Method:
    """The method of that name.

    Raises
    ------
    EdrpError
        When there is none for this kind of problem; the message lists those there are.
    """
    known = methods(kind)
    if name not in known:
        raise EdrpError(f"no method {name!r} for problems of kind {kind!r}; there are {', '.join(known)}")
    return known[name]
