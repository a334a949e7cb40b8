"""Rules about how replicas share places: apart, together, spread, and over at least some zones."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from edrp.core.document import Faults, Name
from edrp.core.errors import numbered
from edrp.core.expressions import Rows
from edrp.core.wording import enumerated
from edrp.placement.rules.base import Placed, Rule, RuledProblem, RuleModel, check_operators, check_per, held, places

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
    def _names(self) -> list[str]:
        return list(self.operators)

    def _used(self, problem: RuledProblem, deployment: Placed, *, alone: bool = True) -> dict[str, dict[str, int]]:
        """Replicas of each operator at each place."""
        by_operator = {name: deployment.replicas(name) for name in self.operators}
        return {
            place: {name: sum(count[node] for node in nodes) for name, count in by_operator.items()}
            for place, nodes in places(problem.network, self.per, alone=alone).items()
        }


class Apart(_GroupingRule):
    """At most one replica, or one operator, at every place; violated by one for each more.

    A node without the zone or label is a place of its own.

    Examples
    --------
    >>> Apart(name="two sites", operators=("parser",), per="zone").sentence
    'replicas of parser are in different zones'
    """

    rule: Literal["apart"] = Field("apart", description="says which fields follow")
    between: Literal["replicas", "operators"] = Field(
        "replicas",
        description="what is kept apart: all replicas of all these operators, or operators from each other, each of which may "
        "have several replicas at a place",
    )

    @property
    def sentence(self) -> str:
        """What the rule demands, in words."""
        what = "" if self.between == "operators" else "replicas of "
        return f"{what}{enumerated(self._names)} are {_different(self.per)}"

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note a single operator that is to be apart from itself, besides what every rule of groups notes."""
        super().check(problem, place, faults)
        if self.between == "operators" and len(self.operators) < 2:
            faults.add((*place, "operators"), self.operators, "must name at least two operators that are kept apart")

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Σ over places of replicas, or operators, beyond the first."""
        counted = [
            sum(used.values()) if self.between == "replicas" else sum(count > 0 for count in used.values())
            for used in self._used(problem, deployment).values()
        ]
        return float(sum(max(0, count - 1) for count in counted))

    def linearise(self, model: RuleModel) -> list[Rows]:
        """One row per place."""
        block = model.replicas if self.between == "replicas" else model.on
        rows = []
        for nodes in model.places(self.per).values():
            cells = block[self._names, nodes]
            joined = self.between == "operators" and len(nodes) > 1
            rows.append((model.any(cells, axis=1) if joined else cells).sum() <= 1)
        return rows


class Together(_GroupingRule):
    """Wherever one of the operators runs, all of them run; violated by one for each that is missing at a place.

    A node without the zone or label is a place of its own.
    """

    rule: Literal["together"] = Field("together", description="says which fields follow")
    beside: tuple[Name, ...] = Field(
        (),
        description="operators that have to be wherever one of `operators` is, and may be elsewhere; empty for these themselves",
    )

    @property
    def sentence(self) -> str:
        """What the rule demands, in words."""
        if self.beside:
            return f"wherever {' or '.join(self.operators)} runs, {_here(self.per)} {enumerated(list(self.beside))} runs, too"
        return f"{enumerated(self._names)} run {_same(self.per)}"

    @property
    def _needed(self) -> list[str]:
        return list(self.beside or self.operators)

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note a single operator that is to be together with nothing, besides what every rule of groups notes."""
        super().check(problem, place, faults)
        check_operators(self.beside, problem, (*place, "beside"), faults)
        if not self.beside and len(self.operators) < 2:
            faults.add((*place, "operators"), self.operators, "must name at least two operators, or name others in `beside`")

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Σ over places where one of the operators runs of those that are missing there."""
        missing = 0
        for nodes in places(problem.network, self.per, alone=True).values():
            runs = {name for name in {*self.operators, *self._needed} if any(deployment.replicas(name)[node] for node in nodes)}
            if runs & set(self.operators):
                missing += len(set(self._needed) - runs)
        return float(missing)

    def linearise(self, model: RuleModel) -> list[Rows]:
        """One row per place and operator that may be missing there."""
        rows = []
        for nodes in model.places(self.per).values():
            here = model.any(model.on[self._names, nodes])
            needed = model.on[self._needed, nodes]
            rows.append(here - (model.any(needed, axis=1) if len(nodes) > 1 else needed[:, 0]) <= 0)
        return rows


class Spread(_GroupingRule):
    """At most so many replicas at every place, at most a share of them, or about equally many everywhere.

    `most` and `share` are violated by the replicas beyond them, summed over places, where a node without the zone or label is a
    place of its own. `max_skew` is that of topology spread constraints of Kubernetes: the difference between the fullest place
    and the emptiest that has a candidate, or between the fullest and 0 where there are fewer such places than `min_domains`;
    nodes without the zone or label run none. It is violated by the difference beyond, and by the replicas on such nodes.
    """

    rule: Literal["spread"] = Field("spread", description="says which fields follow")
    most: Annotated[int, Field(ge=0)] | None = Field(
        None, description="maximum number of replicas at a place", json_schema_extra={"unit": "1"}
    )
    share: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="maximum share of the operators' replicas at a place", json_schema_extra={"unit": "1"}
    )
    max_skew: Annotated[int, Field(ge=1)] | None = Field(
        None, description="maximum difference between the fullest and the emptiest place", json_schema_extra={"unit": "1"}
    )
    min_domains: Annotated[int, Field(ge=1)] = Field(
        1,
        description="with `max_skew`: number of places below which the emptiest counts as empty",
        json_schema_extra={"unit": "1"},
    )

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        faults = Faults("spread")
        if sum(limit is not None for limit in (self.most, self.share, self.max_skew)) != 1:
            faults.add((), self.name, "needs one of `most`, `share` and `max_skew`")
        if self.min_domains > 1 and self.max_skew is None:
            faults.add(("min_domains",), self.min_domains, "goes with `max_skew` alone; leave it out")
        faults.raise_if_any()
        return self

    @property
    def sentence(self) -> str:
        """What the rule demands, in words."""
        what = f"of the replicas of {enumerated(self._names)}"
        if self.most is not None:
            return f"at most {self.most} {what} {_each(self.per)}"
        if self.share is not None:
            return f"at most a share of {self.share:g} {what} {_each(self.per)}"
        return f"numbers {what} {_each(self.per)} differ by at most {self.max_skew}"

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Replicas beyond the maximum of every place, or the difference beyond the largest skew."""
        if self.max_skew is not None:
            return self._skew_excess(problem, deployment)
        counts = [sum(used.values()) for used in self._used(problem, deployment).values()]
        most = self.most if self.share is None else self.share * sum(counts)
        assert most is not None
        return float(sum(max(0.0, count - most) for count in counts))

    def _skew_excess(self, problem: RuledProblem, deployment: Placed) -> float:
        assert self.max_skew is not None
        counts = {place: sum(used.values()) for place, used in self._used(problem, deployment, alone=False).items()}
        outside = held(problem, deployment, self.operators).total() - sum(counts.values())
        eligible = self._eligible(problem)
        emptiest = 0 if len(eligible) < self.min_domains else min((counts[place] for place in eligible), default=0)
        return float(max(0, max(counts.values()) - emptiest - self.max_skew) + outside)

    def _eligible(self, problem: RuledProblem) -> list[str]:
        """Places with a candidate node of any of the operators."""
        candidates = [problem.application.by_name[name].candidates for name in self.operators]
        found = places(problem.network, self.per, alone=False)
        return [
            place for place, nodes in found.items() if any(own is None or not set(nodes).isdisjoint(own) for own in candidates)
        ]

    def linearise(self, model: RuleModel) -> list[Rows]:
        """One row per place, or per pair of places."""
        cells = {place: model.replicas[self._names, nodes].sum() for place, nodes in model.places(self.per).items()}
        if self.max_skew is None:
            share = 0.0 if self.share is None else model.replicas[self._names].sum() * self.share
            return [count - share <= (self.most or 0) for count in cells.values()]
        named = {place: cells[place] for place in model.places(self.per, alone=False)}
        outside = [count <= 0 for place, count in cells.items() if place not in named]
        eligible = self._eligible(model.problem)
        emptiest: list[Any] = [named[place] for place in eligible if len(eligible) >= self.min_domains] or [0.0]
        differences = [fullest - least for fullest in named.values() for least in emptiest if fullest is not least]
        return [*outside, Rows.jointly([difference <= self.max_skew for difference in differences])] if differences else outside


class AtLeastZones(_GroupingRule):
    """The operators together run in at least so many zones, nodes without one aside; violated by the zones that are missing."""

    rule: Literal["at_least_zones"] = Field("at_least_zones", description="says which fields follow")
    zones: Annotated[int, Field(ge=1)] = Field(
        description="minimum number of zones, or of other places", json_schema_extra={"unit": "1"}
    )
    per: Name = Field("zone", description='what a place is: "zone", "node", or the key of a label of nodes')

    @property
    def sentence(self) -> str:
        """What the rule demands, in words."""
        verb = "runs" if len(self.operators) == 1 else "run"
        return f"{enumerated(self._names)} {verb} in at least {_counted(self.zones, self.per)}"

    def check(self, problem: RuledProblem, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note more zones than the network has, besides what every rule of groups notes."""
        super().check(problem, place, faults)
        known = len(places(problem.network, self.per, alone=False))
        if 0 < known < self.zones:
            faults.add((*place, "zones"), self.zones, f"must be at most {known}: the network has {_counted(known, self.per)}")

    def evaluate(self, problem: RuledProblem, deployment: Placed) -> float:
        """Zones that are missing."""
        used = sum(any(counts.values()) for counts in self._used(problem, deployment, alone=False).values())
        return float(max(0, self.zones - used))

    def linearise(self, model: RuleModel) -> Rows:
        """A single row."""
        found = model.places(self.per, alone=False).values()
        in_use = [model.any(model.on[self._names, nodes]) for nodes in found]
        return sum(in_use[1:], start=in_use[0]) >= self.zones


def _different(per: str) -> str:
    return "on different nodes" if per == "node" else "in different zones" if per == "zone" else f"on nodes of different {per}"


def _same(per: str) -> str:
    return "on the same nodes" if per == "node" else "in the same zones" if per == "zone" else f"on nodes of the same {per}"


def _here(per: str) -> str:
    return "on that node" if per == "node" else "in that zone" if per == "zone" else f"on nodes of that {per}"


def _each(per: str) -> str:
    return "on each node" if per == "node" else "in each zone" if per == "zone" else f"on the nodes of each {per}"


def _counted(number: int, per: str) -> str:
    return numbered(number, per) if per in ("node", "zone") else f"{numbered(number, 'value')} of {per}"
