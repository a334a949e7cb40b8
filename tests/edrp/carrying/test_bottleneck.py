"""What one unit more carries, against enumeration of the changed problem."""

import json
import math
from functools import reduce
from operator import getitem

import pytest
from growing_loads import most_carried, random_growing_load

import edrp

GAP = 3e-5
SEEDS = (5, 7, 15, 20, 39, 40)
MORE_SEEDS = (9, 14, 17, 18, 23, 25, 27, 28, 29, 31, 33, 35, 37, 43, 46, 48, 49, 54, 55, 56, 58, 61, 62, 63, 64, 68, 71, 107)
"""Of small problems: at most some hundred deployments with a change."""


def changed(problem: edrp.EdrpProblem, place: tuple[str | int, ...]) -> edrp.EdrpProblem:
    """The problem with the field at a place changed by one unit, as a user would edit the file."""
    document = problem.model_dump(mode="json")
    *steps, last = place
    part = reduce(getitem, steps, document)
    if place[0] == "rules":
        del part[last]
    elif place[0] == "limits":
        part[last] *= 1.1
    else:
        part[last] += 1
    return edrp.EdrpProblem(**document)


@pytest.mark.parametrize("seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MORE_SEEDS)])
def test_every_change_agrees_with_enumeration(seed):
    problem = random_growing_load(seed)
    largest = edrp.largest_rate(problem)
    bottlenecks = edrp.find_bottlenecks(largest, work_limit=1e3)
    assert bottlenecks.gains or largest.status == "unbounded"
    for gain in bottlenecks.gains:
        best = most_carried(changed(problem, gain.change.place)).multiple
        assert gain.after.status == ("infeasible" if best is None else "unbounded" if math.isinf(best) else "optimal")
        assert gain.after.multiple == (None if best is None else pytest.approx(best, rel=GAP)), gain


TASK = {"name": "work", "external_rate": 100.0, "max_replicas": 3, "latency": {"model": "mm1", "service_rate": 60.0}}


def two_sites(**changes: object) -> edrp.EdrpProblem:
    """A pipeline on a small node and a far one, with links that are listed."""
    sink = {"name": "sink", "latency": {"model": "mm1", "service_rate": 300.0}, "candidates": ["far"]}
    application = {"operators": [TASK, sink], "streams": [{"source": "work", "target": "sink"}]}
    nodes, link = [{"name": "near", "resources": 1}, {"name": "far", "resources": 2}], {"source": "near", "target": "far"}
    fields = {"application": application, "network": {"nodes": nodes, "links": [{**link, "delay": 0.01}]}}
    return edrp.EdrpProblem(**{**fields, "weights": {"cost": 1.0}, "limits": {"cost": 1.0}, **changes})


def worth(problem: edrp.EdrpProblem) -> dict[str, float | None]:
    """The multiple of each change, by its words."""
    gains = edrp.find_bottlenecks(edrp.largest_rate(problem)).gains
    return {gain.change.words: gain.after.multiple for gain in gains}


def test_every_thing_that_may_be_scarce_grows_by_one():
    gains = worth(two_sites())
    assert gains["one more unit of resources on node near"] == pytest.approx(1.8)
    assert gains["one more unit of resources on node far"] == pytest.approx(1.8)
    assert gains["one more replica of sink (up to 2)"] == pytest.approx(1.2)


def test_of_nodes_that_are_alike_one_is_changed_and_large_amounts_grow_by_a_tenth():
    nodes = [{"name": f"host{u}", "resources": {"memory": 8e9}} for u in range(4)]
    operators = [{**TASK, "max_replicas": 9, "resources": {"memory": 4.2e9}}]
    problem = two_sites(application={"operators": operators}, network={"nodes": nodes})
    assert worth(problem) == {
        "8e+08 more memory on node host0, or any of 3 alike": pytest.approx(3.0),
        "one more replica of work (up to 10)": pytest.approx(2.4),
        "relaxing limits.cost to 1.1 money/h": pytest.approx(2.4),
    }


def test_without_work_nothing_is_claimed():
    bottlenecks = edrp.find_bottlenecks(edrp.largest_rate(two_sites()), work_limit=1e-9)
    assert not any(gain.helps or gain.after.status == "optimal" for gain in bottlenecks.gains if gain.after.bound is None)
    assert "it is not known within the work limit" in " ".join(bottlenecks.summary())


def test_what_makes_an_infeasible_problem_feasible_is_found():
    rule = {"rule": "apart", "name": "apart", "operators": ["work", "sink"]}
    largest = edrp.largest_rate(two_sites(network={"nodes": [{"name": "far", "resources": 2}]}, rules=[rule]))
    bottlenecks = edrp.find_bottlenecks(largest)
    assert largest.status == "infeasible"
    assert {gain.change.words for gain in bottlenecks.helpful} == {"dropping rule 'apart'"}
    assert all(gain.after.status == "infeasible" for gain in bottlenecks.gains if not gain.helps)


def test_the_command_prints_writes_and_draws_the_gains(run, examples, tmp_path):
    out, page = tmp_path / "answer.json", tmp_path / "page.html"
    shown = run("carry", examples / "ray_data.json", "--what-if", "--out", out, "--page", page).ended(0)
    assert "one more cpu on node cluster carries 333.333 tuples/s, +1.19 %" in shown.out
    gains = json.loads(out.read_text())["gains"]
    assert gains[0]["place"] == "network.nodes[0].resources.cpu"
    assert {(gain["status"], gain["multiple"] > gains[1]["multiple"]) for gain in gains[1:]} == {("optimal", False)}
    assert "What one unit more carries" in page.read_text()
