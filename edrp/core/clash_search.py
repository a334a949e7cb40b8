"""The search for demands that clash, and for the least change that makes a whole problem feasible, for any kind of problem.

A minimal set of clashing demands is not the whole story: other sets may clash as well. What is left out must meet each of them:
the smallest change is a smallest set that does (implicit hitting sets, https://doi.org/10.1007/978-3-642-23786-7_19).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from edrp.core.wording import enumerated

Verdict = Literal["feasible", "infeasible", "unknown", "impossible"]
"""Whether demands can be met together; unknown where time is up, impossible where the others cannot be left out."""

Decide = Callable[[frozenset[int]], Verdict]
"""Decides whether demands, given by their numbers, can be met together with everything that is no demand."""

MAX_CHANGE = 4
"""Demands up to which the smallest change is looked for."""

WHOLE = "the whole problem"
"""What remedies are about."""

UNEXAMINED = "which of these are needed for the clash was not found out within the limit"
UNCHANGED = f"what makes {WHOLE} feasible was not found out within the limit"
BEYOND = f"to make {WHOLE} feasible, more than {MAX_CHANGE} demands have to go"


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The best value that a metric takes without its limit: in `unit` ("1" for none), and whether no better one exists."""

    best: float
    unit: str
    proven: bool = True
    is_minimum: bool = False

    @property
    def limit(self) -> float:
        """The limit that makes the problem feasible: the best value with six digits, rounded so that it suffices."""
        return outward(self.best, up=not self.is_minimum)

    def change(self, name: str) -> str:
        """The change of the limit of that name, in words."""
        return f"with {name} of {self.limit:.6g} {self.unit}".removesuffix(" 1")

    @property
    def ending(self) -> str:
        """The end of the sentence about the limit that is missed; empty where the value is not proven."""
        side = "at most" if self.is_minimum else "at least"
        return f"; it is {side} {self.best:.6g} {self.unit}".removesuffix(" 1") if self.proven else ""


Relax = Callable[[int, frozenset[int], dict[int, float]], Relaxed | None]
"""Finds the best value for the limit of a demand without some demands, given values of limits that are looser; or None."""


def no_limit(number: int, left_out: frozenset[int], values: dict[int, float]) -> None:
    """No demand is a limit."""


@dataclass
class ClashSearch:
    """Sets of `count` demands that are known to clash or to be feasible; `decide` answers what does not follow from these."""

    count: int
    decide: Decide
    feasible: list[frozenset[int]] = field(default_factory=list)
    clashing: list[frozenset[int]] = field(default_factory=list)

    @property
    def everything(self) -> frozenset[int]:
        """All demands."""
        return frozenset(range(self.count))

    def verdict(self, demands: Collection[int]) -> Verdict:
        """Whether these demands can be met together."""
        asked = frozenset(demands)
        if any(asked <= known for known in self.feasible):
            return "feasible"
        if any(known <= asked for known in self.clashing):
            return "infeasible"
        verdict = self.decide(asked)
        if verdict in ("feasible", "infeasible"):
            (self.feasible if verdict == "feasible" else self.clashing).append(asked)
        return verdict

    def minimal(self, demands: Collection[int]) -> tuple[list[int], bool]:
        """Those of clashing demands that a deletion filter keeps, and whether each of them was shown to be needed.

        The filter tries to leave out halves before single demands: the result is that of one demand after the other.
        """
        kept, needed, settled = set(demands), [], True
        parts = _halves(sorted(demands))
        while parts:
            part = parts.pop()
            verdict = self.verdict(kept - set(part))
            if verdict == "infeasible":
                kept -= set(part)
            elif len(part) > 1:
                parts += _halves(part)
            elif verdict != "impossible":  # what cannot be left out is not blamed
                needed += part
                settled = settled and verdict == "feasible"
        return sorted(needed), settled

    def least_change(self, clash: Sequence[int]) -> frozenset[int] | None:
        """A smallest set of demands without which the others can be met together, given some that clash; None where unknown."""
        clashes = [clash]
        while (change := smallest_hitting_set(clashes)) is not None:
            verdict = self.verdict(self.everything - change)
            if verdict == "feasible" or len(change) > MAX_CHANGE:
                return change
            if verdict != "infeasible":
                return None
            clashes.append(self.minimal(self.everything - change)[0])
        return None


def _halves(numbers: list[int]) -> list[list[int]]:
    """Both halves, as far as there is anything in them, the first one last."""
    half = len(numbers) // 2
    return [part for part in (numbers[half:], numbers[:half]) if part]


def smallest_hitting_set(sets: Sequence[Collection[int]]) -> frozenset[int] | None:
    """A smallest set that has an element of each set, of equal ones one of high numbers; None where one of them is empty.

    >>> sorted(smallest_hitting_set([[1, 2], [2, 3], [4]]))
    [2, 4]
    """
    elements = sorted(set().union(*sets), reverse=True)
    chosen = (frozenset(chosen) for size in range(1, len(sets) + 1) for chosen in combinations(elements, size))
    return next((chosen for chosen in chosen if not any(chosen.isdisjoint(one) for one in sets)), None)


@dataclass(frozen=True, slots=True)
class Findings:
    """Numbers of demands that clash, what makes the whole problem feasible in words, and best values by the number of a limit."""

    clash: tuple[int, ...] = ()
    remedies: tuple[str, ...] = ()
    limits: dict[int, Relaxed] = field(default_factory=dict)

    def sentences(self, texts: Sequence[str]) -> tuple[str, ...]:
        """The demands that clash, given the texts of all, each limit with how far it is missed."""
        return tuple(texts[k] + (self.limits[k].ending if k in self.limits else "") for k in self.clash)


def find_clash(names: Sequence[str], decide: Decide, relax: Relax = no_limit) -> Findings:
    """Find demands of an infeasible problem that clash, each of which is needed, and test what makes the whole problem feasible.

    Parameters
    ----------
    names
        A short name of each demand; those that users change most easily come last.
    relax
        Finds the value of a limit that suffices; None for demands that are no limits.

    Examples
    --------
    >>> found = find_clash(["a", "b", "c"], lambda kept: "infeasible" if {0, 1} <= kept or {0, 2} <= kept else "feasible")
    >>> found.clash, found.remedies
    ((0, 2), ('without a the whole problem is feasible', 'without c alone it is not: other demands clash as well'))
    """
    search = ClashSearch(len(names), decide)
    clash, settled = search.minimal(search.everything)
    if not search.clashing and search.verdict(search.everything) == "feasible":
        return Findings()
    if not settled:
        return Findings(tuple(clash), (UNEXAMINED,))
    verdicts = {number: search.verdict(search.everything - {number}) for number in clash}
    helps = [number for number, verdict in verdicts.items() if verdict == "feasible"]
    found = {number: relax(number, frozenset({number}), {}) for number in helps}
    limits = {number: value for number, value in found.items() if value is not None}
    sentences = [*_singles(names, verdicts), *(_raised(names[number], value) for number, value in limits.items())]
    if clash and not helps:
        change = search.least_change(clash)
        beyond = BEYOND if change else UNCHANGED
        sentences.append(beyond if change is None or len(change) > MAX_CHANGE else _together(names, change, relax))
    return Findings(tuple(clash), tuple(sentences), limits)


def _singles(names: Sequence[str], verdicts: dict[int, Verdict]) -> Iterator[str]:
    """Whether the whole problem becomes feasible without single demands."""
    if helps := [names[number] for number, verdict in verdicts.items() if verdict == "feasible"]:
        yield f"without {_any_of(helps)} {WHOLE} is feasible"
    if vain := [names[number] for number, verdict in verdicts.items() if verdict == "infeasible"]:
        yield f"without {_any_of(vain)} alone it is not: other demands clash as well"


def _any_of(names: list[str]) -> str:
    return "any one of " * (len(names) > 1) + enumerated(names, last="or")


def _raised(name: str, value: Relaxed) -> str:
    return f"{value.change(name)} {WHOLE} is feasible" + ("" if value.proven else "; a tighter one may do")


def _together(names: Sequence[str], change: frozenset[int], relax: Relax) -> str:
    """A smallest change of several demands, limits with values that suffice."""
    values: dict[int, float] = {}
    parts = []
    for number in sorted(change):
        value = relax(number, change, values)
        values |= {} if value is None else {number: value.limit}
        parts.append(f"without {names[number]}" if value is None else value.change(names[number]))
    return f"{enumerated(parts)} {WHOLE} is feasible, and fewer than {len(change)} changes do not suffice"


def outward(value: float, *, up: bool) -> float:
    """A value with six digits that is no smaller, or no larger, but for rounding.

    >>> outward(1 / 90, up=True), outward(1 / 90, up=False), outward(0.30000000000000004, up=True)
    (0.0111112, 0.0111111, 0.3)
    """
    rounded = float(f"{value:.6g}")
    if (rounded >= value if up else rounded <= value) or math.isclose(rounded, value, rel_tol=1e-12):
        return rounded
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 5)
    return float(f"{rounded + (step if up else -step):.6g}")
