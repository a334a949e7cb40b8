"""EDRP's own program (eqs. 12–23): one binary column per operator and multiset of nodes, with tables over all of these."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.budget import refuse_beyond_memory
from edrp.core.errors import UnsupportedProblemError
from edrp.core.program import Linear, Program
from edrp.formulations.placement.builder import (
    PlacementExpressions,
    add_capacity_rows,
    add_objective_and_limits,
    breaks_limit,
    exceeds_capacity,
    refuse_too_large,
    time_unit,
)
from edrp.formulations.placement.node_loads import Holdings
from edrp.placement.compiled import NO_NODE, Compiled, count_configurations, degrees, multisets
from edrp.placement.reconfiguration import downtime_floor, is_current, operator_downtimes


def latencies(compiled: Compiled, operator: int, members: Ints32) -> Floats:
    """R_{i,U} in seconds (EDRP, eq. 1), infinite where unstable; shape (configurations,)."""
    reference = np.where(compiled.overloads(operator, members), np.inf, compiled.latency[operator, degrees(members)])
    return np.asarray(reference / slowest(compiled, members))


def slowest(compiled: Compiled, members: Ints32) -> Floats:
    """Minimum speed-up among the members of each configuration."""
    speeds = np.where(members == NO_NODE, np.inf, compiled.speedup[members])
    return np.asarray(speeds.min(axis=1))


def downtimes(compiled: Compiled, operator: int, members: Ints32) -> Floats:
    """t_D(i, U_0, V) in seconds (EDRP, eq. 25); for Storm at least the restart that any change costs (eq. 33)."""
    times = np.maximum(operator_downtimes(compiled, operator, members), downtime_floor(compiled))
    return (
        np.where(is_current(compiled, operator, members), 0.0, times) if compiled.current is not None else np.zeros(len(members))
    )


def longest_delays(delay: Floats, sources: Ints32, targets: Ints32) -> Floats:
    """d_{(U,V)} (EDRP, eq. 3): shape (source configurations, target configurations).

    Takes as many gathers as the ends have replicas together, instead of their product.
    """
    # To each node, from the worst member of U; then from U to the worst member of V.
    reach = _gathered(np.maximum, delay, sources)
    return np.asarray(_gathered(np.maximum, reach.T, targets).T)


def _gathered(join: np.ufunc, table: Floats, members: Ints32) -> Floats:
    """The members' rows of a table, joined, shape (configurations, columns of the table)."""
    result = table[members[:, 0]]
    for replica in range(1, members.shape[1]):
        used = np.flatnonzero(members[:, replica] != NO_NODE)
        result[used] = join(result[used], table[members[used, replica]])
    return result


def mean_over_pairs(table: Floats, sources: Ints32, targets: Ints32) -> Floats:
    """Mean of a table of node pairs over U × V (EDRP, eq. 4): shape (source configurations, target configurations).

    By gathers, as `longest_delays`: a matrix product of this size waits for its threads.
    """
    return np.asarray(_mean(_mean(table, sources).T, targets).T)


def _mean(table: Floats, members: Ints32) -> Floats:
    """Mean of the members' rows of a table, shape (configurations, columns of the table)."""
    return np.asarray(_gathered(np.add, table, members) / degrees(members)[:, None])


PATH_LIMIT = 10_000
"""Source–sink paths beyond which one row per path (eq. 13) is refused."""

INSTEAD = ("use the program 'compact'", ("eliminate",))


@dataclass(frozen=True, slots=True)
class Block:
    """A block of columns before it exists."""

    name: str
    shape: tuple[int, ...]
    integer: bool = False
    upper: float = np.inf

    @property
    def columns(self) -> int:
        """Number of columns."""
        return prod(self.shape)


def literal_blocks(compiled: Compiled, sizes: list[int] | None = None) -> tuple[Block, ...]:
    """Blocks of columns of the literal program; the builder itself adds exactly these.

    Parameters
    ----------
    sizes
        Configurations of each operator; default all multisets of its candidates (EDRP, P(V_res^i; k_i)).

    Returns
    -------
    tuple of Block
        x_{i,U} by operator, y_{(i,j),(U,V)} by stream, r and t_D.
    """
    if sizes is None:
        pairs = zip(compiled.candidate.sum(axis=1), compiled.max_replicas, strict=True)
        sizes = [count_configurations(int(nodes), int(replicas)) for nodes, replicas in pairs]
    place = [Block(f"place {name}", (size,), True, 1.0) for name, size in zip(compiled.operators, sizes, strict=True)]
    flow = [
        Block(f"flow {compiled.operators[i]} → {compiled.operators[j]}", (sizes[i], sizes[j]), False, 1.0)
        for i, j in zip(compiled.stream_source, compiled.stream_target, strict=True)
    ]
    return (*place, *flow, Block("response_time", ()), Block("downtime", ()))


def build_literal(compiled: Compiled) -> LiteralExpressions:
    """The program over all multisets of at most k_i candidates.

    Multisets are not cut by node capacity, as in the paper; those that can never be used have their
    column fixed to 0.

    Raises
    ------
    ProblemTooLargeError
        Before allocating it; the message says how much memory it would take.
    UnsupportedProblemError
        When there are more than `PATH_LIMIT` source–sink paths.
    """
    blocks = literal_blocks(compiled)
    refuse_too_large("literal", sum(block.columns for block in blocks), *INSTEAD)
    # Who sits with whom is a table of replicas by replicas for each configuration.
    widest = max(block.columns * int(k) ** 2 for block, k in zip(blocks, compiled.max_replicas, strict=False))
    refuse_beyond_memory(widest, "tables over the replicas of the literal program's configurations", *INSTEAD)
    members = [multisets(compiled.candidates(i), int(k)) for i, k in enumerate(compiled.max_replicas)]
    return build_over(compiled, members)


def build_over(compiled: Compiled, members: list[Ints32]) -> LiteralExpressions:
    """The literal program over given configurations of each operator."""
    _refuse_many_paths(compiled)
    expressions = LiteralExpressions(compiled, members)
    fix_unusable(expressions)
    add_configuration_rows(expressions)
    add_flow_rows(expressions)
    add_capacity_rows(expressions)
    add_response_rows(expressions)
    add_downtime_rows(expressions)
    add_objective_and_limits(expressions)
    return expressions


def _refuse_many_paths(compiled: Compiled) -> None:
    to_sink = np.ones(len(compiled.operators))
    for i in reversed(range(len(compiled.operators))):
        targets = compiled.stream_target[compiled.stream_source == i]
        if targets.size:
            to_sink[i] = to_sink[targets].sum()
    fed = np.isin(np.arange(len(compiled.operators)), compiled.stream_target)
    paths = to_sink[~fed].sum()
    if paths > PATH_LIMIT:
        raise UnsupportedProblemError(
            f"the application has {paths:.0f} source–sink paths, one row each in the literal program", *INSTEAD
        )


class LiteralExpressions(PlacementExpressions):
    """Metrics over x and y.

    y is continuous in [0, 1]: with binary x, eqs. 20–21 leave y = x·x as the only solution, so that
    integrality of y (eq. 23) need not be asked for.
    """

    def __init__(self, compiled: Compiled, members: list[Ints32]) -> None:
        self.compiled = compiled
        self.members = members
        self.program = Program()
        blocks = literal_blocks(compiled, [len(configurations) for configurations in members])
        columns = [self.program.add_columns(b.name, b.shape, upper=b.upper, integer=b.integer) for b in blocks]
        self.place = columns[: len(members)]
        self.flow = columns[len(members) : -2]
        self._response, self._downtime = columns[-2:]
        self._delays: list[Floats] | None = None

    def holdings(self, operator: int) -> Holdings:
        """Each configuration holds replicas on each of its distinct nodes."""
        members = self.members[operator]
        counts = (members[:, :, None] == members[:, None, :]).sum(axis=2)
        first = ~(np.tril(members[:, :, None] == members[:, None, :], -1).any(axis=2)) & (members != NO_NODE)
        rows, places = np.nonzero(first)
        nodes = members[rows, places].astype(np.int64)
        return Holdings(self.place[operator][rows], nodes, counts[rows, places], degrees(members)[rows])

    def start(self, counts: Ints) -> Floats | None:
        """x and y of a deployment; r, t_D and what comes behind them are left to the solver."""
        values = np.zeros(self.program.columns)
        values[int(self._response) :] = np.nan
        chosen = []
        for i, configuration in enumerate(self.compiled.members(counts)):
            members = self.members[i]
            if configuration.size != members.shape[1]:
                return None
            # Members ascend in node order on both sides.
            rows = np.flatnonzero((members == configuration).all(axis=1))
            if not rows.size:
                return None
            chosen.append(int(rows[0]))
            values[self.place[i][chosen[i]]] = 1.0
        for columns, i, j in zip(self.flow, self.compiled.stream_source, self.compiled.stream_target, strict=True):
            values[columns[chosen[i], chosen[j]]] = 1.0
        return values

    def replica_sum(self, weights: Floats) -> Linear:
        """Σ_i Σ_U weights[i]·|U|·x_{i,U} (EDRP, eqs. 2, 9)."""
        return Linear.total(Linear.of(x, w * degrees(m)) for x, w, m in zip(self.place, weights, self.members, strict=True) if w)

    def stream_pair_sum(self, weights: Floats) -> Linear:
        """Σ_e Σ_{U,V} (mean of weights[e] over U × V)·y (EDRP, eqs. 4, 9)."""
        ends = zip(self.compiled.stream_source, self.compiled.stream_target, strict=True)
        return Linear.total(
            Linear.of(self.flow[e], mean_over_pairs(weights[e], self.members[i], self.members[j]))
            for e, (i, j) in enumerate(ends)
            if weights[e].any()
        )

    def response_time(self) -> Linear:
        """Response time as an expression: the column r."""
        return Linear.of(self._response, time_unit(self.compiled, "response_time"))

    def downtime(self) -> Linear:
        """Downtime as an expression: the column t_D."""
        return Linear.of(self._downtime, time_unit(self.compiled, "downtime"))

    def node_in_use(self) -> Ints:
        """Columns n_u with n_u ≥ Σ_{U∋u} x_{i,U}; one row per operator and node."""
        count = len(self.compiled.nodes)
        if "node in use" in self.program.column_blocks:
            return self.program["node in use"]
        used = self.program.add_columns("node in use", count, upper=1.0)
        entries = []
        for i in range(len(self.members)):
            holdings = self.holdings(i)
            entries += [(i * count + np.arange(count), used, 1.0), (i * count + holdings.nodes, holdings.columns, -1.0)]
        self.program.add_rows("node in use", len(self.members) * count, entries, lower=0.0)
        return used

    def link_in_use(self) -> Ints:
        """Columns l_{uv} with l_{uv} ≥ Σ_{U∋u, V∋v} y_{e,(U,V)}; one row per stream and pair of nodes."""
        count = len(self.compiled.nodes)
        itself = np.eye(count, dtype=bool)
        if "link in use" in self.program.column_blocks:
            return np.where(itself, -1, self.program["link in use"])
        used = self.program.add_columns("link in use", (count, count), upper=1.0)
        entries = []
        for e, (i, j) in enumerate(zip(self.compiled.stream_source, self.compiled.stream_target, strict=True)):
            from_, to = self.holdings(i), self.holdings(j)
            rows = e * count**2 + from_.nodes[:, None] * count + to.nodes
            at = from_.columns[:, None] - self.place[i][0], to.columns - self.place[j][0]
            entries += [(e * count**2 + np.arange(count**2), used.ravel(), 1.0), (rows, self.flow[e][at], -1.0)]
        self.program.add_rows("link in use", len(self.flow) * count**2, entries, lower=0.0)
        return np.where(itself, -1, used)


def fix_unusable(expressions: LiteralExpressions) -> None:
    """Fix x_{i,U} = 0 where U is unstable, too much for a node by itself, or too long to reach (eqs. 17–18); adds no row."""
    compiled = expressions.compiled
    for i, members in enumerate(expressions.members):
        bad = ~np.isfinite(latencies(compiled, i, members)) | breaks_limit(
            downtimes(compiled, i, members), compiled.limit["downtime"]
        )
        holdings = expressions.holdings(i)
        too_much = exceeds_capacity(compiled, i, holdings.nodes, holdings.counts)
        expressions.program.fix(np.concatenate([expressions.place[i][bad], holdings.columns[too_much]]), 0.0)


def add_configuration_rows(expressions: LiteralExpressions) -> None:
    """EDRP, eq. 19: Σ_U x_{i,U} = 1; one row per operator."""
    entries = [(np.full(x.size, i), x, 1.0) for i, x in enumerate(expressions.place)]
    expressions.program.add_rows("one configuration", len(entries), entries, lower=1.0, upper=1.0)


def add_flow_rows(expressions: LiteralExpressions) -> None:
    """EDRP, eqs. 20–21: Σ_V y_{(U,V)} = x_{i,U} and Σ_U y_{(U,V)} = x_{j,V}; one row per stream and configuration of each end."""
    compiled = expressions.compiled
    for y, i, j in zip(expressions.flow, compiled.stream_source, compiled.stream_target, strict=True):
        name = f"{compiled.operators[i]} → {compiled.operators[j]}"
        for end, operator, flows in (("leaving", i, y), ("entering", j, y.T)):
            x = expressions.place[operator]
            # One ascending run of columns per row: first x, then the flows.
            columns = np.column_stack([x, flows])
            signs = np.where(np.arange(columns.shape[1]) == 0, -1.0, 1.0)
            rows = np.arange(x.size)[:, None]
            expressions.program.add_rows(f"{end} {name}", x.size, [(rows, columns, signs)], lower=0.0, upper=0.0)


def add_response_rows(expressions: LiteralExpressions) -> None:
    """EDRP, eq. 13: r ≥ Σ_{i∈π} Σ_U R_{i,U}·x_{i,U} + Σ_{e∈π} Σ_{U,V} d_{(U,V)}·y_{e,(U,V)}; one row per source–sink path."""
    compiled, paths = expressions.compiled, expressions.compiled.problem.application.paths
    unit = time_unit(compiled, "response_time")
    seconds: dict[Any, Linear] = {}  # of each operator, and of each stream as a pair of operators
    for i, members in enumerate(expressions.members):
        latency = latencies(compiled, i, members)
        usable = np.where(np.isfinite(latency), latency, 0.0)  # the others are fixed to 0
        seconds[compiled.operators[i]] = Linear.of(expressions.place[i], -usable / unit)
    for y, i, j in zip(expressions.flow, compiled.stream_source, compiled.stream_target, strict=True):
        delay = longest_delays(compiled.delay, expressions.members[i], expressions.members[j])
        used = np.flatnonzero(delay)
        seconds[compiled.operators[i], compiled.operators[j]] = Linear.of(y.ravel()[used], -delay.ravel()[used] / unit)
    response = Linear.of(expressions.program["response_time"])
    entries = []
    for p, path in enumerate(paths):
        terms = [*(seconds[part] for part in (*path, *pairwise(path))), response]
        entries += [(p, term.columns, term.coefficients) for term in terms]
    expressions.program.add_rows("paths", len(paths), entries, lower=0.0)


def add_downtime_rows(expressions: LiteralExpressions) -> None:
    """EDRP, eqs. 14, 24, 33: t_D ≥ Σ_V t_D(i, U_0, V)·x_{i,V}; one row per operator, none without a current deployment."""
    compiled = expressions.compiled
    if compiled.current is None:
        return
    unit = time_unit(compiled, "downtime")
    rows = np.arange(len(expressions.members))
    entries: list[tuple[Any, Any, Any]] = [(rows, np.full(rows.size, expressions.program["downtime"]), 1.0)]
    for i, members in enumerate(expressions.members):
        entries.append((np.full(len(members), i), expressions.place[i], -downtimes(compiled, i, members) / unit))
    expressions.program.add_rows("downtimes", rows.size, entries, lower=0.0)
