"""First-fit decreasing and host selection for snapshots of enactment: by hand, against brute force, and where limits bind."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from edrp.check_problems.enactment.problems import brute_force_enactment
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.datasets.families.enactment.enactment_families import random_enactment_problem
from edrp.enactment.containers import ContainerOperator, Host, HostType
from edrp.enactment.snapshot import EnactmentProblem
from edrp.heuristics.enactment.host_packing import Packing, PricedSizes
from edrp.heuristics.enactment.methods import METHODS

RULES = [method for method in METHODS if "enactment" in method.kinds]
FIRST_FIT, SELECTION = RULES
SMALL = {"name": "small", "resources": {"cpu": 4, "memory": 8}, "price": 1.0, "billing_time": 600.0}
NO_FILLING = {"free_resources": 0.0}


def needing(instances: int, name: str = "a", cpu: float = 1, memory: float = 2, **fields: Any) -> dict[str, Any]:
    """An operator whose load keeps `instances` instances busy: half a second per item."""
    described = {"name": name, "processing_duration": 0.5, "external_rate": 2.0 * instances}
    return {**described, "resources": {"cpu": cpu, "memory": memory}, **fields}


def make_problem(*operators: dict[str, Any], types: tuple[dict[str, Any], ...] = (SMALL,), **fields: Any) -> EnactmentProblem:
    return EnactmentProblem(application={"operators": operators}, host_types=types, **fields)


def solved(method: Method, problem: EnactmentProblem, **parameters: Any) -> Answer:
    return method.run(problem, Options(parameters=parameters))


def contents(answer: Answer) -> list[tuple[str, dict[str, int]]]:
    return [(host.type, host.instances) for host in answer.decision]


@pytest.mark.parametrize("method", RULES, ids=lambda method: method.name)
def test_answers_are_feasible_where_any_is_and_never_better_than_the_optimum(method: Method) -> None:
    """Sixty small problems of every kind; nine in ten answers are within a quarter of the optimum."""
    gaps = []
    for seed in range(60):
        problem = random_enactment_problem(seed)
        optimum, _ = brute_force_enactment(problem)
        answer = solved(method, problem)
        assert (answer.status == "feasible") == (optimum is not None), (seed, answer.notes)
        if optimum is not None:
            evaluation = problem.evaluate(answer.decision)
            assert evaluation.feasible
            assert evaluation.objective == pytest.approx(answer.objective)
            assert evaluation.objective >= optimum - 1e-9
            gaps.append(evaluation.objective / optimum - 1 if optimum > 1e-9 else 0.0)
    assert np.quantile(gaps, 0.9) <= 0.25


@pytest.mark.parametrize("method", RULES, ids=lambda method: method.name)
def test_a_thousand_instances_are_placed_on_few_hosts(method: Method) -> None:
    """Memory binds: 1100 instances of 2 GB in 8 GB need 275 hosts, and no host is wasted."""
    problem = make_problem(needing(600, "a", 1), needing(300, "b", 0.5), needing(200, "c", 0.25))
    answer = solved(method, problem)
    assert (answer.status, len(answer.decision)) == ("feasible", 275)
    assert sum(sum(host.instances.values()) for host in answer.decision) == 1100


@pytest.mark.parametrize("method", RULES, ids=lambda method: method.name)
def test_where_nothing_can_fit_nothing_is_held_and_a_note_says_what_is_left(method: Method) -> None:
    answer = solved(method, make_problem(needing(5), types=({**SMALL, "limit": 1},)))
    assert (answer.status, answer.decision) == ("none", None)
    assert answer.notes == ("no room for 1 of a",)
    few = solved(method, make_problem(needing(5, max_instances=3)))
    assert few.status == "none"
    assert "max_instances of a" in few.notes[0]


def test_first_fit_decreasing_places_the_largest_first_on_the_first_host_with_room() -> None:
    """Shares of a host: 5/8, 1/2, 1/4; with `big` there is room for one of each, with two of `half` for none."""
    operators = (needing(2, "quarter", 1, 1), needing(3, "half", 2, 2), needing(1, "big", 1, 5))
    answer = solved(FIRST_FIT, make_problem(*operators, weights=NO_FILLING))
    assert contents(answer) == [("small", {"quarter": 1, "half": 1, "big": 1}), ("small", {"half": 2}), ("small", {"quarter": 1})]


def test_host_types_are_leased_by_price_per_instance_within_their_limits_and_candidates() -> None:
    wide = {**SMALL, "name": "wide", "resources": {"cpu": 8, "memory": 16}, "price": 1.8}
    answer = solved(FIRST_FIT, make_problem(needing(16), types=(SMALL, wide), weights=NO_FILLING))
    assert contents(answer) == [("wide", {"a": 8})] * 2
    answer = solved(FIRST_FIT, make_problem(needing(16), types=(SMALL, {**wide, "limit": 1}), weights=NO_FILLING))
    assert contents(answer) == [("wide", {"a": 8}), *[("small", {"a": 4})] * 2]
    answer = solved(FIRST_FIT, make_problem(needing(4, candidates=["small"]), types=(SMALL, wide), weights=NO_FILLING))
    assert contents(answer) == [("small", {"a": 4})]


def test_room_that_is_paid_for_is_filled_and_only_where_free_resources_count() -> None:
    """One instance is needed, three more fit on its host; none may be added at the operator's maximum."""
    filled = solved(FIRST_FIT, make_problem(needing(1)))
    assert (contents(filled), filled.objective) == ([("small", {"a": 4})], 1.0)
    assert contents(solved(FIRST_FIT, make_problem(needing(1)), extra=False)) == [("small", {"a": 1})]
    assert contents(solved(FIRST_FIT, make_problem(needing(1), weights=NO_FILLING))) == [("small", {"a": 1})]
    assert contents(solved(FIRST_FIT, make_problem(needing(1, max_instances=2)))) == [("small", {"a": 2})]


@pytest.mark.parametrize("method", RULES, ids=lambda method: method.name)
@pytest.mark.parametrize(("penalty", "hosts"), [(0.001, 1), (0.0021, 3)])
def test_hosts_are_leased_for_what_waits_where_that_costs_less_than_being_late(
    method: Method, penalty: float, hosts: int
) -> None:
    """An instance serves 120 items a minute, a host 480, which are worth a host of price 1 above 0.00208 each; 1440 wait."""
    problem = make_problem(needing(1), queues={"a": 1320.0}, penalty=penalty, weights=NO_FILLING)
    answer = solved(method, problem)
    assert len(answer.decision) == hosts
    assert problem.evaluate(answer.decision).metrics["violations"] == (960.0 if hosts == 1 else 0.0)


def test_of_those_who_wait_the_most_items_per_room_come_first() -> None:
    """Room for two: `slow` serves 60 items in a minute, `fast` 600."""
    slow = needing(1, "slow", 1, 2) | {"processing_duration": 1.0, "external_rate": 1.0}
    fast = needing(1, "fast", 1, 2) | {"processing_duration": 0.1, "external_rate": 10.0}
    problem = make_problem(slow, fast, types=({**SMALL, "limit": 1},), queues={"slow": 300.0, "fast": 900.0}, weights=NO_FILLING)
    assert contents(solved(FIRST_FIT, problem)) == [("small", {"slow": 1, "fast": 3})]


def test_tight_limits_need_operators_with_few_places_first_or_balance() -> None:
    """`picky` runs on one type only, which `free` would fill; and two hosts for three operators that must be mixed."""
    other = {**SMALL, "name": "other", "limit": 1, "price": 2.0}
    picky = make_problem(
        needing(4, "free"), needing(4, "picky", 1, 1.9, candidates=["small"]), types=({**SMALL, "limit": 1}, other)
    )
    assert solved(FIRST_FIT, picky).status == "feasible"
    pair = {**SMALL, "limit": 2, "resources": {"cpu": 1.7, "memory": 1.8}}
    mixed = make_problem(needing(2, "x", 0.7, 0), needing(2, "y", 0.6, 0.4), needing(2, "z", 0.35, 0.57), types=(pair,))
    for method in RULES:
        assert [Counter(inside) for _, inside in contents(solved(method, mixed))] == [Counter("xyz")] * 2


def test_host_selection_keeps_what_runs_and_adds_by_balance_unless_the_image_is_elsewhere() -> None:
    """With the new instance, `a` has 1/4 of its CPU and 1/2 of its memory left, `b` 3/4 of both."""
    a, b = Host(name="a", type="small", instances={"old": 1}), Host(name="b", type="small", instances={"light": 1})
    operators = (needing(1, "old", 2, 2), needing(1, "light", 0, 0), needing(1, "new", 1, 2))
    problem = make_problem(*operators, current=(a, b), weights={"host_cost": 0.0, "free_resources": 0.0})
    assert contents(solved(SELECTION, problem)) == [("small", {"old": 1}), ("small", {"light": 1, "new": 1})]
    lean, image = b.replace(instances={"light": 1, "old": 1}), a.replace(images=("new",), instances={"light": 1, "heavy": 1})
    operators = (*operators[:2], needing(1, "heavy", 2, 0.5), operators[2])
    problem = make_problem(*operators, current=(lean, image), weights={"host_cost": 0.0, "free_resources": 0.0})
    assert contents(solved(SELECTION, problem))[1] == ("small", {"light": 1, "heavy": 1, "new": 1})
    assert contents(solved(SELECTION, problem.replace(current=(lean, image.replace(images=())))))[0][1]["new"] == 1


def test_host_selection_gives_hosts_up_with_what_is_not_needed_and_moves_the_rest() -> None:
    current = (Host(name="a", type="small", instances={"a": 3}, images=("a",)), Host(name="b", type="small", instances={"a": 3}))
    answer = solved(SELECTION, make_problem(needing(4), current=current))
    assert answer.decision == (Host(name="b", type="small", instances={"a": 4}),)
    stays = solved(SELECTION, make_problem(needing(5), current=current))
    assert contents(stays) == [("small", {"a": 3})] * 2


def test_host_selection_mends_what_breaks_limits() -> None:
    """Too many hosts of a type, too many instances, an operator where it may not be, and a host that is too full."""
    two = {**SMALL, "limit": 2}
    other = {**SMALL, "name": "other", "price": 5.0}
    current = (
        Host(name="full", type="small", instances={"a": 6}),
        Host(name="spare", type="small", instances={"a": 1}),
        Host(name="third", type="small", instances={"a": 2}),
        Host(name="wrong", type="other", instances={"b": 1}),
    )
    problem = make_problem(
        needing(4, max_instances=5),
        needing(1, "b", candidates=["small"]),
        types=(two, other),
        current=current,
        weights=NO_FILLING,
    )
    answer = solved(SELECTION, problem)
    assert answer.status == "feasible"
    assert all(kind == "small" for kind, _ in contents(answer))
    assert sum((Counter(inside) for _, inside in contents(answer)), Counter()) == Counter(a=5, b=1)


def test_names_of_hosts_that_run_are_kept_and_not_given_twice() -> None:
    current = (Host(name="host-1", type="small", instances={"a": 4}), Host(name="host-3", type="small", instances={"a": 4}))
    answer = solved(SELECTION, make_problem(needing(15), current=current))
    assert [host.name for host in answer.decision] == ["host-1", "host-3", "host-2", "host-4"]


def test_operators_are_sorted_by_the_share_of_the_roomiest_host() -> None:
    """0.5 of the CPU of `small`, 0.25 of that of `wide`, which may not run the last."""
    operators = [
        ContainerOperator(name="lean", processing_duration=1, resources={"cpu": 1}),
        ContainerOperator(name="half", processing_duration=1, resources={"cpu": 2}),
        ContainerOperator(name="bound", processing_duration=1, resources={"cpu": 1.5}, candidates=("small",)),
    ]
    types = [HostType(name=name, resources={"cpu": cpu}, price=1, billing_time=600) for name, cpu in (("small", 4), ("wide", 8))]
    sizes = PricedSizes.priced(operators, types)
    assert [operators[index].name for index in sizes.decreasing()] == ["bound", "half", "lean"]
    assert sizes.room.tolist() == [[4, 2, 2], [8, 4, 0]]


def test_of_equally_dear_types_the_one_that_leaves_more_room_is_leased() -> None:
    operators = [ContainerOperator(name="a", processing_duration=1, resources={"cpu": 3})]
    types = [HostType(name=name, resources={"cpu": cpu}, price=1, billing_time=600) for name, cpu in (("tight", 4), ("loose", 5))]
    packing = Packing(PricedSizes.priced(operators, types))
    assert packing.first_fit(0, 1) == 0
    assert packing.hosts[0].type == "loose"
