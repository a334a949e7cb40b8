"""Shapes of applications: the streams between operators, and the operators that are alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import numpy as np

Streams = tuple[tuple[int, int], ...]

MAX_LAYER_WIDTH = 3
MAX_PREDECESSORS = 2
MAX_CHAINS = 4

DIAMOND_SHARE = 0.4
"""Probability that two parallel operators are put into a stream instead of one (latency-aware placement, section 6.1)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Operators 0, 1, …, n − 1 in topological order, from one source (0) to one sink (n − 1).

    Attributes
    ----------
    streams
        Pairs of operators, sender first, ascending.
    roles : shape (n,)
        Operators of one role are replicas of each other: they do the same work on their share of the tuples.
    """

    streams: Streams
    roles: tuple[int, ...]

    @property
    def operators(self) -> int:
        """Number of operators, source and sink included."""
        return len(self.roles)


ShapeMaker = Callable[[int, np.random.Generator], Shape]
"""Function from a number of operators and a random generator to a shape; some shapes are not random."""


def sequential(operators: int, random: np.random.Generator) -> Shape:
    """One operator after the other.

    >>> sequential(4, np.random.default_rng(0)).streams
    ((0, 1), (1, 2), (2, 3))
    """
    return _all_different(list(pairwise(range(operators))), operators)


def diamond(operators: int, random: np.random.Generator) -> Shape:
    """Two branches of random lengths between source and sink.

    >>> diamond(4, np.random.default_rng(0)).streams
    ((0, 1), (0, 2), (1, 3), (2, 3))
    """
    first = int(random.integers(1, operators - 2))
    branches = [range(1, first + 1), range(first + 1, operators - 1)]
    return _all_different([pair for branch in branches for pair in pairwise([0, *branch, operators - 1])], operators)


def fat(operators: int, random: np.random.Generator) -> Shape:
    """One source fanned out over many parallel operators, and one sink that takes them in.

    >>> fat(4, np.random.default_rng(0)).streams
    ((0, 1), (0, 2), (1, 3), (2, 3))
    """
    sink = operators - 1
    return _all_different([pair for middle in range(1, sink) for pair in ((0, middle), (middle, sink))], operators)


def replicated(operators: int, random: np.random.Generator) -> Shape:
    """Two to four equal chains that share the tuples: a pipeline with its replicas written out.

    Chains have at least two operators where there are enough. Those that do not divide into equal chains come between
    the source and the chains.

    >>> shape = replicated(6, np.random.default_rng(0))
    >>> shape.streams, shape.roles
    (((0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)), (0, 1, 1, 2, 2, 3))
    """
    chains = int(random.integers(2, max(2, min(MAX_CHAINS, (operators - 2) // 2)) + 1))
    stages, ahead = divmod(operators - 2, chains)
    head = list(range(ahead + 1))
    streams = list(pairwise(head))
    for chain in range(chains):
        stage = [ahead + 1 + chain + chains * position for position in range(stages)]
        streams += pairwise([head[-1], *stage, operators - 1])
    copied = [ahead + 1 + stage for stage in range(stages) for _ in range(chains)]
    return Shape(tuple(sorted(streams)), (*head, *copied, ahead + 1 + stages))


def series_parallel(operators: int, random: np.random.Generator) -> Shape:
    """Grown from one stream, with one operator after another in series or two in parallel.

    A random stream gets one operator, or with 40 % two parallel ones, until there are enough. This is how the random
    topologies of latency-aware placement, section 6.1, are made.

    >>> series_parallel(6, np.random.default_rng(0)).streams
    ((0, 1), (1, 2), (1, 3), (2, 5), (3, 4), (4, 5))
    """
    grown, count = [(0, 1)], 2
    while count < operators:
        source, target = grown.pop(int(random.integers(len(grown))))
        added = 2 if count + 2 <= operators and random.random() < DIAMOND_SHARE else 1
        grown += [pair for new in range(count, count + added) for pair in ((source, new), (new, target))]
        count += added
    order = {name: position for position, name in enumerate(nx.lexicographical_topological_sort(nx.DiGraph(grown)))}
    return _all_different([(order[source], order[target]) for source, target in grown], operators)


def layered_shape(operators: int, random: np.random.Generator) -> Shape:
    """Layers of one to three operators, each with one or two predecessors.

    These lie in the layer before; the sink has all of them. An operator that would have no successor gets one.

    >>> layered_shape(6, np.random.default_rng(0)).streams
    ((0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5))
    """
    # Draw the operators of each layer, numbered in topological order.
    layers = [[0]]
    placed = 1
    while placed < operators - 1:
        width = min(int(random.integers(1, MAX_LAYER_WIDTH + 1)), operators - 1 - placed)
        layers.append(list(range(placed, placed + width)))
        placed += width
    return _all_different(_between_layers([*layers, [operators - 1]], random), operators)


SHAPES: dict[str, tuple[ShapeMaker, int]] = {
    "sequential": (sequential, 3),
    "diamond": (diamond, 4),
    "fat": (fat, 4),
    "replicated": (replicated, 4),
    "series-parallel": (series_parallel, 3),
    "layered": (layered_shape, 3),
}
"""Makers of shapes by name, each with the minimum number of operators that it takes."""


def _all_different(streams: list[tuple[int, int]], operators: int) -> Shape:
    return Shape(tuple(sorted(streams)), tuple(range(operators)))


def _between_layers(layers: list[list[int]], random: np.random.Generator) -> list[tuple[int, int]]:
    """Draw streams between neighbouring layers: one or two into every operator, at least one out of it."""
    streams: list[tuple[int, int]] = []
    for before, after in pairwise(layers):
        joined = set()
        for target in after:
            count = len(before) if target == layers[-1][0] else min(len(before), int(random.integers(1, MAX_PREDECESSORS + 1)))
            joined |= {(int(source), target) for source in random.choice(before, count, replace=False)}
        for source in before:
            if all(source != start for start, _ in joined):
                joined.add((source, int(random.choice(after))))
        streams += sorted(joined)
    return streams
