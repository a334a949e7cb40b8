"""Why a problem is infeasible: what clashes, and what makes the whole problem feasible, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Infeasibility:
    """The reasons why nothing is feasible.

    Attributes
    ----------
    clashes : demands that cannot hold together, one sentence each.
    remedies : what was found to make the whole problem feasible, and what not to.
    """

    clashes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
