"""What each stage of a problem with priorities costs the later ones: their values without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from edrp.core.errors import InvalidInstanceError
from edrp.core.solution import Solution, StageOutcome, resolution
from edrp.core.solve import solve
from edrp.core.wording import enumerated
from edrp.placement.metrics.penalties import ALL, SINGLE
from edrp.report.tables import Table


@dataclass(frozen=True, slots=True)
class StageState:
    """One stage and the stages after it, with it and without it.

    Attributes
    ----------
    outcome : of the stage, as solved.
    gains : by how much later stages improve in an optimum without this one, in their units; those that improve alone.
    held_by : earlier stages without any of which this one is better: what it cannot improve further because of.
    known : whether optima with and without the stage are proven.
    """

    outcome: StageOutcome
    gains: Mapping[str, float] = field(default_factory=dict)
    held_by: tuple[str, ...] = ()
    known: bool = False

    @property
    def cost(self) -> str:
        """What the stage costs the later ones, in words; empty where that is not known."""
        if not self.known:
            return ""
        return enumerated([f"{gain:.6g} of {name}" for name, gain in self.gains.items()]) if self.gains else "nothing"


def stage_states(problem: Any, solution: Solution, work_limit: float) -> tuple[StageState, ...]:
    """Every stage with what it costs the later ones; each but the last is left out once, and the rest solved again.

    Parameters
    ----------
    work_limit
        Units of work for all of these together; nothing is solved without any, or where a stage is not proven.
    """
    outcomes, gains = solution.stages, dict[str, dict[str, float]]()
    if work_limit > 0 and all(outcome.proven for outcome in outcomes):
        for index, outcome in enumerate(outcomes[:-1]):
            with suppress(InvalidInstanceError):  # what is left may need a limit to normalise by
                best = solve(_without(problem, index), work_limit=work_limit / len(outcomes), start=solution.decision)
                if best.status == "optimal":
                    gains[outcome.metric] = dict(_gains(outcomes[index + 1 :], best, problem))
    return tuple(
        StageState(
            outcome,
            gains.get(outcome.metric, {}),
            tuple(name for name, later in gains.items() if outcome.metric in later),
            outcome.metric in gains,
        )
        for outcome in outcomes
    )


def _without(problem: Any, index: int) -> Any:
    """The problem without one of its priorities, and without the wishes that no other one is about."""
    priorities = (*problem.priorities[:index], *problem.priorities[index + 1 :])
    named = {priority.metric for priority in priorities} | set(problem.weights.named) | set(problem.limits.named)
    rules = tuple(rule for rule in problem.rules if rule.hard or {ALL, f"{SINGLE}.{rule.name}"} & named)
    return problem.replace(priorities=priorities, rules=rules)


def _gains(later: Sequence[StageOutcome], best: Solution, problem: Any) -> Iterator[tuple[str, float]]:
    """By how much stages are better in another solution, those that are."""
    values = {outcome.metric: outcome.value for outcome in best.stages}
    for outcome in later:
        value = values.get(outcome.metric, best.objective if outcome is later[-1] else None)
        if value is not None:
            metric = problem.metrics.get(outcome.metric)
            scaled = (lambda number: number) if metric is None else metric.scaled
            gain = scaled(outcome.value) - scaled(value)
            if gain > resolution(scaled(outcome.value)):
                yield outcome.metric, abs(outcome.value - value)


def stage_cost_table(states: Sequence[StageState]) -> Table:
    """Every stage, what it costs the later ones, and what it cannot improve further because of."""
    rows = [(s.outcome.metric, f"{s.outcome.value:.6g}", s.cost, enumerated(s.held_by) if s.held_by else "") for s in states]
    return Table("What stages cost", ("priority", "reached", "costs later ones", "held back by"), tuple(rows))
