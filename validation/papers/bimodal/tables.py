"""Tables of the report of bi-modal networks: one description each, printed on a terminal, in a page and in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from edrp.core.arrays import Floats
from edrp.validation.benchmark.table import Table
from edrp.validation.papers.bimodal.findings import FACTOR, NUMBER, Statement, in_words
from edrp.validation.papers.bimodal.formatting import MEASURES, Measure
from edrp.validation.papers.bimodal.mapping import HEURISTICS, RANDOM_2, Mapped, MappedBySize
from edrp.validation.papers.bimodal.mapping_claims import messages_per_server
from edrp.validation.papers.bimodal.plan import (
    CHOICES,
    CHOSEN,
    FIXED,
    FIXED_CHOICES,
    INSTANT_CHOICES,
    NETWORKS,
    RATE,
    SPANNING,
    WAYS,
    Cell,
)
from edrp.validation.papers.bimodal.runs import Samples
from edrp.validation.papers.bimodal.statistics import growth_exponent, share_interval
from edrp.validation.papers.bimodal.sweep import Sweep
from edrp.validation.report.intervals import GRAVITY, Interval, interval

NONE = "–"
COMPARED = ("acceptance", "deviation", "elongation", "link_utilisation", "server_work", "messages")
"""Metrics by which choices of maps and settings are compared."""


def ours(metric: str, values: Floats) -> str:
    r"""A mean, and below it its interval.

    >>> import numpy as np
    >>> ours("deviation", np.array([0.1, 0.12, 0.11]))
    '11.0\n8.5–13.5'
    """
    return stacked(interval(values), MEASURES[metric].said)


def stacked(found: Interval, said: Callable[[float], str], between: str = "–") -> str:
    """A number, and below it its interval."""
    if found.low is None or found.high is None:
        return said(found.mean)
    return f"{said(found.mean)}\n{said(found.low)}{between}{said(found.high)}"


def statement_table(found: Sequence[Statement]) -> Table:
    """One row for each sentence."""
    rows = tuple(
        (each.sentence, each.section, each.verdict, *(str(each.count(verdict)) for verdict in GRAVITY[::-1]), decisive(each))
        for each in found
    )
    columns = ("what is said", "where", "verdict", *(_COUNTED[verdict] for verdict in GRAVITY[::-1]), "decided by (95 %)")
    return Table("Sentence by sentence", columns, rows, columns[3:6], open=True)


_COUNTED = {"holds": "hold", "undecided": "undecided", "does not hold": "do not"}


def decisive(statement: Statement) -> str:
    """The finding that decides: of those with the gravest verdict the one that is least within what is asked for."""
    first = min(statement.findings, key=lambda each: (GRAVITY.index(each.verdict), each.margin))
    return f"{first.where}: {first.words}"


def finding_table(statement: Statement) -> Table:
    """Everything that was found about a sentence."""
    rows = tuple((each.where, each.asked, each.words, each.verdict) for each in statement.findings)
    columns = ("finding", "asked for", "ours (95 %)", "verdict")
    return Table(f"{statement.sentence} ({statement.section})", columns, rows, columns[1:3])


def statement_in_words(statement: Statement) -> str:
    """A sentence with its verdict, in rich markup."""
    colour = {"holds": "green", "does not hold": "red", "undecided": "yellow"}[statement.verdict]
    held = f"{statement.count('holds')} of {len(statement.findings)}"
    return f"[{colour}]{statement.verdict}[/{colour}]: {statement.sentence} [dim]({held}; decided by {decisive(statement)})[/dim]"


def mapping_table(found: MappedBySize) -> Table:
    """Fig. 7: by size and heuristic cost over optimum and bound, share mapped, messages."""
    rows = tuple(
        (f"{servers} servers\n{name}", *_mapping_cells(mapped, name)) for servers, mapped in found.items() for name in HEURISTICS
    )
    columns = ("servers, heuristic", "cost over\noptimum", "worst", "cost over\nbound", "mapped\n[%]", "messages")
    return Table("Fig. 7: costs, tasks mapped, messages", columns, rows, columns[1:], open=True)


def _mapping_cells(mapped: Mapped, name: str) -> tuple[str, ...]:
    to_optimum, to_bound = (mapped.ratio(name, to) for to in (mapped.optimum, mapped.bound))
    costs = [stacked(interval(ratio), FACTOR) if ratio.size else NONE for ratio in (to_optimum, to_bound)]
    worst = f"{to_optimum.max():.2f}" if to_optimum.size else NONE
    share = stacked(share_interval(int(mapped.found(name).sum()), mapped.optimum.size), lambda share: f"{100 * share:.0f}")
    return costs[0], worst, costs[1], share, f"{mapped.messages[name].mean():.0f}"


def optimum_table(found: MappedBySize) -> Table:
    """How far the paper's bound is from the optimum, and what can be mapped."""
    rows = tuple(
        (f"{servers} servers", str(mapped.optimum.size), in_words(interval(mapped.optimum / mapped.bound), FACTOR))
        for servers, mapped in found.items()
        if mapped.optimum.size
    )
    columns = ("", "tasks that can be mapped", "optimum over the paper's bound")
    return Table("The optimum and the paper's bound", columns, rows, columns[1:], open=True)


def exponent_table(found: MappedBySize) -> Table:
    """Growth of the messages with the number of servers; of the heuristic whose messages are capped they do not grow."""
    names = [name for name in HEURISTICS if name != RANDOM_2]
    rows = tuple((name, in_words(growth_exponent(*messages_per_server(found, name)), NUMBER)) for name in names)
    return Table("Exponents of messages in the number of servers", ("heuristic", "exponent (95 %)"), rows, ("exponent (95 %)",))


def reallocation_tables(sweep: Sweep) -> tuple[Table, ...]:
    """Fig. 8: by rate, with and without re-allocation, and the differences network by network."""
    return tuple(_reallocation_table(sweep, metric) for metric in REALLOCATED)


REALLOCATED = ("throughput", "acceptance", "link_utilisation", "deviation", "server_utilisation")


def _reallocation_table(sweep: Sweep, metric: str) -> Table:
    measure, rows = MEASURES[metric], []
    for rate in sweep.rates:
        on, off = (sweep.at(metric, rate=rate, way=way) for way in (CHOSEN, FIXED))
        rows.append((f"{rate:g}", ours(metric, on), ours(metric, off), in_words(interval(on - off), measure.signed)))
    columns = ("tasks/h", "re-allocated", "never", "difference (95 %)")
    return Table(f"Fig. 8: {measure.words}", columns, tuple(rows), columns, open=True)


OVERVIEW = {
    "acceptance": NETWORKS,
    "deviation": ("both", "public"),
    "elongation": ("both", "public"),
    "link_utilisation": ("both", "dedicated"),
}
"""Metrics, and the networks for which they say something."""

SHORT = {"both": "both", "dedicated": "ded.", "public": "public"}
HEADINGS = {"acceptance": "accept", "deviation": "dev.", "elongation": "elong.", "link_utilisation": "links"}


def overview_table(sweep: Sweep, by_links: bool) -> Table:
    """The means of Fig. 9 in one table, which has to fit 80 columns."""
    rows = tuple(
        (
            _varied(cell, by_links),
            *(
                MEASURES[metric].said(float(sweep.samples[cell._replace(networks=each)][metric].mean()))
                for metric, networks in OVERVIEW.items()
                for each in networks
            ),
        )
        for cell in _points(sweep, by_links)
    )
    columns = (
        "links" if by_links else "rate",
        *(f"{HEADINGS[metric]}\n{SHORT[each]}" for metric, networks in OVERVIEW.items() for each in networks),
    )
    return Table(
        f"Fig. 9, {_words(by_links)[1]}: acceptance, deviation, elongation, use of links [%]", columns, rows, columns, open=True
    )


def network_tables(sweep: Sweep) -> tuple[Table, ...]:
    """Fig. 9: each metric over rates and over numbers of links, for both networks and each alone."""
    return tuple(_network_table(sweep, metric, by_links) for by_links in (False, True) for metric in MEASURES)


def _network_table(sweep: Sweep, metric: str, by_links: bool) -> Table:
    rows = tuple(
        (
            _varied(cell, by_links),
            *(ours(metric, sweep.samples[cell._replace(networks=networks)][metric]) for networks in NETWORKS),
        )
        for cell in _points(sweep, by_links)
    )
    varied, fixed = _words(by_links)
    columns = (varied, *NETWORKS)
    return Table(f"{MEASURES[metric].words} by {varied}, {fixed}", columns, rows, columns)


def _points(sweep: Sweep, by_links: bool) -> list[Cell]:
    """Of the rates, or of the numbers of links."""
    return [Cell("", RATE, links) for links in sweep.links] if by_links else [Cell("", rate, SPANNING) for rate in sweep.rates]


def _varied(cell: Cell, by_links: bool) -> str:
    return f"{cell.links if by_links else cell.rate:g}"


def _words(by_links: bool) -> tuple[str, str]:
    """What is varied, and what is not."""
    return ("links", f"{RATE:g} tasks/h") if by_links else ("tasks/h", f"{SPANNING} links")


def choice_tables(sweep: Sweep) -> Iterator[Table]:
    """Ways to choose among maps at the default point, on the same networks: means, and differences from the printed way."""
    settings = (
        (CHOICES, "links re-allocated"),
        (FIXED_CHOICES, "links never re-allocated"),
        (INSTANT_CHOICES, "links re-allocated, messages take no time"),
    )
    for ways, how in settings:
        if all(map(sweep.has, ways)):
            yield _choice_table(sweep, ways, how)
            yield _choice_differences(sweep, ways, how)


def _choice_table(sweep: Sweep, ways: Sequence[str], how: str) -> Table:
    rows = tuple((MEASURES[metric].words, *(ours(metric, sweep.at(metric, way=way)) for way in ways)) for metric in COMPARED)
    columns = ("", *(WAYS[way].heading for way in ways))
    return Table(f"Choices of maps, {how}", columns, rows, columns[1:], open=True)


def _choice_differences(sweep: Sweep, ways: Sequence[str], how: str) -> Table:
    printed, *others = ways
    rows = tuple(
        (
            MEASURES[metric].words,
            *(_difference(MEASURES[metric], sweep.at(metric, way=way) - sweep.at(metric, way=printed)) for way in others),
        )
        for metric in COMPARED
    )
    columns = ("", *(WAYS[way].heading for way in others))
    return Table(f"Against the printed order, network by network, {how}", columns, rows, columns[1:], open=True)


def _difference(measure: Measure, values: Floats) -> str:
    return stacked(interval(values), measure.signed, " to ")


def sensitivity_table(found: Mapping[str, Samples]) -> Table:
    """Acceptance, deviation and elongation under each setting."""
    shown = (("both", COMPARED[:3]), ("dedicated", COMPARED[:1]), ("public", COMPARED[:3]))
    cells = [(networks, metric) for networks, own in shown for metric in own]
    rows = tuple(
        (name, *(MEASURES[metric].said(float(samples[Cell(networks)][metric].mean())) for networks, metric in cells))
        for name, samples in found.items()
    )
    columns = ("setting", *(f"{HEADINGS[metric]}\n{SHORT[networks]}" for networks, metric in cells))
    return Table("One constant changed at a time: acceptance, deviation, elongation [%]", columns, rows, columns[1:], open=True)
