"""A limit is broken by a ten-thousandth, in every kind of problem; what rounding makes of a number is no breach."""

from collections.abc import Callable
from typing import Any

import pytest

from edrp import BimodalScenario, EnactmentProblem, LatencyAwareProblem, LinkAllocationProblem, MappingProblem, MigrationProblem
from edrp.enactment.containers import Host
from edrp.mapping.bimodal_scenario import BimodalRun, TaskRecord
from edrp.mapping.link_allocation import FlowAllocation
from edrp.mapping.path_tasks import PathMap
from edrp.placement.deployment import Deployment

Broken = tuple[str, ...]


def node(share: float) -> Broken:
    """Three instances on a supervisor that may be used to 95 %."""
    operators = [{"name": "o", "instances": 3, "resources": {"cpu": 1.0}}]
    network = {"nodes": [{"name": "a", "resources": {"cpu": share * 3 / 0.95}}]}
    problem = LatencyAwareProblem(application={"operators": operators}, network=network)
    return problem.evaluate(Deployment({"o": ["a", "a", "a"]})).broken


def load(share: float) -> Broken:
    """Two tasks of work 3 and 1: the first node holds one and a half times the average."""
    fields: dict[str, Any] = {"work": [3.0, 1.0], "state_size": [1.0, 1.0], "intervals": [[0, 2]], "nodes": 2}
    problem = MigrationProblem(**fields, tolerance=1.5 * share - 1)
    return problem.evaluate(((0, 1), (1, 2))).broken


def server(share: float) -> Broken:
    """A component of 3 on a server."""
    return mapped(3.0 * share, 4.0)


def link(share: float) -> Broken:
    """A stream of 4 on a link."""
    return mapped(3.0, 4.0 * share)


def mapped(capacity: float, bandwidth: float) -> Broken:
    """The broken limits of a map to a node of some capacity over a link of some bandwidth."""
    nodes = [{"name": "a", "capacity": 0}, {"name": "b", "capacity": capacity}]
    links = [{"source": "a", "target": "b", "bandwidth": bandwidth, "cost": 1}]
    task = {"source": "a", "delivery": "b", "bandwidths": [4, 2], "components": [{"name": "decode", "capacity": 3}]}
    problem = MappingProblem(network={"nodes": nodes, "links": links}, task=task)
    return problem.evaluate(PathMap(nodes=("b",), routes=(("a", "b"), ("b",)))).broken


def allocation(share: float) -> Broken:
    """Two flows of 2 on one link."""
    nodes = [{"name": "a", "capacity": 0}, {"name": "b", "capacity": 0}]
    links = [{"source": "a", "target": "b", "bandwidth": 4.0 * share, "cost": 1}]
    flows = [{"name": name, "source": "a", "target": "b", "rate": 2.0, "price": 1.0} for name in "fg"]
    problem = LinkAllocationProblem(network={"nodes": nodes, "links": links}, flows=flows)
    return problem.evaluate(tuple(FlowAllocation(flow=name, route=("a", "b")) for name in "fg")).broken


def host(share: float) -> Broken:
    """Three instances on one host."""
    application = {"operators": [{"name": "f", "processing_duration": 1.0, "external_rate": 1.0, "resources": {"cpu": 1}}]}
    host_type = {"name": "small", "resources": {"cpu": 3.0 * share}, "price": 1.0, "billing_time": 600.0}
    problem = EnactmentProblem(application=application, host_types=[host_type])
    return problem.evaluate((Host(name="a", type="small", instances={"f": 3}),)).broken


def delivered(share: float) -> Broken:
    """A task of ten seconds that is done after less."""
    nodes = [{"name": "a", "capacity": 0.0}, {"name": "b", "capacity": 2.0}]
    task = {"arrival": 0.0, "source": "a", "delivery": "b", "services": ["f"], "rate": 100.0, "data": 1000.0}
    scenario = BimodalScenario(
        network={"nodes": nodes, "links": [{"source": "a", "target": "b", "bandwidth": 100.0}]},
        services=[{"name": "f", "capacity": 1.0}],
        tasks=[task],
    )
    record = TaskRecord(
        accepted=True, start=0.0, finish=10.0 * share, nodes=("b",), routes=(("a", "b"), ("b",)), delivered=1000.0, windows=1
    )
    return scenario.evaluate(BimodalRun(tasks=(record,))).broken


@pytest.mark.parametrize("broken", [node, load, server, link, allocation, host, delivered])
def test_a_ten_thousandth_too_much_is_too_much(broken: Callable[[float], Broken]) -> None:
    assert broken(1.0) == broken(1 - 1e-13) == broken(1 + 1e-4) == ()
    assert len(broken(1 - 1e-4)) == 1
    assert len(broken(1 - 1e-6)) == 1
