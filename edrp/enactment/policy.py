"""The one call that every policy offers."""

from __future__ import annotations

from typing import Protocol

from edrp.enactment.actions import Action
from edrp.enactment.state import EnactmentState


class Policy(Protocol):
    """Decides, round by round, what is leased, placed, moved and released. An object serves one run and may remember it."""

    name: str

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """What to do now, in this order; called at the start and then once per provisioning interval."""
        ...
