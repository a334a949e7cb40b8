"""Real and synthetic inputs: applications, networks, source rates. All numbers in SI units."""

from edrp.datasets.debs2015 import debs2015
from edrp.datasets.flights import KeyedStream, flights
from edrp.datasets.geometric import geometric
from edrp.datasets.layered import layered
from edrp.datasets.rates import ramp, taxi_rates
from edrp.datasets.topologies import ansnet, topology

__all__ = ["KeyedStream", "ansnet", "debs2015", "flights", "geometric", "layered", "ramp", "taxi_rates", "topology"]
