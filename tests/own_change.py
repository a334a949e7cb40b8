"""Prints the test files of what has changed since a commit: `python tests/own_change.py [COMMIT]`, by default HEAD.

A test file counts if it has changed, or if it imports a module that has. Quick tests of the core are always among them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("edrp", "formulations", "heuristics", "mdp", "datasets", "validation")
ALWAYS = ("tests/edrp/core/test_*.py", "tests/edrp/test_rooms.py")


def lines(*command: str) -> list[str]:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def changed(commit: str) -> set[str]:
    """Files that differ from the commit, new ones included."""
    return {*lines("diff", "--name-only", commit), *lines("ls-files", "--others", "--exclude-standard")}


def module(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts if parts[0] == "edrp" else ("edrp", *parts))


def own_tests(files: set[str]) -> set[str]:
    """Changed test files that exist, and those whose text names a changed module."""
    modules = {module(path) for path in files if path.endswith(".py") and path.split("/")[0] in ROOMS}
    tests = [path for path in lines("ls-files", "tests/**/test_*.py", "--cached", "--others") if (ROOT / path).exists()]
    chosen = files & set(tests)
    for path in tests:
        imported = set(re.findall(r"^ *(?:from|import) (edrp[\w.]*)", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE))
        if imported & modules:
            chosen.add(path)
    return chosen


if __name__ == "__main__":
    chosen = own_tests(changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD"))
    chosen |= {path.relative_to(ROOT).as_posix() for pattern in ALWAYS for path in ROOT.glob(pattern)}
    sys.stdout.write(" ".join(sorted(chosen)) + "\n")
