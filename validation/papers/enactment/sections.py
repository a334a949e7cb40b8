"""What the report of enactment says, section by section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edrp.validation.benchmark.machine import machine, versions
from edrp.validation.benchmark.table import Table, facts_table
from edrp.validation.oracles.enactment.queueing_check import QueueingCheck
from edrp.validation.papers.enactment.bounds import Bounds
from edrp.validation.papers.enactment.cells import Cell, SettingError
from edrp.validation.papers.enactment.figures import draw_pattern
from edrp.validation.papers.enactment.printed_tables import ERRATA, FIGURE_NUMBERS, PATTERNS, TABLE_NUMBERS
from edrp.validation.papers.enactment.runs import BLIND, Enacted, Samples, Setting
from edrp.validation.papers.enactment.sensitivity import DOCUMENTED
from edrp.validation.papers.enactment.setting import FITTED_ON, FITTED_ON_ALL, setting_tables
from edrp.validation.papers.enactment.tables import (
    activity_table,
    against_btu,
    check_table,
    comparison_table,
    error_table,
    paper_table,
    side_by_side,
    statement_table,
)
from edrp.validation.papers.enactment.verdicts import Statement
from edrp.validation.report.page import Section, image_address

TARGETS = {"mean compliance": ("compliance", 0.035), "BTU cells": ("worst_btu", 0.08), "resource cost": ("resource_cost", 0.18)}
"""Errors within which a setting counts as one that reproduces the tables."""


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that was found out.

    Attributes
    ----------
    setting, seeds, policies
        What was run.
    enacted, samples
        Runs, and their metrics over the seeds.
    cells, error
        Of Tables 3 to 6, and how far they are from the paper.
    statements
        With verdicts.
    bounds
        What no policy can undercut, by pattern and unit.
    sensitivities
        Errors of other settings by name; empty where none were run.
    checks
        Of the simulator against formulas; empty where none were made.
    """

    setting: Setting
    seeds: Sequence[int]
    policies: Sequence[str]
    enacted: Sequence[Enacted]
    samples: Samples
    cells: Sequence[Cell]
    error: SettingError
    statements: Sequence[Statement]
    bounds: Mapping[tuple[str, int], Bounds]
    sensitivities: Mapping[str, SettingError]
    checks: Sequence[QueueingCheck]


def verdicts(found: Found) -> Iterator[str]:
    """The results in a few sentences."""
    error, counts = found.error, Counter(each.verdict for statement in found.statements for each in statement.comparisons)
    yield (
        f"Compliance is off by {100 * error.compliance:.1f} points on average over the 48 cells of Tables 3 to 6; cells of the "
        f"BTU policy by at most {100 * error.worst_btu:.1f}, cells of the threshold policy by at most "
        f"{100 * error.worst_threshold:.1f}. Resource costs are off by {100 * error.resource_cost:.0f} % on average, totals by "
        f"{100 * error.totals:.0f} %."
    )
    missed = [words for words, (name, most) in TARGETS.items() if not getattr(error, name) <= most]
    aims = "at most 3.5 points on average, BTU cells within 8, resource cost within 18 %"
    yield f"Aim: {aims}. " + (f"Missed: {', '.join(missed)}." if missed else "Met.")
    yield (
        f"Of {counts.total()} comparisons that the paper draws, {counts['holds']} hold, {counts['does not hold']} do not, and "
        f"{counts['undecided']} are undecided over {len(found.seeds)} seeds."
    )


def sections(found: Found, drawings: Path, command: str) -> Iterator[Section]:
    """All sections of the page.

    Parameters
    ----------
    found
        What to say.
    drawings
        Folder for the figures, which are drawn there and then inlined.
    command
        That repeats the run.
    """
    yield Section(
        "What the paper says",
        (
            "Each sentence stands for comparisons between cells. A margin is by how much ours is on the side that the paper "
            "names: points of compliance, per cent of the other's mean cost or scalings, hundredths of a correlation. Its 95 % "
            "confidence interval is Student's t over the differences seed by seed; a comparison holds where the whole interval "
            "is above 0. Intervals are not corrected for the number of comparisons.",
        ),
        tables=(statement_table(found.statements), *map(comparison_table, found.statements)),
    )
    for pattern in PATTERNS:
        yield _pattern(found, pattern, drawings)
    yield Section(
        "Policies side by side",
        (
            f"{' and '.join(each for each in BLIND if each in found.policies)}: run once and billed by each unit, which such a "
            "policy does not look at. The clairvoyant bound is the least that hosts and late items can be expected to cost, even "
            "if the load is known beforehand; below it the least of policies that never let items wait until they are late.",
        ),
        tables=(side_by_side(found.samples, found.bounds), against_btu(found.samples)),
    )
    yield Section(
        "Setting",
        (
            "One setting for all cells. What the paper does not print, among it the share of a processing duration that occupies "
            f"an instance and how durations vary, was fitted on the patterns {' and '.join(FITTED_ON)} where the table says so; "
            f"stalls and the policies' cooldowns ({FITTED_ON_ALL}) by the distance from Tables 3 to 6.",
        ),
        tables=setting_tables(found.setting, found.policies),
    )
    if found.sensitivities:
        yield _sensitivity(found)
    if found.checks:
        yield Section(
            "The simulator against queueing theory",
            ("Mean waits of single operators with a fixed number of instances, at a load of 70 or 80 %, beside their formulas.",),
            tables=(check_table(found.checks),),
        )
    yield Section("Misprints and contradictions in the paper", ERRATA)
    yield Section("How this was run", (), command, tables=_facts(found))


def _pattern(found: Found, pattern: str, drawings: Path) -> Section:
    drawn = draw_pattern(found.enacted, pattern, found.setting, drawings)
    paper = paper_table(pattern, found.cells)
    return Section(
        f"{pattern}: Table {TABLE_NUMBERS[pattern]}, Fig. {FIGURE_NUMBERS[pattern]}",
        (
            f"Means and standard deviations over {len(found.seeds)} seeds, each with a walk of its own where the pattern is one; "
            "the paper's over three runs. Compliances in %, differences in points; differences of costs in % of the paper's.",
        ),
        image="" if drawn is None else image_address(drawn),
        image_words=f"Machines, hosts and instances over the 120 minutes of a run under {pattern}, for the BTU policy with "
        "units of 10, 30 and 60 minutes and the threshold policy",
        tables=(paper, activity_table(pattern, found.samples)),
    )


def _sensitivity(found: Found) -> Section:
    table: Table = error_table(found.sensitivities)
    return Section(
        "Sensitivity",
        (f"The same tables with one constant changed at a time; “{DOCUMENTED}” is over the same few seeds.",),
        tables=(table,),
    )


def _facts(found: Found) -> tuple[Table, ...]:
    seeds = f"{min(found.seeds)} to {max(found.seeds)}"
    settings = {"policies": ", ".join(found.policies), "seeds": seeds, "runs, as billed": str(len(found.enacted))}
    return (facts_table("Settings", settings), facts_table("Machine", machine()), facts_table("Versions", versions()))
