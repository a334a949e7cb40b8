"""What methods of the snapshot problem have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.enactment.snapshot import EnactmentProblem
from edrp.heuristics.enactment.packing import Packing
from edrp.heuristics.notes import listed


class SnapshotRule(Method):
    """A method for problems of kind `enactment` that packs by a simple rule; it holds nothing where that breaks a limit.

    Attributes
    ----------
    parameters
        Dataclass of the method's parameters.
    """

    kinds = ("enactment",)

    def run(self, problem: EnactmentProblem, options: Options) -> Answer:
        """Apply the rule once."""
        parameters = self.read_parameters(options)
        packing = self.packed(problem, parameters)
        if isinstance(packing, str):
            return Answer("none", "finished", notes=(packing,))
        hosts = packing.decided()
        evaluation = problem.evaluate(hosts)
        if evaluation.feasible:
            return Answer("feasible", "finished", hosts, evaluation.objective)
        return Answer("none", "finished", notes=(f"{self.name} breaks {listed(evaluation.broken)}",))

    @abstractmethod
    def packed(self, problem: EnactmentProblem, parameters: Any) -> Packing | str:
        """The packing that the rule makes, or what finds no room."""
