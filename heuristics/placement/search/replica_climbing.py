"""Local search over deployments with replicas: one operator after the other takes the best of its changes.

Once none has a better one, the search ends, or goes on from a kick.
"""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.kernel_helpers import copy_vector
from edrp.heuristics.placement.problem_arrays import Tables
from edrp.heuristics.placement.replica_state import State, refresh, settle
from edrp.heuristics.placement.search.acceptance import better
from edrp.heuristics.placement.search.replica_changes import list_changes, make
from edrp.heuristics.placement.search.replica_kicks import kick
from edrp.heuristics.placement.search.replica_memory import (
    CHOSEN,
    CRAMMED,
    CURSOR,
    LISTED,
    WAITING,
    Memory,
    appraise,
    call_around,
    is_crammed,
    keep_best,
    note_stray,
)

TIDE = 250
"""Kicks over which the tolerance runs out, again and again. Measured on applications of 20 operators, one second each: against a
constant tolerance, a third of the mean gap goes, because some local optima are left only by a long way round."""

FLOOD = 3.0
"""Times the parameter's tolerance, at the beginning of a tide; on average it is one and a half times."""


@inner_loop
def search(
    t: Tables,
    now: State,
    old: State,
    m: Memory,
    random: np.ndarray,
    kicks: int,
    tolerance: float,
    eye: float,
    looks: int,
) -> int:
    """Look at up to `looks` changes; how many of `kicks` are left, -1 when the search has ended.

    Each operator in the queue takes the best of its changes, if that is better than what stands; then it and those that
    share streams with it are looked at again. When none waits, the deployment is kicked; without kicks, that is the
    end. A kick starts from what stands if that is worse than the best one met by no more than the tolerance, which runs
    out from thrice its value to nothing within a `TIDE` and begins again. All that is under way is in `m`, so that how
    often the work is cut up makes no difference.

    What is tried is a change of the list, the best one of the list (`last`), or a kick: one place in the code for all,
    because each place where a deployment is evaluated costs seconds of compilation.
    """
    c = m.counters
    for _ in range(looks):
        kicked = False
        if c[CURSOR] > c[LISTED]:
            if c[WAITING] > 0:
                _open_next(t, now, m)
            else:
                keep_best(now, m)
                if kicks == 0:
                    return -1
                kicks -= 1
                kicked = True
        last = c[CURSOR] == c[LISTED]
        k = c[CHOSEN] if last else c[CURSOR]
        if kicked:
            count = kick(t, now, m, random, tolerance * FLOOD * (kicks % TIDE) / TIDE)
        else:
            c[CURSOR] += 1
            if k < 0:
                continue
            count = make(t, now, m, k)
        for x in range(count):
            refresh(t, now, m.changed[x])
        appraise(t, now, c[CRAMMED] > 0, eye, m.trial)
        if not last and not kicked and better(m.trial, m.found):
            copy_vector(m.trial, m.found)
            c[CHOSEN] = k
        for x in range(count):
            settle(t, m.changed[x], last or kicked, now, old)
        if last or kicked:
            _stand_by(t, now, m, count)
    return kicks


@inlined
def _open_next(t: Tables, s: State, m: Memory) -> None:
    """Take the first operator from the queue and list its changes."""
    c = m.counters
    i = m.queue[0]
    c[WAITING] -= 1
    for k in range(c[WAITING]):
        m.queue[k] = m.queue[k + 1]
    m.queued[i] = False
    c[LISTED] = list_changes(t, s, m, i)
    c[CURSOR] = 0
    c[CHOSEN] = -1
    copy_vector(m.value, m.found)


@inlined
def _stand_by(t: Tables, s: State, m: Memory, count: int) -> None:
    """What was tried stands: whom it touches, and who is next to them, is looked at again."""
    copy_vector(m.trial, m.value)
    if m.counters[CRAMMED] > 0:
        m.counters[CRAMMED] = is_crammed(t, s)
    for x in range(count):
        note_stray(m, m.changed[x])
        call_around(t, m, m.changed[x])
