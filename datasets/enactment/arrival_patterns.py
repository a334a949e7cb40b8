"""Numbers of sending machines over time: the four arrival patterns of cost-efficient enactment (Fig. 7, eq. 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import suggestion

Machines = list[float]
MachinesMaker = Callable[[int, int], Machines]
"""Function from a number of steps and a seed to machines per step; a shorter load is the beginning of a longer one."""

MIN_MACHINES, MAX_MACHINES = 1, 8
"""Range of the number of machines in the paper's random walks."""

STEPWISE = (2.0, 5.0, 8.0, 5.0)
"""Three levels from two to eight machines that go up and down like a sine, from the lowest.

The paper prints the lowest and the highest, and that there are three. The middle one is a choice of ours: with it, a mean
of 4.9 machines sends the 1.7 million items that Table 3 implies (BTU10, BTU30).
"""

TWO_LEVEL = (2.0, 8.0)
"""The lowest and the highest level of the stepwise pattern.

Starting with the lowest, 1.67 million items are sent, as Table 4 implies (BTU10).
"""

WALK_START = 4
"""Machines at the beginning of a random walk."""

WALK_STAY = (0.4, 0.6)
"""Bounds of eq. 6: a draw below them removes a machine, one above adds one, and one in between changes nothing."""

WALK_MEAN = (4.7, 5.2)
"""Range of the mean number of machines in the first 120 minutes of a random walk.

A choice of ours: the paper shows two walks and not how they were chosen. The items that its Tables 5 and 6 imply are those of
4.6 to 5.6 machines, depending on the column.
"""

WALK_STEPS = 200
"""Steps in 120 minutes."""


@dataclass(frozen=True, slots=True)
class ArrivalPattern:
    """A number of machines that changes with time.

    Attributes
    ----------
    step
        Whole seconds for which a number of machines lasts.
    """

    step: int
    machines: MachinesMaker


def repeated(levels: tuple[float, ...], steps: int, seed: int) -> Machines:
    """Repeat the levels periodically; the seed plays no part.

    >>> repeated((2.0, 8.0), 3, seed=0)
    [2.0, 8.0, 2.0]
    """
    return [levels[index % len(levels)] for index in range(steps)]


def random_walk(walk: int, steps: int, seed: int) -> Machines:
    """Draw a random walk from four machines up or down (eq. 6), kept within one to eight.

    A step that would leave the range is drawn again, a walk whose first 120 minutes are too low or too high in the mean
    likewise.

    Parameters
    ----------
    steps
        Number of steps of 36 s.

    Examples
    --------
    >>> random_walk(1, 12, seed=3)
    [4.0, 5.0, 6.0, 7.0, 8.0, 7.0, 8.0, 7.0, 7.0, 6.0, 7.0, 6.0]
    """
    random = np.random.default_rng(np.random.SeedSequence([seed, walk]))
    machines = _walk([WALK_START], WALK_STEPS, random)
    while not WALK_MEAN[0] <= np.mean(machines) <= WALK_MEAN[1]:
        machines = _walk([WALK_START], WALK_STEPS, random)
    return [float(count) for count in _walk(machines, steps, random)[:steps]]


def _walk(begun: list[int], steps: int, random: np.random.Generator) -> list[int]:
    machines = list(begun)
    while len(machines) < steps:
        draw = random.random()
        following = machines[-1] - (draw < WALK_STAY[0]) + (draw > WALK_STAY[1])
        if MIN_MACHINES <= following <= MAX_MACHINES:
            machines.append(following)
    return machines


PATTERNS: dict[str, ArrivalPattern] = {
    "stepwise": ArrivalPattern(240, partial(repeated, STEPWISE)),
    "two-level": ArrivalPattern(480, partial(repeated, TWO_LEVEL)),
    "random-walk-1": ArrivalPattern(36, partial(random_walk, 1)),
    "random-walk-2": ArrivalPattern(36, partial(random_walk, 2)),
}
"""The paper's patterns by name.

The steps of the first two are printed (the second's are twice as long as the first's); those of the random walks are a choice of
ours that Fig. 7 allows, 200 in 120 minutes.
"""


def arrivals(pattern: str, duration: float, seed: int = 0) -> tuple[Machines, float]:
    """Return the numbers of machines of a pattern over a duration, and the seconds that each lasts.

    Parameters
    ----------
    duration
        Whole seconds. Where it cuts a step of the pattern, steps are divided until they fit.

    Raises
    ------
    InvalidInstanceError
        For an unknown pattern, which is named with the known ones, a duration that is no positive whole number of seconds, and a
        negative seed.
    """
    faults = []
    if pattern not in PATTERNS:
        faults.append(Fault("pattern", repr(pattern), f"is no arrival pattern{suggestion(pattern, PATTERNS)}"))
    if not (math.isfinite(duration) and duration > 0 and duration == int(duration)):
        faults.append(Fault("duration", f"{duration:g}", "must be a whole number of seconds above 0"))
    if seed < 0:
        faults.append(Fault("seed", str(seed), "must not be negative"))
    InvalidInstanceError.raise_if_any(faults)
    chosen, seconds = PATTERNS[pattern], int(duration)
    machines = chosen.machines(math.ceil(seconds / chosen.step), seed)
    part = math.gcd(chosen.step, seconds)
    return [machines[start // chosen.step] for start in range(0, seconds, part)], float(part)
