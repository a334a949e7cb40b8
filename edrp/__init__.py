"""Placement, replication and reconfiguration of data-stream applications.

Names are imported when they are first used: `import edrp` costs next to nothing, and a command loads what it needs.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from edrp.core.plugins import offer

if TYPE_CHECKING:
    from edrp import errors
    from edrp.backends.registry import register_backend
    from edrp.batch.run import solve_batch
    from edrp.carrying.bottleneck import Bottlenecks, find_bottlenecks
    from edrp.carrying.front import RateFront, rate_front
    from edrp.carrying.largest_rate import LargestRate, largest_rate
    from edrp.certified.library import library
    from edrp.core.instances import load, load_solution, loads, save, schema
    from edrp.core.kinds import Kind, register_kind
    from edrp.core.methods import Method, Options, methods, register
    from edrp.core.problem import Evaluation
    from edrp.core.solution import Answer, Solution
    from edrp.core.solve import solve
    from edrp.enactment.containers import ContainerApplication, ContainerOperator, Host, HostType
    from edrp.enactment.leasing import LeasingProblem, PaidHost, PlannedHost
    from edrp.enactment.scenario import EnactmentScenario
    from edrp.enactment.snapshot import EnactmentProblem, EnactmentWeights
    from edrp.explanations.explain import explain
    from edrp.explanations.placement import Explanation
    from edrp.formulations.formulation import Formulation
    from edrp.formulations.methods import formulate, solve_formulation
    from edrp.mapping.bimodal_scenario import BimodalScenario
    from edrp.mapping.link_allocation import Flow, FlowAllocation, LinkAllocationProblem
    from edrp.mapping.path_mapping import MappingProblem
    from edrp.mapping.path_tasks import BimodalTask, Component, PathMap, PathTask, Service
    from edrp.mapping.server_network import DataLink, Server, ServerNetwork
    from edrp.migration.intervals import TaskIntervals
    from edrp.migration.policy import MigrationPolicyProblem
    from edrp.migration.rescale.documents import KeyedDeployment, KeyRange
    from edrp.migration.rescale.problem import RescaleProblem
    from edrp.migration.sequence import MigrationSequence
    from edrp.migration.single_step import MigrationProblem
    from edrp.placement.application import Application, InstancedOperator, Operator, Stream, Topology
    from edrp.placement.changes import ChangePrices
    from edrp.placement.deployment import Action, Deployment
    from edrp.placement.edrp import EdrpProblem
    from edrp.placement.latency import CapacityCurveLatency, Mm1Latency, PolynomialLatency, TableLatency
    from edrp.placement.latency_aware import LatencyAwareProblem, ScoreWeights
    from edrp.placement.metric_values import Limits, Weights
    from edrp.placement.metrics.own import MetricModel, register_metric
    from edrp.placement.network import Link, LinkClass, Network, Node, Store
    from edrp.placement.pareto import ParetoFront, pareto_front
    from edrp.placement.policy import DeploymentPolicy, EdrpPolicyProblem, LoadLevel
    from edrp.placement.priorities import Priority
    from edrp.placement.rules.base import RuleModel
    from edrp.placement.rules.own import register_rule
    from edrp.placement.sequence import EdrpSequence, Period
    from edrp.placement.throughput import Throughput, largest_multiple, predict_throughput
    from edrp.placement.usage import Usage
    from edrp.replanning import Replanner, ReplanningDecision, ReplanningPolicy
    from edrp.report.progress import progress_bar
    from edrp.validation.benchmark.session import BenchmarkResult, benchmark

    __version__: str

# A library configures no logging of its own: who wants to see it adds a handler.
logging.getLogger("edrp").addHandler(logging.NullHandler())

offer("edrp.backends", "edrp.formulations.methods:ProgramMethod")
offer("edrp.certificates", "edrp.certificates.certify:certify")
offer("edrp.explorer", "edrp.explorer.page:explore")
offer("edrp.kinds", "edrp.kinds:KINDS")
offer("edrp.methods", "edrp.method_modules:METHOD_MODULES")
offer("edrp.metrics", "edrp.placement.metrics.own:registered_metrics")
offer("edrp.notebook", "edrp.explorer.notebook:html_of")
offer("edrp.rules", "edrp.placement.rules.own:registered_rules")
offer("edrp.weights", "edrp.placement.metric_values:Weights")

_NAMES = {
    "edrp.backends.registry": "register_backend",
    "edrp.batch.run": "solve_batch",
    "edrp.carrying.bottleneck": "Bottlenecks find_bottlenecks",
    "edrp.carrying.front": "RateFront rate_front",
    "edrp.carrying.largest_rate": "LargestRate largest_rate",
    "edrp.certified.library": "library",
    "edrp.core.instances": "load load_solution loads save schema",
    "edrp.core.kinds": "Kind register_kind",
    "edrp.core.methods": "Method Options methods register",
    "edrp.core.problem": "Evaluation",
    "edrp.core.solution": "Answer Solution",
    "edrp.core.solve": "solve",
    "edrp.enactment.containers": "ContainerApplication ContainerOperator Host HostType",
    "edrp.enactment.leasing": "LeasingProblem PaidHost PlannedHost",
    "edrp.enactment.scenario": "EnactmentScenario",
    "edrp.enactment.snapshot": "EnactmentProblem EnactmentWeights",
    "edrp.explanations.explain": "explain",
    "edrp.explanations.placement": "Explanation",
    "edrp.report.progress": "progress_bar",
    "edrp.formulations.formulation": "Formulation",
    "edrp.formulations.methods": "formulate solve_formulation",
    "edrp.mapping.bimodal_scenario": "BimodalScenario",
    "edrp.mapping.link_allocation": "Flow FlowAllocation LinkAllocationProblem",
    "edrp.mapping.path_mapping": "MappingProblem",
    "edrp.mapping.path_tasks": "BimodalTask Component PathMap PathTask Service",
    "edrp.mapping.server_network": "DataLink Server ServerNetwork",
    "edrp.migration.intervals": "TaskIntervals",
    "edrp.migration.policy": "MigrationPolicyProblem",
    "edrp.migration.rescale.documents": "KeyedDeployment KeyRange",
    "edrp.migration.rescale.problem": "RescaleProblem",
    "edrp.migration.sequence": "MigrationSequence",
    "edrp.migration.single_step": "MigrationProblem",
    "edrp.placement.pareto": "ParetoFront pareto_front",
    "edrp.placement.application": "Application InstancedOperator Operator Stream Topology",
    "edrp.placement.changes": "ChangePrices",
    "edrp.placement.deployment": "Action Deployment",
    "edrp.placement.edrp": "EdrpProblem",
    "edrp.placement.metric_values": "Limits Weights",
    "edrp.placement.latency": "CapacityCurveLatency Mm1Latency PolynomialLatency TableLatency",
    "edrp.placement.latency_aware": "LatencyAwareProblem ScoreWeights",
    "edrp.placement.metrics.own": "MetricModel register_metric",
    "edrp.placement.network": "Link LinkClass Network Node Store",
    "edrp.placement.priorities": "Priority",
    "edrp.placement.rules.base": "RuleModel",
    "edrp.placement.rules.own": "register_rule",
    "edrp.placement.policy": "DeploymentPolicy EdrpPolicyProblem LoadLevel",
    "edrp.placement.sequence": "EdrpSequence Period",
    "edrp.placement.throughput": "Throughput largest_multiple predict_throughput",
    "edrp.placement.usage": "Usage",
    "edrp.replanning": "Replanner ReplanningDecision ReplanningPolicy",
    "edrp.validation.benchmark.session": "BenchmarkResult benchmark",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """A public name, imported at its first use (PEP 562)."""
    if name in ("datasets", "errors", "testing"):
        return import_module(f"edrp.{name}")
    if name == "__version__":
        return import_module("edrp.core.solution").installed_versions()["edrp"]
    if name == "_native":
        return _extension()
    if name not in _PLACES:
        from difflib import get_close_matches

        close = "".join(f"; did you mean {meant!r}?" for meant in get_close_matches(name, __all__, n=1))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{close}")
    value = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return value


def _extension() -> Any:
    """Import the kernels; raises KernelsMissingError with what to do where they are missing or made for another Python."""
    try:
        return import_module("edrp._native")
    except ImportError as error:
        from edrp.core.errors import KernelsMissingError

        raise KernelsMissingError(f"the kernels of edrp are not built for this Python; install edrp again: {error}") from error


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "Action",
    "Answer",
    "Application",
    "BenchmarkResult",
    "BimodalScenario",
    "BimodalTask",
    "Bottlenecks",
    "CapacityCurveLatency",
    "ChangePrices",
    "Component",
    "ContainerApplication",
    "ContainerOperator",
    "DataLink",
    "Deployment",
    "DeploymentPolicy",
    "EdrpPolicyProblem",
    "EdrpProblem",
    "EdrpSequence",
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
    "KeyRange",
    "KeyedDeployment",
    "Kind",
    "LargestRate",
    "LatencyAwareProblem",
    "LeasingProblem",
    "Limits",
    "Link",
    "LinkAllocationProblem",
    "LinkClass",
    "LoadLevel",
    "MappingProblem",
    "Method",
    "MetricModel",
    "MigrationPolicyProblem",
    "MigrationProblem",
    "MigrationSequence",
    "Mm1Latency",
    "Network",
    "Node",
    "Operator",
    "Options",
    "PaidHost",
    "ParetoFront",
    "PathMap",
    "PathTask",
    "Period",
    "PlannedHost",
    "PolynomialLatency",
    "Priority",
    "RateFront",
    "Replanner",
    "ReplanningDecision",
    "ReplanningPolicy",
    "RescaleProblem",
    "RuleModel",
    "ScoreWeights",
    "Server",
    "ServerNetwork",
    "Service",
    "Solution",
    "Store",
    "Stream",
    "TableLatency",
    "TaskIntervals",
    "Throughput",
    "Topology",
    "Usage",
    "Weights",
    "__version__",
    "benchmark",
    "errors",
    "explain",
    "find_bottlenecks",
    "formulate",
    "largest_multiple",
    "largest_rate",
    "library",
    "load",
    "load_solution",
    "loads",
    "methods",
    "pareto_front",
    "predict_throughput",
    "progress_bar",
    "rate_front",
    "register",
    "register_backend",
    "register_kind",
    "register_metric",
    "register_rule",
    "save",
    "schema",
    "solve",
    "solve_batch",
    "solve_formulation",
]
