"""Own rows over the blocks of a formulation against enumeration, on every program and backend."""

import numpy as np
import pytest

import edrp
from edrp.backends import OWN_BACKENDS
from edrp.check_problems.placement.enumeration import deployments, feasible_deployments
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.formulations.formulation import to_answer


def few_nodes(model, operators, most):
    """At most `most` nodes run any of the operators."""
    model.add(model.any(model.on[operators], axis=0).sum() <= most, "few nodes")


def nodes_in_use(deployment, operators):
    return len({node for name in operators for node in deployment.replicas(name)})


def weighted(deployment, operators):
    """Replicas of the first operator on each node, and two for a node that runs the last one."""
    first, last = deployment.replicas(operators[0]), deployment.replicas(operators[-1])
    return max(first[node] + 2 * (last[node] > 0) for node in {*first, *last})


@pytest.mark.parametrize("seed", [0, 3, 6, 8])
def test_the_optimum_with_own_rows_is_that_of_enumeration(seed):
    problem = random_problem(seed, combinations_limit=300)
    names = list(problem.application.by_name)
    kept = [
        entry.evaluation.objective
        for entry in feasible_deployments(problem)
        if nodes_in_use(entry.deployment, names) <= 2 and weighted(entry.deployment, names) <= 2
    ]
    for program in ("compact", "literal"):
        model = edrp.formulate(problem, program)
        few_nodes(model, names, 2)
        model.add(model.replicas[names[0]] + 2 * model.on[names[-1]] <= 2, "licences")
        solution = edrp.solve_formulation(model)
        assert solution.status == ("optimal" if kept else "infeasible"), program
        assert solution.objective == pytest.approx(min(kept, default=None), abs=1e-7), program


@pytest.mark.parametrize("seed", [2, 5, 6])
def test_operators_whose_node_holds_several_ranges_are_on_it_once(seed):
    """In the program over ranges several columns of a node may be 1, and presence has columns of its own."""
    problem = random_rescale(seed, tasks=(2, 3))
    names = list(problem.application.by_name)
    model = edrp.formulate(problem)
    few_nodes(model, names, 2)
    model.add(model.replicas[names[0]] + 2 * model.on[names[-1]] <= 3, "licences")
    kept = []
    for deployment in deployments(problem):
        evaluation = problem.evaluate(deployment)
        if evaluation.feasible and nodes_in_use(deployment, names) <= 2 and weighted(deployment, names) <= 3:
            kept.append(evaluation.objective)
    solution = edrp.solve_formulation(model)
    assert solution.status == ("optimal" if kept else "infeasible")
    assert solution.objective == pytest.approx(min(kept, default=None), abs=1e-7)


@pytest.mark.parametrize("backend", OWN_BACKENDS)
def test_all_backends_keep_own_rows(word_count, backend):
    model = edrp.formulate(word_count)
    few_nodes(model, ["splitter", "counter"], 1)
    model.add(model.replicas["splitter"].sum() == 2, "two")
    solution = edrp.solve_formulation(model, backend)
    assert solution.status == "optimal"
    assert nodes_in_use(solution.deployment, ["splitter", "counter"]) == 1
    assert solution.deployment.degree("splitter") == 2
    model.add(model.on["counter", ["edge", "fog", "cloud"]].sum() >= 2, "spread")
    clashing = edrp.solve_formulation(model, backend).clashes
    assert clashing == tuple(f"row {name!r}, which was added to the program" for name in ("few nodes", "spread"))


def test_the_blocks_cover_the_network_in_the_order_of_the_document(word_count):
    """A node that no operator can use has empty cells, and so has one that is none of an operator's candidates."""
    network, application = word_count.network, word_count.application
    operators = (o.replace(candidates=o.candidates or tuple(network.by_name)) for o in application.operators)
    nodes = (network.nodes[0].replace(name="spare"), *network.nodes)
    problem = word_count.replace(
        application=application.replace(operators=tuple(operators)), network=network.replace(nodes=nodes)
    )
    model = edrp.formulate(problem)
    for block in (model.replicas, model.on):
        assert list(block.axes["operator"]) == [operator.name for operator in problem.application.operators]
        assert list(block.axes["node"]) == [node.name for node in problem.network.nodes]
        assert block[:, "spare"].matrix.nnz == block["reader", "cloud"].matrix.nnz == 0
    deployment = edrp.solve(word_count, "highs").deployment
    point = np.nan_to_num(model.encode(deployment))
    for name in deployment:
        assert dict(zip(problem.network.by_name, model.replicas[name].values(point), strict=True)) == {
            node: deployment.replicas(name)[node] for node in problem.network.by_name
        }


@pytest.mark.parametrize("what", ["replicas", "sums", "own columns"])
def test_only_cells_that_are_0_or_1_are_joined(word_count, what):
    model = edrp.formulate(word_count)
    model.program.add_columns("own", 2)
    cells = {"replicas": model.replicas["reader"], "sums": model.on["reader"] + 0, "own columns": model.block("own")}[what]
    with pytest.raises(TypeError, match="`any` joins cells of `on`, which are 0 or 1"):
        model.any(cells)


def test_what_is_joined_can_be_joined_again_and_is_no_row_of_the_user(word_count):
    model = edrp.formulate(word_count)
    by_node = model.any(model.on[["splitter", "counter"]], axis=0)
    assert by_node.shape == (3,)
    edge_or_fog = model.any(by_node[[0, 1]])
    assert edrp.solve_formulation(model).notes == ()
    model.add(edge_or_fog <= 0, "cloud")
    solution = edrp.solve_formulation(model)
    assert {*solution.deployment["splitter"], *solution.deployment["counter"]} == {"cloud"}


@pytest.mark.parametrize("program", ["compact", "literal"])
def test_the_second_best_keeps_own_rows(word_count, program):
    model = edrp.formulate(word_count, program)
    few_nodes(model, ["splitter", "counter"], 1)
    best = edrp.solve_formulation(model)
    model.exclude(best.deployment)
    second = edrp.solve_formulation(model, start=best.deployment)
    ranked = sorted(
        entry.evaluation.objective
        for entry in feasible_deployments(word_count)
        if nodes_in_use(entry.deployment, ["splitter", "counter"]) == 1
    )
    assert [best.objective, second.objective] == pytest.approx(ranked[:2], abs=1e-7)
    assert second.deployment != best.deployment


def test_terms_of_the_objective_are_written_over_blocks(word_count):
    model = edrp.formulate(word_count)
    model.program.minimise(model.metric("response_time") + 10 * model.on["counter", "edge"])
    solution = edrp.solve_formulation(model)
    assert "edge" not in solution.deployment["counter"]
    assert to_answer(model, edrp.backends.solve_program(model.program)).status == "feasible"


def test_other_kinds_have_blocks_by_the_names_of_their_columns(examples):
    model = edrp.formulate(edrp.load(examples / "mapping.json"))
    with pytest.raises(edrp.errors.EdrpError, match="no columns named 'arcs'; did you mean 'arc'"):
        model.block("arcs")
    assert model.block("arc").shape == model.program["arc"].shape
