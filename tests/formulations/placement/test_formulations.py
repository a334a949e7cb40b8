"""Programs: both faces of every metric agree, deployments go in and come out, own rows count."""

from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
import pytest
from contention import random_contention

import edrp
from edrp.backends.solving import solve_program
from edrp.check_problems.placement.enumeration import brute_force, feasible_deployments
from edrp.core.errors import EdrpError, ProblemTooLargeError, UnsupportedProblemError
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.placement.debs2015 import debs2015
from edrp.formulations.methods import formulate, solve_formulation
from edrp.formulations.placement.compact_columns import SPLIT_LIMIT
from edrp.formulations.placement.formulation import neighbourhood
from edrp.formulations.placement.literal import literal_blocks
from edrp.placement.application import Application, Operator, Stream
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import NO_NODE
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem, Limits, Weights
from edrp.placement.network import Network


def unlimited(problem: EdrpProblem) -> EdrpProblem:
    """The problem without capacities and limits, so that every stable deployment is feasible."""
    nodes = tuple(node.replace(resources=None) for node in problem.network.nodes)
    network = problem.network.replace(nodes=nodes)
    return problem.replace(network=network, weights=Weights(cost=1.0), limits=Limits(cost=1e6))


def stable_deployments(problem: EdrpProblem, seed: int, count: int) -> list[Deployment]:
    """Random deployments that no load is too much for; the current one too if it is stable."""
    random = np.random.default_rng(seed)
    found = [] if problem.current is None or not problem.evaluate(problem.current).feasible else [problem.current]
    for _ in range(60):
        drawn = {}
        for operator in problem.application.operators:
            pool = operator.candidates or tuple(problem.network.by_name)
            drawn[operator.name] = tuple(str(n) for n in random.choice(pool, random.integers(1, operator.max_replicas + 1)))
        deployment = Deployment(drawn)
        if not any("overloaded" in sentence for sentence in problem.evaluate(deployment).broken):
            found.append(deployment)
    return found[:count]


def deployed(kind: str, seed: int) -> tuple[Any, list[Deployment]]:
    """A random problem, and deployments for which all of its metrics are finite."""
    if kind == "edrp":
        problem = unlimited(random_problem(seed, combinations_limit=2e4))
        return problem, stable_deployments(problem, seed, 3)
    random = np.random.default_rng(seed)
    if kind == "peak loads":
        contended = random_contention(seed)
        listed = [each.deployment for each in feasible_deployments(contended)]
        return contended, [listed[index] for index in random.integers(len(listed), size=2)] if listed else []
    drawn = random_latency_aware_problem(seed, operators=(2, 5), nodes=(2, 4))
    roomy = [{**node.model_dump(), "resources": None} for node in drawn.network.nodes]
    nodes = tuple(drawn.network.by_name)
    chosen = {o.name: tuple(map(str, random.choice(o.candidates or nodes, o.instances))) for o in drawn.application.operators}
    return drawn.replace(network=drawn.network.replace(nodes=roomy)), [Deployment(chosen)]


@pytest.mark.parametrize(
    ("kind", "seed", "program"),
    [
        *product(["edrp"], range(200, 224), ["compact", "literal"]),
        *product(["peak loads"], range(12), ["compact", "literal"]),
        *product(["latency-aware"], range(12), ["compact"]),
    ],
)
def test_both_faces_of_every_metric_agree(kind, seed, program):
    problem, deployments = deployed(kind, seed)
    for deployment in deployments:
        formulation = formulate(problem, program)
        point, integer = formulation.encode(deployment), formulation.program.arrays().integer
        for value in (0.0, 1.0):
            formulation.program.fix(np.flatnonzero(integer & (point == value)), value)
        for name, metric in problem.metrics.items():
            formulation.program.minimise(formulation.metric(name))
            result = solve_program(formulation.program)
            value = metric.scaled(metric.evaluate(problem, deployment))
            assert result.objective == pytest.approx(value, rel=1e-9, abs=1e-9), name
            assert formulation.decode(result.values) == deployment


@pytest.mark.parametrize("program", ["compact", "literal"])
@pytest.mark.parametrize("seed", range(230, 240))
def test_a_deployment_survives_encoding(seed, program):
    problem = unlimited(random_problem(seed))
    formulation = formulate(problem, program)
    for deployment in stable_deployments(problem, seed, 5):
        point = formulation.encode(deployment)
        assert formulation.decode(np.nan_to_num(point)) == deployment
        for operator in deployment:
            for node in problem.network.by_name:
                held = deployment[operator].count(node)
                assert formulation.replicas[operator, node].values(point) == held
                assert formulation.on[operator, node].values(point) == min(held, 1)
            assert formulation.replicas[operator].sum().values(point) == deployment.degree(operator)


@pytest.mark.parametrize("program", ["compact", "literal"])
def test_what_a_program_cannot_express_is_no_start(program, word_count):
    formulation = formulate(word_count, program)
    usual = {"reader": ["edge"], "splitter": ["fog"], "counter": ["fog"], "writer": ["cloud"]}
    assert formulation.encode(Deployment({**usual, "counter": ["fog"] * 3})) is None
    assert formulation.encode(Deployment({**usual, "reader": ["cloud"]})) is None
    assert formulation.encode(Deployment({**usual, "reader": ["elsewhere"]})) is None
    assert formulation.encode(Deployment(usual)) is not None


@pytest.mark.parametrize("replicas", [SPLIT_LIMIT, SPLIT_LIMIT + 1, SPLIT_LIMIT + 3])
@pytest.mark.parametrize("storm", [False, True])
def test_many_replicas(replicas, storm):
    """Beyond a few replicas the compact program describes splits in another way."""
    network = Network(
        nodes=[{"name": n, "resources": 6, "speedup": s, "spawn_time": 0.1} for n, s in (("a", 1.0), ("b", 1.3), ("c", 0.8))],
        links=[
            {"source": u, "target": v, "delay": d, "cost": d / 10}
            for u, v, d in (("a", "b", 0.03), ("b", "c", 0.01), ("a", "c", 0.02))
        ],
    )
    work = {"latency": {"model": "mm1", "service_rate": 10.0}, "max_replicas": replicas, "state_size": 1e6, "cost": 0.1}
    application = Application(
        operators=[
            {"name": "in", "external_rate": 42.0, "candidates": ["a"]},
            {"name": "work", **work},
            {"name": "out", "candidates": ["c"]},
        ],
        streams=[{"source": "in", "target": "work"}, {"source": "work", "target": "out"}],
    )
    problem = EdrpProblem(
        application=application,
        network=network,
        weights={"response_time": 0.4, "cost": 0.3, "downtime": 0.3},
        limits={"response_time": 1.0, "cost": 2.0, "downtime": 5.0},
        current={"in": ["a"], "work": ["a", "b", "b", "c", "c"], "out": ["c"]},
        synchronisation_time=0.1,
        reconfiguration="storm" if storm else "pause-and-resume",
    )
    best, _ = brute_force(problem)
    for program in ("compact", "literal"):
        assert edrp.solve(problem, "highs", program=program).objective == pytest.approx(best, abs=1e-9)


def test_blocks_of_the_literal_program_are_those_that_are_built():
    problem = debs2015(145.0, geometric(6, 0), max_replicas=3)
    blocks = literal_blocks(compile_problem(problem))
    program = formulate(problem, "literal").program
    assert sum(block.columns for block in blocks) == program.columns
    assert [block.name for block in blocks] == list(program.column_blocks)
    assert [block.shape for block in blocks] == [program[block.name].shape for block in blocks]


def test_a_literal_program_that_cannot_fit_says_how_much_it_would_take():
    with pytest.raises(ProblemTooLargeError, match=r"columns and take about \d+ GiB; use the program 'compact'"):
        formulate(debs2015(145.0, geometric(24, 0), max_replicas=4), "literal")


def test_too_many_paths_for_the_literal_program():
    layers, width = 8, 4
    names = [[f"o{layer}{column}" for column in range(width)] for layer in range(layers)]
    streams = [Stream(source=a, target=b, rate=1.0) for before, after in pairwise(names) for a in before for b in after]
    problem = EdrpProblem(
        application=Application(
            operators=tuple(Operator(name=name) for layer in names for name in layer), streams=tuple(streams)
        ),
        network=Network(nodes=[{"name": "a"}]),
        limits={"response_time": 1.0, "cost": 1.0},
    )
    with pytest.raises(UnsupportedProblemError, match=r"65536 source–sink paths.*use the program 'compact'"):
        formulate(problem, "literal")
    assert edrp.solve(problem, "highs").status == "optimal"


@pytest.mark.parametrize("seed", [0, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15])
def test_the_neighbourhood_is_one_step_wide(seed):
    """The paper's three conditions: at most one replica of difference per node, two in all, both ways only as a replacement."""
    problem = random_problem(seed)
    compiled = compile_problem(problem)
    for i, name in enumerate(compiled.operators):
        before, wanted = compiled.current[i], set()
        for degree in range(1, compiled.max_replicas[i] + 1):
            for chosen in combinations_with_replacement(compiled.candidates(i).tolist(), degree):
                change = np.bincount(chosen, minlength=before.size) - before
                if np.abs(change).max() <= 1 and np.abs(change).sum() <= 2 and (np.abs(change).sum() < 2 or change.sum() == 0):
                    wanted.add(chosen)
        found = [tuple(row[row != NO_NODE].tolist()) for row in neighbourhood(compiled, i)]
        assert len(found) == len(set(found)), name
        assert set(found) == wanted, name


def test_the_restricted_program_is_feasible_and_never_better():
    compared = 0
    for seed in range(40):
        problem = random_problem(seed, combinations_limit=2e4)
        if problem.current is None:
            continue
        best, _ = brute_force(problem)
        solution = edrp.solve(problem, "highs", program="restricted")
        assert solution.bound is None, "nothing is proven beyond the neighbourhood"
        assert any("neighbourhood" in note for note in solution.notes)
        if best is None:
            assert solution.status == "none"
        elif solution.status == "feasible":
            compared += 1
            assert solution.objective >= best - 1e-9
    assert compared > 5


def test_the_restricted_program_needs_a_current_deployment(word_count):
    with pytest.raises(UnsupportedProblemError, match="current deployment"):
        formulate(word_count, "restricted")


def test_unknown_names_are_refused(word_count):
    with pytest.raises(EdrpError, match="compact, literal, restricted"):
        formulate(word_count, "other")
    formulation = formulate(word_count)
    with pytest.raises(EdrpError, match="no operator 'parser'"):
        formulation.on["parser", "fog"]
    with pytest.raises(EdrpError, match="no node 'moon'"):
        formulation.replicas["splitter", "moon"]
    with pytest.raises(EdrpError, match=r"no metric 'costs'; did you mean 'cost'\?"):
        formulation.metric("costs")


def test_own_terms_leave_the_objective_the_problems_own(word_count):
    formulation = formulate(word_count)
    formulation.program.minimise(formulation.program.objective - 10 * formulation.replicas["counter", "edge"])
    solution = solve_formulation(formulation)
    assert "edge" in solution.deployment["counter"]
    assert solution.objective == pytest.approx(word_count.evaluate(solution.deployment).objective)
    assert solution.bound is None
    assert any("own terms" in note for note in solution.notes)


def test_own_columns_do_not_disturb_a_start(word_count):
    formulation = formulate(word_count)
    formulation.program.add_columns("extra", 2, upper=1, integer=True)
    linked = formulation.block("extra").sum() - formulation.replicas["splitter"].sum()
    formulation.add(linked, "linked", lower=-1.0, upper=0.0)
    start = edrp.solve(word_count, "highs").deployment
    assert solve_formulation(formulation, start=start).deployment == start


def test_ties_are_broken_by_cost_then_by_moves():
    """Response time is equal everywhere; one node costs traffic, and of the other two one is where the operator is."""
    problem = EdrpProblem(
        application={
            "operators": [
                {"name": "in", "external_rate": 1.0, "candidates": ["a"]},
                {"name": "work", "candidates": ["b", "c", "d"]},
            ],
            "streams": [{"source": "in", "target": "work"}],
        },
        network={
            "nodes": [{"name": n} for n in "abcd"],
            "links": [{"source": "a", "target": n, "delay": 0.01, "cost": c} for n, c in (("b", 2.0), ("c", 1.0), ("d", 1.0))],
        },
        weights={"response_time": 1.0},
        limits={"response_time": 1.0},
        current={"in": ["a"], "work": ["d"]},
    )
    for program in ("compact", "literal"):
        broken = edrp.solve(problem, "highs", program=program, tie_break=True)
        assert (broken.status, broken.deployment["work"], broken.objective) == ("optimal", ("d",), 0.01)


def test_the_current_deployment_is_the_first_incumbent(reconfigure):
    """With a limit of nothing the current or given deployment is still there, if it is feasible."""
    best = edrp.solve(reconfigure, "highs").deployment
    for method in ("highs", "scipy", "eliminate", "annealing", "auto"):
        for limit in ({"work_limit": 0.0}, {"work_limit": 0.01}, {"time_limit": 0.0}):
            again = edrp.solve(reconfigure, method, start=best, **limit)
            assert again.objective <= reconfigure.evaluate(best).objective + 1e-9, (method, limit)
