"""Instances as the checker reads them by itself: what could be read in two ways, or means what it does not know, is refused."""

import copy
import json
from fractions import Fraction
from functools import reduce
from operator import getitem, or_

import pytest
from hypothesis import HealthCheck, given, settings
from rule_documents import CASES

import edrp
from edrp.certificates import checker
from edrp.core.instances import schema
from edrp.placement.metrics import EDRP_METRICS, NORMALISED
from edrp.placement.metrics.own import OwnMetric, registered_metrics
from edrp.validation.fuzzing.mutations import base_documents, mutated, places

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
    assert judge(ONE) == "the answer is optimal, its objective is 0.5: no decision is below 0.5 − 1e-6 (1 leaf)"


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
        (one_operator(external_rate=-1.0), "application.operators.external_rate: '-1' is of another type or size"),
        (
            one_operator(latency={"model": "polynomial", "coefficients": [1.0, -2.0]}, external_rate=1.0),
            "negative at 1.0 tuples/s",
        ),
        (
            changed(weights={"cost": 0.5, "availability": 0.5}, limits={"cost": 10.0, "availability": 0.9}),
            "knows neither availability nor",
        ),
        (one_operator(external_rate="١٠"), "external_rate: '١٠' is of another type or size"),
        (changed(network={"nodes": [{"name": "a", "zone": ""}]}), "network.nodes.zone: '' is of another type or size"),
        (one_operator(candidates=[]), "candidates: '\\[\\]' is of another type or size"),
        (changed(weights={}), "weights: must sum to 1"),
        (json.dumps(one_operator(external_rate=7)).replace("7", "1e400"), "external_rate: '1000.* is of another type or size"),
    ],
)
def test_what_can_be_read_in_two_ways_or_is_not_known_is_refused(instance, why):
    with pytest.raises(checker.Refused, match=why):
        judge(instance)


def test_signs_are_free_where_the_package_leaves_them_free():
    curve = {"model": "polynomial", "coefficients": [2.0, -1.0]}
    nodes = [{"name": "a", "coordinates": [-3.7, -40.4]}]
    verdict = judge({**one_operator(latency=curve, external_rate=1.0), "network": {"nodes": nodes}})
    assert verdict.startswith("the answer is optimal")


def test_a_proof_about_one_migration_proves_nothing_about_a_policy():
    fields = {"work": [1, 1], "state_size": [1, 1], "intervals": [[0, 2]], "nodes": 2, "tolerance": 0.2}
    once = edrp.solve(edrp.MigrationProblem(**fields), "ssm", certify=True)
    policy = {"kind": "migration-policy", **fields, "node_counts": [1, 2], "transitions": [[0, 1], [0.5, 0.5]], "discount": 0.8}
    potentials = [json.loads(line) for line in once.certificate.splitlines()[1:]]
    with pytest.raises(checker.Refused, match="this format is for problems of kind migration"):
        judge(policy, potentials, 0.0, {"intervals": None}, format="ssm")


def form(described, unit, definitions, below):
    """What a field holds, by its JSON Schema, as the checker writes it; the objects in it are added to `below`."""
    if "$ref" in described:
        inner = definitions[described["$ref"].rpartition("/")[2]]
        if "properties" not in inner:
            return form(inner, unit, definitions, below)
        below.append(inner)
        return "."
    if described.get("discriminator", {}).get("propertyName") == "rule":
        below += [definitions[choice["$ref"].rpartition("/")[2]] for choice in described["oneOf"]]
        return ".rule"
    if not described:
        return "any"
    if "oneOf" in described:
        below += [definitions[choice["$ref"].rpartition("/")[2]] for choice in described["oneOf"]]
        return "."
    if "anyOf" in described:
        first, *others = [choice for choice in described["anyOf"] if choice.get("type") != "null"]
        nullable = "?" if len(described["anyOf"]) > 1 + len(others) else ""
        if any("units" in choice.get("properties", ()) for choice in others):
            return "amount-or-units"
        by_name = others[0].get("additionalProperties", {}) if others else {}
        return form(by_name if "anyOf" in by_name else first, unit, definitions, below) + ("~" if others else "") + nullable
    words = described.get("enum", [described["const"]] if "const" in described else None)
    if words:
        return "=" + "|".join(words)
    match described["type"]:
        case "array" if "prefixItems" in described:
            first = described["prefixItems"][0]
            return "lonlat" if unit == "degrees" else form(first, unit, definitions, below) + "^"
        case "array":
            sign = "+" if described.get("minItems") else "*"
            return f"{form(described['items'], unit, definitions, below)}{sign}{described.get('maxItems', '')}"
        case "object":
            return form(described["additionalProperties"], unit, definitions, below) + "%"
        case "integer":
            return f"#{described.get('minimum', '')}..{described['maximum']}"
        case "boolean":
            return "flag"
        case "string":
            return "text" if described.get("minLength") else "words"
    return number(described, unit)


UNITS = {"as the operators' needs": "needs", "money/h per tuple/s": "money/h-per-tuple/s"}


def number(described, unit):
    """A number, whose range must be the one that the checker has for it."""
    if "minimum" in described and described["minimum"] < 0 and "not" in described:
        smallest, largest = map(float, checker.RANGES["either-sign"])
        assert (described["minimum"], described["maximum"]) == (-largest, largest)
        assert described["not"] == {"exclusiveMinimum": -smallest, "exclusiveMaximum": smallest}
        return "either-sign"
    if "minimum" in described and described["minimum"] < 0:
        assert (described["minimum"], described["maximum"]) == (-(10**9), 10**9)
        return "signed"
    positive = ">" if "exclusiveMinimum" in described else ""
    if described.get("exclusiveMaximum") == 1:
        return f"{positive}below-1"
    name = positive + {1: "share", 1e21: "total"}.get(described["maximum"], UNITS.get(unit, unit))
    smallest, largest = map(float, checker.RANGES.get(name) or checker.RANGES[name.lstrip(">")])
    assert described["maximum"] == largest
    assert described.get("not", {"exclusiveMaximum": 0})["exclusiveMaximum"] == smallest
    return name


def forms_by_place(objects, definitions, place=""):
    """Fields of objects at a place and below, of which there are several where they are told apart by `model` or `rule`."""
    if place == "rules" and len(objects) > 1:
        named = {f"rules.{described['properties']['rule']['const']}": described for described in objects}
        return reduce(or_, (forms_by_place([described], definitions, here) for here, described in named.items()))
    found, fields = {}, {}
    for described in objects:
        others = described.get("additionalProperties")  # metrics of a user's own
        for name, field in {**described["properties"], **({"*": others} if others else {})}.items():
            if name in WRITTEN:
                continue
            below = []
            text = form(field, field.get("unit", "1" if name == "*" else None), definitions, below)
            needed = name in described.get("required", ()) and len(objects) == 1
            if name == "model":
                fields[name] = "=" + "|".join(filter(None, (fields.get(name, "")[1:-1], text[1:]))) + "!"
            else:
                fields[name] = text + ("!" if needed else "")
            if below:
                found |= forms_by_place(below, definitions, f"{place}.{name}".lstrip("."))
    return {place: fields, **found}


@pytest.mark.parametrize("kind", checker.FIELDS)
def test_the_checker_knows_what_the_schema_says_of_all_fields(kind):
    described = schema(kind)
    expected = forms_by_place([described], described.get("$defs", {}))
    known = {place: dict(entry.split(":", 1) for entry in line.split()) for place, line in checker.FIELDS[kind].items()}
    assert known == expected


WRITTEN = {*EDRP_METRICS} - {*NORMALISED}
"""Metrics of the package that the checker reads as it reads those of users, whose values it does not know."""

READ = ("word_count", "reconfigure", "contention", "edge_to_cloud", "migration", "migration_policy", "link_allocation", "mapping")
READ = (*READ, "enactment", "leasing")
ODD = ("١٠", "10", "", True, None, [], {}, -1, 0, 0.5, 2, 10**16, 1e-19, float("nan"), float("inf"), "text", [[]], {"a": 1})


def package_reads(text):
    try:
        edrp.loads(text)
    except edrp.errors.EdrpError:
        return False
    return True


def checker_reads(text):
    try:
        checker.check_instance(checker.parse(text))
    except (checker.Refused, *checker.MALFORMED):
        return False
    return True


def odd_documents(document):
    """The document with something odd, or nothing, at one place; of the members of a list the first is changed."""
    for place, _ in list(places(document)):
        if all(part == 0 or isinstance(part, str) for part in place):
            for odd in (*ODD, ...):
                changed = copy.deepcopy(document)
                holder = reduce(getitem, place[:-1], changed)
                if odd is ...:
                    del holder[place[-1]]
                else:
                    holder[place[-1]] = odd
                yield json.dumps(changed)


class Replicas:
    """A metric of a user's own, whose name odd documents give; the checker does not know which are registered."""

    name, unit = "a", "replicas"

    def evaluate(self, problem, deployment):
        return sum(map(len, deployment.values()))

    def linearise(self, model):
        return model.replicas.sum()


@pytest.mark.parametrize("name", READ)
def test_what_the_package_refuses_the_checker_refuses_and_reads_what_it_reads(name, examples, monkeypatch):
    monkeypatch.setitem(registered_metrics(), "a", OwnMetric(Replicas()))
    outcomes = set()
    document = json.loads((examples / f"{name}.json").read_text())
    if document.pop("priorities", None):  # which certificates do not know
        document["weights"] = {"peak_load": 1.0}
    for text in odd_documents(document):
        if '"kind": "' in text:
            read = package_reads(text)
            assert checker_reads(text) == read, text
            outcomes.add(read)
    assert outcomes == {True, False}


@pytest.mark.parametrize("kind", CASES)
def test_the_checker_reads_the_rules_that_the_package_reads(kind):
    instance, _ = CASES[kind]
    whole, twice = json.dumps(instance), json.dumps({**instance, "rules": instance["rules"] * 2})
    assert package_reads(whole)
    assert checker_reads(whole)
    assert not package_reads(twice)
    assert not checker_reads(twice)
    for text in odd_documents({"rules": instance["rules"]}):
        changed = json.dumps({**instance, **json.loads(text)})
        assert checker_reads(changed) == package_reads(changed), changed


@pytest.mark.slow
@pytest.mark.parametrize("kind", checker.FIELDS)
def test_mutated_documents_are_refused_by_both_or_read_by_both(kind):
    """Where a value is at a limit to the last digit, the checker, which does not round, may be the stricter one."""

    @settings(max_examples=1500, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(mutated(base_documents((kind,))))
    def each(document):
        text = json.dumps(document)
        if document.get("kind") == kind and not package_reads(text):
            assert not checker_reads(text), text

    each()


def test_every_kind_that_the_checker_evaluates_has_its_fields_checked():
    assert {*checker.EVALUATE, *checker.KINDS.values()} == {*checker.FIELDS}
