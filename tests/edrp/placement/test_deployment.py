"""A deployment is a mapping of operators to nodes that cannot be changed."""

import json
import pickle
from collections.abc import Mapping

import pytest
from pydantic import ValidationError

import edrp


@pytest.fixture
def deployment():
    return edrp.Deployment({"reader": ["b", "a"], "writer": ["c"]})


def test_it_is_used_like_a_dict(deployment):
    assert isinstance(deployment, Mapping)
    assert deployment["reader"] == ("a", "b")
    assert deployment.get("nobody") is None
    assert len(deployment) == 2
    assert "reader" in deployment
    assert "nobody" not in deployment
    assert list(deployment) == list(deployment.keys()) == ["reader", "writer"]
    assert list(deployment.values()) == [("a", "b"), ("c",)]
    assert dict(deployment) == dict(deployment.items()) == {"reader": ("a", "b"), "writer": ("c",)}
    assert {**deployment, "writer": ("a",)} == {"reader": ("a", "b"), "writer": ("a",)}
    with pytest.raises(KeyError, match="nobody"):
        deployment["nobody"]


def test_it_equals_what_says_the_same(deployment):
    for same in (
        {"writer": ("c",), "reader": ("a", "b")},
        {"reader": ["b", "a"], "writer": ["c"]},
        edrp.Deployment(writer=["c"], reader=["a", "b"]),
    ):
        assert deployment == same
        assert same == deployment
    assert hash(deployment) == hash(edrp.Deployment({"writer": ["c"], "reader": ["a", "b"]}))
    for other in (
        {"reader": ["a", "b"]},
        {"reader": ["a", "b"], "writer": ["c"], "more": ["c"]},
        {"reader": ["a", "b", "b"], "writer": ["c"]},
        {"reader": ["a", "b"], "writer": "c"},
        {"reader": ["a", "b"], "writer": [["c"]]},
        {"reader": ["a", "b"], "writer": None},
        "reader",
        None,
    ):
        assert deployment != other


def test_it_cannot_be_changed(deployment):
    with pytest.raises(TypeError):
        deployment["reader"] = ("c",)
    with pytest.raises(TypeError):
        del deployment["reader"]
    with pytest.raises(ValidationError, match="frozen"):
        deployment.root = {}


def test_it_can_be_stored_and_printed(deployment):
    assert pickle.loads(pickle.dumps(deployment)) == deployment
    assert json.loads(deployment.model_dump_json()) == {"reader": ["a", "b"], "writer": ["c"]}
    assert edrp.Deployment.model_validate_json(deployment.model_dump_json()) == deployment
    assert repr(deployment) == "Deployment({'reader': ('a', 'b'), 'writer': ('c',)})"
    assert eval(repr(deployment), {"Deployment": edrp.Deployment}) == deployment
