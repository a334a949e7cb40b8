"""Families by kind and name, and the instances that they make."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import numpy as np

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.kinds import kinds
from edrp.core.plugins import added
from edrp.core.problem import Problem
from edrp.core.wording import suggestion
from edrp.datasets.families.family import Family
from edrp.datasets.families.placement.rules import RULED, RULED_KINDS, ruled_family

VERSION = re.compile(r"(.+)-v([1-9][0-9]*)")


def own_families() -> dict[str, dict[str, Family]]:
    """Return the families of this package and of kinds from plug-ins, by kind and name."""
    return {
        name: families
        for name, kind in kinds().items()
        if (families := {family.name: family for family in kind.families if family.kind == name})
    }


def all_families() -> dict[str, dict[str, Family]]:
    """Return all families by kind and name, with those of other packages (entry point `edrp.families`).

    An entry point gives a `Family` or a list of them; one whose name is taken is left out.

    Examples
    --------
    >>> list(all_families())[:2]
    ['edrp', 'edrp-sequence']
    """
    families = own_families()
    for family in added("edrp.families"):
        families.setdefault(family.kind, {}).setdefault(family.name, family)
    return families


def choose_families(kind: str, names: Sequence[str] | None = None) -> list[Family]:
    """Choose families of a kind by names or patterns ("diamond-*"); of placement also with rules ("diamond-*-rules").

    With the end "-v1", families whose instances have changed are as they were in version 1: old seeds give old instances.

    Without names: all that the kind brings along, so that what is made does not depend on what else is installed; for a
    kind without any, all there are.

    Raises
    ------
    InvalidInstanceError
        For an unknown kind, or a name that fits no family; it lists those there are.

    Examples
    --------
    >>> [family.name for family in choose_families("edrp", ["diamond-*"])][:2]
    ['diamond-zoo', 'diamond-sndlib']
    """
    families = all_families()
    if kind not in families:
        raise InvalidInstanceError([Fault("kind", kind, f"has no families{suggestion(kind, families)}")])
    of_kind = families[kind]
    if names is None:
        return list(own_families().get(kind, of_kind).values())
    chosen: dict[str, Family] = {}
    faults = []
    for pattern in names:
        fitting = _fitting(of_kind, pattern)
        if not fitting:
            faults.append(Fault("family", pattern, f"fits no family of kind {kind!r}{suggestion(pattern, sorted(of_kind))}"))
        chosen |= {family.name: family for family in fitting}
    if not names:
        faults.append(Fault("family", "", f"name at least one; there are {', '.join(of_kind)}"))
    InvalidInstanceError.raise_if_any(faults)
    return list(chosen.values())


def _fitting(families: dict[str, Family], pattern: str) -> list[Family]:
    """The families that a name or pattern fits; the ends "-rules" and "-v1" are applied to those that the rest fits."""
    if fitting := [family for name, family in families.items() if fnmatchcase(name, pattern)]:
        return fitting
    if pattern.endswith(RULED):
        return [ruled_family(family) for family in _fitting(families, pattern.removesuffix(RULED)) if family.kind in RULED_KINDS]
    if versioned := VERSION.fullmatch(pattern):
        named, number = _fitting(families, versioned[1]), int(versioned[2])
        newest = max((len(family.earlier) + 1 for family in named), default=0)
        return [family.in_version(number) for family in named] if number <= newest else []
    return []


def generate(
    kind: str, count: int, seed: int = 0, *, families: Sequence[str] | None = None, size: int | None = None
) -> Iterator[tuple[str, Problem]]:
    """Random instances, one family after the other: identifiers and problems.

    Instance i depends on the seed, i, its family and the size alone: a longer set begins with the shorter one.

    Parameters
    ----------
    kind
        Kind of the problems.
    count
        Number of instances.
    seed
        The same seed gives the same instances.
    families
        Names or patterns, such as "diamond-*", "diamond-*-rules" for placements with random rules, or "*-v1" for all as they
        were in version 1; default: all families of the kind, without rules.
    size
        Size of every instance; the family says which quantity it counts. Default: the family's own.

    Returns
    -------
    iterator of (str, Problem)
        Identifiers sort in the order of the instances, as "edrp-000017-diamond-ans".

    Raises
    ------
    InvalidInstanceError
        At once, for an unknown kind or family, a count below 1, a negative seed, or a size that a family does not have.
    BackendUnavailableError
        At once, when a family needs a package that is not installed.

    Examples
    --------
    >>> [identifier for identifier, _ in generate("edrp", 2, seed=7, families=["fat-geometric", "diamond-*"])]
    ['edrp-000000-fat-geometric', 'edrp-000001-diamond-zoo']
    """
    chosen = choose_families(kind, families)
    faults = [] if count >= 1 else [Fault("count", str(count), "must be at least 1")]
    faults += [] if seed >= 0 else [Fault("seed", str(seed), "must not be negative")]
    largest = max(chosen, key=lambda family: family.least_size)
    if size is not None and size < largest.least_size:
        faults.append(Fault("size", str(size), f"family {largest.name!r} needs at least {largest.least_size} {largest.size}"))
    InvalidInstanceError.raise_if_any(faults)
    for family in chosen:
        family.require_packages()
    return _instances(chosen, count, seed, size)


def _instances(families: list[Family], count: int, seed: int, size: int | None) -> Iterator[tuple[str, Problem]]:
    for index in range(count):
        family = families[index % len(families)]
        random = np.random.default_rng(np.random.SeedSequence([seed, index]))
        problem = family.make(family.default_size if size is None else size, random)
        yield f"{family.kind}-{index:06d}-{family.name}", problem
