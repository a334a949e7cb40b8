"""Paths of Java and of Flink's libraries on this machine."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from edrp.engines.errors import EngineError

NEEDED = ("flink-dist-", "log4j-")
"""Beginnings of the names of libraries that a cluster without SQL needs."""


def java() -> str:
    """The program `java`: that of JAVA_HOME, else the one on the path.

    Raises
    ------
    EngineError
        There is none.
    """
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    path = path or shutil.which("java")
    if path is None:
        raise EngineError("java", "is not found; install Java 17 or later, or name it in JAVA_HOME")
    return path


def flink_libraries() -> list[Path]:
    """The libraries of Flink that a cluster needs, from the package `apache-flink-libraries`.

    Raises
    ------
    EngineError
        The package is not installed.
    """
    package = find_spec("pyflink")
    folders = [] if package is None else [Path(location) / "lib" for location in package.submodule_search_locations or ()]
    libraries = [path for folder in folders for path in sorted(folder.glob("*.jar")) if path.name.startswith(NEEDED)]
    if not libraries:
        raise EngineError("LocalFlink", "needs the libraries of Flink; pip install 'edrp[flink]' (330 MB)")
    return libraries
