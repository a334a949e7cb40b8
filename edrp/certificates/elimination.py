"""Certificates of `eliminate`: prices at which the checker's own relaxation leaves nothing (format `eliminate`).

The prices come from the ascent of the method; which of them help is found by trying them on the checker's relaxation.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod
from operator import le
from typing import Any

import numpy as np

from edrp.certificates import checker
from edrp.core.arrays import Floats
from edrp.core.budget import look, units_left
from edrp.core.certificates import NotCertifiedError, RawCertificate
from edrp.formulations.placement.elimination.ascent import raise_bound
from edrp.formulations.placement.elimination.box import Box, BoxPrices
from edrp.formulations.placement.elimination.method import roots
from edrp.formulations.placement.elimination.model import EliminationModel, build_model
from edrp.formulations.placement.elimination.paths import covering_paths, eliminate_by_paths, flow_paths, path_flow
from edrp.placement.compilation import compile_problem

PRICE_MARGIN = 0.01
"""Share of the objective by which prices are raised beyond it: the checker's relaxation is weaker than the method's."""

MAX_PRICE_ROUNDS = 4
"""Rounds over all prices, at most, while they still take something away."""

MAX_TABLE_CELLS = 200_000
"""States times choices of a table beyond which the flow is narrowed to fewer paths."""

MAX_PARTS = 1_000_000
"""Parts of deployments that the checker may have to look at."""

PARTS_PER_SECOND = 15_000
"""Half of those that it looks at in a second: it looks at all of them again when the certificate is checked."""

UNIT = 2**checker.PLACES

SUMMED = ("response_time", "cost")
"""Metrics whose limits can make a problem infeasible for the format."""

KNOWN = (*SUMMED, checker.IN_FLIGHT, "downtime")
"""Metrics whose weights the format knows."""

Line = dict[str, Any]


class _Script:
    """The lines so far, and what they leave in the checker's relaxation."""

    def __init__(self, document: Any, order: list[str], objective: float | None, shares: list[int] | None = None) -> None:
        self.relaxation = checker.Placement(document, order, None if shares is None else [Fraction(x) for x in shares])
        if objective is None:
            self.target = int(sum(shares or ()) * checker.SLACK * 2**checker.SHIFT) + 1
        else:
            self.target = int((objective - float(checker.TOLERANCE)) * 2**checker.SHIFT) + 1
        self.lines: list[Line] = []

    def left(self) -> int:
        """Return the number of nodes or choices that the operators have left."""
        return sum(map(len, self.relaxation.left))

    def add(self, do: str, prices: Line) -> bool:
        """Take away what these prices exclude, and keep the line if that is anything; whether all is closed."""
        look("the certificate")
        before = self.left()
        some = self.relaxation.shrink(checker.Prices(self.relaxation, prices), self.target, do == "choices")
        if do == "choices" or self.left() < before:
            self.lines.append({"do": do, **prices})
        return not some

    def states(self, flow: Floats, streams: list[tuple[int, int]]) -> float:
        """Most states of a table of the dynamic program over the streams with flow."""
        listed = [stream for stream, k in zip(streams, flow, strict=True) if k > 0]
        sizes = [len(choices) for choices in self.relaxation.left]
        fronts = [{s for s, t in listed if s < i <= t} for i in range(len(sizes))]
        return float(max((prod(sizes[j] for j in front) * sizes[i] for i, front in enumerate(fronts)), default=1))


def certify_eliminate(problem: Any, solution: Any) -> RawCertificate:
    """A certificate, not yet checked, of an optimum, or that nothing is feasible.

    Raises
    ------
    NotCertifiedError
        Where the format does not cover the problem, or the checker would have to look at too many choices.
    """
    if problem.kind != "edrp":
        raise NotCertifiedError("the format eliminate is for problems of kind edrp")
    missing = [term.metric for term in problem.terms if term.metric not in KNOWN and term.weight > 0]
    if missing and solution.status == "optimal":
        raise NotCertifiedError(f"the relaxation of the format eliminate does not know {' and '.join(missing)}")
    document, why = checker.parse(problem.model_dump_json()), ""
    for shares in [None] if solution.status == "optimal" else _shares(problem):
        total = 1.0 if shares is None else float(sum(shares))
        weights = {} if shares is None else {name: x / total for name, x in zip(SUMMED, shares, strict=True)}
        model = build_model(compile_problem(problem.replace(weights=weights) if weights else problem))
        order = [model.compiled.operators[i] for i in model.order]
        try:
            script = _Script(document, order, solution.objective, shares)
            _close(model, script, _raised_prices(model, 1.0 if solution.objective is None else solution.objective))
        except checker.Refused as error:
            why = str(error)
        else:
            return RawCertificate("eliminate", script.lines, {"order": order} | ({} if shares is None else {"shares": shares}))
    raise NotCertifiedError(why or "no limit on response time or cost")


def _shares(problem: Any) -> list[list[int]]:
    """Which of the limits on response time and cost may be what cannot be kept to: both in sum, or one."""
    limited = [int(getattr(problem.limits, name) is not None) for name in SUMMED]
    return [shares for shares in ([1, 1], [1, 0], [0, 1]) if all(map(le, shares, limited))]


def _raised_prices(model: EliminationModel, objective: float) -> list[BoxPrices]:
    """Prices of paths, then the best of all, from the method's own ascent towards a little more than the optimum."""
    cutoff = objective + PRICE_MARGIN * abs(objective)
    box: Box = roots(model)[-1]  # where the application runs already, that in which it may move
    paths = covering_paths(model)
    capacity = box.prices.capacity if box.empty() else eliminate_by_paths(model, box, cutoff)
    box.prices = BoxPrices(np.mean([path_flow(model, path) for path in paths], axis=0), capacity)
    if not box.empty():
        raise_bound(model, box, cutoff, 40, 20_000, lambda: units_left() <= 0)
    best = box.prices
    flow_paths_found = {tuple(path) for path in [*flow_paths(model, best.flow), *paths]}
    return [*(BoxPrices(path_flow(model, list(path)), capacity) for path in sorted(flow_paths_found)), best]


def _close(model: EliminationModel, script: _Script, several: list[BoxPrices]) -> None:
    """Write lines until nothing is left, first on nodes, then on choices, last by search.

    Where downtimes have a weight, that of each operator counts in a line of its own.
    """
    stops = [{"stop": [[i, UNIT]]} for i, before in enumerate(script.relaxation.before) if before and script.relaxation.stop]
    for do in ("nodes", "choices", "nodes"):
        for _ in range(MAX_PRICE_ROUNDS):
            before = script.left()
            for prices in several:
                if script.add(do, _line(model, script, prices)):
                    return
            for stop in stops:
                if script.add(do, {**_line(model, script, several[-1]), **stop}):
                    return
            if do == "choices" or script.left() == before:
                break
    *_, best = several
    tilted = [best, *(BoxPrices(0.5 * (best.flow + prices.flow), best.capacity) for prices in several[:-1])]
    lines = [_line(model, script, relaxation) for relaxation in tilted]
    look("the certificate")
    parts = int(min(MAX_PARTS, PARTS_PER_SECOND * units_left()))
    script.relaxation.search([checker.Prices(script.relaxation, line) for line in lines], script.target, parts)
    script.lines.append({"do": "search", "prices": lines})


def _line(model: EliminationModel, script: _Script, prices: BoxPrices) -> Line:
    """Prices as integers, for streams and nodes of the document; the flow on as many paths as tables allow."""
    streams = list(zip(model.source.tolist(), model.target.tolist(), strict=True))
    flow = next(narrow for narrow in _narrowed(model, prices.flow) if script.states(narrow, streams) <= MAX_TABLE_CELLS)
    number = {stream: e for e, stream in enumerate(script.relaxation.streams)}
    nodes, resources = [script.relaxation.node[name] for name in model.compiled.nodes], model.compiled.resources
    rents = [
        [nodes[u], resources[m], int(prices.capacity[u, m] * model.capacity[u, m] / model.compiled.capacity[u, m] * UNIT)]
        for u, m in zip(*np.nonzero((model.capacity > 0) & np.isfinite(model.capacity) & (prices.capacity > 0)), strict=True)
    ]
    amounts = np.floor(flow * (UNIT - 2**10)).astype(np.int64).tolist()
    return {"flow": [[number[stream], k] for stream, k in zip(streams, amounts, strict=True) if k > 0], "rent": rents}


def _narrowed(model: EliminationModel, flow: Floats) -> Iterator[Floats]:
    """The flow, then that on its widest paths alone, fewer and fewer, then none."""
    paths = list(flow_paths(model, flow).items())
    yield flow
    for count in range(len(paths) - 1, 0, -1):
        total = sum(amount for _, amount in paths[:count])
        yield np.sum([path_flow(model, list(path)) * amount / total for path, amount in paths[:count]], axis=0)
    yield np.zeros_like(flow)
