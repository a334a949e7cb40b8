"""Goals in order over replicas without streams: against a direct program, a greedy and a verifier of its own; what is refused."""

from collections import Counter
from itertools import accumulate

import numpy as np
import pytest
from assignments import assignment_document, enumerated_values, goals_of, random_assignment
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

import edrp
from edrp.core.errors import UnsupportedProblemError

METHOD = "ordered-flow"


def middle_assignment(seed: int) -> dict:
    """Tens of partitions on a cluster that has grown: nothing runs on its last servers."""
    random = np.random.default_rng(seed)
    racks, copies = int(random.integers(2, 5)), 2
    copies = int(random.integers(2, min(3, racks) + 1))
    servers = int(random.integers(2 * racks, 13))
    rack = [server % racks for server in range(servers)]
    old, partitions = max(racks, servers * 2 // 3), []
    for _ in range(int(random.integers(10, 31))):
        chosen = [int(random.choice([s for s in range(old) if rack[s] == r])) for r in random.permutation(racks)[:copies]]
        partitions.append({"bytes": int(random.integers(1, 21)), "load": 1, "current": chosen})
    return {"rack": rack, "copies": copies, "leaders": bool(random.random() < 0.7), "partitions": partitions}


def direct_values(case: dict) -> list[int]:
    """Values of the goals by SciPy, one program after the other: x[p, s] for leaders, for followers, and deviations by server."""
    rack, parts, copies = np.array(case["rack"]), case["partitions"], case["copies"]
    count, servers = len(parts), len(rack)
    size, leading = count * servers, 1 if case["leaders"] else copies
    kinds = 2 if case["leaders"] else 1
    one = np.arange(size).reshape(count, servers)
    rows, lower, upper = [], [], []

    width = kinds * (size + servers)

    def add(cells, low, high, deviation=None):
        row = np.zeros(width)
        row[np.ravel(cells)] = 1
        if deviation is not None:
            row[deviation[0]] = deviation[1]
        rows.append(row)
        lower.append(low)
        upper.append(high)

    for p in range(count):
        for kind, number in ((0, leading), (1, copies - 1))[:kinds]:
            add(one[p] + kind * size, number, number)
        for r in set(rack.tolist()):
            add([one[p, rack == r] + kind * size for kind in range(kinds)], 0, 1)
    goals = []
    for goal, total in ((0, count * copies), (1, count))[:kinds]:
        cost, mean = np.zeros(width), total / servers
        for s in range(servers):
            cells, column = [one[:, s] + k * size for k in range(1 if goal else kinds)], kinds * size + goal * servers + s
            add(cells, -np.inf, mean, (column, -1))
            add(cells, mean, np.inf, (column, 1))
            cost[column] = 1
        goals.append((cost, 1 / servers))
    away = np.array([[s not in part["current"] for s in range(servers)] for part in parts], float)
    for per_move in (np.array([part["bytes"] for part in parts], float), np.ones(count)):
        goals.append((np.append(np.tile((per_move[:, None] * away).ravel(), kinds), np.zeros(kinds * servers)), 1.0))
    if case["leaders"]:
        cost = np.zeros(width)
        cost[one[np.arange(count), [part["current"][0] for part in parts]]] = -1
        goals.append((cost, 1.0))
    values, bounds = [], Bounds(0, np.append(np.ones(kinds * size), np.full(kinds * servers, np.inf)))
    whole = np.append(np.ones(kinds * size), np.zeros(kinds * servers))
    for cost, step in goals:
        constraint = LinearConstraint(sparse.csr_array(np.array(rows)), lower, upper)
        best = milp(cost, constraints=constraint, bounds=bounds, integrality=whole, options={"mip_rel_gap": 0.0})
        assert best.success
        values.append(step * round(best.fun / step))
        rows.append(cost)
        lower.append(-np.inf)
        upper.append(values[-1] + step / 2)
    return [*values[: kinds + 2], *(count + value for value in values[kinds + 2 :])]


def check_against_direct_program(seed: int) -> None:
    case = middle_assignment(seed)
    problem = edrp.EdrpProblem.model_validate(assignment_document(case, "deviation", goals_of(case)))
    solution = edrp.solve(problem, METHOD)
    assert solution.status == "optimal"
    assert [outcome.value for outcome in solution.stages] == pytest.approx(direct_values(case), abs=1e-9)
    for outcome in solution.stages:
        assert outcome.proven
        assert outcome.bound == outcome.value == pytest.approx(solution.metrics[outcome.metric], abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_every_stage_is_that_of_a_direct_program(seed):
    check_against_direct_program(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 200))
def test_every_stage_is_that_of_a_direct_program_in_many_cases(seed):
    check_against_direct_program(seed)


def check_against_enumeration(seed: int) -> None:
    case = random_assignment(seed)
    for by in ("deviation", "max", "skew"):
        problem = edrp.EdrpProblem.model_validate(assignment_document(case, by, goals_of(case)))
        solution = edrp.solve(problem, METHOD)
        assert solution.status == "optimal"
        assert [outcome.value for outcome in solution.stages] == pytest.approx(enumerated_values(case, by)[0], rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("seed", (*range(6), 21))  # 21: a bound on the largest load that no whole number reaches
def test_every_stage_is_that_of_an_enumeration(seed):
    check_against_enumeration(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 300))
def test_every_stage_is_that_of_an_enumeration_in_many_cases(seed):
    check_against_enumeration(seed)
