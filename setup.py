"""Finds the packages of all rooms; everything else about the project is in `pyproject.toml`."""

from setuptools import find_packages, setup

ROOMS = ("formulations", "heuristics", "mdp", "datasets", "validation")
"""Folders next to `edrp/` that are packages of it: `formulations/` is `edrp.formulations`."""

packages = find_packages(include=["edrp", "edrp.*"])
for room in ROOMS:
    packages += [f"edrp.{room}", *(f"edrp.{room}.{name}" for name in find_packages(room))]

setup(packages=packages, package_dir={f"edrp.{room}": room for room in ROOMS})
