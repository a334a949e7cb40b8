"""The record of a family of random instances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from edrp.core.errors import BackendUnavailableError
from edrp.core.problem import Problem

Fields = dict[str, Any]
"""Part of a document, as JSON has it."""


def first_line(maker: Callable[..., object]) -> str:
    """Return the first line of a maker's docstring, without the full stop, as the description of what it makes."""
    return str(maker.__doc__).splitlines()[0].rstrip(".")


@dataclass(frozen=True, slots=True)
class Family:
    """Random instances of one kind that differ by size and seed.

    Attributes
    ----------
    name
        Unique among the families of its kind; small letters, digits and hyphens, because it becomes part of ids.
    kind
        Kind of the problems.
    summary
        Description of the problems in a line.
    make
        Makes one instance of a size; all that is random comes out of the generator.
    size
        Name of the quantity that the size counts.
    default_size, least_size
        Size if none is asked for, and the smallest there is.
    packages
        Packages of the extra `data` that have to be installed with the core.
    earlier
        Makers of versions 1, 2, … before that of `make`, if its instances have changed.

    Examples
    --------
    >>> from edrp.datasets.random_numbers import rounded
    >>> from edrp.migration.single_step import MigrationProblem
    >>> def halves(size: int, random: np.random.Generator) -> Problem:
    ...     work = tuple(rounded(random.uniform(1, 2, size)))
    ...     return MigrationProblem(work=work, state_size=work, intervals=((0, size),), nodes=2, tolerance=1.0)
    >>> Family("halves", "migration", "one node becomes two", halves, "tasks", 8, 2).make(4, np.random.default_rng(0)).nodes
    2
    """

    name: str
    kind: str
    summary: str
    make: Callable[[int, np.random.Generator], Problem]
    size: str
    default_size: int
    least_size: int = 1
    packages: tuple[str, ...] = ()
    earlier: tuple[Callable[[int, np.random.Generator], Problem], ...] = ()

    def in_version(self, number: int) -> Family:
        """Return the family as it was in a version, under the name "…-v1", or itself where it is the same today."""
        if number > len(self.earlier):
            return self
        return replace(self, name=f"{self.name}-v{number}", make=self.earlier[number - 1], earlier=())

    @property
    def missing_packages(self) -> list[str]:
        """Packages that the family needs and that are not installed."""
        return [name for name in self.packages if find_spec(name) is None]

    def require_packages(self) -> None:
        """Raise an error if a package that the family needs is not installed.

        Raises
        ------
        BackendUnavailableError
            Naming the extra to install.
        """
        if missing := self.missing_packages:
            raise BackendUnavailableError(
                f"family {self.name!r} of kind {self.kind!r} needs the package {missing[0]}: "
                'pip install "edrp[data]", or choose other families'
            )
