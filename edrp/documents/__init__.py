"""The documents of the field: application, network, deployment. Immutable, by name, validated."""

from edrp.documents.application import Application, InstancedOperator, Operator, Stream, StreamGraph, Topology
from edrp.documents.deployment import Action, Deployment
from edrp.documents.latency import Mm1Latency, PolynomialLatency, TableLatency
from edrp.documents.network import Link, LinkClass, Network, Node, Store

__all__ = [
    "Action",
    "Application",
    "Deployment",
    "InstancedOperator",
    "Link",
    "LinkClass",
    "Mm1Latency",
    "Network",
    "Node",
    "Operator",
    "PolynomialLatency",
    "Store",
    "Stream",
    "StreamGraph",
    "TableLatency",
    "Topology",
]
