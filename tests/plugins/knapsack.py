"""A complete kind of problem as another package would bring it along: which items to leave behind when a sack is full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

import edrp
from edrp.check_problems import CheckProblems
from edrp.cli.display.solution import metric_table
from edrp.core.document import Document, Name, NonNegative, Positive
from edrp.core.methods import FirstOf
from edrp.core.problem import Problem
from edrp.core.program import Linear, Program
from edrp.core.solution import Answer
from edrp.datasets.families.family import Family
from edrp.validation.benchmark.suites import Suite

Packed = tuple[str, ...]


class Item(Document):
    """Something that may be packed."""

    name: Name = Field(description="unique among the items")
    weight: Positive = Field(description="in the unit of the capacity", json_schema_extra={"unit": "1"})
    value: NonNegative = Field(description="lost where the item is left behind", json_schema_extra={"unit": "1"})


class KnapsackSolution(edrp.Solution):
    """The items that are packed."""

    metric_units: ClassVar[Mapping[str, str]] = {"left": "money", "weight": "kg"}

    kind: Literal["knapsack-solution"] = "knapsack-solution"
    packed: Packed | None = Field(description="names of the packed items")

    @property
    def decision(self) -> Packed | None:
        """The packed items."""
        return self.packed


class Knapsack(Problem):
    """Items for a sack: the value of those left behind is minimised."""

    kind: Literal["knapsack"] = "knapsack"
    items: tuple[Item, ...] = Field(description="all items")
    capacity: NonNegative = Field(description="weight that can be packed", json_schema_extra={"unit": "1"})
    wanted: tuple[Name, ...] = Field((), description="items that must be packed")

    def evaluate(self, decision: Packed) -> edrp.Evaluation:
        """The value left behind, and whether the sack holds the rest."""
        weight = sum(item.weight for item in self.items if item.name in decision)
        left = sum(item.value for item in self.items if item.name not in decision)
        broken = [f"the sack holds {self.capacity:g}, not {weight:g}"] if weight > self.capacity else []
        broken += [f"{name} is left behind" for name in self.wanted if name not in decision]
        return edrp.Evaluation(left, {"left": left, "weight": weight}, tuple(broken))

    def solution(self, decision: Packed | None, fields: dict[str, Any]) -> KnapsackSolution:
        """The solution document."""
        return KnapsackSolution(**fields, packed=decision)


class DensestFirst(edrp.Method):
    """Items by value per weight, as long as there is room."""

    name, kinds, summary = "densest-first", ("knapsack",), "items by value per weight, as long as there is room"

    def run(self, problem: Knapsack, options: edrp.Options) -> Answer:
        """Pack what is wanted, then the rest."""
        self.read_parameters(options)
        packed: list[str] = []
        for item in sorted(problem.items, key=lambda item: (item.name not in problem.wanted, -item.value / item.weight)):
            if not problem.replace(wanted=()).evaluate((*packed, item.name)).broken:
                packed.append(item.name)
        evaluation = problem.evaluate(tuple(packed))
        return Answer("none", "finished") if evaluation.broken else Answer("feasible", "finished", tuple(packed))


@dataclass(frozen=True, slots=True)
class KnapsackFormulation(edrp.Formulation):
    """One binary column per item."""

    def decode(self, values: np.ndarray) -> Packed:
        """Items whose column is 1."""
        return tuple(item.name for item, value in zip(self.problem.items, values, strict=True) if value > 0.5)

    def encode(self, decision: Packed) -> np.ndarray:
        """A starting point."""
        return np.array([float(item.name in decision) for item in self.problem.items])


def formulate(problem: Knapsack, name: str) -> KnapsackFormulation:
    """Rows `sack` and columns `take`."""
    started = perf_counter()
    program = Program()
    lower = [float(item.name in problem.wanted) for item in problem.items]
    take = program.add_columns("take", len(problem.items), lower=lower, upper=1, integer=True)
    program.add_row("sack", Linear.of(take, [item.weight for item in problem.items]), upper=problem.capacity)
    values = np.array([item.value for item in problem.items])
    program.minimise(Linear.of(take, -values) + float(values.sum()))
    return KnapsackFormulation(problem, name, program, program.objective, perf_counter() - started)


def display(problem: Knapsack, solution: KnapsackSolution) -> Iterator[Any]:
    """One sentence, and the metrics with their units."""
    yield f"{len(solution.packed or ())} of {len(problem.items)} items go into the sack"
    yield metric_table(solution.metrics, solution.metric_units)


def explain(problem: Knapsack, solution: KnapsackSolution, time_limit: float | None) -> Iterator[str]:
    """The items that are left behind."""
    yield from (f"{item.name} stays here" for item in problem.items if item.name not in (solution.packed or ()))


def explain_infeasibility(problem: Knapsack, time_limit: float) -> tuple[str, ...]:
    """The wanted items are too heavy."""
    return (f"wanted items weigh more than {problem.capacity:g}",)


def draw(size: int, random: np.random.Generator) -> Knapsack:
    """Items of whole weights and values, half of which find room."""
    weights, values = random.integers(1, 10, size).tolist(), random.integers(1, 10, size).tolist()
    items = [{"name": f"i{i}", "weight": w, "value": v} for i, (w, v) in enumerate(zip(weights, values, strict=True))]
    return Knapsack(items=items, capacity=sum(weights) // 2)


class KnapsackCheckProblems(CheckProblems):
    """Sacks small enough for brute force."""

    def feasible(self) -> dict[str, Any]:
        """Random sacks."""
        return {f"seed {seed}": draw(6, np.random.default_rng(seed)) for seed in range(8)}

    def infeasible(self) -> dict[str, Any]:
        """Items that must be packed do not fit."""
        sack = draw(4, np.random.default_rng(0))
        return {"wanted": sack.replace(capacity=1, wanted=[item.name for item in sack.items])}

    def degenerate(self) -> dict[str, Any]:
        """No room."""
        return {"no room": draw(3, np.random.default_rng(0)).replace(capacity=0)}

    def large(self) -> Any:
        """Two hundred items."""
        return draw(200, np.random.default_rng(0))

    def optimum(self, problem: Knapsack) -> float | None:
        """By trying all subsets."""
        subsets = product((False, True), repeat=len(problem.items))
        packed = [tuple(i.name for i, taken in zip(problem.items, subset, strict=True) if taken) for subset in subsets]
        return min((problem.evaluate(names).objective for names in packed if problem.evaluate(names).feasible), default=None)


KIND = edrp.Kind(
    name="knapsack",
    problem=Knapsack,
    solution=KnapsackSolution,
    formulations={"items": formulate},
    refuse_formulation=None,
    choose=FirstOf(("highs",)),
    display=display,
    view=None,
    explain=explain,
    explain_infeasibility=explain_infeasibility,
    families=[Family("whole", "knapsack", "whole weights and values", draw, "items", 8)],
    check_problems=KnapsackCheckProblems,
)
METHOD = DensestFirst()
SUITE = Suite("knapsacks", "ten sacks", lambda data: edrp.datasets.generate("knapsack", 10), ("highs", "densest-first"))
