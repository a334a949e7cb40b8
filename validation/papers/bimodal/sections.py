"""What the report of bi-modal networks says, section by section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edrp.validation.benchmark.machine import machine, versions
from edrp.validation.benchmark.table import Table, facts_table
from edrp.validation.papers.bimodal.figures import draw_mapping, draw_networks, draw_reallocation
from edrp.validation.papers.bimodal.findings import Statement
from edrp.validation.papers.bimodal.mapping import MOST_MESSAGES, MappedBySize
from edrp.validation.papers.bimodal.plan import Extent
from edrp.validation.papers.bimodal.runs import Samples
from edrp.validation.papers.bimodal.sensitivity import DOCUMENTED
from edrp.validation.papers.bimodal.setting import MENDED, setting_tables
from edrp.validation.papers.bimodal.sweep import Sweep
from edrp.validation.papers.bimodal.tables import (
    choice_tables,
    exponent_table,
    finding_table,
    mapping_table,
    network_tables,
    optimum_table,
    overview_table,
    reallocation_tables,
    sensitivity_table,
    statement_table,
)
from edrp.validation.report.page import Section, image_address

AIM = "aim"
"""Section of a statement that is not the paper's."""


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that was found out.

    Attributes
    ----------
    extent
        How much was run.
    samples
        Of Figs. 8 and 9.
    mapped
        Of Fig. 7, by number of servers.
    statements
        With verdicts.
    sensitivities
        Samples of other settings by name; empty where none were run.
    """

    extent: Extent
    samples: Samples
    mapped: MappedBySize
    statements: Sequence[Statement]
    sensitivities: Mapping[str, Samples]

    @property
    def sweep(self) -> Sweep:
        """Samples by what is varied."""
        return Sweep(self.samples)


def verdicts(found: Found) -> Iterator[str]:
    """The results in a few sentences."""
    networks = f"{found.extent.networks} networks a point"
    for words, theirs in (("sentences of the paper", True), ("aims of our own", False)):
        own = [each for each in found.statements if (each.section != AIM) == theirs]
        counts = Counter(each.verdict for each in own)
        yield (
            f"Of {len(own)} {words}, {counts['holds']} hold, {counts['does not hold']} do not, and {counts['undecided']} are "
            f"undecided over {networks}."
        )
    deviation, elongation = (
        " against ".join(f"{100 * found.sweep.at(metric, networks).mean():.0f} %" for networks in ("both", "public"))
        for metric in ("deviation", "elongation")
    )
    yield f"At the default point tasks deviate by {deviation} with the public network alone, and take {elongation} longer."
    failed = [each.sentence for each in found.statements if each.verdict == "does not hold"]
    if failed:
        yield f"What does not hold: {'; '.join(failed)}."


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
    yield Section("What the paper says", (HOW_JUDGED,), tables=(statement_table(found.statements),))
    yield _mapping(found, drawings)
    yield _reallocation(found, drawings)
    yield _networks(found, drawings)
    yield Section(
        "Choices of maps",
        (
            "Runs at the default point on the same networks with the same tasks, which differ in which maps are looked for and "
            "reserved: the least load and then the most dedicated and fewest public hops, as printed; the fewest public hops and "
            "then the least load, as in all figures; the fewest public hops and then the fewest links, also with up to 3 empty "
            "hops on each hop.",
        ),
        tables=tuple(choice_tables(found.sweep)),
    )
    if found.sensitivities:
        sentence = f"Means over {found.extent.sensitive} networks; “{DOCUMENTED}” is over the same. All in %."
        yield Section("Sensitivity", (sentence,), tables=(sensitivity_table(found.sensitivities),))
    yield Section("Every finding", (), tables=tuple(map(finding_table, found.statements)))
    yield Section("Setting", (WHY_THESE,), tables=setting_tables())
    yield Section("What the printed algorithms needed", MENDED)
    yield Section("How this was run", (), command, tables=_facts(found))


HOW_JUDGED = (
    "A sentence holds where each of its findings does, and a finding where its whole 95 % interval is in the range that is asked "
    "for. Intervals are Student's t over the networks, of differences network by network where runs share networks and tasks; "
    "those of crossings are percentiles over 2000 resamplings of the networks, those of shares Wilson's. They are not corrected "
    "for the number of findings. “Aim” marks what is asked for beyond the paper. Where the paper has no number, the sentence "
    "says how its words are read. The default point is 60 tasks per hour and 99 links, a spanning tree of the servers."
)

WHY_THESE = (
    "One setting for all runs. What the paper does not print is marked as ours. A stream without buffers runs at the pace of its "
    "slowest hop, which alone explains most of the elongation; σ is that of the logarithm to base 2, as the paper's "
    "“between a quarter and four times” says."
)


def _mapping(found: Found, drawings: Path) -> Section:
    path = drawings / "fig7-heuristics.svg"
    draw_mapping(found.mapped, path)
    growth = (exponent_table(found.mapped),) if len(found.mapped) > 1 else ()
    return Section(
        "Fig. 7: heuristics for mapping",
        (
            f"{found.extent.instances} tasks of ten components for each number of servers, delivered first in, first out. Ratios "
            "are over the tasks for which a heuristic finds a map, shares of all tasks that can be mapped. The optimum is proven "
            f"by label setting; the paper compares with a bound that ignores bandwidths. RandomNeighbor with k = 2 stops sending "
            f"after {MOST_MESSAGES} messages.",
        ),
        image=image_address(path),
        image_words="Cost of four heuristics over the optimum and over the paper's bound, tasks mapped and messages, by servers",
        tables=(mapping_table(found.mapped), optimum_table(found.mapped), *growth),
    )


def _reallocation(found: Found, drawings: Path) -> Section:
    path = drawings / "fig8-reallocation.svg"
    draw_reallocation(found.sweep, path)
    return Section(
        "Fig. 8: re-allocation of links",
        (f"Both networks, {found.extent.networks} of them at each rate, with links re-allocated every 10 s and never.",),
        image=image_address(path),
        image_words="Throughput, use of dedicated links and deviation over the rate of arrivals, with and without re-allocation",
        tables=reallocation_tables(found.sweep),
    )


def _networks(found: Found, drawings: Path) -> Section:
    path = drawings / "fig9-networks.svg"
    draw_networks(found.sweep, path)
    return Section(
        "Fig. 9: both networks and each alone",
        (
            f"{found.extent.networks} networks at each point, traces of {found.extent.tasks} tasks, the public network "
            f"{FLOW[found.extent.flow]}. All points of a seed share their tasks, and links are added to the same platform.",
        ),
        image=image_address(path),
        image_words="Throughput, acceptance, use of servers and links, deviation and elongation of both networks and each alone",
        tables=(*(overview_table(found.sweep, by_links) for by_links in (False, True)), *network_tables(found.sweep)),
    )


FLOW = {"drawn": "drawn every 10 ms", "expected": "at their expectation"}


def _facts(found: Found) -> tuple[Table, ...]:
    extent, seconds = found.extent, found.sweep.at("seconds")
    spent = sum(float(metrics["seconds"].sum()) for metrics in found.samples.values())
    settings = {
        "networks a point": f"{extent.networks} (seeds 1 to {extent.networks})",
        "tasks a trace": str(extent.tasks),
        "arrivals per hour": ", ".join(f"{rate:g}" for rate in extent.rates),
        "dedicated links": ", ".join(map(str, extent.links)),
        "public network": FLOW[extent.flow],
        "tasks to map a size": str(extent.instances),
        "one trace, both networks, default point": f"{np.median(seconds):.1f} s in the median, {seconds.max():.1f} s at worst",
        "all traces of Figs. 8 and 9": f"{spent / 60:.0f} min of one core",
    }
    return (facts_table("Settings", settings), facts_table("Machine", machine()), facts_table("Versions", versions()))
