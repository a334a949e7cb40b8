"""Compiled: which supervisors of each class take which pattern, for the shortest longest path."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import kernel


@kernel
def path_bound(
    node: np.ndarray,
    owner: np.ndarray,
    holders: np.ndarray,
    holders_start: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    delay: np.ndarray,
    from_class: np.ndarray,
    to_class: np.ndarray,
    between: np.ndarray,
    arrival: np.ndarray,
) -> float:
    """Longest path in seconds, where patterns without a node (-1) are as near as any member of their class may be.

    Parameters
    ----------
    node, owner
        Node (or -1) and class of each pattern in use.
    holders, holders_start
        Patterns that hold instances of each operator, in CSR form.
    source, target
        Forward streams, sorted by source; operators are in topological order.
    delay
        Seconds between nodes.
    from_class, to_class
        Least seconds from a member of each class to each node, and back, shape (classes, nodes).
    between
        Least seconds between different members of two classes.
    arrival
        Scratch, shape (operators,).
    """
    arrival[:] = 0.0
    longest = 0.0
    for e in range(source.size):
        a, b = source[e], target[e]
        hop = 0.0
        for p in holders[holders_start[a] : holders_start[a + 1]]:
            for q in holders[holders_start[b] : holders_start[b + 1]]:
                if p == q:
                    continue
                u, v = node[p], node[q]
                if u >= 0 and v >= 0:
                    least = delay[u, v]
                elif u >= 0:
                    least = to_class[owner[q], u]
                elif v >= 0:
                    least = from_class[owner[p], v]
                else:
                    least = between[owner[p], owner[q]]
                hop = max(hop, least)
        arrival[b] = max(arrival[b], arrival[a] + hop)
        longest = max(longest, arrival[b])
    return longest


@kernel
def search_labels(
    owner: np.ndarray,
    same_as_last: np.ndarray,
    member: np.ndarray,
    member_start: np.ndarray,
    twin: np.ndarray,
    holders: np.ndarray,
    holders_start: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    delay: np.ndarray,
    from_class: np.ndarray,
    to_class: np.ndarray,
    between: np.ndarray,
    cutoff: float,
    most_nodes: int,
    best: np.ndarray,
) -> tuple[float, int]:
    """Depth-first over the patterns in use, each on the members of its class, nearest bound first.

    Equal patterns of a class take members in order, and of members that are equally far from everything the first free
    one is taken: the least placement in lexicographic order survives among all that are alike.

    Parameters
    ----------
    same_as_last
        Whether a pattern equals the one before, class included.
    member, member_start
        Nodes of each class, in CSR form.
    twin
        The node before it, of those in the same class that are equally far from everything, or -1.
    cutoff
        Paths at least this long are not wanted.
    best
        Written: node of each pattern; untouched where nothing was found.

    Returns
    -------
    tuple
        Seconds of the best path (the cutoff where nothing was found), and nodes searched; beyond `most_nodes` the
        search was given up.
    """
    size = owner.size
    widest = 0
    for c in range(member_start.size - 1):
        widest = max(widest, member_start[c + 1] - member_start[c])
    bound = np.empty((size, widest))
    node = np.full(size, -1, np.int64)
    place = np.full(size, -1, np.int64)
    used = np.zeros(twin.size, np.bool_)
    arrival = np.zeros(holders_start.size - 1)
    searched, k, opened = 0, 0, False
    while k >= 0:
        first, members = member_start[owner[k]], member_start[owner[k] + 1] - member_start[owner[k]]
        if not opened:
            searched += 1
            if searched > most_nodes:
                break
            for i in range(members):
                u = member[first + i]
                bound[k, i] = np.inf
                if used[u] or (twin[u] >= 0 and not used[twin[u]]) or (same_as_last[k] and i < place[k - 1]):
                    continue
                node[k] = u
                bound[k, i] = path_bound(
                    node, owner, holders, holders_start, source, target, delay, from_class, to_class, between, arrival
                )
        elif node[k] >= 0:
            used[node[k]] = False
        node[k] = -1
        i = 0
        for j in range(1, members):
            if bound[k, j] < bound[k, i]:
                i = j
        if not bound[k, i] < cutoff:
            k -= 1
            opened = True
            continue
        if k + 1 == size:
            cutoff = bound[k, i]
            best[:] = node
            best[k] = member[first + i]
            bound[k, i] = np.inf
            opened = True
            continue
        node[k] = member[first + i]
        place[k] = i
        used[node[k]] = True
        bound[k, i] = np.inf
        k += 1
        opened = False
    return cutoff, searched
