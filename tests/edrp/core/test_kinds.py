"""Records of kinds: every part of every kind is there, under the name that the record says."""

from dataclasses import fields

import pytest

import edrp
from edrp.check_problems import CheckProblems
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.core.kinds import Kind, get_kind, kinds, register_kind
from edrp.core.methods import methods
from edrp.core.problem import EVERYTHING, Problem
from edrp.core.solution import Solution
from edrp.datasets.families.family import Family
from edrp.testing import check_described

LACKING = {
    "formulations": {"edrp-policy", "migration-sequence", "migration-policy", "enactment-scenario", "bimodal-scenario"},
    "explain_infeasibility": set(kinds())
    - {"edrp", "edrp-sequence", "edrp-policy", "latency-aware", "rescale", "migration", "enactment", "mapping"},
    "explain": set(kinds()) - {"edrp", "edrp-sequence", "latency-aware", "rescale"},
    "refuse_formulation": set(kinds()) - {"edrp-sequence", "mapping"},
    "find_directly": set(kinds()) - {"enactment", "leasing"},
    "view": {"edrp-policy", "enactment", "mapping", "link-allocation"},
}
"""Parts that some kinds lack, by part: whoever adds a kind without one says so here."""

PARTS = [field.name for field in fields(Kind) if field.name != "name"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", kinds())
def test_no_part_of_a_kind_is_forgotten(name, part):
    value = getattr(get_kind(name), part)
    assert bool(value) == (name not in LACKING.get(part, ())), f"kind {name!r} and its part {part!r}"


@pytest.mark.parametrize("kind", kinds().values(), ids=lambda kind: kind.name)
def test_parts_are_of_the_kind(kind):
    assert issubclass(kind.problem, Problem)
    assert issubclass(kind.solution, Solution)
    assert kind.problem.model_fields["kind"].default == kind.name
    assert kind.solution.model_fields["kind"].default == f"{kind.name}-solution"
    assert kind.solution.decision is not Solution.decision, "a batch cannot evaluate its answers again"
    assert all(callable(kind.builder(program)) for program in kind.formulations)
    own = [family for family in kind.families if family.kind == kind.name]
    assert own
    assert all(isinstance(family, Family) for family in own)
    assert isinstance(kind.check_problems(), CheckProblems)
    assert methods(kind.name)


@pytest.mark.parametrize("part", PARTS)
def test_a_forgotten_part_is_refused_by_name(part):
    parts = dict.fromkeys(PARTS)
    del parts[part]
    with pytest.raises(TypeError, match=f"'{part}'"):
        Kind(name="half", **parts)


def test_parts_given_by_name_are_imported_when_they_are_read():
    kind = Kind(name="lazy", **{**dict.fromkeys(PARTS), "problem": "fractions:Fraction", "choose": "no_such_module:choose"})
    assert kind.problem.__name__ == "Fraction"
    assert kind.has("choose")
    assert not kind.has("display")
    with pytest.raises(ModuleNotFoundError):
        kind.choose  # noqa: B018 - reading it imports


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="already a kind of problem called 'edrp'"):
        register_kind(get_kind("edrp"))


class Mine(edrp.Method):
    """A heuristic of a notebook."""

    takes = EVERYTHING
    name, kinds, summary = "mine", ("edrp",), "finds nothing"

    def run(self, problem, options):
        return edrp.Answer("none", "finished")


def test_a_method_is_registered_again_with_replace_only(monkeypatch):
    monkeypatch.setitem(edrp.methods.__globals__["_registry"](), "mine", Mine())
    with pytest.raises(InvalidInstanceError, match=r"already a method called 'mine'; edrp.register\(method, replace=True\)"):
        edrp.register(Mine())
    again = edrp.register(Mine(), replace=True)
    assert edrp.methods("edrp")["mine"] is again


@pytest.mark.parametrize("takes", ["rules", None, 3])
def test_what_a_method_takes_is_a_set(takes):
    with pytest.raises(InvalidInstanceError, match=r"takes: is .*; give a set of parts of problems"):
        edrp.register(type("Taking", (Mine,), {"name": "taking", "takes": takes})())


def test_a_method_of_ones_own_without_takes_is_told_what_to_state(monkeypatch, word_count):
    monkeypatch.setitem(
        edrp.methods.__globals__["_registry"](), "untaking", type("Untaking", (Mine,), {"takes": edrp.Method.takes})()
    )
    with pytest.raises(UnsupportedProblemError, match="its class has no `takes` that names 'response time'; use highs"):
        edrp.solve(word_count, "untaking")


def test_the_contract_names_parts_that_are_none():
    with pytest.raises(
        AssertionError, match=r"`takes` names 'costs', which is no part of problems; there are .*'costs and traffic'"
    ):
        check_described(type("Misspelt", (Mine,), {"takes": {"costs"}})())
    with pytest.raises(AssertionError, match="refuses every ordinary problem of EdrpCheckProblems: mine does not take"):
        check_described(type("Forgetful", (Mine,), {"takes": {"rules"}})())


@pytest.mark.parametrize("name", ["highs", "greedy"])
def test_methods_of_the_package_are_never_replaced(name):
    imitation = type("Imitation", (Mine,), {"name": name})()
    with pytest.raises(InvalidInstanceError, match=f"'{name}'; it belongs to this package"):
        edrp.register(imitation, replace=True)
    assert edrp.methods()[name] is not imitation
