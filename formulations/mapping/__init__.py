"""Stream tasks mapped on networks of servers (bi-modal networks, section 3.1), exactly."""

from edrp.formulations.mapping.label_setting import METHODS

__all__ = ["METHODS"]
