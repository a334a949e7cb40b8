"""Which host is leased next."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints
from edrp.enactment import TentativeState
from edrp.heuristics.enactment.packing import PricedSizes


def sizes_of(tentative: TentativeState) -> PricedSizes:
    """Operators and host types as arrays; prices are per second, as billing time units (BTU) may differ."""
    state = tentative.state
    return PricedSizes.priced((each.operator for each in state.operators.values()), state.host_types.values(), per_second=True)


def lease_cheapest(tentative: TentativeState, operator: str) -> str | None:
    """Lease a host of the type with the lowest price per second and instance of the operator; None: no more may be leased."""
    sizes = sizes_of(tentative)
    chosen = sizes.cheapest(list(tentative.state.operators).index(operator), _leased(tentative))
    return None if chosen is None else tentative.lease(sizes.types[chosen].name)


def lease_type(tentative: TentativeState, host_type: str) -> str | None:
    """Lease a host of this type; None where no more may be leased."""
    limit = tentative.state.host_types[host_type].limit
    there = int(_leased(tentative)[list(tentative.state.host_types).index(host_type)])
    return tentative.lease(host_type) if limit is None or there < limit else None


def _leased(tentative: TentativeState) -> Ints:
    """Hosts of each type, those included that have been given back and still work."""
    types = [tentative.type(host).name for host in dict.fromkeys((*tentative.state.hosts, *tentative.hosts))]
    return np.array([types.count(name) for name in tentative.state.host_types])
