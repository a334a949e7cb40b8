"""Which host is leased next."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints
from edrp.enactment import Draft
from edrp.heuristics.enactment.packing import PricedSizes


def sizes_of(draft: Draft) -> PricedSizes:
    """Operators and host types as arrays; prices are per second, as billing time units (BTU) may differ."""
    state = draft.state
    return PricedSizes.priced((each.operator for each in state.operators.values()), state.host_types.values(), per_second=True)


def lease_cheapest(draft: Draft, operator: str) -> str | None:
    """Lease a host of the type with the lowest price per second and instance of the operator; None: no more may be leased."""
    sizes = sizes_of(draft)
    chosen = sizes.cheapest(list(draft.state.operators).index(operator), _leased(draft))
    return None if chosen is None else draft.lease(sizes.types[chosen].name)


def lease_type(draft: Draft, host_type: str) -> str | None:
    """Lease a host of this type; None where no more may be leased."""
    limit = draft.state.host_types[host_type].limit
    there = int(_leased(draft)[list(draft.state.host_types).index(host_type)])
    return draft.lease(host_type) if limit is None or there < limit else None


def _leased(draft: Draft) -> Ints:
    """Hosts of each type, those included that have been given back and still work."""
    types = [draft.type(host).name for host in dict.fromkeys((*draft.state.hosts, *draft.hosts))]
    return np.array([types.count(name) for name in draft.state.host_types])
