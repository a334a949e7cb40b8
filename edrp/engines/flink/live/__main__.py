"""Compiles the library: `python -m edrp.engines.flink.live` after a change of a source."""

from __future__ import annotations

import sys

from edrp.engines.flink.live import LIBRARY

sys.stdout.write(LIBRARY.build())
