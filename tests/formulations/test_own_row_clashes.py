"""A program that is infeasible because of rows that a user has added: the clashes name those rows."""

import pytest

import edrp
from edrp.formulations import clashes

BACKENDS = ["highs", "scipy", "scip", "gurobi", "cvxpy", "pyomo"]


def own(what):
    return f"{what}, which was added to the program"


def apart(problem):
    """Splitter and counter never on one node, and rows that pull them to the edge; one more row does no harm."""
    formulation = edrp.formulate(problem)
    on = formulation.on
    for node in problem.network.by_name:
        formulation.add(on["splitter", node] + on["counter", node] <= 1, f"apart on {node}")
    formulation.add(on["splitter", "edge"] >= 1, "splitter on the edge")
    formulation.add(on["counter", "edge"] >= 1, "counter on the edge")
    formulation.add(on["reader", "edge"] >= 0, "reader anywhere")
    return formulation


@pytest.mark.parametrize("backend", BACKENDS)
def test_own_rows_that_clash_are_named_and_others_are_not(word_count, backend):
    solution = edrp.solve_formulation(apart(word_count), backend)
    assert solution.status == "infeasible"
    names = ("apart on edge", "splitter on the edge", "counter on the edge")
    assert solution.clashes == tuple(own(f"row {name!r}") for name in names)


def test_the_limit_that_an_own_row_clashes_with_is_named_too(word_count):
    limits = word_count.limits.model_dump()
    formulation = edrp.formulate(word_count.replace(limits={**limits, "cost": 6.5}))
    formulation.add(formulation.replicas[["splitter", "counter"]].sum() >= 5, "five replicas")
    assert edrp.solve_formulation(formulation).clashes == ("limits.cost: 6.5 money/h", own("row 'five replicas'"))
    looser = edrp.formulate(word_count.replace(limits={**limits, "cost": 8.0}))
    looser.add(looser.replicas[["splitter", "counter"]].sum() >= 5, "five replicas")
    assert edrp.solve_formulation(looser).clashes == ()


def test_of_a_block_of_rows_those_that_clash_are_named(word_count):
    formulation = edrp.formulate(word_count)
    formulation.add(formulation.on["splitter"] >= [0, 0, 1], "everywhere")
    formulation.add(formulation.on["splitter", "cloud"] <= 0, "not in the cloud")
    clashing = edrp.solve_formulation(formulation).clashes
    assert clashing == (own("row 'everywhere[2]'"), own("row 'not in the cloud'"))


def test_columns_that_a_user_fixes_are_named(word_count):
    formulation = edrp.formulate(word_count)
    columns = formulation.on["splitter", "cloud"].matrix.indices
    formulation.program.fix(columns, 0.0)
    formulation.add(formulation.on["splitter", "cloud"] >= 1, "in the cloud")
    name = formulation.program.column_name(int(columns[0]))
    fixed = f"column {name!r} and {columns.size - 1} more fixed to 0"
    assert edrp.solve_formulation(formulation).clashes == (own("row 'in the cloud'"), own(fixed))


def test_rows_that_define_a_metric_are_not_the_users(word_count):
    formulation = edrp.formulate(word_count.replace(weights={"cost": 1.0}, limits={"cost": 20.0}))
    formulation.add(formulation.metric("response_time") <= 1e-6, "quick")
    formulation.add(formulation.metric("response_time") <= 2e-6, "quicker")
    clashing = edrp.solve_formulation(formulation).clashes
    assert len(clashing) == 1
    assert clashing[0] in (own("row 'quick'"), own("row 'quicker'"))


def test_an_infeasible_problem_is_explained_as_ever_whatever_was_added(examples):
    problem = edrp.load(examples / "infeasible.json")
    formulation = edrp.formulate(problem)
    formulation.add(formulation.on["reader", "edge"] <= 1, "harmless")
    assert edrp.solve_formulation(formulation).clashes == edrp.solve(problem, "highs").clashes != ()


def test_rows_of_other_kinds_are_named_too(examples):
    problem = edrp.load(examples / "link_allocation.json")
    formulation = edrp.formulate(problem)
    formulation.add(formulation.block("dedicated").sum() <= 0, "no routes")
    formulation.add(formulation.block("dedicated").sum() >= 1, "a route")
    assert set(edrp.solve_formulation(formulation).clashes) >= {own("row 'no routes'")}


def test_without_time_all_that_was_added_is_listed(word_count, monkeypatch):
    formulation = apart(word_count)
    monkeypatch.setattr(clashes, "get_backend", None)  # no question is asked
    listed = clashes.explain_infeasible_program(formulation, "highs", 0.0).clashes
    assert [own(f"row 'apart on {node}'") in listed for node in word_count.network.by_name] == [True] * 3


def test_a_solution_says_that_it_is_about_the_program_with_own_rows(word_count):
    formulation = edrp.formulate(word_count)
    assert edrp.solve_formulation(formulation).notes == ()
    formulation.add(formulation.replicas["splitter"].sum() >= 3, "three splitters")
    formulation.program.fix(formulation.on["counter", "edge"].matrix.indices, 0)
    solution = edrp.solve_formulation(formulation)
    assert solution.status == "optimal"
    (note,) = solution.notes
    assert note.startswith(own("row 'three splitters'") + ", and 1 more: ")
    assert note.endswith("about the program with it")


def test_rules_that_an_own_row_clashes_with_are_named_too_those_without_rows_last(word_count):
    """A rule that closes nodes leaves out columns, and so has no row that could be left out."""
    apart = {"rule": "apart", "name": "apart", "operators": ["splitter", "counter"]}
    closed = {"rule": "forbidden", "name": "closed", "operators": ["counter"], "nodes": ["edge"]}
    harmless = {"rule": "spread", "name": "harmless", "operators": ["reader"], "most": 3}
    formulation = edrp.formulate(word_count.replace(rules=[apart, harmless]))
    formulation.add(formulation.on[["splitter", "counter"], "cloud"].sum() >= 2, "both in the cloud")
    rule = "rule 'apart': replicas of splitter and counter run on different nodes"
    assert edrp.solve_formulation(formulation).clashes == (rule, own("row 'both in the cloud'"))
    folded = edrp.formulate(word_count.replace(rules=[harmless, closed]))
    folded.add(folded.on["counter", "edge"] >= 1, "counter on the edge")
    assert edrp.solve_formulation(folded).clashes == (
        own("row 'counter on the edge'"),
        "rule 'closed': no replicas of counter on node edge (it closes nodes, which may play a part)",
    )
