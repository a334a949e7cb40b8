"""Documents of many links are read in parts, and are the same as if they were read as a whole."""

import json

import pytest

import edrp
from edrp.core import instances
from edrp.core.errors import InvalidInstanceError
from edrp.core.kinds import kinds

PLAIN = ("a", "b", "c", "d", "e", "f")
STRANGE = ("a", "b},{", "c]", 'd"', "links", "f , {")


def document(names=PLAIN, **changes):
    pairs = [(u, v) for u in names for v in names if u < v]
    costs = [{}, {"cost": 0.5}]
    links = [{"source": u, "target": v, "delay": 0.25 + 0.5 * k, **costs[k % 2]} for k, (u, v) in enumerate(pairs)]
    operators = [{"name": "a", "external_rate": 1.0}, {"name": "b"}]
    application = {"operators": operators, "streams": [{"source": "a", "target": "b", "rate": 1.0}]}
    network = {"nodes": [{"name": name} for name in names], "links": links}
    other = {"weights": {"response_time": 1.0}, "limits": {"response_time": 10.0}, "synchronisation_time": 1.0}
    return {"kind": "edrp", "application": application, "network": network, **other, **changes}


@pytest.fixture(params=[1, 40, 400])
def in_parts(request, monkeypatch):
    monkeypatch.setattr(instances, "LONG", request.param)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("names", [PLAIN, STRANGE])
def test_a_document_read_in_parts_is_the_same(in_parts, names, indent):
    text, whole = json.dumps(document(names), indent=indent), edrp.EdrpProblem(**document(names))
    part = instances.read_in_parts(text, kinds)
    assert part == whole if names is PLAIN else part in (None, whole)
    assert edrp.loads(text) == whole


def test_faults_of_a_long_document_have_their_places(in_parts):
    broken = document(unknown=1)
    broken["network"]["links"][7]["delay"] = -1.0
    broken["network"]["links"][8]["target"] = 5
    with pytest.raises(InvalidInstanceError) as info:
        edrp.loads(json.dumps(broken))
    assert {fault.place for fault in info.value.faults} == {"network.links[7].delay", "network.links[8].target", "unknown"}


@pytest.mark.parametrize("again", [{"delay": 9.0}, {"source": "b"}])
def test_a_name_that_is_given_twice_in_a_link_is_a_fault(in_parts, again):
    text, link = json.dumps(document()), json.dumps(document()["network"]["links"][7])
    with pytest.raises(InvalidInstanceError, match=rf"network.links\[7\].{next(iter(again))}: is given twice in one object"):
        edrp.loads(text.replace(link, f"{link[:-1]}, {json.dumps(again)[1:]}"))


def test_links_of_one_network_share_what_was_given():
    links = edrp.EdrpProblem(**document()).network.links
    assert links[0].model_fields_set == {"source", "target", "delay"}
    assert links[0].model_fields_set is links[2].model_fields_set
    assert links[1].model_fields_set == {"source", "target", "delay", "cost"}
