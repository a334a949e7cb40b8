"""Sentences of the paper on re-allocation (§5.1, Fig. 8) and on both networks together (§6.2, Fig. 9), judged on samples.

Where the paper prints no number, the sentence or a docstring says how its words are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import inf

from edrp.core.arrays import Floats
from edrp.report.estimates import estimate_mean
from edrp.report.formatting import FACTOR, POINTS, SHARE, Unit
from edrp.report.statements import Finding, Rule, Statement, judged
from edrp.validation.papers.bimodal.extent import (
    CHOSEN,
    FIXED,
    FURTHER,
    FURTHER_FIXED,
    FURTHER_INSTANT,
    PRINTED,
    PRINTED_FIXED,
    PRINTED_INSTANT,
    RATE,
    SPANNING,
)
from edrp.validation.papers.bimodal.runs import Samples, SampleSweep
from edrp.validation.papers.bimodal.statistics import estimate_crossing, estimate_crossing_ratio

LINKS, THROUGHPUT = Unit(1, ".0f", " links"), Unit(1, "+.2f", " tasks/h")

HALF = 0.5
"""Acceptance at which numbers of links are compared."""

MANY_LINKS, FEW_LINKS, FLAT_LINKS = 120, 50, 125
"""Printed: "more than 120", "with 50 dedicated links only", "beyond … 125"."""

DEFAULT_POINT = f"{RATE:g} tasks/h, {SPANNING} links"

UNCHANGED = 0.02
"""Shares that differ by no more than two points count as equal."""

BOTH_BAND, MIN_PUBLIC = (0.1, 0.2), 0.5
"""Deviation: "to between 10% and 20% from above 50%"."""

ELONGATION_BAND, PUBLIC_ELONGATION = (0.1, 0.2), (2.0, 3.0)
"""Elongation: "10-20%" against "200-300%"."""

LOWERED = 0.2
"""Reduction of the deviation that is required of our choice of maps."""

ALMOST_ZERO = 0.01
"""Deviation on dedicated links that counts as "almost zero"."""


def statements(samples: Samples) -> tuple[Statement, ...]:
    """Every sentence of the paper on Figs. 8 and 9, and our own aims, judged on samples; those without samples are left out."""
    return judged(RULES, SampleSweep(samples))


Findings = Iterator[Finding]


def _at_every_rate(
    values: Callable[[SampleSweep, float], Floats], unit: Unit, required: tuple[float, float] | None = None
) -> Callable[[SampleSweep], Findings]:
    """Values that must lie in a range at every rate, or be positive where no range is given."""

    def findings(sweep: SampleSweep) -> Findings:
        for rate in sweep.rates:
            estimate = estimate_mean(values(sweep, rate))
            yield Finding(f"{rate:g} tasks/h", estimate, unit, *(required or (0.0, inf)), strict=required is None)

    return findings


def _gain(metric: str, sign: float = 1.0) -> Callable[[SampleSweep, float], Floats]:
    """The gain by re-allocation, which raises (sign 1) or lowers (-1) a metric, network by network."""
    return lambda sweep, rate: sign * (sweep.at(metric, rate=rate) - sweep.at(metric, rate=rate, way=FIXED))


def _above_sum(metric: str) -> Callable[[SampleSweep, float], Floats]:
    """The excess of both networks over the sum of the two alone."""
    return lambda sweep, rate: (
        sweep.at(metric, rate=rate) - sweep.at(metric, "dedicated", rate=rate) - sweep.at(metric, "public", rate=rate)
    )


def _links_used_more(sweep: SampleSweep, rate: float) -> Floats:
    return sweep.at("link_utilisation", rate=rate) - sweep.at("link_utilisation", "dedicated", rate=rate)


def _metric(metric: str, networks: str) -> Callable[[SampleSweep, float], Floats]:
    return lambda sweep, rate: sweep.at(metric, networks, rate=rate)


def _dedicated_needs_many(sweep: SampleSweep) -> Findings:
    if len(sweep.links) > 1:
        where = estimate_crossing(sweep.by_links("acceptance", "dedicated"), HALF)
        yield Finding(_reaching(sweep), where, LINKS, minimum=MANY_LINKS, strict=True)


def _both_need_few(sweep: SampleSweep) -> Findings:
    if len(sweep.links) > 1:
        where = estimate_crossing(sweep.by_links("acceptance", "both"), HALF)
        yield Finding(_reaching(sweep), where, LINKS, maximum=FEW_LINKS)


def _reaching(sweep: SampleSweep) -> str:
    """Text of a crossing: a curve that begins above the level reaches it at the fewest links that were run, or before."""
    return f"links (from {sweep.links[0]} on) at which half of the tasks are accepted"


def _half_the_links(sweep: SampleSweep) -> Findings:
    if len(sweep.links) > 1:
        both, dedicated = (sweep.by_links("acceptance", networks) for networks in ("both", "dedicated"))
        ratio = estimate_crossing_ratio(both, dedicated, HALF)
        yield Finding("links of both over links of dedicated alone", ratio, FACTOR, maximum=0.5)


def _same_throughput(sweep: SampleSweep) -> Findings:
    """Read as: both at a number of links accept as many as dedicated links alone at twice as many."""
    for few in sweep.links:
        for many in sweep.links:
            if 2 * few - 1 <= many <= 2 * few:
                more = sweep.at("throughput", links=few) - sweep.at("throughput", "dedicated", links=many)
                yield Finding(f"{few} links less dedicated alone at {many}", estimate_mean(more), THROUGHPUT, minimum=0.0)


def _difference_shrinks(sweep: SampleSweep) -> Findings:
    def difference(links: int) -> Floats:
        return sweep.at("link_utilisation", links=links) - sweep.at("link_utilisation", "dedicated", links=links)

    for few, many in pairwise(sweep.coarse_links):
        yield Finding(
            f"{few} less {many} links", estimate_mean(difference(few) - difference(many)), POINTS, minimum=0.0, strict=True
        )


def _falls(metric: str, *networks: str) -> Callable[[SampleSweep], Findings]:
    """The fall of a metric from each number of links to the next."""

    def findings(sweep: SampleSweep) -> Findings:
        for name in networks:
            for few, many in pairwise(sweep.coarse_links):
                fall = sweep.at(metric, name, links=few) - sweep.at(metric, name, links=many)
                yield Finding(f"{name}: {few} less {many} links", estimate_mean(fall), POINTS, minimum=0.0, strict=True)

    return findings


def _equivalent_in_the_end(sweep: SampleSweep) -> Findings:
    """Read as: at most 1 % of the hops go over the public network, and acceptance is the same within two points."""
    if len(sweep.links) > 1:
        links = sweep.links[-1]
        yield Finding(
            f"{links} links: hops over the public network",
            estimate_mean(sweep.at("public_share", links=links)),
            SHARE,
            maximum=0.01,
        )
        more = sweep.at("acceptance", links=links) - sweep.at("acceptance", "dedicated", links=links)
        yield Finding(f"{links} links: acceptance above dedicated alone", estimate_mean(more), POINTS, -UNCHANGED, UNCHANGED)


def _at_default(metric: str, networks: str, minimum: float, maximum: float) -> Callable[[SampleSweep], Findings]:
    def findings(sweep: SampleSweep) -> Findings:
        yield Finding(DEFAULT_POINT, estimate_mean(sweep.at(metric, networks)), SHARE, minimum, maximum)

    return findings


def _marginal(sweep: SampleSweep) -> Findings:
    """Read as: all links beyond these together gain at most two points."""
    if FLAT_LINKS in sweep.links and sweep.links[-1] > FLAT_LINKS:
        gain = sweep.at("deviation", links=FLAT_LINKS) - sweep.at("deviation", links=sweep.links[-1])
        yield Finding(f"{FLAT_LINKS} less {sweep.links[-1]} links", estimate_mean(gain), POINTS, maximum=UNCHANGED)


def _lowered(way: str, printed: str, minimum: float, strict: bool = False) -> Callable[[SampleSweep], Findings]:
    """The reduction of the deviation by a choice of maps against the printed one, network by network."""

    def findings(sweep: SampleSweep) -> Findings:
        if sweep.has(way) and sweep.has(printed):
            difference = sweep.at("deviation", way=printed) - sweep.at("deviation", way=way)
            yield Finding(DEFAULT_POINT, estimate_mean(difference), POINTS, minimum=minimum, strict=strict)

    return findings


RULES: tuple[Rule, ...] = (
    ("re-allocation raises throughput", "§5.1, Fig. 8a", _at_every_rate(_gain("throughput"), THROUGHPUT)),
    ("re-allocation raises the acceptance ratio", "§5.1", _at_every_rate(_gain("acceptance"), POINTS)),
    (
        "re-allocation raises the utilisation of dedicated links",
        "§5.1, Fig. 8b",
        _at_every_rate(_gain("link_utilisation"), POINTS),
    ),
    (
        "re-allocation leaves CPU utilisation unchanged, within 2 points",
        "§5.1",
        _at_every_rate(_gain("server_utilisation"), POINTS, (-UNCHANGED, UNCHANGED)),
    ),
    ("re-allocation lowers the deviation at every rate", "§5.1, Fig. 8c", _at_every_rate(_gain("deviation", -1.0), POINTS)),
    ("dedicated links alone: more than 120 are needed to accept half of the tasks", "§6.2, Fig. 9b", _dedicated_needs_many),
    ("with the public network 50 links are enough to accept half of the tasks", "§6.2, Fig. 9b", _both_need_few),
    ("both networks accept half of the tasks with at most half the links of dedicated alone", "aim", _half_the_links),
    ("both networks reach the throughput of dedicated links alone with half the links", "§6.2, Fig. 9a", _same_throughput),
    (
        "server utilisation (reserved) of both is above the sum of the two alone",
        "§6.2, Fig. 9c",
        _at_every_rate(_above_sum("server_utilisation"), POINTS),
    ),
    (
        "server utilisation (work done) of both is above the sum of the two alone",
        "§6.2, Fig. 9c",
        _at_every_rate(_above_sum("server_work"), POINTS),
    ),
    (
        "dedicated links are used more if the public network is there too, at every rate",
        "§6.2, Fig. 9e",
        _at_every_rate(_links_used_more, POINTS),
    ),
    (
        "with the public network the links are used more, but ever less so as links are added",
        "§6.2, Fig. 9f",
        _difference_shrinks,
    ),
    (
        "utilisation of links falls as links are added, in both cases",
        "§6.2, Fig. 9f",
        _falls("link_utilisation", "both", "dedicated"),
    ),
    ("with enough links the public network is not used: both become dedicated alone", "§6.2, Fig. 9f", _equivalent_in_the_end),
    (
        "deviation with both networks is between 10 and 20 % at every rate",
        "§6.2, Fig. 9g",
        _at_every_rate(_metric("deviation", "both"), SHARE, BOTH_BAND),
    ),
    (
        "deviation on the public network alone is above 50 % at every rate",
        "§6.2, Fig. 9g",
        _at_every_rate(_metric("deviation", "public"), SHARE, (MIN_PUBLIC, inf)),
    ),
    (
        "deviation on dedicated links alone is almost zero, at most 1 %",
        "§6.2",
        _at_every_rate(_metric("deviation", "dedicated"), SHARE, (-inf, ALMOST_ZERO)),
    ),
    ("deviation with both networks falls towards zero as links are added", "§6.2, Fig. 9h", _falls("deviation", "both")),
    ("beyond 125 links the deviation improves marginally, by at most 2 points", "§6.2, Fig. 9h", _marginal),
    (
        "both networks take 10 to 20 % longer",
        "§6.2, Fig. 9i",
        _at_every_rate(_metric("elongation", "both"), SHARE, ELONGATION_BAND),
    ),
    (
        "the public network alone takes 200 to 300 % longer",
        "§6.2, Fig. 9i",
        _at_every_rate(_metric("elongation", "public"), SHARE, PUBLIC_ELONGATION),
    ),
    ("deviation with both networks is at most 20 % at the default point", "aim", _at_default("deviation", "both", 0.0, 0.2)),
    (
        "deviation on the public network alone is at least 50 % at the default point",
        "aim",
        _at_default("deviation", "public", 0.5, inf),
    ),
    ("both networks take at most 25 % longer at the default point", "aim", _at_default("elongation", "both", 0.0, 0.25)),
    (
        "the public network alone takes at least 150 % longer at the default point",
        "aim",
        _at_default("elongation", "public", 1.5, inf),
    ),
    (
        "fewest public hops first lowers the deviation against the printed order",
        "aim",
        _lowered(CHOSEN, PRINTED, 0.0, strict=True),
    ),
    (
        "fewest public hops, then links, with 3 empty hops lowers the deviation by at least 20 points",
        "aim",
        _lowered(FURTHER, PRINTED, LOWERED),
    ),
    (
        "without re-allocation that choice lowers the deviation by at least 20 points",
        "aim",
        _lowered(FURTHER_FIXED, PRINTED_FIXED, LOWERED),
    ),
    (
        "where messages take no time, that choice lowers the deviation by at least 20 points",
        "aim",
        _lowered(FURTHER_INSTANT, PRINTED_INSTANT, LOWERED),
    ),
)
"""Sentence, section and findings; the section "aim" marks a goal of our own."""
