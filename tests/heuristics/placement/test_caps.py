"""CAPS keeps its own rule, finds a placement where there is one, and is never better than what `fixed-tasks` proves."""

from itertools import product

import numpy as np
import pytest

import edrp
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.heuristics.placement.caps import CapsParameters, CapsSearch, load_range, placements_within
from edrp.placement.fixed_tasks import read_fixed_tasks


def query(seed: int, nodes: int, largest: int) -> edrp.EdrpProblem:
    """A chain with a shortcut, whose tasks use two shared resources, on nodes with a slot more than needed."""
    random = np.random.default_rng(seed)
    parallelism = random.integers(1, largest + 1, 3).tolist()
    pairs = [(0, 1, "hash"), (1, 2, "forward"), (0, 2, "rebalance")]
    operators = [
        {"name": f"o{i}", "min_replicas": n, "max_replicas": n, "usage": {"cpu": {"per_replica": random.integers(1, 9)}}}
        for i, n in enumerate(parallelism)
    ]
    streams = [
        {"source": f"o{i}", "target": f"o{j}", "rate": random.integers(1, 9), "partitioning": how, "usage": {"network": 1.0}}
        for i, j, how in pairs
    ]
    slots = -(-sum(parallelism) // nodes) + 1
    return edrp.EdrpProblem(
        application={"operators": operators, "streams": streams},
        network={
            "nodes": [{"name": f"tm{u}", "resources": slots, "capacity": {"cpu": 20, "network": 10}} for u in range(nodes)],
            "between_zones": {"delay": 0.001},
        },
        priorities=[{"metric": "peak_loads.cpu"}, {"metric": "peak_loads.network"}],
    )


def different(placements: np.ndarray) -> set[tuple[tuple[int, ...], ...]]:
    """Placements that are not the same with nodes exchanged."""
    return {tuple(sorted(map(tuple, counts.tolist()))) for counts in placements}


@pytest.mark.parametrize("seed", range(8))
def test_the_search_finds_every_placement_below_its_thresholds_once(seed: int) -> None:
    tasks = read_fixed_tasks(query(seed, 3, 3))
    spreads = [[c for c in product(range(n + 1), repeat=3) if sum(c) == n] for n in tasks.arrays.totals.tolist()]
    every = np.array([np.transpose(counts) for counts in product(*spreads)])
    lowest, highest = load_range(tasks)
    for alpha in ([1.0, 1.0], [0.3, 1.0], [1.0, 0.4], [0.4, 0.5], [0.0, 0.0]):
        upper = lowest + alpha * (highest - lowest)
        below = [(tasks.loads(counts) <= upper * (1 + 1e-9)).all() for counts in every]
        room = [(counts @ tasks.arrays.demand <= tasks.room * (1 + 1e-9)).all() for counts in every]
        expected = different(every[np.array(below) & np.array(room)])
        found = placements_within(tasks, np.array([2, 0, 1]), upper, 10_000, 10**7)
        assert different(found) == expected
        assert len(found) == len(expected)


@pytest.mark.parametrize("seed", range(6))
def test_the_placement_keeps_its_thresholds_which_could_not_be_lower(seed: int) -> None:
    """Before α were raised the last time nothing was found; if they never were, none can be lower by the granularity, alone."""
    tasks = read_fixed_tasks(query(seed, 4, 6))
    search = CapsSearch(tasks, CapsParameters(relaxation=0.2))
    search.run()
    assert search.counts is not None
    assert (tasks.loads(search.counts) <= search.thresholds(search.alpha) * (1 + 1e-9)).all()
    assert search.counts.sum(axis=0).tolist() == tasks.arrays.totals.tolist()

    def possible(alpha: np.ndarray) -> bool:
        return len(placements_within(tasks, search.order, search.thresholds(alpha), 1, 10**7)) > 0

    lower_alone = [np.where(np.arange(2) == k, search.alpha - 0.01, 1.0) for k in range(2)]
    assert not possible(search.alpha / 1.2) or not any(map(possible, lower_alone))


@pytest.mark.parametrize("seed", range(6))
def test_no_peak_is_below_its_proven_least(seed: int) -> None:
    problem = query(seed, 4, 6)
    ours = edrp.solve(problem, "caps", seed=3)
    assert ours.status == "feasible"
    assert ours.notes[0].startswith("CAPS took thresholds α = cpu ")
    for peak in ("cpu", "network"):
        alone = problem.replace(priorities=[], weights={"peak_loads": {peak: 1.0}})
        least = edrp.solve(alone, "fixed-tasks")
        assert least.status == "optimal"
        assert ours.metrics[f"peak_loads.{peak}"] >= least.metrics[f"peak_loads.{peak}"] * (1 - 1e-9)


def test_given_thresholds_are_not_tuned() -> None:
    problem = query(1, 4, 6)
    solution = edrp.solve(problem, "caps", thresholds="cpu=0.9", plans=1)
    assert solution.status == "feasible"
    assert solution.notes == ("CAPS took thresholds α = cpu 0.9, network 1",)


def test_below_thresholds_that_nothing_keeps_there_is_no_placement() -> None:
    solution = edrp.solve(query(1, 4, 6), "caps", thresholds="cpu=0,network=0")
    assert (solution.status, solution.deployment) == ("none", None)
    assert solution.notes == ("CAPS found no placement below thresholds α = cpu 0, network 0",)


def test_a_search_that_is_given_up_holds_nothing() -> None:
    assert edrp.solve(query(1, 4, 6), "caps", steps=3).status == "none"


def test_a_limit_that_caps_does_not_know_is_named_where_it_is_broken() -> None:
    problem = query(1, 4, 6)
    least = edrp.solve(problem, "fixed-tasks").stages[0].value
    narrow = problem.replace(limits={"peak_loads": {"cpu": least}})
    solution = edrp.solve(narrow, "caps", thresholds="cpu=1,network=0.3", plans=1)
    assert solution.status == "none"
    assert "caps breaks limits.peak_loads.cpu" in solution.notes[-1]


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"thresholds": "cpu"}, "must be of the form resource=number"),
        ({"thresholds": "cpu=1.5"}, "the threshold of cpu must be from 0 to 1"),
        ({"thresholds": "disk=0.5"}, "thresholds: names no shared resource of this problem; there are .*got disk"),
        ({"by": "cpus"}, "did you mean 'cpu'"),
        ({"granularity": 0}, "granularity: must be above 0"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidInstanceError, match=why):
        edrp.solve(query(1, 4, 6), "caps", **parameters)


def test_open_numbers_of_replicas_are_refused() -> None:
    problem = query(1, 4, 6)
    first, *others = problem.application.operators
    more = problem.application.replace(operators=[first.replace(max_replicas=9), *others])
    with pytest.raises(UnsupportedProblemError, match="caps takes given numbers"):
        edrp.solve(problem.replace(application=more), "caps")
