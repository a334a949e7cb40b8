"""The search for demands that clash, and for the least change that makes a whole problem feasible, for any kind of problem.

A minimal set of clashing demands is not the whole story: other sets may clash as well. What is left out must meet each of them,
so that the smallest change is a smallest set that does (implicit hitting sets: Davies and Bacchus, "Solving MAXSAT by solving a
sequence of simpler SAT instances", CP 2011, https://doi.org/10.1007/978-3-642-23786-7_19).
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
    """The best value that a metric takes without its limit, in the whole problem.

    Attributes
    ----------
    best : as evaluated, in `unit`, which is "1" for none.
    proven : whether no better one exists.
    is_minimum : whether the limit is one from below.
    """

    best: float
    unit: str
    proven: bool = True
    is_minimum: bool = False

    @property
    def limit(self) -> float:
        """The limit that makes the problem feasible: the best value with six digits, rounded so that it suffices."""
        return outward(self.best, up=not self.is_minimum)

    @property
    def limit_text(self) -> str:
        """The limit with its unit.

        >>> Relaxed(9.005, "s").limit_text, Relaxed(0.9, "1").limit_text
        ('9.005 s', '0.9')
        """
        return f"{self.limit:.6g} {self.unit}".removesuffix(" 1")

    @property
    def ending(self) -> str:
        """The end of the sentence about the limit that is missed; empty where the value is not proven."""
        side = "at most" if self.is_minimum else "at least"
        return f"; it is {side} {self.best:.6g} {self.unit}".removesuffix(" 1") if self.proven else ""


Relax = Callable[[int, frozenset[int], dict[int, float]], Relaxed | None]
"""Finds the least value of the limit of a demand without other demands, given values of limits that are looser; or None."""


def no_limit(number: int, left_out: frozenset[int], values: dict[int, float]) -> None:
    """No demand is a limit."""


@dataclass
class ClashSearch:
    """Sets of demands that are known to clash, and sets that are known to be feasible.

    Attributes
    ----------
    count : number of demands; those that users change most easily come last.
    decide : answers questions that do not follow from what is known.
    """

    count: int
    decide: Decide
    _feasible: list[frozenset[int]] = field(default_factory=list)
    _clashing: list[frozenset[int]] = field(default_factory=list)

    @property
    def everything(self) -> frozenset[int]:
        """All demands."""
        return frozenset(range(self.count))

    @property
    def finds_clashes(self) -> bool:
        """Whether any set of demands was found to clash."""
        return bool(self._clashing)

    def verdict(self, demands: Collection[int]) -> Verdict:
        """Whether these demands can be met together."""
        asked = frozenset(demands)
        if any(asked <= known for known in self._feasible):
            return "feasible"
        if any(known <= asked for known in self._clashing):
            return "infeasible"
        verdict = self.decide(asked)
        if verdict in ("feasible", "infeasible"):
            (self._feasible if verdict == "feasible" else self._clashing).append(asked)
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
        """A smallest set of demands without which the others can be met together; None where it is not found out.

        Parameters
        ----------
        clash
            Demands that clash.
        """
        clashes = [clash]
        while (change := smallest_hitting_set(clashes)) is not None:
            verdict = self.verdict(self.everything - change)
            if verdict == "feasible" or len(change) > MAX_CHANGE:
                return change
            further, _ = self.minimal(self.everything - change)
            if verdict != "infeasible" or not further:
                return None
            clashes.append(further)
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
    """The result of a search.

    Attributes
    ----------
    clash : numbers of demands that cannot hold together.
    minimal : whether each of them was shown to be needed.
    remedies : what makes the whole problem feasible, in words.
    limits : by the number of a demand in `clash` that is a limit, the value that makes the whole problem feasible.
    """

    clash: tuple[int, ...]
    minimal: bool
    remedies: tuple[str, ...]
    limits: dict[int, Relaxed]


def find_clash(names: Sequence[str], decide: Decide, relax: Relax = no_limit) -> Findings:
    """Find demands of an infeasible problem that clash, and the least change that makes the whole problem feasible.

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
    clash, minimal = search.minimal(search.everything)
    if not search.finds_clashes and search.verdict(search.everything) == "feasible":
        return Findings((), True, (), {})
    if not minimal:
        return Findings(tuple(clash), False, (UNEXAMINED,), {})
    verdicts = {number: search.verdict(search.everything - {number}) for number in clash}
    helps = [number for number in clash if verdicts[number] == "feasible"]
    found = {number: relax(number, frozenset({number}), {}) for number in helps}
    limits = {number: value for number, value in found.items() if value is not None}
    change = None if helps else search.least_change(clash)
    sentences = [*_singles(names, verdicts), *(_raised(names[number], value) for number, value in limits.items())]
    if change is not None and len(change) > MAX_CHANGE:
        sentences.append(BEYOND)
    elif change is not None:
        sentences.append(_together(names, change, relax))
    elif clash and not helps:
        sentences.append(UNCHANGED)
    return Findings(tuple(clash), True, tuple(sentences), limits)


def _singles(names: Sequence[str], verdicts: dict[int, Verdict]) -> Iterator[str]:
    """Whether the whole problem becomes feasible without single demands."""
    helps = [names[number] for number, verdict in verdicts.items() if verdict == "feasible"]
    vain = [names[number] for number, verdict in verdicts.items() if verdict == "infeasible"]
    if helps:
        yield f"without {enumerated(helps, last='or')} {WHOLE} is feasible"
    if vain:
        yield f"without {enumerated(vain, last='or')} alone it is not: other demands clash as well"


def _raised(name: str, value: Relaxed) -> str:
    tighter = "" if value.proven else "; a tighter one may do"
    return f"with {name} of {value.limit_text} {WHOLE} is feasible{tighter}"


def _together(names: Sequence[str], change: frozenset[int], relax: Relax) -> str:
    """A smallest change of several demands, limits with values that suffice."""
    values: dict[int, float] = {}
    parts = []
    for number in sorted(change):
        value = relax(number, change, values)
        if value is not None:
            values[number] = value.limit
        parts.append(f"without {names[number]}" if value is None else f"with {names[number]} of {value.limit_text}")
    fewest = f", and fewer than {len(change)} changes do not suffice" if len(change) > 1 else ""
    return f"{enumerated(parts)} {WHOLE} is feasible{fewest}"


def outward(value: float, *, up: bool) -> float:
    """A value with six digits that is no smaller, or no larger, but for rounding.

    >>> outward(1 / 90, up=True), outward(1 / 90, up=False), outward(0.30000000000000004, up=True)
    (0.0111112, 0.0111111, 0.3)
    """
    rounded = float(f"{value:.6g}")
    short = rounded < value if up else rounded > value
    if not value or not short or math.isclose(rounded, value, rel_tol=1e-12):
        return rounded
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 5)
    return float(f"{rounded + (step if up else -step):.6g}")
