"""Given tasks on equal nodes: peak loads are those of an enumeration and of HiGHS, and what cannot be proven has a true bound."""

from itertools import pairwise, product

import numpy as np
import pytest
from given_tasks import tasks

import edrp
from edrp.core.errors import UnsupportedProblemError
from edrp.formulations.placement.fixed_tasks.pattern_pairs import MAX_MET


def enumerated(problem: edrp.EdrpProblem) -> list[float] | None:
    """The lexicographic optimum over all placements, stage by stage; None if there is none."""
    names = [node.name for node in problem.network.nodes]
    room = problem.network.nodes[0].resources
    listed = []
    for operator in problem.application.operators:
        spreads = [c for c in product(range(operator.max_replicas + 1), repeat=len(names)) if sum(c) == operator.max_replicas]
        listed.append(spreads)
    found = []
    for counts in product(*listed):
        if max(map(sum, zip(*counts, strict=True))) <= room:
            operators = zip(problem.application.operators, counts, strict=True)
            plan = {o.name: [n for n, c in zip(names, row, strict=True) for _ in range(c)] for o, row in operators}
            evaluation = problem.evaluate(edrp.Deployment(plan))
            if evaluation.feasible:
                found.append(evaluation.metrics)
    optimum = []
    for priority in problem.priorities:
        if not found:
            return None
        best = min(metrics[priority.metric] for metrics in found)
        found = [metrics for metrics in found if metrics[priority.metric] <= best * (1 + priority.slack) * (1 + 1e-9) + 1e-6]
        optimum.append(best)
    return optimum


@pytest.mark.parametrize(("nodes", "largest"), [(1, 4), (2, 3), (3, 2), (4, 2), (5, 1)])
@pytest.mark.parametrize("seed", range(6))
def test_every_stage_is_that_of_an_enumeration(seed, nodes, largest):
    problem = tasks(seed, nodes, largest)
    best, solution = enumerated(problem), edrp.solve(problem, "fixed-tasks")
    if best is None:
        assert solution.status == "infeasible"
        return
    assert solution.status == "optimal"
    assert [outcome.value for outcome in solution.stages] == pytest.approx(best, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("nodes", [3, MAX_MET, 6])
@pytest.mark.parametrize("seed", [20, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (21, 22))])
def test_highs_proves_the_same_peaks(seed, nodes):
    """Where both prove; and nobody's peak is below the other's bound."""
    problem = tasks(seed, nodes, 6)
    ours, program = (edrp.solve(problem, method, work_limit=5.0) for method in ("fixed-tasks", "highs"))
    assert (ours.status == "infeasible") == (program.status == "infeasible")
    for one, other in zip(ours.stages, program.stages, strict=False):
        assert one.bound <= other.value * (1 + 1e-6) + 1e-6
        assert other.bound <= one.value * (1 + 1e-6) + 1e-6
        if not (one.proven and other.proven):
            break
        assert one.value == pytest.approx(other.value, rel=1e-6, abs=1e-6)


def test_hundreds_of_tasks_are_proven_on_four_large_nodes():
    problem = tasks(31, 4, 90, slots=1.5).replace(limits={})
    first = problem.replace(priorities=problem.priorities[:1])
    assert sum(operator.max_replicas for operator in problem.application.operators) > 100
    assert edrp.solve(first, "fixed-tasks").stages[0].proven


@pytest.mark.parametrize("amounts", [[3, 2, 2, 1, 3, 1, 2], [1, 1, 2, 3, 3, 2, 1]])
def test_thousands_of_patterns_with_the_very_peak_hinder_no_proof(amounts):
    names = [f"o{i}" for i in range(len(amounts))]
    problem = edrp.EdrpProblem(
        application={
            "operators": [
                {"name": name, "min_replicas": 4, "max_replicas": 4, "usage": {"cpu": {"per_replica": 0.025 * amount}}}
                for name, amount in zip(names, amounts, strict=True)
            ],
            "streams": [{"source": a, "target": b, "rate": 100.0} for a, b in pairwise(names)],
        },
        network={
            "nodes": [{"name": f"tm{u}", "resources": 10, "capacity": {"cpu": 1.0}} for u in range(3)],
            "between_zones": {"delay": 0.001},
        },
        priorities=[{"metric": "peak_load"}],
    )
    solution = edrp.solve(problem, "fixed-tasks")
    assert solution.status == "optimal"
    # Twenty-eight tasks in units of 0.025, all in whole units: the least peak is the mean, rounded up.
    assert solution.objective == pytest.approx(0.025 * np.ceil(4 * sum(amounts) / 3), rel=1e-12)


def test_out_of_work_there_is_a_placement_and_a_bound():
    problem = tasks(7, 16, 60).replace(priorities=[], weights={"peak_loads": {"cpu": 1.0}}, limits={})
    solution = edrp.solve(problem, "fixed-tasks", work_limit=1.0)
    assert solution.bound is not None
    assert solution.gap < 0.05
    assert problem.evaluate(solution.deployment).feasible


@pytest.mark.parametrize("streams", ["forward", "hash"])
def test_what_leaves_a_node_counts(streams):
    """Two pairs on two nodes: one to one, nothing leaves where each has its own; dealt to all, half leaves or all stays."""
    problem = tasks(2, 2, 2)
    operators = [{"name": name, "min_replicas": 2, "max_replicas": 2, "usage": {"cpu": {"per_replica": 1}}} for name in "ab"]
    application = {
        "operators": operators,
        "streams": [{"source": "a", "target": "b", "rate": 8.0, "partitioning": streams, "usage": {"network": 1.0}}],
    }
    problem = problem.replace(
        application=application, priorities=[{"metric": f"peak_loads.{name}"} for name in ("cpu", "network")], limits={}
    )
    cpu, network = (outcome.value for outcome in edrp.solve(problem, "fixed-tasks").stages)
    assert cpu == pytest.approx(0.1)
    assert network == pytest.approx(0.0 if streams == "forward" else 0.2, abs=1e-6)


def sold(problem: edrp.EdrpProblem, price: float, **fields: object) -> edrp.EdrpProblem:
    """The problem where each task costs 1 money/h and tuples between nodes have a price."""
    operators = [operator.replace(cost=1.0) for operator in problem.application.operators]
    return problem.replace(
        application=problem.application.replace(operators=operators),
        network=problem.network.replace(between_zones={"delay": 0.001, "cost": price}),
        **fields,
    )


def test_a_limit_on_cost_is_kept_to_and_prices_of_links_that_cannot_exceed_it_are_taken():
    problem = tasks(3, 3, 2)
    given = float(sum(operator.max_replicas for operator in problem.application.operators))
    expected = edrp.solve(problem, "fixed-tasks")
    assert expected.status == "optimal"
    for price, limit, status in (
        (0.0, given, "optimal"),
        (0.0, given * (1 - 5e-7), "infeasible"),
        (0.01, 2.0 * given, "optimal"),
    ):
        solution = edrp.solve(sold(problem, price, limits=problem.limits.replace(cost=limit)), "fixed-tasks")
        assert solution.status == status
        if status == "optimal":
            assert solution.objective == pytest.approx(expected.objective)


@pytest.mark.parametrize(("nodes", "largest"), [(4, 90), (3, 2), (8, 2)])
def test_auto_takes_it_on_clusters_however_few_tasks_there_are(nodes, largest):
    problem = tasks(31, nodes, largest, slots=1.5).replace(limits={}, priorities=[], weights={"peak_loads": {"cpu": 1.0}})
    solution = edrp.solve(problem)
    assert (solution.status, solution.method) == ("optimal", "auto: fixed-tasks")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda p: p.replace(priorities=[], weights={"peak_load": 0.5, "peak_loads": {"cpu": 0.5}}), "one peak load at a time"),
        (lambda p: p.replace(limits={"response_time": 1.0}), "does not take response_time into account"),
        (
            lambda p: sold(p, 0.5, priorities=[], limits={"cost": 99.0}, weights={"cost": 0.5, "peak_load": 0.5}),
            "does not take prices of links into account",
        ),
        (lambda p: sold(p, 0.5, limits={"cost": 7.0}), "does not take prices of links into account"),
        (
            lambda p: p.replace(network=p.network.replace(nodes=[p.network.nodes[0].replace(speedup=2.0), *p.network.nodes[1:]])),
            "2 classes of equal nodes",
        ),
        (
            lambda p: p.replace(
                application=p.application.replace(
                    operators=[p.application.operators[0].replace(max_replicas=9), *p.application.operators[1:]]
                )
            ),
            "takes given numbers",
        ),
    ],
)
def test_what_it_cannot_express_is_refused_by_name(change, why):
    with pytest.raises(UnsupportedProblemError, match=why):
        edrp.solve(change(tasks(3, 3, 2)), "fixed-tasks")
