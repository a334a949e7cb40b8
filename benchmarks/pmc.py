"""Projected migration costs: how long value iteration takes, next to a general solver.

python benchmarks/pmc.py sizes              two skews of 64 tasks on 8 to 16 nodes, one thread and two
python benchmarks/pmc.py million            a million partitions
python benchmarks/pmc.py general            next to quantecon's DiscreteDP, on a process that it can hold
python benchmarks/pmc.py fitted             beyond enumeration: share of the exact saving
"""

from __future__ import annotations

import resource
import sys
from time import perf_counter

import numpy as np

from edrp.mdp.fitted.guard import guard
from edrp.mdp.fitted.iteration import fit, restrict
from edrp.mdp.partitions import Tasks
from edrp.mdp.policy.decisions import MigrationPolicy
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.state_action_pairs import state_action_pairs


def process(skew: str, tolerance: float = 0.2, tasks: int = 64, counts=range(8, 17)) -> PolicyModel:
    """Tasks with uniform or log-normal work, and a chain that prefers small steps."""
    generator = np.random.default_rng(1)
    work = generator.uniform(0.5, 1.5, tasks) if skew == "uniform" else generator.lognormal(0.0, 0.5, tasks)
    state = work * generator.uniform(0.8, 1.2, tasks) * 1e6
    counts = tuple(counts)
    distance = np.abs(np.subtract.outer(counts, counts))
    transitions = np.where(distance > 0, np.exp(-distance / 1.5), 0.0)
    transitions /= transitions.sum(axis=1, keepdims=True)
    return PolicyModel(Tasks.of(work, state), counts, tolerance, False, transitions, 0.8)


def timed(model: PolicyModel, threads: int):
    """Iterate and print the time, the error and the memory."""
    _ = model.tries, model.orders
    start = perf_counter()
    iteration = iterate(model, Threads(threads))
    seconds = perf_counter() - start
    share = iteration.error_bound / model.total_state
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{sum(model.size.states):>10,} states  {threads} thread(s)  {seconds:7.1f} s  {iteration.sweeps} sweeps  "
        f"error {share:.1e} of all state  peak memory {peak:.2f} GiB",
        flush=True,
    )
    return iteration


def sizes() -> None:
    """Two skews, on one and two threads."""
    timed(process("uniform", counts=(8, 9)), 1)  # compiles
    for skew in ("log-normal", "uniform"):
        for threads in (1, 2):
            timed(process(skew), threads)


def million() -> None:
    """More than a million states."""
    timed(process("uniform", counts=(8, 9)), 1)
    timed(process("log-normal", tolerance=0.238), 2)


def general() -> None:
    """Compare with a general solver of Markov decision processes."""
    from quantecon.markov import DiscreteDP

    model = process("log-normal", tolerance=0.5, tasks=24, counts=(4, 5, 6))
    iterate(model, Threads(1))
    start = perf_counter()
    ours = iterate(model, Threads(1))
    our_seconds = perf_counter() - start
    pairs = state_action_pairs(model)
    start = perf_counter()
    problem = DiscreteDP(pairs.reward, pairs.transition, model.discount, pairs.state, pairs.action)
    reference = problem.solve(method="modified_policy_iteration", epsilon=1e-6)
    their_seconds = perf_counter() - start
    difference = np.abs(np.concatenate(ours.values) + pairs.chance @ reference.v).max() / model.total_state
    print(f"{sum(model.size.states)} states, {pairs.state.size:,} state-action pairs")
    print(f"ours {our_seconds:.3f} s, DiscreteDP {their_seconds:.3f} s: ratio {their_seconds / our_seconds:.0f}")
    print(f"largest difference {difference:.1e} of all state")


def fitted() -> None:
    """Share of the exact saving that fitted policies reach."""
    for skew in ("log-normal", "uniform"):
        model = process(skew)
        exact = MigrationPolicy(model, iterate(model, Threads(2)).to_costs(model))
        generator = np.random.default_rng(3)
        start = perf_counter()
        additive = fit(model, generator)
        fit_seconds = perf_counter() - start
        few = restrict(additive, generator)
        both = perf_counter() - start
        savings = guard(model, {"fitted": additive, "restricted": few, "exact": exact}, 99).savings
        for name, saving in savings.items():
            print(f"{skew} {name}: saves {saving} against ssm, {saving.mean / savings['exact'].mean:.0%} of the exact saving")
        print(f"{skew}: fitted in {fit_seconds:.1f} s, restricted too in {both:.1f} s", flush=True)


if __name__ == "__main__":
    known = {"sizes": sizes, "million": million, "general": general, "fitted": fitted}
    for word in sys.argv[1:] or ["sizes", "general"]:
        known[word]()
