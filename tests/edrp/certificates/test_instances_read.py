"""Instances as the checker reads them by itself: what could be read in two ways, or means what it does not know, is refused."""

import json
from fractions import Fraction
from typing import get_args

import pytest
from pydantic import BaseModel

import edrp
from edrp.certificates import checker
from edrp.core.kinds import document_class

ONE = {
    "kind": "edrp",
    "application": {"operators": [{"name": "work", "cost": 5.0}]},
    "network": {"nodes": [{"name": "a"}]},
    "weights": {"cost": 1.0},
    "limits": {"cost": 10.0},
}
"""One operator on one node, worth a half."""

PAYS = [["B", [0, 2**39]]]
"""A tree of one leaf: the row that gives the operator a node, priced at a half."""


def judge(instance, lines=PAYS, objective=0.5, decision=None, **header):
    """What is proven of a claim about an instance, which may be given as text."""
    problem = checker.parse(instance if isinstance(instance, str) else json.dumps(instance))
    about = {"format": "program", "version": 1, "instance": [checker.instance_hash(problem)], "claim": "optimal"}
    first = {**about, "bound": str(Fraction(objective)), "program": "built", **header}
    solution = {"kind": f"{problem['kind']}-solution", "status": "optimal", "objective": objective}
    solution |= decision or {"deployment": {"work": ["a"]}}
    return checker.check(problem, checker.parse(json.dumps(solution)), [json.dumps(line) for line in (first, *lines)])


def changed(**fields):
    return {**ONE, **fields}


def one_operator(**fields):
    return changed(application={"operators": [{"name": "work", "cost": 5.0, **fields}]})


def test_the_claim_is_proven_to_begin_with():
    assert judge(ONE) == "no decision is below 0.5 − 1e-6 (1 leaf)"


TWO_LINKS = {"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"source": s, "target": t, "delay": 0} for s, t in ("ab", "ba")]}


@pytest.mark.parametrize(
    ("instance", "why"),
    [
        (json.dumps(ONE).replace('"limits"', '"limits": {"cost": 20}, "limits"'), "limits is given twice"),
        (changed(network={"nodes": [{"name": "a"}, {"name": "a", "speedup": 9}]}), "a is given twice"),
        (changed(application={"operators": [{"name": "work", "cost": cost} for cost in (1, 5)]}), "work is given twice"),
        (changed(network=TWO_LINKS), "is given twice"),
        (changed(Limits={"response_time": 1e-9}), "instance: has no field 'Limits'"),
        (one_operator(max_replica=3), "application.operators: has no field 'max_replica'"),
        (changed(network={"nodes": [{"name": "a"}], "symmetric": "false"}), "network.symmetric: 'false' is of another type"),
        (one_operator(min_replicas=True), "application.operators.min_replicas: 'True' is of another type"),
        (one_operator(external_rate=-1.0), "application.operators.external_rate: is below 0"),
        (
            one_operator(latency={"model": "polynomial", "coefficients": [1.0, -2.0]}, external_rate=1.0),
            "negative at 1.0 tuples/s",
        ),
        (changed(weights={"cost": 0.5, "availability": 0.5}), "knows neither availability nor"),
    ],
)
def test_what_can_be_read_in_two_ways_or_is_not_known_is_refused(instance, why):
    with pytest.raises(checker.Refused, match=why):
        judge(instance)


def test_signs_are_free_where_the_package_leaves_them_free():
    curve = {"model": "polynomial", "coefficients": [2.0, -1.0]}
    nodes = [{"name": "a", "coordinates": [-3.7, -40.4]}]
    assert judge({**one_operator(latency=curve, external_rate=1.0), "network": {"nodes": nodes}}).startswith("no decision")


def test_a_proof_about_one_migration_proves_nothing_about_a_policy():
    fields = {"work": [1, 1], "state_size": [1, 1], "intervals": [[0, 2]], "nodes": 2, "tolerance": 0.2}
    once = edrp.solve(edrp.MigrationProblem(**fields), "ssm", certify=True)
    policy = {"kind": "migration-policy", **fields, "node_counts": [1, 2], "transitions": [[0, 1], [0.5, 0.5]], "discount": 0.8}
    potentials = [json.loads(line) for line in once.certificate.splitlines()[1:]]
    with pytest.raises(checker.Refused, match="this format is for problems of kind migration"):
        judge(policy, potentials, 0.0, {"intervals": None}, format="ssm")


def documents_in(annotation):
    """Documents that a field may hold, by itself or in tuples; those in dicts are by name."""
    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, BaseModel) and "root" not in annotation.model_fields else []
    named = getattr(annotation, "__origin__", None) is dict
    return [] if named else [document for part in get_args(annotation) for document in documents_in(part)]


def fields_by_place(documents, place=""):
    """Names of fields of documents at a place and below."""
    found = {place: {name for document in documents for name in document.model_fields}}
    for document in documents:
        for name, field in document.model_fields.items():
            below = documents_in(field.annotation)
            if below:
                for deeper, names in fields_by_place(below, f"{place}.{name}".lstrip(".")).items():
                    found.setdefault(deeper, set()).update(names)
    return found


@pytest.mark.parametrize("kind", checker.FIELDS)
def test_the_checker_knows_all_fields_that_there_are_and_no_others(kind):
    expected = fields_by_place([document_class(kind)])
    expected.pop("priorities", None)  # problems with priorities have no certificates
    assert {place: set(names.split()) for place, names in checker.FIELDS[kind].items()} == expected


def test_every_kind_that_the_checker_evaluates_has_its_fields_checked():
    assert {*checker.EVALUATE, *checker.KINDS.values()} == {*checker.FIELDS}
