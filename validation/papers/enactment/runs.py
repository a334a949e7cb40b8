"""The runs behind Tables 3 to 6: patterns × policies × billing time units (BTU) × seeds, through the batch layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from edrp.batch import read_rows, solve_batch
from edrp.batch.progress import Report
from edrp.core.arrays import Floats
from edrp.core.errors import EdrpError
from edrp.datasets.enactment.manufacturing import OCCUPANCY, manufacturing_application, manufacturing_scenario
from edrp.enactment.run import EnactmentRun
from edrp.enactment.run_metrics import accounts
from edrp.enactment.scenario import EnactmentScenario, EnactmentScenarioSolution
from edrp.validation.papers.enactment.printed_tables import PATTERNS, UNITS, Column
from edrp.validation.simulation.enactment.billing import billed
from edrp.validation.simulation.enactment.methods import SUFFIX
from edrp.validation.simulation.enactment.timeline import timeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLIND = ("threshold", "static-peak")
"""Policies that do not look at the billing time unit: they are run once and billed by each."""

MINUTE = 60.0
LATE = (60.0 * MINUTE, 120.0 * MINUTE)
"""The second hour, of which the paper speaks for the second random walk (s)."""

COLUMNS = ("id", "method", "outcome", "error_message", "solution")


@dataclass(frozen=True, slots=True)
class Setting:
    """What all runs share; whatever is not given is as documented.

    Attributes
    ----------
    fields
        Of `EnactmentScenario`, where they differ.
    occupancy
        Share of the processing duration in which an item occupies its instance.
    arguments
        By name of a policy, its parameters that differ.

    Examples
    --------
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
        given = ",".join(f"{name}={value}" for name, value in self.arguments.get(policy, {}).items())
        return policy + SUFFIX + (f":{given}" if given else "")


@dataclass(frozen=True, slots=True)
class Enacted:
    """One run, as billed by one unit.

    Attributes
    ----------
    pattern, column, seed
        What was run: policy and unit make the column.
    metrics
        Of `EnactmentScenario.evaluate`, and those of `activity`.
    run
        Leases, instances, items.
    """

    pattern: str
    column: Column
    seed: int
    metrics: Mapping[str, float]
    run: EnactmentRun


Samples = Mapping[tuple[str, Column], Mapping[str, Floats]]
"""By pattern and column each metric over the seeds, in the order of the seeds."""


def enact(
    policies: Sequence[str],
    seeds: Sequence[int],
    *,
    setting: Setting | None = None,
    patterns: Sequence[str] = PATTERNS,
    units: Sequence[int] = UNITS,
    out: Path | None = None,
    spark: SparkSession | None = None,
    n_jobs: int | None = None,
    progress: Report | None = None,
) -> list[Enacted]:
    """Run policies under all patterns and units, once for each seed.

    Parameters
    ----------
    policies
        By name, without the suffix of their methods.
    seeds
        Of the random walks; what happens in a run follows from pattern, unit and seed.
    setting
        None for the documented one.
    patterns, units
        Which of them; units in minutes.
    out
        Folder for the rows; the same call again runs only what is missing. None to keep nothing.
    spark
        Session to run on; without it `n_jobs` processes.
    progress
        As of `solve_batch`.

    Raises
    ------
    EdrpError
        When a run failed, naming the first.
    InvalidInstanceError
        Before any run: unknown policies or parameters, a folder of other runs.
    """
    chosen = Setting() if setting is None else setting
    how: dict[str, Any] = {"n_jobs": n_jobs} if spark is None else {"spark": spark}
    found: list[Enacted] = []
    for folder, blind in (("by-unit", False), ("any-unit", True)):
        methods = {chosen.method(policy): policy for policy in policies if (policy in BLIND) == blind}
        if not methods:
            continue
        scenarios = _scenarios(chosen, patterns, units[:1] if blind else units, seeds)
        where = None if out is None else out / folder
        rows = solve_batch(scenarios, list(methods), out=where, progress=progress, **how)
        if where is not None:
            rows = read_rows(where, COLUMNS)
        elif spark is not None:
            rows = rows.toArrow()
        for pattern, unit, seed, policy, run in _runs(rows.select(COLUMNS), methods):
            billing = [Column(policy, each) for each in (units if blind else (unit,))]
            found += [settled(chosen.scenario(pattern, column.unit, seed), pattern, column, seed, run) for column in billing]
    order = {pattern: index for index, pattern in enumerate(patterns)}
    return sorted(found, key=lambda each: (order[each.pattern], policies.index(each.column.policy), each.column.unit, each.seed))


def samples_of(enacted: Iterable[Enacted]) -> Samples:
    """Each metric over the seeds, by pattern and column.

    Raises
    ------
    ValueError
        When a seed is missing somewhere: differences are taken seed by seed.
    """
    grouped: dict[tuple[str, Column], dict[int, Mapping[str, float]]] = {}
    for each in enacted:
        grouped.setdefault((each.pattern, each.column), {})[each.seed] = each.metrics
    seeds = {tuple(sorted(own)) for own in grouped.values()}
    if len(seeds) > 1:
        raise ValueError(f"seeds differ between the cells: {sorted(seeds)}")
    return {
        cell: {name: np.array([own[seed][name] for seed in sorted(own)]) for name in next(iter(own.values()))}
        for cell, own in grouped.items()
    }


def activity(run: EnactmentRun, scenario: EnactmentScenario) -> dict[str, float]:
    """What the paper says of its figures, as numbers.

    Returns
    -------
    dict
        `scalings` and `late_scalings`: instances placed and removed, those of the start and migrations left out, in the
        whole run and in its second hour. `following`: correlation over time of instances with machines, 0 where either
        stays the same.
    """
    times = [each.placed for each in run.instances if each.cause == "placed"]
    times += [each.ended for each in run.instances if each.ended_by == "removed" and each.ended is not None]
    late = sum(LATE[0] <= time <= LATE[1] for time in times)
    line = timeline(scenario, run)
    level = np.ptp(line.machines) == 0 or np.ptp(line.instances) == 0
    following = 0.0 if level else float(np.corrcoef(line.machines, line.instances)[0, 1])
    return {"scalings": float(len(times)), "late_scalings": float(late), "following": following}


def _scenarios(
    setting: Setting, patterns: Sequence[str], units: Sequence[int], seeds: Sequence[int]
) -> dict[str, EnactmentScenario]:
    return {
        f"{pattern}/{unit}/{seed}": setting.scenario(pattern, unit, seed)
        for pattern in patterns
        for unit in units
        for seed in seeds
    }


def _runs(rows: pa.Table, methods: Mapping[str, str]) -> Iterator[tuple[str, int, int, str, EnactmentRun]]:
    """Pattern, unit, seed, policy and run of the rows of these methods, by which policies are named.

    Raises
    ------
    EdrpError
        At the first row without a run.
    """
    for row in rows.to_pylist():
        if row["method"] not in methods:
            continue
        if row["outcome"] != "solved":
            raise EdrpError(f"{row['method']} on {row['id']}: {row['outcome']}: {row['error_message']}")
        pattern, unit, seed = row["id"].split("/")
        run = EnactmentScenarioSolution.model_validate_json(row["solution"]).run
        assert run is not None  # solved
        yield pattern, int(unit), int(seed), methods[row["method"]], run


def settled(scenario: EnactmentScenario, pattern: str, column: Column, seed: int, run: EnactmentRun) -> Enacted:
    """A run with its metrics, as the scenario bills it."""
    own = billed(run, scenario)
    metrics = accounts(own, scenario.types, scenario.duration, scenario.penalty)
    return Enacted(pattern, column, seed, {**metrics, **activity(own, scenario)}, own)
