"""Reports on benchmarks take minutes; tests of papers say themselves which of them are slow."""

from __future__ import annotations

from pathlib import Path

import pytest

LONG = Path(__file__).parent / "benchmark"
SMOKE = "test_own_instances.py"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of them, `make test` makes a comparison on own instances."""
    for item in items:
        if item.path.name != SMOKE and LONG in item.path.parents:
            item.add_marker(pytest.mark.slow)
