"""Documents to begin with: small instances of every family of a kind, and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from edrp.core.instances import schema
from edrp.datasets.families.family import Family
from edrp.datasets.families.placement.rules import RULED_KINDS, ruled_family
from edrp.datasets.families.registry import all_families

INSTANCES_PER_SIZE = 12
"""Instances of each family and size."""

SIZES = 6
"""Sizes of each family, from the smallest on."""


def base_documents(kinds: Sequence[str], files: Sequence[Path] = ()) -> st.SearchStrategy[dict[str, Any]]:
    """Documents of these kinds, as they would be read from JSON; those in the files are as likely as those of one kind."""
    known = all_families()
    by_kind = [_of_families([family for family in known[kind].values() if not family.missing_packages]) for kind in kinds]
    documents = [document for file in files if (document := _read(file)).get("kind") in kinds]
    return st.one_of(*by_kind, *([st.sampled_from(documents)] if documents else []))


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _of_families(families: list[Family]) -> st.SearchStrategy[dict[str, Any]]:
    """Half of those of kinds with rules have some."""
    names = st.sampled_from([(family.kind, family.name) for family in families])
    ruled = st.booleans() if families[0].kind in RULED_KINDS else st.just(False)
    chosen = st.tuples(names, st.integers(0, SIZES - 1), st.integers(0, INSTANCES_PER_SIZE - 1), ruled)
    return chosen.map(lambda choice: _generated(*choice[0], *choice[1:]))


@cache
def _generated(kind: str, name: str, beyond: int, seed: int, ruled: bool) -> dict[str, Any]:
    family = ruled_family(all_families()[kind][name]) if ruled else all_families()[kind][name]
    problem = family.make(family.least_size + beyond, np.random.default_rng(seed))
    document: dict[str, Any] = problem.model_dump(mode="json")
    return document


@cache
def field_units(kind: str) -> dict[str, str]:
    """Units of the fields of a kind of document and of all that it holds, by name.

    >>> field_units("edrp")["spawn_time"]
    's'
    """
    described = schema(kind)
    owners = [described, *described.get("$defs", {}).values()]
    fields = [item for owner in owners for item in owner.get("properties", {}).items()]
    return {name: field["unit"] for name, field in fields if "unit" in field}
