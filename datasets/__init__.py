"""Real and synthetic inputs: applications, networks, source rates. All numbers in SI units."""

from edrp.datasets.aws import aws_delays
from edrp.datasets.continuum import continuum_network, paper_problem
from edrp.datasets.coordinates import estimate_latencies, estimation_rounds
from edrp.datasets.coordinates_estimate import LatencyEstimate
from edrp.datasets.coordinates_simulation import SpringParameters
from edrp.datasets.debs2015 import debs2015
from edrp.datasets.departures import departure_machines, departures_scenario
from edrp.datasets.families import FAMILIES, Family, generate, save_instances
from edrp.datasets.flights import KeyedStream, flights
from edrp.datasets.geometric import geometric
from edrp.datasets.layered import layered
from edrp.datasets.manufacturing import manufacturing_application, manufacturing_scenario, manufacturing_snapshot
from edrp.datasets.mapping_networks import mapping_network, mapping_problem
from edrp.datasets.platforms import bimodal_platform, bimodal_scenario
from edrp.datasets.rates import ramp, taxi_rates
from edrp.datasets.storm import debs2015_storm, storm_cluster
from edrp.datasets.storm_documents import read_inventory, read_load_capture, read_serialized, storm_problem
from edrp.datasets.topologies import ansnet, topology

__all__ = [
    "FAMILIES",
    "Family",
    "KeyedStream",
    "LatencyEstimate",
    "SpringParameters",
    "ansnet",
    "aws_delays",
    "bimodal_platform",
    "bimodal_scenario",
    "continuum_network",
    "debs2015",
    "debs2015_storm",
    "departure_machines",
    "departures_scenario",
    "estimate_latencies",
    "estimation_rounds",
    "flights",
    "generate",
    "geometric",
    "layered",
    "manufacturing_application",
    "manufacturing_scenario",
    "manufacturing_snapshot",
    "mapping_network",
    "mapping_problem",
    "paper_problem",
    "ramp",
    "read_inventory",
    "read_load_capture",
    "read_serialized",
    "save_instances",
    "storm_cluster",
    "storm_problem",
    "taxi_rates",
    "topology",
]
