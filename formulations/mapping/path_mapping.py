"""Path mapping as a program, exact for additive cost in every reading: "walks" (bi-modal networks, section 3.1).

Each hop is a unit of flow from the server of one component to that of the next. Columns say which links it takes, not in
which order: its empty hops are the links less one. A walk that takes a link twice in one hop is never needed, so that all
columns are binary; loops apart from a walk change nothing and are left out when it is read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import refuse_beyond_memory
from edrp.core.errors import UnsupportedProblemError
from edrp.core.methods import alternative
from edrp.core.program import Linear, Program
from edrp.core.tolerances import MAP_LAYER_SLACK
from edrp.formulations.formulation import Formulation
from edrp.formulations.mapping.layered_graph import MapLayers, build_layers, cost_and_use, map_to_moves, refusal
from edrp.mapping.mapping_arrays import MappingArrays, path_map
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays
from edrp.mapping.path_tasks import PathMap

BYTES_PER_COLUMN = 3000
"""Memory of a column with its entries, most of it in the solver."""

DIGITS = 15
"""Digits to which shares are rounded: a share near 1 must be 1, or presolve of solvers goes wrong at their tolerance."""


@dataclass(frozen=True, slots=True)
class MappingFormulation(Formulation):
    """A mapping problem formulated as a program.

    Examples
    --------
    A row of one's own: the first hop takes two links at least.

    >>> problem = MappingProblem(
    ...     network={
    ...         "nodes": [{"name": "a", "capacity": 0}, {"name": "b", "capacity": 3}, {"name": "c", "capacity": 3}],
    ...         "links": [{"source": "a", "target": "b", "bandwidth": 10, "cost": 1},
    ...                   {"source": "b", "target": "c", "bandwidth": 10, "cost": 5}],
    ...     },
    ...     task={"source": "a", "delivery": "b", "bandwidths": [4, 2], "components": [{"name": "decode", "capacity": 3}]},
    ... )
    >>> formulation = formulate_mapping(problem)
    >>> formulation.program.add_row("far", Linear.of(formulation.program["arc"][0]), lower=2)
    >>> from edrp.formulations.methods import solve_formulation
    >>> solution = solve_formulation(formulation)
    >>> solution.objective, solution.routes
    (11.0, (('a', 'b', 'c'), ('c', 'b')))
    """

    tables: MappingArrays
    layers: MapLayers

    @property
    def limits(self) -> Mapping[str, str]:
        """Capacities of servers and links, and limits on the hops."""
        return {
            "capacity": "capacity of the servers",
            "bandwidth": "bandwidth of the links",
            "uplink": "uplinks of the servers",
            "downlink": "downlinks of the servers",
            "links": "max_empty_hops",
            "total": "max_empty_hops",
            "rules": "rules",
        }

    def decode(self, values: Floats) -> PathMap:
        """Read the map; of each hop the walk with the fewest links among those that it takes."""
        program, graph = self.program, self.layers.graph
        nodes = values[program["place"]].argmax(axis=1).tolist()
        routes, public = [], []
        for hop, (start, end) in enumerate(pairwise((graph.source, *nodes, graph.delivery))):
            dialled = "out" in program.column_blocks and start != end and values[program["out"][hop]].sum() > 0.5
            public.append(bool(dialled))
            taken = np.flatnonzero(values[program["arc"][hop]] > 0.5)
            routes.append([start, end] if dialled else _shortest(self.tables, taken, start, end))
        return path_map(self.tables.network, nodes, routes, public)

    def encode(self, decision: PathMap) -> Floats | None:
        """Return a starting point; None where a hop takes a link twice."""
        program, arcs = self.program, self.layers.arcs
        index = {name: position for position, name in enumerate(self.tables.network.names)}
        start = np.zeros(program.columns)
        start[program["place"][np.arange(len(decision.nodes)), [index[name] for name in decision.nodes]]] = 1.0
        hop = 0
        for move in map_to_moves(self.tables, decision):
            if move < 0:
                hop += 1
            elif move < arcs:
                start[program["arc"][hop, move]] += 1.0
            else:
                start[program["out"][hop, index[decision.routes[hop][0]]]] = 1.0
                start[program["into"][hop, move - arcs]] = 1.0
        if "empty" in program.column_blocks:
            start[program["empty"]] = [
                0 if decision.is_public(hop) else max(0, len(route) - 2) for hop, route in enumerate(decision.routes)
            ]
        return None if (start[program["arc"]] > 1).any() else start

    def objective_at(self, values: Floats, decision: PathMap) -> float:
        """Return the cost of the map, without separate loops."""
        return cost_and_use(self.layers, map_to_moves(self.tables, decision))[0]


def formulate_mapping(problem: MappingProblem, program: str = "walks") -> MappingFormulation:
    """Formulate a mapping problem (bi-modal networks, section 3.1) as the program "walks".

    Raises
    ------
    UnsupportedProblemError
        For a cost that is no sum over links.
    ProblemTooLargeError
        When it would not fit in memory.
    """
    started = perf_counter()
    why = refusal(problem)
    if why is not None:
        raise UnsupportedProblemError(why, alternative(problem, "highs"))
    tables = mapping_arrays(problem)
    hops, servers, arcs = tables.task.bandwidths.size, len(tables.network.names), tables.network.target.size
    needed = BYTES_PER_COLUMN * float(hops * (arcs + servers))
    refuse_beyond_memory(needed, f"{hops} hops on {arcs} arcs", "", ("label-setting",))
    layers, built = build_layers(tables), Program()
    _add_columns(built, tables, layers)
    rows = np.arange(len(built["place"]))[:, None]
    built.add_rows("place", rows.size, [(rows, built["place"], 1.0)], lower=1.0, upper=1.0)  # a component is on one server
    _add_flow_rows(built, tables)
    _add_public_rows(built)
    _add_empty_rows(built, layers)
    _add_capacity_rows(built, layers)
    _add_rule_rows(built, problem)
    objective = _cost(built, layers)
    built.minimise(objective)
    return MappingFormulation(problem, program, built, objective, perf_counter() - started, tables, layers)


def _shortest(tables: MappingArrays, taken: Ints, start: int, end: int) -> list[int]:
    """Return a walk with the fewest of the arcs taken."""
    onward: dict[int, list[int]] = {}
    for arc in taken.tolist():
        onward.setdefault(int(tables.network.source[arc]), []).append(int(tables.network.target[arc]))
    before, queue = {start: start}, deque([start])
    while queue and end not in before:
        here = queue.popleft()
        for there in onward.get(here, ()):
            if there not in before:
                before[there] = here
                queue.append(there)
    route = [end]
    while route[-1] != start:
        route.append(before[route[-1]])
    return route[::-1]


def _add_columns(program: Program, tables: MappingArrays, layers: MapLayers) -> None:
    """Columns `place` (m, n), `arc` (m + 1, a); `out`, `into` (m + 1, n) of public hops; `empty` (m + 1,) for a total limit."""
    prices = layers.prices
    program.add_columns("place", prices.host.shape, upper=np.isfinite(prices.host), integer=True)
    program.add_columns("arc", prices.arc.shape, upper=np.isfinite(prices.arc), integer=True)
    if tables.public:
        program.add_columns("out", prices.up.shape, upper=_ends(np.isfinite(prices.up), 0, tables.task.source), integer=True)
        program.add_columns(
            "into", prices.down.shape, upper=_ends(np.isfinite(prices.down), -1, tables.task.delivery), integer=True
        )
    if tables.total_hops:
        program.add_columns("empty", tables.task.bandwidths.size, upper=float(layers.graph.empty), integer=True)


def _ends(usable: Bools, hop: int, server: int) -> Bools:
    """Restrict the servers at which one public hop can begin or end."""
    only = np.arange(usable.shape[1]) == server
    usable[hop] &= only
    return usable


def _add_flow_rows(program: Program, tables: MappingArrays) -> None:
    """Rows `flow` (m + 1, n): what leaves a server less what enters is 1 where the hop begins, -1 where it ends."""
    place_columns, arc, network = program["place"], program["arc"], tables.network
    hops, servers = arc.shape[0], place_columns.shape[1]
    row = np.arange(hops * servers).reshape(hops, servers)
    entries = [
        (row[:, network.source], arc, 1.0),
        (row[:, network.target], arc, -1.0),
        (row[1:], place_columns, -1.0),
        (row[:-1], place_columns, 1.0),
    ]
    if tables.public:
        entries += [(row, program["out"], 1.0), (row, program["into"], -1.0)]
    balance = np.zeros((hops, servers))
    balance[0, tables.task.source] += 1.0
    balance[-1, tables.task.delivery] -= 1.0
    program.add_rows("flow", row.size, entries, lower=balance.ravel(), upper=balance.ravel())


def _add_public_rows(program: Program) -> None:
    """Rows `begins`, `ends` (m, n): a public hop leads from the server of a component, and to that of the next."""
    if "out" not in program.column_blocks:
        return
    place_columns = program["place"]
    row = np.arange(place_columns.size).reshape(place_columns.shape)
    program.add_rows("begins", place_columns.size, [(row, program["out"][1:], 1.0), (row, place_columns, -1.0)], upper=0.0)
    program.add_rows("ends", place_columns.size, [(row, program["into"][:-1], 1.0), (row, place_columns, -1.0)], upper=0.0)


def _add_empty_rows(program: Program, layers: MapLayers) -> None:
    """Rows `links` (m + 1,): at most one link more than empty hops; row `total`: their sum, where that is limited."""
    arc, empty = program["arc"], layers.graph.empty
    row = np.arange(len(arc))
    entries = [(row[:, None], arc, 1.0)]
    if "empty" not in program.column_blocks:
        program.add_rows("links", len(arc), entries, upper=empty + 1.0)
        return
    program.add_rows("links", len(arc), [*entries, (row, program["empty"], -1.0)], upper=1.0)
    program.add_row("total", Linear.of(program["empty"]), upper=float(empty))


def _add_capacity_rows(program: Program, layers: MapLayers) -> None:
    """Rows `capacity` (n,), `bandwidth` (a,), `uplink`, `downlink` (n,): the shares taken add up to no more than all.

    Without `bandwidth` and the following where uses of a link do not add up.
    """
    shares, prices = layers.shares, layers.prices
    for name, block, share, price in (
        ("capacity", "place", shares.host, prices.host),
        ("bandwidth", "arc", shares.arc, prices.arc),
        ("uplink", "out", shares.up, prices.up),
        ("downlink", "into", shares.down, prices.down),
    ):
        if block in program.column_blocks and share.any():
            columns = program[block].T
            exact = np.where(np.isfinite(price), np.minimum(np.round(share * (1 + MAP_LAYER_SLACK), DIGITS), 1.0), 0.0)
            program.add_rows(name, len(columns), [(np.arange(len(columns))[:, None], columns, exact.T)], upper=1.0)


def _add_rule_rows(program: Program, problem: MappingProblem) -> None:
    """Rows `rules`, for each server: at most one of components apart; of components together as many of one as of the next."""
    numbers = {component.name: number for number, component in enumerate(problem.task.components)}
    parts: list[tuple[list[int], list[float], float, float]] = []
    for rule in problem.rules:
        group = [numbers[name] for name in rule.components]
        if rule.rule == "apart":
            parts.append((group, [1.0] * len(group), -np.inf, 1.0))
        else:
            parts += [(list(pair), [1.0, -1.0], 0.0, 0.0) for pair in pairwise(group)]
    on_server = program["place"].T
    row = np.arange(len(on_server))[:, None]
    entries = [(row + rank * row.size, on_server[:, group], signs) for rank, (group, signs, _, _) in enumerate(parts)]
    if entries:
        lower, upper = (np.repeat([part[side] for part in parts], row.size) for side in (2, 3))
        program.add_rows("rules", len(parts) * row.size, entries, lower=lower, upper=upper)


def _cost(program: Program, layers: MapLayers) -> Linear:
    """Return the cost of all links and public hops."""
    arc = layers.prices.arc
    cost = Linear.of(program["arc"], np.where(np.isfinite(arc), arc, 0.0))
    if "out" in program.column_blocks:
        up = layers.prices.up
        cost += Linear.of(program["out"], np.where(np.isfinite(up), up, 0.0))
    return cost
