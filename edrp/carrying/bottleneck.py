"""Bottlenecks of a load: its largest multiple again after each change of the problem by one unit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

from edrp.carrying.largest_rate import LargestRate, largest_rate
from edrp.core.arguments import check_arguments
from edrp.core.budget import interruptible, running, units_left
from edrp.core.claims import SETTLED
from edrp.core.document import named_resources
from edrp.core.errors import Fault, InvalidArgumentError, ProblemTooLargeError
from edrp.core.tolerances import RATE_GAP, SAME_VALUE
from edrp.core.wording import format_place, shown
from edrp.placement.compilation import compile_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import MAX_REPLICAS
from edrp.placement.metrics.peak_load import shared_resources
from edrp.placement.node_classes import node_classes

WHAT_IF_WORK = 30.0
"""Units of work at most for all changes together where no limit is given."""

LARGE_AMOUNT = 1_000.0
"""Amount of a resource from which on a tenth of it is added, since one unit, such as a byte, would say nothing."""

TENTH = 0.1
"""Part by which limits are relaxed, and large amounts grow."""


class Change(NamedTuple):
    """A change of a problem that takes nothing away: place in the document, words, and the new value; None drops a rule."""

    place: tuple[str | int, ...]
    words: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class RateGain:
    """The largest multiple after a change.

    Attributes
    ----------
    change : what is changed.
    after : the largest rate after it.
    gain : its multiple over that without the change, −1; 0 where both are the same, None where either is missing.
    """

    change: Change
    after: LargestRate
    gain: float | None

    @property
    def helps(self) -> bool:
        """Whether more is carried, or anything at all."""
        return self.after.multiple is not None and (self.gain is None or self.gain > 0)


@dataclass(frozen=True, slots=True)
class Bottlenecks:
    """Gains of all changes by one unit.

    Attributes
    ----------
    largest : the largest multiple without a change.
    gains : of every change, largest gain first.
    """

    largest: LargestRate
    gains: tuple[RateGain, ...]

    @property
    def helpful(self) -> tuple[RateGain, ...]:
        """Changes with which more is carried."""
        return tuple(gain for gain in self.gains if gain.helps)

    def rate_text(self, gain: RateGain) -> str:
        """The rate of the source that grows, after a change; the multiple of the rates where several grow."""
        if not gain.after.finite:
            return "any rate"
        if len(growing := self.largest.load.growing) > 1:
            return f"{gain.after.multiple:.6g} times the rates"
        return f"{gain.after.rates[min(growing)]:.6g} tuples/s"

    def sentence(self, gain: RateGain) -> str:
        """The gain of a change in words; the multiple is proven where nothing else is said."""
        known = "" if gain.after.status in SETTLED else ", as far as known"
        if not gain.helps:
            return f"{gain.change.words} does not help{known}"
        more = "" if gain.gain is None or math.isinf(gain.gain) else f", {100 * gain.gain:+.3g} %"
        return f"{gain.change.words} carries {self.rate_text(gain)}{more}{known}"

    def summary(self) -> Iterator[str]:
        """Sentences on the numbers of changes that do not help, and of those of which that is not known."""
        left = [gain for gain in self.gains if not gain.helps]
        if proven := sum(gain.after.status in SETTLED for gain in left):
            yield f"{proven} other changes do not help, each by itself (proven)"
        if proven < len(left):
            yield f"Of {len(left) - proven} changes it is not known within the work limit whether they help"

    def to_document(self) -> list[dict[str, Any]]:
        """Every change with the largest rate after it, as JSON."""
        return [
            {"change": gain.change.words, "place": format_place(gain.change.place), **gain.after.to_document()}
            for gain in self.gains
        ]


def find_bottlenecks(
    largest: LargestRate, *, method: str = "auto", time_limit: float | None = None, work_limit: float | None = None
) -> Bottlenecks:
    """Find what more is carried with one unit more of each thing that may be scarce.

    Changed are, one at a time: every resource and every capacity of a shared resource of every node, by one unit (one device; a
    tenth of an amount of 1,000 or more, such as bytes); `max_replicas` of every operator, by one; every limit, which is relaxed
    by a tenth on the scale of its metric; and every hard rule, which is dropped. Of nodes that may be exchanged for one another,
    one is changed. Both limits are for all changes together; without either, there are `WHAT_IF_WORK` units.

    Raises
    ------
    InvalidArgumentError
        `largest` is not what `edrp.largest_rate` returns.
    UnsupportedProblemError
        As `edrp.largest_rate`.

    Examples
    --------
    >>> work = {"name": "work", "external_rate": 100, "max_replicas": 3, "latency": {"model": "mm1", "service_rate": 60}}
    >>> problem = EdrpProblem(
    ...     application={"operators": [{**work, "resources": {"cpu": 1}}]},
    ...     network={"nodes": [{"name": "a", "resources": {"cpu": 2}}]}, weights={"cost": 1}, limits={"cost": 1},
    ... )
    >>> bottlenecks = find_bottlenecks(largest_rate(problem))
    >>> [bottlenecks.sentence(gain) for gain in bottlenecks.helpful]
    ['one more cpu on node a carries 180 tuples/s, +50 %']
    >>> list(bottlenecks.summary())
    ['2 other changes do not help, each by itself (proven)']
    """
    limits: dict[str, Any] = {"time_limit": time_limit, "work_limit": work_limit}
    check_arguments("edrp.find_bottlenecks", method=method, **limits)
    if not isinstance(largest, LargestRate):
        fault = Fault("largest", shown(largest), "is not what edrp.largest_rate returns")
        raise InvalidArgumentError([fault], "edrp.find_bottlenecks")
    if time_limit is None and work_limit is None:
        limits["work_limit"] = WHAT_IF_WORK
    changes = [] if largest.status == "unbounded" else list(find_changes(largest.load.problem))
    gains = []
    with running(**limits) as run, interruptible(run):
        for left, change in zip(range(len(changes), 0, -1), changes, strict=True):
            gains.append(_gain(largest, change, method, units_left() / left))
    gains.sort(key=lambda gain: math.inf if gain.after.multiple is None else -gain.after.multiple)
    return Bottlenecks(largest, tuple(gains))


def _gain(largest: LargestRate, change: Change, method: str, work: float) -> RateGain:
    """The gain of a change, found with some units of work; without any, the largest rate before the change, not proven."""
    base = largest.multiple
    after = replace(largest, status="none" if base is None else "feasible", bound=None)
    if work > 0:
        limit = work if math.isfinite(work) else None
        options: dict[str, Any] = {"method": method, "seed": largest.seed, "start": largest.deployment, "work_limit": limit}
        after = largest_rate(changed(largest.load.problem, change), scale=sorted(largest.load.growing), **options)
    if base is None or after.multiple is None:
        return RateGain(change, after, None)
    same = after.multiple <= base * (1 + RATE_GAP) * (1 + SAME_VALUE)
    return RateGain(change, after, 0.0 if same else after.multiple / base - 1 if base else math.inf)


def changed(problem: EdrpProblem, change: Change) -> EdrpProblem:
    """The problem with a change."""
    document: Any = problem.model_dump(mode="json")
    *steps, last = change.place
    part = reduce(getitem, steps, document)
    if change.value is None:
        del part[last]
    else:
        part[last] = change.value
    return EdrpProblem.model_validate(document)


def find_changes(problem: EdrpProblem) -> Iterator[Change]:
    """Yield every change of a problem by one unit."""
    yield from _node_changes(problem)
    for i, operator in enumerate(problem.application.operators):
        if operator.max_replicas < MAX_REPLICAS:
            place, most = ("application", "operators", i, "max_replicas"), operator.max_replicas + 1
            yield Change(place, f"one more replica of {operator.name} (up to {most})", most)
    for term in problem.terms:
        if term.limit is not None:
            metric = problem.metrics[term.metric]
            relaxed = metric.unscaled(metric.scaled(term.limit) * (1 + TENTH))
            words = f"relaxing limits.{term.metric} to {relaxed:.6g} {metric.unit}".removesuffix(" 1")
            yield Change(("limits", *term.metric.split(".")), words, relaxed)
    for i, rule in enumerate(problem.rules):
        if rule.hard:
            yield Change(("rules", i), f"dropping rule '{rule.name}'")


def _node_changes(problem: EdrpProblem) -> Iterator[Change]:
    """Changes of the first node of each class: resources that any operator needs, and capacities that are used."""
    needed = {name for operator in problem.application.operators for name in named_resources(operator.resources)}
    asked = set(shared_resources(problem.application))
    for i, alike in _classes(problem):
        node, place = problem.network.nodes[i], ("network", "nodes", i)
        where = f"on node {node.name}" + (f", or any of {alike} alike" if alike else "")
        for name, amount in ({} if node.resources is None else named_resources(node.resources)).items():
            if name in needed:
                field = (*place, "resources", name) if isinstance(node.resources, dict) else (*place, "resources")
                yield Change(field, *_more(name, amount, where))
        for name, amount in node.capacity.items():
            if name in asked:
                yield Change((*place, "capacity", name), *_more(name, amount, f"of capacity {where}"))


def _more(name: str, amount: float, where: str) -> tuple[str, float]:
    """One unit more of an amount, or a tenth of it, in words, and the new amount, which comes in units if the old one does."""
    step = TENTH * amount if amount >= LARGE_AMOUNT else 1.0
    name = "unit of resources" if name == "resources" else name
    return f"{'one' if step == 1 else f'{step:.6g}'} more {name} {where}", type(amount)(amount + step)


def _classes(problem: EdrpProblem) -> list[tuple[int, int]]:
    """The first node of each class of nodes that may be exchanged for one another, and how many others there are."""
    number: dict[str, int] = {}
    with suppress(ProblemTooLargeError):  # then no two are known to be alike
        compiled = compile_problem(problem)
        number = dict(zip(compiled.nodes, node_classes(compiled).tolist(), strict=True))
    members: dict[int, list[int]] = {}
    for i, node in enumerate(problem.network.nodes):
        members.setdefault(number.get(node.name, -1 - i), []).append(i)
    return [(alike[0], len(alike) - 1) for alike in members.values()]
