"""State migration over time: single migrations, sequences of them, and policies for an uncertain future.

Paper: Ding, Fu, Ma, Winslett, Yang, Zhang, Chao, "Optimal Operator State Migration for Elastic Data Stream Processing".
Single steps and sequences are solved through `edrp.solve`; the other public functions of this room are listed here.
"""

from typing import TYPE_CHECKING

from edrp.core.late_imports import late_names

if TYPE_CHECKING:
    from edrp.mdp.chain.transition_matrix import TransitionMatrix, rate_levels
    from edrp.mdp.policy.many_policies import precompute_policies
    from edrp.mdp.policy.operator_policies import operator_policies
    from edrp.mdp.policy.process import MigrationPolicy, PolicyModel
    from edrp.mdp.policy.store import load_policy, precompute_policy
    from edrp.mdp.transfer.migration_plan import MigrationPlan, mini_migrations, plan_migration
    from edrp.mdp.transfer.placement_plan import PhaseLimits, PlacementPlan, plan_placement
    from edrp.mdp.transfer.schedules import (
        TransferSchedule,
        nodes_of_tasks,
        roles,
        schedule_transfers,
        traffic_between,
        traffic_of,
    )

__getattr__ = late_names(
    __name__,
    {
        "chain.transition_matrix": "TransitionMatrix rate_levels",
        "policy.many_policies": "precompute_policies",
        "policy.operator_policies": "operator_policies",
        "policy.process": "MigrationPolicy PolicyModel",
        "policy.store": "load_policy precompute_policy",
        "transfer.migration_plan": "MigrationPlan mini_migrations plan_migration",
        "transfer.placement_plan": "PhaseLimits PlacementPlan plan_placement",
        "transfer.schedules": "TransferSchedule nodes_of_tasks roles schedule_transfers traffic_between traffic_of",
    },
)

__all__ = [
    "MigrationPlan",
    "MigrationPolicy",
    "PhaseLimits",
    "PlacementPlan",
    "PolicyModel",
    "TransferSchedule",
    "TransitionMatrix",
    "load_policy",
    "mini_migrations",
    "nodes_of_tasks",
    "operator_policies",
    "plan_migration",
    "plan_placement",
    "precompute_policies",
    "precompute_policy",
    "rate_levels",
    "roles",
    "schedule_transfers",
    "traffic_between",
    "traffic_of",
]
