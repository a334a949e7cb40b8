"""The best prices by cutting planes: every relaxed optimum bounds the dual function from above (Kelley, 1960)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edrp.backends.growing import GrowingProgram, LinearOptimum
from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import EQUAL_NODES_PRICE_PROGRESS
from edrp.formulations.placement.elimination.paths import covering_paths, operator_flow, path_flow
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.values import BoundPrices, GraphRelaxations, PricedGraph

MAX_PRICE = 20.0
"""Maximum price of a limit or shared resource, in units of the price at which all of it costs the maximum objective."""

SMOOTHING = 0.5
"""Position of the next prices between the best ones so far (0) and those of the linear program (1)."""


@dataclass(frozen=True)
class BoundAscent:
    """The outcome of raising a bound.

    Attributes
    ----------
    relaxations : all that were computed, the best first.
    centre : columns at which the bound is best.
    share : of each row of the choices in the mixture of placements whose average keeps all limits, shape (rows,).
    downtimes : longest downtime of each of these placements, and its share.
    """

    relaxations: list[PricedGraph]
    centre: Floats
    share: Floats
    downtimes: tuple[Floats, Floats]


class FlowCuttingPlanes:
    """A linear program over flows and prices that grows by a row for each relaxed optimum.

    Columns: flow of each stream, into each source, out of each sink, the total flow, the price of the limit on cost, the
    prices of what is shared and of each operator's downtime, and the bound.
    """

    def __init__(self, quotient: Quotient) -> None:
        self.quotient = quotient
        model = quotient.model
        self.streams = model.source.size
        self.sources = np.flatnonzero([not len(streams) for streams in model.incoming])
        self.sinks = np.flatnonzero([not len(streams) for streams in model.outgoing])
        self.total = self.streams + self.sources.size + self.sinks.size
        self.shared = self.total + 2
        self.moves = self.shared + quotient.shared_capacity.size
        self.columns = self.moves + model.operators + 1
        self.program = GrowingProgram(None)
        lower = np.zeros(self.columns)
        lower[self.total], lower[-1] = model.response, -1e6
        self.program.add_columns(np.append(np.zeros(self.columns - 1), -1.0), (), lower, self._upper_bounds())
        self._conserve()
        self.program.add_rows(0.0, model.downtime, [(np.arange(self.moves, self.columns - 1), np.ones(model.operators))])
        self.first_cut = self.program.rows
        self.placements: list[Ints] = []
        self.optimum = LinearOptimum(-np.inf, np.zeros(0), np.zeros(0), optimal=False)

    def _upper_bounds(self) -> Floats:
        quotient, model = self.quotient, self.quotient.model
        upper = np.full(self.columns, np.inf)
        limited = np.isfinite(quotient.max_response)
        upper[self.total] = model.response + (MAX_PRICE / quotient.max_response if limited else 0.0)
        upper[self.total + 1] = MAX_PRICE / quotient.max_cost if np.isfinite(quotient.max_cost) else 0.0
        upper[self.shared : self.moves] = MAX_PRICE / np.maximum(quotient.shared_capacity, 1e-9)
        upper[self.moves : -1] = model.downtime if quotient.least_downtime else 0.0
        upper[-1] = 1e6
        return upper

    def _conserve(self) -> None:
        model = self.quotient.model
        into = {int(i): self.streams + n for n, i in enumerate(self.sources)}
        out = {int(i): self.streams + self.sources.size + n for n, i in enumerate(self.sinks)}
        for i in range(model.operators):
            ins = [*model.incoming[i], *([into[i]] if i in into else [])]
            outs = [*model.outgoing[i], *([out[i]] if i in out else [])]
            self.program.add_rows(0.0, 0.0, [([*ins, *outs], [1.0] * len(ins) + [-1.0] * len(outs))])
        self.program.add_rows(0.0, 0.0, [([*into.values(), self.total], [1.0] * len(into) + [-1.0])])

    def cut(self, rows: Ints, delays: Floats, use: Floats) -> None:
        """Add what a placement would cost under any prices; `use` is that of its streams (`Quotient.stream_use`)."""
        quotient, choices, model = self.quotient, self.quotient.choices, self.quotient.model
        slope = np.zeros(self.columns)
        slope[: self.streams] = delays
        np.add.at(slope, np.arange(self.streams), choices.latency[rows][model.target])
        slope[self.streams : self.streams + self.sources.size] = choices.latency[rows][self.sources]
        cost = float(choices.cost[rows].sum() + use[0])
        fixed = model.cost * cost + (model.downtime * quotient.least_downtime if quotient.least_downtime else 0.0)
        if np.isfinite(quotient.max_response):
            slope[self.total] -= quotient.max_response
            fixed += model.response * quotient.max_response
        slope[self.total + 1] = cost - quotient.max_cost if np.isfinite(quotient.max_cost) else 0.0
        slope[self.shared : self.moves] = choices.usage[rows].sum(axis=0) + use[1:] - quotient.shared_capacity
        slope[self.moves : -1] = choices.downtime[rows] - quotient.least_downtime
        slope[-1] = -1.0
        self.placements.append(rows)
        used = np.flatnonzero(slope)
        self.program.add_rows(-fixed, np.inf, [(used, slope[used])])

    def solve(self) -> tuple[float, Floats] | None:
        """The highest bound that the rows allow, and where; None when the linear program fails."""
        self.optimum = self.program.solve()
        return (float(self.optimum.columns[-1]), self.optimum.columns) if self.optimum.optimal else None

    def mixture(self) -> Floats:
        """Share of each row of the choices in the placements of the last linear program, by their dual values."""
        share = np.zeros(len(self.quotient.choices.operator))
        for rows, weight in zip(self.placements, self._weights(), strict=False):
            share[rows] += weight
        return share / max(float(share.sum()) / self.quotient.operators, 1e-12)

    def downtimes(self) -> tuple[Floats, Floats]:
        """The longest downtime of each placement of that mixture, and its share."""
        weights, choices, least_downtime = self._weights(), self.quotient.choices, self.quotient.least_downtime
        longest = np.array([max(least_downtime, float(choices.downtime[rows].max())) for rows in self.placements])[: weights.size]
        return longest, weights[: longest.size] / max(float(weights.sum()), 1e-12)

    def _weights(self) -> Floats:
        """Dual values of all placements in the last linear program."""
        return np.abs(self.optimum.prices)[self.first_cut :]

    def prices(self, values: Floats) -> BoundPrices:
        """Prices from columns; rounding below 0 is taken away."""
        values = np.maximum(values, 0.0)
        model = self.quotient.model
        flow = values[: self.streams]
        through = operator_flow(model, flow)
        through[self.sources] = values[self.streams : self.streams + self.sources.size]
        return BoundPrices(
            flow=flow,
            through=through,
            total=float(values[self.total]),
            money=model.cost + float(values[self.total + 1]),
            shared=values[self.shared : self.moves],
            moves=values[self.moves : -1],
        )

    def even(self) -> Floats:
        """Columns for equal flows along paths that cover all operators, and no other prices."""
        model = self.quotient.model
        lone = np.intersect1d(self.sources, self.sinks)
        paths = [path for path in covering_paths(model) if path]
        share = model.response / (len(paths) + lone.size)
        values = np.zeros(self.columns)
        values[: self.streams] = share * sum((path_flow(model, path) for path in paths), np.zeros(self.streams))
        through = operator_flow(model, values[: self.streams])
        through[lone] = share
        values[self.streams : self.total] = through[np.concatenate([self.sources, self.sinks])]
        values[self.total] = model.response
        return values


def raise_bound(
    bounds: GraphRelaxations, start: Floats | None, rounds: int, enough: float, out_of_time: Callable[[], bool]
) -> BoundAscent:
    """Raise the bound."""
    planes = FlowCuttingPlanes(bounds.quotient)
    centre = planes.even() if start is None else start
    point, points = centre, []
    best = -np.inf
    for _ in range(rounds):
        relaxation = bounds.relax(planes.prices(point))
        points.append(relaxation)
        if relaxation.bound > best:
            best, centre = relaxation.bound, point
        if not np.isfinite(relaxation.bound) or best >= enough or out_of_time():
            break
        planes.cut(*bounds.optimum(relaxation))
        highest = planes.solve()
        if highest is None or highest[0] - best <= EQUAL_NODES_PRICE_PROGRESS * abs(best):
            break
        point = centre + SMOOTHING * (highest[1] - centre)
    return BoundAscent(sorted(points, key=lambda relaxation: -relaxation.bound), centre, planes.mixture(), planes.downtimes())
