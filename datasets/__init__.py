"""Real and synthetic inputs: applications, networks, source rates. All numbers in SI units."""

from edrp.datasets.debs2015 import debs2015
from edrp.datasets.families import FAMILIES, Family, generate, save_instances
from edrp.datasets.flights import KeyedStream, flights
from edrp.datasets.geometric import geometric
from edrp.datasets.layered import layered
from edrp.datasets.rates import ramp, taxi_rates
from edrp.datasets.storm import debs2015_storm, storm_cluster
from edrp.datasets.topologies import ansnet, topology

__all__ = [
    "FAMILIES",
    "Family",
    "KeyedStream",
    "ansnet",
    "debs2015",
    "debs2015_storm",
    "flights",
    "generate",
    "geometric",
    "layered",
    "ramp",
    "save_instances",
    "storm_cluster",
    "taxi_rates",
    "topology",
]
