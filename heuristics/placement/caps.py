"""CAPS, the placement search of CAPSys (Wang et al., EuroSys 2025): the first placements below tuned thresholds of contention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.errors import Fault, InvalidInstanceError, OutOfTimeError
from edrp.core.methods import Options
from edrp.core.problem import RULES
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.tolerances import LIMIT_SLACK
from edrp.core.wording import suggestion
from edrp.heuristics.placement.filling import PlacementHeuristic, checked_answer
from edrp.placement.compiled import Compiled
from edrp.placement.edrp import EdrpProblem
from edrp.placement.fixed_tasks import FixedTasks, fixed_tasks_refusal, read_fixed_tasks
from edrp.placement.metrics.base import PEAKS, TRAFFIC


@dataclass(frozen=True, slots=True)
class CapsParameters:
    """Parameters of CAPS.

    Attributes
    ----------
    thresholds : α of each shared resource, such as "compute=0.08,state=0.15,network=0.6"; those not named are 1. Empty: tuned.
    granularity : difference of two α at which tuning stops to look for the least one.
    relaxation : share by which all α are raised as long as no placement is found below them.
    by : shared resource by whose decreasing use operators are placed; empty for the first by name.
    steps : number of choices (tasks of an operator on a node) after which a search is given up, as if by CAPS's time-out.
    plans : number of placements below the final thresholds of which one is taken that no other dominates; 1 for the first.
    """

    thresholds: str = ""
    granularity: Annotated[float, Field(gt=0, lt=1)] = 0.01
    relaxation: Annotated[float, Field(gt=0)] = 0.1
    by: str = ""
    steps: Annotated[int, Field(ge=1)] = 1_000_000
    plans: Annotated[int, Field(ge=1, le=100_000)] = 10_000

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be."""
        for name, alpha in self.named_thresholds.items():
            if not 0 <= alpha <= 1:
                raise ValueError(f"the threshold of {name} must be from 0 to 1 (got {alpha:g})")

    @property
    def named_thresholds(self) -> dict[str, float]:
        """The thresholds by resource; raises a `ValueError` for text of another form.

        Examples
        --------
        >>> CapsParameters(thresholds="cpu=0.1, network=0.5").named_thresholds
        {'cpu': 0.1, 'network': 0.5}
        """
        named = {}
        for part in filter(None, map(str.strip, self.thresholds.split(","))):
            name, sign, alpha = part.partition("=")
            try:
                named[name.strip()] = float(alpha)
            except ValueError:
                sign = ""
            if not sign:
                raise ValueError(f"thresholds must be of the form resource=number,… (got {part!r})")
        return named


class Caps(PlacementHeuristic):
    """Finds the first placements below thresholds of contention, which are tuned.

    CAPS looks at the fullest node. Its load of a shared resource may be at most L_min + α (L_max - L_min): L_min is the mean
    load of a node as far as it is the same for every placement (0 for what streams send), L_max what a node would be asked for
    that is full of the tasks that use most and sends all their tuples away. A search places operators by decreasing use of one
    resource, each on node after node with as few tasks as possible, and turns back where a threshold is exceeded. Tuning finds
    the least α of each resource alone, to a granularity, then raises all of them together until a placement is found. A
    placement below the final thresholds is drawn that no other one found dominates.

    The search proves nothing: it knows no objective and no rules of the problem (the answer is "none" where the placement breaks
    one), and what it does not find in a number of steps it takes for impossible.
    """

    name = "caps"
    kinds = ("edrp",)
    takes = frozenset({TRAFFIC, PEAKS, RULES})
    summary = "CAPS of CAPSys: given numbers of replicas on equal nodes, first placements below tuned thresholds of contention"
    parameters = CapsParameters

    def obstacle(self, problem: EdrpProblem) -> str | None:
        """Refuse open numbers of replicas, unequal nodes and other metrics, as `fixed-tasks` does."""
        return fixed_tasks_refusal(problem, self.name)

    def place(self, compiled: Compiled, parameters: CapsParameters, options: Options) -> Answer:
        """Tune the thresholds, unless they are given, and take a placement below them."""
        resources = compiled.contention.resources
        # The resource that decides the order of operators, and α of each resource; None if they are to be tuned.
        named = parameters.named_thresholds
        mentioned = [*(("thresholds", name) for name in named), *(("by", name) for name in (parameters.by,) if name)]
        unknown = [(field, name) for field, name in mentioned if name not in resources]
        faults = [Fault(*u, f"names no shared resource of this problem{suggestion(u[1], resources)}") for u in unknown]
        InvalidInstanceError.raise_if_any(faults, "parameters of method caps")
        first = resources.index(parameters.by) if parameters.by else 0
        fixed_thresholds = np.array([named.get(name, 1.0) for name in resources]) if named else None
        assert isinstance(compiled.problem, EdrpProblem)
        search = CapsSearch(read_fixed_tasks(compiled.problem), parameters, first, options.seed)
        stopped = search.run(fixed_thresholds)
        if search.counts is None:
            return Answer("none", stopped, notes=(f"CAPS found no placement below {_named(resources, search.alpha)}",))
        notes = (f"CAPS took {_named(resources, search.alpha)}",)
        return checked_answer(compiled, np.ascontiguousarray(search.counts.T), stopped, notes, self.name)


class CapsSearch:
    """A series of searches below rising thresholds.

    Parameters
    ----------
    tasks, parameters
        Tasks to be placed, and settings.
    first
        Shared resource by whose use operators are placed.
    seed
        Decides which of several placements is taken that do not dominate each other.

    Attributes
    ----------
    counts : the placement taken, shape (nodes, operators), or None.
    alpha : its thresholds, or the last ones that were tried, shape (shared,).
    """

    def __init__(self, tasks: FixedTasks, parameters: CapsParameters, first: int = 0, seed: int = 0) -> None:
        self.tasks, self.parameters, self.seed = tasks, parameters, seed
        self.lowest, self.highest = load_range(tasks)
        # The stable order keeps operators that use the same as they are in the document.
        self.order = np.argsort(-tasks.arrays.use[:, first], kind="stable")
        self.counts: Ints | None = None
        self.alpha = np.ones(tasks.shared)

    def run(self, fixed_thresholds: Floats | None = None) -> StoppedBecause:
        """Take a placement below given or tuned thresholds; returns why it ended."""
        try:
            for alpha in [fixed_thresholds] if fixed_thresholds is not None else self._rising(self._least()):
                if self._take(alpha, self.parameters.plans):
                    break
        except OutOfTimeError:
            return "time_limit"
        except KeyboardInterrupt:
            return "interrupted"
        return "finished"

    def thresholds(self, alpha: Floats) -> Floats:
        """Largest load of a node by shared resource, as a share of its capacity."""
        return np.asarray(self.lowest + alpha * (self.highest - self.lowest))

    def _take(self, alpha: Floats, plans: int) -> bool:
        """Search once, keep a placement if there is one, and return whether there is."""
        look("a placement by CAPS")
        self.alpha = alpha
        placements = placements_within(self.tasks, self.order, self.thresholds(alpha), plans, self.parameters.steps)
        if len(placements):
            loads = np.array([self.tasks.loads(counts).max(axis=0) for counts in placements])
            best = undominated(loads)
            self.counts = placements[best[np.random.default_rng(self.seed).integers(best.size)]]
        return len(placements) > 0

    def _least(self) -> Floats:
        """Find the least α of each resource without other thresholds, to the granularity."""
        alpha = np.ones(self.tasks.shared)
        for k in range(alpha.size):
            low, high = 0.0, 1.0
            while high - low >= self.parameters.granularity:
                middle = np.ones(alpha.size)
                middle[k] = 0.5 * (low + high)
                low, high = (low, middle[k]) if self._take(middle, 1) else (middle[k], high)
            alpha[k] = high
        return alpha

    def _rising(self, alpha: Floats) -> Iterator[Floats]:
        """Yield all α raised together, until none can be raised any more."""
        yield alpha
        while (alpha < 1).any():
            alpha = np.minimum(1.0, alpha * (1 + self.parameters.relaxation))
            yield alpha


def load_range(tasks: FixedTasks) -> tuple[Floats, Floats]:
    """Compute L_min and L_max of each shared resource, as shares of a node's capacity.

    L_max is that of a node which takes tasks by decreasing use as long as they fit, and sends all of their tuples away.
    """
    arrays = tasks.arrays
    per_task = arrays.use.copy()
    np.add.at(per_task, arrays.source, arrays.sent / arrays.totals[arrays.source][:, None])
    lowest, highest = tasks.totals / tasks.nodes, np.zeros(tasks.shared)
    for k in range(tasks.shared):
        free = tasks.room * (1 + LIMIT_SLACK)
        for i in np.argsort(-per_task[:, k], kind="stable"):
            needed = arrays.demand[i] > 0
            fits = (free[needed] / arrays.demand[i][needed]).min(initial=np.inf)
            count = min(int(arrays.totals[i]), int(min(fits, 1e9)))
            highest[k] += count * per_task[i, k]
            free = free - count * arrays.demand[i]
    return lowest, np.maximum(lowest, highest)


def undominated(loads: Floats) -> Ints:
    """Indices of the rows of which no other is at most as large everywhere and smaller somewhere.

    Examples
    --------
    >>> undominated(np.array([[1.0, 3.0], [2.0, 3.0], [3.0, 1.0]])).tolist()
    [0, 2]
    """
    candidates = np.lexsort(loads.T[::-1])
    chosen = []
    while candidates.size:
        first = loads[candidates[0]]
        same = (loads[candidates] == first).all(axis=1)
        chosen.extend(candidates[same].tolist())
        candidates = candidates[~(loads[candidates] >= first).all(axis=1)]
    return np.array(chosen, np.int64)


def _named(resources: tuple[str, ...], alpha: Floats) -> str:
    return "thresholds α = " + ", ".join(f"{name} {value:.3g}" for name, value in zip(resources, alpha.tolist(), strict=True))


CAPS_STEP_UNITS = 1e-7
"""Units of work per decision how many tasks a node gets."""


def placements_within(tasks: FixedTasks, order: Ints, thresholds: Floats, plans: int, steps: int) -> Ints:
    """Placements of which no node exceeds the thresholds, in the order in which the search meets them.

    Parameters
    ----------
    tasks
        Tasks to be placed.
    order : shape (operators,)
        Operators, the first to be placed first.
    thresholds : shape (shared,)
        Largest load of a node.
    plans
        After how many placements it stops.
    steps
        After how many nodes that get tasks of an operator it gives up.

    Returns
    -------
    Ints
        Shape (placements, nodes, operators).
    """
    placements = np.zeros((plans, tasks.nodes, tasks.operators), np.int64)
    upper = thresholds * (1 + LIMIT_SLACK) + 1e-15
    room = tasks.room * (1 + LIMIT_SLACK)
    number, steps_left = _native.search_caps(tasks.arrays, order.astype(np.int64), room, upper, steps, placements)
    spend(CAPS_STEP_UNITS * (steps - steps_left))
    return placements[:number].copy()


METHODS = (Caps(),)
"""Methods for problems of kind `edrp`."""
