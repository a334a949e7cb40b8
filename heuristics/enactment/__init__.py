"""Policies of enactment, which decide from monitoring data what to lease, place, move and release.

A policy is made from its parameters, serves one run, and has one call. Any system that runs containers can use it: describe
operators and host types once, fill in the data of the monitoring system, and carry out the actions.

Examples
--------
>>> from edrp.enactment.containers import ContainerOperator, HostType
>>> from edrp.enactment import EnactmentState, HostState, Lease, OperatorState, Place
>>> ocr = ContainerOperator(name="ocr", processing_duration=1.5, resources={"cpu": 660, "memory": 452e6})
>>> large = HostType(name="large", resources={"cpu": 1024, "memory": 7e9}, price=6.0, billing_time=3600.0)
>>> policy = BtuPolicy(BtuParameters(scaling_threshold=20))

Every minute, the state as monitored; `pool` stands for the containers and machines of the system:

>>> def autoscale(time, pool):
...     state = EnactmentState(
...         time=time,
...         interval=60.0,
...         operators={"ocr": OperatorState(ocr, running=1, queue=pool["waiting"], durations=pool["durations"])},
...         hosts={"vm-1": HostState("vm-1", large, paid_until=3600.0, instances={"ocr": 1}, images=frozenset({"ocr"}))},
...         host_types={"large": large},
...         leases=pool["leases"],
...     )
...     for action in policy.observe(state):
...         match action:
...             case Lease(host, host_type):
...                 print(f"start a {host_type} machine and call it {host}")
...             case Place(operator, host):
...                 print(f"start a container of {operator} on {host}")
...             case _:
...                 print(action)
>>> autoscale(60.0, {"waiting": 3, "durations": (1.4, 1.6), "leases": 1})
>>> autoscale(120.0, {"waiting": 45, "durations": (1.4, 1.6, 2.9), "leases": 1})
start a large machine and call it host-2
start a container of ocr on host-2
"""

from typing import Any

from edrp.enactment import Policy
from edrp.heuristics.enactment.baselines import (
    Ds2Policy,
    Ds2PolicyParameters,
    StaticPeakParameters,
    StaticPeakPolicy,
    ThresholdParameters,
    ThresholdPolicy,
)
from edrp.heuristics.enactment.btu import BtuParameters, BtuPolicy
from edrp.heuristics.enactment.predictive import PredictiveParameters, PredictivePolicy

POLICIES: dict[str, tuple[type[Policy], type[Any]]] = {
    "btu": (BtuPolicy, BtuParameters),
    "ds2": (Ds2Policy, Ds2PolicyParameters),
    "predictive": (PredictivePolicy, PredictiveParameters),
    "static-peak": (StaticPeakPolicy, StaticPeakParameters),
    "threshold": (ThresholdPolicy, ThresholdParameters),
}
"""Policies by name: the class, made from one argument, and the dataclass of its parameters."""

__all__ = [
    "POLICIES",
    "BtuParameters",
    "BtuPolicy",
    "Ds2Policy",
    "Ds2PolicyParameters",
    "PredictiveParameters",
    "PredictivePolicy",
    "StaticPeakParameters",
    "StaticPeakPolicy",
    "ThresholdParameters",
    "ThresholdPolicy",
]
