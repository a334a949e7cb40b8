"""Projected migration costs (PMC) against what a practitioner would write: NumPy, QuantEcon, and a plain job of PySpark.

All peers list the partitions and compute the cost of every pair of them once, as tables; value iteration is then arithmetic on
tables. They stop at an error of 1e-6 of all state, `edrp` at its own 1e-11; the answer is the mean of the projected costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from peer_pairs import Call, Outcome, Pair, register
from scipy import sparse

from edrp.core.spark import spark_session
from edrp.mdp.partitions import Tasks
from edrp.mdp.policy.pmc import SweepEngine, Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.spark_engine import Spark

SIZES = {
    "340": (24, (3, 4), 0.5),
    "1900": (28, (4, 5), 0.5),
    "7500": (32, (4, 5, 6), 0.4),
    "106000": (64, (8, 10, 12, 14, 16), 0.2),
}
"""Tasks, numbers of nodes and tolerance by the rough number of partitions."""

ACCURACY = 1e-6
CHUNK = 256
OPEN = ExitStack()
Table = np.ndarray[Any, np.dtype[np.float64]]


def model_of(size: str) -> PolicyModel:
    """A process with log-normal work, in which the number of nodes goes up or down by one step or stays."""
    tasks, counts, tolerance = SIZES[size]
    work = np.random.default_rng(1).lognormal(0.0, 0.5, tasks)
    near = np.abs(np.subtract.outer(range(len(counts)), range(len(counts)))) <= 1
    return PolicyModel(Tasks.of(work, work), counts, tolerance, False, near / near.sum(axis=1, keepdims=True), 0.8)


def pair_costs(model: PolicyModel, before: np.ndarray, after: np.ndarray) -> Table:
    """State that moves from each partition to each other one, shape (before, after): all but the best matching of intervals."""
    held = model.tasks.state_before
    lines = [np.zeros((len(before), len(after))) for _ in range(after.shape[1])]
    for old in range(before.shape[1] - 1):
        corner = lines[0]
        for new in range(after.shape[1] - 1):
            begin = np.maximum(before[:, old, None], after[None, :, new])
            end = np.maximum(begin, np.minimum(before[:, old + 1, None], after[None, :, new + 1]))
            best = np.maximum(np.maximum(lines[new + 1], lines[new]), corner + held[end] - held[begin])
            corner, lines[new + 1] = lines[new + 1], best
    return held[-1] - lines[-1]


def mean_cost(values: Iterable[Table]) -> Outcome:
    """Mean of the projected costs, and their number."""
    costs = np.concatenate(list(values))
    return Outcome(float(costs.mean()), note=f"{costs.size:,} partitions")


def edrp_costs(model: PolicyModel, engine: Callable[[], SweepEngine]) -> Callable[[], Outcome]:
    """Iterate with an engine."""
    ready = engine()
    return lambda: mean_cost(iterate(PolicyModel(**model.__getstate__()), ready).values)


def is_close(model: PolicyModel, values: list[Table], new: list[Table]) -> bool:
    """Whether the usual rule ends value iteration: the change bounds the error."""
    change = max(float(np.abs(b - a).max()) for a, b in zip(values, new, strict=True))
    return change * model.discount / (1 - model.discount) <= ACCURACY * model.total_state


def numpy_costs(model: PolicyModel) -> Outcome:
    """Iterate on a table of costs for each pair of node counts."""
    partitions, sources = model.partitions, range(len(model.counts))
    tables = {(a, b): pair_costs(model, partitions[a], partitions[b]) for a in sources for b in model.successors(a)}
    values = [np.zeros(len(states)) for states in partitions]
    while True:
        new = [
            sum(
                model.transitions[a, b] * np.min(tables[a, b] + model.discount * values[b][None, :], axis=1)
                for b in model.successors(a)
            )
            for a in sources
        ]
        if is_close(model, values, new):
            return mean_cost(new)
        values = new


def quantecon_costs(model: PolicyModel) -> Outcome:
    """Modified policy iteration of QuantEcon; states are partitions with the next number of nodes, actions next partitions."""
    from quantecon.markov import DiscreteDP

    partitions, sources = model.partitions, range(len(model.counts))
    first = np.cumsum([0, *(len(states) * len(model.counts) for states in partitions)])
    width = len(model.counts)
    states, actions, rewards, begin, column, chance = [], [], [], [0], [], []
    offsets = np.cumsum([0, *map(len, partitions)])
    for a in sources:
        for b in sources:  # a state for every pair keeps numbering simple; those that never follow have one free action
            state = first[a] + width * np.arange(len(partitions[a])) + b
            costs = pair_costs(model, partitions[a], partitions[b]) if model.transitions[a, b] > 0 else np.zeros((state.size, 1))
            states.append(np.repeat(state, costs.shape[1]))
            actions.append(np.tile(offsets[b] + np.arange(costs.shape[1]), state.size))
            rewards.append(-costs.ravel())
            after = first[b] + width * np.tile(np.arange(costs.shape[1]), state.size)
            follow = np.flatnonzero(model.transitions[b] > 0)
            column.append((after[:, None] + follow).ravel())
            chance.append(np.tile(model.transitions[b, follow], after.size))
            begin.append(np.full(after.size, follow.size))
    counts = np.concatenate([np.atleast_1d(part) for part in begin])
    flow = sparse.csr_matrix(
        (np.concatenate(chance), np.concatenate(column), np.cumsum(counts)), shape=(counts.size - 1, first[-1])
    )
    process = DiscreteDP(np.concatenate(rewards), flow, model.discount, np.concatenate(states), np.concatenate(actions))
    found = process.solve(method="modified_policy_iteration", epsilon=ACCURACY * model.total_state, max_iter=1000)
    values = [-found.v[first[a] : first[a + 1]].reshape(-1, width) @ model.transitions[a] for a in sources]
    return mean_cost(values)


def spark_costs(model: PolicyModel, session: Any) -> Outcome:
    """A job of PySpark for each iteration: rows of the table are cached where they were made, and values are broadcast."""
    partitions, sources = model.partitions, range(len(model.counts))
    context, shared = session.sparkContext, session.sparkContext.broadcast(model)
    chunks = [(a, i) for a in sources for i in range(0, len(partitions[a]), CHUNK)]

    def rows(chunk: tuple[int, int]) -> tuple[int, int, list[tuple[int, Table]]]:
        here, (a, i) = shared.value, chunk
        before = here.partitions[a][i : i + CHUNK]
        return a, i, [(int(b), pair_costs(here, before, here.partitions[b])) for b in here.successors(a)]

    tables = context.parallelize(chunks, 2 * context.defaultParallelism).map(rows).cache()
    values = [np.zeros(len(states)) for states in partitions]
    while True:
        known = context.broadcast(values)

        def swept(
            parts: Iterator[tuple[int, int, list[tuple[int, Table]]]], known: Any = known
        ) -> Iterator[tuple[int, int, Table]]:
            here, now = shared.value, known.value
            for a, i, costs in parts:
                least = (here.transitions[a, b] * (table + here.discount * now[b]).min(axis=1) for b, table in costs)
                yield a, i, sum(least)

        new = [np.empty_like(costs) for costs in values]
        for a, i, costs in tables.mapPartitions(swept).collect():
            new[a][i : i + len(costs)] = costs
        if is_close(model, values, new):
            tables.unpersist()
            return mean_cost(new)
        values = new


def session() -> Any:
    """A session on two local cores that ends with the process."""
    return OPEN.enter_context(spark_session("local[2]", in_python=True))


def ours(size: str, engine: Callable[[], SweepEngine]) -> Callable[[], Callable[[], Outcome]]:
    """Prepare `edrp`."""
    return lambda: edrp_costs(model_of(size), engine)


def theirs(size: str, costs: Callable[..., Outcome], *needs: Callable[[], Any]) -> Callable[[], Callable[[], Outcome]]:
    """Prepare a peer."""
    return lambda: partial(costs, model_of(size), *(make() for make in needs))


def on_spark() -> SweepEngine:
    """The engine on two local cores."""
    return Spark(session())


for SIZE in ("340", "1900", "7500"):
    GOAL = "fewer seconds and less memory"
    register(
        Pair(f"pmc-{SIZE}-numpy", GOAL, Call("edrp", ours(SIZE, lambda: Threads(1))), Call("NumPy", theirs(SIZE, numpy_costs)))
    )
for SIZE in ("340", "1900"):  # 7,500 partitions are 50 million pairs with three successors each: beyond the memory of the machine
    side = Call("QuantEcon", theirs(SIZE, quantecon_costs))
    register(Pair(f"pmc-{SIZE}-quantecon", GOAL, Call("edrp", ours(SIZE, lambda: Threads(1))), side, ("quantecon",)))
for SIZE in ("340", "7500"):
    side = Call("plain PySpark", theirs(SIZE, spark_costs, session))
    register(Pair(f"pmc-{SIZE}-pyspark", GOAL, Call("edrp on Spark", ours(SIZE, on_spark)), side, ("pyspark",)))
register(
    Pair(
        "pmc-106000-local[2]",
        "at most 1.5 times the clock of two threads",
        Call("edrp on Spark", ours("106000", on_spark)),
        Call("edrp, two threads", ours("106000", lambda: Threads(2))),
        ("pyspark",),
    )
)
