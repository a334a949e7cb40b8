"""Rules in Python: registered, checked by their contract, solved, sent to workers; contradictions are loud."""

import math
import re

import pytest

import edrp
import edrp.testing
from edrp.batch import read_rows
from edrp.batch.tasks import packed_additions, unpack_additions
from edrp.errors import InvalidArgumentError, InvalidInstanceError, VerificationError
from edrp.placement.rules import own


class FewNodes:
    """At most `nodes` nodes run any of the operators."""

    def __init__(self, operators=(), nodes=1):
        self.operators, self.nodes = list(operators), nodes
        if nodes < 1:
            raise ValueError(f"nodes must be at least 1 (got {nodes})")

    def names(self, problem):
        return self.operators or list(problem.application.by_name)

    def evaluate(self, problem, deployment):
        return max(0, len({node for name in self.names(problem) for node in deployment.replicas(name)}) - self.nodes)

    def linearise(self, model):
        return model.any(model.on[self.names(model.problem)], axis=0).sum() <= self.nodes


class LaxRows(FewNodes):
    def linearise(self, model):
        return model.any(model.on[self.names(model.problem)], axis=0).sum() <= self.nodes + 1


class StrictRows(FewNodes):
    def linearise(self, model):
        return model.on[self.names(model.problem)].sum() <= self.nodes


class Undefined(FewNodes):
    def evaluate(self, problem, deployment):
        return math.nan


class Negative(FewNodes):
    def evaluate(self, problem, deployment):
        return super().evaluate(problem, deployment) - 1


class Fickle(FewNodes):
    asked = 0

    def evaluate(self, problem, deployment):
        Fickle.asked += 1
        return super().evaluate(problem, deployment) + (Fickle.asked > 5) * 1e-12 * Fickle.asked


class Meddling(FewNodes):
    def evaluate(self, problem, deployment):
        problem.__dict__["synchronisation_time"] = problem.synchronisation_time + 1.0
        return super().evaluate(problem, deployment)


class NoRows(FewNodes):
    def linearise(self, model):
        return model.on.sum()


class Unmeetable(FewNodes):
    def evaluate(self, problem, deployment):
        return 1.0

    def linearise(self, model):
        return 0 * model.on.sum() >= 1


CLASSES = [FewNodes, LaxRows, StrictRows, Undefined, Negative, Fickle, Meddling, NoRows, Unmeetable]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for maker in CLASSES:
        monkeypatch.setitem(own.registered_rules(), maker.__name__, maker)


@pytest.fixture
def roomy(word_count):
    """Reader and splitter, which are best on two nodes, have room on one, too."""
    nodes = [node.replace(resources=4.0) for node in word_count.network.nodes]
    return word_count.replace(network=word_count.network.replace(nodes=tuple(nodes)))


def document(type, **changes):
    return {"rule": "python", "name": "mine", "type": type, **changes}


def ruled(problem, type, **changes):
    parameters = changes.pop("parameters", {"operators": ["reader", "splitter"], "nodes": 1})
    return problem.replace(rules=[document(type, parameters=parameters, **changes)])


@pytest.mark.parametrize("program", ["compact", "literal"])
def test_a_rule_in_python_decides_as_its_evaluator_says(roomy, program):
    spread = edrp.solve(roomy, "highs").deployment
    problem = ruled(roomy, "FewNodes")
    assert problem.evaluate(spread).broken == ("rule 'mine' (FewNodes): violated by 1",)
    solution = edrp.solve(problem, "highs", program=program)
    assert solution.status == "optimal"
    assert {*solution.deployment["reader"]} == {*solution.deployment["splitter"]}
    priced = edrp.solve(ruled(roomy, "FewNodes", penalty=1e-6), "highs", program=program)
    assert priced.metrics["penalties"] == pytest.approx(1e-6)
    assert priced.deployment == spread


@pytest.mark.parametrize("penalty", [None, 1e-6])
@pytest.mark.parametrize(
    ("type", "values"),
    [
        ("LaxRows", "violated by 1.0 says `evaluate`, by 0.0 say the rows of `linearise`"),
        ("Undefined", "violated by nan says `evaluate`, by [01].0 say the rows of `linearise`"),
    ],
)
def test_a_rule_whose_faces_disagree_is_a_loud_error_with_both_values(roomy, type, values, penalty):
    problem = ruled(roomy, type, penalty=penalty)
    with pytest.raises(VerificationError, match=rf"rule 'mine' \(in Python, {type}\) contradicts itself: {values}"):
        edrp.solve(problem, "highs")
    with pytest.raises(VerificationError, match=f"contradicts itself: {values}"):
        edrp.solve_formulation(edrp.formulate(problem))


def test_rows_that_are_too_strict_are_found_where_the_answer_breaks_them(roomy):
    """Two operators on one node meet the rule, and not the row of it."""
    parameters = {"operators": ["splitter", "writer"]}
    with pytest.raises(VerificationError, match=r"violated by 0.0 says `evaluate`, by \d.0 say the rows of `linearise`"):
        edrp.solve(ruled(roomy, "StrictRows", parameters=parameters, penalty=1e-9), "highs")


def test_the_contract_holds_for_a_good_rule_and_for_one_of_the_package(word_count):
    edrp.testing.check_rule(FewNodes, nodes=2)
    both = {"operators": ["splitter", "counter"]}
    edrp.testing.check_rule(FewNodes, word_count, **both)
    edrp.testing.check_rule({"rule": "together", "name": "ours", **both}, word_count)


BREACHES = {
    "LaxRows": (r"`evaluate` gives 1.0 of \{.*\}, the rows of `linearise` give 0.0", {}),
    "StrictRows": (r"`evaluate` gives 0.0 of \{.*\}, the rows of `linearise` give \d.0", {"nodes": 2}),
    "Undefined": (r"`evaluate` gives nan of \{.*\}, which must be finite", {}),
    "Negative": (r"`evaluate` gives -1.0 of \{.*\}; a violation is at least 0", {}),
    "Fickle": (r"violations are \(.*\), and \(.*\) when asked again", {}),
    "Meddling": ("the rule changes the problem", {}),
    "Unmeetable": ("the rule is broken by all 60 deployments that were drawn", {}),
    "FewNodes": ("the rule is met by all 60 deployments that were drawn", {"nodes": 3}),
}


@pytest.mark.parametrize("name", BREACHES)
def test_the_contract_names_what_is_broken(word_count, name):
    sentence, parameters = BREACHES[name]
    maker = next(maker for maker in CLASSES if maker.__name__ == name)
    with pytest.raises(AssertionError, match=sentence):
        edrp.testing.check_rule(maker, word_count, **{"operators": ["splitter", "counter"], **parameters})


def test_the_contract_is_about_a_registered_class():
    class Another(FewNodes):
        pass

    with pytest.raises(AssertionError, match=re.escape("call edrp.register_rule(name, Another) first")):
        edrp.testing.check_rule(Another)


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (document("FewNode"), r"rules\[0\].type: .*did you mean 'FewNodes'"),
        (document("FewNodes", parameters={"node": 1}), r"rules\[0\].parameters: are not taken by FewNodes: .*'node'"),
        (document("FewNodes", parameters={"nodes": 0}), "are not taken by FewNodes: nodes must be at least 1"),
        (document("FewNodes", parameters={"operators": ["spliter"]}), "no operator 'spliter'; did you mean 'splitter'"),
        (document("FewNodes", penalty=-1), r"rules\[0\].*penalty"),
    ],
)
def test_faults_of_a_document_have_their_places(word_count, rule, fault):
    with pytest.raises(InvalidInstanceError, match=fault):
        word_count.replace(rules=[rule])


def test_a_linearise_that_gives_no_rows_is_told_what_to_give(word_count):
    with pytest.raises(TypeError, match=r"`linearise` of the rule in Python 'NoRows' returns .*give rows, such as"):
        word_count.replace(rules=[document("NoRows")])


def test_a_name_is_registered_once_unless_it_is_replaced(monkeypatch):
    monkeypatch.delitem(own.registered_rules(), "FewNodes")
    edrp.register_rule("FewNodes", FewNodes)
    with pytest.raises(InvalidArgumentError, match=r"already a rule called 'FewNodes'; .*replace=True\) puts a new definition"):
        edrp.register_rule("FewNodes", LaxRows)
    edrp.register_rule("FewNodes", LaxRows, replace=True)
    assert own.registered_rules()["FewNodes"] is LaxRows
    with pytest.raises(InvalidArgumentError, match="give a class"):
        edrp.register_rule("other", 3)


def test_packages_offer_classes_and_dicts_of_them_by_entry_point(monkeypatch):
    monkeypatch.setattr(own, "added", lambda group: (FewNodes, {"lax": LaxRows}) if group == "edrp.rules" else ())
    assert own.registered_rules.__wrapped__() == {"FewNodes": FewNodes, "lax": LaxRows}


def test_another_process_learns_the_rules_of_this_one(monkeypatch, roomy):
    packed = packed_additions(())
    for maker in CLASSES:
        monkeypatch.delitem(own.registered_rules(), maker.__name__)
    unpack_additions(packed)
    assert edrp.solve(ruled(roomy, "FewNodes"), "highs").status == "optimal"


@pytest.mark.slow
def test_rules_travel_to_the_workers_of_a_batch(roomy, tmp_path):
    problem = ruled(roomy, "FewNodes")
    edrp.solve_batch({"mine": problem}, ["highs"], n_jobs=1, out=tmp_path / "out")
    (row,) = read_rows(tmp_path / "out").to_pylist()
    assert (row["outcome"], row["status"]) == ("solved", "optimal"), row
    assert row["objective"] == edrp.solve(problem, "highs").objective


def test_a_rule_may_join_no_cells_at_all(word_count):
    model = edrp.RuleModel(word_count)
    assert model.any(model.on[:, []], axis=0).shape == (0,)
    assert model.memberships == []
    assert model.any(model.on[:, []], axis=1).shape == (4,)
    assert [part.size for part in model.memberships] == [0] * 4
    with pytest.raises(TypeError, match="`any` joins cells of `on`"):
        model.any(model.replicas["reader"])
