"""At most some replicas of some operators in all: a type of rule of the recipe."""

from typing import Literal

from pydantic import Field

from edrp.core.document import Faults, Name
from edrp.core.expressions import Rows
from edrp.core.wording import enumerated
from edrp.placement.rules.base import Placed, Rule, RuledProblem, RuleModel, check_operators


class AtMost(Rule):
    """At most `most` replicas of the operators, wherever they run; violated by each one more."""

    rule: Literal["at_most"] = Field("at_most", description="type of the rule, which says which fields follow")
    operators: tuple[Name, ...] = Field(description="operators that the rule is about")
    most: int = Field(ge=0, le=10**6, description="replicas in all")

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        return f"at most {self.most} replicas of {enumerated(self.operators)}"

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note unknown operators."""
        check_operators(self.operators, problem, (*place, "operators"), faults)

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Replicas beyond the most."""
        return float(max(0, sum(deployment.replicas(name).total() for name in self.operators) - self.most))

    def linearise(self, model: RuleModel) -> Rows:
        """A single row."""
        return model.replicas[list(self.operators)].sum() <= self.most
