"""State migration over time: what each migration costs now, and what it will have cost in the end.

Paper: Ding, Fu, Ma, Winslett, Yang, Zhang, Chao, "Optimal Operator State Migration for Elastic Data Stream Processing".
Single steps and sequences are solved through `edrp.solve`; what this room offers beside that is listed here.
"""

from edrp.mdp.mini_migrations import mini_migrations
from edrp.mdp.plan import MigrationPlan, plan_migration
from edrp.mdp.policy import MigrationPolicy
from edrp.mdp.policy_model import PolicyModel
from edrp.mdp.policy_store import load_policy, precompute_policy
from edrp.mdp.transfer_roles import nodes_of_tasks, roles, traffic_between, traffic_of
from edrp.mdp.transfers import TransferSchedule, schedule_transfers
from edrp.mdp.transition_matrix import TransitionMatrix

__all__ = [
    "MigrationPlan",
    "MigrationPolicy",
    "PolicyModel",
    "TransferSchedule",
    "TransitionMatrix",
    "load_policy",
    "mini_migrations",
    "nodes_of_tasks",
    "plan_migration",
    "precompute_policy",
    "roles",
    "schedule_transfers",
    "traffic_between",
    "traffic_of",
]
