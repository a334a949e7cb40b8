"""What the paper says of re-allocation (§5.1, Fig. 8) and of both networks together (§6.2, Fig. 9), with verdicts.

Where it prints no number, the sentence or a docstring says how its words are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from edrp.core.arrays import Floats
from edrp.validation.papers.bimodal.findings import FACTOR, LINKS, POINTS, SHARE, THROUGHPUT, Finding, Statement
from edrp.validation.papers.bimodal.plan import (
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
from edrp.validation.papers.bimodal.runs import Samples
from edrp.validation.papers.bimodal.statistics import crossing_interval, crossing_ratio
from edrp.validation.papers.bimodal.sweep import Sweep
from edrp.validation.report.intervals import interval

HALF = 0.5
"""Of the tasks: the acceptance at which numbers of links are compared."""

MANY_LINKS, FEW_LINKS, FLAT_LINKS = 120, 50, 125
"""Printed: "more than 120", "with 50 dedicated links only", "beyond … 125"."""

DEFAULT_POINT = f"{RATE:g} tasks/h, {SPANNING} links"
INFINITE = float("inf")

UNCHANGED = 0.02
"""Shares that differ by no more than two points count as equal."""

BOTH_BAND, PUBLIC_LEAST = (0.1, 0.2), 0.5
"""Deviation: "to between 10% and 20% from above 50%"."""

ELONGATION_BAND, PUBLIC_ELONGATION = (0.1, 0.2), (2.0, 3.0)
"""Elongation: "10-20%" against "200-300%"."""

LOWERED = 0.2
"""By so much our choice of maps has to lower the deviation."""

ALMOST_ZERO = 0.01
"""Of the deviation on dedicated links, which is "almost zero"."""


def statements(samples: Samples) -> tuple[Statement, ...]:
    """Every sentence of the paper on Figs. 8 and 9, and our own aims, judged on samples; those without samples are left out."""
    sweep = Sweep(samples)
    made = (Statement(sentence, section, tuple(found(sweep))) for sentence, section, found in STATEMENTS)
    return tuple(each for each in made if each.findings)


Findings = Iterator[Finding]


def _per_hour(rate: float) -> str:
    return f"{rate:g} tasks/h"


def _gained(metric: str, unit: Callable[[float], str], sign: float = 1.0) -> Callable[[Sweep], Findings]:
    """By how much re-allocation raises (sign 1) or lowers (-1) a metric, at every rate, network by network."""

    def found(sweep: Sweep) -> Findings:
        for rate in sweep.rates:
            difference = sign * (sweep.at(metric, rate=rate) - sweep.at(metric, rate=rate, way=FIXED))
            yield Finding(_per_hour(rate), interval(difference), unit, least=0.0, beyond=True)

    return found


def _same_servers(sweep: Sweep) -> Findings:
    for rate in sweep.rates:
        difference = sweep.at("server_utilisation", rate=rate) - sweep.at("server_utilisation", rate=rate, way=FIXED)
        yield Finding(_per_hour(rate), interval(difference), POINTS, -UNCHANGED, UNCHANGED)


def _dedicated_needs_many(sweep: Sweep) -> Findings:
    if len(sweep.links) > 1:
        where = crossing_interval(sweep.by_links("acceptance", "dedicated"), HALF)
        yield Finding(_reaching(sweep), where, LINKS, least=MANY_LINKS, beyond=True)


def _both_need_few(sweep: Sweep) -> Findings:
    if len(sweep.links) > 1:
        where = crossing_interval(sweep.by_links("acceptance", "both"), HALF)
        yield Finding(_reaching(sweep), where, LINKS, most=FEW_LINKS)


def _reaching(sweep: Sweep) -> str:
    """A curve that begins above the level reaches it at the fewest links that were run, or before."""
    return f"links (from {sweep.links[0]} on) at which half of the tasks are accepted"


def _half_the_links(sweep: Sweep) -> Findings:
    if len(sweep.links) > 1:
        both, dedicated = (sweep.by_links("acceptance", networks) for networks in ("both", "dedicated"))
        ratio = crossing_ratio(both, dedicated, HALF)
        yield Finding("links of both over links of dedicated alone", ratio, FACTOR, most=0.5)


def _same_throughput(sweep: Sweep) -> Findings:
    """Read as: both at a number of links accept as many as dedicated links alone at twice as many."""
    for few in sweep.links:
        for many in sweep.links:
            if 2 * few - 1 <= many <= 2 * few:
                more = sweep.at("throughput", links=few) - sweep.at("throughput", "dedicated", links=many)
                yield Finding(f"{few} links less dedicated alone at {many}", interval(more), THROUGHPUT, least=0.0)


def _above_the_sum(metric: str) -> Callable[[Sweep], Findings]:
    def found(sweep: Sweep) -> Findings:
        for rate in sweep.rates:
            both, dedicated, public = (sweep.at(metric, networks, rate=rate) for networks in ("both", "dedicated", "public"))
            yield Finding(_per_hour(rate), interval(both - dedicated - public), POINTS, least=0.0, beyond=True)

    return found


def _links_used_more(sweep: Sweep) -> Findings:
    for rate in sweep.rates:
        more = sweep.at("link_utilisation", rate=rate) - sweep.at("link_utilisation", "dedicated", rate=rate)
        yield Finding(_per_hour(rate), interval(more), POINTS, least=0.0, beyond=True)


def _difference_shrinks(sweep: Sweep) -> Findings:
    def difference(links: int) -> Floats:
        return sweep.at("link_utilisation", links=links) - sweep.at("link_utilisation", "dedicated", links=links)

    for few, many in pairwise(sweep.coarse_links):
        yield Finding(f"{few} less {many} links", interval(difference(few) - difference(many)), POINTS, least=0.0, beyond=True)


def _falls(metric: str, *networks: str) -> Callable[[Sweep], Findings]:
    """By how much a metric falls from each number of links to the next."""

    def found(sweep: Sweep) -> Findings:
        for each in networks:
            for few, many in pairwise(sweep.coarse_links):
                fall = sweep.at(metric, each, links=few) - sweep.at(metric, each, links=many)
                yield Finding(f"{each}: {few} less {many} links", interval(fall), POINTS, least=0.0, beyond=True)

    return found


def _equivalent_in_the_end(sweep: Sweep) -> Findings:
    """Read as: at most 1 % of the hops go over the public network, and acceptance is the same within two points."""
    if len(sweep.links) > 1:
        most = sweep.links[-1]
        yield Finding(
            f"{most} links: hops over the public network", interval(sweep.at("public_share", links=most)), SHARE, most=0.01
        )
        more = sweep.at("acceptance", links=most) - sweep.at("acceptance", "dedicated", links=most)
        yield Finding(f"{most} links: acceptance above dedicated alone", interval(more), POINTS, -UNCHANGED, UNCHANGED)


def _in_range(
    metric: str, networks: str, least: float, most: float, unit: Callable[[float], str] = SHARE
) -> Callable[[Sweep], Findings]:
    """A metric at every rate."""

    def found(sweep: Sweep) -> Findings:
        for rate in sweep.rates:
            yield Finding(_per_hour(rate), interval(sweep.at(metric, networks, rate=rate)), unit, least, most)

    return found


def _at_default(metric: str, networks: str, least: float, most: float) -> Callable[[Sweep], Findings]:
    def found(sweep: Sweep) -> Findings:
        yield Finding(DEFAULT_POINT, interval(sweep.at(metric, networks)), SHARE, least, most)

    return found


def _marginal(sweep: Sweep) -> Findings:
    """Read as: all links beyond these together gain at most two points."""
    if FLAT_LINKS in sweep.links and sweep.links[-1] > FLAT_LINKS:
        gain = sweep.at("deviation", links=FLAT_LINKS) - sweep.at("deviation", links=sweep.links[-1])
        yield Finding(f"{FLAT_LINKS} less {sweep.links[-1]} links", interval(gain), POINTS, most=UNCHANGED)


def _lowered(way: str, printed: str, least: float, beyond: bool = False) -> Callable[[Sweep], Findings]:
    """By how much a choice of maps lowers the deviation against the printed one, network by network."""

    def found(sweep: Sweep) -> Findings:
        if sweep.has(way) and sweep.has(printed):
            difference = sweep.at("deviation", way=printed) - sweep.at("deviation", way=way)
            yield Finding(DEFAULT_POINT, interval(difference), POINTS, least=least, beyond=beyond)

    return found


STATEMENTS: tuple[tuple[str, str, Callable[[Sweep], Findings]], ...] = (
    ("re-allocation raises throughput", "§5.1, Fig. 8a", _gained("throughput", THROUGHPUT)),
    ("re-allocation raises the acceptance ratio", "§5.1", _gained("acceptance", POINTS)),
    ("re-allocation raises the utilisation of dedicated links", "§5.1, Fig. 8b", _gained("link_utilisation", POINTS)),
    ("re-allocation leaves CPU utilisation unchanged, within 2 points", "§5.1", _same_servers),
    ("re-allocation lowers the deviation at every rate", "§5.1, Fig. 8c", _gained("deviation", POINTS, -1.0)),
    ("dedicated links alone: more than 120 are needed to accept half of the tasks", "§6.2, Fig. 9b", _dedicated_needs_many),
    ("with the public network 50 links are enough to accept half of the tasks", "§6.2, Fig. 9b", _both_need_few),
    ("both networks accept half of the tasks with at most half the links of dedicated alone", "aim", _half_the_links),
    ("both networks reach the throughput of dedicated links alone with half the links", "§6.2, Fig. 9a", _same_throughput),
    (
        "server utilisation (reserved) of both is above the sum of the two alone",
        "§6.2, Fig. 9c",
        _above_the_sum("server_utilisation"),
    ),
    ("server utilisation (work done) of both is above the sum of the two alone", "§6.2, Fig. 9c", _above_the_sum("server_work")),
    ("dedicated links are used more if the public network is there too, at every rate", "§6.2, Fig. 9e", _links_used_more),
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
        _in_range("deviation", "both", *BOTH_BAND),
    ),
    (
        "deviation on the public network alone is above 50 % at every rate",
        "§6.2, Fig. 9g",
        _in_range("deviation", "public", PUBLIC_LEAST, INFINITE),
    ),
    (
        "deviation on dedicated links alone is almost zero, at most 1 %",
        "§6.2",
        _in_range("deviation", "dedicated", -INFINITE, ALMOST_ZERO),
    ),
    ("deviation with both networks falls towards zero as links are added", "§6.2, Fig. 9h", _falls("deviation", "both")),
    ("beyond 125 links the deviation improves marginally, by at most 2 points", "§6.2, Fig. 9h", _marginal),
    ("both networks take 10 to 20 % longer", "§6.2, Fig. 9i", _in_range("elongation", "both", *ELONGATION_BAND)),
    (
        "the public network alone takes 200 to 300 % longer",
        "§6.2, Fig. 9i",
        _in_range("elongation", "public", *PUBLIC_ELONGATION),
    ),
    ("deviation with both networks is at most 20 % at the default point", "aim", _at_default("deviation", "both", 0.0, 0.2)),
    (
        "deviation on the public network alone is at least 50 % at the default point",
        "aim",
        _at_default("deviation", "public", 0.5, INFINITE),
    ),
    ("both networks take at most 25 % longer at the default point", "aim", _at_default("elongation", "both", 0.0, 0.25)),
    (
        "the public network alone takes at least 150 % longer at the default point",
        "aim",
        _at_default("elongation", "public", 1.5, INFINITE),
    ),
    (
        "fewest public hops first lowers the deviation against the printed order",
        "aim",
        _lowered(CHOSEN, PRINTED, 0.0, beyond=True),
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
"""What is said, where, and what is found of it; "aim" marks what we ask for beyond the paper."""
