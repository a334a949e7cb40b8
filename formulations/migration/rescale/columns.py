"""The columns of the program over ranges: which node runs which replica, for operators with tasks and without.

x[i,l,(a,b),u] = 1 where a replica of operator i on node u holds the tasks [a, b). Where what a replica may hold, or how fast it
is, depends on the number of replicas (tolerance, even ranges, capacity curves), there is a layer l of columns for every number;
z[i,l] chooses one. Without tasks, x[i,r,c,u] = 1 where node u runs exactly c of r replicas.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints, places_within
from edrp.core.budget import look, refuse_beyond_memory
from edrp.core.errors import Fault, InvalidInstanceError, UnsupportedProblemError
from edrp.core.program import Linear, Program
from edrp.formulations.placement.builder import PlacementExpressions, exceeds_capacity
from edrp.formulations.placement.node_loads import Holdings
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.documents import KeyedDeployment, depends_on_number, even_boundaries, range_fits
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.compiled import Compiled

BYTES_PER_COLUMN = 4000
"""Memory that a column and its coefficients take, most of it in the solver."""


@dataclass(frozen=True, slots=True)
class RangeColumns:
    """Columns of one operator.

    Attributes
    ----------
    tasks : number of tasks, 0 without.
    columns, nodes, counts : shape (columns,), index, node, and replicas that the column stands for.
    first, end : shape (columns,), range of tasks; both 0 without tasks.
    share : shape (columns,), share of the load of these replicas together.
    seconds : shape (scenarios, columns), latency of each replica on its node at the load of each scenario.
    layer : shape (columns,), index into `layers`.
    layers : shape (layers, 2), fewest and most replicas of each layer.
    chosen : shape (layers,), columns z.
    """

    tasks: int
    columns: Ints
    nodes: Ints
    counts: Ints
    first: Ints
    end: Ints
    share: Floats
    seconds: Floats
    layer: Ints
    layers: Ints
    chosen: Ints

    def on(self, node: int) -> Ints:
        """Positions of the columns of a node."""
        return np.flatnonzero(self.nodes == node)

    @property
    def support(self) -> Ints:
        """Nodes that have columns."""
        return np.unique(self.nodes)

    @property
    def covered(self) -> tuple[Ints, Ints]:
        """Pairs of a position among the columns and a task that its range holds; task 0 of all without tasks."""
        if not self.tasks:
            return np.arange(self.columns.size), np.zeros(self.columns.size, np.int64)
        lengths = self.end - self.first
        position = np.repeat(np.arange(self.columns.size), lengths)
        return position, self.first[position] + places_within(lengths)

    def node_share(self, node: int) -> Linear:
        """Share of the load that a node gets."""
        here = self.on(node)
        return Linear.of(self.columns[here], self.share[here])

    @property
    def holdings(self) -> Holdings:
        """Replicas by column, for rows of resources."""
        return Holdings(self.columns, self.nodes, self.counts, np.maximum(self.layers[self.layer, 1], 1))


def estimated_ranges(problem: RescaleProblem) -> float:
    """About the number of columns of the program: ranges, or counts per node, times nodes."""
    total = 0.0
    for operator in problem.application.operators:
        nodes = len(operator.candidates or problem.network.nodes)
        layers = operator.most_replicas - operator.min_replicas + 1
        if operator.tasks is None or problem.ranges == "even":
            total += nodes * layers * (operator.min_replicas + operator.most_replicas) / 2
        else:
            layers = layers if depends_on_number(problem, operator) else 1
            total += nodes * layers * operator.tasks.count * (operator.tasks.count + 1) / 2
    return total


def add_operator_columns(program: Program, arrays: KeyedArrays, index: int) -> RangeColumns:
    """x and z of one operator, and the rows by which they make a split: flows along the tasks, or counts that add up.

    Columns of what is unstable, beyond the tolerance or too much for a node alone are not made.

    Raises
    ------
    ProblemTooLargeError
        Before allocating them, where there are too many ranges.
    """
    keyed = arrays.tasks[index].count > 0
    entries, layers = _keyed_entries(arrays, index) if keyed else _plain_entries(arrays, index)
    name = arrays.compiled.operators[index]
    size = len(entries)
    entry_columns = np.array(entries, float).reshape(size, 6 + len(arrays.problem.load_scenarios)).T
    columns = program.add_columns(f"range {name}", size, upper=1.0, integer=True)
    chosen = program.add_columns(f"replicas {name}", len(layers), upper=1.0, integer=True)
    nodes, counts, first, end, layer = (entry_columns[part].astype(np.int64) for part in (0, 1, 2, 3, 5))
    range_columns = RangeColumns(
        tasks=arrays.tasks[index].count,
        columns=columns,
        nodes=nodes,
        counts=counts,
        first=first,
        end=end,
        share=entry_columns[4],
        seconds=entry_columns[6:],
        layer=layer,
        layers=np.array(layers, np.int64).reshape(len(layers), 2),
        chosen=chosen,
    )
    program.add_row(f"one number of {name}", Linear.of(chosen), lower=1.0, upper=1.0)
    (_add_flow_rows if keyed else _add_count_rows)(program, range_columns, name)
    return range_columns


Entry = tuple[float, ...]
"""Node, replicas, first task, end, share and layer of a column, then its seconds in each scenario."""


def _keyed_entries(arrays: KeyedArrays, index: int) -> tuple[list[Entry], list[tuple[int, int]]]:
    problem, operator, compiled = arrays.problem, arrays.operator(index), arrays.compiled
    assert operator.tasks is not None
    count = operator.tasks.count
    numbers = range(operator.min_replicas, operator.most_replicas + 1)
    layers = [(r, r) for r in numbers] if depends_on_number(problem, operator) else [(numbers[0], numbers[-1])]
    nodes = _nodes_with_room(arrays, index, 1)
    max_entries = count * (count + 1) / 2 * max(1, nodes.size) * len(layers) if problem.ranges == "free" else 0
    what = f"the {max_entries:,.0f} columns of all ranges of the {count:,} tasks of '{operator.name}'"
    refuse_beyond_memory(BYTES_PER_COLUMN * max_entries, what, "", ("range-annealing",))
    entries: list[Entry] = []
    for layer, (_, replicas) in enumerate(layers):
        even = list(pairwise(even_boundaries(count, replicas)))
        for first in range(count):
            look("the ranges of the program")
            ends = [b for a, b in even if a == first] if problem.ranges == "even" else range(first + 1, count + 1)
            for end in ends:
                if not range_fits(problem, operator, first, end, replicas):
                    if problem.ranges == "free":
                        break
                    continue
                share = operator.tasks.share(first, end)
                seconds = _seconds(arrays, index, compiled.load[index] * share, replicas)
                fast_enough = _fast_enough(arrays, index, nodes, compiled.load[index] * share, replicas).tolist()
                entries += [
                    (u, 1, first, end, share, layer, *(value / compiled.speedup[u] for value in seconds)) for u in fast_enough
                ]
    return entries, layers


def _plain_entries(arrays: KeyedArrays, index: int) -> tuple[list[Entry], list[tuple[int, int]]]:
    operator, compiled = arrays.operator(index), arrays.compiled
    entries: list[Entry] = []
    layers: list[tuple[int, int]] = []
    for replicas in range(operator.min_replicas, operator.max_replicas + 1):
        rate = compiled.load[index] / replicas
        if not arrays.problem.is_stable(operator, float(rate), replicas):
            continue
        seconds = _seconds(arrays, index, float(rate), replicas)
        for count in range(1, replicas + 1):
            nodes = _fast_enough(arrays, index, _nodes_with_room(arrays, index, count), float(rate), replicas).tolist()
            share, layer = count / replicas, len(layers)
            entries += [(u, count, 0, 0, share, layer, *(value / compiled.speedup[u] for value in seconds)) for u in nodes]
        layers.append((replicas, replicas))
    return entries, layers


def _nodes_with_room(arrays: KeyedArrays, index: int, replicas: int) -> Ints:
    """Candidates that may run `replicas` replicas, were they alone."""
    nodes = arrays.compiled.candidates(index)
    return nodes[~exceeds_capacity(arrays.compiled, index, nodes, np.array(replicas))]


def _fast_enough(arrays: KeyedArrays, index: int, nodes: Ints, rate: float, replicas: int) -> Ints:
    """Nodes on which a replica is stable at a rate, of those on which it would be at a speed-up of 1."""
    speedup, operator = arrays.compiled.speedup[nodes], arrays.operator(index)
    slow = [s for s in set(speedup[speedup < 1].tolist()) if not arrays.problem.is_stable(operator, rate, replicas, s)]
    return nodes[~np.isin(speedup, slow)] if slow else nodes


def _seconds(arrays: KeyedArrays, index: int, rate: float, replicas: int) -> list[float]:
    """Latency on the reference node in each scenario."""
    model = arrays.operator(index).latency
    rates = [rate * scenario.factor for scenario in arrays.problem.load_scenarios]
    if model is None:
        return [0.0] * len(rates)
    seconds = [float(model.at(reached, replicas)) for reached in rates]
    for reached, value in zip(rates, seconds, strict=True):
        if value < 0:
            position = [operator.name for operator in arrays.problem.application.operators].index(arrays.operator(index).name)
            why = f"is negative at {reached:.6g} tuples/s; fit it over that load"
            raise InvalidInstanceError([Fault(f"application.operators[{position}].latency", f"{value:.6g} s", why)])
    return seconds


def _add_flow_rows(program: Program, columns: RangeColumns, name: str) -> None:
    """Ranges of the chosen layer follow one another from the first task to the last; their number is within the layer's."""
    layers, tasks = columns.chosen.size, columns.tasks
    start = columns.layer * (tasks + 1)
    entries: list[tuple[Any, Any, Any]] = [
        (start + columns.first, columns.columns, 1.0),
        (start + columns.end, columns.columns, -1.0),
    ]
    begin = np.arange(layers) * (tasks + 1)
    entries += [(begin, columns.chosen, -1.0), (begin + tasks, columns.chosen, 1.0)]
    program.add_rows(f"ranges {name}", layers * (tasks + 1), entries, lower=0.0, upper=0.0)
    rows = np.arange(layers)
    number = [(columns.layer, columns.columns, 1.0), (rows, columns.chosen, -columns.layers[:, 0])]
    program.add_rows(f"fewest {name}", layers, number, lower=0.0)
    number = [(columns.layer, columns.columns, 1.0), (rows, columns.chosen, -columns.layers[:, 1])]
    program.add_rows(f"most {name}", layers, number, upper=0.0)


def _add_count_rows(program: Program, columns: RangeColumns, name: str) -> None:
    """Replicas on all nodes are as many as were chosen; a node runs one number of them."""
    layers = columns.chosen.size
    rows = np.arange(layers)
    number = [(columns.layer, columns.columns, columns.counts), (rows, columns.chosen, -columns.layers[:, 1])]
    program.add_rows(f"number {name}", layers, number, lower=0.0, upper=0.0)
    nodes, position = np.unique(columns.nodes, return_inverse=True)
    cells = position * layers + columns.layer
    here = [(cells, columns.columns, 1.0), (np.arange(nodes.size * layers), np.tile(columns.chosen, nodes.size), -1.0)]
    program.add_rows(f"one count {name}", nodes.size * layers, here, upper=0.0)


class StreamShares:
    """Columns w[x,v] = x·φ[v] of a stream, x a column of one end, v a node of the other.

    The end with fewer columns is split. Σ_v w = x; with tasks Σ_x w = φ[v] over the columns that hold any given task, of which
    one is chosen; without tasks w ≥ φ[v] + x − 1 for each of the nodes, and φ[v] is the mean over all.
    """

    def __init__(self, program: Program, compiled: Compiled, operators: list[RangeColumns], stream: int) -> None:
        i, j = int(compiled.stream_source[stream]), int(compiled.stream_target[stream])
        self.forward = operators[i].columns.size <= operators[j].columns.size
        self.split, self.other = (operators[i], operators[j]) if self.forward else (operators[j], operators[i])
        self.nodes = self.other.support
        self.name = f"{compiled.operators[i]} → {compiled.operators[j]}"
        size = self.split.columns.size
        self.columns = program.add_columns(f"traffic {self.name}", (size, self.nodes.size), upper=1.0)
        rows = np.arange(size)
        sum_terms = [(rows[:, None], self.columns, 1.0), (rows, self.split.columns, -1.0)]
        program.add_rows(f"traffic of range {self.name}", size, sum_terms, lower=0.0, upper=0.0)
        (self._tie_tasks if self.split.tasks else self._tie_counts)(program)

    def _tie_tasks(self, program: Program) -> None:
        position, task = self.split.covered
        width = self.nodes.size
        across = np.arange(width)
        cells = task[:, None] * width + across
        entries: list[tuple[Any, Any, Any]] = [(cells, self.columns[position], 1.0)]
        index_of = np.searchsorted(self.nodes, self.other.nodes)
        every = np.arange(self.split.tasks)[:, None] * width + index_of
        entries.append((every, self.other.columns, -self.other.share))
        program.add_rows(f"traffic to {self.name}", self.split.tasks * width, entries, lower=0.0, upper=0.0)

    def _tie_counts(self, program: Program) -> None:
        width, position = self.nodes.size, np.searchsorted(self.nodes, self.other.nodes)
        mean = [(np.arange(width), self.columns, self.split.share[:, None]), (position, self.other.columns, -self.other.share)]
        program.add_rows(f"traffic to {self.name}", width, mean, lower=0.0, upper=0.0)
        size = self.split.columns.size
        cells = np.arange(size)[:, None] * width + np.arange(width)
        entries: list[tuple[Any, Any, Any]] = [(cells, self.columns, 1.0), (cells, self.split.columns[:, None], -1.0)]
        every = np.arange(size)[:, None] * width + position
        entries.append((every, self.other.columns, -self.other.share))
        program.add_rows(f"traffic at least {self.name}", size * width, entries, lower=-1.0)

    def total(self, weights: Floats) -> Linear:
        """Σ_{u,v} weights[u,v]·φ[i,u]·φ[j,v], u a node of the source."""
        table = weights if self.forward else weights.T
        return Linear.of(self.columns, table[np.ix_(self.split.nodes, self.nodes)] * self.split.share[:, None])

    def together(self, node: int) -> Linear:
        """φ[i,u]·φ[j,u] on one node u."""
        across = np.flatnonzero(self.nodes == node)
        on_node = self.split.on(node)
        return Linear.of(self.columns[np.ix_(on_node, across)], self.split.share[on_node][:, None])


class RangeQuantities(PlacementExpressions):
    """Expressions over the columns x of all operators; whatever else a metric needs is made when it is first asked for."""

    exclusive = False

    def __init__(self, arrays: KeyedArrays) -> None:
        self.arrays, self.compiled, self.program = arrays, arrays.compiled, Program()
        self.operators: list[RangeColumns] = [
            add_operator_columns(self.program, arrays, index) for index in range(len(arrays.compiled.operators))
        ]
        self._presence: dict[int, Ints] = {}
        self._traffic: dict[int, StreamShares] = {}

    def holdings(self, operator: int) -> Holdings:
        """Replicas by column."""
        return self.operators[operator].holdings

    def start(self, counts: Ints) -> Floats | None:
        """A start needs ranges, not counts: see `point`."""
        return None

    def point(self, deployment: KeyedDeployment) -> Floats | None:
        """x and z of a deployment, everything else left to the solver; None where the program cannot express it."""
        replicas = self.arrays.replicas(deployment)
        values = np.full(self.program.columns, np.nan)
        for index, operator_columns in enumerate(self.operators):
            chosen = None if replicas is None else self._held_columns(index, replicas[index])
            if chosen is None:
                return None
            columns, layer = chosen
            values[operator_columns.columns], values[operator_columns.chosen] = 0.0, 0.0
            values[columns], values[operator_columns.chosen[layer]] = 1.0, 1.0
        return values

    def decode(self, values: Floats) -> KeyedDeployment:
        """The deployment that a point stands for."""
        replicas = []
        for columns in self.operators:
            on = np.flatnonzero(values[columns.columns] > 0.5)
            listed = [
                (int(columns.nodes[k]), int(columns.first[k]), int(columns.end[k]))
                for k in on
                for _ in range(int(columns.counts[k]))
            ]
            replicas.append(sorted(listed, key=lambda replica: replica[1]))
        return self.arrays.deployment(replicas)

    def _held_columns(self, index: int, replicas: list[tuple[int, int, int]]) -> tuple[Ints, int] | None:
        """Columns of x that some replicas of an operator are, and their layer."""
        columns, number = self.operators[index], len(replicas)
        layers = np.flatnonzero((columns.layers[:, 0] <= number) & (number <= columns.layers[:, 1]))
        if not layers.size:
            return None
        layer = int(layers[0])
        column_of = {
            (u, a, b, c): column
            for u, a, b, c, count, column in zip(
                columns.nodes.tolist(),
                columns.first.tolist(),
                columns.end.tolist(),
                columns.counts.tolist(),
                columns.layer,
                columns.columns,
                strict=True,
            )
            if count == layer
        }
        if columns.tasks:
            keys = [(u, a, b, 1) for u, a, b in replicas]
        else:
            nodes, counts = np.unique([u for u, _, _ in replicas], return_counts=True)
            keys = [(int(u), 0, 0, int(c)) for u, c in zip(nodes, counts, strict=True)]
        if any(key not in column_of for key in keys):
            return None
        return np.array([column_of[key] for key in keys], np.int64), layer

    def current_columns(self, index: int) -> Ints | None:
        """Columns that are all 1 where an operator stays as it is; None where it cannot."""
        current = self.arrays.problem.current
        assert current is not None
        replicas = self.arrays.replicas(current)
        chosen = None if replicas is None else self._held_columns(index, replicas[index])
        return None if chosen is None else chosen[0]

    def presence(self, index: int) -> Ints:
        """Columns by node, shape (nodes,), at least 1 where the operator runs; -1 where it cannot."""
        if index not in self._presence:
            operator_columns, program, name = self.operators[index], self.program, self.compiled.operators[index]
            nodes = operator_columns.support
            added = program.add_columns(f"present {name}", nodes.size, upper=1.0)
            position, task = operator_columns.covered
            width = max(1, operator_columns.tasks)
            cells = np.searchsorted(nodes, operator_columns.nodes[position]) * width + task
            entries = [
                (np.arange(nodes.size * width), np.repeat(added, width), 1.0),
                (cells, operator_columns.columns[position], -1.0),
            ]
            program.add_rows(f"present {name}", nodes.size * width, entries, lower=0.0)
            columns = np.full(len(self.compiled.nodes), -1, np.int64)
            columns[nodes] = added
            self._presence[index] = columns
        return self._presence[index]

    def more_replicas(self, index: int, node: int, before: int, most: int) -> int:
        """A column that is 1 where an operator has more replicas on a node than before."""
        columns, program = self.operators[index], self.program
        name = f"more {self.compiled.operators[index]} on {self.compiled.nodes[node]}"
        if name not in program.column_blocks:
            column = program.add_columns(name, upper=1.0, integer=True)
            on_node = columns.columns[columns.on(node)]
            program.add_row(name, Linear.of(column, float(most - before)) - Linear.of(on_node), lower=-float(before))
        return int(program[name])

    def leaving(self, index: int, node: int, most: float = np.inf) -> Linear:
        """Bytes of an operator that leave a node, where each task has at most `most` bytes."""
        columns, tasks = self.operators[index], self.arrays.tasks[index]
        on_node = columns.on(node)
        if columns.tasks:
            state_left = _with_at_most(tasks.held_before[:, node], most)
            return Linear.of(
                columns.columns[on_node], state_left[columns.first[on_node]] - state_left[columns.end[on_node]]
            ) + float(state_left[-1])
        had, state = self._even_share(index, node), float(self.compiled.state_size[index])
        return Linear.of(columns.columns[on_node], state * (np.maximum(had - columns.share[on_node], 0.0) - had)) + state * had

    def arriving(self, index: int, node: int, most: float = np.inf) -> Linear:
        """Bytes of an operator that reach a node, where each task has at most `most` bytes."""
        columns, tasks = self.operators[index], self.arrays.tasks[index]
        on_node = columns.on(node)
        if columns.tasks:
            missing = _with_at_most(tasks.missing_before[:, node], most)
            return Linear.of(columns.columns[on_node], missing[columns.end[on_node]] - missing[columns.first[on_node]])
        had, state = self._even_share(index, node), float(self.compiled.state_size[index])
        return Linear.of(columns.columns[on_node], state * np.maximum(columns.share[on_node] - had, 0.0))

    def _even_share(self, index: int, node: int) -> float:
        current = self.compiled.current
        return 0.0 if current is None else float(current[index, node] / current[index].sum())

    def uploaded(self, index: int, node: int) -> tuple[Linear, float]:
        """Bytes that a node brings to the store (EDRP, eq. 31, without tasks), and the most that it may be."""
        columns = self.operators[index]
        if columns.tasks:
            return self.leaving(index, node), float(self.arrays.tasks[index].held_before[-1, node])
        current, state = self.compiled.current, float(self.compiled.state_size[index])
        assert current is not None
        before, old = int(current[index, node]), int(current[index].sum())

        def size(left: Ints, new: Ints) -> Floats:
            share = np.maximum(before - left, 0) / old + before * np.maximum(new - old, 0) / (old * new)
            return np.asarray(state * share)

        totals, on_node = columns.layers[:, 1], columns.on(node)
        none = size(np.zeros_like(totals), totals)
        some = size(columns.counts[on_node], totals[columns.layer[on_node]])
        amount = Linear.of(columns.chosen, none) + Linear.of(columns.columns[on_node], some - none[columns.layer[on_node]])
        return amount, float(max(none.max(initial=0.0), some.max(initial=0.0)))

    def downloaded(self, index: int, node: int) -> Linear:
        """Bytes that a node fetches from the store (EDRP, eq. 32, without tasks)."""
        columns = self.operators[index]
        if columns.tasks:
            return self.arriving(index, node)
        current, state, on_node = self.compiled.current, float(self.compiled.state_size[index]), columns.on(node)
        assert current is not None
        before, old = int(current[index, node]), int(current[index].sum())
        after, new = columns.counts[on_node], columns.layers[columns.layer[on_node], 1]
        share = np.maximum(after - before, 0) / new + np.minimum(before, after) * np.maximum(old - new, 0) / (old * new)
        return Linear.of(columns.columns[on_node], state * share)

    def replica_sum(self, weights: Floats) -> Linear:
        """Σ_i weights[i] × replicas of i."""
        return Linear.total(
            Linear.of(columns.columns, weight * columns.counts)
            for columns, weight in zip(self.operators, weights, strict=True)
            if weight
        )

    def traffic(self, stream: int) -> StreamShares:
        """Products of the shares of both ends of a stream."""
        if stream not in self._traffic:
            self._traffic[stream] = StreamShares(self.program, self.compiled, self.operators, stream)
        return self._traffic[stream]

    def stream_pair_sum(self, weights: Floats) -> Linear:
        """Σ_e Σ_{u,v} weights[e,u,v]·φ[i,u]·φ[j,v]."""
        return Linear.total(self.traffic(e).total(weights[e]) for e in range(len(weights)) if weights[e].any())

    def node_in_use(self) -> Ints:
        """Refuse: no metric of rescalings counts a node once for all operators."""
        raise UnsupportedProblemError("the program of rescalings does not say which nodes are in use, only who runs on them")

    def link_in_use(self) -> Ints:
        """Refuse: no metric of rescalings counts a link once for all streams."""
        raise UnsupportedProblemError("the program of rescalings does not say which links are in use, only what flows on them")

    def moved_state(self) -> Linear:
        """Σ over operators and nodes of the bytes that arrive."""
        if self.compiled.current is None:
            return Linear.zero()
        return Linear.total(
            self.arriving(index, u) for index, columns in enumerate(self.operators) for u in columns.support.tolist()
        )


def _with_at_most(before: Floats, most: float) -> Floats:
    """Sums over the tasks before each boundary, where each task counts at most `most`."""
    sizes = np.diff(before)
    return before if (sizes <= most).all() else np.concatenate([[0.0], np.minimum(sizes, most).cumsum()])
