"""Rules that users state about decisions: a name, a reason, and whether they hold strictly or at a price."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from pydantic import Field

from edrp.core.document import Document, Name, NonNegative
from edrp.core.errors import Fault
from edrp.core.tolerances import LIMIT_SLACK


class RuleDocument(Document):
    """What every rule says of itself, whatever the kind of problem; a rule narrows its type (`rule`) and adds its fields."""

    rule: str = Field(description="type of the rule, which says which fields follow")
    name: Name = Field(description="unique among the rules; infeasibility, explanations and solutions refer to it")
    reason: str = Field("", description="why there is this rule, in a sentence for its readers")
    penalty: NonNegative | None = Field(
        None,
        description="added to the objective per unit of violation; null for a rule that must be met",
        json_schema_extra={"unit": "1"},
    )

    @property
    def hard(self) -> bool:
        """Whether a decision that breaks the rule is infeasible."""
        return self.penalty is None

    @property
    def scale(self) -> float:
        """What a violation is compared with before it counts as more than rounding."""
        return 1.0

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What the rule demands, in words that follow "rule 'name'" in parentheses."""

    def broken(self, violation: float) -> Iterator[str]:
        """Say in words that a hard rule is violated; nothing where it is met or has a penalty."""
        if self.hard and violation > LIMIT_SLACK * self.scale:
            yield f"rule '{self.name}' ({self.sentence}): violated by {violation:.6g}"

    def warnings(self, place: str) -> Iterator[Fault]:
        """Note what has no effect; `place` is that of the rule in its document."""
        if self.penalty == 0:
            yield Fault(f"{place}.penalty", "0", "has no effect; leave it out to make the rule hard, or give a price")
