"""Platforms and networks of bi-modal networks: what the paper prints of them, pairs of runs, and what cannot be."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from edrp.core.errors import InvalidInstanceError
from edrp.datasets.families.mapping.platforms import bimodal_platform, bimodal_scenario
from edrp.datasets.families.mapping.power_law_networks import MEGABIT, mapping_network, mapping_problem


def build_graph(network):
    graph = nx.Graph()
    graph.add_nodes_from(node.name for node in network.nodes)
    graph.add_edges_from((link.source, link.target) for link in network.links)
    assert graph.number_of_edges() == len(network.links), "no link twice"
    return graph


def test_one_link_fewer_than_servers_makes_a_tree():
    assert all(nx.is_tree(build_graph(bimodal_platform(seed=seed))) for seed in range(5))


def test_with_fewer_links_some_servers_have_none():
    graph = build_graph(bimodal_platform(links=50, seed=2))
    assert sorted(map(len, nx.connected_components(graph)))[-1] == 51
    assert sum(degree == 0 for _, degree in graph.degree) == 49


def test_any_number_of_links_up_to_all_pairs():
    for links in range(37):
        assert build_graph(bimodal_platform(servers=9, links=links, seed=links)).number_of_edges() == links


def test_services_and_capacity_grow_with_links():
    platform = bimodal_platform(servers=40, links=500, seed=3)
    degree = dict(build_graph(platform).degree)
    assert max(degree.values()) > 25
    for node in platform.nodes:
        assert len(set(node.services)) == len(node.services) == min(25, 1 + degree[node.name])
        assert node.capacity == 2 * (1 + degree[node.name])


def test_printed_ranges_are_filled():
    platform = bimodal_platform(servers=400, links=399, seed=1)
    drawn = [
        (1, 10, [link.bandwidth / MEGABIT for link in platform.links]),
        (1e-3, 10e-3, [link.delay for link in platform.links]),
        (1, 2, [node.uplink / MEGABIT for node in platform.nodes]),
        (1, 2, [node.downlink / MEGABIT for node in platform.nodes]),
        (10e-3, 100e-3, [u.access_delay + v.access_delay for u, v in pairwise(platform.nodes)]),
    ]
    for minimum, maximum, values in drawn:
        margin = 0.12 * (maximum - minimum)
        assert minimum <= min(values) < minimum + margin
        assert maximum - margin < max(values) <= maximum
    assert len({service for node in platform.nodes for service in node.services}) == 25


def test_more_links_are_added_to_the_same_platform():
    few, many = (bimodal_platform(links=links, seed=7) for links in (60, 120))
    assert many.links[:60] == few.links
    for before, after in zip(few.nodes, many.nodes, strict=True):
        assert set(before.services) <= set(after.services)
        assert (before.uplink, before.downlink, before.access_delay) == (after.uplink, after.downlink, after.access_delay)


def test_runs_of_a_seed_are_paired():
    both = bimodal_scenario(tasks=50, seed=4)
    for networks in ("dedicated", "public"):
        assert bimodal_scenario(tasks=50, seed=4, networks=networks) == both.replace(networks=networks)
    assert bimodal_scenario(tasks=50, seed=4, reallocation_interval=0.0) == both.replace(reallocation_interval=0.0)
    assert bimodal_scenario(tasks=50, links=30, seed=4).tasks == both.tasks
    assert bimodal_scenario(tasks=80, seed=4).tasks[:50] == both.tasks
    faster = bimodal_scenario(tasks=50, seed=4, rate=180.0)
    assert faster.network == both.network
    for quick, slow in zip(faster.tasks, both.tasks, strict=True):
        assert quick.arrival == pytest.approx(slow.arrival / 3, rel=1e-5)
        assert quick.replace(arrival=0.0) == slow.replace(arrival=0.0)
    assert bimodal_scenario(tasks=50, seed=5).tasks != both.tasks


def test_tasks_are_as_printed():
    scenario = bimodal_scenario(seed=11, tasks=2000, rate=90.0)
    gaps = np.diff([0.0, *(task.arrival for task in scenario.tasks)])
    # Poisson: gaps of mean 40 s, as variable as long; both within four standard errors.
    assert gaps.mean() == pytest.approx(40, rel=0.09)
    assert gaps.std() == pytest.approx(40, rel=0.13)
    assert np.mean([task.data for task in scenario.tasks]) == pytest.approx(100e6, rel=0.09)
    services = [name for task in scenario.tasks for name in task.services]
    assert np.bincount([int(name[1:]) for name in services], minlength=25).min() > 650, "800 of each expected"
    assert all(len(set(task.services)) == 10 and task.source != task.delivery for task in scenario.tasks)
    assert {task.rate for task in scenario.tasks} == {125_000.0}
    assert scenario.path_task(0).hop_bandwidths[-1] == pytest.approx(125_000 * 0.95**10)
    assert scenario.path_task(0).needs == (1.0,) * 10


def test_networks_of_the_mapping_experiments_have_power_laws():
    networks = [mapping_network(120, seed) for seed in range(10)]
    assert all(nx.is_connected(build_graph(network)) and len(network.links) == 237 for network in networks)
    bandwidth = np.array([link.bandwidth / MEGABIT for network in networks for link in network.links])
    assert 10 <= bandwidth.min() < bandwidth.max() <= 1000
    # Three doublings of the bandwidth leave each time the same share of links, 2 ** -1.5.
    above = np.array([(bandwidth > 10 * 2**doublings).mean() for doublings in range(4)])
    assert above[1:] / above[:-1] == pytest.approx([2**-1.5] * 3, abs=0.08)
    for network in networks:
        whole = [*(node.capacity for node in network.nodes), *(v for link in network.links for v in (link.bandwidth, link.cost))]
        assert all(value == int(value) for value in whole), "sums are exact"


@pytest.mark.parametrize(
    ("make", "place", "why"),
    [
        (lambda: bimodal_platform(servers=0, links=0), "servers", "at least 1"),
        (lambda: bimodal_platform(seed=-1), "seed", "must not be negative"),
        (lambda: bimodal_platform(links=-1), "links", "must not be negative"),
        (lambda: bimodal_platform(servers=4, links=7), "links", "must be at most 6"),
        (lambda: bimodal_scenario(servers=1, links=0), "servers", "at least 2"),
        (lambda: bimodal_scenario(rate=-3.0), "rate", "above 0 tasks/h"),
        (lambda: bimodal_scenario(rate=float("nan")), "rate", "above 0 tasks/h"),
        (lambda: bimodal_scenario(tasks=0), "tasks", "at least 1"),
        (lambda: bimodal_scenario(tasks=2, networks="neither"), "networks", "'both'"),
        (lambda: bimodal_scenario(tasks=2, max_empty_hops=-1), "max_empty_hops", "must be at least 0"),
        (lambda: bimodal_platform(services=0), "services", "at least 1"),
        (lambda: mapping_problem(1), "servers", "at least 2"),
        (lambda: mapping_problem(5, components=-1), "components", "at least 0"),
        (lambda: mapping_problem(5, components=65), "components", "64"),
    ],
)
def test_what_cannot_be_is_refused(make, place, why):
    with pytest.raises(InvalidInstanceError) as refused:
        make()
    assert place in refused.value.faults[0].place
    assert why in str(refused.value)
