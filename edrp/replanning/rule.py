"""The rule that decides between plans: score and price of the downtime, and few moves among what is about as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from edrp.core.document import Document, NonNegative, Positive, unit
from edrp.placement.deployment import Deployment


class DowntimePolicy(Document):
    """When a plan is worth its downtime.

    A plan is judged by its score and its price, `downtime_worth · downtime / horizon`: its score is had while
    conditions last, about `horizon` seconds, which may be many measurements; the downtime is paid once. The placement that runs
    has no price. Among all plans within a share `hysteresis` of the least, that one is taken that moves the fewest instances.

    Raises
    ------
    InvalidInstanceError
        Naming every value that cannot be.

    Examples
    --------
    >>> DowntimePolicy(horizon=1200.0, downtime_worth=10.0).price(downtime=6.0)
    0.05
    """

    horizon: Positive = Field(3600.0, description="for how long a gain lasts, as expected", **unit("s"))
    downtime_worth: NonNegative = Field(
        30.0,
        description="score that would be as bad as not processing, for as long; by the paper's weights scores stay below 3",
        **unit("1"),
    )
    hysteresis: NonNegative = Field(
        0.01,
        description="what comes so near to the best, as a share of it, is as good: trembling measurements move nothing",
        **unit("1"),
    )

    def price(self, downtime: float) -> float:
        """Price of a downtime in seconds, as a score over the horizon."""
        return self.downtime_worth * downtime / self.horizon


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
        """Sum of the score and the price of the change."""
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
