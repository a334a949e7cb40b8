"""The library, in Java, with which tasks of a Flink job move while the stream goes on (state migration, section 5.2)."""

from __future__ import annotations

from pathlib import Path

from edrp.engines.flink.jars import JavaProgram

FOLDER = Path(__file__).parent
LIBRARY = JavaProgram(FOLDER / "live.jar", (FOLDER,))
"""Its sources, and the jar to compile jobs against and to pack into them."""
