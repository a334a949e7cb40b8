"""Parts that the formats share: the claim of a certificate in numbers and words, and trees in pre-order."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from .reading import MAX_OPEN, fraction, need


def claimed_bound(header: dict[str, Any]) -> Fraction | None:
    """The bound that a certificate claims; None for the claim that nothing is feasible."""
    return fraction(header["bound"]) if header["claim"] == "optimal" else None


def refuted(bound: Fraction | None) -> str:
    """Return in words the property that no decision has if the claim is proven: feasible, or below the bound."""
    return "feasible" if bound is None else f"below {float(bound)!r} − 1e-6"


def tree_nodes(stack: list[Any], lines: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Nodes of a tree in pre-order, each with its line; the loop over them puts the children of a node onto the stack."""
    while stack:
        node, line = stack.pop(), next(lines, None)
        need(isinstance(line, list) and line, "the tree ends before all of it is closed")
        need(len(stack) < MAX_OPEN, f"a tree with more than {MAX_OPEN} open nodes")
        yield node, line
    need(next(lines, None) is None, "there are lines after the tree")


def counted_leaves(count: int) -> str:
    """A number of leaves in words."""
    return f"{count} {'leaf' if count == 1 else 'leaves'}"
