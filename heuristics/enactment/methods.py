"""Methods of this folder, for the registry."""

from edrp.heuristics.enactment.first_fit_decreasing import FirstFitDecreasing
from edrp.heuristics.enactment.first_fit_leases import FirstFitLeases
from edrp.heuristics.enactment.host_selection_method import HostSelection

METHODS = (FirstFitDecreasing(), HostSelection(), FirstFitLeases())
"""Methods for problems of kinds `enactment` and `leasing`."""
