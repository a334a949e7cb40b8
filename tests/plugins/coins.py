"""A package that misbehaves: a kind of problem with nothing but its documents, and a method for it that fails in many ways."""

import os
import signal
import time
from typing import Literal

from edrp.core.kinds import Kind
from edrp.core.methods import Method
from edrp.core.problem import Evaluation, Problem
from edrp.core.solution import Answer, Solution


def harm(side):
    """Do to the process what the side of the coin says."""
    if side == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if side == "fail":
        raise ZeroDivisionError("fell off the table")
    time.sleep({"hang": 3600, "slow": 0.2}.get(side, 0))


class CoinSolution(Solution):
    kind: Literal["coin-solution"] = "coin-solution"
    side: str | None

    @property
    def decision(self):
        return self.side


class Coin(Problem):
    kind: Literal["coin"] = "coin"
    side: str

    def model_post_init(self, context):
        if self.side.startswith("read and "):
            harm(self.side.removeprefix("read and "))

    def evaluate(self, decision):
        return Evaluation(float(decision != self.side), {"wrong": float(decision != self.side)}, ())

    def solution(self, decision, fields):
        return CoinSolution.model_construct(**fields, side=decision)


class Throw(Method):
    """Throws a coin."""

    name = "throw"
    kinds = ("coin",)
    summary = "throws a coin"

    def run(self, problem, options):
        harm(problem.side)
        if problem.side == "lie":
            return Answer("optimal", "finished", "heads", 0.0, 0.0)
        return Answer("feasible", "finished", ["heads", "tails"][options.seed % 2])


NO_PARTS = dict.fromkeys(
    ["refuse_formulation", "find_directly", "choose", "display", "view", "explain", "explain_infeasibility", "check_problems"]
)
KIND = Kind(name="coin", problem=Coin, solution=CoinSolution, formulations={}, families=(), **NO_PARTS)
METHOD = Throw()
