"""The method `fitted`: a policy for more partitions than can be enumerated.

Fitted value iteration, and the exact process restricted to where its policy leads.

C(P) ≈ c_n + Σ_intervals f_n(first, end) keeps the best response an SSM with arc costs, exact for the fitted function and
independent of how many partitions there are. Each round fits it to exact Bellman backups at partitions that the current
policy visits. The *restricted process* then allows only some hundreds of partitions per node count, drawn along trajectories
of the fitted policy with little noise, and is solved exactly: it mends what an additive function cannot express.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.special import stdtrit
from threadpoolctl import threadpool_limits

from edrp.core.arrays import Floats
from edrp.core.budget import deadline, look, now, spend
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.core.tolerances import STATE_RESOLUTION
from edrp.mdp.fitted.policies import (
    KEPT_STATE_UNITS,
    Features,
    FittedPolicy,
    PartitionPolicy,
    RestrictedPolicy,
    SingleStepPolicy,
    distinct,
    draw_node_counts,
    follow,
    gains_between_all,
    single_step_start,
    visit,
)
from edrp.mdp.partitions import Boundaries, OldNodes, assign, gain_between, match
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.single_step.ssm import best_migration
from edrp.mdp.value_iteration import middle_of_bounds
from edrp.migration.policy import MigrationPolicyProblem, PolicyDecision

FITTING_ROUNDS = 15
FITTING_SAMPLES = 200
"""Partitions of each node count at which a round computes backups."""

RANDOM_VISIT_SHARE = 0.3
"""Share of random partitions among those that a round visits."""

BACKUP_PAIR_UNITS = 1e-9
"""Units of work per pair of partitions in a backup of the restricted process."""

RESTRICTED_VISIT_SHARE = 0.05
RESTRICTED_PARTITIONS = 1500
"""Default number of partitions of each node count in the restricted process."""


def fit(
    model: PolicyModel, generator: np.random.Generator, *, rounds: int = FITTING_ROUNDS, samples: int = FITTING_SAMPLES
) -> FittedPolicy:
    """Fit projected costs by value iteration on samples.

    Parameters
    ----------
    model
        The process; there must be a partition for each node count.
    """
    features = [Features(model.tasks.work_before, model.limit(nodes)) for nodes in model.counts]
    policy = FittedPolicy(model, tuple(np.zeros(feature.count) for feature in features))
    # The systems are small: threads of BLAS that wait for each other would cost many times the work.
    with threadpool_limits(1, user_api="blas"):
        for _ in range(rounds):
            visited = visit(policy, model, samples, RANDOM_VISIT_SHARE, generator)
            targets = [policy.backups(source, rows) for source, rows in enumerate(visited)]
            weights = [feature.fit(rows, y) for feature, rows, y in zip(features, visited, targets, strict=True)]
            policy = FittedPolicy(model, tuple(weights))
    return policy


def restrict(policy: FittedPolicy, generator: np.random.Generator, *, kept: int = RESTRICTED_PARTITIONS) -> RestrictedPolicy:
    """Solve the process restricted to partitions that a fitted policy visits.

    Parameters
    ----------
    kept
        Partitions of each node count, before repetitions are dropped; all of them, where there are no more than that.
    """
    model = policy.model
    if max(model.size.states) <= kept:
        partitions = tuple(rows.astype(np.int64) for rows in model.partitions)
    else:
        partitions = tuple(distinct(rows) for rows in visit(policy, model, kept, RESTRICTED_VISIT_SHARE, generator))
    costs = [[_costs(model, a, b) for b in partitions] for a in partitions]
    values = [np.zeros(len(rows)) for rows in partitions]
    error = np.inf
    while error > STATE_RESOLUTION * model.total_state:
        look("the restricted process")
        new = [_backup(model, costs[source], values, source) for source in range(len(values))]
        values, error = middle_of_bounds(model.discount, values, new)
    return RestrictedPolicy(model, partitions, tuple(values))


def _costs(model: PolicyModel, before: Boundaries, after: Boundaries) -> Floats:
    look("the restricted process")
    spend(KEPT_STATE_UNITS * (before.size * len(after) + len(before) * after.size))
    return model.total_state - gains_between_all(model.tasks.state_before, before, after)


def _backup(model: PolicyModel, costs: list[Floats], values: list[Floats], source: int) -> Floats:
    new = np.zeros(len(values[source]))
    for target in model.successors(source):
        spend(BACKUP_PAIR_UNITS * costs[target].size)
        new += model.transitions[source, target] * (costs[target] + model.discount * values[target]).min(axis=1)
    return new


GUARD_RUNS = 12
GUARD_STEPS = 80
GUARD_WARM_UP = 10
GUARD_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Saving:
    """Saving of a policy against SSM per migration, as a share of SSM's cost.

    Attributes
    ----------
    mean, low, high : estimate and ends of its 95 % confidence interval, over simulated runs.
    cost, single_step_cost : mean bytes that move per migration.
    """

    mean: float
    low: float
    high: float
    cost: float
    single_step_cost: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f} %)"


@dataclass(frozen=True, slots=True)
class GuardedPolicy:
    """The policy that simulation recommends.

    Attributes
    ----------
    name : name of the chosen candidate; "ssm" where none is surely better.
    savings : by name, saving of every candidate.
    """

    name: str
    policy: PartitionPolicy
    savings: dict[str, Saving]


def choose_policy(
    model: PolicyModel, candidates: Mapping[str, PartitionPolicy], seed: int, *, runs: int = GUARD_RUNS, steps: int = GUARD_STEPS
) -> GuardedPolicy:
    """Simulate candidates and SSM on the same random migrations; take the best if it is surely better than SSM.

    Parameters
    ----------
    seed
        Seed of the simulation; should differ from the one that the candidates were made with.
    runs, steps
        Independent runs, and migrations that count in each of them.
    """
    ssm = SingleStepPolicy(model)
    costs: dict[str, Floats] = {name: np.empty(runs) for name in ("ssm", *candidates)}
    for run, child in enumerate(np.random.SeedSequence(seed).spawn(runs)):
        generator = np.random.default_rng(child)
        source = int(generator.integers(len(model.counts)))
        start = single_step_start(model, source, generator)
        classes = draw_node_counts(model, source, GUARD_WARM_UP + steps, generator)
        for name, policy in {"ssm": ssm, **candidates}.items():
            costs[name][run] = follow(policy, model, start, classes)[1][GUARD_WARM_UP:].mean()
    savings = {name: _saving(costs["ssm"], costs[name]) for name in candidates}
    best = min(savings, key=lambda name: savings[name].cost, default="ssm")
    if best == "ssm" or savings[best].low <= 0:
        return GuardedPolicy("ssm", ssm, savings)
    return GuardedPolicy(best, candidates[best], savings)


def _saving(single_step: Floats, costs: Floats) -> Saving:
    base = float(single_step.mean())
    if base == 0:
        return Saving(0.0, 0.0, 0.0, float(costs.mean()), base)
    shares = (single_step - costs) / base
    mean, runs = float(shares.mean()), len(shares)
    error = float(shares.std(ddof=1)) / np.sqrt(runs) if runs > 1 else np.inf
    width = error * float(stdtrit(runs - 1, (1 + GUARD_CONFIDENCE) / 2)) if runs > 1 else np.inf
    return Saving(mean, mean - width, mean + width, float(costs.mean()), base)


ESTIMATE_RUNS = 200

NEGLIGIBLE_DISCOUNT = 1e-4
"""Discount factor below which later steps are left out of an estimate."""

ESTIMATE_NOTE = "the projected cost is estimated by simulation; the bound is the cost of ssm for this step"
SINGLE_STEP_NOTE = f"the answer is that of ssm, which minimises this step alone; {ESTIMATE_NOTE}"

POLICY_TIME_SHARE = 0.85
"""Share of a time limit after which SSM answers instead of a fitted policy."""


def projected_cost(policy: PartitionPolicy, model: PolicyModel, start: Boundaries, source: int, seed: int) -> float:
    """Estimate the mean discounted cost of a policy from a partition, in bytes; at least one run where time is short."""
    steps = 1 if model.discount == 0 else max(1, int(np.ceil(np.log(NEGLIGIBLE_DISCOUNT) / np.log(model.discount))))
    generator = np.random.default_rng([seed, 1])
    costs: list[float] = []
    with suppress(OutOfTimeError):
        while len(costs) < ESTIMATE_RUNS:
            node_counts = draw_node_counts(model, source, steps, generator)
            costs.append(float(model.discount ** np.arange(steps) @ follow(policy, model, start, node_counts)[1]))
    return float(np.mean(costs)) if costs else _shortest_estimate(policy, model, start, source, generator)


def _shortest_estimate(
    policy: PartitionPolicy, model: PolicyModel, start: Boundaries, source: int, generator: np.random.Generator
) -> float:
    """Estimate the projected cost from one step, as if all later ones cost the same."""
    target = int(draw_node_counts(model, source, 1, generator)[0])
    state = model.tasks.state_before
    return float(state[-1] - gain_between(state, start, policy.action(start, target))) / (1 - model.discount)


def single_step_answer(problem: MigrationPolicyProblem, options: Options, *why: str) -> Answer:
    """Answer by SSM: optimal for this step, with an estimate of later costs under the same rule."""
    model = PolicyModel.of(problem, problem.reachable_counts)
    size = {"states": sum(model.size.states), "pairs": model.size.pairs}
    if 0 in model.size.states:
        return Answer("infeasible", "finished", size=size)
    old, nodes_before = OldNodes.of(problem.intervals), len(problem.intervals)
    best = best_migration(model.tasks, old, nodes_before, problem.nodes, problem.tolerance, problem.allow_empty)
    assert best is not None, "there is a partition for every node count"
    moved = max(0.0, model.total_state - best[0])
    chosen = OldNodes.of([interval for interval in best[1] if interval is not None]).boundaries
    projected = projected_cost(SingleStepPolicy(model), model, chosen, model.counts.index(problem.nodes), options.seed)
    decision = PolicyDecision(best[1], projected, moved + model.discount * projected)
    return Answer("feasible", "time_limit", decision, decision.objective, moved, size, notes=(*why, SINGLE_STEP_NOTE))


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
