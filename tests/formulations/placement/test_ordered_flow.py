"""Goals in order over replicas without streams: against a direct program, a greedy and a verifier of its own; what is refused."""

import itertools
from collections import Counter

import numpy as np
import pytest
from assignments import assignment, assignment_document, enumerated_values, random_assignment, seeds
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
    moving = (np.array([part["bytes"] for part in parts], float), np.ones(count))
    padding = np.zeros(kinds * servers)
    goals += [(np.append(np.tile((each[:, None] * away).ravel(), kinds), padding), 1.0) for each in moving]
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


@seeds(8, 200)
def test_every_stage_is_that_of_a_direct_program(seed):
    case = middle_assignment(seed)
    solution = edrp.solve(assignment(case), METHOD)
    assert solution.status == "optimal"
    assert [outcome.value for outcome in solution.stages] == pytest.approx(direct_values(case), abs=1e-9)
    for outcome in solution.stages:
        assert outcome.proven
        assert outcome.bound == outcome.value == pytest.approx(solution.metrics[outcome.metric], abs=1e-9)


@seeds(22, 300)  # 21: a bound on the largest load that no whole number reaches
def test_every_stage_is_that_of_an_enumeration(seed):
    case = random_assignment(seed)
    for by in ("deviation", "max", "skew"):
        solution = edrp.solve(assignment(case, by), METHOD)
        assert solution.status == "optimal"
        assert [outcome.value for outcome in solution.stages] == pytest.approx(enumerated_values(case, by), rel=1e-12, abs=1e-9)


def random_cluster(seed: int, servers: int, partitions: int) -> edrp.EdrpProblem:
    """Partitions of bytes with followers on a cluster of which a fifth is new; disks are large enough, but not by much."""
    random = np.random.default_rng(seed)
    racks, copies = int(random.integers(3, 6)), 2
    rack, old = [server % racks for server in range(servers)], servers * 4 // 5
    operators, current, rules = [], {}, []
    for p in range(partitions):
        places = [int(random.choice(range(int(r), old, racks))) for r in random.permutation(racks)[:copies]]
        operators.append(
            {"name": f"p{p}", "min_replicas": copies, "max_replicas": copies, "resources": {"disk": int(random.integers(1, 10))}}
        )
        operators[-1]["state_size"] = copies * 10**9 * operators[-1]["resources"]["disk"]
        current[f"p{p}"] = [f"s{server}" for server in places]
        rules.append({"rule": "apart", "name": f"racks of p{p}", "operators": [f"p{p}"], "per": "zone"})
    used = Counter(
        {f"s{s}": sum(o["resources"]["disk"] for o in operators if f"s{s}" in current[o["name"]]) for s in range(servers)}
    )
    room = max(*used.values(), 2 * sum(used.values()) // servers)
    return edrp.EdrpProblem.model_validate(
        {
            "application": {"operators": operators},
            "network": {"nodes": [{"name": f"s{s}", "zone": f"r{r}", "resources": {"disk": room}} for s, r in enumerate(rack)]},
            "rules": rules,
            "current": current,
            "evenness": {"replicas": {}},
            "priorities": [{"metric": "evenness.replicas"}, {"metric": "moved_state"}, {"metric": "moves"}],
        }
    )


def followed_goals(problem: edrp.EdrpProblem) -> dict[str, list[str]]:
    """Follow goals one by one: replicas of the fullest servers, small ones first, go to the emptiest that rules allow."""
    placed = {name: list(nodes) for name, nodes in problem.current.items()}
    zone = {node.name: node.zone for node in problem.network.nodes}
    disk = {o.name: o.resources["disk"] for o in problem.application.operators}
    room = problem.network.nodes[0].resources["disk"]

    while True:
        held = {name: [operator for operator, nodes in placed.items() if name in nodes] for name in zone}
        count = {name: len(operators) for name, operators in held.items()}
        used = {name: sum(disk[operator] for operator in operators) for name, operators in held.items()}
        options = [
            (count[target] - count[source], disk[operator], operator, source, target)
            for source in zone
            if count[source] == max(count.values())
            for operator in held[source]
            for target in zone
            if count[target] <= count[source] - 2
            and target not in placed[operator]
            and zone[target] not in {zone[node] for node in placed[operator] if node != source}
            and used[target] + disk[operator] <= room
        ]
        if not options:
            return placed
        _, _, operator, source, target = min(options)
        placed[operator][placed[operator].index(source)] = target


def check_as_a_verifier_does(problem: edrp.EdrpProblem) -> None:
    """Racks, capacities, evenness within the band that Cruise Control allows, and no harder goal worse than before."""
    solution = edrp.solve(problem, METHOD)
    assert solution.status == "optimal"
    placed, zone = solution.deployment, {node.name: node.zone for node in problem.network.nodes}
    disk = {o.name: o.resources["disk"] for o in problem.application.operators}
    assert all(len({zone[node] for node in nodes}) == len(nodes) for nodes in placed.values()), "rack awareness"
    room = {node.name: node.resources["disk"] for node in problem.network.nodes}
    load = {name: sum(disk[operator] for operator, nodes in placed.items() if name in nodes) for name in zone}
    assert all(load[name] <= room[name] for name in zone), "disk capacity"
    counts = Counter(node for nodes in placed.values() for node in nodes)
    mean = sum(counts.values()) / len(zone)
    assert all(int(mean * 0.91) <= counts[name] <= -int(-mean * 1.09 // 1) for name in zone), "replica distribution"
    before, followed = problem.evaluate(problem.current).metrics, problem.evaluate(followed_goals(problem))
    assert solution.metrics["evenness.replicas"] <= min(before["evenness.replicas"], followed.metrics["evenness.replicas"]) + 1e-9
    if followed.metrics["evenness.replicas"] <= solution.metrics["evenness.replicas"] + 1e-9:
        assert solution.metrics["moved_state"] <= followed.metrics["moved_state"], "no more bytes than goals one by one"


@pytest.mark.parametrize("seed", range(5))
def test_a_verifier_of_clusters_accepts_it_and_a_greedy_moves_more(seed):
    check_as_a_verifier_does(random_cluster(seed, servers=10 + 5 * seed, partitions=60))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 100))
def test_a_verifier_accepts_it_for_many_clusters_of_up_to_140_servers(seed):
    check_as_a_verifier_does(random_cluster(seed, servers=10 + (seed * 37) % 131, partitions=100 + (seed * 53) % 200))


LARGE = [(middle_assignment(3), 10**9, direct_values)]
LARGE += [(random_assignment(seed), 2 * 10**14, enumerated_values) for seed in range(4)]


@pytest.mark.parametrize(("case", "least", "values"), LARGE)
def test_goals_too_large_for_one_program_are_solved_in_several(case, least, values):
    """Weights of odd bytes near 10⁹ exceed 2⁵³ together, not one by one; doubles do not tell sums of 2·10¹⁴ apart."""
    for number, partition in enumerate(case["partitions"]):
        partition["bytes"] = least + number
    solution = edrp.solve(assignment(case))
    assert (solution.status, solution.method) == ("optimal", f"auto: {METHOD}")
    assert [outcome.value for outcome in solution.stages] == pytest.approx(values(case), rel=1e-15, abs=1e-9)


def petabytes(seed: int) -> edrp.EdrpProblem:
    """States of nearly 10^15 bytes on one of three servers; the largest sum comes first, then what moves."""
    random = np.random.default_rng(seed)
    sizes = {f"p{p}": 10**15 - int(random.integers(100)) if p < 4 else int(random.integers(1, 10**15)) for p in range(6)}
    operators = [{"name": name, "state_size": size, "external_rate": 1, "resources": 0} for name, size in sizes.items()]
    return edrp.EdrpProblem(
        application={"operators": operators},
        network={"nodes": [{"name": name} for name in "abc"]},
        current={name: ["a"] for name in sizes},
        evenness={"state": {"of": "state", "by": "max"}},
        priorities=[{"metric": "evenness.state"}, {"metric": "moved_state"}],
    )


@pytest.mark.parametrize("seed", range(5))
def test_sums_of_petabytes_are_compared_to_the_byte_or_not_proven(seed):
    problem = petabytes(seed)
    sizes = [int(operator.state_size) for operator in problem.application.operators]
    best = min(
        (max(sum(size for size, on in zip(sizes, placed, strict=True) if on == node) for node in "abc"), moved)
        for placed in itertools.product("abc", repeat=len(sizes))
        for moved in [sum(size for size, on in zip(sizes, placed, strict=True) if on != "a")]
    )
    alone, chosen = edrp.solve(problem, METHOD), edrp.solve(problem)
    assert chosen.status == "optimal"
    assert chosen.stages[0].value == pytest.approx(best[0], rel=2e-9)  # where tolerances are too large, stages go on
    assert alone.status == "optimal" or alone.stopped_because == "error"
    for outcome, value in zip(alone.stages, best, strict=True):
        assert outcome.value == value or not outcome.proven


def test_bytes_of_a_hundred_petabytes_in_all_are_proven():
    case = middle_assignment(3) | {"leaders": False}
    base, parts = 10**15 // 3 - 110, case["partitions"]
    for bytes_ in (base, 0):
        case["partitions"] = [{**parts[0], "bytes": bytes_ + number + 1} for number in range(110)]
        if bytes_:
            solution = edrp.solve(assignment(case))
    even, small, moves = direct_values(case)
    assert (solution.status, solution.method) == ("optimal", f"auto: {METHOD}")
    assert [outcome.value for outcome in solution.stages] == [even, float(int(small) + base * int(moves)), moves]


def test_where_the_solver_refuses_its_numbers_auto_goes_on_by_stages(monkeypatch):
    monkeypatch.setattr("edrp.formulations.placement.ordered_flow.lexicographic.hand_over", lambda *given: False)
    problem = assignment(random_assignment(1), goals=["evenness.load", "moves"])
    alone, chosen = edrp.solve(problem, METHOD), edrp.solve(problem)
    assert (alone.status, alone.stopped_because, chosen.status) == ("feasible", "error", "optimal")
    assert [outcome.value for outcome in chosen.stages] == [outcome.value for outcome in edrp.solve(problem, "highs").stages]


def test_auto_chooses_it_and_stopped_it_says_what_is_known():
    problem = assignment(middle_assignment(1))
    assert edrp.solve(problem).method == f"auto: {METHOD}"
    stopped = edrp.solve(problem, METHOD, work_limit=1e-9)
    assert (stopped.status, stopped.stopped_because) == ("feasible", "work_limit")
    assert stopped.deployment == problem.current
    assert not any(outcome.proven for outcome in stopped.stages)


REFUSED = [
    ({"priorities": [{"metric": "evenness.load", "slack": 0.1}, {"metric": "moves"}]}, r"priorities\[0\].slack leaves room"),
    ({"priorities": [], "weights": {"moves": 0.5, "moved_state": 0.5}}, "several metrics have weights"),
    ({"priorities": [{"metric": "cost"}]}, "does not take cost into account"),
    ({"limits": {"cost": 10.0}}, "does not take cost into account"),
    ({"weights": {"evenness.load": 1.0}}, "the weighted sum is a stage after the priorities"),
    (
        {"rules": [{"rule": "at_least_zones", "name": "far", "operators": ["p0", "p1"], "zones": 2}]},
        "a rule counts whether there are any replicas",
    ),
]


@pytest.mark.parametrize(("fields", "said"), REFUSED)
def test_what_it_does_not_take_is_refused_in_words(fields, said):
    case = middle_assignment(4) | {"leaders": False}
    problem = assignment(case, goals=["evenness.load", "moved_state"], **fields)
    with pytest.raises(UnsupportedProblemError, match=f"{METHOD} .*{said}"):
        edrp.solve(problem, METHOD)


def test_varied_numbers_of_replicas_are_refused():
    document = assignment_document(middle_assignment(4) | {"leaders": False}, "deviation", ["moves"])
    document["application"]["operators"][0]["min_replicas"] = 1
    with pytest.raises(UnsupportedProblemError, match="the number of replicas of p0 is not fixed"):
        edrp.solve(edrp.EdrpProblem.model_validate(document), METHOD)
