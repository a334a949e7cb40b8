"""Random candidates for the fewest replicas: a method of the recipe."""

import numpy as np

from edrp.core.methods import Method, Options
from edrp.core.problem import EVERYTHING
from edrp.core.solution import Answer
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem


class RandomCandidates(Method):
    """Puts the fewest replicas of every operator on random candidates."""

    name, kinds, summary = "random-candidates", ("edrp",), "the fewest replicas of every operator on random candidates"
    takes = EVERYTHING

    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Draw once; where that breaks a limit, nothing is found."""
        random, names = np.random.default_rng(options.seed), list(problem.network.by_name)
        replicas = {
            operator.name: tuple(random.choice(list(operator.candidates or names), operator.min_replicas).tolist())
            for operator in problem.application.operators
        }
        drawn = Deployment(replicas)
        found = problem.evaluate(drawn).feasible
        return Answer("feasible", "finished", drawn) if found else Answer("none", "finished")


METHODS = (RandomCandidates(),)
