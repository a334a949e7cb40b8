"""The modules of this folder find one another under pytest as they do when one of them is run as a script."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Each is run once, by `make test-slow`."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
