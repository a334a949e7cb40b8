"""Results that are derived from a problem, such as its arrays, once while a method works on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple, TypeVar

Source = TypeVar("Source")
Result = TypeVar("Result")


class _Work(NamedTuple):
    """A problem, and the results that were derived from it by function."""

    problem: Any
    results: dict[Callable[[Any], Any], Any]


_current: ContextVar[_Work | None] = ContextVar("work", default=None)


@contextmanager
def derived_once(problem: object) -> Iterator[None]:
    """Derive from this problem, by functions that are `derived`, only once inside the block.

    Nothing is kept beyond the block, neither on the problem nor elsewhere, and each thread has blocks of its own. A block
    inside another one with the same problem shares its results; with a different problem it starts empty, so that the many
    variants that some methods solve do not pile up.
    """
    outer = _current.get()
    if outer is not None and outer.problem is problem:
        yield
        return
    token = _current.set(_Work(problem, {}))
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
