"""Latency coordinates: how exact they are, what they keep of the measurements, and what they refuse."""

import math
from collections import Counter
from collections.abc import Callable
from io import StringIO
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from rich.console import Console

from edrp import _native
from edrp.core.arrays import Floats
from edrp.core.errors import InvalidInstanceError
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.aws import AWS_FILE, aws_delays
from edrp.datasets.placement.coordinates.latencies import estimate_latencies, estimation_rounds
from edrp.datasets.placement.coordinates.simulation import SpringParameters
from edrp.placement.network import Network
from edrp.validation.papers.latency_aware.coordinates_report import run

LINE = {("a", "b"): 0.010, ("b", "c"): 0.020, ("a", "c"): 0.030, ("c", "d"): 0.010, ("b", "d"): 0.030}


def median_error(estimated: Floats, truth: Floats) -> float:
    """Median over all pairs, relative."""
    pairs = np.triu_indices(len(truth), 1)
    return float(np.median(np.abs(estimated - truth)[pairs] / truth[pairs]))


@pytest.fixture(scope="module")
def plane() -> tuple[list[str], Floats]:
    """A hundred nodes in the unit square, 32 ms apart in the mean."""
    network = geometric(100, seed=7)
    names = [node.name for node in network.nodes]
    return names, np.array([[network.delay(u, v) for v in names] for u in names])


@pytest.mark.parametrize("seed", range(5))
def test_cloud_regions_after_five_rounds_with_eight_peers(shared_data: Path, seed: int) -> None:
    names, truth = aws_delays(shared_data)
    assert len(names) == 20
    estimate = estimate_latencies(names, truth, SpringParameters(peers=8, kept=4, rounds=5), seed=seed)
    assert median_error(estimate.distance, truth) <= 0.10
    honest = np.nanmedian(estimate.error)
    assert 0.5 * median_error(estimate.distance, truth) <= honest <= 2 * median_error(estimate.distance, truth)


@pytest.mark.parametrize("remember", [True, False])
def test_geometric_network_after_ten_rounds_with_sixteen_peers(plane: tuple[list[str], Floats], remember: bool) -> None:
    names, truth = plane
    parameters = SpringParameters(peers=16, kept=8, rounds=10, remember=remember)
    errors = [median_error(estimate.distance, truth) for estimate in estimation_rounds(names, truth, parameters, seed=2)]
    assert len(errors) == 10
    assert errors[0] > 0.15  # from nowhere
    assert errors[-1] <= 0.05


def test_the_unit_does_not_matter(plane: tuple[list[str], Floats]) -> None:
    """Milliseconds, seconds and days: the same coordinates up to the unit. The printed force is stable in one of them."""
    names, seconds = plane
    parameters = SpringParameters(peers=16, kept=8, rounds=10)
    expected = estimate_latencies(names, seconds, parameters)
    for unit in (1e3, 1 / 86_400):
        other = estimate_latencies(names, seconds * unit, parameters)
        np.testing.assert_allclose(other.distance / unit, expected.distance, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(other.error, expected.error, rtol=1e-5, atol=1e-9)


def plain_relax(position: Floats, peers: Floats, latency: Floats, force: float, moves: int) -> Floats:
    """Algs. 1 and 2 over whole arrays, without their early stop and for positions that do not coincide."""
    for _ in range(moves):
        towards = peers - position
        distance = np.linalg.norm(towards, axis=1)
        pull = latency * np.log(distance / latency)
        position = position + force / len(peers) * (pull / distance) @ towards
    return position


@pytest.mark.parametrize("seed", range(5))
def test_the_kernel_moves_as_its_plain_twin(seed: int) -> None:
    random = np.random.default_rng(seed)
    peers, latency, position = random.random((7, 3)), random.uniform(0.1, 2, 7), random.random(3)
    expected = plain_relax(position, peers, latency, 0.5, 20)
    made = _native.relax_springs(position, peers, latency, np.zeros((7, 3)), 0.5, 0.0, 20)
    assert made == 20
    np.testing.assert_allclose(position, expected, rtol=1e-12)


def test_springs_stop_when_they_rest() -> None:
    position, peers = np.array([0.3, 0.1]), np.array([[0.0, 0.0], [1.0, 0.0]])
    assert _native.relax_springs(position, peers, np.array([0.6, 0.8]), np.zeros((2, 2)), 1.0, 1e-6, 1000) < 100
    np.testing.assert_allclose(np.linalg.norm(peers - position, axis=1), [0.6, 0.8], atol=1e-5)


def test_coincident_supervisors_part() -> None:
    """All start at one point, where no direction leads apart; a random one does, and it differs by seed."""
    pair = {("a", "b"): 0.05}
    estimates = [estimate_latencies(["a", "b"], pair, seed=seed) for seed in (0, 1)]
    for estimate in estimates:
        assert estimate.distance[0, 1] == pytest.approx(0.05, rel=0.01)
    assert not np.allclose(estimates[0].coordinates, estimates[1].coordinates, atol=0.005)


def test_latency_zero_draws_together() -> None:
    estimate = estimate_latencies(["a", "b", "c"], {("a", "b"): 0.0, ("b", "c"): 0.03, ("a", "c"): 0.03})
    assert estimate.distance[0, 1] < 0.001
    assert estimate.distance[0, 2] == pytest.approx(0.03, rel=0.05)
    assert estimate_latencies(["a", "b"], {("a", "b"): 0.0}).delay.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_supervisors_measure_near_and_random_peers_at_their_own_pace() -> None:
    names = [f"s{index}" for index in range(30)]
    place = np.random.default_rng(4).random((30, 2))
    calls: list[tuple[int, int]] = []

    def latency(source: str, target: str) -> float:
        calls.append((names.index(source), names.index(target)))
        return float(np.linalg.norm(place[calls[-1][0]] - place[calls[-1][1]]))

    estimate = estimate_latencies(names, latency, SpringParameters(peers=6, kept=2, rounds=8, jitter=0.5))
    turns = [calls[start : start + 6] for start in range(0, len(calls), 6)]
    assert all(len({source for source, _ in turn}) == 1 and len(set(turn)) == 6 for turn in turns)
    times = Counter(turn[0][0] for turn in turns)
    assert len(set(times.values())) > 1  # not in step
    assert 7 <= np.mean(list(times.values())) <= 9
    for u in range(30):
        own = [[v for _, v in turn] for turn in turns if turn[0][0] == u]
        for before, after in pairwise(own):
            nearest = sorted(before, key=lambda v: float(np.linalg.norm(place[u] - place[v])))[:2]
            assert after[:2] == nearest
    seen = {frozenset(call) for call in calls}
    assert {(u, v) for u, v in combinations(range(30), 2) if not np.isnan(estimate.measured[u, v])} == {
        tuple(sorted(pair)) for pair in seen
    }
    assert len(seen) < 30 * 29 / 2


def test_without_jitter_all_measure_once_per_round() -> None:
    calls: Counter[str] = Counter()

    def latency(source: str, target: str) -> float:
        calls[source] += 1
        return 1.0

    estimate_latencies(list("abcd"), latency, SpringParameters(peers=3, kept=1, rounds=5, jitter=0.0))
    assert calls == dict.fromkeys("abcd", 15)


def test_the_same_seed_gives_the_same_estimate(plane: tuple[list[str], Floats]) -> None:
    names, truth = plane
    parameters = SpringParameters(rounds=2, noise=0.1)
    first, again, other = (estimate_latencies(names, truth, parameters, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.delay, again.delay)
    assert not np.allclose(first.delay, other.delay)


def test_few_measurements_of_a_line_find_the_rest() -> None:
    estimate = estimate_latencies(["a", "b", "c", "d"], LINE)
    assert estimate.distance[0, 3] == pytest.approx(0.040, rel=0.1)
    again = [(v, u, seconds) for (u, v), seconds in LINE.items()] + [("a", "b", 0.009), ("a", "b", 0.8)]
    repeated = estimate_latencies(["a", "b", "c", "d"], again)
    assert repeated.delay[0, 1] == 0.010  # the median of three


def test_the_error_is_that_of_predictions_not_of_the_fit(plane: tuple[list[str], Floats]) -> None:
    """With few measurements each supervisor can satisfy its own exactly, and is wrong about all others."""
    names, truth = plane
    random = np.random.default_rng(3)
    pairs = {(names[u], names[v]): truth[u, v] for u, v in combinations(range(100), 2) if v == u + 1 or random.random() < 0.05}
    estimate = estimate_latencies(names, pairs)
    measured = ~np.isnan(estimate.measured)
    relative = np.abs(estimate.distance - truth) / np.where(truth > 0, truth, 1)
    unknown = float(np.median(relative[~measured & (truth > 0)]))
    assert unknown / 4 < np.nanmedian(estimate.error) < 4 * unknown
    ends = estimate_latencies(["a", "b", "c"], {("a", "b"): 0.01, ("b", "c"): 0.02})
    assert np.isnan(ends.error).tolist() == [True, False, True]


def test_a_network_keeps_what_was_measured_and_what_was_described() -> None:
    described = Network(
        nodes=[{"name": name, "resources": {"cpu": cpu}} for name, cpu in zip("dcba", (1, 2, 3, 4), strict=True)],
        links=[{"source": "a", "target": "d", "delay": 9.0, "cost": 2.0, "bandwidth": 5.0}],
        store={"delay": 0.5},
    )
    estimate = estimate_latencies(["a", "b", "c", "d"], LINE)
    network = estimate.network(described)
    assert network.complete
    assert all(network.delay(u, v) == network.delay(v, u) == seconds for (u, v), seconds in LINE.items())
    assert network.delay("a", "d") == estimate.distance[0, 3]
    assert (network.link_cost("d", "a"), network.link_cost("a", "b")) == (2.0, 0.0)
    assert (network.nodes, network.store) == (described.nodes, described.store)
    racks = Network(
        nodes=[{"name": name, "zone": zone} for name, zone in zip("abcd", "xxyy", strict=True)],
        within_zone={"delay": 0.0},
        between_zones={"delay": 1.0, "cost": 3.0},
        symmetric=False,
    )
    by_zone = estimate.network(racks)
    assert len(by_zone.links) == 12
    assert (by_zone.delay("c", "b"), by_zone.link_cost("c", "b"), by_zone.link_cost("a", "b")) == (0.020, 3.0, 0.0)


def test_a_network_of_other_nodes_is_refused() -> None:
    estimate = estimate_latencies(["a", "b"], {("a", "b"): 1.0})
    with pytest.raises(InvalidInstanceError, match=r"nodes\[1\].name: is none of the supervisors") as raised:
        estimate.network(Network(nodes=[{"name": "a"}, {"name": "ghost"}]))
    assert "nodes: is missing; every supervisor must be a node (got b)" in str(raised.value)


def test_an_estimate_goes_on_from_an_earlier_one(plane: tuple[list[str], Floats]) -> None:
    """One round later it is as exact as after many, also where a latency has changed and a supervisor has come."""
    names, truth = plane
    before = estimate_latencies(names[:-1], truth[:-1, :-1], SpringParameters(rounds=10))
    short = SpringParameters(rounds=3)
    after = estimate_latencies(names, truth, short, start=before, seed=5)
    assert median_error(after.distance, truth) < 0.4 * median_error(estimate_latencies(names, truth, short).distance, truth)
    moved = estimate_latencies(names, {(names[0], names[1]): 0.5, (names[-1], names[0]): 0.1}, short, start=after)
    assert moved.delay[0, 1] == 0.5
    assert moved.delay[2, 3] == after.delay[2, 3]
    with pytest.raises(InvalidInstanceError, match=r"start: must have 2 dimensions.*got 3 dimensions"):
        estimate_latencies(names, truth, SpringParameters(dimension=2), start=before)


@pytest.mark.parametrize(
    ("supervisors", "latencies", "message"),
    [
        (["a", "b"], {("a", "ghost"): 1.0}, r"latencies\[0\]: is none of the supervisors \(got ghost\)"),
        (["a", "b"], {("a", "b"): -1.0}, r"latencies\[0\]: must be finite seconds, at least 0 \(got a → b: -1.0\)"),
        (["a", "b"], [("a", "b", float("nan"))], r"latencies\[0\]: must be finite seconds"),
        (["a", "b"], {("a", "b"): "fast"}, r"latencies\[0\]: must be finite seconds"),
        (["a", "b"], [("a", "b", 1.0), ("a", "a", 0.0)], r"latencies\[1\]: joins a supervisor to itself"),
        (["a", "b", "c"], {("a", "b"): 1.0}, r"supervisors\[2\]: has no measured latency to any other supervisor.*got c"),
        (list("abcd"), {("a", "b"): 1.0, ("c", "d"): 1.0}, r"no measurement joins these to the others.*got c, d"),
        (["a", "a"], {}, r"supervisors\[1\]: already the name of supervisors\[0\]"),
        ([], {}, r"supervisors: name at least one"),
        (["a", "b"], np.zeros((3, 3)), r"latencies: must have the shape \(2, 2\) \(got shape \(3, 3\)\)"),
        (["a", "b"], np.array([[0.0, -2.0], [1.0, 0.0]]), r"latencies\[0, 1\]: must be finite seconds.*a → b: -2.0"),
        (["a", "b"], np.full((2, 2), np.nan), r"supervisors\[1\]: has no measured latency"),
        (["a", "b"], lambda source, target: -1.0, r"latency\('[ab]', '[ab]'\): must be finite seconds.*got -1.0"),
    ],
)
def test_bad_measurements_are_refused_with_their_place(supervisors: list[str], latencies: Any, message: str) -> None:
    with pytest.raises(InvalidInstanceError, match=message):
        estimate_latencies(supervisors, latencies)


def test_all_faults_come_at_once() -> None:
    with pytest.raises(InvalidInstanceError) as raised:
        estimate_latencies(["a", "b"], [("a", "x", -1.0), ("y", "b", 1.0)])
    assert len(raised.value.faults) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"dimension": 0},
        {"peers": 0, "kept": 0},
        {"kept": 17},
        {"rounds": 0},
        {"force": 2.0},
        {"jitter": 1.0},
        {"moves": 0},
        {"least_move": -1.0},
        {"noise": float("nan")},
    ],
)
def test_parameters_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInstanceError, match=next(iter(wrong))):
        SpringParameters(**wrong)


def test_a_supervisor_alone_has_nothing_to_measure() -> None:
    assert estimate_latencies(["a"], {}).delay.tolist() == [[0.0]]
    assert len(estimate_latencies(["a"], lambda source, target: 1.0).network().nodes) == 1


def test_a_matrix_known_in_one_direction_serves_both() -> None:
    known = np.array([[0.0, 0.01, np.nan], [np.nan, 0.0, 0.02], [np.nan, np.nan, 0.0]])
    assert estimate_latencies(["a", "b", "c"], known).delay[[1, 2], [0, 1]].tolist() == [0.01, 0.02]


def test_what_is_no_file_of_regions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[..., Path]
) -> None:
    monkeypatch.delenv("EDRP_DATA", raising=False)
    with pytest.raises(InvalidInstanceError, match="--data DIR, or EDRP_DATA"):
        aws_delays()
    with pytest.raises(InvalidInstanceError, match="there is no such file"):
        aws_delays(tmp_path)
    write("regions", AWS_FILE)
    with pytest.raises(InvalidInstanceError, match="is no graph in GraphML"):
        aws_delays(tmp_path)
    head = (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key attr.name="latency" attr.type="double" for="edge" id="d"/>'
    )
    one_way = '<edge source="x" target="y"><data key="d">10</data></edge>'
    write(f'{head}<graph edgedefault="directed"><node id="x"/><node id="y"/>{one_way}</graph></graphml>', AWS_FILE)
    with pytest.raises(InvalidInstanceError, match=r"edge: must have a latency in milliseconds.*got y → x"):
        aws_delays(tmp_path)
    for odd in ("fast", "", 10**400, "1e400", -1.0, math.inf):
        nx.write_graphml(nx.DiGraph([("x", "y", {"latency": odd}), ("y", "x", {"latency": "14.0"})]), tmp_path / AWS_FILE)
        with pytest.raises(InvalidInstanceError, match=r"edge: must have a latency in milliseconds.*got x → y"):
            aws_delays(tmp_path)
    both = one_way + '<edge source="y" target="x"><data key="d">14</data></edge>'
    write(f'{head}<graph edgedefault="directed"><node id="x"/><node id="y"/>{both}</graph></graphml>', AWS_FILE)
    names, delay = aws_delays(tmp_path)
    assert (names, delay.tolist()) == (("x", "y"), [[0.0, 0.006], [0.006, 0.0]])


def test_report_by_rounds() -> None:
    console = Console(record=True, width=160, file=StringIO())
    found = run(console, seeds=2)
    assert {errors.shape for errors in found.values()} == {(2, 10)}
    text = console.export_text()
    assert text.count("holds:") == 2
    assert "does not hold" not in text
