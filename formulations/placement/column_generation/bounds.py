"""Lagrangian bound from prices of instances, over the numbers of supervisors per class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats
from edrp.formulations.placement.column_generation.windows import Window


@dataclass(frozen=True, slots=True)
class Certificate:
    """Prices of instances, and what follows from them.

    Attributes
    ----------
    worth : shape (operators,), price of an instance.
    least : shape (classes,), lower bound on the cost of a supervisor of each class: its price, less the most that a pattern is
        worth.
    bound : float, lower bound on the score without latency.
    using : shape (classes,), the same, of placements that use at least one supervisor of the class; infinite where the window
        forbids it.
    """

    worth: Floats
    least: Floats
    bound: float
    using: Floats


def certificate(fixed: float, worth: Floats, least: Floats, window: Window) -> Certificate:
    """Bound the score by `fixed + Σ worth·instances` (given as `fixed`) and the cheapest numbers of supervisors.

    Covering every instance is dropped and priced instead, so that supervisors are chosen one by one: those that a class
    must have, and then the cheapest while they help or are needed.

    Examples
    --------
    Two to three supervisors of two classes, of which there are one and two; those of the second may gain 0.5 each:

    >>> window = Window(min_supervisors=2, max_supervisors=3, class_min=(0, 0), class_max=(1, 2))
    >>> certificate(3.0, np.zeros(2), np.array([0.2, -0.5]), window).bound
    2.0
    """
    using = np.array([fixed + _cheapest(least, window, c) for c in range(least.size)])
    return Certificate(worth, least, fixed + _cheapest(least, window, None), using)


def _cheapest(least: Floats, window: Window, forced: int | None) -> float:
    lowest, highest = np.array(window.class_min), np.array(window.class_max)
    if forced is not None:
        lowest[forced] = max(lowest[forced], 1)
    if (lowest > highest).any() or lowest.sum() > window.max_supervisors or highest.sum() < window.min_supervisors:
        return float("inf")
    total, count = float(lowest @ least), int(lowest.sum())
    for c in np.argsort(least, kind="stable"):
        room = min(int(highest[c] - lowest[c]), window.max_supervisors - count)
        taken = room if least[c] < 0 else min(room, max(0, window.min_supervisors - count))
        total += taken * float(least[c])
        count += taken
    return total
