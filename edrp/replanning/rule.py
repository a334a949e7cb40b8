"""The rule that decides between plans: score and price of the downtime, and few moves among what is about as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edrp.placement.deployment import Deployment


@dataclass(frozen=True, slots=True)
class PlanOption:
    """A plan that works: its score, seconds of downtime until it runs, the price of that as a score, and instances that move."""

    plan: Deployment
    score: float
    downtime: float
    price: float
    moves: int

    @property
    def total(self) -> float:
        """Score and price."""
        return self.score + self.price


def choose_option(options: Sequence[PlanOption], hysteresis: float) -> PlanOption:
    """The option that moves least, among those within the hysteresis of the least total.

    Examples
    --------
    >>> stay = PlanOption(Deployment({"a": ["x"]}), score=1.0, downtime=0.0, price=0.0, moves=0)
    >>> move = PlanOption(Deployment({"a": ["y"]}), score=0.9, downtime=2.0, price=0.095, moves=1)
    >>> choose_option([stay, move], 0.01) is stay, choose_option([stay, move], 0.001) is move
    (True, True)
    """
    within = min(option.total for option in options) * (1 + hysteresis)
    return min((option for option in options if option.total <= within), key=lambda option: (option.moves, option.total))
