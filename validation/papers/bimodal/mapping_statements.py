"""Sentences of the paper on its heuristics for mapping (§4.2, Fig. 7), judged on mapped tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from edrp.core.arrays import Floats
from edrp.report.estimates import Estimate, estimate_mean, estimate_share
from edrp.report.formatting import FACTOR, NUMBER, POINTS, SHARE
from edrp.report.statements import Finding, Rule, Statement, judged
from edrp.validation.papers.bimodal.mapping_runs import ANNEALED, LEAST, RANDOM_1, Mapped, MappedBySize
from edrp.validation.papers.bimodal.statistics import estimate_exponent

CLOSE, FAIRLY_CLOSE = 1.03, 1.5
"""Factors of the optimum and of the bound that are "very close" and "fairly close"; the paper has no numbers."""

ALIKE = 0.01
"""Mean costs that differ by no more than this share of the optimum are "equally" close, and no gain that is worth messages."""

MUCH = 1.5
"""Times as many messages, or as high a cost: "much higher", "not good"."""

MAX_GROWTH, MIN_FOUND = 1.3, 0.98
"""Aims for LeastCostMap: exponent of its messages in the number of servers, share of the tasks that it maps."""


def mapping_statements(found: MappedBySize) -> tuple[Statement, ...]:
    """Every sentence of §4.2 on the heuristics, and our own aims, judged; those without numbers are left out."""
    return judged(RULES, found)


Findings = Iterator[Finding]


def messages_per_server(found: MappedBySize, name: str) -> tuple[Floats, Floats]:
    """Numbers of servers and of messages of every task that a heuristic had to map."""
    servers = [np.full(mapped.messages[name].size, float(size)) for size, mapped in found.items()]
    return np.concatenate(servers), np.concatenate([mapped.messages[name] for mapped in found.values()])


def _above(name: str, maximum: float, to_bound: bool) -> Callable[[MappedBySize], Findings]:
    """The cost of a heuristic over the optimum, or over the paper's bound, where it finds a map."""

    def findings(by_size: MappedBySize) -> Findings:
        for servers, mapped in by_size.items():
            ratio = mapped.ratio(name, mapped.bound if to_bound else mapped.optimum)
            if ratio.size:
                yield Finding(f"{name}, {servers} servers", estimate_mean(ratio), FACTOR, maximum=maximum)

    return findings


def _gain(mapped: Mapped) -> Floats:
    """By how much annealing lowers the cost of tasks that both heuristics map, as a share of the optimum."""
    both = mapped.found(LEAST) & mapped.found(ANNEALED)
    saved = mapped.costs[LEAST][both] - mapped.costs[ANNEALED][both]
    return saved / mapped.optimum[both]


def _equally_close(by_size: MappedBySize) -> Findings:
    for servers, mapped in by_size.items():
        yield Finding(f"{servers} servers", estimate_mean(_gain(mapped)), POINTS, -ALIKE, ALIKE)


def _no_gain(by_size: MappedBySize) -> Findings:
    for servers, mapped in by_size.items():
        yield Finding(f"{servers} servers: gain", estimate_mean(_gain(mapped)), POINTS, maximum=ALIKE)
    yield from _more_messages(LEAST)(by_size)


def _more_messages(*others: str) -> Callable[[MappedBySize], Findings]:
    """Messages of annealing as multiples of those of other heuristics."""

    def findings(by_size: MappedBySize) -> Findings:
        for (servers, mapped), other in product(by_size.items(), others):
            yield Finding(f"{servers} servers: messages over {other}", _multiple(mapped, ANNEALED, other), NUMBER, minimum=MUCH)

    return findings


def _multiple(mapped: Mapped, name: str, other: str) -> Estimate:
    """Messages of a heuristic over those of another for the same task, as a geometric mean: a few tasks take very many."""
    logarithm = estimate_mean(np.log(mapped.messages[name] / mapped.messages[other]))
    return logarithm.transformed(lambda value: float(np.exp(value)))


def _not_good(by_size: MappedBySize) -> Findings:
    for servers, mapped in by_size.items():
        missed = mapped.found(LEAST).astype(np.float64) - mapped.found(RANDOM_1)
        yield Finding(
            f"{servers} servers: mapped less than LeastCostMap", estimate_mean(missed), POINTS, minimum=0.0, strict=True
        )
        ratio = mapped.ratio(RANDOM_1, mapped.optimum)
        if ratio.size:
            yield Finding(f"{servers} servers: cost over the optimum", estimate_mean(ratio), FACTOR, minimum=MUCH)


def _few_messages(by_size: MappedBySize) -> Findings:
    for servers, mapped in by_size.items():
        yield Finding(f"{servers} servers", _multiple(mapped, RANDOM_1, LEAST), NUMBER, maximum=0.5)


def _maps_nearly_all(by_size: MappedBySize) -> Findings:
    counts = [(int(mapped.found(LEAST).sum()), mapped.optimum.size) for mapped in by_size.values()]
    count, total = (sum(column) for column in zip(*counts, strict=True))
    yield Finding(f"{count} of {total} tasks that can be mapped", estimate_share(count, total), SHARE, minimum=MIN_FOUND)


def _grows_little(by_size: MappedBySize) -> Findings:
    if len(by_size) > 1:
        exponent = estimate_exponent(*messages_per_server(by_size, LEAST))
        yield Finding("exponent of messages in the number of servers", exponent, NUMBER, maximum=MAX_GROWTH)


RULES: tuple[Rule, ...] = (
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
"""Sentence, section and findings; the section "aim" marks a goal of our own."""
