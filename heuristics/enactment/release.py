"""Release of hosts at the end of their paid time (cost-efficient enactment, Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence

from edrp.core.tolerances import EQUAL_TIMES
from edrp.enactment import Migrate, TentativeState
from edrp.enactment.containers import largest_share
from edrp.heuristics.enactment.host_selection import best_host, usable
from edrp.heuristics.enactment.operator_selection import Utilities


def ending_hosts(tentative: TentativeState, window: float, rounds: int) -> tuple[str, ...]:
    """Hosts whose paid time ends soon, the emptiest first; those leased in this very round are not among them.

    Parameters
    ----------
    window
        Share of a billing time unit (BTU): its last part.
    rounds
        Smallest number of observations in the window, so that no end of a lease is missed.
    """
    state = tentative.state
    ending = []
    for host in tentative.hosts:
        within = max(window * tentative.type(host).billing_time, rounds * state.interval)
        if host in state.hosts and tentative.paid_until(host) - state.time <= within + EQUAL_TIMES:
            ending.append((sum(tentative.on(host).values()), host))
    return tuple(host for _, host in sorted(ending, key=lambda entry: entry[0]))


class LeaseEnds:
    """Decides on every host whose paid time ends: it is released if it can be emptied, otherwise prolonged.

    A host that takes instances from another is prolonged.

    Parameters
    ----------
    window, rounds
        See `ending_hosts`.
    ask_once
        Whether a host that cannot be released at the first attempt is kept for the next unit, as in Fig. 5; otherwise its
        release is tried again in every round of the window.
    """

    def __init__(self, window: float, rounds: int, *, ask_once: bool) -> None:
        self._window, self._rounds, self._ask_once = window, rounds, ask_once
        self._prolonged: dict[str, float] = {}

    def decide(self, tentative: TentativeState, utilities: Utilities, share: float, cached_factor: float) -> TentativeState:
        """Return the tentative state after the decisions on all ending leases; for the parameters see `released`."""
        prolonged: set[str] = set()
        for host in ending_hosts(tentative, self._window, self._rounds):
            if host in prolonged or (self._ask_once and self._prolonged.get(host) == tentative.paid_until(host)):
                continue
            plan = released(tentative, host, utilities, share, cached_factor)
            if plan is None:
                self._prolonged[host] = tentative.paid_until(host)
                continue
            prolonged.update(action.target for action in plan.actions if isinstance(action, Migrate))
            tentative = plan
        return tentative


def released(
    tentative: TentativeState, host: str, utilities: Utilities, share: float, cached_factor: float
) -> TentativeState | None:
    """Return the state with a host emptied and released; None where that is impossible (cost-efficient enactment, Fig. 5).

    The plan is made on a copy: first, instances go whose operators can do without them; then the others migrate to hosts
    that are up, chosen by Alg. 2 alone, so that no operator loses instances because another must move.

    Parameters
    ----------
    share
        Largest share of an operator's instances that is removed with the host; one may be removed in any case.
    """
    plan = tentative.copy()
    _scale_down(plan, host, utilities, share)
    targets = [target for target in usable(plan, starting=False) if target != host]
    for name in _by_size(plan, host):
        target = best_host(plan, name, targets, cached_factor)
        if target is None:
            return None
        plan.migrate(name, host, target)
    plan.release(host)
    return plan


def _scale_down(tentative: TentativeState, host: str, utilities: Utilities, share: float) -> None:
    """Remove instances from a host, the most useful loss first, each while its operator can do with one less."""
    counts = tentative.counts
    instances = tentative.on(host)
    quota = {name: min(count, max(1, int(share * counts[name]))) for name, count in instances.items()}
    while True:
        values = utilities(counts)
        name = max((name for name, removable in quota.items() if removable), key=values.__getitem__, default=None)
        if name is None or values[name] <= 0:
            return
        tentative.remove(name, host)
        quota[name] -= 1
        counts[name] -= 1


def _by_size(tentative: TentativeState, host: str) -> Sequence[str]:
    """Instances on a host, those that take the largest part of it first: they are the hardest to place."""
    host_type, operators, instances = tentative.type(host), tentative.state.operators, tentative.on(host)
    names = sorted(instances, key=lambda name: largest_share(operators[name].operator, host_type), reverse=True)
    return [name for name in names for _ in range(instances[name])]
