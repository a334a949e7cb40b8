"""Rules about certain nodes: forbidden, required, and linear in the replicas there."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from edrp.core.document import Faults, Name, checks, unit
from edrp.core.wording import enumerated
from edrp.placement.network import Node
from edrp.placement.rules.base import NodeChoice, Placed, Rule, RuledProblem, RuleModel, WrittenRows, check_operators


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

    @abstractmethod
    def _closed(self, node: Node) -> bool:
        """Whether no replica may be on a node."""

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Number of replicas where they may not be."""
        nodes, counts = problem.network.by_name, [deployment.replicas(name).items() for name in self._names(problem)]
        return float(sum(count for replicas in counts for node, count in replicas if self._closed(nodes[node])))

    def linearise(self, model: RuleModel) -> WrittenRows:
        """One row per operator and node."""
        closed = [node.name for node in model.problem.network.nodes if self._closed(node)]
        cells = model.cells(self._names(model.problem), closed)
        return WrittenRows(cells.size, [(np.arange(cells.size), cells, 1.0)], upper=0.0)


class Forbidden(_LocationRule):
    """No replica of the operators on the nodes that meet everything given; violated by each replica there.

    Examples
    --------
    >>> Forbidden(name="tenant", labels={"tenant": ["acme"]}).sentence
    'no replicas on nodes with tenant acme'
    """

    rule: Literal["forbidden"] = Field("forbidden", description="type of the rule, which says which fields follow")

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        return f"no replicas{f' of {enumerated(self.operators)}' if self.operators else ''} on {self.words}"

    def _closed(self, node: Node) -> bool:
        return self.meets(node)


class Required(_LocationRule):
    """Replicas of the operators only on the nodes that meet everything given; violated by each replica elsewhere.

    Examples
    --------
    >>> Required(name="residency", operators=("reader", "parser"), labels={"region": ["eu"]}).sentence
    'replicas of reader and parser only on nodes with region eu'
    """

    rule: Literal["required"] = Field("required", description="type of the rule, which says which fields follow")

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        return f"replicas of {enumerated(self.operators) if self.operators else 'all operators'} only on {self.words}"

    def _closed(self, node: Node) -> bool:
        return not self.meets(node)


class LinearTerm(NodeChoice):
    """A coefficient on the replicas of an operator on certain nodes, or on the number of these nodes that run it."""

    operator: Name = Field(description="operator whose replicas count")
    coefficient: float = Field(1.0, description="what each counts", **unit("1"))
    count: Literal["replicas", "nodes"] = Field("replicas", description="what counts: replicas, or nodes that run any of them")

    @property
    def sentence(self) -> str:
        """The term in words, without its sign."""
        factor = "" if abs(self.coefficient) == 1 else f"{abs(self.coefficient):g} × "
        if self.count == "nodes":
            return f"{factor}{self.words} running {self.operator}"
        return f"{factor}replicas of {self.operator}{f' on {self.words}' if self.narrows else ''}"


class LinearRule(Rule):
    """A weighted sum of replicas, or of nodes in use, within bounds; violated by the distance from the nearer bound.

    Examples
    --------
    >>> parsers = {"operator": "parser", "count": "nodes"}
    >>> counters = {"operator": "counter", "coefficient": 2, "nodes": ["edge"]}
    >>> LinearRule(name="licences", terms=(parsers, counters), upper=3).sentence
    'nodes running parser + 2 × replicas of counter on node edge ≤ 3'
    """

    rule: Literal["linear"] = Field("linear", description="type of the rule, which says which fields follow")
    terms: Annotated[tuple[LinearTerm, ...], Field(min_length=1)] = Field(description="of the sum")
    lower: float | None = Field(None, description="minimum of the sum; null for none", **unit("1"))
    upper: float | None = Field(None, description="maximum of the sum; null for none", **unit("1"))

    @checks("linear")
    def _check_bounds(self, faults: Faults) -> None:
        if self.lower is None and self.upper is None:
            faults.add((), self.name, "needs `lower` or `upper`; without either it has no effect")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            faults.add(("lower",), self.lower, f"must be at most `upper`, {self.upper:g}")

    @property
    def scale(self) -> float:
        """The largest of the coefficients and bounds, or 1."""
        return max(1.0, *(abs(term.coefficient) for term in self.terms), abs(self.lower or 0.0), abs(self.upper or 0.0))

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        total = " ".join(f"{'−' if term.coefficient < 0 else '+'} {term.sentence}" for term in self.terms).removeprefix("+ ")
        if self.lower == self.upper or self.upper is None:
            return f"{total} {'=' if self.lower == self.upper else '≥'} {self.lower:g}"
        return f"{'' if self.lower is None else f'{self.lower:g} ≤ '}{total} ≤ {self.upper:g}"

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note unknown operators, nodes, zones and labels of terms."""
        for index, term in enumerate(self.terms):
            operators = problem.application.by_name
            faults.add_unknown((*place, "terms", index, "operator"), term.operator, "operator of the application", operators)
            term.check_nodes(problem, (*place, "terms", index), faults)

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Distance of the sum from the nearer bound."""
        total, nodes = 0.0, problem.network.by_name
        for term in self.terms:
            counts = [count for node, count in deployment.replicas(term.operator).items() if term.meets(nodes[node])]
            total += term.coefficient * (sum(counts) if term.count == "replicas" else sum(count > 0 for count in counts))
        lower, upper = self._bounds
        return max(0.0, lower - total, total - upper)

    def linearise(self, model: RuleModel) -> WrittenRows:
        """A single row."""
        chosen = [(term, term.chosen(model.problem.network)) for term in self.terms]
        cells = [model.cells([term.operator], nodes, on=term.count == "nodes") for term, nodes in chosen]
        entries = [(0, columns, term.coefficient) for term, columns in zip(self.terms, cells, strict=True)]
        return WrittenRows(1, entries, *self._bounds)

    @property
    def _bounds(self) -> tuple[float, float]:
        return -math.inf if self.lower is None else self.lower, math.inf if self.upper is None else self.upper
