"""The answer of a search for a proof: optimal where its bound reaches its incumbent, else feasible with a gap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edrp.core.budget import deadline, now
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Options
from edrp.core.solution import Answer, StoppedBecause, within_gap
from edrp.placement.deployment import Deployment
from edrp.placement.problem import PlacementProblem


def answer_with_bound(
    problem: PlacementProblem,
    deployment: Deployment,
    gap: float,
    allowed: float,
    stopped: StoppedBecause,
    size: dict[str, int],
    build_seconds: float,
) -> Answer:
    """The answer that an incumbent and its distance to the bound make.

    Parameters
    ----------
    gap
        Incumbent minus bound, both as the search sees them; below 0 counts as 0.
    allowed
        Relative gap at which the incumbent counts as optimal.
    stopped
        Why the search stopped, if it did not finish.
    """
    objective = problem.evaluate(deployment).objective
    gap = max(0.0, gap)
    proven = within_gap(objective, objective - gap, allowed)
    return Answer(
        status="optimal" if proven else "feasible",
        stopped_because="finished" if proven else stopped,
        decision=deployment,
        objective=objective,
        bound=objective - gap if np.isfinite(gap) else None,
        size=size,
        build_seconds=build_seconds,
    )


def nothing_found(
    stopped: StoppedBecause, bound: float, size: dict[str, int], build_seconds: float = 0.0, worst: float = np.inf
) -> Answer:
    """The answer of a search that holds no decision, and knows of none better than a bound: none at all, if that is the `worst`.

    Without a decision and without a proof that there is none a search has not finished: it has met a limit of its own.

    >>> nothing_found("finished", 2.0, {}).stopped_because
    'iteration_limit'
    """
    if bound >= worst:
        return Answer("infeasible", "finished", size=size, build_seconds=build_seconds)
    known = float(bound) if np.isfinite(bound) else None
    why: StoppedBecause = "iteration_limit" if stopped == "finished" and known is not None else stopped
    return Answer("none", why, bound=known, size=size, build_seconds=build_seconds)


def worked_until_limit(options: Options, work: Callable[[], StoppedBecause]) -> StoppedBecause:
    """Do work that may take as long as the options allow, and say why it ended."""
    stopped: StoppedBecause
    try:
        with deadline(now() + options.remaining):
            stopped = work()
    except OutOfTimeError:
        stopped = "time_limit"
    except KeyboardInterrupt:
        stopped = "interrupted"
    return "time_limit" if stopped == "finished" and options.remaining <= 0 else stopped
