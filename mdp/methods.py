"""Methods for migrations: the single step, and the step that prepares for what will probably follow."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Annotated

from pydantic import Field

from edrp.core.memory import memory_limit
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.mdp.policy.decisions import MigrationPolicy
from edrp.mdp.policy.model import PolicyModel
from edrp.mdp.policy.pmc import ACCURACY, Iteration, Threads, iterate
from edrp.mdp.single_step.ties import best_migration
from edrp.mdp.tasks import OldNodes, Tasks
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.single_step import MigrationProblem


class Ssm(Method):
    """SSM, exact in O(tasks × nodes) per trial load (state migration, section 3.3)."""

    name = "ssm"
    kinds = ("migration",)
    exact = True
    summary = "dynamic program for the migration that moves the least state"

    def run(self, problem: MigrationProblem, options: Options) -> Answer:
        """Solve; never stops early."""
        self.read_parameters(options)
        tasks = Tasks.of(problem.work, problem.state_size)
        old = OldNodes.of(problem.intervals)
        before = len(problem.intervals)
        found = best_migration(tasks, old, before, problem.nodes, problem.tolerance, problem.allow_empty)
        size = {"tasks": len(problem.work), "nodes": problem.nodes}
        if found is None:
            return Answer("infeasible", "finished", size=size)
        gain, assignment = found
        moved = max(0.0, float(tasks.state_before[-1]) - gain)
        return Answer("optimal", "finished", assignment, moved, moved, size)


@dataclass(frozen=True, slots=True)
class PmcParameters:
    """`max_sweeps`: sweeps of value iteration after which to stop."""

    max_sweeps: Annotated[int, Field(ge=1)] = 1000


class Pmc(Method):
    """PMC over all partitions, then the best decision (state migration, section 4.2)."""

    name = "pmc"
    kinds = ("migration-policy",)
    exact = True
    summary = "value iteration over all partitions for the migration that prepares for those to come"
    parameters = PmcParameters

    def refusal(self, problem: MigrationPolicyProblem) -> str | None:
        """Refuses what memory cannot hold."""
        model = PolicyModel.of(problem, problem.reachable_counts)
        return None if model.size.memory <= memory_limit() else too_many_states(model)

    def run(self, problem: MigrationPolicyProblem, options: Options) -> Answer:
        """Compute projected costs, decide; a time limit is looked at after each sweep."""
        parameters = self.read_parameters(options)
        model = PolicyModel.of(problem, problem.reachable_counts)
        size = {"states": sum(model.size.states), "pairs": model.size.pairs}
        if 0 in model.size.states:
            return Answer("infeasible", "finished", size=size)
        began = perf_counter()
        found = iterate(
            model,
            Threads(options.many_threads),
            max_sweeps=parameters.max_sweeps,
            time_limit=None if options.time_limit is None else options.remaining,
        )
        build = perf_counter() - began
        return _decided(problem, model, found, size, build, options)


def _decided(
    problem: MigrationPolicyProblem, model: PolicyModel, found: Iteration, size: dict[str, int], build: float, options: Options
) -> Answer:
    decision = MigrationPolicy(model, found.to_costs(model)).decide(problem.intervals, problem.nodes)
    error = found.error_bound * problem.discount
    # The decision minimises a value that is off by at most `error` everywhere, and so is its own.
    exact = found.error_bound <= ACCURACY * model.total_state
    proven = exact or 2 * error <= options.gap * decision.objective
    out_of_time = options.time_limit is not None and options.remaining == 0
    return Answer(
        "optimal" if proven else "feasible",
        "finished" if proven else "time_limit" if out_of_time else "iteration_limit",
        decision,
        decision.objective,
        max(0.0, decision.objective - 2 * error),
        {**size, "sweeps": found.sweeps},
        build,
        notes=() if proven else (f"projected costs are known to {found.error_bound:.3g} bytes only",),
    )


def too_many_states(model: PolicyModel) -> str:
    """What enumerating would take, and what does without."""
    states, memory = sum(model.size.states), model.size.memory
    return (
        f"{states:.6g} partitions of {model.tasks.work.size} tasks would take {memory / 2**30:.3g} GiB, more than the "
        f"{memory_limit() / 2**30:.3g} GiB set aside; method 'fitted' approximates without enumerating, or lower the tolerance"
    )


METHODS = (Ssm(), Pmc())
"""For the registry."""
