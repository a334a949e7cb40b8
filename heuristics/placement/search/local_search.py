"""Iterated local search, written once for all engines: climb, keep the best, go on or go back, kick."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from edrp.core.kernels import inner_loop

Search = Any
"""The arrays that an engine's kernels work on, a named tuple with an array `progress`."""

KICKS, WORK = range(2)
"""Indices of `progress`: kicks made, and work done since the kernel was called."""


class LocalSearchRun(NamedTuple):
    """The parameters of one run.

    Attributes
    ----------
    kicks : how often a local optimum is disturbed.
    tolerance : how much worse than the best a placement may be to go on from.
    overload_rule : an `OverloadRule` as a number.
    work : after how much work, in the engine's own unit, the kernel returns.
    """

    kicks: int
    tolerance: float
    overload_rule: int
    work: int


climb: Callable[[Search, LocalSearchRun], bool]
"""Search on to a local optimum; whether it was reached before the work was used up. Each engine has these four."""

keep: Callable[[Search], None]
"""Remember the local optimum if it is the best placement met."""

accept: Callable[[Search, LocalSearchRun], None]
"""Make the local optimum the placement to go on from, or go back to the one before."""

kick: Callable[[Search, LocalSearchRun], None]
"""Disturb the placement."""


def _iterate(search: Search, run: LocalSearchRun) -> bool:
    """Go on with a search for a bounded amount of work; whether it has ended."""
    # The verbs are declared above and defined by each engine, see `compile_loop`.
    search.progress[WORK] = 0
    while climb(search, run):  # noqa: F821
        keep(search)  # noqa: F821
        if search.progress[KICKS] == run.kicks:
            return True
        accept(search, run)  # noqa: F821
        kick(search, run)  # noqa: F821
        search.progress[KICKS] += 1
    return False


def compile_loop(**verbs: Callable[..., Any]) -> Callable[[Search, LocalSearchRun], bool]:
    """Compile the loop with an engine's own `climb`, `keep`, `accept` and `kick`, which are `inlined`.

    They become globals of a copy of the function; variables of a closure would keep numba's cache on disk from recognising
    the function in the next process.
    """
    loop = FunctionType(_iterate.__code__, {**globals(), **verbs}, _iterate.__name__)
    loop.__qualname__ = f"{verbs['climb'].__module__}.{_iterate.__name__}"
    return inner_loop(loop)
