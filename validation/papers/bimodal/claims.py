"""Sentences of the paper on heuristics (§4.2, Fig. 7), re-allocation (§5.1, Fig. 8) and both networks (§6.2, Fig. 9), as data.

The section "aim" marks a goal of our own. Where the paper prints no number, the sentence or a comment says how it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise, product
from math import inf
from operator import sub
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats
from edrp.report.estimates import MIN_RESAMPLED, RESAMPLES, TAIL, Estimate, estimate_mean, estimate_share, percentile_estimate
from edrp.report.formatting import FACTOR, NUMBER, POINTS, SHARE, Unit
from edrp.report.statements import Finding
from edrp.validation.papers.bimodal import runs
from edrp.validation.papers.claims import Claims, Places, Requirement, positive


def crossing(x: Sequence[float], y: ArrayLike, level: float) -> float:
    """Return the x at which a piecewise linear curve first reaches a level; infinity where it never does.

    A curve that begins above the level crosses at its first x, or before.

    >>> crossing([50, 100, 150], [0.2, 0.4, 0.8], 0.5)
    112.5
    >>> crossing([50, 100], [0.6, 0.9], 0.5), crossing([50, 100], [0.1, 0.2], 0.5)
    (50.0, inf)
    """
    height = np.asarray(y, dtype=np.float64)
    above = np.flatnonzero(height >= level)
    if not above.size:
        return float("inf")
    index = int(above[0])
    if index == 0:
        return float(x[0])
    share = (level - height[index - 1]) / (height[index] - height[index - 1])
    return float(x[index - 1] + share * (x[index] - x[index - 1]))


def estimate_crossing(curves: Mapping[float, Floats], level: float) -> Estimate:
    """Estimate the x at which the mean of curves first reaches a level; the interval comes from resampled networks.

    >>> estimate_crossing({50: np.array([0.2, 0.2]), 100: np.array([0.6, 0.8])}, 0.5).mean
    80.0
    """
    first, *resampled = _crossings(curves, level)
    return percentile_estimate(float(first), np.array(resampled), "nearest")


def estimate_crossing_ratio(curves: Mapping[float, Floats], others: Mapping[float, Floats], level: float) -> Estimate:
    """Estimate the ratio between the x at which the means of two sets of curves on the same networks first reach a level.

    >>> ours, others = ({x: np.array([x / end, x / end]) for x in (50, 100)} for end in (100, 200))
    >>> estimate_crossing_ratio(ours, others, 0.5).mean
    0.5
    """
    with np.errstate(invalid="ignore"):
        ratios = _crossings(curves, level) / _crossings(others, level)
    first, *resampled = np.where(np.isnan(ratios), np.inf, ratios)
    return percentile_estimate(float(first), np.array(resampled), "nearest")


def estimate_exponent(x: ArrayLike, y: ArrayLike) -> Estimate:
    """The exponent p of y ~ xᵖ: the slope of a least-squares line through the logarithms, with its interval.

    >>> round(estimate_exponent([1, 2, 4, 8], [3, 6, 12, 24]).mean, 9)
    1.0
    """
    from scipy import stats

    logs = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    line = stats.linregress(*logs)
    freedom = logs[0].size - 2
    if freedom < 1:
        return Estimate(float(line.slope), None, None)
    reach = float(stats.t.ppf(1 - TAIL, freedom) * line.stderr)
    return Estimate(float(line.slope), float(line.slope) - reach, float(line.slope) + reach)


def _crossings(curves: Mapping[float, Floats], level: float) -> Floats:
    """Return the x at which the mean reaches the level, of all networks, then of networks resampled by a fixed seed."""
    x = sorted(curves)
    heights = np.array([curves[at] for at in x])
    count = heights.shape[1]
    drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES if count >= MIN_RESAMPLED else 0, count))
    samples = np.vstack([np.arange(count), drawn])
    return np.array([crossing(x, curve, level) for curve in heights[:, samples].mean(axis=2).T])


AIM = "aim"
"""Section of a claim that is not the paper's."""

LINKS, THROUGHPUT = Unit(1, ".0f", " links"), Unit(1, "+.2f", " tasks/h")

MUCH = 1.5
"""Times as many messages, or as high a cost: "much higher", "not good"; of the bound, "fairly close"."""

UNCHANGED, ALIKE = 0.02, 0.01
"""Shares that differ by no more count as equal; mean costs, as shares of the optimum, count as equally close."""

FLAT_LINKS = 125
"""Number of links from which on more links improve the deviation only marginally."""

Place = tuple[str, Any]
SweepValue = Callable[[runs.SampleSweep, Any], Floats]


def each_size(text: str = "{} servers") -> Places:
    """Numbers of servers, each with the tasks that were mapped."""
    return lambda found: ((text.format(servers), mapped) for servers, mapped in found.items())


def messages_per_server(mapped_by_size: runs.MappedBySize, name: str) -> tuple[Floats, Floats]:
    """Numbers of servers and of messages of every task that a heuristic had to map."""
    servers = [np.full(mapped.messages[name].size, float(size)) for size, mapped in mapped_by_size.items()]
    return np.concatenate(servers), np.concatenate([mapped.messages[name] for mapped in mapped_by_size.values()])


def _close(name: str, to: str, maximum: float) -> Requirement:
    """The cost of a heuristic over the optimum, or over the paper's bound, where it finds a map."""
    places = each_size(f"{name}, {{}} servers")
    return Requirement(places, lambda _, mapped: mapped.ratio(name, getattr(mapped, to)), FACTOR, maximum=maximum)


def _gain(text: str, minimum: float = -inf) -> Requirement:
    """Require a gain of annealing in the cost of tasks that both heuristics map, as a share of the optimum."""

    def gain(_: runs.MappedBySize, mapped: runs.Mapped) -> Floats:
        both = mapped.found(runs.LEAST) & mapped.found(runs.ANNEALED)
        return (mapped.costs[runs.LEAST][both] - mapped.costs[runs.ANNEALED][both]) / mapped.optimum[both]

    return Requirement(each_size(text), gain, POINTS, minimum, ALIKE)


def _not_good(mapped_by_size: runs.MappedBySize) -> Iterator[Finding]:
    for servers, mapped in mapped_by_size.items():
        missed = mapped.found(runs.LEAST).astype(np.float64) - mapped.found(runs.RANDOM_1)
        yield Finding(f"{servers} servers: mapped less than LeastCostMap", estimate_mean(missed), POINTS, 0.0, strict=True)
        ratio = mapped.ratio(runs.RANDOM_1, mapped.optimum)
        if ratio.size:
            yield Finding(f"{servers} servers: cost over the optimum", estimate_mean(ratio), FACTOR, minimum=MUCH)


def _multiple(_: runs.MappedBySize, place: tuple[runs.Mapped, str, str]) -> Estimate:
    """Messages of a heuristic over those of another for the same task, as a geometric mean: a few tasks take very many."""
    mapped, name, other = place
    logarithm = estimate_mean(np.log(mapped.messages[name] / mapped.messages[other]))
    return logarithm.transformed(lambda value: float(np.exp(value)))


def _messages(text: str, name: str, *others: str, minimum: float = -inf, maximum: float = inf) -> Requirement:
    """Messages of a heuristic as multiples of those of others."""

    def places(mapped_by_size: runs.MappedBySize) -> Iterator[Place]:
        for (servers, mapped), other in product(mapped_by_size.items(), others):
            yield text.format(servers, other), (mapped, name, other)

    return Requirement(places, _multiple, NUMBER, minimum, maximum)


def _more_messages(*others: str) -> Requirement:
    return _messages("{} servers: messages over {}", runs.ANNEALED, *others, minimum=MUCH)


def _tasks_found(mapped_by_size: runs.MappedBySize) -> Iterator[Place]:
    counts = [(int(mapped.found(runs.LEAST).sum()), mapped.optimum.size) for mapped in mapped_by_size.values()]
    count, total = (sum(column) for column in zip(*counts, strict=True))
    yield f"{count} of {total} tasks that can be mapped", estimate_share(count, total)


def _growth(mapped_by_size: runs.MappedBySize) -> Iterator[Place]:
    if len(mapped_by_size) > 1:
        yield "exponent of messages in the number of servers", estimate_exponent(*messages_per_server(mapped_by_size, runs.LEAST))


def _estimated(_: Any, estimate: Estimate) -> Estimate:
    return estimate


def each_rate(sweep: runs.SampleSweep) -> Iterator[Place]:
    """Points at the spanning tree."""
    return ((f"{rate:g} tasks/h", {"rate": rate}) for rate in sweep.rates)


def default_point(*ways: str) -> Places:
    """The default point, if runs were made there in these ways."""
    return lambda sweep: [(f"{runs.DEFAULT_RATE:g} tasks/h, {runs.SPANNING} links", {})] if all(map(sweep.has, ways)) else []


def _if_varied(text: str) -> Places:
    """The most links, where several numbers of links were run; the text may name the first and the last."""

    def places(sweep: runs.SampleSweep) -> Iterator[Place]:
        if len(sweep.links) > 1:
            yield text.format(sweep.links[0], sweep.links[-1]), {"links": sweep.links[-1]}

    return places


def _metric(name: str, networks: str = "both", **where: Any) -> SweepValue:
    """A metric over the networks at a point."""
    return lambda sweep, point: sweep.at(name, networks, **point, **where)


def _less(*values: SweepValue) -> SweepValue:
    """The first value less the others, network by network."""
    return lambda sweep, point: reduce(sub, (value(sweep, point) for value in values))


def _above_dedicated(metric: str) -> SweepValue:
    return _less(_metric(metric), _metric(metric, "dedicated"))


def _raised(metric: str) -> SweepValue:
    """Return the amount by which re-allocation raises a metric."""
    return _less(_metric(metric), _metric(metric, way=runs.FIXED))


def _above_sum(metric: str) -> Requirement:
    """Both networks must be above the sum of the two alone."""
    return positive(each_rate, _less(*(_metric(metric, networks) for networks in runs.NETWORKS)), POINTS)


def _half(networks: str, **limits: Any) -> Requirement:
    """Links with which half of the tasks are accepted; a curve that begins above gets there at the fewest, or before."""
    places = _if_varied("links (from {0} on) at which half of the tasks are accepted")
    return Requirement(places, lambda sweep, _: estimate_crossing(sweep.by_links("acceptance", networks), 0.5), LINKS, **limits)


def _half_ratio(sweep: runs.SampleSweep, _: Any) -> Estimate:
    return estimate_crossing_ratio(sweep.by_links("acceptance", "both"), sweep.by_links("acceptance", "dedicated"), 0.5)


def _doubled(sweep: runs.SampleSweep) -> Iterator[Place]:
    """Numbers of links, and those that are twice as many, or one fewer."""
    for few, many in product(sweep.links, repeat=2):
        if 2 * few - 1 <= many <= 2 * few:
            yield f"{few} links less dedicated alone at {many}", (few, many)


def _with_half(sweep: runs.SampleSweep, links: tuple[int, int]) -> Floats:
    return sweep.at("throughput", links=links[0]) - sweep.at("throughput", "dedicated", links=links[1])


def _falls(value: SweepValue, prefix: str = "") -> Requirement:
    """A value must fall from each number of links to the next that is far enough."""
    return positive(
        lambda sweep: ((f"{prefix}{few} less {many} links", (few, many)) for few, many in pairwise(sweep.coarse_links)),
        _fall(value),
        POINTS,
    )


def _fall(value: SweepValue) -> SweepValue:
    """Return the amount by which a value falls from one number of links to another."""
    return lambda sweep, links: value(sweep, {"links": links[0]}) - value(sweep, {"links": links[1]})


def _metric_falls(metric: str, networks: str) -> Requirement:
    return _falls(_metric(metric, networks), f"{networks}: ")


def _beyond(sweep: runs.SampleSweep) -> Iterator[Place]:
    """Yield one place that covers all numbers of links beyond `FLAT_LINKS`."""
    if FLAT_LINKS in sweep.links and sweep.links[-1] > FLAT_LINKS:
        yield f"{FLAT_LINKS} less {sweep.links[-1]} links", (FLAT_LINKS, sweep.links[-1])


def _share(minimum: float, maximum: float, metric: str, networks: str, places: Places = each_rate) -> Requirement:
    return Requirement(places, _metric(metric, networks), SHARE, minimum, maximum)


def _by_default(minimum: float, maximum: float, metric: str, networks: str) -> Requirement:
    return _share(minimum, maximum, metric, networks, default_point())


def _lowered(way: str, printed: str, minimum: float = 0.2, strict: bool = False) -> Requirement:
    """The reduction of the deviation by a choice of maps against the printed one."""
    reduction = _less(_metric("deviation", way=printed), _metric("deviation", way=way))
    return Requirement(default_point(way, printed), reduction, POINTS, minimum, strict=strict)


MAPPING_CLAIMS: Claims = (
    ("§4.2, Fig. 7a", "LeastCostMap is very close to the optimum: at most 1.03 of it in the mean",
     _close(runs.LEAST, "optimum", 1.03)),
    ("§4.2, Fig. 7a", "AnnealedLeastCostMap is as close to the optimum: at most 1.03 of it",
     _close(runs.ANNEALED, "optimum", 1.03)),
    ("§4.2, Fig. 7a", "LeastCostMap and AnnealedLeastCostMap are equally close, within 1 % of the optimum",
     _gain("{} servers", -ALIKE)),
    ("§4.2, Fig. 7a", "LeastCostMap is fairly close to the paper's bound: at most 1.5 of it", _close(runs.LEAST, "bound", MUCH)),
    ("§4.2, Fig. 7a",
     "RandomNeighbor (k = 1) is not good: it maps fewer tasks than LeastCostMap, at 1.5 times the optimum or more",
     _not_good),
    ("§4.2, Fig. 7b", "AnnealedLeastCostMap takes far more messages than both, at least 1.5 times as many",
     _more_messages(runs.LEAST, runs.RANDOM_1)),
    ("§4.1.3", "RandomNeighbor (k = 1) takes far fewer than LeastCostMap, at most half",
     _messages("{} servers", runs.RANDOM_1, runs.LEAST, maximum=0.5)),
    ("§4.2", "the messages of annealing are not worth its gain", _gain("{} servers: gain"), _more_messages(runs.LEAST)),
    (AIM, "LeastCostMap maps at least 98 % of what can be mapped", Requirement(_tasks_found, _estimated, SHARE, 0.98)),
    (AIM, "messages of LeastCostMap grow with an exponent of at most 1.3", Requirement(_growth, _estimated, NUMBER, maximum=1.3)),
)  # fmt: skip

CLAIMS: Claims = (
    ("§5.1, Fig. 8a", "re-allocation raises throughput", positive(each_rate, _raised("throughput"), THROUGHPUT)),
    ("§5.1", "re-allocation raises the acceptance ratio", positive(each_rate, _raised("acceptance"), POINTS)),
    ("§5.1, Fig. 8b", "re-allocation raises the utilisation of dedicated links",
     positive(each_rate, _raised("link_utilisation"), POINTS)),
    ("§5.1", "re-allocation leaves CPU utilisation unchanged, within 2 points",
     Requirement(each_rate, _raised("server_utilisation"), POINTS, -UNCHANGED, UNCHANGED)),
    ("§5.1, Fig. 8c", "re-allocation lowers the deviation at every rate",
     positive(each_rate, _less(_metric("deviation", way=runs.FIXED), _metric("deviation")), POINTS)),
    ("§6.2, Fig. 9b", "dedicated links alone: more than 120 are needed to accept half of the tasks",
     _half("dedicated", minimum=120, strict=True)),
    ("§6.2, Fig. 9b", "with the public network 50 links are enough to accept half of the tasks", _half("both", maximum=50)),
    (AIM, "both networks accept half of the tasks with at most half the links of dedicated alone",
     Requirement(_if_varied("links of both over links of dedicated alone"), _half_ratio, FACTOR, maximum=0.5)),
    # Read as: both at a number of links accept as many as dedicated links alone at twice as many.
    ("§6.2, Fig. 9a", "both networks reach the throughput of dedicated links alone with half the links",
     Requirement(_doubled, _with_half, THROUGHPUT, minimum=0.0)),
    ("§6.2, Fig. 9c", "server utilisation (reserved) of both is above the sum of the two alone",
     _above_sum("server_utilisation")),
    ("§6.2, Fig. 9c", "server utilisation (work done) of both is above the sum of the two alone", _above_sum("server_work")),
    ("§6.2, Fig. 9e", "dedicated links are used more if the public network is there too, at every rate",
     positive(each_rate, _above_dedicated("link_utilisation"), POINTS)),
    ("§6.2, Fig. 9f", "with the public network the links are used more, but ever less so as links are added",
     _falls(_above_dedicated("link_utilisation"))),
    ("§6.2, Fig. 9f", "utilisation of links falls as links are added, in both cases",
     _metric_falls("link_utilisation", "both"), _metric_falls("link_utilisation", "dedicated")),
    # Read as: at most 1 % of the hops go over the public network, and acceptance is the same within two points.
    ("§6.2, Fig. 9f", "with enough links the public network is not used: both become dedicated alone",
     Requirement(_if_varied("{1} links: hops over the public network"), _metric("public_share"), SHARE, maximum=0.01),
     Requirement(_if_varied("{1} links: acceptance above dedicated alone"), _above_dedicated("acceptance"), POINTS,
                 -UNCHANGED, UNCHANGED)),
    ("§6.2, Fig. 9g", "deviation with both networks is between 10 and 20 % at every rate", _share(0.1, 0.2, "deviation", "both")),
    ("§6.2, Fig. 9g", "deviation on the public network alone is above 50 % at every rate",
     _share(0.5, inf, "deviation", "public")),
    ("§6.2", "deviation on dedicated links alone is almost zero, at most 1 %", _share(-inf, 0.01, "deviation", "dedicated")),
    ("§6.2, Fig. 9h", "deviation with both networks falls towards zero as links are added", _metric_falls("deviation", "both")),
    ("§6.2, Fig. 9h", "beyond 125 links the deviation improves marginally, by at most 2 points",
     Requirement(_beyond, _fall(_metric("deviation")), POINTS, maximum=UNCHANGED)),
    ("§6.2, Fig. 9i", "both networks take 10 to 20 % longer", _share(0.1, 0.2, "elongation", "both")),
    ("§6.2, Fig. 9i", "the public network alone takes 200 to 300 % longer", _share(2.0, 3.0, "elongation", "public")),
    (AIM, "deviation with both networks is at most 20 % at the default point", _by_default(0.0, 0.2, "deviation", "both")),
    (AIM, "deviation on the public network alone is at least 50 % at the default point",
     _by_default(0.5, inf, "deviation", "public")),
    (AIM, "both networks take at most 25 % longer at the default point", _by_default(0.0, 0.25, "elongation", "both")),
    (AIM, "the public network alone takes at least 150 % longer at the default point",
     _by_default(1.5, inf, "elongation", "public")),
    (AIM, "fewest public hops first lowers the deviation against the printed order",
     _lowered(runs.CHOSEN, runs.PRINTED, 0.0, strict=True)),
    (AIM, "fewest public hops, then links, with 3 empty hops lowers the deviation by at least 20 points",
     _lowered(runs.FURTHER, runs.PRINTED)),
    (AIM, "without re-allocation that choice lowers the deviation by at least 20 points",
     _lowered(runs.FURTHER_FIXED, runs.PRINTED_FIXED)),
    (AIM, "where messages take no time, that choice lowers the deviation by at least 20 points",
     _lowered(runs.FURTHER_INSTANT, runs.PRINTED_INSTANT)),
)  # fmt: skip
