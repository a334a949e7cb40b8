"""Deployments to start from, as replicas per operator and node: first fit, random, and given ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Options
from edrp.core.solution import Answer
from edrp.heuristics.placement.filling import (
    Filling,
    checked_answer,
    first_fit_shares,
    least_stable,
    node_choices,
    stable_degrees,
)
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment


def best_start(compiled: Compiled, starts: list[Ints], error: OutOfTimeError) -> Answer:
    """Return the best of first fit and the starts, for a search whose time ran out before it began.

    Raises
    ------
    OutOfTimeError
        The one given, where none of them is feasible.
    """
    answers = [checked_answer(compiled, start, "time_limit") for start in (first_fit(compiled), *starts)]
    best = min(answers, key=lambda answer: np.inf if answer.objective is None else answer.objective)
    if best.decision is None:
        raise error
    return best


def given_starts(compiled: Compiled, options: Options) -> list[Ints]:
    """Return the start of the options and the current deployment, if the problem allows them; capacity may be broken.

    Rules may be broken, too, except that replicas move away from nodes that rules close to their operator.

    Examples
    --------
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> from edrp.placement.compilation import compile_problem
    >>> given_starts(compile_problem(paper_problem("T-M3", 0.2)), Options())
    []
    """
    deployments = [start for start in (options.start, compiled.problem.current) if start is not None]
    return [counts for counts in (_allowed(compiled, deployment) for deployment in deployments) if counts is not None]


def _allowed(compiled: Compiled, deployment: Deployment) -> Ints | None:
    """Convert a deployment into counts, if it keeps candidates, replica limits and stability; else None.

    Rules narrow the candidates: what runs elsewhere moves to the first candidate that has room.
    """
    try:
        counts = compiled.counts(deployment)
    except KeyError:
        return None
    degree = counts.sum(axis=1)
    if (degree > compiled.max_replicas).any() or not stable_degrees(compiled)[np.arange(degree.size), degree].all():
        return None
    if (counts[~compiled.candidate] == 0).all():
        return counts
    if not compiled.rules.rules:
        return None
    return _fill(compiled, lambda i, _: compiled.candidates(i), np.where(compiled.candidate, counts, 0), degree)


def first_fit(compiled: Compiled, *, wishes: bool = False, constrained_first: bool = False) -> Ints:
    """Operators in topological order with their least stable degree, each replica on the first node that fits.

    Nodes are tried by delay from the operator before, with `wishes` first by what rules with a penalty say; where none fits, the
    one with the least relative overload is taken, and it is left to the search to repair that. With `constrained_first` those
    operators come first that the fewest nodes have room for.
    """
    operators = np.argsort(node_choices(compiled), kind="stable") if constrained_first else None
    return _fill(compiled, partial(_by_delay, compiled), operators=operators, wishes=wishes)


def _by_delay(compiled: Compiled, i: int, counts: Ints) -> Ints:
    """Candidates of an operator by their delay from the operators before it, as far as these are placed."""
    sources = compiled.stream_source[(compiled.stream_target == i) & compiled.forward]
    nodes, before = compiled.candidates(i), np.flatnonzero(counts[sources].any(axis=0))
    return nodes[np.argsort(compiled.links.slowest_from(before)[nodes], kind="stable")] if before.size else nodes


def random_fit(compiled: Compiled, generator: np.random.Generator) -> Ints:
    """First fit with nodes in random order."""
    return _fill(compiled, lambda i, counts: generator.permutation(compiled.candidates(i)))


def zone_fits(compiled: Compiled) -> Iterator[Ints]:
    """First fit for each zone once: its nodes first, then zone by zone where most fits, largest nodes first."""
    zones = [compiled.problem.network.by_name[name].zone or "" for name in compiled.nodes]
    _, zone = np.unique(zones, return_inverse=True)
    total = compiled.demand.T @ least_stable(compiled)
    needed = total > 0
    share = (compiled.capacity[:, needed] / total[needed]).min(axis=1, initial=1.0)
    by_zone = np.bincount(zone, share)
    for first in np.argsort(-by_zone, kind="stable"):
        rank = np.where(zone == first, -np.inf, -by_zone[zone])
        order = np.lexsort((np.arange(share.size), -share, zone, rank))
        yield _fill(compiled, lambda i, counts, order=order: order[compiled.candidate[i, order]])  # type: ignore[misc]


def _fill(
    compiled: Compiled,
    order: Callable[[int, Ints], Ints],
    counts: Ints | None = None,
    degree: Ints | None = None,
    *,
    operators: Ints | None = None,
    wishes: bool = False,
) -> Ints:
    """Add replicas to some that stay until operators, in their order, have `degree`, or as few as keep them stable."""
    filling, degree = Filling.of(compiled, counts), least_stable(compiled) if degree is None else degree
    wishes &= bool(np.isfinite(compiled.rules.penalty).any())
    for i in range(degree.size) if operators is None else operators.tolist():
        replicas, demand = int(degree[i]), compiled.demand[i]
        for number in range(1, replicas + 1) if wishes else [replicas]:
            nodes = order(i, filling.counts)
            filling.add(i, filling.by_wishes(i, nodes) if wishes else nodes, number, first_fit_shares, replicas)
        fast_enough = nodes[compiled.fewest_replicas[i, nodes] <= replicas]
        nodes = fast_enough if fast_enough.size else nodes
        for _ in range(replicas - int(filling.counts[i].sum())):
            node = int(nodes[np.argmax((filling.free[nodes] - demand).min(axis=1, initial=np.inf))])
            filling.counts[i, node] += 1
            filling.free[node] -= demand
    return filling.counts
