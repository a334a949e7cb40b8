"""Pairs of features: what two of them do together, on problems so small that all decisions can be listed."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations

import numpy as np

from edrp.backends import OWN_BACKENDS
from edrp.core.errors import EdrpError
from edrp.core.instances import loads
from edrp.core.kinds import kinds
from edrp.core.methods import methods
from edrp.validation.fuzzing.families import FAMILIES, UNLISTED
from edrp.validation.fuzzing.features import FEATURES, base_document
from edrp.validation.fuzzing.mutations import methods_for
from edrp.validation.fuzzing.oracle import Case
from edrp.validation.fuzzing.ways import WAYS

DRAWS_OF_A_PAIR = 20
"""Documents that are drawn of a pair before it counts as one that no document can have."""

PROGRAMS = tuple(sorted(name for name in OWN_BACKENDS if name != "highs"))
"""Backends of which one is asked next to HiGHS and the methods of our own."""

ALL_FAMILIES = "families"

Pair = tuple[str, ...]
"""A kind, and two features or ways, or one feature, way or family."""


@cache
def pairs(without: tuple[str, ...] = ()) -> tuple[Pair, ...]:
    """All pairs of what applies to a kind, less those with some features or ways."""
    parts = {name: own for name, (_, own) in (*FEATURES.items(), *WAYS.items()) if name not in without}
    return tuple(
        (kind, *pair) for kind in kinds() for pair in combinations([name for name, own in parts.items() if kind in own], 2)
    )


def alone(part: str) -> tuple[Pair, ...]:
    """A feature or way without another one, or a family, for every kind that has it; "families" for all of them."""
    known = {**FEATURES, **WAYS, **FAMILIES}
    return tuple((kind, name) for name in (FAMILIES if part == ALL_FAMILIES else (part,)) for kind in known[name][1])


def pair_case(number: int, seed: int, work_limit: float, among: tuple[Pair, ...] | None = None) -> Case:
    """The case of a number: one of the pair whose turn it is, or of the next one that a document can have.

    >>> pair_case(0, 0, 1.0).pair
    'edrp: one operator × one node'
    """
    turns = pairs() if among is None else among
    for turn in range(number, number + len(turns)):
        kind, *parts = turns[turn % len(turns)]
        for draw in range(DRAWS_OF_A_PAIR):
            random = np.random.default_rng([seed, turn, draw])
            try:
                text = _text(kind, parts, random)
                loads(text)
            except (EdrpError, ValueError):
                continue
            ways = tuple(name for name in parts if name in WAYS)
            listed = not {*parts} & {*UNLISTED}
            named = f"{kind}: {' × '.join(parts)}"
            return Case(text, _methods(kind, parts, random), work_limit, pair=named, ways=ways, listed=listed)
    raise ValueError(f"no document can have any of {len(turns)} pairs")


def _text(kind: str, parts: list[str], random: np.random.Generator) -> str:
    """A document of a family, or a tiny one with features."""
    drawn = int(random.integers(2**20))
    for name in parts:
        if name in FAMILIES:
            return str(FAMILIES[name][0](kind, drawn).model_dump_json())
    document = base_document(kind, drawn)
    for name in parts:
        if name in FEATURES:
            FEATURES[name][0](document, random)
    return json.dumps(document)


def _methods(kind: str, parts: list[str], random: np.random.Generator) -> tuple[str, ...]:
    """`auto`, exact methods of our own, HiGHS, another backend and a method that proves nothing; all methods for one feature.

    Where decisions are not listed, HiGHS and another backend.
    """
    exact, others = methods_for(kind, exact=True), methods_for(kind, exact=False)
    programs = [name for name in exact if name in PROGRAMS and name in methods(kind)]
    if {*parts} & {*UNLISTED}:
        return ("highs", str(random.choice(programs)))
    if len(parts) == 1:
        return ("auto", *methods_for(kind))
    some = [str(random.choice(names)) for names in (programs, others) if names]
    return ("auto", *(name for name in exact if name not in PROGRAMS), *some)
