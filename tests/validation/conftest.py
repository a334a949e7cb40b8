"""Reports on papers and benchmarks take minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

LONG = tuple(Path(__file__).parent / folder for folder in ("papers", "benchmark"))
SMOKE = ("test_demo.py", "test_own_instances.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of them, `make test` makes the demo and a comparison on own instances."""
    for item in items:
        if item.path.name not in SMOKE and any(folder in item.path.parents for folder in LONG):
            item.add_marker(pytest.mark.slow)
