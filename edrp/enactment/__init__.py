"""Enactment on leased hosts: documents and problems, and the state, actions and tentative state of policies.

A policy is an object with one call, `observe(state) -> actions`. It does not know its caller, which may be the simulator
of `edrp.validation.simulation.enactment` or an autoscaler in production.
"""

from edrp.enactment.state import (
    Action,
    EnactmentState,
    HostState,
    Lease,
    Migrate,
    OperatorState,
    Place,
    Policy,
    Release,
    Remove,
    TentativeState,
)

__all__ = [
    "Action",
    "EnactmentState",
    "HostState",
    "Lease",
    "Migrate",
    "OperatorState",
    "Place",
    "Policy",
    "Release",
    "Remove",
    "TentativeState",
]
