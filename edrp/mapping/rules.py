"""Rules about maps of a stream task: components on different servers, or on one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from edrp.core.document import Name
from edrp.core.rules import HardRule
from edrp.core.wording import enumerated


class ComponentRule(HardRule):
    """Components of which no two may be on one server ("apart"), or that must all be on one ("together").

    Which servers may run a component at all is said by its service.

    Examples
    --------
    >>> rule = ComponentRule(rule="apart", name="spare", components=["left", "right"])
    >>> rule.sentence, rule.violation({"left": "a", "right": "a"})
    ('left and right must be on different servers', 1)
    """

    rule: Literal["apart", "together"] = Field(description="whether on different servers, or on one")
    components: Annotated[tuple[Name, ...], Field(min_length=2)] = Field(description="of the task")

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        return f"{enumerated(self.components)} must be on {'different servers' if self.rule == 'apart' else 'one server'}"

    def violation(self, servers: Mapping[str, str]) -> int:
        """Number of servers too few, or too many, given the server of each component."""
        used = len({servers[name] for name in self.components})
        return len(self.components) - used if self.rule == "apart" else used - 1
