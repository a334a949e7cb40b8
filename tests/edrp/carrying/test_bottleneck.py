"""What one unit more carries, against enumeration of the changed problem."""

import json
import math

import pytest
from growing_loads import random_growing_load

import edrp
from edrp.check_problems.placement.enumeration import deployments
from edrp.placement.throughput import GrowingLoad

GAP = 3e-5
SEEDS = (5, 7, 14, 15, 20, 28, 39, 40, 55, 107)
MORE_SEEDS = (9, 17, 18, 23, 25, 27, 29, 31, 33, 35, 37, 43, 46, 48, 49, 54, 56, 58, 61, 62, 63, 64, 68, 71, 73, 78, 81, 83)
"""Of small problems: at most some hundred deployments with a change."""


def most_carried(problem: edrp.EdrpProblem) -> float | None:
    """The largest multiple of all deployments; None where none is feasible at rate 0."""
    load = GrowingLoad(problem)
    multiples = [load.carried(deployment).multiple for deployment in deployments(problem)]
    return max((multiple for multiple in multiples if multiple is not None), default=None)


def changed(problem: edrp.EdrpProblem, place: str, kind: str) -> edrp.EdrpProblem:
    """The problem with the field at a place changed by one unit, as a user would edit the file."""
    document = json.loads(problem.model_dump_json())
    *steps, last = [int(part) if part.isdigit() else part for part in place.replace("[", ".").replace("]", "").split(".")]
    part = document
    for step in steps:
        part = part[step]
    if kind == "rule":
        del part[last]
    elif kind == "limit":
        part[last] = min(1.0, 1.1 * part[last]) if "peak_load" in place else 1.1 * part[last]
    elif kind == "node":
        part.append({**part[last], "name": "another"})
    else:
        part[last] += 1
    return edrp.EdrpProblem.model_validate(document)


@pytest.mark.parametrize("seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MORE_SEEDS)])
def test_every_change_agrees_with_enumeration(seed):
    problem = random_growing_load(seed)
    largest = edrp.largest_rate(problem)
    bottlenecks = edrp.find_bottlenecks(largest, work_limit=1e3)
    assert bottlenecks.gains or largest.status == "unbounded"
    for gain in bottlenecks.gains:
        best = most_carried(changed(problem, gain.change.name, gain.change.kind))
        assert gain.status == ("infeasible" if best is None else "unbounded" if math.isinf(best) else "optimal")
        assert gain.multiple == (None if best is None else pytest.approx(best, rel=GAP)), gain
