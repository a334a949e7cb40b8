"""Methods of this folder, for the registry."""

from edrp.heuristics.enactment.first_fit_decreasing import FirstFitDecreasing
from edrp.heuristics.enactment.host_selection_method import HostSelection

METHODS = (FirstFitDecreasing(), HostSelection())
"""Methods for problems of kind `enactment`."""
