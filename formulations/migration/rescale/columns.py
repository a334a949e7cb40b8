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
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.program import Linear, Program
from edrp.formulations.placement.builder import exceeds_capacity
from edrp.formulations.placement.node_loads import Holdings
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.deployment import depends_on_number, even_boundaries, range_fits
from edrp.migration.rescale.problem import RescaleProblem

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
                entries += [
                    (u, 1, first, end, share, layer, *(value / compiled.speedup[u] for value in seconds)) for u in nodes.tolist()
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
            nodes = _nodes_with_room(arrays, index, count).tolist()
            share, layer = count / replicas, len(layers)
            entries += [(u, count, 0, 0, share, layer, *(value / compiled.speedup[u] for value in seconds)) for u in nodes]
        layers.append((replicas, replicas))
    return entries, layers


def _nodes_with_room(arrays: KeyedArrays, index: int, replicas: int) -> Ints:
    """Candidates that may run so many replicas, were they alone."""
    nodes = arrays.compiled.candidates(index)
    return nodes[~exceeds_capacity(arrays.compiled, index, nodes, np.array(replicas))]


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
