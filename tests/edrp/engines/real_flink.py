"""Marks of tests that need a real cluster of Flink."""

import pytest

from edrp.engines.errors import EngineError
from edrp.engines.flink.jars import flink_libraries, java

try:
    java(), flink_libraries()
    MISSING = ""
except EngineError as error:
    MISSING = str(error)

IF_THERE_IS_FLINK = [
    pytest.mark.skipif(bool(MISSING), reason=MISSING or "there is a Flink"),
    pytest.mark.xdist_group("local-flink"),
]
"""For a quick test."""

ON_REAL_FLINK = [pytest.mark.slow, *IF_THERE_IS_FLINK]
