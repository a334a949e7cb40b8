"""The method `fitted`: a policy for more partitions than can be enumerated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Annotated

import numpy as np
from pydantic import Field

from edrp.core.budget import deadline, now
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.mdp.fitted.cost_estimates import ESTIMATE_NOTE, POLICY_TIME_SHARE, projected_cost, single_step_answer
from edrp.mdp.fitted.guard import GuardedPolicy, choose_policy
from edrp.mdp.fitted.iteration import FITTING_ROUNDS, FITTING_SAMPLES, RESTRICTED_PARTITIONS, fit, restrict
from edrp.mdp.fitted.policies import PartitionPolicy, SingleStepPolicy
from edrp.mdp.matching import assign, gain_between, match
from edrp.mdp.partitions import OldNodes
from edrp.mdp.policy.process import PolicyModel
from edrp.migration.policy import MigrationPolicyProblem, PolicyDecision


@dataclass(frozen=True, slots=True)
class FittedParameters:
    """Parameters of "fitted": `rounds` and `samples` of the fit, `kept` partitions per node count in the restricted process."""

    rounds: Annotated[int, Field(ge=1)] = FITTING_ROUNDS
    samples: Annotated[int, Field(ge=1)] = FITTING_SAMPLES
    kept: Annotated[int, Field(ge=1)] = RESTRICTED_PARTITIONS


class FittedMethod(Method):
    """Fitted value iteration and a restricted process, used only where simulation shows that they beat SSM."""

    name = "fitted"
    kinds = ("migration-policy",)
    summary = "fitted value iteration without enumeration, guarded by simulation against ssm"
    parameters = FittedParameters

    def run(self, problem: MigrationPolicyProblem, options: Options) -> Answer:
        """Fit, restrict and simulate policies, then decide and estimate later costs; SSM decides where time is short."""
        self.read_parameters(options)
        try:
            with deadline(now() + POLICY_TIME_SHARE * options.remaining):
                return self._run(problem, options)
        except OutOfTimeError as error:
            return single_step_answer(problem, options, str(error))

    def _run(self, problem: MigrationPolicyProblem, options: Options) -> Answer:
        parameters = self.read_parameters(options)
        model = PolicyModel.of(problem, problem.reachable_counts)
        if 0 in model.size.states:
            return Answer("infeasible", "finished")
        began = perf_counter()
        recommended = recommend(model, options.seed, **asdict(parameters))
        build = perf_counter() - began
        old = OldNodes.of(problem.intervals)
        target = model.counts.index(problem.nodes)
        chosen = recommended.policy.action(old.boundaries, target)
        matched = match(model.tasks.state_before, old.boundaries, chosen)
        moved = model.total_state - gain_between(model.tasks.state_before, old.boundaries, chosen)
        projected = projected_cost(recommended.policy, model, chosen, target, options.seed)
        decision = PolicyDecision(
            assign(old, len(problem.intervals), chosen, matched, problem.nodes), projected, moved + model.discount * projected
        )
        notes = [f"saving of {name} against ssm per migration: {saving}" for name, saving in recommended.savings.items()]
        single_step = SingleStepPolicy(model).action(old.boundaries, target)
        return Answer(
            "feasible",
            "finished",
            decision,
            decision.objective,
            max(0.0, model.total_state - gain_between(model.tasks.state_before, old.boundaries, single_step)),
            {"states": sum(model.size.states)},
            build,
            notes=(*notes, f"used: {recommended.name}", ESTIMATE_NOTE),
        )


def recommend(model: PolicyModel, seed: int, **parameters: int) -> GuardedPolicy:
    """Fit, restrict, and let simulation decide between the two and SSM.

    Parameters
    ----------
    model
        The process; there must be a partition for each node count.
    **parameters
        `rounds`, `samples` of `fit`, `kept` of `restrict`.
    """
    samples, simulation = np.random.SeedSequence(seed).spawn(2)
    generator = np.random.default_rng(samples)
    fitted = fit(model, generator, **{name: parameters[name] for name in ("rounds", "samples") if name in parameters})
    restricted = restrict(fitted, generator, **{name: parameters[name] for name in ("kept",) if name in parameters})
    candidates: dict[str, PartitionPolicy] = {"fitted": fitted, "restricted": restricted}
    return choose_policy(model, candidates, int(simulation.generate_state(1)[0]))


METHODS = (FittedMethod(),)
"""Methods for problems of kind `migration-policy`."""
