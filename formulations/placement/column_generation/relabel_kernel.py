"""Compiled: which supervisors of each class take which pattern, for the shortest longest path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.kernels import inlined, kernel


class ChosenPatterns(NamedTuple):
    """The patterns in use and the streams between them.

    Attributes
    ----------
    owner : class of each pattern.
    holders, holders_start : patterns that hold instances of each operator, in CSR form.
    source, target : forward streams, sorted by source; operators are in topological order.
    delay : seconds between nodes.
    from_class, to_class : minimum of seconds from a member of each class to each node, and back, shape (classes, nodes).
    between : minimum of seconds between different members of two classes.
    """

    owner: np.ndarray
    holders: np.ndarray
    holders_start: np.ndarray
    source: np.ndarray
    target: np.ndarray
    delay: np.ndarray
    from_class: np.ndarray
    to_class: np.ndarray
    between: np.ndarray


class ClassMembers(NamedTuple):
    """The nodes of each class, in CSR form.

    `twin` is the node before it, of those in the same class that are equally far from everything, or -1.
    """

    member: np.ndarray
    start: np.ndarray
    twin: np.ndarray


@inlined
def _least_delay(node: np.ndarray, chosen: ChosenPatterns, p: int, q: int) -> float:
    """Seconds from pattern p to pattern q, or where they have no node as near as any member of their class may be."""
    if p == q:
        return 0.0
    u, v = node[p], node[q]
    if u >= 0 and v >= 0:
        return chosen.delay[u, v]
    if u >= 0:
        return chosen.to_class[chosen.owner[q], u]
    if v >= 0:
        return chosen.from_class[chosen.owner[p], v]
    return chosen.between[chosen.owner[p], chosen.owner[q]]


@inlined
def _longest_path(node: np.ndarray, chosen: ChosenPatterns, arrival: np.ndarray) -> float:
    """Seconds of the slowest path through instances; those of an operator in one pattern arrive together.

    The last column of `arrival` is that at the last instance of each operator; an operator that no pattern holds, as in a part
    of a choice, is passed without delay.
    """
    arrival[:] = 0.0
    last = arrival.shape[1] - 1
    longest = 0.0
    for e in range(chosen.source.size):
        a, b = chosen.source[e], chosen.target[e]
        none = chosen.holders_start[a] == chosen.holders_start[a + 1]
        arrival[b, last] = max(arrival[b, last], arrival[a, last])
        for j in range(chosen.holders_start[b], chosen.holders_start[b + 1]):
            q = chosen.holders[j]
            seconds = arrival[a, last] if none else 0.0
            for i in range(chosen.holders_start[a], chosen.holders_start[a + 1]):
                p = chosen.holders[i]
                seconds = max(seconds, arrival[a, p] + _least_delay(node, chosen, p, q))
            arrival[b, q] = max(arrival[b, q], seconds)
            arrival[b, last] = max(arrival[b, last], seconds)
        longest = max(longest, arrival[b, last])
    return longest


@kernel
def path_bound(node: np.ndarray, chosen: ChosenPatterns, arrival: np.ndarray) -> float:
    """Longest path in seconds, where patterns without a node (-1) are as near as any member of their class may be.

    `node` is the node of each pattern, `arrival` is scratch of shape (operators, patterns + 1).
    """
    return _longest_path(node, chosen, arrival)


@kernel
def search_labels(
    chosen: ChosenPatterns, same_as_last: np.ndarray, members: ClassMembers, cutoff: float, max_nodes: int, best: np.ndarray
) -> tuple[float, int]:
    """Search depth-first over the patterns in use, each on the members of its class, nearest bound first.

    Equal patterns of a class take members in order, and of members that are equally far from everything the first free
    one is taken: the first placement in lexicographic order survives among all that are alike.

    Parameters
    ----------
    same_as_last
        Whether a pattern equals the one before, class included.
    cutoff
        Paths at least this long are not wanted.
    best
        Written: node of each pattern; untouched where no path is shorter than the cutoff.

    Returns
    -------
    tuple
        Seconds of the best path (the cutoff where there is none), and nodes searched; beyond `max_nodes` the search was
        given up.
    """
    owner, member, size = chosen.owner, members.member, chosen.owner.size
    bound = np.empty((size, _widest(members.start)))
    node, position = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    used = np.zeros(members.twin.size, np.bool_)
    arrival = np.zeros((chosen.holders_start.size - 1, size + 1))
    searched, k, opened = 0, 0, False
    while k >= 0:
        first, width = members.start[owner[k]], members.start[owner[k] + 1] - members.start[owner[k]]
        if not opened:
            searched += 1
            if searched > max_nodes:
                break
            for i in range(width):
                node[k] = member[first + i]
                passed = same_as_last[k] and i < position[k - 1]
                free = not passed and _is_first_free(node[k], members.twin, used)
                bound[k, i] = _longest_path(node, chosen, arrival) if free else np.inf
        elif node[k] >= 0:
            used[node[k]] = False
        node[k] = -1
        opened = True
        i = _smallest(bound[k], width)
        least, bound[k, i] = bound[k, i], np.inf
        if not least < cutoff:
            k -= 1
        elif k + 1 == size:
            cutoff = least
            best[:] = node
            best[k] = member[first + i]
        else:
            node[k], position[k] = member[first + i], i
            used[node[k]] = True
            k += 1
            opened = False
    return cutoff, searched


@inlined
def _widest(start: np.ndarray) -> int:
    """Number of members of the largest class."""
    widest = 0
    for c in range(start.size - 1):
        widest = max(widest, start[c + 1] - start[c])
    return widest


@inlined
def _is_first_free(u: int, twin: np.ndarray, used: np.ndarray) -> bool:
    """Whether node u is free, and the first of the nodes with its delays."""
    return not used[u] and (twin[u] < 0 or used[twin[u]])


@inlined
def _smallest(values: np.ndarray, count: int) -> int:
    """Position of the smallest of the first values; of equal ones the first."""
    smallest = 0
    for i in range(1, count):
        if values[i] < values[smallest]:
            smallest = i
    return smallest
