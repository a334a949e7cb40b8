"""Promises about the clock, kept by a machine that does nothing else: `make test-timing` runs them one at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.timing)


@pytest.fixture(autouse=True)
def patient_kernels() -> None:
    """Time limits do not wait for the compiler here."""
