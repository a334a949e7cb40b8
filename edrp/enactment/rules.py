"""Rules about snapshots of enactment: operators that may not share a host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from edrp.core.document import Name
from edrp.core.rules import HardRule
from edrp.core.wording import enumerated
from edrp.enactment.containers import Host


class HostRule(HardRule):
    """Operators of which no two may have instances on one host; several instances of one of them may be together.

    Examples
    --------
    >>> rule = HostRule(rule="apart", name="tenants", operators=["ocr", "mail"])
    >>> rule.sentence, rule.shared_hosts([Host(name="a", type="small", instances={"ocr": 2, "mail": 1})])
    ('ocr and mail may not share a host', 1)
    """

    rule: Literal["apart"] = Field(description="says what the rule demands")
    operators: Annotated[tuple[Name, ...], Field(min_length=2)] = Field(description="that may not share a host")

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        return f"{enumerated(self.operators)} may not share a host"

    def shared_hosts(self, hosts: Iterable[Host]) -> int:
        """Number of hosts with instances of more than one of the operators."""
        return sum(sum(host.instances.get(name, 0) > 0 for name in self.operators) > 1 for host in hosts)
