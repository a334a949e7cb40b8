"""Windows: how many supervisors may be in use, and how a window is split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats
from edrp.formulations.placement.column_generation.model import Model

WHOLE = 1e-6
"""How far from a whole number counts as whole."""


@dataclass(frozen=True, slots=True)
class Window:
    """How many supervisors are in use: least and most in all, and of each class, shape (classes,)."""

    least: int
    most: int
    class_least: tuple[int, ...]
    class_most: tuple[int, ...]

    @property
    def empty(self) -> bool:
        """Whether no numbers of supervisors fit it."""
        lowest, highest = sum(self.class_least), sum(self.class_most)
        return (
            self.least > self.most
            or lowest > self.most
            or highest < self.least
            or any(a > b for a, b in zip(self.class_least, self.class_most, strict=True))
        )


def split(window: Window, use: Floats, model: Model) -> Iterator[Window]:
    """Parts of a window around what the relaxation uses, but for those whose supervisors are too small in sum.

    Together they hold every placement of the window. None where the window leaves nothing to decide.
    """
    for part in _parts(window, use):
        if not part.empty and _enough(part, model):
            yield part


def _enough(window: Window, model: Model) -> bool:
    """Whether the largest supervisors that a window allows have as much of each resource as all instances need."""
    lowest, highest = np.array(window.class_least), np.array(window.class_most)
    for m in range(model.demand.shape[1]):
        capacity = np.array([each.capacity[m] for each in model.classes])
        total, left = float(lowest @ capacity), window.most - int(lowest.sum())
        for c in np.argsort(-capacity, kind="stable"):
            taken = min(left, int(highest[c] - lowest[c]))
            total += taken * float(capacity[c])
            left -= taken
        if total < float(model.instances @ model.demand[:, m]):
            return False
    return True


def _parts(window: Window, use: Floats) -> Iterator[Window]:
    """By the number of supervisors first, then by that of the class that is furthest from a whole number."""
    if window.least < window.most:
        for least, most in _around(window.least, window.most, float(use.sum())):
            yield replace(window, least=least, most=most)
        return
    fraction = np.abs(use - np.round(use))
    open_classes = [c for c in range(use.size) if window.class_least[c] < window.class_most[c]]
    if open_classes:
        width = np.array(window.class_most) - np.array(window.class_least)
        c = max(open_classes, key=lambda each: (round(float(fraction[each]), 6), width[each]))
        for least, most in _around(window.class_least[c], window.class_most[c], float(use[c])):
            lowest, highest = list(window.class_least), list(window.class_most)
            lowest[c], highest[c] = least, most
            yield replace(window, class_least=tuple(lowest), class_most=tuple(highest))


def _around(least: int, most: int, value: float) -> list[tuple[int, int]]:
    """Split a range at a value: on both sides of a broken one, and apart from a whole one."""
    whole = round(value)
    if abs(value - whole) > WHOLE:
        parts = [(least, int(np.floor(value))), (int(np.ceil(value)), most)]
    else:
        parts = [(least, whole - 1), (whole, whole), (whole + 1, most)]
    kept = [(max(a, least), min(b, most)) for a, b in parts if max(a, least) <= min(b, most)]
    return kept if len(kept) > 1 else [(least, least), (least + 1, most)]


def fewest_supervisors(model: Model) -> int | None:
    """Fewest supervisors whose resources together are enough; None where all are too few, or an operator has no room."""
    if not model.classes:
        return None
    sizes = np.array([each.members.size for each in model.classes], np.int64)
    room = np.array([each.most for each in model.classes]).reshape(sizes.size, model.instances.size)
    if (sizes @ room < model.instances).any():
        return None
    fewest = 1
    for m in range(model.demand.shape[1]):
        capacity = np.sort(np.repeat([each.capacity[m] for each in model.classes], sizes))[::-1]
        enough = np.cumsum(capacity) >= float(model.instances @ model.demand[:, m])
        if not enough.any():
            return None
        fewest = max(fewest, int(np.argmax(enough)) + 1)
    return fewest
