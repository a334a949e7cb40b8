"""The kind `brokers` as a program, which every solver backend then solves."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from edrp import Formulation
from edrp.core.program import Linear, Program
from edrp_template.documents import Assignment, BrokerProblem


@dataclass(frozen=True, slots=True)
class BrokerFormulation(Formulation):
    """A binary column for each partition on each broker, and one for the peak load."""

    def decode(self, values: np.ndarray[Any, Any]) -> Assignment:
        """The broker whose column is largest, for each partition."""
        chosen = values[self.program["serve"]].argmax(axis=1)
        return {p.name: self.problem.brokers[b].name for p, b in zip(self.problem.partitions, chosen, strict=True)}

    def encode(self, decision: Assignment) -> np.ndarray[Any, Any]:
        """The point of the program that stands for an assignment."""
        values = np.full(self.program.columns, np.nan)
        names = [broker.name for broker in self.problem.brokers]
        chosen = [names.index(decision[partition.name]) for partition in self.problem.partitions]
        values[self.program["serve"]] = np.eye(len(names))[chosen]
        return values

    @property
    def current(self) -> Assignment | None:
        """The current assignment, from which solvers may start."""
        return self.problem.current


def formulate(problem: BrokerProblem, name: str) -> BrokerFormulation:
    """Every partition has one broker; the peak load is at least the load of each broker."""
    started = perf_counter()
    program = Program()
    partitions, brokers = len(problem.partitions), len(problem.brokers)
    serve = program.add_columns("serve", (partitions, brokers), upper=1, integer=True)
    peak = program.add_columns("peak", upper=1)
    rows = np.arange(partitions)[:, None]
    program.add_rows("one broker", partitions, [(rows, serve, 1.0)], lower=1, upper=1)
    rates = np.array([partition.rate for partition in problem.partitions])
    for index, broker in enumerate(problem.brokers):
        load = Linear.of(serve[:, index], rates / broker.bandwidth)
        program.add_row(f"load of {broker.name}", load - Linear.of(peak), upper=0)
    program.minimise(Linear.of(peak) + problem.moved_weight * moved_share(problem, serve))
    return BrokerFormulation(problem, name, program, program.objective, perf_counter() - started)


def moved_share(problem: BrokerProblem, serve: np.ndarray[Any, Any]) -> Linear:
    """Share of all bytes that move: 1 less what stays with its broker."""
    if problem.current is None:
        return Linear.zero()
    names = [broker.name for broker in problem.brokers]
    sizes = np.array([partition.size for partition in problem.partitions]) / problem.total_size
    stays = serve[np.arange(len(sizes)), [names.index(problem.current[partition.name]) for partition in problem.partitions]]
    return Linear.of(stays, -sizes) + float(sizes.sum())
