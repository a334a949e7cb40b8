"""Placement, replication and reconfiguration of data-stream applications."""

import logging

from edrp import errors
from edrp.auto import METHODS as _CHOOSING
from edrp.batch.run import solve_batch
from edrp.core.instances import load, load_solution, loads, save, schema
from edrp.core.kinds import Kind, register_kind
from edrp.core.methods import Method, Options, methods, register
from edrp.core.problem import Evaluation
from edrp.core.solution import Solution
from edrp.core.solution import installed_versions as _installed_versions
from edrp.core.solve import solve
from edrp.enactment.containers import ContainerApplication, ContainerOperator, Host, HostType
from edrp.enactment.leasing import LeasingProblem, PaidHost, PlannedHost
from edrp.enactment.scenario import EnactmentScenario
from edrp.enactment.snapshot import EnactmentProblem, EnactmentWeights
from edrp.explain import Explanation, explain
from edrp.formulations.builders import formulate
from edrp.formulations.formulation import Formulation, solve_formulation
from edrp.formulations.mapping import METHODS as _MAPPING
from edrp.formulations.methods import METHODS as _FORMULATING
from edrp.formulations.placement.column_generation.method import ColumnGeneration as _ColumnGeneration
from edrp.formulations.placement.elimination.method import Eliminate as _Eliminate
from edrp.heuristics import METHODS as _SEARCHING
from edrp.heuristics.placement.annealing import Annealing as _Annealing
from edrp.heuristics.placement.search.methods import IteratedLocalSearch as _IteratedLocalSearch
from edrp.kinds import KINDS as _KINDS
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.mapping.link_allocation import Flow, FlowAllocation, LinkAllocationProblem
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.path_tasks import BimodalTask, Component, PathMap, PathTask, Service
from edrp.mapping.server_network import DataLink, Server, ServerNetwork
from edrp.mdp.methods import METHODS as _MIGRATING
from edrp.migration.intervals import TaskIntervals
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.sequence import MigrationSequence
from edrp.migration.single_step import MigrationProblem
from edrp.placement.application import Application, InstancedOperator, Operator, Stream, Topology
from edrp.placement.deployment import Action, Deployment
from edrp.placement.edrp import EdrpProblem, Limits, Weights
from edrp.placement.latency import Mm1Latency, PolynomialLatency, TableLatency
from edrp.placement.latency_aware import LatencyAwareProblem, ScoreWeights
from edrp.placement.network import Link, LinkClass, Network, Node, Store
from edrp.replanning import Replanner, ReplanningDecision, ReplanningPolicy
from edrp.validation.simulation.enactment.methods import METHODS as _SIMULATING
from edrp.validation.simulation.mapping.methods import METHODS as _SERVING

for _kind in _KINDS:
    register_kind(_kind)

# Proofs of placements begin with a short search.
_PROVING = (_Eliminate(heuristic=_Annealing()), _ColumnGeneration(heuristic=_IteratedLocalSearch()))
_ROOMS = (
    *(_FORMULATING, _PROVING, _MAPPING, _SEARCHING),
    *(_MIGRATING, _SIMULATING, _SERVING, _CHOOSING),
)
for _room in _ROOMS:
    for _method in _room:
        register(_method)

__version__ = _installed_versions()["edrp"]

# A library configures no logging of its own: who wants to see it adds a handler.
logging.getLogger("edrp").addHandler(logging.NullHandler())

__all__ = [
    "Action",
    "Application",
    "BimodalScenario",
    "BimodalTask",
    "Component",
    "ContainerApplication",
    "ContainerOperator",
    "DataLink",
    "Deployment",
    "EdrpProblem",
    "EnactmentProblem",
    "EnactmentScenario",
    "EnactmentWeights",
    "Evaluation",
    "Explanation",
    "Flow",
    "FlowAllocation",
    "Formulation",
    "Host",
    "HostType",
    "InstancedOperator",
    "Kind",
    "LatencyAwareProblem",
    "LeasingProblem",
    "Limits",
    "Link",
    "LinkAllocationProblem",
    "LinkClass",
    "MappingProblem",
    "Method",
    "MigrationPolicyProblem",
    "MigrationProblem",
    "MigrationSequence",
    "Mm1Latency",
    "Network",
    "Node",
    "Operator",
    "Options",
    "PaidHost",
    "PathMap",
    "PathTask",
    "PlannedHost",
    "PolynomialLatency",
    "Replanner",
    "ReplanningDecision",
    "ReplanningPolicy",
    "ScoreWeights",
    "Server",
    "ServerNetwork",
    "Service",
    "Solution",
    "Store",
    "Stream",
    "TableLatency",
    "TaskIntervals",
    "Topology",
    "Weights",
    "__version__",
    "errors",
    "explain",
    "formulate",
    "load",
    "load_solution",
    "loads",
    "methods",
    "register",
    "register_kind",
    "save",
    "schema",
    "solve",
    "solve_batch",
    "solve_formulation",
]
