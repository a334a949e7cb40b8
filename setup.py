"""Finds the packages of all rooms and installs a checkout; everything else about the project is in `pyproject.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from setuptools import find_packages, setup
from setuptools.command.editable_wheel import editable_wheel

ROOMS = ("formulations", "heuristics", "mdp", "datasets", "validation")
"""Folders next to `edrp/` that are packages of it: `formulations/` is `edrp.formulations`."""

FINDER = '''"""Finds `edrp` in a checkout. Written by its `setup.py`, removed with the package."""

import sys
from importlib.machinery import PathFinder
from os.path import dirname

CHECKOUT = {checkout!r}
ROOMS = {rooms!r}
ENTRY = "__editable__.edrp.path"


class PackageFinder:
    """The finder of an entry of `sys.path`, which knows `edrp` and nothing else of the checkout."""

    @staticmethod
    def find_spec(name, target=None):
        return PathFinder.find_spec(name, [CHECKOUT]) if name == "edrp" else None


class RoomFinder:
    """The finder of folders that lie next to `edrp/` in the checkout from which `edrp` has been imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        parent, _, room = name.partition(".")
        return PathFinder.find_spec(name, [dirname(path[0])]) if parent == "edrp" and room in ROOMS else None


def package_finder(entry):
    if entry != ENTRY:
        raise ImportError
    return PackageFinder


sys.path_hooks.append(package_finder)
sys.path.append(ENTRY)
sys.meta_path.append(RoomFinder)
'''


class Checkout:
    """The strategy of an editable install: `edrp` is found through an entry of `sys.path`.

    Setuptools' own finder is asked after the whole path. By then a folder called `edrp` in the current directory, such as
    the checkout seen from its parent, has been taken for a namespace package. A package on the path goes before that folder.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, wheel: Any, files: list[str], mapping: dict[str, str]) -> None:
        """Write the finder and the line that loads it into the wheel."""
        finder = FINDER.format(checkout=str(Path(__file__).resolve().parent), rooms=ROOMS)
        wheel.writestr("__editable___edrp_finder.py", finder)
        wheel.writestr("__editable__.edrp.pth", "import __editable___edrp_finder\n")


class EditableWheel(editable_wheel):
    """The command behind `pip install --editable`; an editable mode that a user asks for is setuptools' own."""

    def _select_strategy(self, name: str, tag: str, build_lib: Any) -> Any:
        return super()._select_strategy(name, tag, build_lib) if self.mode else Checkout()


packages = find_packages(include=["edrp", "edrp.*"])
for room in ROOMS:
    packages += [f"edrp.{room}", *(f"edrp.{room}.{name}" for name in find_packages(room))]

setup(
    packages=packages,
    package_dir={f"edrp.{room}": room for room in ROOMS},
    cmdclass={"editable_wheel": EditableWheel},
)
