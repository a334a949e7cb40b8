"""Rules in Python: classes with `evaluate` and `linearise` that users register under a name, and documents that refer to them."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, Protocol

from pydantic import Field, JsonValue

from edrp.core.document import Faults, Name
from edrp.core.errors import EdrpError, Fault, InvalidArgumentError
from edrp.core.expressions import Rows
from edrp.core.plugins import added, refuse_taken
from edrp.core.tolerances import SAME_VALUE
from edrp.core.wording import suggestion
from edrp.placement.rules.arrays import record_whole, row_violation
from edrp.placement.rules.base import Placed, Rule, RuledProblem, RuleModel


class RuleDefinition(Protocol):
    """Interface of a rule in Python; an attribute `sentence` says in words what it demands."""

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """By how much a deployment violates the rule, in plain code; 0 where it is met."""

    def linearise(self, model: RuleModel) -> Rows | list[Rows]:
        """The same as rows over `model.replicas`, `model.on` and `model.any`: the sum of their violations."""


@cache
def registered_rules() -> dict[str, Any]:
    """Makers of rules by type; installed packages offer classes, or dicts of them by type (entry point `edrp.rules`)."""
    found: dict[str, Any] = {}
    for offered in added("edrp.rules"):
        found.update(offered if isinstance(offered, dict) else {offered.__name__: offered})
    return found


def register_rule(type: str, maker: Any, *, replace: bool = False) -> None:
    """Register a rule in Python under a name, to which documents refer as `{"rule": "python", "type": name}`.

    Rules travel to the workers of batches and to Spark as methods do. A package offers its rules by the entry point
    `edrp.rules`: a class, whose own name is the type, or a dict of classes by type.

    Parameters
    ----------
    type
        The name.
    maker
        Class, or function, that makes the rule of the parameters in the document (`RuleDefinition`). Its faults in parameters are
        `TypeError` or `ValueError`, whose message is shown with the place.
    replace
        Whether to replace a rule that was registered before.

    Raises
    ------
    InvalidArgumentError
        When it cannot be called, or the name is taken.
    """
    if not callable(maker):
        raise InvalidArgumentError([Fault("maker", "", f"is {maker!r}; give a class")], "edrp.register_rule")
    if type in registered_rules():
        refuse_taken("edrp.register_rule(type, maker)", f"a rule called {type!r}", ours=False, replace=replace)
    registered_rules()[type] = maker


class PythonRule(Rule):
    """A rule that a class in Python defines, with its parameters (`edrp.register_rule`)."""

    rule: Literal["python"] = Field("python", description="type of the rule, which says which fields follow")
    type: Name = Field(description="name under which the class is registered")
    parameters: dict[Name, JsonValue] = Field({}, description="of the class")

    def definition(self) -> Any:
        """The rule that the class makes of the parameters.

        Raises
        ------
        EdrpError
            Where no class of that name is registered.
        """
        if self.type not in registered_rules():
            raise EdrpError(f"no rule in Python of type {self.type!r}{suggestion(self.type, registered_rules())}")
        return registered_rules()[self.type](**self.parameters)

    @property
    def sentence(self) -> str:
        """Sentence of the class, else its type."""
        return str(getattr(self.definition(), "sentence", None) or self.type)

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note an unknown type, parameters that the class does not take, and names that its rows cannot use."""
        if self.type not in registered_rules():
            faults.add_unknown((*place, "type"), self.type, "registered rule (edrp.register_rule)", registered_rules())
            return
        try:
            self.definition()
        except (TypeError, ValueError) as error:
            faults.add((*place, "parameters"), self.parameters, f"are not taken by {self.type}: {error}")
            return
        try:
            self.linearise(RuleModel(problem))
        except (EdrpError, ValueError) as error:
            faults.add((*place, "parameters"), self.parameters, f"do not fit this problem: {error}")

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Value that the class gives."""
        return float(self.definition().evaluate(problem, deployment))

    def linearise(self, model: RuleModel) -> Rows | list[Rows]:
        """Value that the class gives.

        Raises
        ------
        TypeError
            When that is no rows.
        """
        rows: Rows | list[Rows] = self.definition().linearise(model)
        if not all(isinstance(part, Rows) for part in (rows if isinstance(rows, list) else [rows])):
            what = "give rows, such as `model.replicas[operator] <= 3`, or a list of them"
            raise TypeError(f"`linearise` of the rule in Python {self.type!r} returns {rows!r}; {what}")
        return rows

    def contradiction(self, problem: RuledProblem, deployment: Placed) -> str:
        """In words how `evaluate` and the rows of `linearise` disagree about a deployment, or ""."""
        value, rows = self.evaluate(problem, deployment), row_violation(record_whole(self, problem), problem, deployment)
        if abs(value - rows) <= SAME_VALUE * max(1.0, value):
            return ""
        return (
            f"rule '{self.name}' (in Python, {self.type}) contradicts itself: "
            f"violated by {value!r} says `evaluate`, by {rows!r} say the rows of `linearise`"
        )
