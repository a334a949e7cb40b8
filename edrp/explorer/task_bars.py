"""Tasks of an operator from left to right, as high as their work, in the colour of the node that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from edrp.explorer.quantities import byte_figure, figure
from edrp.explorer.view import Bar, Detail

Node = TypeVar("Node", int, str)


def task_bars(
    owners: Sequence[Node],
    before: Sequence[Node],
    work: Sequence[float],
    *,
    colours: Mapping[Node, int],
    labelled: bool,
    prefix: str = "k",
) -> list[Bar]:
    """A bar for each task, framed where another node held it before; its detail is the prefix and its number."""
    heaviest = max(work) or 1.0
    return [
        Bar(
            float(task),
            task + 1.0,
            str(node) if labelled else "",
            colours[node],
            0.25 + 0.75 * work[task] / heaviest,
            bool(before) and before[task] != node,
            f"{prefix}{task}",
        )
        for task, node in enumerate(owners)
    ]


def task_details(work: Sequence[float], state: Sequence[float], *, prefix: str = "k", of: str = "") -> dict[str, Detail]:
    """Work and state of each task by the key of its detail."""
    return {
        f"{prefix}{task}": Detail(f"Task {task}{of}", [("work", figure(work[task], 4)), ("state", byte_figure(state[task], 4))])
        for task in range(len(work))
    }
