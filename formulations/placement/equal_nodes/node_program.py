"""Bounds of branches with few remaining choices, from programs over nodes for one range of downtimes after the other.

Bounds over classes know whether every block finds room on some node, and not whether all blocks find it together. A program
over nodes does. For a longest downtime, every operator keeps to one box of replicas on the nodes, in which it may move in that
time. Downtimes between two numbers cost at least the lower one, and leave no more freedom than the higher one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

import numpy as np

from edrp.backends import solve_program
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import now, passed, units_left
from edrp.core.program import Linear, Program
from edrp.core.tolerances import DOWNTIME_SLACK
from edrp.formulations.placement.equal_nodes.boxes import Boxes, add_boxes, boxes_of_row
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.moves import Box
from edrp.placement.compiled import NO_NODE

UNITS = 1e4
"""The cutoff in the units of a program: solvers err by millionths."""

Place = Callable[[Ints], tuple[float, float]]
"""Tries replicas per operator of the problem and node; objective and downtime, infinite where they are not feasible."""


@dataclass(frozen=True)
class Range:
    """Range of downtimes.

    Attributes
    ----------
    least, longest : seconds.
    rest : the objective without downtime is at least this.
    found : downtime of a placement with that objective, infinite if none is known.
    """

    least: float
    longest: float
    rest: float
    found: float


class NodeProgram:
    """The programs of one branch, in which classes are decided.

    Parameters
    ----------
    quotient
        With times of moves, without traffic.
    alive
        Rows of the choices that are left.
    units
        Units of work for all programs together.
    """

    def __init__(self, quotient: Quotient, alive: Bools, units: float) -> None:
        self.quotient, self.end = quotient, now() + units
        self.own = [np.flatnonzero(alive & (quotient.choices.operator == j)) for j in range(quotient.operators)]

    def bound(self, cutoff: Callable[[], float], place: Place) -> float:
        """A bound on every placement of the branch; those that are found are placed, which may lower the cutoff."""
        quotient, price = self.quotient, self.quotient.model.downtime
        least = max(quotient.least_downtime, *(float(quotient.choices.downtime[own].min()) for own in self.own))
        longest = min(quotient.longest_downtime, cutoff() / price if price else np.inf)
        number, queue = count(), list[tuple[float, int, Range]]()
        parts = [self._solved(least, longest, cutoff(), place)]
        while True:
            for part in parts:
                if part is not None:
                    heappush(queue, (part.rest + price * part.least, next(number), part))
            if not queue:
                return np.inf
            value, _, part = queue[0]
            if value >= cutoff() or passed(self.end) or not np.isfinite(part.found):
                return value
            heappop(queue)
            # The placement is the best of all that take as long as it or longer.
            sooner = part.found - 1.5 * DOWNTIME_SLACK
            parts = [self._solved(part.least, sooner, cutoff(), place)] if part.least < sooner else []
            parts.append(Range(max(part.least, part.found), part.longest, part.rest, np.inf))

    def _solved(self, least: float, longest: float, cutoff: float, place: Place) -> Range | None:
        """The range with the answer of its program; None where nothing in it is below the cutoff."""
        cutoff_left, boxes = cutoff - self.quotient.model.downtime * least, self._boxes(longest)
        if cutoff_left <= 0 or boxes is None:
            return None
        program = self._program(*boxes, UNITS / cutoff_left)
        result = solve_program(program, work_limit=max(0.0, min(self.end - now(), units_left())))
        if result.status == "infeasible":
            return None
        downtime = np.inf
        if result.values is not None:
            counts = np.zeros(self.quotient.model.compiled.candidate.shape, np.int64)
            counts[self.quotient.model.order] = np.rint(result.values[program["replicas"]])
            _, downtime = place(counts)
        return Range(least, longest, max(0.0, result.bound or 0.0) * cutoff_left / UNITS, downtime)

    def _boxes(self, longest: float) -> tuple[Boxes, Ints] | None:
        """Boxes in which operators may move in the time that there is, and a row of each; None where an operator has no box."""
        choices, listed = self.quotient.choices, list[tuple[int, int, Floats, Floats]]()
        for j, own in enumerate(self.own):
            inside = own[choices.downtime[own] <= longest + DOWNTIME_SLACK]
            kinds = np.array([choices.classes[inside], choices.single[inside], choices.replicas[inside]])
            _, first, group = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
            boxes = [
                (j, int(inside[row]), *box)
                for number, row in enumerate(first)
                for box in self._row_boxes(j, inside[group.ravel() == number], longest)
            ]
            if not boxes:
                return None
            listed += boxes
        operator, rows, fewest, most = (np.array(part) for part in zip(*listed, strict=True))
        return Boxes(operator, choices.replicas[rows], fewest, most), rows

    def _row_boxes(self, j: int, rows: Ints, longest: float) -> list[Box]:
        """The boxes of rows that differ in nothing but `anchor` and `downtime`."""
        choices, moves, owner = self.quotient.choices, self.quotient.moves, self.quotient.owner
        if not choices.single[rows[0]]:
            return boxes_of_row(self.quotient, j, int(rows[0]), longest)
        assert moves is not None
        replicas = int(choices.replicas[rows[0]])
        nodes = [int(anchor) for anchor in choices.anchor[rows] if anchor != NO_NODE]
        if NO_NODE in choices.anchor[rows]:
            inside = (choices.classes[rows[0]] >> owner & 1) == 1
            nodes += [int(node) for node in np.flatnonzero(inside & (moves.times(j, replicas).before == 0))]
        return [(all_there, all_there) for all_there in replicas * np.eye(owner.size)[nodes]]

    def _program(self, boxes: Boxes, rows: Ints, scale: float) -> Program:
        """The least objective without downtime, times the scale."""
        quotient, program = self.quotient, Program()
        loads = np.array([quotient.choices.unit[own].min(axis=0) for own in self.own])
        add_boxes(program, quotient, boxes, loads)
        money = Linear.of(program["box"], quotient.choices.cost[rows])
        if np.isfinite(quotient.max_cost):
            program.add_row("cost", money, upper=quotient.max_cost)
        objective = (scale * quotient.model.cost) * money + self._response(program, boxes, rows, scale)
        program.add_row("cutoff", objective, upper=UNITS)
        program.minimise(objective)
        return program

    def _response(self, program: Program, boxes: Boxes, rows: Ints, scale: float) -> Linear:
        """The response time in the objective; operators finish one after the other, without delay where they share a node."""
        quotient, model, chosen = self.quotient, self.quotient.model, program["box"]
        weight = quotient.response_weight
        if not (weight or np.isfinite(quotient.max_response)):
            return Linear.zero()
        unit = 1 / (scale * weight) if weight else quotient.max_response / UNITS
        latency = quotient.choices.latency[rows] / unit
        sets = [np.unique(quotient.choices.classes[own]) for own in self.own]
        ends = zip(model.source, model.target, strict=True)
        delay = np.array([quotient.delay[np.ix_(sets[i], sets[j])].min() / unit for i, j in ends])
        local = np.flatnonzero(delay > 0)
        wholly = program.add_columns("local", (local.size, quotient.owner.size), upper=1)
        place = np.arange(wholly.size).reshape(wholly.shape)
        single = np.flatnonzero(quotient.choices.single[rows] == 1)
        there = boxes.most[single].argmax(axis=1)
        for name, of in (("sender", model.source[local]), ("receiver", model.target[local])):
            stream, box = np.nonzero(of[:, None] == boxes.owner[single])
            entries = [(place[stream, there[box]], chosen[single[box]], 1.0), (place, wholly, -1.0)]
            program.add_rows(name, wholly.size, entries, lower=0.0)
        limit = quotient.max_response / unit
        finish = program.add_columns("finish", quotient.operators, upper=limit)
        response = program.add_columns("response", upper=limit)
        operator, stream = np.arange(finish.size), np.arange(delay.size)
        program.add_rows("begin", finish.size, [(operator, finish, 1.0), (boxes.owner, chosen, -latency)], lower=0.0)
        on, box = np.nonzero(model.target[:, None] == boxes.owner)
        after = [(stream, finish[model.target], 1.0), (stream, finish[model.source], -1.0), (on, chosen[box], -latency[box])]
        after.append((local[:, None], wholly, delay[local][:, None]))
        program.add_rows("after", stream.size, after, lower=delay)
        program.add_rows("end", finish.size, [(operator, response, 1.0), (operator, finish, -1.0)], lower=0.0)
        return Linear.of(response, 1.0 if weight else 0.0)
