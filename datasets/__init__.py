"""Real and synthetic inputs: applications, networks, source rates. All numbers in SI units."""

from edrp.datasets.enactment.departures import departure_machines, departures_scenario
from edrp.datasets.enactment.manufacturing import manufacturing_application, manufacturing_scenario, manufacturing_snapshot
from edrp.datasets.families.family import Family
from edrp.datasets.families.instance_files import save_instances
from edrp.datasets.families.mapping.platforms import bimodal_platform, bimodal_scenario
from edrp.datasets.families.mapping.power_law_networks import mapping_network, mapping_problem
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.registry import all_families, generate
from edrp.datasets.placement.aws import aws_delays
from edrp.datasets.placement.coordinates.latencies import estimate_latencies, estimation_rounds
from edrp.datasets.placement.coordinates.latency_estimate import LatencyEstimate
from edrp.datasets.placement.coordinates.simulation import SpringParameters
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.placement.latency_aware_test_bed import paper_network, paper_problem
from edrp.datasets.placement.storm import debs2015_storm, storm_cluster
from edrp.datasets.placement.topologies import ansnet, topology
from edrp.datasets.traces.flights import KeyedStream, flights
from edrp.datasets.traces.source_rates import ramp, taxi_rates

__all__ = [
    "Family",
    "KeyedStream",
    "LatencyEstimate",
    "SpringParameters",
    "all_families",
    "ansnet",
    "aws_delays",
    "bimodal_platform",
    "bimodal_scenario",
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
    "paper_network",
    "paper_problem",
    "ramp",
    "save_instances",
    "storm_cluster",
    "taxi_rates",
    "topology",
]
