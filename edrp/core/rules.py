"""Rules that users state about decisions: a name, a reason, and whether they hold strictly or at a price."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence

from pydantic import Field

from edrp.core.document import Document, Faults, Name, NonNegative, duplicates, unit
from edrp.core.errors import Fault
from edrp.core.tolerances import LIMIT_SLACK


class HardRule(Document):
    """Base of every rule, whatever the kind of problem; a rule narrows its type (`rule`) and adds its fields."""

    rule: str = Field(description="type of the rule, which says which fields follow")
    name: Name = Field(description="unique among the rules; infeasibility, explanations and solutions refer to it")
    reason: str = Field("", description="why there is this rule, in a sentence for its readers")

    @property
    def scale(self) -> float:
        """Size below which a violation counts as rounding."""
        return 1.0

    @property
    @abstractmethod
    def sentence(self) -> str:
        """Demand of the rule in words."""

    @property
    def demand(self) -> str:
        """Its name and what it demands, as limits and clashes name it."""
        return f"rule '{self.name}': {self.sentence}"

    def violated(self, violation: float) -> bool:
        """Whether a violation is more than rounding."""
        return violation > LIMIT_SLACK * self.scale

    def broken(self, violation: float) -> Iterator[str]:
        """Say in words that the rule is violated, for the limits that an evaluation finds broken; nothing where it is met."""
        if self.violated(violation):
            yield f"rule '{self.name}' ({self.sentence}): violated by {violation:.6g}"


class RuleDocument(HardRule):
    """A rule that must be met, or that may be violated at a price."""

    penalty: NonNegative | None = Field(
        None, description="added to the objective per unit of violation; null for a rule that must be met", **unit("1")
    )

    @property
    def hard(self) -> bool:
        """Whether a decision that breaks the rule is infeasible."""
        return self.penalty is None

    def broken(self, violation: float) -> Iterator[str]:
        """Say in words that a hard rule is violated; nothing where it is met or has a penalty."""
        if self.hard:
            yield from super().broken(violation)

    def warnings(self, place: str) -> Iterator[Fault]:
        """Note what has no effect; `place` is that of the rule in its document."""
        if self.penalty == 0:
            yield Fault(f"{place}.penalty", "0", "has no effect; leave it out to make the rule hard, or give a price")


def check_named(rules: Sequence[HardRule], field: str, known: Collection[str], what: str, faults: Faults) -> None:
    """Add the faults of rules that share a name, and of names in a list of theirs that are repeated or do not exist.

    Parameters
    ----------
    field
        Name of the list in each rule.
    known, what
        The names that there are, and what they are names of: "operator of the application".
    """
    faults.add_repeated_names("rules", [rule.name for rule in rules])
    for index, rule in enumerate(rules):
        names = list(getattr(rule, field))
        for position, name in enumerate(names):
            faults.add_unknown(("rules", index, field, position), name, what, known)
        for position in duplicates(names):
            faults.add(("rules", index, field, position), names[position], "is named twice in this rule; name it once")
