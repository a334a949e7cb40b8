"""Runs the checker: `python checker INSTANCE SOLUTION CERTIFICATE`, where `checker` is this folder or a zip of what is in it."""

import sys
from pathlib import Path
from types import ModuleType

if not __package__:  # started by its path: this folder, or the zip, is the package `checker`
    __package__, __spec__ = "checker", None
    sys.modules[__package__] = folder = ModuleType(__package__)
    folder.__path__ = [str(Path(__file__).parent)]

from .verdicts import check_files, exit_code, verdict

USAGE = "usage: python checker INSTANCE SOLUTION CERTIFICATE"

if __name__ == "__main__":
    said = verdict(check_files, *sys.argv[1:]) if len(sys.argv) == 4 else USAGE
    print(said)  # noqa: T201 - a program of its own
    sys.exit(exit_code(said))
