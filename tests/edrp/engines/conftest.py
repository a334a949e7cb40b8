"""The watch of a cluster, and migrations on one."""

import pytest
from migrating import Migrate
from watching import Watch


@pytest.fixture
def watch(run, monkeypatch, tmp_path):
    return Watch(run, monkeypatch, tmp_path / "run.jsonl")


@pytest.fixture
def migrate(run, monkeypatch, tmp_path):
    return Migrate(run, monkeypatch, tmp_path)
