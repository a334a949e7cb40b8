"""Response times of live migration on a real cluster as one report: Figs. 13 and 15 of the state-migration paper.

Fig. 13 has response times by window and method, Fig. 15 by minute around a change. Rows are JSON lines, as
`benchmarks/flink_response_times.py` writes them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import read_whole
from edrp.report.estimates import Estimate
from edrp.report.figures import Panel, Style, draw_panels, mean_curve
from edrp.report.formatting import NONE, Unit
from edrp.report.page import Figure, Section, how_run
from edrp.report.publication import Record, Report
from edrp.report.statements import Finding, Statement, claim
from edrp.report.tables import Table
from edrp.validation.flink.live.response_times import CHANGE_MINUTE
from edrp.validation.flink.response_times import HASHING, METHODS, MODES, MTM, PAPER_SECONDS, RESTART, SINGLE_STEP, STORM
from edrp.validation.papers.claims import claim_records, claim_table, estimate_paired

Row = Mapping[str, Any]
LiveRows = dict[str, list[Row]]
"""Rows by experiment, by the names of `KEYS`."""

SCRIPT = "benchmarks/flink_response_times.py"

KEYS = {"response": ("round", "method"), "windows": ("round", "window", "method", "mode")}
"""Fields that tell a row from others, by experiment."""

NEEDED = {
    "response": ("load", "minute", "minutes", "workers", "missing"),
    "windows": ("load", "seconds", "mean", "quiet", "moved_share"),
}
"""Further fields of every row, by experiment."""

SCALES = {"response": "minute", "windows": "seconds"}
"""Field that must be the same in all rows that are compared, by experiment: the length of a minute, or of a migration."""


def read_rows(paths: Iterable[Path]) -> LiveRows:
    """Read files of rows, in any order.

    Raises
    ------
    InvalidInstanceError
        A line is no row of any experiment, rows stand there twice or cannot be compared, or there is none at all.
    """
    rows: LiveRows = {experiment: [] for experiment in KEYS}
    for path in paths:
        faults = []
        for number, line in enumerate(read_whole(path).splitlines(), start=1):
            try:
                row = json.loads(line)
                why = _why_no_row(row)
            except (ValueError, RecursionError):
                why = "is no JSON; a run that was cut off leaves such a line, which can be removed"
            if why:
                faults.append(Fault(f"line {number}", "", why))
            else:
                rows[row["experiment"]].append(row)
        InvalidInstanceError.raise_if_any(faults, str(path))
    InvalidInstanceError.raise_if_any(list(_clashes(rows)), "rows")
    if not any(rows.values()):
        raise InvalidInstanceError([Fault("rows", "", f"there are none; `python {SCRIPT} run ROWS` writes them")])
    return rows


def _why_no_row(row: Any) -> str:
    """Why this is no row of any experiment; empty for a row."""
    experiment = row.get("experiment") if isinstance(row, dict) else None
    if experiment not in KEYS:
        return f"is no row of {SCRIPT}"
    missing = [name for name in (*KEYS[experiment], *NEEDED[experiment]) if name not in row]
    return f"has no {', '.join(missing)}, which a row of this experiment has" if missing else ""


def _clashes(rows: LiveRows) -> Iterator[Fault]:
    """Rows that stand there twice, and figures of runs with other lengths of a minute or of a migration."""
    for experiment, names in KEYS.items():
        count = Counter(tuple(row[name] for name in names) for row in rows[experiment])
        for key in sorted(key for key, times in count.items() if times > 1):
            yield Fault(experiment, ", ".join(map(str, key)), "stands there twice; leave one out")
        values = sorted({row[SCALES[experiment]] for row in rows[experiment]})
        if len(values) > 1:
            why = "must be the same in all runs that are compared; give others apart"
            yield Fault(SCALES[experiment], ", ".join(map(str, values)), why)


def load_text(rows: Iterable[Row]) -> str:
    """Load of the machine over rows, such as "1.2 to 7.6".

    >>> load_text([{"load": 1.23}, {"load": 7.64}])
    '1.2 to 7.6'
    """
    loads = [row["load"] for row in rows]
    return f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"


PROPOSED = (SINGLE_STEP, MTM)
PARTS = {"pause": "suspended (section 5.1)", "live": "live (section 5.2)", RESTART: "savepoint and restart"}
"""Modes in words."""

STYLES = {SINGLE_STEP: Style("#1f4e79"), MTM: Style("#7b2d8b"), HASHING: Style("#c55a11", "-", "^")}

LARGE = 0.1
""""By large margins": a share of the response time under consistent hashing."""

STORM_MS = 5000
""""At least 5000 milliseconds, even for the smallest window size"."""


def windows(rows: Sequence[Row]) -> list[float]:
    """Windows in seconds, ascending."""
    return sorted({row["window"] for row in rows})


def response(rows: Sequence[Row], method: str, mode: str, window: float) -> Estimate | None:
    """Mean response time in milliseconds over all rounds; None without any."""
    values = [row["mean"] for row in rows if (row["method"], row["mode"], row["window"]) == (method, mode, window)]
    return estimate_paired(values) if values else None


def draw_windows(rows: Sequence[Row], path: Path) -> None:
    """Draw response times against the window, suspended and live; Storm's are left out, as in the paper."""
    panels = []
    for letter, mode in zip("ab", MODES, strict=True):
        curves = {}
        for method in (*PROPOSED, HASHING):
            means = {window: response(rows, method, mode, window) for window in windows(rows)}
            curves[method] = {window: mean for window, mean in means.items() if mean is not None}
        panels.append(Panel(f"({letter}) {PARTS[mode]}", "window [s]", "response time [ms]", curves))
    draw_panels(panels, path, columns=2, title="Window against response time (state migration, Fig. 13)", styles=STYLES)


def window_table(rows: Sequence[Row]) -> Table:
    """Fig. 13 as a table: mean response time in milliseconds by window, of every method and way to carry it out."""
    columns = tuple(f"{window:g} s" for window in windows(rows))
    shown = []
    for mode, part in PARTS.items():
        for method in METHODS:
            own = [row for row in rows if (row["method"], row["mode"]) == (method, mode)]
            if own:
                means = [response(own, method, mode, window) for window in windows(rows)]
                moved = 100 * np.mean([row["moved_share"] for row in own])
                quiet = np.mean([row["quiet"] for row in own if row["quiet"] is not None] or [np.nan])
                texts = (NONE if mean is None else Unit(1, ".0f").with_interval(mean) for mean in means)
                shown.append((method, part, *texts, f"{quiet:.0f}", f"{moved:.1f}"))
    scale = PAPER_SECONDS / rows[0]["seconds"] if rows else 1.0
    note = (
        f"Time is {scale:g} times as fast as in the paper: means over {PAPER_SECONDS / scale:g} s, windows as much shorter. "
        f"{len({row['round'] for row in rows})} rounds; load of the machine {load_text(rows)}."
    )
    right = (*columns, "Before", "Moved [%]")
    return Table("Fig. 13: mean response time [ms] by window", ("Method", "Carried out", *right), tuple(shown), right, note=note)


def window_statements(rows: Sequence[Row]) -> Iterator[Statement]:
    """The sentences of the paper on Fig. 13, each judged for what was measured in pairs: same window, same migration."""
    for mode in MODES:
        if any(row["mode"] == mode for row in rows):
            yield from _mode_statements([row for row in rows if row["mode"] == mode], mode)
    storm = {window: response(rows, STORM, RESTART, window) for window in windows(rows)}
    known = {window: mean.mean for window, mean in storm.items() if mean is not None}
    if known:
        found = f"{', '.join(f'{mean:.0f}' for mean in known.values())} ms over {rows[0]['seconds']:g} s instead of 2 minutes"
        yield claim(f"the response time of Storm is at least {STORM_MS} ms", min(known.values()) >= STORM_MS, found)
        others = [row["mean"] for row in rows if row["method"] in PROPOSED]
        if others:
            sentence = "the response time of Storm is above that of the proposed methods, whatever the window"
            found = f"at least {min(known.values()):.0f} ms against at most {max(others):.0f}"
            yield claim(sentence, min(known.values()) > max(others), found)


def _mode_statements(rows: Sequence[Row], mode: str) -> Iterator[Statement]:
    edges = (windows(rows)[0], windows(rows)[-1])
    if edges[0] < edges[1]:
        ends = {m: [response(rows, m, mode, window) for window in edges] for m in (*PROPOSED, HASHING)}
        known = {method: (low.mean, high.mean) for method, (low, high) in ends.items() if low and high}
        found = "; ".join(f"{method} {low:.0f} to {high:.0f} ms" for method, (low, high) in known.items())
        grows = bool(known) and all(high > low for low, high in known.values())
        yield claim(f"{mode}: the response time of all methods grows with the window", grows, found)
    unit = Unit(100, ".0f", " %")
    findings = tuple(
        Finding(f"{method} against consistent hashing", estimate_paired(values), unit, LARGE)
        for method in PROPOSED
        if (values := [1 - own / other for own, other in _pairs(rows, method, HASHING, "mean") if other > 0])
    )
    if findings:
        sentence = f"{mode}: the proposed methods outperform consistent hashing by large margins, at least {100 * LARGE:g} %"
        yield Statement(sentence, findings=findings)
    gap, cost = _gap(rows, "mean"), _gap(rows, "moved_share")
    if gap is not None and cost is not None:
        found = f"MTM-aware migration saves {100 * gap:.0f} % of the response time, {100 * cost:.0f} % of the cost"
        sentence = "the gap between single-step and MTM-aware migration is more pronounced in response time than in cost"
        yield claim(f"{mode}: {sentence}", gap > cost, found)


def _pairs(rows: Sequence[Row], method: str, against: str, quantity: str) -> list[tuple[float, float]]:
    """A quantity under two methods, for the same window and migration."""
    values = {(row["method"], row["round"], row["window"]): float(row[quantity]) for row in rows}
    places = [(number, window) for name, number, window in values if name == method]
    return [(values[method, *place], values[against, *place]) for place in places if (against, *place) in values]


def _gap(rows: Sequence[Row], quantity: str) -> float | None:
    """Share of a quantity of single-step migration that MTM-aware migration saves, over all pairs together."""
    pairs = _pairs(rows, MTM, SINGLE_STEP, quantity)
    base = sum(other for _, other in pairs)
    return 1 - sum(own for own, _ in pairs) / base if base > 0 else None


ORDERS_OF_MAGNITUDE = 2
"""What "several orders of magnitude" is taken for at least."""

CHANGES = {
    "live": "live migration",
    "savepoint": "restart from a savepoint (the paper's baseline)",
    "rescale": "Flink's rescale",
}
"""Ways to change the number of workers, in words."""


def minutes(rows: Sequence[Row], method: str) -> dict[float, np.ndarray]:
    """Mean response times in seconds by minute, over the runs of a method; minutes without tuples are left out."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if row["method"] == method:
            for number, figures in row["minutes"].items():
                if figures["tuples"]:
                    found.setdefault(float(number), []).append(figures["mean"])
    return {number: np.array(means) for number, means in sorted(found.items())}


def minute_table(rows: Sequence[Row]) -> Table:
    """Fig. 15 as a table: mean response time by minute and method."""
    known = {method: means for method in CHANGES if (means := minutes(rows, method))}
    numbers = sorted({number for means in known.values() for number in means})
    unit = Unit(1e3, ",.1f")
    shown = [
        (f"{number:g}", *(unit.number(float(means[number].mean())) if number in means else NONE for means in known.values()))
        for number in numbers
    ]
    right = tuple(CHANGES[method] for method in known)
    (before, after), minute = rows[0]["workers"], rows[0]["minute"]
    note = (
        f"Milliseconds. {before} workers become {after} when minute {CHANGE_MINUTE} begins. A minute is compressed into "
        f"{minute:g} s, a change is not: it weighs {60 / minute:.3g} times as much in its minute. Load of the machine "
        f"{load_text(rows)}."
    )
    return Table("Fig. 15: mean response time by minute", ("minute", *right), tuple(shown), right, note=note, open=True)


def minute_statements(rows: Sequence[Row]) -> Iterator[Statement]:
    """Judge the paper's sentence on Fig. 15, against its baseline and against Flink's rescale."""
    live = minutes(rows, "live").get(CHANGE_MINUTE)
    for method, name in CHANGES.items():
        other = minutes(rows, method).get(CHANGE_MINUTE)
        if method == "live" or live is None or other is None:
            continue
        factor = float(other.mean() / live.mean())
        times = f"{1e3 * live.mean():.1f} ms against {1e3 * other.mean():.1f} ms"
        found = f"{times} in minute {CHANGE_MINUTE}, a factor of {factor:.3g}"
        sentence = (
            f"live migration reduces the average response time dramatically, by several orders of magnitude, against {name}"
        )
        yield claim(sentence, factor >= 10**ORDERS_OF_MAGNITUDE, found)


def draw_minutes(rows: Sequence[Row], path: Path) -> None:
    """Draw Fig. 15."""
    curves = {method: mean_curve(means, 1e3) for method in CHANGES if (means := minutes(rows, method))}
    draw_panels([Panel("", "minute", "mean response time [ms]", curves, ("linear", "log"), floor=None)], path, columns=1)


class Experiment(NamedTuple):
    """How the rows of an experiment are shown, judged and drawn into a file."""

    heading: str
    sentence: str
    table: Callable[[Sequence[Row]], Table]
    statements: Callable[[Sequence[Row]], Iterator[Statement]]
    file: str
    caption: str
    draw: Callable[[Sequence[Row], Path], None]


EXPERIMENTS = {
    "response": Experiment(
        "Fig. 15: response time by minute",
        "The paper's baseline writes all state to a file server and starts again, which is what a savepoint restart does.",
        minute_table,
        minute_statements,
        "fig15-live-migration.svg",
        "Mean response time by minute, live and under two ways to start again",
        draw_minutes,
    ),
    "windows": Experiment(
        "Fig. 13: response time by window",
        "The frequent-pattern application, its loop unrolled: two live operators whose tasks move together. A link carries "
        "equally many bytes/s to and from each worker. The paper does not say whether tasks were suspended; both are shown.",
        window_table,
        window_statements,
        "fig13-response-times.svg",
        "Mean response time after a migration by window and method",
        draw_windows,
    ),
}
FIGURES = tuple(experiment.file for experiment in EXPERIMENTS.values())
"""Files of the figures."""


def report(rows: LiveRows) -> Report:
    """The report of rows that were read; experiments without rows are left out."""
    known = {name: rows[name] for name in EXPERIMENTS if rows.get(name)}
    judged = [statement for name, listed in known.items() for statement in EXPERIMENTS[name].statements(listed)]
    tables = {name: EXPERIMENTS[name].table(listed) for name, listed in known.items()}

    def sections(drawings: Path, command: str) -> Iterator[Section]:
        yield Section("What we aim at", tables=(claim_table(judged),))
        for name, listed in known.items():
            experiment = EXPERIMENTS[name]
            experiment.draw(listed, drawings / experiment.file)
            figure = Figure(experiment.caption, drawings / experiment.file)
            yield Section(experiment.heading, (experiment.sentence,), figure=figure, tables=(tables[name],))
        yield how_run(command, {f"rows of {name}": str(len(rows.get(name, ()))) for name in EXPERIMENTS})

    return Report(
        "Live migration on Flink",
        "Response times while tasks move and tuples flow, next to other ways to change a job; Figs. 13 and 15.",
        verdicts=[
            f"Of {len(judged)} statements {sum(statement.holds for statement in judged)} hold.",
            f"Load of the machine: {load_text(row for listed in known.values() for row in listed)}.",
        ],
        statements=judged,
        shown=list(tables.values()),
        documented=list(tables.values()),
        sections=sections,
        records={**{name: list(map(_flat, listed)) for name, listed in known.items()}, "statements": claim_records(judged)},
    )


def _flat(row: Row) -> Record:
    """The numbers and words of a row; minutes get a column each of their means."""
    flat = {name: value for name, value in row.items() if value is None or isinstance(value, str | int | float)}
    return flat | {f"minute_{number}": figures["mean"] for number, figures in row.get("minutes", {}).items()}
