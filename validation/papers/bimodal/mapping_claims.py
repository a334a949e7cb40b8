"""What the paper says of its heuristics for mapping (§4.2, Fig. 7), with verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from edrp.core.arrays import Floats
from edrp.validation.papers.bimodal.findings import FACTOR, NUMBER, POINTS, SHARE, Finding, Statement
from edrp.validation.papers.bimodal.mapping import ANNEALED, LEAST, RANDOM_1, Mapped, MappedBySize
from edrp.validation.papers.bimodal.statistics import growth_exponent, share_interval
from edrp.validation.report.intervals import Interval, interval

CLOSE, FAIRLY_CLOSE = 1.03, 1.5
"""Factors of the optimum and of the bound that are "very close" and "fairly close"; the paper has no numbers."""

ALIKE = 0.01
"""Mean costs that differ by no more than this share of the optimum are "equally" close, and no gain that is worth messages."""

MUCH = 1.5
"""Times as many messages, or as high a cost: "much higher", "not good"."""

MOST_GROWTH, LEAST_FOUND = 1.3, 0.98
"""Aims for LeastCostMap: exponent of its messages in the number of servers, share of the tasks that it maps."""


def mapping_statements(found: MappedBySize) -> tuple[Statement, ...]:
    """Every sentence of §4.2 on the heuristics, and our own aims, judged; those without numbers are left out."""
    made = (Statement(sentence, section, tuple(judge(found))) for sentence, section, judge in STATEMENTS)
    return tuple(each for each in made if each.findings)


Findings = Iterator[Finding]


def messages_per_server(found: MappedBySize, name: str) -> tuple[Floats, Floats]:
    """Numbers of servers and of messages of every task that a heuristic was asked to map."""
    servers = [np.full(mapped.messages[name].size, float(size)) for size, mapped in found.items()]
    return np.concatenate(servers), np.concatenate([mapped.messages[name] for mapped in found.values()])


def _above(name: str, most: float, to_bound: bool) -> Callable[[MappedBySize], Findings]:
    """The cost of a heuristic over the optimum, or over the paper's bound, where it finds a map."""

    def found(by_size: MappedBySize) -> Findings:
        for servers, mapped in by_size.items():
            ratio = mapped.ratio(name, mapped.bound if to_bound else mapped.optimum)
            if ratio.size:
                yield Finding(f"{name}, {servers} servers", interval(ratio), FACTOR, most=most)

    return found


def _gain(mapped: Mapped) -> Floats:
    """By how much annealing lowers the cost of tasks that both heuristics map, as a share of the optimum."""
    both = mapped.found(LEAST) & mapped.found(ANNEALED)
    saved = mapped.costs[LEAST][both] - mapped.costs[ANNEALED][both]
    return saved / mapped.optimum[both]


def _equally_close(by_size: MappedBySize) -> Findings:
    for servers, mapped in by_size.items():
        yield Finding(f"{servers} servers", interval(_gain(mapped)), POINTS, -ALIKE, ALIKE)


def _no_gain(by_size: MappedBySize) -> Findings:
    for servers, mapped in by_size.items():
        yield Finding(f"{servers} servers: gain", interval(_gain(mapped)), POINTS, most=ALIKE)
    yield from _more_messages(LEAST)(by_size)


def _more_messages(*others: str) -> Callable[[MappedBySize], Findings]:
    """Messages of annealing as multiples of those of other heuristics."""

    def found(by_size: MappedBySize) -> Findings:
        for (servers, mapped), other in product(by_size.items(), others):
            yield Finding(f"{servers} servers: messages over {other}", _multiple(mapped, ANNEALED, other), NUMBER, least=MUCH)

    return found


def _multiple(mapped: Mapped, name: str, other: str) -> Interval:
    """Messages of a heuristic as a multiple of those of another for the same task, geometric mean: a few tasks take very many."""
    found = interval(np.log(mapped.messages[name] / mapped.messages[other]))
    low, high = (None if end is None else float(np.exp(end)) for end in (found.low, found.high))
    return Interval(float(np.exp(found.mean)), low, high)


def _not_good(by_size: MappedBySize) -> Findings:
    for servers, mapped in by_size.items():
        missed = mapped.found(LEAST).astype(np.float64) - mapped.found(RANDOM_1)
        yield Finding(f"{servers} servers: mapped less than LeastCostMap", interval(missed), POINTS, least=0.0, beyond=True)
        ratio = mapped.ratio(RANDOM_1, mapped.optimum)
        if ratio.size:
            yield Finding(f"{servers} servers: cost over the optimum", interval(ratio), FACTOR, least=MUCH)


def _few_messages(by_size: MappedBySize) -> Findings:
    for servers, mapped in by_size.items():
        yield Finding(f"{servers} servers", _multiple(mapped, RANDOM_1, LEAST), NUMBER, most=0.5)


def _maps_nearly_all(by_size: MappedBySize) -> Findings:
    counts = [(int(mapped.found(LEAST).sum()), mapped.optimum.size) for mapped in by_size.values()]
    count, of = (sum(each) for each in zip(*counts, strict=True))
    yield Finding(f"{count} of {of} tasks that can be mapped", share_interval(count, of), SHARE, least=LEAST_FOUND)


def _grows_little(by_size: MappedBySize) -> Findings:
    if len(by_size) > 1:
        exponent = growth_exponent(*messages_per_server(by_size, LEAST))
        yield Finding("exponent of messages in the number of servers", exponent, NUMBER, most=MOST_GROWTH)


STATEMENTS: tuple[tuple[str, str, Callable[[MappedBySize], Findings]], ...] = (
    ("LeastCostMap is very close to the optimum: at most 1.03 of it in the mean", "§4.2, Fig. 7a", _above(LEAST, CLOSE, False)),
    ("AnnealedLeastCostMap is as close to the optimum: at most 1.03 of it", "§4.2, Fig. 7a", _above(ANNEALED, CLOSE, False)),
    ("LeastCostMap and AnnealedLeastCostMap are equally close, within 1 % of the optimum", "§4.2, Fig. 7a", _equally_close),
    ("LeastCostMap is fairly close to the paper's bound: at most 1.5 of it", "§4.2, Fig. 7a", _above(LEAST, FAIRLY_CLOSE, True)),
    (
        "RandomNeighbor (k = 1) is not good: it maps fewer tasks than LeastCostMap, at 1.5 times the optimum or more",
        "§4.2, Fig. 7a",
        _not_good,
    ),
    (
        "AnnealedLeastCostMap takes far more messages than both, at least 1.5 times as many",
        "§4.2, Fig. 7b",
        _more_messages(LEAST, RANDOM_1),
    ),
    ("RandomNeighbor (k = 1) takes far fewer than LeastCostMap, at most half", "§4.1.3", _few_messages),
    ("the messages of annealing are not worth its gain", "§4.2", _no_gain),
    ("LeastCostMap maps at least 98 % of what can be mapped", "aim", _maps_nearly_all),
    ("messages of LeastCostMap grow with an exponent of at most 1.3", "aim", _grows_little),
)
"""What is said, where, and what is found of it; "aim" marks what we ask for beyond the paper."""
