"""Documents of Apache Storm and its tools: topologies, captured loads, clusters; and problems made of them."""

from edrp.datasets.placement.storm_documents.components import SPOUT_RATE
from edrp.datasets.placement.storm_documents.inventory import read_inventory
from edrp.datasets.placement.storm_documents.load_capture import read_load_capture
from edrp.datasets.placement.storm_documents.problems import storm_problem
from edrp.datasets.placement.storm_documents.serialized import decode_conf, decode_topology, read_serialized

__all__ = [
    "SPOUT_RATE",
    "decode_conf",
    "decode_topology",
    "read_inventory",
    "read_load_capture",
    "read_serialized",
    "storm_problem",
]
