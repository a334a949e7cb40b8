"""From a placement over classes to one on nodes by a small program: within the downtime that was promised, or hard to pack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import seconds_left
from edrp.formulations.placement.equal_nodes.downtimes import most_on_node
from edrp.formulations.placement.equal_nodes.labels import Pattern
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.moves import MoveTimes, move_times
from edrp.formulations.placement.equal_nodes.packing import Item, find_blocks
from edrp.placement.compiled import NO_NODE

SECONDS = 0.5
"""For one program."""

Box = tuple[Floats, Floats]
"""Fewest and most of something on each node."""


def promised_downtime(quotient: Quotient, pattern: Pattern) -> float:
    """The least downtime that a placement over classes could have."""
    return max(float(quotient.choices.downtime[pattern.rows].max()), quotient.least_downtime)


def realise_moves(quotient: Quotient, pattern: Pattern, longest: float | None = None) -> Ints | None:
    """Replicas per operator of the compiled problem and node, by a small program; None where there are none.

    No operator takes longer than `longest` seconds, by default what the placement promises. Columns are the replicas of each
    operator that is in no block on each node, whether a block is on a node, and for each of these which box they keep to: with
    the replicas that have to stay and those that may come, no operator takes too long.
    """
    blocks, free = _parts(quotient, pattern)
    longest = promised_downtime(quotient, pattern) if longest is None else longest
    return _placed(quotient, pattern, blocks, free, [_boxes(quotient, j, int(pattern.rows[j]), longest) for j in free])


def realise_apart(quotient: Quotient, pattern: Pattern) -> Ints | None:
    """Replicas as in `realise_moves`, in as many and as soon as a placement over classes promises, not all together as it does.

    Where the blocks find no room next to what has to stay, the program gives up as few of the streams within one node as it can.
    """
    longest = promised_downtime(quotient, pattern)
    operators = range(quotient.operators)
    boxes = [_boxes(quotient, j, int(pattern.rows[j]), longest) for j in operators]
    model = quotient.model
    local = [
        (int(model.source[stream]), j)
        for j in operators
        for number, stream in enumerate(model.incoming[j])
        if pattern.local[j] >> number & 1
    ]
    return _placed(quotient, pattern, [], list(operators), boxes, local)


def _parts(quotient: Quotient, pattern: Pattern) -> tuple[list[Item], list[int]]:
    """The blocks, and the operators that are in none."""
    blocks = find_blocks(quotient, pattern)
    inside = {j for block in blocks for j, _ in block.contents}
    return blocks, [j for j in range(quotient.operators) if j not in inside]


def _placed(
    quotient: Quotient,
    pattern: Pattern,
    blocks: list[Item],
    free: list[int],
    boxes: list[list[Box]],
    local: Sequence[tuple[int, int]] = (),
) -> Ints | None:
    """Solve the program and count the replicas; `boxes` are those of operators that are in no block, `local` as in `_solved`."""
    choices, model = quotient.choices, quotient.model
    boxes = [*boxes, *([_block_box(quotient, pattern, block)] for block in blocks)]
    if not all(boxes):
        return None
    totals = np.array([*(choices.replicas[pattern.rows[free]]), *([1] * len(blocks))])
    loads = np.array([*(choices.unit[pattern.rows[j]] for j in free), *(block.load for block in blocks)]).reshape(len(boxes), -1)
    solution = _solved(quotient, boxes, totals, loads, local)
    if solution is None:
        return None
    counts = np.zeros(model.compiled.candidate.shape, np.int64)
    for j, row in zip(free, solution, strict=False):
        counts[model.order[j]] += row
    for block, row in zip(blocks, solution[len(free) :], strict=True):
        for j, replicas in block.contents:
            counts[model.order[j]] += replicas * row
    return counts


def realise_by_program(quotient: Quotient, pattern: Pattern) -> Ints | None:
    """The same where nothing runs yet: for items of unequal size, which may be hard to pack."""
    if not len(np.unique(quotient.choices.unit[pattern.rows], axis=0)) > 1:
        return None
    blocks, free = _parts(quotient, pattern)
    owner, choices = quotient.owner, quotient.choices
    boxes = []
    for j in free:
        inside = (choices.classes[pattern.rows[j]] >> owner & 1) == 1
        boxes.append([(np.zeros(owner.size), np.where(inside, most_on_node(quotient, j)[owner], 0).astype(float))])
    return _placed(quotient, pattern, blocks, free, boxes)


def _boxes(quotient: Quotient, j: int, row: int, longest: float) -> list[Box]:
    """Boxes of replicas of an operator on each node, in each of which it takes no longer than all may."""
    choices, compiled = quotient.choices, quotient.model.compiled
    assert compiled.current is not None
    operator, replicas = int(quotient.model.order[j]), int(choices.replicas[row])
    now = compiled.current[operator].astype(float)
    found = [(now, now)] if now.sum() == replicas and choices.downtime[row] == 0.0 else []
    allowed = longest - compiled.synchronisation_time + 1e-9
    if allowed < 0:
        return found
    owner = quotient.owner
    inside = (choices.classes[row] >> owner & 1) == 1
    room = np.where(inside, np.minimum(most_on_node(quotient, j)[owner], replicas), 0)
    times = move_times(compiled, operator, replicas, int(room.max()))
    known: set[bytes] = set()
    for slowest in np.flatnonzero(times.before):
        for stay in range(int(min(room[slowest], times.before[slowest])) + 1):
            box = _box(times, room, int(slowest), stay, allowed)
            if box is not None and np.concatenate(box).tobytes() not in known:
                known.add(np.concatenate(box).tobytes())
                found.append(box)
    return found


def _box(times: MoveTimes, room: Ints, slowest: int, stay: int, allowed: float) -> Box | None:
    """Replicas that may be on each node where the given one sends longest, with at least so many that stay on it."""
    upload = float(times.upload[slowest, stay])
    others = [u for u in np.flatnonzero(times.before) if u != slowest]
    lower, upper = np.zeros(room.size), np.zeros(room.size)
    lower[slowest] = stay
    for u in others:
        enough = np.flatnonzero(times.upload[u, : room[u] + 1] <= upload + 1e-12)
        if not enough.size:
            return None
        lower[u] = enough.min()
    second = max((float(times.upload[u, int(lower[u])]) for u in others), default=-np.inf)
    for v in np.flatnonzero(room):
        start = second if v == slowest else max(float(times.code[v]), upload)
        fitting = np.flatnonzero(start + times.download[v, : room[v] + 1] <= allowed)
        upper[v] = fitting.max() if fitting.size else 0
    return (lower, upper) if (lower <= upper).all() else None


def _block_box(quotient: Quotient, pattern: Pattern, block: Item) -> Box:
    """Where a block may be: on the node that one of its operators stays on, or on any of its classes."""
    members = [j for j, _ in block.contents]
    anchors = {int(anchor) for anchor in quotient.choices.anchor[pattern.rows[members]]} - {NO_NODE}
    upper = ((block.classes >> quotient.owner & 1) == 1).astype(float)
    if anchors:
        upper[[u for u in range(upper.size) if u not in anchors]] = 0.0
    return np.zeros(upper.size), upper


def _solved(
    quotient: Quotient, boxes: list[list[Box]], totals: Ints, loads: Floats, local: Sequence[tuple[int, int]] = ()
) -> Ints | None:
    """Whole numbers on each node that add up to the totals, keep to a box each and fit, shape (owners, nodes).

    As many of the pairs `local` of owners as can be are wholly on one node.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    owners, nodes = len(boxes), len(quotient.model.compiled.nodes)
    size = owners * nodes
    chosen, joined = sum(len(own) for own in boxes), len(local) * nodes
    tools: Any = sparse  # whose types differ between versions
    hstack, eye_array, csr_array, block_diag = tools.hstack, tools.eye_array, tools.csr_array, tools.block_diag
    one = block_diag([np.ones((1, len(own))) for own in boxes])
    lower, upper = (block_diag([np.array([box[side] for box in own]).T for own in boxes]) for side in (0, 1))

    def rows(counts: Any, boxed: Any, low: Any, high: Any, together: Any = None) -> Any:
        """Rows over counts, boxes and pairs; None for no part in them."""
        height = next(part.shape[0] for part in (counts, boxed) if part is not None)
        parts = zip((counts, boxed, together), (size, chosen, joined), strict=True)
        whole = hstack([csr_array((height, width)) if part is None else part for part, width in parts])
        return LinearConstraint(whole.tocsr(), low, high)

    constraints = [
        rows(tools.kron(eye_array(owners), np.ones((1, nodes))), None, totals, totals),
        rows(None, one, 1, 1),
        rows(eye_array(size), -lower, 0, np.inf),
        rows(eye_array(size), -upper, -np.inf, 0),
    ]
    capacity = quotient.capacity[quotient.owner]
    for m in range(capacity.shape[1]):
        use = hstack([load * eye_array(nodes) for load in loads[:, m]])
        constraints.append(rows(use, None, -np.inf, capacity[:, m] + 1e-9))
    for ends in zip(*local, strict=True):
        places = np.add.outer(np.array(ends) * nodes, np.arange(nodes)).ravel()
        wholly = tools.diags_array(-np.repeat(totals[list(ends)], nodes).astype(float))
        constraints.append(rows(eye_array(size).tocsr()[places], None, 0, np.inf, wholly))
    least = np.array([np.min([box[0] for box in own], axis=0) for own in boxes]).ravel()
    found = milp(
        np.concatenate([(least == 0).astype(float), np.zeros(chosen), np.full(joined, -2.0 * totals.sum())]),
        integrality=np.ones(size + chosen + joined, np.int64),
        bounds=Bounds(0, np.concatenate([np.repeat(totals, nodes), np.ones(chosen + joined)])),
        constraints=constraints,
        options={"time_limit": max(0.0, min(SECONDS, seconds_left()))},
    )
    return None if found.x is None else np.rint(found.x[:size]).astype(np.int64).reshape(owners, nodes)
