"""Methods for problems of kind `migration-policy`: with projected costs computed now, or read from a folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Annotated

from pydantic import Field

from edrp.core.budget import counted_as, deadline, memory_limit, now
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options, alternative
from edrp.core.solution import Answer, within_gap
from edrp.core.tolerances import CLOSED_GAP, PROJECTED_COST_ACCURACY
from edrp.mdp.fitted.method import POLICY_TIME_SHARE, single_step_answer
from edrp.mdp.policy.pmc import MAX_FURTHER_SWEEPS, Iteration, Threads, iterate
from edrp.mdp.policy.process import MigrationPolicy, PolicyModel, model_parameters
from edrp.mdp.policy.store import MANIFEST, load_policy, refuse_other_problem
from edrp.migration.policy import MigrationPolicyProblem, PolicyDecision

ENUMERATED_STATE_UNITS = 2.5e-6
"""Units of work per state to enumerate and order states, an upper estimate; neither can be interrupted."""

OPENED_STATE_UNITS = 1e-6
"""Units of work per state to open a stored policy."""


@dataclass(frozen=True, slots=True)
class PmcParameters:
    """Parameters of "pmc"; `max_sweeps`: sweeps of value iteration after which it stops."""

    max_sweeps: Annotated[int, Field(ge=1)] = 1000


class Pmc(Method):
    """Computes projected migration costs (PMC) of all partitions, then the best decision (state migration, section 4.2)."""

    name = "pmc"
    kinds = ("migration-policy",)
    exact = True
    summary = "value iteration over all partitions for the migration that prepares for those to come"
    parameters = PmcParameters

    def obstacle(self, problem: MigrationPolicyProblem) -> str | None:
        """Refuse problems whose states do not fit into memory."""
        model = PolicyModel.of(problem, problem.reachable_counts)
        return None if model.size.memory <= memory_limit() else too_many_states(model)

    def run(self, problem: MigrationPolicyProblem, options: Options) -> Answer:
        """Compute projected costs and decide; SSM decides where a time limit leaves no time for a first sweep."""
        parameters = self.read_parameters(options)
        model = PolicyModel.of(problem, problem.reachable_counts)
        if 0 in model.size.states:
            return Answer("infeasible", "finished", size=_size(model))
        work = ENUMERATED_STATE_UNITS * sum(model.size.states)
        if work > options.remaining:
            expected = f"to enumerate {sum(model.size.states):,} partitions takes about {work:.2g} units of work"
            return single_step_answer(problem, options, f"{expected}; {alternative(problem, 'pmc')}")
        began = perf_counter()
        try:
            with deadline(now() + POLICY_TIME_SHARE * options.remaining):
                iteration = _project_costs(problem, model, parameters.max_sweeps, options)
        except OutOfTimeError as error:
            return single_step_answer(problem, options, str(error))
        build = perf_counter() - began
        answer = _answer(problem, model, iteration, options.gap)
        at_accuracy = iteration.error_bound <= PROJECTED_COST_ACCURACY * model.total_state
        if answer.status == "feasible" and (iteration.sweeps == parameters.max_sweeps or at_accuracy):
            answer = replace(answer, stopped_because="iteration_limit")
        return replace(answer, build_seconds=build)


def _project_costs(problem: MigrationPolicyProblem, model: PolicyModel, max_sweeps: int, options: Options) -> Iteration:
    """Iterate until `PROJECTED_COST_ACCURACY` or the gap is reached, within the limits of sweeps and time."""
    engine = Threads(options.many_threads)
    iteration = iterate(model, engine, max_sweeps=max_sweeps)
    objective = _decision(problem, model, iteration).objective
    distance = objective - _bound(objective, iteration.error_bound * problem.discount)
    if (
        distance <= max(options.gap * objective, CLOSED_GAP)
        or iteration.error_bound > PROJECTED_COST_ACCURACY * model.total_state
    ):
        return iteration
    # What is at stake here is little relative to all state.
    accuracy = 0.25 * options.gap * objective / model.total_state
    last_sweep = min(max_sweeps, iteration.sweeps + MAX_FURTHER_SWEEPS)
    return iterate(model, engine, state=iteration, accuracy=accuracy, max_sweeps=last_sweep)


def _size(model: PolicyModel) -> dict[str, int]:
    return {"states": sum(model.size.states), "pairs": model.size.pairs}


def _answer(problem: MigrationPolicyProblem, model: PolicyModel, iteration: Iteration, gap: float) -> Answer:
    """Build the answer from the costs of an iteration, which has converged or was stopped."""
    decision = _decision(problem, model, iteration)
    bound = _bound(decision.objective, iteration.error_bound * problem.discount)
    proven = within_gap(decision.objective, bound + problem.resolution, gap)
    return Answer(
        "optimal" if proven else "feasible",
        "finished" if proven else "time_limit",
        decision,
        decision.objective,
        bound,
        {**_size(model), "sweeps": iteration.sweeps},
        notes=() if proven else (f"projected costs are known to {iteration.error_bound:.3g} bytes only",),
    )


def _decision(problem: MigrationPolicyProblem, model: PolicyModel, iteration: Iteration) -> PolicyDecision:
    """Find the best decision by the costs of an iteration."""
    return MigrationPolicy(model, iteration.to_costs(model)).decide(problem.intervals, problem.nodes)


def _bound(objective: float, error: float) -> float:
    """Compute the proven bound of a decision that minimises values with an error of at most `error`."""
    return max(0.0, objective - 2 * error)


def too_many_states(model: PolicyModel) -> str:
    """Explain how much memory enumeration would take."""
    states, memory = sum(model.size.states), model.size.memory
    return (
        f"{states:.6g} partitions of {model.tasks.work.size} tasks would take {memory / 2**30:.3g} GiB, more than the "
        f"{memory_limit() / 2**30:.3g} GiB set aside; lower the tolerance"
    )


@dataclass(frozen=True, slots=True)
class StoredPolicyParameters:
    """Parameters of "stored-policy"; `policy`: folder that `edrp policy precompute` has written."""

    policy: str | Path = ""

    def __post_init__(self) -> None:
        if not str(self.policy):
            raise ValueError("policy must name the folder of a policy; make one with `edrp policy precompute`")


class StoredPolicy(Method):
    """Decides with projected costs that were computed before and are read from a folder.

    One folder serves every problem with its work, state sizes, tolerance, transitions and discount, whatever the current
    assignment and the number of nodes. A process keeps the policy that it opened last, so that a batch opens it once.
    """

    name = "stored-policy"
    kinds = ("migration-policy",)
    exact = True
    summary = "the best decision with projected costs read from the folder `policy` that `edrp policy precompute` wrote"
    parameters = StoredPolicyParameters

    def run(self, problem: MigrationPolicyProblem, options: Options) -> Answer:
        """Open the policy and decide; never stops early.

        Raises
        ------
        InvalidInstanceError
            When no folder is named, or it holds no policy, a damaged one, or one for other parameters.
        """
        folder = Path(self.read_parameters(options).policy)
        model = PolicyModel.of(problem, problem.reachable_counts)
        if 0 in model.size.states:
            return Answer("infeasible", "finished", size={"states": sum(model.size.states)})
        began = perf_counter()
        with counted_as(OPENED_STATE_UNITS * sum(model.size.states)):
            # Open the policy in a folder; it is read again only if its manifest, with the checksum of the costs, has changed.
            manifest = folder / MANIFEST
            policy = _read_policy(folder.absolute(), manifest.read_bytes()) if manifest.is_file() else load_policy(folder)
            refuse_other_problem(folder, model_parameters(policy.model), model)
            policy.decide(problem.intervals, problem.nodes)  # prepares the search, once for each number of nodes
            opened = perf_counter()
            decision = policy.decide(problem.intervals, problem.nodes)
        bound = _bound(decision.objective, policy.costs.error_bound * problem.discount)
        return Answer(
            "optimal" if within_gap(decision.objective, bound + problem.resolution, options.gap) else "feasible",
            "finished",
            decision,
            decision.objective,
            bound,
            {"states": policy.costs.states},
            opened - began,
        )


@lru_cache(maxsize=1)
def _read_policy(folder: Path, manifest: bytes) -> MigrationPolicy:
    return load_policy(folder)


METHODS = (Pmc(), StoredPolicy())
"""Methods for problems of kind `migration-policy`."""
