"""Rules about certain nodes: forbidden, required, and linear in the replicas there."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from edrp.core.document import Faults, Name
from edrp.core.expressions import Rows
from edrp.core.wording import enumerated
from edrp.placement.rules.base import NodeChoice, Placed, Rule, RuledProblem, RuleModel, check_operators


class _LocationRule(NodeChoice, Rule):
    """A rule about replicas of some operators on certain nodes."""

    operators: tuple[Name, ...] = Field((), description="operators that the rule is about; empty for all")

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if not self.narrows:
            faults = Faults("rule")
            faults.add((), self.name, "needs `nodes`, `zones` or `labels`")
            faults.raise_if_any()
        return self

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note unknown operators, nodes, zones and labels."""
        check_operators(self.operators, problem, (*place, "operators"), faults)
        self.check_nodes(problem, place, faults)

    def _names(self, problem: RuledProblem) -> list[str]:
        return list(self.operators or problem.application.by_name)

    @property
    def _subject(self) -> str:
        return f"replicas of {enumerated(list(self.operators))}" if self.operators else "replicas"

    def _wrong_nodes(self, problem: RuledProblem) -> list[str]:
        """Nodes where no replica may be."""
        raise NotImplementedError

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Number of replicas where they may not be."""
        wrong = set(self._wrong_nodes(problem))
        return float(
            sum(count for name in self._names(problem) for node, count in deployment.replicas(name).items() if node in wrong)
        )

    def linearise(self, model: RuleModel) -> Rows:
        """One row per operator and node."""
        return model.replicas[self._names(model.problem), self._wrong_nodes(model.problem)] <= 0


class Forbidden(_LocationRule):
    """No replica of the operators on the nodes that meet everything given; violated by each replica there.

    Examples
    --------
    >>> Forbidden(name="tenant", labels={"tenant": ["acme"]}).sentence
    'no replicas on nodes with tenant acme'
    """

    rule: Literal["forbidden"] = Field("forbidden", description="says which fields follow")

    @property
    def sentence(self) -> str:
        """What the rule demands, in words."""
        return f"no {self._subject} on {self.words}"

    def _wrong_nodes(self, problem: RuledProblem) -> list[str]:
        return self.chosen(problem.network)


class Required(_LocationRule):
    """Replicas of the operators only on the nodes that meet everything given; violated by each replica elsewhere."""

    rule: Literal["required"] = Field("required", description="says which fields follow")

    @property
    def sentence(self) -> str:
        """What the rule demands, in words."""
        return f"{self._subject} only on {self.words}"

    def _wrong_nodes(self, problem: RuledProblem) -> list[str]:
        right = set(self.chosen(problem.network))
        return [name for name in problem.network.by_name if name not in right]


class LinearTerm(NodeChoice):
    """A coefficient on the replicas of an operator on certain nodes, or on the number of these nodes that run it."""

    operator: Name = Field(description="operator whose replicas count")
    coefficient: float = Field(1.0, description="what each counts", json_schema_extra={"unit": "1"})
    count: Literal["replicas", "nodes"] = Field("replicas", description="what counts: replicas, or nodes that run any of them")


class LinearRule(Rule):
    """A weighted sum of replicas, or of nodes in use, within bounds; violated by the distance from the nearer bound."""

    rule: Literal["linear"] = Field("linear", description="says which fields follow")
    terms: Annotated[tuple[LinearTerm, ...], Field(min_length=1)] = Field(description="of the sum")
    lower: float | None = Field(None, description="minimum of the sum; null for none", json_schema_extra={"unit": "1"})
    upper: float | None = Field(None, description="maximum of the sum; null for none", json_schema_extra={"unit": "1"})

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        faults = Faults("linear")
        if self.lower is None and self.upper is None:
            faults.add((), self.name, "needs `lower` or `upper`; without either it has no effect")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            faults.add(("lower",), self.lower, f"must be at most `upper`, {self.upper:g}")
        faults.raise_if_any()
        return self

    @property
    def scale(self) -> float:
        """The largest of the coefficients and bounds, or 1."""
        return max(1.0, *(abs(term.coefficient) for term in self.terms), abs(self.lower or 0.0), abs(self.upper or 0.0))

    @property
    def sentence(self) -> str:
        """What the rule demands, in words."""
        total = " + ".join(_term_words(term) for term in self.terms)
        low = "" if self.lower is None else f"at least {self.lower:g}"
        high = "" if self.upper is None else f"at most {self.upper:g}"
        return f"{total} is {' and '.join(side for side in (low, high) if side)}"

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note unknown operators, nodes, zones and labels of terms."""
        for index, term in enumerate(self.terms):
            if term.operator not in problem.application.by_name:
                name = (*place, "terms", index, "operator")
                faults.add_unknown(name, term.operator, "operator of the application", problem.application.by_name)
            term.check_nodes(problem, (*place, "terms", index), faults)

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Distance of the sum from the nearer bound."""
        total = 0.0
        for term in self.terms:
            right = set(term.chosen(problem.network))
            counts = [count for node, count in deployment.replicas(term.operator).items() if node in right]
            total += term.coefficient * (sum(counts) if term.count == "replicas" else sum(count > 0 for count in counts))
        return max(
            0.0,
            0.0 if self.lower is None else self.lower - total,
            0.0 if self.upper is None else total - self.upper,
        )

    def linearise(self, model: RuleModel) -> Rows:
        """A single row."""
        parts = [
            (model.replicas if term.count == "replicas" else model.on)[term.operator, term.chosen(model.problem.network)].sum()
            * term.coefficient
            for term in self.terms
        ]
        total = sum(parts[1:], start=parts[0])
        lower, upper = (float("-inf") if self.lower is None else self.lower), (float("inf") if self.upper is None else self.upper)
        return Rows.between(total, lower, upper)


def _term_words(term: LinearTerm) -> str:
    factor = "" if term.coefficient == 1 else f"{term.coefficient:g} × "
    where = f" on {term.words}" if term.narrows else ""
    what = f"replicas of {term.operator}" if term.count == "replicas" else f"nodes that run {term.operator}"
    return f"{factor}{what}{where}"
