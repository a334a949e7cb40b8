"""A method for a kind that exists: placements of kind `edrp` by coordinate descent over operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from edrp import Answer, Deployment, EdrpProblem, Method, Operator, Options
from edrp.core.problem import EVERYTHING


@dataclass(frozen=True, slots=True)
class DescentParameters:
    """How long to search.

    Attributes
    ----------
    restarts : descents from random placements, after the first.
    """

    restarts: Annotated[int, Field(ge=0)] = 5


class Choice(NamedTuple):
    """The node of all replicas of an operator, and how many there are."""

    node: str
    replicas: int


Value = tuple[int, float]
"""Number of broken limits, then the objective; less is better."""


class OneNodeDescent(Method):
    """Puts all replicas of an operator on one node, and changes node and replicas of one operator after the other."""

    name, kinds, summary = "one-node-descent", ("edrp",), "all replicas of an operator on one node, the best for each in turn"
    parameters = DescentParameters
    takes = EVERYTHING

    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Descend from random placements, and keep the best; one that breaks a limit is no answer."""
        settings = self.read_parameters(options)
        random = np.random.default_rng(options.seed)
        choices = [self._choices(problem, operator) for operator in problem.application.operators]
        descents = []
        while len(descents) <= settings.restarts and options.remaining > 0.0:
            start = [own[random.integers(len(own))] for own in choices]
            descents.append(self._descend(problem, options, choices, start))
        stopped = "time_limit" if options.remaining == 0.0 else "finished"
        (broken, _), best = min(descents, default=((1, 0.0), []))
        return Answer("none", stopped) if broken else Answer("feasible", stopped, self._deployment(problem, best))

    @staticmethod
    def _choices(problem: EdrpProblem, operator: Operator) -> list[Choice]:
        nodes = operator.candidates or tuple(node.name for node in problem.network.nodes)
        return [Choice(node, count) for node in nodes for count in range(operator.min_replicas, operator.max_replicas + 1)]

    def _descend(
        self, problem: EdrpProblem, options: Options, choices: list[list[Choice]], placed: list[Choice]
    ) -> tuple[Value, list[Choice]]:
        value, before = self._value(problem, placed), None
        while value != before and options.remaining > 0.0:
            before = value
            for index, choice in ((index, choice) for index, own in enumerate(choices) for choice in own):
                changed = [*placed[:index], choice, *placed[index + 1 :]]
                if options.remaining > 0.0 and (new := self._value(problem, changed)) < value:
                    value, placed = new, changed
        return value, placed

    def _value(self, problem: EdrpProblem, placed: list[Choice]) -> Value:
        evaluation = problem.evaluate(self._deployment(problem, placed))
        return len(evaluation.broken), evaluation.objective

    @staticmethod
    def _deployment(problem: EdrpProblem, placed: list[Choice]) -> Deployment:
        operators = problem.application.operators
        nodes = {operator.name: [choice.node] * choice.replicas for operator, choice in zip(operators, placed, strict=True)}
        deployment: Deployment = problem.read_decision(nodes)
        return deployment


ONE_NODE_DESCENT = OneNodeDescent()
