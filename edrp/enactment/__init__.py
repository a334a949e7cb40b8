"""What a policy of enactment sees and does: state, actions, and a tentative state to try actions on.

A policy is an object with one call, `observe(state) -> actions`. It knows nothing of who calls it: the simulator of
`edrp.validation.simulation.enactment`, or somebody's own autoscaler.
"""

from edrp.enactment.actions import Action, Lease, Migrate, Place, Policy, Release, Remove
from edrp.enactment.state import EnactmentState, HostState, OperatorState
from edrp.enactment.tentative_state import TentativeState

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
