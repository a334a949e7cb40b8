"""What one unit more carries: the largest multiple of a load again after each small change of the problem."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from edrp.carrying.largest_rate import LargestRate, largest_rate
from edrp.core.arguments import check_arguments
from edrp.core.budget import interruptible, running, units_left
from edrp.core.claims import SETTLED
from edrp.core.document import named_resources
from edrp.core.errors import Fault, InvalidArgumentError, OutOfTimeError, ProblemTooLargeError
from edrp.core.solution import Status
from edrp.core.tolerances import RATE_GAP, RATE_STEP, SAME_VALUE
from edrp.core.wording import format_place, shown
from edrp.explanations.placement import node_margins
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import MAX_REPLICAS
from edrp.placement.metrics.peak_load import PEAK_LOAD, shared_resources
from edrp.placement.network import Network
from edrp.placement.node_classes import node_classes
from edrp.placement.throughput import node_loads
from edrp.report.tables import Table, cut_table

WHAT_IF_WORK = 30.0
"""Units of work at most for all changes together where no limit is given."""

LARGE_AMOUNT = 1_000.0
"""Amount of a resource from which on a tenth of it is added, since one unit, such as a byte, would say nothing."""

MAX_GAINS = 20
"""Changes that help that tables and pages show."""

TENTH = 0.1
"""Part by which limits are relaxed, and large amounts grow."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a problem that takes nothing away.

    Attributes
    ----------
    kind : "resource", "capacity", "max_replicas", "limit", "rule" or "node".
    place : path of what is changed in the document.
    words : the change in words.
    value : the new value; None where something is dropped, or a node added.
    used : share of what is changed that is in use at the largest rate; 1 where that is not known.
    """

    kind: str
    place: tuple[str | int, ...]
    words: str
    value: Any = None
    used: float = 1.0

    @property
    def name(self) -> str:
        """The place in words, such as "network.nodes[2].resources.cpu"."""
        return format_place(self.place)


@dataclass(frozen=True, slots=True)
class RateGain:
    """The largest multiple after a change.

    Attributes
    ----------
    change : what is changed.
    status, multiple, attained, bound, deployment : as those of `LargestRate` after the change.
    gain : `multiple` over that without the change, −1; 0 where both are the same, None where either is missing.
    solved : whether the change was solved for by itself. If it was not and the status is "optimal", it cannot help: it is proven
        that several changes together do not.
    """

    change: Change
    status: Status
    multiple: float | None
    attained: bool
    bound: float | None
    gain: float | None
    deployment: Deployment | None
    solved: bool

    @property
    def helps(self) -> bool:
        """Whether more is carried, or anything at all."""
        return self.multiple is not None and (self.gain is None or self.gain > 0)

    @property
    def proven(self) -> bool:
        """Whether nothing carries more after the change."""
        return self.status in SETTLED

    @property
    def percent(self) -> str:
        """The gain in per cent, where there is a number."""
        return "" if self.gain is None or math.isinf(self.gain) else f"{100 * self.gain:+.3g} %"

    @property
    def proof(self) -> str:
        """What is proven of the multiple, in words."""
        if self.proven or self.bound is None or not self.multiple:
            return "proven" if self.proven else "no bound is proven"
        return f"at most {self.bound / self.multiple - 1:.2%} more"


@dataclass(frozen=True, slots=True)
class Bottlenecks:
    """What each change by one unit is worth.

    Attributes
    ----------
    largest : the largest multiple without a change.
    gains : of every change, largest gain first.
    solves : number of largest rates that were computed.
    seconds : time that it took.
    """

    largest: LargestRate
    gains: tuple[RateGain, ...]
    solves: int
    seconds: float

    @property
    def helpful(self) -> tuple[RateGain, ...]:
        """Changes with which more is carried."""
        return tuple(gain for gain in self.gains if gain.helps)

    def rate_text(self, gain: RateGain) -> str:
        """What is carried: the rate of the source that grows, or of several the multiple of their rates."""
        multiple, growing = gain.multiple, self.largest.load.growing
        if multiple is None or math.isinf(multiple):
            return "nothing" if multiple is None else "any rate"
        if len(growing) == 1:
            return f"{multiple * self.largest.load.sources[next(iter(growing))]:.6g} tuples/s"
        return f"{multiple:.6g} times the rates"

    def sentence(self, gain: RateGain) -> str:
        """What a change is worth, in words; the multiple is proven where nothing else is said."""
        known = "" if gain.proven else ", as far as known"
        if gain.multiple is None:
            return f"{gain.change.words}: nothing meets all limits{known}"
        if not gain.helps:
            return f"{gain.change.words} does not help{known}"
        more, proof = gain.percent and f", {gain.percent}", "" if gain.proven else f" ({gain.proof})"
        return f"{gain.change.words} carries {self.rate_text(gain)}{more}{proof}"

    def summary(self) -> Iterator[str]:
        """How many changes do not help, how many of them needed no solve of their own, and how many were not looked at."""
        left = [gain for gain in self.gains if not gain.helps]
        if proven := [gain for gain in left if gain.proven]:
            together = sum(not gain.solved for gain in proven)
            joint = f", {together} of them since several together do not" if together else ""
            yield f"{len(proven)} other changes do not help, each by itself{joint} (proven)"
        if open_changes := len(left) - len(proven):
            yield f"Of {open_changes} changes it is not known within the work limit whether they help"
        if self.largest.status == "feasible":
            yield "The largest rate without a change is not proven, so that a gain may not be due to the change"

    def to_document(self) -> list[dict[str, Any]]:
        """The gains as JSON; infinite multiples are null, as the status says."""
        names = ("status", "multiple", "attained", "bound", "gain", "solved")
        return [
            {"change": gain.change.words, "kind": gain.change.kind, "place": gain.change.name}
            | {name: None if (value := getattr(gain, name)) == math.inf else value for name in names}
            for gain in self.gains
        ]


def gain_table(bottlenecks: Bottlenecks) -> Table:
    """The changes that help, largest gain first: what is carried, how much more that is, and what is proven."""
    rows = [(gain.change.words, bottlenecks.rate_text(gain), gain.percent, gain.proof) for gain in bottlenecks.helpful]
    return cut_table("What one unit more carries", ("change", "carries", "gain", "proof"), rows, ("carries", "gain"), MAX_GAINS)


def find_bottlenecks(
    largest: LargestRate, *, method: str = "auto", time_limit: float | None = None, work_limit: float | None = None
) -> Bottlenecks:
    """Find what more is carried with one unit more of each thing that may be scarce.

    Changed are, one at a time: every resource and every capacity of a shared resource of every node, by one unit (one device; a
    tenth of an amount of 1,000 or more, such as bytes); `max_replicas` of every operator, by one; every limit, which is relaxed
    by a tenth on the scale of its metric; every hard rule, which is dropped; and a second node like each. That has the zone, the
    labels and the links of the first, may run the same operators, is named by no rule, and is joined to the first by its fastest
    link, or where it has none by one without delay. Of nodes that may be exchanged for one another, one is changed.

    Changes of which most is in use are solved for first, starting from the deployment of `largest`. All but a new node under
    rules can only help; so that where several together carry no more, none does, and they are not solved for one by one. Both
    limits are for all changes together, shared among those that are left; without either, there are `WHAT_IF_WORK` units.

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
    ['one more cpu on node a carries 180 tuples/s, +50 %', 'one more node like a carries 180 tuples/s, +50 %']
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
    started = perf_counter()
    search = _WhatIf(largest, method)
    with running(**limits) as run, interruptible(run):
        search.run()
    gains = sorted(search.gains, key=lambda gain: (math.inf if gain.multiple is None else -gain.multiple, not gain.solved))
    return Bottlenecks(largest, tuple(gains), search.solves, perf_counter() - started)


class _WhatIf:
    """Largest rates of a problem with changes."""

    def __init__(self, largest: LargestRate, method: str) -> None:
        self.largest, self.method, self.problem = largest, method, largest.load.problem
        self.gains: list[RateGain] = []
        found = [] if largest.status == "unbounded" else list(find_changes(largest))
        self.changes = sorted(found, key=lambda change: -change.used)
        self.solves, self.left = 0, len(found)

    def run(self) -> None:
        """Solve for changes kind by kind, those of which most is in use first."""
        for kind in dict.fromkeys(change.kind for change in self.changes):
            members = [change for change in self.changes if change.kind == kind]
            self._solve_kind(members, joint=kind != "node" or not self.problem.rules)

    def _solve_kind(self, changes: list[Change], *, joint: bool) -> None:
        """Solve for changes one by one; at first, and after each that does not help, find out whether all others together do."""
        helped, cap = False, None
        while changes:
            if joint and not helped and len(changes) > 1 and units_left() > 0:
                together = self._solve(changes)
                cap = together.bound
                if together.status == "infeasible" or self._same(together.bound):
                    self._add(changes, together, solved=False)
                    return
            if units_left() <= 0:
                self._add(changes, self._unsolved(cap), solved=False)
                return
            change = changes.pop(0)
            self._add([change], self._solve([change]), solved=True)
            helped = self.gains[-1].helps

    def _solve(self, changes: Sequence[Change]) -> LargestRate:
        """The largest rate with all of some changes, within their part of the work that is left."""
        self.solves += 1
        share = units_left() / max(1, self.left)
        try:
            return largest_rate(
                changed(self.problem, changes),
                scale=sorted(self.largest.load.growing),
                method=self.method,
                seed=self.largest.seed,
                start=self.largest.deployment,
                work_limit=share if math.isfinite(share) else None,
            )
        except OutOfTimeError:
            return self._unsolved(None)

    def _unsolved(self, bound: float | None) -> LargestRate:
        """What is known of a change without a solve: the deployment is there, if there is one."""
        return replace(self.largest, status="none" if self.largest.multiple is None else "feasible", bound=bound)

    def _same(self, multiple: float | None) -> bool:
        """Whether a multiple is no more than that without changes, but for what the search cannot tell apart."""
        base = self.largest.multiple
        return base is not None and multiple is not None and multiple <= base * (1 + RATE_GAP) * (1 + SAME_VALUE)

    def _add(self, changes: Iterable[Change], found: LargestRate, *, solved: bool) -> None:
        """Keep what is known of changes; what was not solved for by itself carries what is carried without a change."""
        base, multiple, gain = self.largest.multiple, found.multiple if solved else self.largest.multiple, None
        if base is not None and multiple is not None:
            gain = 0.0 if self._same(multiple) and multiple >= base else multiple / base - 1 if base else math.inf
        deployment = found.deployment if solved else None
        for change in changes:
            self.gains.append(RateGain(change, found.status, multiple, found.attained, found.bound, gain, deployment, solved))
            self.left -= 1


def changed(problem: EdrpProblem, changes: Sequence[Change]) -> EdrpProblem:
    """The problem with some changes."""
    document: Any = problem.model_dump()
    dropped = {change.place for change in changes if change.kind == "rule"}
    document["rules"] = [rule for i, rule in enumerate(document["rules"]) if ("rules", i) not in dropped]
    for change in changes:
        if change.value is not None:
            part = document
            for step in change.place[:-1]:
                part = part[step]
            part[change.place[-1]] = change.value
    for change in changes:
        if change.kind == "node":
            _add_node(document, problem.network, int(change.place[-1]))
    return EdrpProblem.model_validate(document)


def _add_node(document: Any, network: Network, index: int) -> None:
    """Add a second node like one of the network to the document of a problem."""
    original = network.nodes[index].name
    taken = {node["name"] for node in document["network"]["nodes"]}
    name = next(name for k in range(2, len(taken) + 3) if (name := f"{original}-{k}") not in taken)
    links = list(document["network"]["links"])
    own = [link for link in links if original in (link["source"], link["target"])]
    for link in own:
        ends = {end: name if link[end] == original else link[end] for end in ("source", "target")}
        links.append({**link, **ends})
    if not network.classes and not (network.routed and own):
        fastest = min(own, key=lambda link: float(link["delay"]), default={"delay": 0.0})
        pairs = [(original, name)] if network.symmetric else [(original, name), (name, original)]
        links += [{**fastest, "source": source, "target": target} for source, target in pairs]
    document["network"]["nodes"] = [*document["network"]["nodes"], {**document["network"]["nodes"][index], "name": name}]
    document["network"]["links"] = links
    for operator in document["application"]["operators"]:
        if operator["candidates"] is not None and original in operator["candidates"]:
            operator["candidates"] = (*operator["candidates"], name)


def find_changes(largest: LargestRate) -> Iterator[Change]:
    """Yield every change of a problem by one unit, with how much is in use of what it changes."""
    problem, used = largest.load.problem, _in_use(largest)
    yield from _node_changes(problem, used)
    for i, operator in enumerate(problem.application.operators):
        if operator.max_replicas < MAX_REPLICAS:
            place, most = ("application", "operators", i, "max_replicas"), operator.max_replicas + 1
            words = f"one more replica of {operator.name} (up to {most})"
            yield Change("max_replicas", place, words, most, used.get(f"replicas of {operator.name}", 1.0))
    for term in problem.terms:
        if term.limit is None or (term.metric.startswith(PEAK_LOAD) and term.limit >= 1):
            continue  # a peak load above 1 is never reached
        metric = problem.metrics[term.metric]
        relaxed = metric.unscaled(metric.scaled(term.limit) * (1 + TENTH))
        relaxed = min(1.0, relaxed) if term.metric.startswith(PEAK_LOAD) else relaxed
        words = f"relaxing limits.{term.metric} to {relaxed:.6g} {metric.unit}".removesuffix(" 1")
        yield Change("limit", ("limits", *term.metric.split(".")), words, relaxed, used.get(f"limits.{term.metric}", 1.0))
    for i, rule in enumerate(problem.rules):
        if rule.hard:
            yield Change("rule", ("rules", i), f"dropping rule '{rule.name}'")


def _node_changes(problem: EdrpProblem, used: dict[str, float]) -> Iterator[Change]:
    """Changes of the first node of each class: resources that any operator needs, capacities that are used, a second node."""
    needed = {name for operator in problem.application.operators for name in named_resources(operator.resources)}
    asked = set(shared_resources(problem.application))
    unknown = 0.0 if used else 1.0
    for i, alike in _classes(problem):
        node, place = problem.network.nodes[i], ("network", "nodes", i)
        where = f"on node {node.name}" + (f", or any of {alike} alike" if alike else "")
        for name, amount in ({} if node.resources is None else named_resources(node.resources)).items():
            if name in needed:
                words, more = _more(name, amount, where)
                field = (*place, "resources", name) if isinstance(node.resources, dict) else (*place, "resources")
                yield Change("resource", field, words, more, used.get(f"{name} of node {node.name}", unknown))
        for name, amount in node.capacity.items():
            if name in asked:
                words, more = _more(name, amount, f"of capacity {where}")
                share = used.get(f"capacity {name} of node {node.name}", unknown)
                yield Change("capacity", (*place, "capacity", name), words, more, share)
        yield Change("node", place, f"one more node like {node.name}")


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


def _in_use(largest: LargestRate) -> dict[str, float]:
    """Shares in use just below the largest rate, by what they are of; empty where nothing runs."""
    if largest.deployment is None or largest.multiple is None or not largest.finite:
        return {}
    at = largest.problem_at(largest.multiple * (1 - RATE_STEP))
    margins = (*at.limit_margins(at.evaluate(largest.deployment).metrics), *node_margins(at, largest.deployment))
    used = {margin.name: margin.used for margin in margins}
    used |= {f"capacity {load.resource} of node {load.node}": load.share for load in node_loads(at, largest.deployment)}
    used |= {f"replicas of {o.name}": largest.deployment.degree(o.name) / o.max_replicas for o in at.application.operators}
    return used
