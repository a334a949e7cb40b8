"""Placement, replication and reconfiguration of data-stream applications."""

import logging

from edrp import errors
from edrp.auto import METHODS as _CHOOSING
from edrp.batch.run import solve_batch
from edrp.documents import (
    Action,
    Application,
    Deployment,
    InstancedOperator,
    Link,
    LinkClass,
    Mm1Latency,
    Network,
    Node,
    Operator,
    PolynomialLatency,
    Store,
    Stream,
    TableLatency,
    Topology,
)
from edrp.documents.enactment import ContainerApplication, ContainerOperator, Host, HostType
from edrp.documents.intervals import TaskIntervals
from edrp.documents.mapping import Component, DataLink, PathMap, PathTask, Server, ServerNetwork, Service
from edrp.explain import Explanation, explain
from edrp.formulations.builders import formulate
from edrp.formulations.elimination.method import METHODS as _ELIMINATING
from edrp.formulations.formulation import Formulation, solve_formulation
from edrp.formulations.mapping import METHODS as _MAPPING
from edrp.formulations.methods import METHODS as _FORMULATING
from edrp.formulations.patterns.method import METHODS as _GENERATING
from edrp.heuristics import METHODS as _SEARCHING
from edrp.instances import load, load_solution, loads, save, schema
from edrp.mdp.fitted.method import METHODS as _FITTING
from edrp.mdp.methods import METHODS as _MIGRATING
from edrp.mdp.sequence.method import METHODS as _SEQUENCING
from edrp.methods import Method, Options, methods, register
from edrp.problems.base import Evaluation
from edrp.problems.bimodal_scenario import BimodalScenario, BimodalTask
from edrp.problems.edrp import EdrpProblem, Limits, Weights
from edrp.problems.enactment import EnactmentProblem, EnactmentWeights
from edrp.problems.enactment_scenario import EnactmentScenario
from edrp.problems.latency_aware import LatencyAwareProblem, ScoreWeights
from edrp.problems.leasing import LeasingProblem, PaidHost, PlannedHost
from edrp.problems.link_allocation import Flow, FlowAllocation, LinkAllocationProblem
from edrp.problems.mapping import MappingProblem
from edrp.problems.migration import MigrationProblem
from edrp.problems.migration_policy import MigrationPolicyProblem
from edrp.problems.migration_sequence import MigrationSequence
from edrp.replanning import Replanner, ReplanningDecision, ReplanningPolicy
from edrp.solution import Solution
from edrp.solution import installed_versions as _installed_versions
from edrp.solve import solve
from edrp.validation.bimodal.methods import METHODS as _SERVING
from edrp.validation.enactment.methods import METHODS as _SIMULATING

_ROOMS = (
    *(_FORMULATING, _ELIMINATING, _GENERATING, _MAPPING, _SEARCHING),
    *(_MIGRATING, _SEQUENCING, _FITTING, _SIMULATING, _SERVING, _CHOOSING),
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
    "save",
    "schema",
    "solve",
    "solve_batch",
    "solve_formulation",
]
