"""Rules about how replicas share places: apart, together, spread, and over at least some zones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from edrp.core.arrays import Ints
from edrp.core.document import Faults, Name, Probability, checks, unit
from edrp.core.errors import numbered
from edrp.core.wording import enumerated, listed
from edrp.placement.rules.base import (
    NODE,
    ZONE,
    Place,
    Placed,
    Rule,
    RuledProblem,
    RuleModel,
    WrittenRows,
    check_operators,
    check_per,
    place_at,
    places,
)

Operators = Annotated[tuple[Name, ...], Field(min_length=1)]


class _GroupingRule(Rule):
    """A rule about the places that some operators share."""

    operators: Operators = Field(description="operators that the rule is about")
    per: Name = Field("node", description='what a place is: "node", "zone", or the key of a label of nodes')

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note unknown operators, and places that there are none of."""
        check_operators(self.operators, problem, (*place, "operators"), faults)
        check_per(self.per, problem, (*place, "per"), faults)

    @property
    def _words(self) -> str:
        return enumerated(self.operators)

    def _replicas(
        self, problem: RuledProblem, deployment: Placed, operators: Sequence[str] = (), *, alone: bool = True
    ) -> dict[Place, Counter[str]]:
        """Replicas of each operator of the rule, and of further ones, at each place that has any."""
        nodes, used = problem.network.by_name, dict[Place, Counter[str]]()
        for name in dict.fromkeys((*self.operators, *operators)):
            for node, count in deployment.replicas(name).items():
                place = place_at(nodes[node], self.per, alone=alone)
                if place is not None and count:
                    used.setdefault(place, Counter())[name] += count
        return used


class Apart(_GroupingRule):
    """At most one replica, or one operator, at every place; violated by one for each more.

    A node without the zone or label is a place of its own.

    Examples
    --------
    >>> Apart(name="two sites", operators=("parser",), per="zone").sentence
    'replicas of parser run in different zones'
    """

    rule: Literal["apart"] = Field("apart", description="type of the rule, which says which fields follow")
    between: Literal["replicas", "operators"] = Field(
        "replicas",
        description="what is kept apart: all replicas of all these operators, or operators from each other, each of which may "
        "have several replicas at a place",
    )

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        what = "" if self.between == "operators" else "replicas of "
        return f"{what}{self._words} run {_at(self.per, 'different {}s', 'on nodes that differ in {}')}"

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note a single operator that is to be apart from itself, besides what every rule of groups notes."""
        super().check(problem, place, faults)
        if self.between == "operators" and len(self.operators) < 2:
            faults.add((*place, "operators"), self.operators, "must name at least two operators that are kept apart")

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Σ over places of replicas, or operators, beyond the first."""
        counted = [
            sum(used.values()) if self.between == "replicas" else sum(count > 0 for count in used.values())
            for used in self._replicas(problem, deployment).values()
        ]
        return float(sum(max(0, count - 1) for count in counted))

    def linearise(self, model: RuleModel) -> WrittenRows:
        """One row per place."""
        entries, found = [], model.places(self.per)
        for row, nodes in enumerate(found.values()):
            if self.between == "operators":
                entries += [(row, _present(model, name, nodes), 1.0) for name in self.operators]
            else:
                entries.append((row, model.cells(self.operators, nodes), 1.0))
        return WrittenRows(len(found), entries, upper=1.0)


class Together(_GroupingRule):
    """Wherever one of the operators runs, all of them run; violated by one for each that is missing at a place.

    A node without the zone or label is a place of its own.

    Examples
    --------
    >>> Together(name="near its cache", operators=("parser",), beside=("cache",)).sentence
    'wherever parser runs, cache runs on the same node'
    """

    rule: Literal["together"] = Field("together", description="type of the rule, which says which fields follow")
    beside: tuple[Name, ...] = Field(
        (),
        description="operators that have to be wherever one of `operators` is, and may be elsewhere; empty for these themselves",
    )

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        if self.beside:
            where = _at(self.per, "the same {}", "on a node with the same {}")
            return f"wherever {listed(self.operators, ' or ')} runs, {enumerated(self.beside)} {_run(self.beside)} {where}"
        return f"{self._words} run {_at(self.per, 'the same {}s', 'on nodes with the same {}')}"

    @property
    def _needed(self) -> tuple[str, ...]:
        return self.beside or self.operators

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note a single operator that is to be together with nothing, besides what every rule of groups notes."""
        super().check(problem, place, faults)
        check_operators(self.beside, problem, (*place, "beside"), faults)
        if not self.beside and len(self.operators) < 2:
            faults.add((*place, "operators"), self.operators, "must name at least two operators, or name others in `beside`")

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Σ over places where one of the operators runs of those that are missing there."""
        used = self._replicas(problem, deployment, self.beside).values()
        missing = [sum(not count[name] for name in self._needed) for count in used if any(count[name] for name in self.operators)]
        return float(sum(missing))

    def linearise(self, model: RuleModel) -> WrittenRows:
        """One row per place and operator that may be missing there."""
        entries, count = [], 0
        for nodes in model.places(self.per).values():
            here = model.joined(model.cells(self.operators, nodes, on=True))
            for name in self._needed:
                entries += [(count, here, 1.0), (count, _present(model, name, nodes), -1.0)]
                count += 1
        return WrittenRows(count, entries, upper=0.0)


class Spread(_GroupingRule):
    """At most `most` replicas of the operators together at every place, at most a share of them, or about equally many.

    `most` and `share` are violated by the replicas beyond them, summed over places, where a node without the zone or label is a
    place of its own. `max_skew` is that of topology spread constraints of Kubernetes: the difference between the fullest place
    and the emptiest that has a candidate, or between the fullest and 0 where there are fewer such places than `min_domains`;
    nodes without the zone or label run none. It is violated by the difference beyond, and by the replicas on such nodes.

    Examples
    --------
    >>> Spread(name="half a site", operators=("parser",), share=0.5, per="site").sentence
    'at most 50 % of the replicas of parser on the nodes of each site'
    >>> Spread(name="even", operators=("parser",), max_skew=1, per="zone").sentence
    'numbers of replicas of parser differ by at most 1 between zones'
    """

    rule: Literal["spread"] = Field("spread", description="type of the rule, which says which fields follow")
    most: Annotated[int, Field(ge=1)] | None = Field(None, description="maximum number of replicas at a place", **unit("1"))
    share: Probability | None = Field(None, description="maximum share of the operators' replicas at a place", **unit("1"))
    max_skew: Annotated[int, Field(ge=1)] | None = Field(
        None, description="maximum difference between the fullest and the emptiest place", **unit("1")
    )
    min_domains: Annotated[int, Field(ge=1)] = Field(
        1, description="with `max_skew`: number of places below which the emptiest counts as empty", **unit("1")
    )

    @checks("spread")
    def _check_form(self, faults: Faults) -> None:
        if sum(limit is not None for limit in (self.most, self.share, self.max_skew)) != 1:
            faults.add((), self.name, "needs exactly one of `most`, `share` and `max_skew`")
        if self.min_domains > 1 and self.max_skew is None:
            faults.add(("min_domains",), self.min_domains, "goes with `max_skew` alone; leave it out")

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        operators = f"{self._words}{' together' if len(self.operators) > 1 else ''}"
        if self.max_skew is not None:
            where = f"between {self.per}s" if self.per in (NODE, ZONE) else f"between nodes that differ in {self.per}"
            few = f", or from 0 with fewer than {_counted(self.min_domains, self.per)}" if self.min_domains > 1 else ""
            return f"numbers of replicas of {operators} differ by at most {self.max_skew} {where}{few}"
        amount = numbered(self.most, "replica") if self.most else f"{100 * (self.share or 0):g} % of the replicas"
        return f"at most {amount} of {operators} {_at(self.per, 'each {}', 'on the nodes of each {}')}"

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Replicas beyond the maximum of every place, or the difference beyond the largest skew."""
        if self.max_skew is not None:
            return self._skew_excess(problem, deployment)
        counts = [sum(used.values()) for used in self._replicas(problem, deployment).values()]
        most = self.most if self.share is None else self.share * sum(counts)
        assert most is not None
        return float(sum(max(0.0, count - most) for count in counts))

    def _skew_excess(self, problem: RuledProblem, deployment: Placed) -> float:
        assert self.max_skew is not None
        counts = {place: sum(used.values()) for place, used in self._replicas(problem, deployment, alone=False).items()}
        outside = sum(deployment.replicas(name).total() for name in self.operators) - sum(counts.values())
        eligible = self._eligible(problem)
        emptiest = 0 if len(eligible) < self.min_domains else min((counts.get(place, 0) for place in eligible), default=0)
        return float(max(0, max(counts.values(), default=0) - emptiest - self.max_skew) + outside)

    def _eligible(self, problem: RuledProblem) -> list[Place]:
        """Places with a candidate node of any of the operators."""
        candidates = [problem.application.by_name[name].candidates for name in self.operators]
        found = places(problem.network, self.per, alone=False)
        return [
            place for place, nodes in found.items() if any(own is None or not set(nodes).isdisjoint(own) for own in candidates)
        ]

    def linearise(self, model: RuleModel) -> WrittenRows | list[WrittenRows]:
        """One row per place, or per pair of places."""
        cells = {place: model.cells(self.operators, nodes) for place, nodes in model.places(self.per).items()}
        if self.max_skew is None:
            entries = [(row, columns, 1.0) for row, columns in enumerate(cells.values())]
            if self.share is not None:
                everywhere = model.cells(self.operators, model.problem.network.by_name)
                entries += [(row, everywhere, -self.share) for row in range(len(cells))]
            return WrittenRows(len(cells), entries, upper=self.most or 0)
        named = {place: cells[place] for place in model.places(self.per, alone=False)}
        alone = [columns for place, columns in cells.items() if place not in named]
        eligible = self._eligible(model.problem)
        emptiest: list[Place | None] = [*eligible] if len(eligible) >= self.min_domains and eligible else [None]
        pairs = [pair for pair in product(named, emptiest) if pair[0] != pair[1]]
        entries = [(row, named[fullest], 1.0) for row, (fullest, _) in enumerate(pairs)]
        entries += [(row, named[least], -1.0) for row, (_, least) in enumerate(pairs) if least is not None]
        outside = WrittenRows(len(alone), [(row, columns, 1.0) for row, columns in enumerate(alone)], upper=0.0)
        return [outside, WrittenRows(len(pairs), entries, upper=self.max_skew, shared=True)]


class AtLeastZones(_GroupingRule):
    """The operators together run in at least `zones` zones; violated by the zones that are missing.

    Nodes without the zone or label do not count.

    Examples
    --------
    >>> AtLeastZones(name="survive a zone", operators=("parser",), zones=2).sentence
    'parser runs in at least 2 zones'
    """

    rule: Literal["at_least_zones"] = Field("at_least_zones", description="type of the rule, which says which fields follow")
    zones: Annotated[int, Field(ge=1)] = Field(description="minimum number of zones, or of other places", **unit("1"))
    per: Name = Field("zone", description='what a place is: "zone", "node", or the key of a label of nodes')

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        together = " together" if len(self.operators) > 1 else ""
        where = "on" if self.per == NODE else "in" if self.per == ZONE else "on nodes with"
        return f"{self._words}{together} {_run(self.operators)} {where} at least {_counted(self.zones, self.per)}"

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note more zones than the network has, besides what every rule of groups notes."""
        super().check(problem, place, faults)
        known = len(places(problem.network, self.per, alone=False))
        if 0 < known < self.zones:
            faults.add((*place, "zones"), self.zones, f"must be at most {known}: the network has {_counted(known, self.per)}")

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Zones that are missing."""
        used = sum(any(counts.values()) for counts in self._replicas(problem, deployment, alone=False).values())
        return float(max(0, self.zones - used))

    def linearise(self, model: RuleModel) -> WrittenRows:
        """A single row."""
        found = model.places(self.per, alone=False).values()
        used = [model.joined(model.cells(self.operators, nodes, on=True)) for nodes in found]
        return WrittenRows(1, [(0, column, 1.0) for column in used], lower=self.zones)


def _present(model: RuleModel, operator: str, nodes: Sequence[str]) -> Ints:
    """Column that is 1 where an operator runs on any of some nodes, shape (1,)."""
    cells = model.cells([operator], nodes, on=True)
    return cells if len(nodes) == 1 else model.joined(cells)


def _run(operators: Sequence[str]) -> str:
    return "runs" if len(operators) == 1 else "run"


def _at(per: str, plain: str, by_label: str) -> str:
    """Where, in words: the plain form takes "node" or "zone", the other one the key of a label."""
    return f"{'in' if per == ZONE else 'on'} {plain.format(per)}" if per in (NODE, ZONE) else by_label.format(per)


def _counted(number: int, per: str) -> str:
    return numbered(number, per) if per in (NODE, ZONE) else f"{numbered(number, 'value')} of {per}"
