"""Production topologies as problems, and the search for operators of many replicas that places them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from topologies import ALL, SHUFFLE, component, many, topology

import edrp
from edrp import _native
from edrp.core.errors import InvalidInstanceError
from edrp.core.instances import loads
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.placement.production import (
    BETWEEN_RACKS_DELAY,
    CLUSTERS,
    TOPOLOGIES_FILE,
    ProductionTopology,
    instance_document,
    latency_aware_document,
    production_instances,
)
from edrp.heuristics.placement.annealing import BestDeployment
from edrp.heuristics.placement.deployment_starts import random_fit, zone_fits
from edrp.heuristics.placement.deployment_state import MANY_REPLICAS, DeploymentState
from edrp.heuristics.placement.filling import overload_answer
from edrp.heuristics.placement.problem_arrays import placement_arrays
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem

pytestmark = pytest.mark.xdist_group("production")  # read once, not once per worker


def read_problem(**components: dict[str, Any]) -> EdrpProblem:
    """The problem that a reader makes of a topology with these components."""
    return loads(json.dumps(instance_document(ProductionTopology.model_validate(topology(**components)))))


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    def written(*topologies: dict[str, Any]) -> Path:
        (tmp_path / TOPOLOGIES_FILE).write_text(json.dumps(topologies))
        return tmp_path

    return written


def test_one_replica_per_executor_with_defaults_where_the_data_are_silent() -> None:
    problem = read_problem(
        spout=component("spout", 3, cpu_pcore=150.0, onheap_mb=1000.0, offheap_mb=24.0), bolt=component("bolt", None)
    )
    spout, bolt = problem.application.operators
    assert (spout.min_replicas, spout.max_replicas, bolt.min_replicas, bolt.max_replicas) == (3, 3, 1, 1)
    assert spout.resources == {"cpu": 1.5, "memory": 1024.0 * 2**20}
    assert bolt.resources == {"cpu": 0.1, "memory": 128.0 * 2**20}


def test_rates_follow_named_streams_and_groupings() -> None:
    problem = read_problem(
        spout=component("spout", 4),
        left=component("bolt", 5, ("spout", "data", SHUFFLE), ("spout", "control", ALL)),
        right=component("bolt", 2, ("spout", "data", SHUFFLE)),
        sink=component("bolt", 1, ("left", "default", SHUFFLE), ("right", "default", SHUFFLE)),
    )
    application = problem.application
    # Half of the 4 tuples/s on each of the spout's streams; the one with grouping `all` goes to 5 executors.
    assert application.rate("spout", "left") == 2.0 + 5 * 2.0
    assert application.rate("spout", "right") == 2.0
    # Copies count once: `left` has received 4 tuples/s and passes on as many.
    assert (application.rate("left", "sink"), application.rate("right", "sink")) == (4.0, 2.0)


def test_worst_placement_has_objective_one() -> None:
    problem = read_problem(spout=component("spout", 2), bolt=component("bolt", 2, ("spout", "default", SHUFFLE)))
    apart = problem.evaluate(Deployment({"spout": ["r001h000"] * 2, "bolt": ["r002h000"] * 2}))
    assert apart.objective == pytest.approx(1.0)
    assert apart.feasible
    assert problem.limits.response_time == BETWEEN_RACKS_DELAY


@pytest.mark.parametrize(("cluster", "racks", "hosts"), [("01", 16, 1312), ("02", 21, 1922), ("03", 2, 80)])
def test_clusters_have_all_their_hosts_in_their_racks(cluster: str, racks: int, hosts: int) -> None:
    described = topology(f"largeCluster{cluster}/x", spout=component("spout", 1))
    document = instance_document(ProductionTopology.model_validate(described))
    names = {node["name"] for node in document["network"]["nodes"]}
    assert len(names) == hosts == sum(hosts.number for hosts in CLUSTERS[f"largeCluster{cluster}"])
    assert len({node["zone"] for node in document["network"]["nodes"]}) == racks


@pytest.mark.parametrize(
    ("components", "why"),
    [
        (
            {"a": component("bolt", 1, ("b", "x", SHUFFLE)), "b": component("bolt", 1, ("a", "x", SHUFFLE))},
            "form a cycle.*a → b → a",
        ),
        ({"a": component("bolt", 2, ("a", "again", SHUFFLE))}, "joins an operator to itself.*a → a"),
        ({}, r"application.operators: must hold at least 1"),
        ({"a": component("bolt", 1, ("ghost", "x", SHUFFLE))}, "ghost.*is no operator|is no operator.*ghost"),
    ],
)
def test_what_the_model_cannot_express_is_refused_by_the_reader_with_its_reason(
    folder: Callable[..., Path], components: dict[str, Any], why: str
) -> None:
    [(name, text)] = production_instances(folder(topology(**components)))
    assert name == "largeCluster03/t"
    with pytest.raises(InvalidInstanceError, match=why) as raised:
        loads(text)
    assert len(raised.value.faults) == 1


def test_as_latency_aware_problems_topologies_keep_rates_needs_hosts_and_cycles(folder: Callable[..., Path]) -> None:
    chain = topology(
        spout=component("spout", 4, cpu_pcore=150.0), bolt=component("bolt", 5, ("spout", "data", SHUFFLE), ("spout", "all", ALL))
    )
    document = ProductionTopology.model_validate(chain)
    placed, aware = (loads(json.dumps(make(document))) for make in (instance_document, latency_aware_document))
    assert aware.network == placed.network
    assert aware.application.streams == placed.application.streams
    for replicated, instanced in zip(placed.application.operators, aware.application.operators, strict=True):
        assert (instanced.name, instanced.instances) == (replicated.name, replicated.min_replicas)
        assert (instanced.resources, instanced.external_rate) == (replicated.resources, replicated.external_rate)
    cycle = topology(
        spout=component("spout", 4),
        a=component("bolt", 2, ("spout", "x", SHUFFLE), ("b", "x", SHUFFLE), ("a", "x", SHUFFLE)),
        b=component("bolt", 3, ("a", "x", SHUFFLE)),
    )
    ((_, text),) = production_instances(folder(cycle), "latency-aware")
    application = loads(text).application
    assert application.feedback == {("b", "a"), ("a", "a")}
    # What comes back is not sent on again: 4 tuples/s go round once.
    assert {(s.source, s.target): s.rate for s in application.streams} == dict.fromkeys(
        [("spout", "a"), ("b", "a"), ("a", "a"), ("a", "b")], 4.0
    )


def test_what_is_no_topology_is_refused_as_a_latency_aware_problem_too(folder: Callable[..., Path]) -> None:
    empty, ghost = topology("largeCluster03/e"), topology(a=component("bolt", 1, ("ghost", "x", SHUFFLE)))
    (_, first), (_, second) = production_instances(folder(empty, ghost), "latency-aware")
    with pytest.raises(InvalidInstanceError, match=r"application.operators: must hold at least 1"):
        loads(first)
    with pytest.raises(InvalidInstanceError, match="is no operator of this application"):
        loads(second)
    with pytest.raises(InvalidInstanceError, match="kind: has no production topologies; there are edrp, latency-aware"):
        production_instances(folder(empty), "migration")


def test_files_that_are_something_else_are_refused(folder: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(InvalidInstanceError, match="there is no such file"):
        list(production_instances(tmp_path / "nowhere"))
    with pytest.raises(InvalidInstanceError, match=r"\[0\].components.spout.parallelism: must be at least 1"):
        list(production_instances(folder(topology(spout=component("spout", 0)))))
    with pytest.raises(InvalidInstanceError, match="names no known cluster; there are largeCluster01"):
        list(production_instances(folder(topology("elsewhere/t", spout=component("spout", 1)))))


def reliable(seed: int) -> EdrpProblem:
    """A random problem without a current deployment in which nothing may fail."""
    problem = random_problem(seed, operators=(2, 4), nodes=(3, 4)).replace(current=None)
    network = problem.network
    nodes = tuple(node.replace(availability=1.0) for node in network.nodes)
    return problem.replace(
        network=network.replace(nodes=nodes, links=tuple(link.replace(availability=1.0) for link in network.links))
    )


@pytest.mark.parametrize("seed", range(20))
def test_sums_kept_over_many_changes_are_those_of_the_evaluator(seed: int) -> None:
    """Also where something runs already, and nodes and links may fail."""
    problem = reliable(seed) if seed % 2 else random_problem(seed, operators=(2, 4), nodes=(3, 4))
    compiled = compile_problem(problem)
    if overload_answer(compiled) is not None:
        return
    arrays = placement_arrays(compiled)
    now = DeploymentState.from_matrix(arrays, random_fit(compiled, np.random.default_rng(seed)))
    best = BestDeployment.empty(*compiled.candidate.shape)
    random = np.array([seed], np.uint64)
    _native.anneal_deployment(arrays, now, best, MANY_REPLICAS, random, 3_000, 1.0, 1.0)  # hot: almost everything is accepted
    for e, (i, j) in enumerate(zip(compiled.stream_source, compiled.stream_target, strict=True)):
        weight = np.outer(now.counts.replicas[i], now.counts.replicas[j])
        longest = compiled.delay[weight > 0].max()
        rate = compiled.stream_rate[e] / weight.sum()
        wanted = [longest, (weight * compiled.link_cost).sum(), (weight * compiled.delay).sum(), rate]
        np.testing.assert_allclose(now.per_stream[e], wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(now.counts.used, now.counts.replicas.T @ compiled.demand, rtol=1e-9, atol=1e-9)
    assert (now.counts.degree == now.counts.replicas.sum(axis=1)).all()
    for i, number in enumerate(now.counts.number):
        assert sorted(now.counts.hosts[i, :number]) == np.flatnonzero(now.counts.replicas[i]).tolist()
    found = problem.evaluate(compiled.deployment(best.counts()))
    assert found.feasible == (best.energy[0] < 1000)
    if found.feasible:
        assert best.energy[0] == pytest.approx(found.objective, rel=1e-6)


@pytest.mark.slow
def test_auto_does_not_try_to_prove_what_no_program_can_hold() -> None:
    solution = edrp.solve(many(300, "largeCluster03"), work_limit=0.5)
    assert solution.status == "feasible"
    assert solution.method in ("auto: annealing", "auto: equal-nodes")


def test_zones_are_tried_one_by_one() -> None:
    compiled = compile_problem(many(20))
    used = [np.flatnonzero(fit.sum(axis=0)) for fit in zone_fits(compiled)]
    racks = [{compiled.nodes[u].split("h")[0] for u in nodes} for nodes in used]
    assert sorted(map(sorted, racks)) == [[f"r{rack:03d}"] for rack in range(16)]


@pytest.fixture(scope="module")
def production(shared_data: Path) -> dict[str, EdrpProblem | str]:
    """All production topologies by id; where the reader refuses one, its reason."""
    read: dict[str, EdrpProblem | str] = {}
    for name, text in production_instances(shared_data):
        try:
            read[name] = loads(text)
        except InvalidInstanceError as error:
            read[name] = str(error)
    return read


def test_all_production_topologies_are_problems_or_refused_with_a_reason(production: dict[str, EdrpProblem | str]) -> None:
    assert len(production) == 136
    refused = {name: problem for name, problem in production.items() if isinstance(problem, str)}
    assert {name[12:14] + name[-2:] for name in refused} == {"0111", "0112", "0139", "0211", "0212", "0227"}
    for why in refused.values():
        assert "form a cycle" in why or "joins an operator to itself" in why or "must hold at least 1" in why
