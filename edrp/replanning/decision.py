"""The decision of a replanner, with its reasons in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edrp.placement.deployment import Action, Deployment
from edrp.placement.latency_aware import LatencyAwareSolution

Verdict = Literal["place", "keep", "move", "repair", "stuck"]


@dataclass(frozen=True, slots=True)
class ReplanningDecision:
    """The decision to act on now, and its reasons.

    Attributes
    ----------
    verdict : "place" (nothing ran), "keep", "move" (it pays), "repair" (what runs is broken), or "stuck" (what runs is
        broken or nothing runs, and no plan was found).
    deployment : what is to run from now on; None only where nothing ran and nothing was found.
    actions : that lead there from what ran.
    plan : what is adopted, or the best that was not; None where nothing that works was found.
    score : of `deployment` by what is measured now (eq. 1); None where nothing works.
    gain : score of what ran less that of `plan`; None where either is missing or broken.
    downtime : seconds that going over to `plan` takes.
    price : of that downtime, as a score.
    margin : what the gain of the best plan must leave, its price paid, for anything to move.
    broken : what is wrong with what ran, in words.
    solution : what the method found.
    """

    verdict: Verdict
    deployment: Deployment | None
    actions: tuple[Action, ...]
    plan: Deployment | None
    score: float | None
    gain: float | None
    downtime: float
    price: float
    margin: float
    broken: tuple[str, ...]
    solution: LatencyAwareSolution

    @property
    def moved(self) -> bool:
        """Whether anything is to be done."""
        return self.verdict in ("place", "move", "repair")

    def __str__(self) -> str:
        changes = "; ".join(str(action) for action in self.actions)
        match self.verdict:
            case "place":
                return f"place: nothing ran; score {self.score:.6g}"
            case "stuck":
                because = "; ".join(self.solution.clashes) or f"{self.solution.method} found none"
                wrong = f"what runs breaks {'; '.join(self.broken)}, and " if self.deployment else ""
                return f"stuck: {wrong}there is no plan: {because}"
            case "repair":
                return f"repair: what ran breaks {'; '.join(self.broken)}; {self.downtime:.6g} s of downtime: {changes}"
        if self.gain is None or (self.verdict == "keep" and self.plan == self.deployment):
            return "keep: no better plan was found"
        sums = f"a gain of {self.gain:.6g} at a price of {self.price:.6g} for {self.downtime:.6g} s of downtime"
        return f"move: {sums}: {changes}" if self.moved else f"keep: {sums}, which leaves no more than {self.margin:.6g}"
