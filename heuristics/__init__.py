"""Methods that search instead of prove, and the baselines that they have to beat."""

from edrp.heuristics.annealing import Annealing
from edrp.heuristics.greedy import Greedy, Random
from edrp.heuristics.migration import METHODS as MIGRATION_METHODS

METHODS = (Annealing(), Greedy(), Random(), *MIGRATION_METHODS)
"""Methods of this room, for the registry."""

__all__ = ["METHODS", "Annealing", "Greedy", "Random"]
