"""The runs behind Tables 3 to 6: patterns × policies × billing time units (BTU) × seeds, and with constants changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.enactment.manufacturing import OCCUPANCY, manufacturing_application, manufacturing_scenario
from edrp.enactment.scenario import EnactmentRun, EnactmentScenario, EnactmentScenarioSolution, run_metrics
from edrp.validation.papers.batches import DOCUMENTED, batch_rows, require_solved
from edrp.validation.papers.enactment.printed_values import PATTERNS, UNITS, Column
from edrp.validation.simulation.enactment.methods import SUFFIX
from edrp.validation.simulation.enactment.timeline import timeline

BLIND = ("threshold", "static-peak")
"""Policies that do not look at the billing time unit: they are run once and billed by each unit."""

MINUTE = 60.0
LATE = (60.0 * MINUTE, 120.0 * MINUTE)
"""The second hour, of which the paper speaks for the second random walk (s)."""

COLUMNS = ("id", "method", "outcome", "error_message", "solution")
"""Columns of the result rows that reports read."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Constants that all runs share, where they differ from the documented ones.

    Fields of `EnactmentScenario`, the share of the processing duration in which an item occupies its instance, and arguments
    of policies by name:

    >>> Setting({"bursts": 1}, occupancy=0.25).scenario("stepwise", 10, seed=1).bursts
    1
    >>> Setting(arguments={"btu": {"window": 0.1}}).method("btu")
    'btu-policy:window=0.1'
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    occupancy: float = OCCUPANCY
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def scenario(self, pattern: str, unit: int, seed: int) -> EnactmentScenario:
        """Two hours of a pattern, billed by so many minutes; the seed is that of a random walk."""
        application = manufacturing_application(occupancy=self.occupancy)
        return manufacturing_scenario(
            pattern, billing_time=unit * MINUTE, seed=seed, **{"application": application, **self.fields}
        )

    def method(self, policy: str) -> str:
        """The name by which the batch layer knows the policy with its parameters."""
        arguments = ",".join(f"{name}={value}" for name, value in self.arguments.get(policy, {}).items())
        return policy + SUFFIX + (f":{arguments}" if arguments else "")


@dataclass(frozen=True, slots=True)
class Enacted:
    """One run, as billed by one unit, with the metrics of `EnactmentScenario.evaluate` and of `activity`."""

    pattern: str
    column: Column
    seed: int
    metrics: Mapping[str, float]
    run: EnactmentRun


Samples = Mapping[tuple[str, Column], Mapping[str, Floats]]
"""Values of each metric over the seeds, in the order of the seeds, by pattern and column."""

VARIANTS: Mapping[str, Setting] = {
    DOCUMENTED: Setting(),
    "occupancy 0.15": Setting(occupancy=0.15),
    "occupancy 0.25": Setting(occupancy=0.25),
    "variation 0.2": Setting({"variation": 0.2}),
    "variation 0.6": Setting({"variation": 0.6}),
    "exponential service": Setting({"service": "exponential"}),
    "1 burst a tick": Setting({"bursts": 1}),
    "16 bursts a tick": Setting({"bursts": 16}),
    "Poisson arrivals": Setting({"arrivals": "poisson"}),
    "1 initial instance": Setting({"initial_instances": 1}),
    "4 initial instances": Setting({"initial_instances": 4}),
    "no stalls": Setting({"stall_interval": 0.0}),
    "stalls of 5 s every 2 min": Setting({"stall_interval": 120.0, "stall_duration": 5.0}),
    "BTU: no cooldown": Setting(arguments={"btu": {"cooldown": 0}}),
    "BTU: cooldown for each operator": Setting(arguments={"btu": {"shared_cooldown": False}}),
    "threshold: no cooldown": Setting(arguments={"threshold": {"cooldown": 0}}),
    "BTU: cooldown 6 min": Setting(arguments={"btu": {"cooldown": 360}}),
    "BTU: never two at once": Setting(arguments={"btu": {"second_threshold": "null"}}),
    "BTU: release any share": Setting(arguments={"btu": {"release_share": 1}}),
}
"""Settings by the constant that is changed; the paper prints none of them."""


def enact(
    policies: Sequence[str],
    seeds: Sequence[int],
    *,
    setting: Setting | None = None,
    patterns: Sequence[str] = PATTERNS,
    units: Sequence[int] = UNITS,
    out: Path | None = None,
    **how: Any,
) -> list[Enacted]:
    """Run policies, named without the suffix of their methods, under all patterns and units (minutes), once for each seed.

    What happens in a run follows from pattern, unit and seed; the first run that fails is named. Rows are kept in a folder, if
    any, where the same call again runs only what is missing; `how` is as in `batch_rows`.
    """
    chosen = Setting() if setting is None else setting
    enacted: list[Enacted] = []
    for folder, blind in (("by-unit", False), ("any-unit", True)):
        methods = {chosen.method(policy): policy for policy in policies if (policy in BLIND) == blind}
        if not methods:
            continue
        scenarios = {
            f"{pattern}/{unit}/{seed}": chosen.scenario(pattern, unit, seed)
            for pattern in patterns
            for unit in (units[:1] if blind else units)
            for seed in seeds
        }
        where = None if out is None else out / folder
        for row in map(require_solved, batch_rows(scenarios, list(methods), COLUMNS, out=where, **how)):
            pattern, unit, seed = row["id"].split("/")
            run = EnactmentScenarioSolution.model_validate_json(row["solution"]).run
            assert run is not None  # solved
            for billing_unit in units if blind else (int(unit),):
                column = Column(methods[row["method"]], billing_unit)
                enacted.append(settled(chosen.scenario(pattern, billing_unit, int(seed)), pattern, column, int(seed), run))
    order = {pattern: index for index, pattern in enumerate(patterns)}
    return sorted(enacted, key=lambda run: (order[run.pattern], policies.index(run.column.policy), run.column.unit, run.seed))


def row_count(policies: Sequence[str], seeds: Sequence[int]) -> int:
    """Rows of the batches behind all patterns and units.

    >>> row_count(["btu", "threshold"], [1, 2])
    32
    """
    blind = sum(policy in BLIND for policy in policies)
    return len(PATTERNS) * len(seeds) * (blind + len(UNITS) * (len(policies) - blind))


def samples_by_cell(enacted: Iterable[Enacted]) -> Samples:
    """Each metric over the seeds, by pattern and column; none may be missing, because differences are taken seed by seed."""
    grouped: dict[tuple[str, Column], dict[int, Mapping[str, float]]] = {}
    for run in enacted:
        grouped.setdefault((run.pattern, run.column), {})[run.seed] = run.metrics
    seeds = {tuple(sorted(by_seed)) for by_seed in grouped.values()}
    if len(seeds) > 1:
        raise ValueError(f"seeds differ between the cells: {sorted(seeds)}")
    return {
        cell: {name: np.array([by_seed[seed][name] for seed in sorted(by_seed)]) for name in next(iter(by_seed.values()))}
        for cell, by_seed in grouped.items()
    }


def activity(run: EnactmentRun, scenario: EnactmentScenario) -> dict[str, float]:
    """The activity that the paper describes of its figures, as numbers.

    `scalings` and `late_scalings`: instances placed and removed, those of the start and migrations left out, in the whole run
    and in its second hour. `following`: correlation over time of instances with machines, 0 where either stays the same.
    """
    times = [instance.placed for instance in run.instances if instance.cause == "placed"]
    times += [instance.ended for instance in run.instances if instance.ended_by == "removed" and instance.ended is not None]
    late = sum(LATE[0] <= time <= LATE[1] for time in times)
    line = timeline(scenario, run)
    level = np.ptp(line.machines) == 0 or np.ptp(line.instances) == 0
    following = 0.0 if level else float(np.corrcoef(line.machines, line.instances)[0, 1])
    return {"scalings": float(len(times)), "late_scalings": float(late), "following": following}


def settled(scenario: EnactmentScenario, pattern: str, column: Column, seed: int, run: EnactmentRun) -> Enacted:
    """A run with its metrics, as the scenario bills it."""
    bill = scenario.bill(run)
    metrics = run_metrics(bill, scenario.types, scenario.duration, scenario.penalty)
    return Enacted(pattern, column, seed, {**metrics, **activity(bill, scenario)}, bill)
