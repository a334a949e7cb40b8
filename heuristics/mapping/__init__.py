"""Mapping stream tasks on servers and links, and re-allocating links: the decentralised algorithms of bi-modal networks."""

from edrp.heuristics.mapping.methods import METHODS as _MAPPING
from edrp.heuristics.mapping.reallocation import METHODS as _REALLOCATION

METHODS = (*_MAPPING, *_REALLOCATION)
"""Methods for problems of kinds `mapping` and `link-allocation`."""
