"""Rules for changing the number of nodes that are in use today: what migrations of least state have to beat."""

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
