"""Metrics of your own: every method is right or refuses in words; sequences, files, workers and certificates know them."""

import json
import pickle
import sys
import types
from collections import Counter

import numpy as np
import pytest

import edrp
from edrp.batch.tasks import packed_additions, unpack_additions
from edrp.certificates import checker
from edrp.check_problems.placement.enumeration import feasible_deployments, lexicographic_optimum
from edrp.core.errors import EdrpError, InvalidArgumentError, InvalidInstanceError, UnsupportedProblemError, VerificationError
from edrp.core.tolerances import SAME_VALUE
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.datasets.families.placement.rules import with_rules
from edrp.placement.metrics import ResponseTime
from edrp.placement.metrics.own import registered_metrics


class NodesInUse:
    """Share of nodes that run anything."""

    name, unit = "nodes_in_use", "1"

    def evaluate(self, problem, deployment):
        return len({node for nodes in deployment.values() for node in nodes}) / len(problem.network.nodes)

    def linearise(self, model):
        return model.any(model.on, axis=0).sum() / len(model.problem.network.nodes)

    def zero_because(self, problem):
        return ""


class Fullest:
    """Replicas on the node that has most: the largest of several expressions."""

    name, unit = "fullest", "replicas"

    def evaluate(self, problem, deployment):
        return max(Counter(node for nodes in deployment.values() for node in nodes).values())

    def linearise(self, model):
        return model.replicas.sum(axis=0)


class Doubled:
    """Replicas beyond the first of an operator on a node: presence with a coefficient below 0."""

    name, unit = "doubled", "replicas"

    def evaluate(self, problem, deployment):
        return sum(len(nodes) - len(set(nodes)) for nodes in deployment.values())

    def linearise(self, model):
        return model.replicas.sum() - model.on.sum()


class Slow:
    """Response time, shares of streams between nodes, and a tenth of the replicas: what programs alone have columns for."""

    name, unit = "slow", "s"

    def evaluate(self, problem, deployment):
        apart = 0.0
        for stream in problem.application.streams:
            senders, receivers = deployment.replicas(stream.source), deployment.replicas(stream.target)
            together = sum(count * receivers[node] for node, count in senders.items())
            apart += 1 - together / (senders.total() * receivers.total())
        return ResponseTime().evaluate(problem, deployment) + apart + 0.1 * sum(map(len, deployment.values()))

    def linearise(self, model):
        apart = (model.flows * (1.0 - np.eye(len(model.problem.network.nodes)))).sum()
        return model.response_time + apart + 0.1 * model.replicas.sum()


METRICS = (NodesInUse, Fullest, Doubled, Slow)


@pytest.fixture(autouse=True)
def registered():
    before = dict(registered_metrics())
    for metric in METRICS:
        edrp.register_metric(metric, replace=True)
    yield
    registered_metrics().clear()
    registered_metrics().update(before)


def measured(seed: int) -> edrp.EdrpProblem:
    """A tiny problem with a weight on one or two metrics of your own, and rules, a limit or priorities next to it."""
    random = np.random.default_rng(seed)
    problem = random_problem(seed, operators=(2, 3), nodes=(2, 4), combinations_limit=1000)
    if random.random() < 0.4:
        problem = with_rules(problem, random)
    names = [metric.name for metric in random.permutation(METRICS)[: random.integers(1, 3)]]
    others = {name: weight / 2 for name, weight in problem.weights if name not in ("peak_loads", *names) and weight}
    problem = problem.replace(weights={**others, **dict.fromkeys(names, 0.5 / len(names))})
    chosen = random.integers(3)
    if chosen == 1:
        values = sorted({entry.evaluation.metrics[names[0]] for entry in feasible_deployments(problem)} - {0.0}) or [1.0]
        limit = values[random.integers(len(values))] * random.choice([1.0, 0.999])
        problem = problem.replace(limits=problem.limits.replace(**{names[0]: limit}))
    if chosen == 2 and all(rule.hard for rule in problem.rules):
        problem = problem.replace(priorities=[{"metric": names[0], "slack": random.choice([0.0, 0.1])}, {"metric": "cost"}])
    return problem


def judge(problem, best, methods) -> Counter:
    """Every method is right about a problem, or refuses it in words; how they answered."""
    answers = Counter()
    for name in methods:
        try:
            solution = edrp.solve(problem, name, work_limit=0.5)
        except UnsupportedProblemError:
            answers["refused"] += 1
            continue
        answers[solution.status] += 1
        near = SAME_VALUE * max(1.0, abs(best or 0.0))
        assert solution.status != "infeasible" or best is None, name
        assert solution.status != "optimal" or solution.objective == pytest.approx(best, abs=near), name
        if solution.objective is not None and not problem.stage_count:
            assert best is not None, name
            assert solution.objective >= best - near, name
        if solution.bound is not None and best is not None and not problem.stage_count:
            assert solution.bound <= best + near, name
    return answers


def optimum(problem):
    return lexicographic_optimum(problem) if problem.priorities else lowest(problem)


def lowest(problem):
    return min((entry.evaluation.objective for entry in feasible_deployments(problem)), default=None)


def check_problem(seed: int) -> Counter:
    problem = measured(seed)
    return judge(problem, optimum(problem), edrp.methods("edrp"))


def test_every_method_is_right_or_refuses():
    answers = sum((check_problem(seed) for seed in (0, 6, 12)), Counter())
    assert min(answers[status] for status in ("refused", "optimal", "feasible")) > 0


@pytest.mark.slow
def test_every_method_is_right_or_refuses_on_many_problems():
    assert sum(sum(check_problem(seed).values()) for seed in range(1, 214)) > 4000


def test_sequences_know_metrics_and_refuse_limits_that_differ():
    problem = random_sequence(3).replace(rules=())
    weights = {name: weight / 2 for name, weight in problem.weights if name != "peak_loads" and weight}
    problem = problem.replace(weights={**weights, "nodes_in_use": 0.5})
    proven = [edrp.solve(problem, name) for name in ("highs", "priced-course")]
    assert {solution.status for solution in proven} <= {"optimal", "infeasible"}
    if proven[0].status == "optimal":
        assert proven[0].objective == pytest.approx(proven[1].objective, rel=1e-6)
    first, *others = problem.periods
    limited = problem.replace(periods=[first.replace(limits=problem.limits.replace(nodes_in_use=0.7)), *others])
    with pytest.raises(UnsupportedProblemError, match="differ between loads"):
        edrp.solve(limited, "priced-course")


def test_a_metric_is_written_to_files_and_read(tmp_path, word_count):
    problem = word_count.replace(weights={"response_time": 0.3, "nodes_in_use": 0.7}, limits={"response_time": 0.2, "fullest": 4})
    edrp.save(problem, tmp_path / "problem.json")
    assert edrp.load(tmp_path / "problem.json") == problem
    assert problem.replace(limits=problem.limits.replace(cost=9.0)).limits.of("fullest") == 4
    solution = edrp.solve(problem)
    assert solution.metrics["nodes_in_use"] == pytest.approx(2 / 3)
    assert solution.metrics["fullest"] <= 4


def test_the_front_of_a_metric(word_count):
    front = edrp.pareto_front(word_count, "nodes_in_use", "response_time")
    assert front.complete
    assert [use for use, _ in front.values] == sorted(use for use, _ in front.values)


def test_a_certificate_proves_a_stated_program(word_count):
    problem = word_count.replace(weights={"response_time": 0.3, "nodes_in_use": 0.7})
    solution = edrp.solve(problem, certify=True)
    document = checker.parse(json.dumps(solution.to_document()))
    verdict = checker.check(checker.parse(problem.model_dump_json()), document, solution.certificate.splitlines())
    assert isinstance(verdict, checker.Stated)


def test_a_batch_of_processes_knows_metrics(word_count):
    problem = word_count.replace(weights={"response_time": 0.3, "nodes_in_use": 0.7})
    table = edrp.solve_batch([problem, problem], "highs", n_jobs=2)
    assert set(table["status"].to_pylist()) == {"optimal"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_the_contract_of_metrics(metric):
    edrp.testing.check_metric(metric)


def test_unregistered_names_are_faults_with_a_suggestion(word_count):
    with pytest.raises(InvalidInstanceError, match=r"weights\.nodes_in_us: is no metric.*did you mean 'nodes_in_use'"):
        word_count.replace(weights={"nodes_in_us": 1.0})
    with pytest.raises(InvalidInstanceError, match=r"limits\.leaves: is no metric"):
        word_count.replace(limits={**dict(word_count.limits), "leaves": 1.0})


def test_a_problem_that_comes_to_a_process_without_the_metric_is_no_other_problem(word_count):
    """Unpickled documents are not validated again."""
    problem = pickle.loads(pickle.dumps(word_count.replace(weights={"response_time": 0.3, "nodes_in_use": 0.7})))
    del registered_metrics()["nodes_in_use"]
    with pytest.raises(EdrpError, match=r"names 'nodes_in_use', which is no metric in this process; .* or edrp.register_metric"):
        edrp.solve(problem, "highs")


def test_what_is_of_a_package_that_a_worker_lacks_is_left_out(monkeypatch, word_count):
    module = types.ModuleType("package_of_the_parent")
    lacking = type("Lacking", (NodesInUse,), {"name": "lacking", "__module__": module.__name__})
    module.Lacking = lacking
    monkeypatch.setitem(sys.modules, module.__name__, module)
    edrp.register_metric(lacking)
    packed = packed_additions(())
    monkeypatch.delitem(sys.modules, module.__name__)
    registered_metrics().clear()
    unpack_additions(packed)
    assert {metric.name for metric in METRICS} == {*registered_metrics()}
    with pytest.raises(InvalidInstanceError, match=r"weights.lacking: is no metric; .* or edrp.register_metric"):
        word_count.replace(weights={"lacking": 1.0})


def test_a_priority_with_a_typo_is_a_fault_with_a_suggestion(word_count):
    with pytest.raises(InvalidInstanceError, match=r"priorities\[0\]\.metric.*did you mean 'nodes_in_use'"):
        word_count.replace(priorities=[{"metric": "node_in_use"}])


@pytest.mark.parametrize("name", ["cost", "peak_load", "nodes_in_use", "running", "projected_cost"])
def test_names_that_are_taken(name):
    taken = type("Taken", (NodesInUse,), {"name": name})
    with pytest.raises(InvalidArgumentError, match=f"there is already a metric called '{name}'"):
        edrp.register_metric(taken)


@pytest.mark.parametrize("metric", [3, type("Nameless", (), {}), type("Flat", (), {"name": "flat", "evaluate": print})])
def test_what_is_no_metric(metric):
    with pytest.raises(InvalidArgumentError, match="give a class with `name`, an identifier, `unit`, `evaluate`"):
        edrp.register_metric(metric)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"unit": None}, "`unit`"),
        ({"__init__": lambda self, share: None}, "cannot be made without parameters.*give an instance"),
    ],
)
def test_metrics_that_cannot_be_registered(changes, why):
    with pytest.raises(InvalidArgumentError, match=why):
        edrp.register_metric(type("Wrong", (NodesInUse,), {"name": "wrong", **changes}))


@pytest.mark.parametrize("changes", [{"name": "cost"}, {"linearise": None}, {"name": "nodes_in_use"}])
def test_metrics_of_packages_are_checked_as_those_of_sessions(monkeypatch, changes):
    offered = (NodesInUse, type("Offered", (NodesInUse,), {"name": "offered", **changes}))
    monkeypatch.setattr("edrp.placement.metrics.own.added", lambda group: offered)
    with pytest.raises(InvalidArgumentError, match=r"already a metric called|give a class with `name`"):
        registered_metrics.__wrapped__()


def test_no_metric_is_called_as_what_weights_and_limits_have():
    for name in {*dir(edrp.Weights), *dir(edrp.Limits)}:
        with pytest.raises(InvalidArgumentError, match=f"name: is '{name}'|already a metric called '{name}'"):
            edrp.register_metric(type("Called", (NodesInUse,), {"name": name}))


def other(**methods):
    """A metric that differs from the share of nodes in use."""
    edrp.register_metric(type("Other", (NodesInUse,), {"name": "other", **methods}), replace=True)


def test_faces_that_disagree_are_reported_with_both_values(word_count):
    other(linearise=lambda self, model: model.any(model.on, axis=0).sum())
    with pytest.raises(VerificationError, match=r"contradicts itself: 0\.\d+ says `evaluate`, \d\.0 says `linearise`"):
        edrp.solve(word_count.replace(weights={"other": 1.0}), "highs")
    with pytest.raises(AssertionError, match="contradicts itself"):
        edrp.testing.check_metric(registered_metrics()["other"].definition, word_count)


def test_infinity_that_programs_do_not_know_is_a_contradiction(word_count):
    other(evaluate=lambda self, problem, deployment: np.inf)
    with pytest.raises(VerificationError, match=r"contradicts itself: inf says `evaluate`, 0\.\d+ says `linearise`"):
        edrp.solve(word_count.replace(weights={"other": 1.0}), "highs")
    with pytest.raises(AssertionError, match="contradicts itself: inf"):
        edrp.testing.check_metric(registered_metrics()["other"].definition, word_count)


@pytest.mark.parametrize("method", ["highs", "eliminate", "greedy"])
def test_a_constant_is_a_metric(word_count, method):
    other(evaluate=lambda self, problem, deployment: 2.0, linearise=lambda self, model: 2)
    solution = edrp.solve(word_count.replace(weights={"other": 1.0}, limits={"other": 4.0}), method)
    assert (solution.metrics["other"], solution.objective) == (2.0, 0.5)
    assert edrp.solve(word_count.replace(weights={"other": 1.0}, limits={"other": 1.0}), "highs").status == "infeasible"


def test_a_metric_of_downtime_where_the_response_time_is_infinite():
    class Stopped(NodesInUse):
        name, unit = "other", "s"

        def evaluate(self, problem, deployment):
            return problem.metrics["downtime"].evaluate(problem, deployment)

        def linearise(self, model):
            return model.downtime

    edrp.register_metric(Stopped, replace=True)
    problem = edrp.load("examples/reconfigure.json").replace(weights={"other": 1.0})
    overloaded = edrp.Deployment({operator.name: ["cloud"] for operator in problem.application.operators})
    assert ResponseTime().evaluate(problem, overloaded) == np.inf
    assert not problem.metrics["other"].contradiction(problem, overloaded)


@pytest.mark.parametrize("value", [float("nan"), -1.0, "a"])
def test_values_that_are_none(word_count, value):
    other(evaluate=lambda self, problem, deployment: value)
    with pytest.raises(EdrpError, match="`evaluate` of the metric 'other' gives"):
        edrp.solve(word_count.replace(weights={"other": 1.0}), "highs")


@pytest.mark.parametrize(
    ("linearise", "why"),
    [
        (lambda self, model: -model.response_time, "would let what is maximised grow without end"),
        (lambda self, model: -model.replicas.sum(), "is below 0 whatever the deployment"),
        (lambda self, model: model.replicas.sum() * np.nan, "must be finite numbers"),
        (lambda self, model: model.replicas.sum() <= 3, "`linearise` gives a comparison, which is a row"),
        (lambda self, model: model.on["nobody"].sum(), "no operator 'nobody'"),
    ],
)
def test_expressions_that_are_no_metric_are_faults_of_the_problem(word_count, linearise, why):
    other(linearise=linearise)
    with pytest.raises(InvalidInstanceError, match=f"weights.other: is on a metric that does not fit this problem.*{why}"):
        word_count.replace(weights={"other": 1.0})
    with pytest.raises(InvalidInstanceError, match=rf"priorities\[0\]\.metric: is on a metric that does not fit.*{why}"):
        word_count.replace(priorities=[{"metric": "other"}, {"metric": "cost"}])


def test_kinds_without_own_metrics_refuse_them():
    latency_aware = edrp.load("examples/edge_to_cloud.json")
    with pytest.raises(InvalidInstanceError, match="nodes_in_use"):
        latency_aware.replace(weights={**dict(latency_aware.weights), "nodes_in_use": 1.0})
