"""The common part of all builders: columns that say where replicas are, and objective and limits over the metrics."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import amount
from edrp.core.errors import ProblemTooLargeError
from edrp.core.program import Linear, Program
from edrp.core.tolerances import LIMIT_SLACK
from edrp.formulations.placement.blocks import PlacementBlocks, add_rule_rows, metric_value
from edrp.formulations.placement.node_loads import Holdings, NodeLoads
from edrp.placement.compiled import Compiled
from edrp.placement.devices import MAX_PATTERNS, unit_patterns
from edrp.placement.metrics.base import Expressions
from edrp.placement.metrics.own import WrittenMetric

COLUMN_LIMIT = 20_000_000
"""Columns beyond which a program is refused before anything is allocated."""

BYTES_PER_COLUMN = 200
"""Memory that a column and its coefficients take while the program is built and handed over."""


class PlacementExpressions(Expressions):
    """`Expressions` that can also be read back as a deployment and started from one."""

    program: Program
    compiled: Compiled
    exclusive = True
    """Whether at most one column of an operator on a node is 1."""
    _node_loads: NodeLoads | None = None

    @cached_property
    def blocks(self) -> PlacementBlocks:
        """Replicas and presence by name, for rows of a user's own."""
        return PlacementBlocks(self)

    @abstractmethod
    def holdings(self, operator: int) -> Holdings:
        """Columns of an operator and the replicas that each stands for."""

    @abstractmethod
    def start(self, counts: Ints) -> Floats | None:
        """Columns' values for replicas per operator and node, NaN where left to the solver; None if not representable."""

    def peak_load(self, resource: str | None) -> Linear:
        """A column that is at least every node's share of its capacity of a shared resource, or of any of them."""
        if self._node_loads is None:
            holdings = [self.holdings(i) for i in range(len(self.compiled.operators))]
            self._node_loads = NodeLoads(self.program, self.compiled, holdings)
        return self._node_loads.peak(resource)

    def own_metric(self, name: str, written: WrittenMetric) -> Linear:
        """A metric of your own over the columns."""
        return metric_value(self, name, written)

    def counts(self, values: Floats) -> Ints:
        """Replicas per operator and node, shape (operators, nodes), of a point of the program."""
        counts = np.zeros((len(self.compiled.operators), len(self.compiled.nodes)), np.int64)
        for i in range(len(counts)):
            holdings = self.holdings(i)
            set_to = np.rint(values[holdings.columns]).astype(np.int64)
            np.add.at(counts[i], holdings.nodes, holdings.counts * set_to)
        return counts


def add_least(program: Program, name: str, columns: Ints) -> Linear:
    """A column of at most 1 and at most each of some columns; it and its rows have this name."""
    least = program.add_columns(name, upper=1.0)
    rows = np.arange(columns.size)
    program.add_rows(name, rows.size, [(rows, np.full(rows.size, least), 1.0), (rows, columns, -1.0)], upper=0.0)
    return Linear.of(least)


def add_delay_rows(program: Program, name: str, column: Ints, delay: Floats, ends: tuple[Ints, Ints]) -> Linear:
    """D ≥ d_uv·(z[u] + z[v] − 1), a row per pair of nodes apart, for columns z of the nodes of both ends (EDRP, eqs. 3, 7)."""
    u, v = np.nonzero(delay)
    rows, far = np.arange(u.size), delay[u, v]
    entries = [(rows, np.full(u.size, column), 1.0), (rows, ends[0][u], -far), (rows, ends[1][v], -far)]
    program.add_rows(name, u.size, entries, lower=-far)
    return Linear.of(column)


def time_unit(compiled: Compiled, metric: str) -> float:
    """Seconds that a time column counts in: the metric's limit if there is one.

    Solvers' tolerances are absolute; a limit of 0.05 s would be missed by 2e-8 of itself.
    """
    limit = compiled.limit[metric]
    return limit if np.isfinite(limit) else 1.0


def add_objective_and_limits(expressions: PlacementExpressions) -> None:
    """Objective (EDRP, eq. 12), one row per limit (eqs. 15–17), each relative to its limit, and the rows of rules.

    Weights and limits of EDRP's metrics are those of the arrays, which may be others than the problem's.
    """
    compiled, program = expressions.compiled, expressions.program
    total, rows = replica_price_sum(expressions), {row.name for row in compiled.problem.metric_rows}
    # Delays come last: their rows are tighter when the flows that prices need are there already.
    for term in sorted(compiled.problem.terms, key=lambda term: term.metric in ("response_time", "path_latency")):
        weight = compiled.weight.get(term.metric, term.coefficient)
        limit = compiled.limit.get(term.metric, term.scaled_limit)
        if term.metric in rows or (not weight and not np.isfinite(limit)):
            continue
        value = compiled.problem.metrics[term.metric].linearise(expressions)
        if weight:
            total += value * weight
        if np.isfinite(limit):
            program.add_row(f"limits.{term.metric}", value * (1 / limit), upper=1.0)
    program.minimise(total + add_rule_rows(expressions))


def replica_price_sum(expressions: PlacementExpressions) -> Linear:
    """Prices of all replicas; a column knows how many replicas of its operator it stands for, and of how many in all."""
    prices = expressions.compiled.replica_prices
    if prices is None:
        return Linear.zero()
    holdings = [expressions.holdings(i) for i in range(len(prices))]
    return Linear.total(
        [Linear.of(held.columns, held.counts * prices[i, held.totals, held.nodes]) for i, held in enumerate(holdings)]
    )


def breaks_limit(values: Floats, limit: float) -> Bools:
    """Mask of the values that exceed an upper limit by more than rounding; NaN exceeds it."""
    return ~(values <= limit * (1 + LIMIT_SLACK))


HOPELESS_LIMITS = 2.0
"""Limits of the downtime beyond which it makes no difference how long a change takes: it is not made."""


def change_time(compiled: Compiled, seconds: float) -> float:
    """Seconds that any change takes, at most `HOPELESS_LIMITS`: rows that are off where nothing changes round larger ones."""
    return float(min(seconds, HOPELESS_LIMITS * compiled.limit["downtime"]))


HOPELESS = 1e9
"""Share of a node's resource beyond which it makes no difference how much more is needed; solvers refuse coefficients of 1e15."""


def share_of_room(need: Floats, room: Floats) -> Floats:
    """Needs as shares of what nodes have, at most `HOPELESS`."""
    return np.minimum(need / room, HOPELESS)


def add_capacity_rows(expressions: PlacementExpressions) -> None:
    """EDRP, eq. 18: Σ_i Σ_U U(u)·Res_i·x_{i,U} ≤ Res_u, for each resource; rows are relative to Res_u.

    At most one row per node and resource, none where the node has no limit or nothing to give; more where it offers units.

    Raises
    ------
    ProblemTooLargeError
        Where fractions of a unit have more than `MAX_PATTERNS` maximal patterns.
    """
    compiled = expressions.compiled
    limited = np.isfinite(compiled.capacity) & (compiled.capacity > 0)
    row = np.full(limited.shape, -1)
    row[limited] = np.arange(limited.sum())
    entries = []
    for i in range(len(compiled.operators)):
        holdings = expressions.holdings(i)
        for resource in np.flatnonzero(compiled.demand[i]):
            at = row[holdings.nodes, resource]
            used = at >= 0
            share = share_of_room(
                holdings.counts[used] * compiled.demand[i, resource], compiled.capacity[holdings.nodes[used], resource]
            )
            entries.append((at[used], holdings.columns[used], share))
    expressions.program.add_rows("capacity", int(limited.sum()), entries, upper=1.0)
    in_units = np.argwhere(compiled.units >= 0).tolist()
    everywhere = [expressions.holdings(i) for i in range(len(compiled.operators))] if in_units else []
    for u, m in in_units:
        need, name = compiled.demand[:, m] * compiled.candidate[:, u], f"{compiled.resources[m]} of {compiled.nodes[u]}"
        sizes, held = unit_patterns(need, compiled.max_replicas)
        if len(held) > MAX_PATTERNS:
            why = f"{sizes.size} different fractions share a unit of {name} in more than {MAX_PATTERNS} ways"
            raise ProblemTooLargeError(why, "round the demands, so that fewer of them differ")
        replicas = partial(_replicas_on, u, everywhere)
        add_unit_rows(expressions.program, name, float(compiled.units[u, m]), need, (sizes, held), replicas)


def _replicas_on(node: int, everywhere: list[Holdings], operator: int) -> Linear:
    held, here = everywhere[operator], everywhere[operator].nodes == node
    return Linear.of(held.columns[here], held.counts[here])


def add_unit_rows(
    program: Program, name: str, units: float, need: Floats, patterns: tuple[Floats, Ints], replicas: Callable[[int], Linear]
) -> Ints:
    """Units taken whole, and x_p of them filled by a maximal pattern p of fractions; the columns x are returned.

    Σ_i Res_i·n_i + Σ_p x_p ≤ units over whole demands, and Σ_p p_f·x_p ≥ Σ_i n_i over demands of f, a row for each fraction f.
    """
    sizes, held = patterns
    shared = program.add_columns(f"units: {name}", len(held), upper=units, integer=True)
    entries: list[tuple[Any, Any, Any]] = [(np.zeros(shared.size, np.int64), shared, 1.0)]
    entries += [(np.full(shared.size, 1 + k), shared, -held[:, k]) for k in range(sizes.size)]
    for i in np.flatnonzero(need).tolist():
        here, row = replicas(i), 0 if need[i] >= 1 else 1 + int(np.searchsorted(-sizes, -need[i]))
        taken = here.coefficients if row else np.minimum(here.coefficients * need[i], units + 1)
        entries.append((np.full(taken.size, row), here.columns, taken))
    program.add_rows(f"units: {name}", 1 + sizes.size, entries, upper=np.append(units, np.zeros(sizes.size)))
    return shared


def exceeds_capacity(compiled: Compiled, operator: int, nodes: Ints, counts: Ints) -> Bools:
    """Mask of the nodes that are too small for a number of replicas of one operator alone."""
    need = counts[..., None] * compiled.demand[operator]
    room = compiled.capacity[nodes]
    slack = LIMIT_SLACK * np.where(np.isfinite(room), room, 0.0)
    return np.asarray((need > room + slack).any(axis=-1))


def refuse_too_large(program: str, columns: float, remedy: str, instead: tuple[str, ...]) -> None:
    """Refuse to build a program that memory could not hold.

    Raises
    ------
    ProblemTooLargeError
        Naming the number of columns, and the memory; `remedy` and `instead` as in `RefusedError`.
    """
    if columns > COLUMN_LIMIT:
        memory = columns * BYTES_PER_COLUMN // 2**30  # of integers beyond any float too
        raise ProblemTooLargeError(
            f"the {program} program would have {amount(columns)} columns and take about {amount(memory)} GiB", remedy, instead
        )
