"""Prices of what changes against the hosts that run, and for how long the hosts are paid: what makes consolidation pay or not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import count

import numpy as np
from pydantic import Field

from edrp.core.document import Document, NonNegative, Positive, unit
from edrp.core.late_imports import optimize
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.containers import Host, HostType


class EnactmentChangePrices(Document):
    """Prices of a change of the running hosts, and the time over which it has to pay.

    A host runs on if a decision has one of its name and type. An instance is started where a host has more instances of an
    operator than it runs now, so that an instance that moves is started once; one that stops costs nothing.

    Examples
    --------
    >>> prices = EnactmentChangePrices(started_instance=0.5, hours=1)
    >>> small = HostType(name="small", resources={"cpu": 4}, price=0.1, billing_time=900.0)
    >>> prices.lease_price(small)
    0.4
    """

    started_instance: NonNegative = Field(
        0.0, description="per instance that a host has beyond those of its operator in `current`", **unit("money")
    )
    started_host: NonNegative = Field(0.0, description="per host that is not in `current`", **unit("money"))
    hours: Positive | None = Field(
        None,
        description="time for which all hosts are then paid, in started billing time units; null: one unit of each host",
        **unit("h"),
    )

    def lease_price(self, host_type: HostType) -> float:
        """Money for one host over the time for which it is paid."""
        if self.hours is None:
            return host_type.price
        return host_type.price * math.ceil(self.hours * 3600.0 / host_type.billing_time * (1 - LIMIT_SLACK))

    def of(self, instances: int, hosts: int) -> float:
        """Money for started instances and hosts."""
        return self.started_instance * instances + self.started_host * hosts


def started(current: Sequence[Host], hosts: Sequence[Host]) -> tuple[int, int]:
    """Numbers of instances and of hosts that are started on the way from the current hosts to others.

    >>> now = [Host(name="a", type="small", instances={"work": 2})]
    >>> started(now, [Host(name="a", type="small", instances={"work": 1}), Host(name="b", type="small", instances={"work": 1})])
    (1, 1)
    """
    running = {(host.name, host.type): host.instances for host in current}
    more = [Counter(host.instances) - Counter(running.get((host.name, host.type), {})) for host in hosts]
    return sum(part.total() for part in more), sum((host.name, host.type) not in running for host in hosts)


def named_as_running(current: Sequence[Host], hosts: Sequence[Host]) -> tuple[Host, ...]:
    """Name hosts as running ones of their types so that the fewest instances and hosts start (an assignment problem).

    >>> now = [Host(name=name, type="small", instances={"work": n}) for name, n in (("a", 1), ("b", 3))]
    >>> [host.name for host in named_as_running(now, [Host(name="x", type="small", instances={"work": 3})])]
    ['b']
    """
    names = {host.name for host in current}
    unused = (name for name in map("host-{}".format, count(1)) if name not in names)
    kept: dict[int, Host] = {}
    for kind in dict.fromkeys(host.type for host in hosts):
        mine, running = [i for i, host in enumerate(hosts) if host.type == kind], [host for host in current if host.type == kind]
        shared = [[(Counter(hosts[index].instances) & Counter(host.instances)).total() for host in running] for index in mine]
        pairs = optimize.linear_sum_assignment(np.array(shared, float).reshape(len(mine), len(running)), maximize=True)
        kept |= {mine[row]: running[column] for row, column in zip(*pairs, strict=True)}
    return tuple(
        host.model_copy(update={"name": kept[i].name, "images": kept[i].images} if i in kept else {"name": next(unused)})
        for i, host in enumerate(hosts)
    )
