"""Iterated local search over deployments with replicas: one operator after the other takes the best of its changes."""

from __future__ import annotations

from edrp.core.kernel_helpers import copy_vector
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.deployment_state import DeploymentState, refresh, settle, transfer
from edrp.heuristics.placement.search.acceptance import KICKS, WORK, LocalSearchRun, better, near
from edrp.heuristics.placement.search.change_lists import list_changes, plan_change
from edrp.heuristics.placement.search.deployment_kicks import disturb, return_home
from edrp.heuristics.placement.search.deployment_memory import (
    CHOSEN,
    CURSOR,
    KICKED,
    LISTED,
    OVERLOADED,
    WAITING,
    DeploymentMemory,
    DeploymentSearch,
    enqueue_neighbours,
    evaluate,
    is_overloaded,
    keep_best,
    note_stray,
)

TOLERANCE_PERIOD = 250
"""Number of kicks in which the tolerance falls to 0, repeatedly.

Measured on applications of 20 operators, one second each: against a constant tolerance, a third of the mean gap goes, because
some local optima are left only by a long way round.
"""

INITIAL_TOLERANCE = 3.0
"""The tolerance at the beginning of a period, in units of the parameter; on average it is half of that."""


@inlined
def climb(search: DeploymentSearch, run: LocalSearchRun) -> bool:
    """Let each operator in the queue make the best of its changes, if that improves the deployment.

    Then it and those that share streams with it are queued again. Each trial is a change of the list, at last the best one
    of the list (`stays`), or a kick: one place in the code for all, because each place where a deployment is evaluated costs
    seconds of compilation. Streams of operators that change are
    summed up from scratch, so that nothing drifts.
    """
    t, state, m, c = search.arrays, search.now, search.memory, search.memory.counters
    while search.progress[WORK] < run.work:
        touched, parts = c[KICKED], 0
        if touched < 0 and c[CURSOR] > c[LISTED]:
            if c[WAITING] == 0:
                return True
            _open_next(search)
        search.progress[WORK] += 1
        stays = touched >= 0 or c[CURSOR] == c[LISTED]
        k = c[CHOSEN] if stays else c[CURSOR]
        if touched < 0:
            c[CURSOR] += 1
            if k < 0:
                continue
            parts = plan_change(t, state, m, k)
            touched = _list_changed(state, m, parts)
            transfer(t, state, parts, False)
        c[KICKED] = -1
        for x in range(touched):
            refresh(t, state, m.changed[x])
        evaluate(t, state, c[OVERLOADED] > 0, run.overload_rule, m.trial)
        if not stays:
            if better(m.trial, m.chosen):
                copy_vector(m.trial, m.chosen)
                c[CHOSEN] = k
            transfer(t, state, parts, True)
        for x in range(touched):
            settle(t, state, m.changed[x], stays)
        if stays:
            _go_on(search, touched)
    return False


@inlined
def _list_changed(d: DeploymentState, m: DeploymentMemory, parts: int) -> int:
    """List the operators of the planned change, sorted by part; return their number."""
    count = 0
    for k in range(parts):
        if count == 0 or m.changed[count - 1] != d.plan[k, 0]:
            m.changed[count] = d.plan[k, 0]
            count += 1
    return count


@inlined
def accept(search: DeploymentSearch, run: LocalSearchRun) -> None:
    """Continue from here if it is within a tolerance of the best, which falls to 0 within a period; else go back."""
    kicks_left = run.kicks - search.progress[KICKS] - 1
    tolerance = run.tolerance * INITIAL_TOLERANCE * (kicks_left % TOLERANCE_PERIOD) / TOLERANCE_PERIOD
    m = search.memory
    return_home(search.arrays, search.now.counts, m, near(m.value, m.best_value, tolerance))


@inner_loop
def iterate(search: DeploymentSearch, run: LocalSearchRun) -> bool:
    """Continue iterated local search for a bounded amount of work; return whether it has ended."""
    m = search.memory
    search.progress[WORK] = 0
    while climb(search, run):
        keep_best(search.now, m)
        if search.progress[KICKS] == run.kicks:
            return True
        accept(search, run)
        m.counters[KICKED] = disturb(search.arrays, search.now.counts, m, search.random)  # `climb` evaluates it
        search.progress[KICKS] += 1
    return False


@inlined
def _open_next(search: DeploymentSearch) -> None:
    """Take the first operator from the queue and list its changes."""
    m, c = search.memory, search.memory.counters
    i = m.queue[0]
    c[WAITING] -= 1
    for k in range(c[WAITING]):
        m.queue[k] = m.queue[k + 1]
    m.queued[i] = False
    c[LISTED] = list_changes(search.arrays, search.now, m, i)
    c[CURSOR] = 0
    c[CHOSEN] = -1
    copy_vector(m.value, m.chosen)


@inlined
def _go_on(search: DeploymentSearch, count: int) -> None:
    """Accept the change that was tried: enqueue the operators that it touches, and their neighbours."""
    m = search.memory
    copy_vector(m.trial, m.value)
    if m.counters[OVERLOADED] > 0:
        m.counters[OVERLOADED] = is_overloaded(search.arrays, search.now)
    for x in range(count):
        note_stray(m, m.changed[x])
        enqueue_neighbours(search.arrays, m, m.changed[x])
