"""Windows: how many supervisors may be in use, and how a window is split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.tolerances import INTEGRALITY
from edrp.formulations.placement.column_generation.model import ScoreModel


@dataclass(frozen=True, slots=True)
class Window:
    """Range of the number of supervisors in use, in all and of each class."""

    min_supervisors: int
    max_supervisors: int
    class_min: tuple[int, ...]
    class_max: tuple[int, ...]

    @property
    def empty(self) -> bool:
        """Whether the window contains no numbers of supervisors."""
        lowest, highest = sum(self.class_min), sum(self.class_max)
        return (
            self.min_supervisors > self.max_supervisors
            or lowest > self.max_supervisors
            or highest < self.min_supervisors
            or any(a > b for a, b in zip(self.class_min, self.class_max, strict=True))
        )


def split(window: Window, use: Floats, model: ScoreModel) -> Iterator[Window]:
    """Parts of a window around what the relaxation uses, but for those whose supervisors are too small in sum.

    Together they hold every placement of the window. None where the window leaves nothing to decide.
    """
    for part in _parts(window, use):
        if not part.empty and _enough(part, model):
            yield part


def _enough(window: Window, model: ScoreModel) -> bool:
    """Whether the largest supervisors that a window allows have as much of each resource as all instances need."""
    lowest, highest = np.array(window.class_min), np.array(window.class_max)
    for m in range(model.demand.shape[1]):
        capacity = np.array([supervisors.capacity[m] for supervisors in model.classes])
        total, unassigned = float(lowest @ capacity), window.max_supervisors - int(lowest.sum())
        for c in np.argsort(-capacity, kind="stable"):
            taken = min(unassigned, int(highest[c] - lowest[c]))
            total += taken * float(capacity[c])
            unassigned -= taken
        if total < float(model.instances @ model.demand[:, m]):
            return False
    return True


def _parts(window: Window, use: Floats) -> Iterator[Window]:
    """Split a window by its number of supervisors first, then by that of the class that is furthest from a whole number."""
    if window.min_supervisors < window.max_supervisors:
        for lower, upper in _around(window.min_supervisors, window.max_supervisors, float(use.sum())):
            yield replace(window, min_supervisors=lower, max_supervisors=upper)
        return
    fraction = np.abs(use - np.round(use))
    open_classes = [c for c in range(use.size) if window.class_min[c] < window.class_max[c]]
    if open_classes:
        width = np.array(window.class_max) - np.array(window.class_min)
        c = max(open_classes, key=lambda candidate: (round(float(fraction[candidate]), 6), width[candidate]))
        for lower, upper in _around(window.class_min[c], window.class_max[c], float(use[c])):
            lowest, highest = list(window.class_min), list(window.class_max)
            lowest[c], highest[c] = lower, upper
            yield replace(window, class_min=tuple(lowest), class_max=tuple(highest))


def _around(lower: int, upper: int, value: float) -> list[tuple[int, int]]:
    """Split a range at a value: on both sides of a broken one, and apart from a whole one."""
    nearest_integer = round(value)
    if abs(value - nearest_integer) > INTEGRALITY:
        parts = [(lower, int(np.floor(value))), (int(np.ceil(value)), upper)]
    else:
        parts = [(lower, nearest_integer - 1), (nearest_integer, nearest_integer), (nearest_integer + 1, upper)]
    parts_around = [(max(a, lower), min(b, upper)) for a, b in parts if max(a, lower) <= min(b, upper)]
    return parts_around if len(parts_around) > 1 else [(lower, lower), (lower + 1, upper)]


def fewest_supervisors(model: ScoreModel) -> int | None:
    """Fewest supervisors whose resources together are enough; None where all are too few, or an operator has no room."""
    if not model.classes:
        return None
    sizes = np.array([supervisors.members.size for supervisors in model.classes], np.int64)
    room = np.array([supervisors.max_instances for supervisors in model.classes]).reshape(sizes.size, model.instances.size)
    if (sizes @ room < model.instances).any():
        return None
    fewest = 1
    for m in range(model.demand.shape[1]):
        capacity = np.sort(np.repeat([supervisors.capacity[m] for supervisors in model.classes], sizes))[::-1]
        enough = np.cumsum(capacity) >= float(model.instances @ model.demand[:, m])
        if not enough.any():
            return None
        fewest = max(fewest, int(np.argmax(enough)) + 1)
    return fewest


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
