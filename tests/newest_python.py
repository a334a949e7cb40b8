"""Prints the newest Python of this machine that is newer than the one that runs this, if any; `make smoke` tests on it.

It is looked for on the PATH and among the versions of pyenv, whose commands on the PATH may refuse to run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ASK = "import ensurepip, sys, venv; print(sys.version_info.releaselevel, *sys.version_info[:3])"


def version(python: str) -> tuple[int, ...] | None:
    """The version of a Python that runs, can make environments and is no preview."""
    try:
        said = subprocess.run([python, "-c", ASK], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    level, *numbers = said.split()
    return tuple(map(int, numbers)) if level == "final" else None


def newest(above: tuple[int, int]) -> str | None:
    """The newest Python 3 whose minor version is above this one's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    named = [shutil.which(f"python3.{minor}") for minor in range(above[1] + 1, above[1] + 20)]
    found = [*filter(None, named), *map(str, pyenv.glob("versions/3.*/bin/python"))]
    versions = {python: seen for python in found if (seen := version(python)) and seen[:2] > above}
    return max(versions, key=versions.__getitem__, default=None)


if __name__ == "__main__":
    print(newest(sys.version_info[:2]) or "")  # noqa: T201
