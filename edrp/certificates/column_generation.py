"""Certificates of `column-generation`: windows on how many nodes are used, with prices (format `column-generation`).

The prices are those of the method's master program; whether they close a window is tried on the checker's patterns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edrp.certificates import checker
from edrp.core.arrays import Floats
from edrp.core.budget import look, units_left
from edrp.core.certificates import NotCertifiedError, RawCertificate
from edrp.core.tolerances import INTEGRALITY
from edrp.formulations.placement.column_generation.model import ScoreModel, build_model
from edrp.formulations.placement.column_generation.tree import BestPlacement, BranchAndPrice
from edrp.formulations.placement.column_generation.windows import Window
from edrp.placement.compilation import compile_problem

FEW_PARTS, MANY_PARTS = 20_000, 1_000_000
"""Parts of placements that the checker may look at in a window that can be split, and in one that cannot."""

MAX_WINDOWS = 2_000
"""Leaves of a tree."""


def certify_column_generation(problem: Any, solution: Any) -> RawCertificate:
    """A certificate, not yet checked, of an optimum, or that nothing is feasible.

    Raises
    ------
    NotCertifiedError
        Where the checker does not know the problem, or would have to look at too much.
    """
    if problem.kind != "latency-aware":
        raise NotCertifiedError("the format column-generation proves placements of kind latency-aware")
    writer = _PlacementProofWriter(problem, solution)
    lines = list(writer.lines()) if solution.status == "optimal" else [["P", writer.shortage()]]
    return RawCertificate("column-generation", lines, {"order": writer.order})


class _Timed(checker.Patterns):
    """The checker's patterns, which end with `OutOfTimeError` when the time for the certificate is over."""

    def gain(self, k: int, x: int, front: Iterable[tuple[int, int]], worth: list[int]) -> int:
        """Return the checker's value, unless the time is over."""
        look("the certificate")
        return super().gain(k, x, front, worth)

    def latency(self, ways: Any, places: Sequence[Any]) -> Any:
        """Return the checker's latency, unless the time is over."""
        look("the certificate")
        return super().latency(ways, places)


class _PlacementProofWriter:
    """Column generation in windows that the checker's patterns close."""

    def __init__(self, problem: Any, solution: Any) -> None:
        self.model: ScoreModel = build_model(compile_problem(problem))
        names = self.model.compiled.operators
        allowed = 0.5 * float(checker.TOLERANCE)
        objective = self.model.largest_score if solution.objective is None else solution.objective
        gap = allowed / max(abs(objective), allowed)
        self.search = BranchAndPrice(self.model, BestPlacement(objective), gap, units_left, lambda *_: None)
        # The order is that of pricing: few operators are remembered, so that the checker's tables are small.
        self.sequence = self.search.pricers[0].order.operators.tolist() if self.search.pricers else list(range(len(names)))
        self.order = [names[i] for i in self.sequence]
        optimal = solution.status == "optimal"
        try:
            self.patterns = _Timed(checker.parse(problem.model_dump_json()), self.order, optimal)
        except checker.Unknown as error:
            raise NotCertifiedError(str(error)) from None
        self.target = math.ceil((objective - float(checker.TOLERANCE)) * 2**checker.SHIFT) + 1 if optimal else 1
        if optimal:
            self.search.offer(self.model.compiled.counts(solution.deployment))

    def lines(self) -> Iterator[list[Any]]:
        """The tree in pre-order."""
        classes = [{self.model.compiled.nodes[u] for u in supervisors.members} for supervisors in self.model.classes]
        if classes != [set(members) for members in self.patterns.members]:
            raise NotCertifiedError("the checker tells other nodes apart")
        sizes = tuple(map(len, classes))
        waiting = [(Window(1, sum(sizes), (0,) * len(sizes), sizes), self.patterns.root)]
        leaves = 0
        while waiting:
            look("the certificate")
            window, parent_prices = waiting.pop()
            if window.empty:
                yield ["P", [0] * len(self.sequence)]
                continue
            proof, relaxation = self.search.generate(window)
            worth = [round(float(proof.worth[i]) * 2**checker.PLACES) for i in self.sequence]
            where = _split(window, self.search.use_by_class(relaxation))
            if self._closes(parent_prices, worth, where is not None):
                leaves += 1
                yield ["P", worth]
                continue
            if where is None or leaves + len(waiting) >= MAX_WINDOWS:
                raise NotCertifiedError("too many patterns are nearly as good as the best")
            yield ["W", *where]
            halves = zip(_halves(window, *where), parent_prices.halves(*where), strict=True)
            waiting += reversed(list(halves))

    def shortage(self) -> list[int]:
        """Prices that show that nothing is feasible: what instances need of a resource of which there is too little."""
        for need in (*np.array(self.patterns.need, object).T.tolist(), [0] * len(self.sequence)):
            worth = [int(amount) << checker.PLACES for amount in need]
            if self._closes(self.patterns.root, worth, split=False):
                return worth
        raise NotCertifiedError("no single resource is short in sum")

    def _closes(self, window: checker.Window, worth: list[int], split: bool) -> bool:
        parts = FEW_PARTS if split else MANY_PARTS
        try:
            self.patterns.close(window, [k << checker.SHIFT - checker.PLACES for k in worth], self.target, parts)
        except checker.Refused:
            return False
        return True


def _split(window: Window, use: Floats) -> tuple[int, int] | None:
    """Return the class and the floor at which to split a window: all nodes first, then the class furthest from a whole number."""
    if window.min_supervisors < window.max_supervisors:
        return -1, _floor(window.min_supervisors, window.max_supervisors, float(use.sum()))
    width = np.array(window.class_max) - np.array(window.class_min)
    broken = np.abs(use - np.round(use))
    candidates = [c for c in range(use.size) if width[c]]
    if not candidates:
        return None
    c = max(candidates, key=lambda c: (round(float(broken[c]), 6), width[c]))
    return c, _floor(window.class_min[c], window.class_max[c], float(use[c]))


def _floor(lower: int, upper: int, value: float) -> int:
    """The floor of a broken value; next to a whole one, so that it is in the half that is left."""
    near = math.floor(value + INTEGRALITY)
    return min(max(near if near < upper else near - 1, lower), upper - 1)


def _halves(window: Window, c: int, floor: int) -> tuple[Window, Window]:
    """Return the two windows into which a split divides a window."""
    if c < 0:
        return replace(window, max_supervisors=floor), replace(window, min_supervisors=floor + 1)
    high, low = list(window.class_max), list(window.class_min)
    high[c], low[c] = floor, floor + 1
    return replace(window, class_max=tuple(high)), replace(window, class_min=tuple(low))
