"""One instance more wherever items wait: a policy of enactment of the recipe."""

from dataclasses import dataclass

from edrp.enactment import Action, EnactmentState, TentativeState
from edrp.heuristics.enactment.baselines import place_first_fit


@dataclass(frozen=True, slots=True)
class EagerParameters:
    """Queue beyond which an operator gets an instance."""

    queue: int = 0


class EagerPolicy:
    """Adds an instance, first fit, to every operator that has none or lets items wait."""

    name = "eager"

    def __init__(self, parameters: EagerParameters) -> None:
        self._parameters = parameters

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Place on hosts that run or start, or on one leased for it."""
        tentative = TentativeState(state)
        for name, operator in state.operators.items():
            if not operator.running or operator.queue > self._parameters.queue:
                place_first_fit(tentative, name, starting=True)
        return tentative.actions
