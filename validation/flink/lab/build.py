"""Compiles the lab's jobs: `python -m edrp.validation.flink.lab.build` after a change here or in the live library."""

from __future__ import annotations

import sys
from pathlib import Path

from edrp.engines.flink import live
from edrp.engines.flink.jars import JavaProgram

FOLDER = Path(__file__).parent
LAB = JavaProgram(FOLDER / "lab.jar", (FOLDER, live.FOLDER), "edrp.lab.LabJob")
"""The lab's jobs, with the live library that some of them use."""

if __name__ == "__main__":
    sys.stdout.write(LAB.build())
