"""The watch of a cluster."""

import pytest
from watching import Watch


@pytest.fixture
def watch(run, monkeypatch, tmp_path):
    return Watch(run, monkeypatch, tmp_path / "run.jsonl")
