"""Tables 3 to 6, Figs. 8 to 11 and every comparison of cost-efficient enactment, run again and compared with the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edrp.batch.journal import Report as ReportProgress
from edrp.heuristics.enactment import POLICIES as ALL_POLICIES
from edrp.report.page import Figure, Section, how_run, require_packages
from edrp.report.publication import Report
from edrp.report.statements import Statement, finding_table, statement_table
from edrp.validation.oracles.enactment.queueing_theory import QueueingCheck, queueing_check
from edrp.validation.papers.batches import DOCUMENTED, Overall, vary
from edrp.validation.papers.claims import judged
from edrp.validation.papers.enactment.bounds import Bounds, mean_bounds
from edrp.validation.papers.enactment.cells import ComparedCell, SettingError, measured_cells, setting_error
from edrp.validation.papers.enactment.claims import CLAIMS
from edrp.validation.papers.enactment.figures import draw_pattern
from edrp.validation.papers.enactment.printed_values import ERRATA, FIGURE_NUMBERS, PATTERNS, POLICIES, TABLE_NUMBERS
from edrp.validation.papers.enactment.runs import BLIND, VARIANTS, Enacted, Samples, Setting, enact, row_count, samples_by_cell
from edrp.validation.papers.enactment.setting import FITTED_ON, FITTED_ON_ALL, setting_tables
from edrp.validation.papers.enactment.tables import (
    activity_table,
    against_btu,
    check_table,
    error_table,
    paper_table,
    side_by_side,
)

ROWS = "rows"
SENSITIVITY_SEEDS = 2

TARGETS = {"mean compliance": ("compliance", 0.035), "BTU cells": ("worst_btu", 0.08), "resource cost": ("resource_cost", 0.18)}
"""Errors within which a setting reproduces the tables."""


@dataclass(frozen=True, slots=True)
class EnactmentResults:
    """Everything that was run and judged.

    Bounds are costs that no policy can undercut, by pattern and unit; variants are errors of settings with one constant
    changed, by name, empty where none were run; checks set the simulator next to formulas.
    """

    setting: Setting
    seeds: Sequence[int]
    policies: Sequence[str]
    enacted: Sequence[Enacted]
    samples: Samples
    statements: Sequence[Statement]
    bounds: Mapping[tuple[str, int], Bounds]
    variants: Mapping[str, SettingError]
    checks: Sequence[QueueingCheck]

    @property
    def cells(self) -> list[ComparedCell]:
        """Cells of Tables 3 to 6."""
        return list(measured_cells(self.samples))


def investigate(
    *,
    seeds: int = 30,
    policies: Sequence[str] | None = None,
    out: Path | None = None,
    sensitive: bool = False,
    progress: ReportProgress | None = None,
    **how: Any,
) -> EnactmentResults:
    """Run the paper's policies and others (by default all) under all patterns and units, and judge the paper's sentences on them.

    Rows are kept in a folder, if any, where the same call again runs only what is missing; `how` says where to run, as in
    `solve_batch`. Packages that the report needs are missed before any run. `sensitive` asks for constants that are changed one
    at a time.
    """
    if out is not None:
        require_packages(jinja2="report", matplotlib="plot")
    others = [name for name in ALL_POLICIES if name not in POLICIES] if policies is None else policies
    setting, numbers, chosen = Setting(), range(1, seeds + 1), [*POLICIES, *others]
    few, variants = numbers[:SENSITIVITY_SEEDS], VARIANTS if sensitive else {}
    if progress is not None:
        how["progress"] = Overall(progress, row_count(chosen, numbers) + len(variants) * row_count(POLICIES, few))
    # Other numbers of seeds are other instances, which a folder of results refuses.
    rows = None if out is None else out / ROWS / f"{seeds}-seeds"
    enacted = enact(chosen, numbers, setting=setting, out=rows, **how)
    samples = samples_by_cell(enacted)
    return EnactmentResults(
        setting=setting,
        seeds=numbers,
        policies=chosen,
        enacted=enacted,
        samples=samples,
        statements=judged(CLAIMS, samples),
        bounds=mean_bounds(setting, numbers, n_jobs=how.get("n_jobs")),
        variants=vary(variants, lambda _, one: setting_error(samples_by_cell(enact(POLICIES, few, setting=one, **how)))),
        checks=queueing_check(),
    )


def report(results: EnactmentResults) -> Report:
    """The report of finished runs."""
    cells = results.cells
    tables = [paper_table(pattern, cells) for pattern in PATTERNS]
    policies = [side_by_side(results.samples, results.bounds), against_btu(results.samples)]
    variants = [error_table(results.variants)] if results.variants else []
    bounds = [{"pattern": pattern, "unit_minutes": unit, **bound._asdict()} for (pattern, unit), bound in results.bounds.items()]
    before = {"seeds": list(results.seeds), "error": setting_error(results.samples)._asdict()}
    after = {"bounds": bounds, "sensitivity": {name: error._asdict() for name, error in results.variants.items()}}
    return Report(
        "Cost-efficient enactment: Tables 3 to 6, Figs. 8 to 11",
        "Policies that lease hosts by billing time units (BTU), simulated item by item and compared with the paper.",
        verdicts=list(verdicts(results)),
        statements=results.statements,
        shown=[*tables, *policies, *variants, check_table(results.checks)],
        documented=[*tables, statement_table(results.statements), *policies, *variants],
        sections=lambda drawings, command: sections(results, drawings, command),
        records={
            "tables": list(_cell_records(cells)),
            "comparisons": list(_comparison_records(results.statements)),
            "policies": list(_metric_records(results.samples)),
        },
        further=(before, after),
    )


def verdicts(results: EnactmentResults) -> Iterator[str]:
    """The results in a few sentences."""
    error = setting_error(results.samples)
    counts = Counter(finding.verdict for statement in results.statements for finding in statement.findings)
    yield (
        f"Compliance is off by {100 * error.compliance:.1f} points on average over the 48 cells of Tables 3 to 6; cells of the "
        f"BTU policy by at most {100 * error.worst_btu:.1f}, cells of the threshold policy by at most "
        f"{100 * error.worst_threshold:.1f}. Resource costs are off by {100 * error.resource_cost:.0f} % on average, totals by "
        f"{100 * error.totals:.0f} %."
    )
    missed = [title for title, (name, maximum) in TARGETS.items() if not getattr(error, name) <= maximum]
    aims = "at most 3.5 points on average, BTU cells within 8, resource cost within 18 %"
    yield f"Aim: {aims}. " + (f"Missed: {', '.join(missed)}." if missed else "Met.")
    yield (
        f"Of {counts.total()} comparisons that the paper draws, {counts['holds']} hold, {counts['does not hold']} do not, and "
        f"{counts['undecided']} are undecided over {len(results.seeds)} seeds."
    )


def sections(results: EnactmentResults, drawings: Path, command: str) -> Iterator[Section]:
    """The sections of the page; figures are drawn into a folder and inlined."""
    yield Section(
        "What the paper says",
        (
            "Each sentence stands for comparisons between cells. A margin is by how much ours is on the side that the paper "
            "names: points of compliance, per cent of the other's mean cost or scalings, hundredths of a correlation. Its 95 % "
            "confidence interval is Student's t over the differences seed by seed; a comparison holds where the whole interval "
            "is above 0. Intervals are not corrected for the number of comparisons.",
        ),
        tables=(statement_table(results.statements), *map(finding_table, results.statements)),
    )
    for pattern in PATTERNS:
        yield _pattern(results, pattern, drawings)
    yield Section(
        "Policies side by side",
        (
            f"{' and '.join(policy for policy in BLIND if policy in results.policies)}: run once and billed by each unit, which "
            "such a policy does not look at. The clairvoyant bound is the least that hosts and late items can be expected to "
            "cost, even if the load is known beforehand; below it the least of policies that never let items wait until they "
            "are late.",
        ),
        tables=(side_by_side(results.samples, results.bounds), against_btu(results.samples)),
    )
    yield Section(
        "Setting",
        (
            "One setting for all cells. What the paper does not print, among it the share of a processing duration that occupies "
            f"an instance and how durations vary, was fitted on the patterns {' and '.join(FITTED_ON)} where the table says so; "
            f"stalls and the policies' cooldowns ({FITTED_ON_ALL}) by the distance from Tables 3 to 6.",
        ),
        tables=setting_tables(results.setting, results.policies),
    )
    if results.variants:
        sentence = f"The same tables with one constant changed at a time; “{DOCUMENTED}” is over the same few seeds."
        yield Section("Sensitivity", (sentence,), tables=(error_table(results.variants),))
    yield Section(
        "The simulator against queueing theory",
        ("Mean waits of single operators with a fixed number of instances, at a load of 70 or 80 %, next to their formulas.",),
        tables=(check_table(results.checks),),
    )
    yield Section("Misprints and contradictions in the paper", ERRATA)
    seeds = f"{min(results.seeds)} to {max(results.seeds)}"
    runs = str(len(results.enacted))
    yield how_run(command, {"policies": ", ".join(results.policies), "seeds": seeds, "runs, as billed": runs})


def _pattern(results: EnactmentResults, pattern: str, drawings: Path) -> Section:
    drawn = draw_pattern(results.enacted, pattern, results.setting, drawings)
    shown = (
        f"Machines, hosts and instances over the 120 minutes of a run under {pattern}, for the BTU policy with units of 10, 30 "
        "and 60 minutes and the threshold policy"
    )
    return Section(
        f"{pattern}: Table {TABLE_NUMBERS[pattern]}, Fig. {FIGURE_NUMBERS[pattern]}",
        (
            f"Means and standard deviations over {len(results.seeds)} seeds, each with a walk of its own where the pattern is "
            "one; the paper's over three runs. Compliances in %, differences in points; differences of costs in % of the "
            "paper's.",
        ),
        figure=None if drawn is None else Figure(shown, drawn),
        tables=(paper_table(pattern, results.cells), activity_table(pattern, results.samples)),
    )


def _cell_records(cells: Sequence[ComparedCell]) -> Iterator[dict[str, Any]]:
    """Cells as rows of a CSV file: shares and money, not per cent."""
    for cell in cells:
        policy, unit = cell.column
        named = {"table": TABLE_NUMBERS[cell.pattern], "pattern": cell.pattern, "policy": policy, "unit_minutes": unit}
        paper = {f"paper_{name}": value for name, value in cell.paper._asdict().items()}
        yield {**named, "quantity": cell.quantity, **cell.ours._asdict(), **paper, "difference": cell.difference}


def _comparison_records(statements: Sequence[Statement]) -> Iterator[dict[str, Any]]:
    """Comparisons as rows of a CSV file: margins are shares."""
    for one, finding in ((statement, finding) for statement in statements for finding in statement.findings):
        named = {"statement": one.sentence, "section": one.section, "comparison": finding.where}
        margin, low, high = finding.value
        yield {**named, "paper_margin": finding.printed, "margin": margin, "low": low, "high": high, "verdict": finding.verdict}


def _metric_records(samples: Samples) -> Iterator[dict[str, Any]]:
    """Every metric of every policy as rows of a CSV file."""
    for (pattern, column), metrics in samples.items():
        for name, values in metrics.items():
            deviation = float(values.std(ddof=1)) if values.size > 1 else None
            cell = {"pattern": pattern, "policy": column.policy, "unit_minutes": column.unit, "metric": name}
            yield {**cell, "mean": float(values.mean()), "deviation": deviation}
