"""Methods that search instead of prove, and the baselines that they have to beat."""

from edrp.heuristics.annealing import Annealing
from edrp.heuristics.greedy import Greedy, Random

METHODS = (Annealing(), Greedy(), Random())
"""Methods of this room, for the registry."""

__all__ = ["METHODS", "Annealing", "Greedy", "Random"]
