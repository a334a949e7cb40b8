"""Known sequences of migrations: proven by brute force, by each way against the others, and within bounds and time."""

from itertools import pairwise

import numpy as np
import pytest

from edrp import _native
from edrp.check_problems.migration.problems import brute_force_sequence
from edrp.core.errors import ProblemTooLargeError
from edrp.core.methods import Options
from edrp.mdp.partitions import Tasks, enumerate_partitions, gain_between, sample_partitions
from edrp.mdp.sequence import method
from edrp.mdp.sequence.course import Course, enumerate_path
from edrp.mdp.sequence.method import Oms, OmsParameters, search_by_prices
from edrp.mdp.sequence.path_heuristic import PartitionPools, greedy_path, improved_path, search_path
from edrp.mdp.sequence.price_relaxation import (
    PairChoices,
    PairSide,
    PlacePairs,
    PriceRelaxation,
)
from edrp.mdp.trie import Trie
from edrp.migration.intervals import load_limit
from edrp.migration.sequence import MigrationSequence

WAYS = ("auto", "enumerated", "prices", "heuristic")


def small_sequences(count: int, seed: int):
    """Up to seven tasks and four steps; constant or changing loads, zeros, ties, idle and shuffled nodes."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        m, steps, before = (int(generator.integers(1, high)) for high in (8, 5, 4))
        cuts = [0, *np.sort(generator.integers(0, m + 1, before - 1)).tolist(), m]
        intervals = [[a, b] for a, b in pairwise(cuts)]
        generator.shuffle(intervals)
        whole, changing = generator.integers(2), generator.integers(3)

        def draw(shape, whole=whole):
            return (generator.integers(0, 4, shape).astype(float) if whole else generator.random(shape)).tolist()

        yield MigrationSequence(
            work=draw((steps, m) if changing else m),
            state_size=draw((steps, m) if changing == 1 else m),
            intervals=intervals,
            nodes=generator.integers(1, 5, steps).tolist(),
            tolerance=generator.choice([0.2, 0.5, 1.2, 3.0], steps).tolist(),
            allow_empty=bool(generator.integers(2)),
        )


def skewed_course(seed: int, tasks: int, counts: tuple[int, int], steps: int, tolerance: float) -> Course:
    """A random walk of the number of nodes under skewed work."""
    generator = np.random.default_rng(seed)
    work = generator.lognormal(0.0, 0.5, tasks)
    loads = Tasks.of(work, work * generator.uniform(0.5, 1.5, tasks))
    nodes = [int(generator.integers(counts[0], counts[1] + 1))]
    while len(nodes) <= steps:
        step = int(np.clip(nodes[-1] + generator.integers(-3, 4), *counts))
        if step != nodes[-1]:
            nodes.append(step)
    limit = load_limit(work.sum(), nodes[0], tolerance)
    start = sample_partitions(loads.work_before, nodes[0], limit, False, 1, generator)[0].astype(np.int64)
    return Course.constant(loads, start, nodes[1:], [tolerance] * steps, allow_empty=False)


def table_3() -> MigrationSequence:
    return MigrationSequence(
        work=[1] * 20, state_size=[1] * 20, intervals=[[0, 13], [13, 20]], nodes=[3, 4], tolerance=[0.4, 0.4]
    )


def test_every_way_agrees_with_brute_force() -> None:
    """Answers are feasible, bounds hold, and what claims to be optimal is."""
    proven = infeasible = 0
    for problem in small_sequences(150, 0):
        least = brute_force_sequence(problem)
        for way in WAYS:
            answer = Oms().run(problem, Options(parameters={"way": way, "starts": 2, "patience": 2}))
            if least is None:
                assert answer.status == "infeasible"
                infeasible += 1
                continue
            evaluation = problem.evaluate(answer.decision)
            assert evaluation.feasible, evaluation.broken
            assert evaluation.objective == pytest.approx(answer.objective, abs=1e-12)
            assert answer.bound <= least + 1e-9
            assert answer.objective >= least - 1e-9
            if answer.status == "optimal":
                assert answer.objective == pytest.approx(least, abs=1e-8)
                proven += 1
            else:
                assert way == "heuristic"
    assert proven > 200
    assert infeasible > 20


@pytest.mark.parametrize("way", WAYS)
def test_table_3_takes_six(way: str) -> None:
    """The paper prints 9 for its sequence and 10 for greedy steps; greedy takes 6 to 8, by its luck with ties."""
    answer = Oms().run(table_3(), Options(parameters={"way": way}))
    assert answer.objective == 6.0
    course = Course.of(table_3())
    assert 6.0 <= course.costs(greedy_path(course)).sum() <= 8.0
    assert course.costs([np.array([0, 9, 11, 20]), np.array([0, 6, 12, 14, 20])]).tolist() == [4.0, 6.0]


def test_pairs_of_classes_are_searched_completely() -> None:
    """The least pair, its intervals, and the least pair with each interval, against all pairs."""
    generator = np.random.default_rng(1)
    compared = 0
    for _ in range(250):
        m = int(generator.integers(1, 8))
        tasks = Tasks.of(generator.random(m), generator.integers(0, 4, m) if generator.integers(2) else generator.random(m))
        allow_empty = bool(generator.integers(2))
        classes = [(int(generator.integers(1, 6)), tasks.work.sum() * generator.choice([0.5, 0.7, 1.1])) for _ in range(2)]
        left, right = (Trie.of(tasks.work_before, *parameters, allow_empty) for parameters in classes)
        if left.count * right.count == 0:
            continue
        prices = [0.3 * generator.normal(size=trie.arc_target.size) for trie in (left, right)]
        pairs = PlacePairs.of(PairSide.of(left), PairSide.of(right))
        room = PairChoices.room(pairs.count)
        least = _native.least_pair(pairs, *prices, tasks.state_before, room)
        rows = [enumerate_partitions(tasks.work_before, *parameters, allow_empty).astype(np.int64) for parameters in classes]
        arcs = [_native.path_arcs(trie, np.arange(trie.count)) for trie in (left, right)]
        gains = np.array([[gain_between(tasks.state_before, a, b) for b in rows[1]] for a in rows[0]])
        paid = [price[arc].sum(axis=1) for price, arc in zip(prices, arcs, strict=True)]
        costs = tasks.state_before[-1] - gains + paid[0][:, None] + paid[1][None]
        assert least == pytest.approx(costs.min(), abs=1e-9)
        found = np.zeros(left.nodes, np.int64), np.zeros(right.nodes, np.int64)
        _native.trace_pair(pairs, room, *found)
        index = tuple(int(np.flatnonzero((a == f).all(axis=1))[0]) for a, f in zip(arcs, found, strict=True))
        assert costs[index] == pytest.approx(least, abs=1e-9)
        minima = [np.empty(price.size) for price in prices]
        _native.arc_minima(pairs, *prices, tasks.state_before, room, np.empty((pairs.count, 2)), *minima)
        for side in range(2):
            expected = np.full(prices[side].size, np.inf)
            for row, value in enumerate(costs.min(axis=1 - side)):
                expected[arcs[side][row]] = np.minimum(expected[arcs[side][row]], value)
            np.testing.assert_allclose(minima[side], expected, atol=1e-9)
        compared += 1
    assert compared > 80


@pytest.mark.parametrize("seed", range(4))
def test_prices_prove_what_enumeration_finds(seed: int) -> None:
    """On sequences where both can work; bounds rise and never pass the optimum."""
    course = skewed_course(seed, 32, (4, 7), 8, 0.3)
    optimum, path = enumerate_path(course)
    assert course.costs(path).sum() == pytest.approx(optimum)
    relaxation = PriceRelaxation(course, seed=seed)
    bounds = [relaxation.bound]
    for _ in range(6):
        relaxation.ascend()
        bounds.append(relaxation.bound)
    assert (np.diff(bounds) >= -1e-9).all()
    assert 0.8 * optimum < bounds[-1] <= optimum + 1e-9
    assert relaxation.forbid(1.001 * optimum)
    assert not relaxation.forbid(0.5 * bounds[-1])
    cost, found = search_path(course, PartitionPools(course), starts=5, seed=seed)
    assert optimum - 1e-9 <= cost <= 1.1 * optimum
    search = search_by_prices(course, cost, found)
    assert search.proven
    assert search.cost == pytest.approx(optimum)
    assert search.bound == pytest.approx(optimum)


def test_more_partitions_than_can_be_listed() -> None:
    """A billion partitions in eight steps, proven within seconds, whatever the seed and however weak the incumbent."""
    course = skewed_course(1, 48, (6, 12), 8, 1.0)
    assert sum(step.members.count for step in course.steps) > 1e9
    weak = greedy_path(course)
    costs = [search_by_prices(course, float(course.costs(weak).sum()), weak, threads=threads, seed=threads) for threads in (1, 2)]
    assert all(search.proven for search in costs)
    assert costs[0].cost == pytest.approx(costs[1].cost)


def test_listing_what_is_left_finds_better_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a weak incumbent, without any search for better ones in between."""
    monkeypatch.setattr(method, "_improve", lambda *arguments: None)
    course = skewed_course(2, 32, (4, 7), 6, 0.3)
    weak = greedy_path(course)
    search = search_by_prices(course, float(course.costs(weak).sum()), weak)
    assert search.proven
    assert search.cost == pytest.approx(enumerate_path(course)[0])


def test_improvement_never_makes_a_path_worse() -> None:
    course = skewed_course(3, 40, (4, 9), 10, 0.2)
    path = greedy_path(course)
    better = improved_path(course, path)
    assert course.costs(better).sum() <= course.costs(path).sum()
    for step, boundaries in zip(course.steps, better, strict=True):
        work = np.diff(step.members.work_before[boundaries])
        assert work.max() <= step.members.limit
        assert (np.diff(boundaries) > 0).all()


def draw_sequence(course: Course) -> MigrationSequence:
    tasks = course.steps[0].tasks
    return MigrationSequence(
        work=tasks.work.tolist(),
        state_size=tasks.state_size.tolist(),
        intervals=list(pairwise(course.start.tolist())),
        nodes=[step.members.nodes for step in course.steps],
        tolerance=[0.5] * len(course.steps),
        allow_empty=False,
    )


@pytest.mark.slow
def test_a_work_limit_is_kept_and_the_bound_holds() -> None:
    problem = draw_sequence(skewed_course(4, 64, (8, 16), 10, 0.5))
    hasty = Oms().run(problem, Options(work_limit=0.7))
    assert (hasty.status, hasty.stopped_because) == ("feasible", "time_limit")
    assert 0 < hasty.bound < hasty.objective
    assert problem.evaluate(hasty.decision).feasible
    seen: list[tuple[float, float, float]] = []
    patient = Oms().run(problem, Options(gap=0.02, progress=lambda *each: seen.append(each)))
    assert patient.status == "optimal"
    assert hasty.bound <= patient.objective + 1e-9
    assert patient.bound <= hasty.objective
    assert patient.bound >= 0.98 * patient.objective - 1e-9
    assert [cost for _, cost, _ in seen] == sorted((cost for _, cost, _ in seen), reverse=True)
    assert [bound for *_, bound in seen] == sorted(bound for *_, bound in seen)
    again = Oms().run(problem, Options(gap=0.02, start=patient.decision))
    assert again.objective <= patient.objective + 1e-9


def test_interrupts_give_the_best_path_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    problem = table_3()
    for name, way in (("search_path", "prices"), ("enumerate_path", "enumerated")):
        with monkeypatch.context() as patch:
            original = getattr(method, name)
            calls = iter([interrupt])
            patch.setattr(method, name, lambda *a, original=original, calls=calls, **k: next(calls, original)(*a, **k))
            answer = Oms().run(problem, Options(parameters={"way": way}))
        assert (answer.status, answer.stopped_because) == ("feasible", "interrupted")
        assert problem.evaluate(answer.decision).feasible
    monkeypatch.setattr(method, "PriceRelaxation", interrupt)
    answer = Oms().run(problem, Options(parameters={"way": "prices"}))
    assert answer.stopped_because == "interrupted"
    assert answer.bound == 4.0


@pytest.mark.parametrize("wrong", [{"way": "guess"}, {"starts": 0}, {"patience": 0}])
def test_parameters_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="got"):
        OmsParameters(**wrong)


@pytest.mark.slow
def test_more_partitions_than_a_float_can_count() -> None:
    """Neither counting, nor choosing a way, nor the report breaks down; what cannot be listed is refused."""
    problem = MigrationSequence(
        work=[1.0] * 1500, state_size=[1.0] * 1500, intervals=[[0, 750], [750, 1500]], nodes=[600, 610], tolerance=[30.0, 30.0]
    )
    answer = Oms().run(problem, Options(work_limit=1.0))
    assert answer.status == "feasible"
    assert answer.size["partitions"] == 10**18
    assert 0 < answer.bound <= answer.objective
    with pytest.raises(ProblemTooLargeError, match="prove by prices"):
        Oms().run(problem, Options(parameters={"way": "enumerated"}))
