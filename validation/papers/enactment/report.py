"""Tables 3 to 6, Figs. 8 to 11 and every comparison of cost-efficient enactment, run again and compared with the paper.

There is one setting behind all runs, which is shown constant by constant, with the origin of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from edrp.batch.journal import Report as ReportProgress
from edrp.core.document import named_resources
from edrp.core.methods import read_parameters
from edrp.enactment.scenario import EnactmentScenario
from edrp.heuristics.enactment import POLICIES as ALL_POLICIES
from edrp.report.estimates import estimate_mean
from edrp.report.figures import blank_figure, save_figure, unclutter
from edrp.report.formatting import COLUMNS as CONSTANT_COLUMNS
from edrp.report.formatting import NONE, OURS, PAPER, PERCENT_SAVED, constant_rows, signed, value_text
from edrp.report.page import Figure, Section, how_run, require_packages
from edrp.report.publication import Report
from edrp.report.statements import Statement, finding_table, statement_table
from edrp.report.tables import Table
from edrp.validation.oracles.enactment.queueing_theory import QueueingCheck, queueing_check
from edrp.validation.papers.batches import DOCUMENTED, Overall, vary
from edrp.validation.papers.claims import judged
from edrp.validation.papers.enactment import runs
from edrp.validation.papers.enactment.claims import CLAIMS

FITTED_ON = ("stepwise", "two-level")
FITTED = f"fitted on {' and '.join(FITTED_ON)}"
FITTED_ON_ALL = "fitted on all four, seeds 1 to 3"

ORIGINS = {
    "emission_interval": PAPER,
    "bursts": FITTED,
    "arrivals": OURS,
    "service": OURS,
    "variation": FITTED,
    "monitoring_interval": PAPER,
    "provisioning_interval": PAPER,
    "instance_start_up": PAPER,
    "image_bandwidth": OURS,
    "initial_instances": FITTED,
    "penalty": PAPER,
    "compliance_levels": PAPER,
    "stall_interval": FITTED_ON_ALL,
    "stall_duration": FITTED_ON_ALL,
}
"""Origins of the constants of the world."""


def setting_tables(setting: runs.Setting, policies: Sequence[str]) -> tuple[Table, ...]:
    """Every constant of the world, of the operators and of the policies.

    >>> [table.caption for table in setting_tables(runs.Setting(), ["btu"])]
    ['The world', 'Operators (Table 2)', 'Policy btu']
    """
    scenario = setting.scenario(runs.PATTERNS[0], runs.UNITS[0], 0)
    return (_world(setting, scenario), _operators(scenario), *(_policy(setting, policy) for policy in policies))


def _world(setting: runs.Setting, scenario: EnactmentScenario) -> Table:
    share = "share of a processing duration that occupies an instance"
    rows: list[tuple[str, ...]] = [("occupancy", value_text(setting.occupancy), "", share, FITTED)]
    rows += constant_rows(EnactmentScenario, ORIGINS, scenario)
    host = scenario.host_types[0]
    size = ", ".join(f"{name} {amount:g}" for name, amount in host.capacity.items())
    prices = ", ".join(f"{unit} min: {unit / 10:g}" for unit in runs.UNITS)
    rows += [
        ("host", size, "shares, bytes", "four cores and 7 GB", PAPER),
        ("host start-up", value_text(host.start_up), "s", "least and most time from lease to readiness", PAPER),
        ("units and prices", prices, "money", "billing time units (BTU)", PAPER),
    ]
    return Table("The world", CONSTANT_COLUMNS, tuple(rows), open=True)


def _operators(scenario: EnactmentScenario) -> Table:
    rows = []
    for operator in scenario.application.operators:
        needs = named_resources(operator.resources)
        numbers = [1e3 * operator.processing_duration, 1e3 * operator.occupied, needs["cpu"]]
        numbers += [needs["memory"] / 1e6, operator.code_size / 1e6]
        rows.append((operator.name, *(f"{number:g}" for number in numbers), f"{operator.selectivity:.4g}"))
    columns = ("operator", "duration [ms]", "occupied [ms]", "CPU shares", "memory [MB]", "image [MB]", "items out per item in")
    return Table("Operators (Table 2)", columns, tuple(rows), columns[1:], open=True)


def _policy(setting: runs.Setting, policy: str) -> Table:
    """The constants of a policy, defaults included."""
    described: Any = ALL_POLICIES[policy][1]
    parameters = read_parameters(described, setting.arguments.get(policy, {}), policy)
    rows = tuple((field.name, value_text(getattr(parameters, field.name))) for field in fields(described))
    return Table(f"Policy {policy}", ("constant", "value"), rows, open=True)


QUANTITY_HEADINGS = {
    "real_time_compliance": "real-time\n%",
    "near_real_time_compliance": "near\n%",
    "relaxed_compliance": "relaxed\n%",
    "resource_cost": "resource\ncost",
    "real_time_total": "real-time\ntotal",
    "near_real_time_total": "near\ntotal",
    "relaxed_total": "relaxed\ntotal",
}
"""Quantities in few letters: a table has to fit 80 columns."""

ACTIVITY = {
    "scalings": "instances started and removed",
    "migrations": "migrations",
    "mean_hosts": "hosts, mean",
    "mean_instances": "instances, mean",
    "paid_units": "paid units",
    "time_to_adapt": "time to adapt [s]",
}


def paper_table(pattern: str, cells: Iterable[runs.ComparedCell]) -> Table:
    """One of Tables 3 to 6: in each cell ours, below it the paper's, and below that the difference.

    Compliances are in per cent and their differences in points; differences of costs are per cent of the paper's.
    """
    cell_of = {(cell.quantity, cell.column): cell for cell in cells if cell.pattern == pattern}
    columns = [column for column in runs.COLUMNS if any(column == measured_column for _, measured_column in cell_of)]
    rows = tuple(
        (QUANTITY_HEADINGS[quantity], *(_cell_text(cell_of[quantity, column]) for column in columns))
        for quantity in runs.QUANTITIES
    )
    headings = ("", *map(_heading, columns))
    title = f"Table {runs.TABLE_NUMBERS[pattern]}, {pattern}: ours ± deviation, the paper's, the difference"
    return Table(title, headings, rows, headings[1:], open=True)


def _heading(column: runs.Column) -> str:
    return f"BTU{column.unit}" if column.policy == runs.BTU else f"{column.policy}\nBTU{column.unit}"


def _cell_text(cell: runs.ComparedCell) -> str:
    share = cell.quantity in runs.COMPLIANCES
    scale = 100 if share else 1
    difference = signed(100 * cell.difference, 1) if share else f"{signed(100 * cell.difference / cell.paper.mean, 0)} %"
    return f"{_printed(cell.ours, scale, 1)}\n{_printed(cell.paper, scale, 0 if share else 1)}\n{difference}"


def _printed(value: runs.Printed, scale: float, digits: int) -> str:
    deviation = "" if value.deviation is None else f"±{scale * value.deviation:.{digits}f}"
    return f"{scale * value.mean:.{digits}f}{deviation}"


def error_table(errors: Mapping[str, runs.SettingError]) -> Table:
    """The distance of settings from the paper, by their names."""
    rows = tuple((name, *(f"{100 * value:.1f}" for value in error)) for name, error in errors.items())
    columns = ("setting", "compliance\nmean", "BTU\nworst", "threshold\nworst", "resources\nmean", "totals\nmean")
    caption = "Errors against Tables 3 to 6: compliances in points, costs in %"
    return Table(caption, columns, rows, columns[1:], open=True)


def activity_table(pattern: str, samples: runs.Samples) -> Table:
    """The activity of policies under a pattern, in the mean over the seeds."""
    metrics_of = {column: metrics for (run_pattern, column), metrics in samples.items() if run_pattern == pattern}
    rows = tuple((title, *(f"{metrics[name].mean():.1f}" for metrics in metrics_of.values())) for name, title in ACTIVITY.items())
    headings = ("", *map(_heading, metrics_of))
    return Table(f"Activity under {pattern}", headings, rows, headings[1:])


def side_by_side(samples: runs.Samples, bounds: Mapping[tuple[str, int], runs.Bounds]) -> Table:
    """All policies by pattern and unit: near-real-time total, near-real-time and relaxed compliance; bounds last."""
    policies = list(dict.fromkeys(column.policy for _, column in samples))
    cells = list(dict.fromkeys((pattern, column.unit) for pattern, column in samples))
    bound_texts = {cell: f"{bound.least:.1f}\n{bound.in_time:.1f}" for cell, bound in bounds.items()}
    rows = tuple(
        (
            f"{pattern}\nBTU{unit}",
            *(_policy_text(samples[pattern, runs.Column(policy, unit)]) for policy in policies),
            *([bound_texts.get((pattern, unit), NONE)] if bounds else []),
        )
        for pattern, unit in cells
    )
    names = [policy.replace("-", "\n") for policy in policies]
    columns = ("pattern, unit", *names, *(["bound"] if bounds else []))
    title = "Policies side by side: near-real-time total ± deviation; below it near-real-time and relaxed compliance in %"
    title += "; the clairvoyant bound, below it with all items in time" if bounds else ""
    return Table(title, columns, rows, columns[1:], open=True)


def _policy_text(metrics: Mapping[str, Any]) -> str:
    total = metrics["near_real_time_total"]
    spread = float(np.std(total, ddof=1)) if total.size > 1 else None
    deviation = "" if spread is None else f"±{spread:.{0 if spread >= 10 else 1}f}"
    near, relaxed = (f"{100 * metrics[f'{level}_compliance'].mean():.1f}" for level in ("near_real_time", "relaxed"))
    return f"{total.mean():.1f}{deviation}\n{near} {relaxed}"


def against_btu(samples: runs.Samples) -> Table:
    """Savings of the other policies against the BTU policy's near-real-time total, run by run under all patterns and units."""
    cells = list(dict.fromkeys((pattern, column.unit) for pattern, column in samples))
    rows = []
    for policy in dict.fromkeys(column.policy for _, column in samples if column.policy != runs.BTU):
        pairs = [
            (samples[pattern, runs.Column(policy, unit)], samples[pattern, runs.Column(runs.BTU, unit)])
            for pattern, unit in cells
        ]
        savings = np.array(
            [1 - policy_metrics["near_real_time_total"] / btu["near_real_time_total"] for policy_metrics, btu in pairs]
        )
        # Whether near-real-time and relaxed compliance are both at least as high, seed by seed.
        as_good = np.array([np.logical_and(*(own[level] >= btu[level] for level in runs.COMPLIANCES[1:])) for own, btu in pairs])
        mean = PERCENT_SAVED.with_interval(estimate_mean(savings.mean(axis=0)))
        rows.append((policy, mean, f"{100 * (savings >= 0).mean():.0f}", f"{100 * ((savings >= 0) & as_good).mean():.0f}"))
    columns = ("policy", "saving, mean\n[%] (95 %)", "runs as cheap\n[%]", "as cheap and\nas compliant [%]")
    return Table("Near-real-time totals against the BTU policy's", columns, tuple(rows), columns[1:], open=True)


def check_table(checks: Iterable[QueueingCheck]) -> Table:
    """Mean waits of the simulator next to their formulas."""
    rows = tuple(
        (check.operator, f"{check.formula:.4f}", f"{check.simulated:.4f}", f"{signed(100 * check.difference, 2)} %")
        for check in checks
    )
    columns = ("operator", "formula [s]", "simulated [s]", "difference")
    return Table("Mean waits", columns, rows, columns[1:], open=True)


MACHINES, HOSTS, INSTANCES = "#8a8a8a", "#c55a11", "#1f4e79"

PANELS = {
    **{runs.Column(runs.BTU, unit): f"BTU policy, unit of {unit} min" for unit in runs.UNITS},
    runs.Column(runs.THRESHOLD, runs.UNITS[0]): "threshold policy",
}
"""The four configurations of each figure; the threshold policy does the same under every unit."""


def draw_pattern(enacted: Sequence[runs.Enacted], pattern: str, setting: runs.Setting, out: Path) -> Path | None:
    """Draw the runs of the first seed under a pattern as SVG into a folder; None where none has one of these policies.

    As in the paper, machines and hosts are read on the left, instances on the right.
    """
    pattern_runs = [run for run in enacted if run.pattern == pattern and run.column in PANELS]
    if not pattern_runs:
        return None
    seed = min(run.seed for run in pattern_runs)
    panels = {
        PANELS[run.column]: runs.timeline(setting.scenario(pattern, run.column.unit, seed), run.run)
        for run in pattern_runs
        if run.seed == seed
    }
    rows, columns = -(-len(panels) // 2), min(2, len(panels))
    figure = blank_figure(5.6 * columns, 3.0 * rows + 0.9)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    host_limit = 1.08 * max(float(np.max([*line.machines, *line.hosts])) for line in panels.values())
    right = 1.08 * max(float(line.instances.max()) for line in panels.values())
    for ax, letter, (name, line) in zip(axes, "ABCD", panels.items(), strict=False):
        _draw_hosts(ax, line, host_limit, right)
        ax.set_title(f"({letter}) {name}" if len(panels) > 1 else name, fontsize=10, loc="left")
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    figure.suptitle(f"{pattern}, seed {seed}", fontsize=12, x=0.02, ha="left")
    figure.legend(handles=_legend_handles(), loc="lower center", ncols=3, frameon=False, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.28 / figure.get_figheight(), 1, 1))
    path = out / f"fig{runs.FIGURE_NUMBERS[pattern]}-{pattern}.svg"
    save_figure(figure, path)
    return path


def _draw_hosts(ax: Any, line: runs.HostTimeline, host_limit: float, right: float) -> None:
    time = line.time / runs.MINUTE
    ax.step(time, line.machines, where="post", color=MACHINES, linewidth=1.4, linestyle="--")
    ax.step(time, line.hosts, where="post", color=HOSTS, linewidth=1.4)
    ax.set_ylim(0, host_limit or 1)
    ax.set_xlim(0, time[-1])
    ax.set_xlabel("time [min]", fontsize=8.5)
    ax.set_ylabel("machines, hosts", fontsize=8.5)
    unclutter(ax)
    other = ax.twinx()
    other.step(time, line.instances, where="post", color=INSTANCES, linewidth=1.4)
    other.set_ylim(0, right or 1)
    other.set_ylabel("instances", fontsize=8.5, color=INSTANCES)
    other.tick_params(labelsize=8)
    other.spines["top"].set_visible(False)


def _legend_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=MACHINES, linestyle="--", label="machines"),
        Line2D([], [], color=HOSTS, label="hosts leased"),
        Line2D([], [], color=INSTANCES, label="instances"),
    ]


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

    setting: runs.Setting
    seeds: Sequence[int]
    policies: Sequence[str]
    enacted: Sequence[runs.Enacted]
    samples: runs.Samples
    statements: Sequence[Statement]
    bounds: Mapping[tuple[str, int], runs.Bounds]
    variants: Mapping[str, runs.SettingError]
    checks: Sequence[QueueingCheck]

    @property
    def cells(self) -> list[runs.ComparedCell]:
        """Cells of Tables 3 to 6."""
        return list(runs.measured_cells(self.samples))


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
    others = [name for name in ALL_POLICIES if name not in runs.POLICIES] if policies is None else policies
    setting, numbers, chosen = runs.Setting(), range(1, seeds + 1), [*runs.POLICIES, *others]
    few, variants = numbers[:SENSITIVITY_SEEDS], runs.VARIANTS if sensitive else {}
    if progress is not None:
        how["progress"] = Overall(progress, runs.row_count(chosen, numbers) + len(variants) * runs.row_count(runs.POLICIES, few))
    # Other numbers of seeds are other instances, which a folder of results refuses.
    rows = None if out is None else out / ROWS / f"{seeds}-seeds"
    enacted = runs.enact(chosen, numbers, setting=setting, out=rows, **how)
    samples = runs.samples_by_cell(enacted)
    return EnactmentResults(
        setting=setting,
        seeds=numbers,
        policies=chosen,
        enacted=enacted,
        samples=samples,
        statements=judged(CLAIMS, samples),
        bounds=runs.mean_bounds(setting, numbers, n_jobs=how.get("n_jobs")),
        variants=vary(
            variants, lambda _, one: runs.setting_error(runs.samples_by_cell(runs.enact(runs.POLICIES, few, setting=one, **how)))
        ),
        checks=tuple(queueing_check()),
    )


def report(results: EnactmentResults) -> Report:
    """The report of finished runs."""
    cells = results.cells
    tables = [paper_table(pattern, cells) for pattern in runs.PATTERNS]
    policies = [side_by_side(results.samples, results.bounds), against_btu(results.samples)]
    variants = [error_table(results.variants)] if results.variants else []
    bounds = [{"pattern": pattern, "unit_minutes": unit, **bound._asdict()} for (pattern, unit), bound in results.bounds.items()]
    before = {"seeds": list(results.seeds), "error": runs.setting_error(results.samples)._asdict()}
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
    error = runs.setting_error(results.samples)
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
    for pattern in runs.PATTERNS:
        yield _pattern(results, pattern, drawings)
    yield Section(
        "Policies side by side",
        (
            f"{' and '.join(policy for policy in runs.BLIND if policy in results.policies)}: run once and billed by each unit, "
            "which such a policy does not look at. The clairvoyant bound is the least that hosts and late items can be expected "
            "to cost, even if the load is known beforehand; below it the least of policies that never let items wait until they "
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
    yield Section("Misprints and contradictions in the paper", runs.ERRATA)
    seeds = f"{min(results.seeds)} to {max(results.seeds)}"
    yield how_run(
        command, {"policies": ", ".join(results.policies), "seeds": seeds, "runs, as billed": str(len(results.enacted))}
    )


def _pattern(results: EnactmentResults, pattern: str, drawings: Path) -> Section:
    drawn = draw_pattern(results.enacted, pattern, results.setting, drawings)
    shown = (
        f"Machines, hosts and instances over the 120 minutes of a run under {pattern}, for the BTU policy with units of 10, 30 "
        "and 60 minutes and the threshold policy"
    )
    return Section(
        f"{pattern}: Table {runs.TABLE_NUMBERS[pattern]}, Fig. {runs.FIGURE_NUMBERS[pattern]}",
        (
            f"Means and standard deviations over {len(results.seeds)} seeds, each with a walk of its own where the pattern is "
            "one; the paper's over three runs. Compliances in %, differences in points; differences of costs in % of the "
            "paper's.",
        ),
        figure=None if drawn is None else Figure(shown, drawn),
        tables=(paper_table(pattern, results.cells), activity_table(pattern, results.samples)),
    )


def _cell_records(cells: Sequence[runs.ComparedCell]) -> Iterator[dict[str, Any]]:
    """Cells as rows of a CSV file: shares and money, not per cent."""
    for cell in cells:
        policy, unit = cell.column
        named = {"table": runs.TABLE_NUMBERS[cell.pattern], "pattern": cell.pattern, "policy": policy, "unit_minutes": unit}
        paper = {f"paper_{name}": value for name, value in cell.paper._asdict().items()}
        yield {**named, "quantity": cell.quantity, **cell.ours._asdict(), **paper, "difference": cell.difference}


def _comparison_records(statements: Sequence[Statement]) -> Iterator[dict[str, Any]]:
    """Comparisons as rows of a CSV file: margins are shares."""
    for one, finding in ((statement, finding) for statement in statements for finding in statement.findings):
        named = {"statement": one.sentence, "section": one.section, "comparison": finding.where}
        margin, low, high = finding.value
        yield {**named, "paper_margin": finding.printed, "margin": margin, "low": low, "high": high, "verdict": finding.verdict}


def _metric_records(samples: runs.Samples) -> Iterator[dict[str, Any]]:
    for (pattern, column), metrics in samples.items():
        for name, values in metrics.items():
            deviation = float(values.std(ddof=1)) if values.size > 1 else None
            cell = {"pattern": pattern, "policy": column.policy, "unit_minutes": column.unit, "metric": name}
            yield {**cell, "mean": float(values.mean()), "deviation": deviation}
