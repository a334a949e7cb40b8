"""Methods that search instead of prove, and the baselines that they have to beat."""

from edrp.heuristics.enactment.methods import METHODS as ENACTMENT_METHODS
from edrp.heuristics.mapping import METHODS as MAPPING_METHODS
from edrp.heuristics.migration import METHODS as MIGRATION_METHODS
from edrp.heuristics.placement.annealing import Annealing
from edrp.heuristics.placement.ds2 import Ds2
from edrp.heuristics.placement.greedy import Greedy, Random
from edrp.heuristics.placement.resource_aware import ResourceAware
from edrp.heuristics.placement.search.methods import METHODS as SEARCH_METHODS
from edrp.heuristics.placement.simple_rules import Even, FirstFit, LargestNode

RULES = (Ds2(), Even(), FirstFit(), Greedy(), LargestNode(), Random(), ResourceAware())
METHODS = (Annealing(), *SEARCH_METHODS, *RULES, *MIGRATION_METHODS, *ENACTMENT_METHODS, *MAPPING_METHODS)
"""Methods of this room, for the registry."""

__all__ = ["METHODS", "Annealing", "Ds2", "Even", "FirstFit", "Greedy", "LargestNode", "Random", "ResourceAware"]
