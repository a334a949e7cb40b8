"""Stream tasks mapped on networks of servers (bi-modal networks, section 3.1), exactly."""

from edrp.formulations.mapping.method import METHODS

__all__ = ["METHODS"]
