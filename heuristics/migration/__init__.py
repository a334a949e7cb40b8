"""Rules for changing the number of nodes that systems use today, as baselines of migrations of least state."""

from edrp.heuristics.migration.balanced_packing import BalancedPacking, EvenSplit
from edrp.heuristics.migration.consistent_hashing import ConsistentHashing, expected_hashing
from edrp.heuristics.migration.node_change import (
    NodeCountChange,
    Reassignment,
    ReassignmentOutcome,
    ReassignmentRule,
    reassignment_outcome,
)
from edrp.heuristics.migration.sticky import Sticky, StickyByWork

__all__ = [
    "BalancedPacking",
    "ConsistentHashing",
    "EvenSplit",
    "NodeCountChange",
    "Reassignment",
    "ReassignmentOutcome",
    "ReassignmentRule",
    "Sticky",
    "StickyByWork",
    "expected_hashing",
    "reassignment_outcome",
]
