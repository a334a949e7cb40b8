"""Priorities: metrics one after the other, each within a slack, each stage proven; and what is refused."""

import numpy as np
import pytest
from contention import random_contention

import edrp
from edrp.check_problems.placement.enumeration import feasible_deployments
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.placement.metrics import NORMALISED


def prioritised(problem: edrp.EdrpProblem, *priorities: tuple[str, float], **fields: object) -> edrp.EdrpProblem:
    """The application and network of a problem, with priorities; nothing else is taken over."""
    listed = [{"metric": metric, "slack": slack} for metric, slack in priorities]
    return edrp.EdrpProblem(application=problem.application, network=problem.network, priorities=listed, **fields)


def lexicographic_values(problem: edrp.EdrpProblem, priorities: list[tuple[str, float]]) -> list[float]:
    """Optima of metrics one after the other, on their scales; each may worsen by its relative slack for those that follow.

    Empty where nothing is feasible.
    """
    left, values = feasible_deployments(problem), []
    for name, slack in priorities if left else ():
        metric = problem.metrics[name]
        value = min(metric.scaled(entry.evaluation.metrics[name]) for entry in left)
        limit = value * (1 + slack) + 1e-9 * max(1.0, value)
        left = [entry for entry in left if metric.scaled(entry.evaluation.metrics[name]) <= limit]
        values.append(value)
    return values


@pytest.mark.parametrize("seed", range(300, 308))
def test_every_stage_is_the_optimum_within_the_slack_of_those_before(seed):
    drawn, random = random_contention(seed), np.random.default_rng(seed)
    names = [name for name in drawn.metrics if name != "downtime"]
    priorities = [(str(name), float(random.choice([0.0, 0.01, 0.2]))) for name in random.choice(names, 3, replace=False)]
    problem = prioritised(drawn, *priorities, limits=drawn.limits if seed % 2 else {})
    expected = lexicographic_values(problem, priorities)
    solution = edrp.solve(problem, "highs")
    if not expected:
        assert solution.status == "infeasible"
        return
    assert solution.status == "optimal"
    assert [outcome.metric for outcome in solution.stages] == [name for name, _ in priorities]
    for outcome, value in zip(solution.stages, expected, strict=True):
        scaled = problem.metrics[outcome.metric].scaled
        assert outcome.proven
        assert scaled(outcome.value) == pytest.approx(value, rel=1e-6, abs=1e-8)
        assert outcome.gap <= 1e-6
        if outcome.limit is not None:
            assert scaled(solution.metrics[outcome.metric]) <= scaled(outcome.limit) * (1 + 1e-9)


def test_without_weights_the_last_priority_is_the_objective():
    problem = prioritised(random_contention(5), ("cost", 0.1), ("peak_load", 0.0))
    solution = edrp.solve(problem)
    assert problem.weights == edrp.Weights(peak_load=1.0)
    assert solution.objective == solution.metrics["peak_load"] == pytest.approx(solution.stages[-1].value)
    assert solution.bound == pytest.approx(solution.objective)
    assert solution.stages[-1].limit is None


def test_weights_come_last_and_keep_their_scale():
    drawn = random_contention(6)
    weights = {"cost": 0.3, "response_time": 0.7}
    problem = prioritised(drawn, ("peak_load", 0.2), ("cost", 0.1), weights=weights, limits=drawn.limits)
    solution = edrp.solve(problem, "highs")
    listed = feasible_deployments(problem)
    values = lexicographic_values(problem, [("peak_load", 0.2), ("cost", 0.1)])
    limits = {"peak_load": values[0] * 1.2 + 1e-9, "cost": values[1] * 1.1 + 1e-9}
    within = [e.evaluation for e in listed if all(e.evaluation.metrics[name] <= limit for name, limit in limits.items())]
    assert [outcome.metric for outcome in solution.stages] == ["peak_load", "cost", "objective"]
    assert solution.objective == pytest.approx(min(evaluation.objective for evaluation in within), rel=1e-7)
    assert solution.bound == pytest.approx(solution.objective, rel=1e-7)


def cluster(*priorities: tuple[str, float]) -> edrp.EdrpProblem:
    """A chain of three operators on four equal nodes."""
    queue = {"model": "mm1", "service_rate": 30.0}
    operators = [{"name": f"o{i}", "latency": queue, "cost": 1.0, "max_replicas": 5} for i in range(3)]
    operators[0]["external_rate"] = 50.0
    streams = [{"source": f"o{i}", "target": f"o{i + 1}"} for i in range(2)]
    nodes = [{"name": f"tm{u}", "resources": 4} for u in range(4)]
    return edrp.EdrpProblem(
        application={"operators": operators, "streams": streams},
        network={"nodes": nodes, "between_zones": {"delay": 0.001}},
        priorities=[{"metric": metric, "slack": slack} for metric, slack in priorities],
    )


def test_all_methods_that_prove_go_through_the_same_stages():
    problem = cluster(("response_time", 0.05), ("cost", 0.0))
    found = {method: edrp.solve(problem, method) for method in ("highs", "equal-nodes", "eliminate")}
    for method, solution in found.items():
        assert solution.status == "optimal"
        assert all(outcome.proven and outcome.method.startswith(method) for outcome in solution.stages)
        assert [o.value for o in solution.stages] == pytest.approx([o.value for o in found["highs"].stages], rel=1e-6)


def test_without_work_every_stage_still_has_a_decision():
    problem = cluster(("response_time", 0.05), ("cost", 0.0))
    start = {name: ["tm0"] * 2 + ["tm1"] * 2 for name in ("o0", "o1")} | {"o2": ["tm2"] * 4}
    solution = edrp.solve(problem, "highs", work_limit=1e-6, start=start)
    assert solution.status == "feasible"
    assert [outcome.proven for outcome in solution.stages] == [False, False]


@pytest.mark.parametrize(
    ("priorities", "said"),
    [
        ([("cots", 0.0)], r"priorities\[0\]\.metric: names no metric of this problem; did you mean 'cost'\?"),
        ([("peak_load", 0.0)], r"priorities\[0\]\.metric: names no metric"),
        ([("cost", -0.1)], r"priorities\[0\]\.slack: must be at least 0 \(got -0\.1\)"),
        ([("cost", 0.0), ("cost", 0.1)], r"priorities\[1\]\.metric: is the metric of priorities\[0\] already"),
    ],
)
def test_wrong_priorities_are_refused_in_words(priorities, said):
    with pytest.raises(InvalidInstanceError, match=said):
        cluster(*priorities)


def test_a_program_and_a_certificate_know_no_priorities():
    problem = cluster(("cost", 0.0), ("response_time", 0.0))
    with pytest.raises(UnsupportedProblemError, match="one objective, this problem has priorities"):
        edrp.formulate(problem)
    assert any("know no priorities" in note for note in edrp.solve(problem, "highs", certify=True).notes)


def test_clashing_limits_are_explained():
    problem = cluster(("cost", 0.0), ("response_time", 0.0)).replace(limits={"cost": 3.0})
    solution = edrp.solve(problem)
    assert solution.status == "infeasible"
    assert solution.stages == ()
    assert any("limits.cost" in clash for clash in solution.clashes)


@pytest.mark.parametrize("seed", range(5))
def test_no_deployment_reaches_a_ceiling(seed):
    problem = random_contention(seed)
    listed = feasible_deployments(problem)
    for name, metric in NORMALISED.items():
        assert all(metric.scaled(each.evaluation.metrics[name]) < problem.ceiling(name) for each in listed), name


def test_documents_and_solutions_survive_a_file(tmp_path, run):
    problem = cluster(("response_time", 0.05), ("cost", 0.0))
    edrp.save(problem, tmp_path / "cluster.json")
    assert edrp.load(tmp_path / "cluster.json") == problem
    shown = run("solve", tmp_path / "cluster.json", "-o", tmp_path / "solution.json").ended(0)
    assert "One after the other" in shown.out
    solution = edrp.load_solution(tmp_path / "solution.json")
    assert [outcome.metric for outcome in solution.stages] == ["response_time", "cost"]
    assert "problem has priorities" in run("explain", tmp_path / "cluster.json", tmp_path / "solution.json").out
