"""Evenness: how far places are from carrying the same, in replicas, state or use of a shared resource."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from pydantic import Field

from edrp.core.document import Document, Faults, Name
from edrp.core.expressions import Expression, Rows
from edrp.core.whole_numbers import common_step
from edrp.core.wording import enumerated
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.own import MetricModel, OwnMetric
from edrp.placement.rules.base import check_operators, check_per, places

EVENNESS = "evenness"
"""Metrics are called `evenness.<name>`, after the entries of a problem."""

REPLICAS, STATE = "replicas", "state"
"""What may be even besides the use of a shared resource."""


class Evenness(Document):
    """One way in which the load of places is to be even: of what, over which places, measured how.

    The three measures have other optima: the largest alone often asks for no move at all, and the difference says nothing of the
    places between the fullest and the emptiest. Places are those with a node that may run one of the operators; a node without
    the zone or label is a place of its own.

    Examples
    --------
    >>> Evenness(of="disk", per="rack").measured([4.0, 2.0, 0.0])
    4.0
    >>> Evenness(by="skew").measured([4.0, 2.0, 0.0]), Evenness(by="max").measured([4.0, 2.0, 0.0])
    (4.0, 4.0)
    """

    of: Name = Field(REPLICAS, description='what is to be even: "replicas", "state" (bytes), or the use of a shared resource')
    per: Name = Field("node", description='what a place is: "node", "zone", or the key of a label of nodes')
    by: Literal["deviation", "max", "skew"] = Field(
        "deviation",
        description="sum over places of the absolute deviation from their mean, the largest, or the largest minus the smallest",
    )
    operators: tuple[Name, ...] = Field((), description="operators whose replicas count; empty for all")

    def check(self, problem: Any, place: tuple[str | int, ...], faults: Faults) -> None:
        """Note unknown operators and places, and a resource that is used by none of the operators, or by streams."""
        check_operators(self.operators, problem, (*place, "operators"), faults)
        check_per(self.per, problem, (*place, "per"), faults)
        if self.of in (REPLICAS, STATE):
            return
        if any(self.of in stream.usage for stream in problem.application.streams):
            why = "is used by streams, too, whose use depends on both ends; evenness is of what replicas use"
            faults.add((*place, "of"), self.of, why)
        chosen = [operator for operator in problem.application.operators if operator.name in (self.operators or [operator.name])]
        used = sorted({resource for operator in chosen for resource in operator.usage})
        if self.of not in used:
            known = f"they use {enumerated(used)}" if used else "nothing is used at all"
            why = f'is neither "replicas" nor "state", nor a shared resource that one of the operators uses; {known}'
            faults.add((*place, "of"), self.of, why)

    def measured(self, amounts: list[float]) -> float:
        """The measure of what places carry."""
        if self.by == "max":
            return max(amounts)
        if self.by == "skew":
            return max(amounts) - min(amounts)
        mean = sum(amounts) / len(amounts)
        return sum(abs(amount - mean) for amount in amounts)

    def parts(self, problem: Any) -> dict[str, tuple[float, float]]:
        """What each operator that counts uses: per replica, and in all, of which each replica has an equal part."""
        found = {}
        for operator in problem.application.operators:
            if operator.name in (self.operators or (operator.name,)):
                usage = operator.usage.get(self.of)
                if self.of == REPLICAS:
                    found[operator.name] = 1.0, 0.0
                elif self.of == STATE:
                    found[operator.name] = 0.0, operator.state_size
                elif usage is not None:
                    found[operator.name] = usage.per_replica, usage.per_tuple * problem.application.load(operator.name)
        return found

    def places(self, problem: Any) -> list[list[str]]:
        """Nodes of each place."""
        operators = [problem.application.by_name[name] for name in self.operators] or problem.application.operators
        everywhere = any(operator.candidates is None for operator in operators)
        usable = set(problem.network.by_name if everywhere else [node for o in operators for node in o.candidates])
        return [nodes for nodes in places(problem.network, self.per, alone=True).values() if not usable.isdisjoint(nodes)]


class EvennessOf:
    """The metric of one entry of `evenness`."""

    unit = "1"

    def __init__(self, name: str, document: Evenness) -> None:
        self.name, self.document = f"{EVENNESS}.{name}", document

    def evaluate(self, problem: Any, deployment: Deployment) -> float:
        """The measure of what replicas use at each place."""
        used: Counter[str] = Counter()
        for name, (per_replica, whole) in self.document.parts(problem).items():
            for node in deployment[name]:
                used[node] += per_replica + whole / len(deployment[name])  # type: ignore[assignment]
        return self.document.measured([sum(used[node] for node in nodes) for nodes in self.document.places(problem)])

    def linearise(self, model: MetricModel) -> Expression | list[Rows]:
        """The largest; or rows about what is more or less than the mean, a constant where numbers of replicas are fixed."""
        problem: Any = model.problem
        nodes = list(problem.network.by_name)
        where = {node: index for index, place in enumerate(self.document.places(problem)) for node in place}
        place = np.array([where.get(node, -1) for node in nodes])
        parts = self.document.parts(problem)
        uses = np.array([parts.get(name, (0.0, 0.0)) for name in problem.application.by_name])
        per_replica, whole = (np.repeat(part[:, None], len(nodes), axis=1) for part in uses.T)
        amounts = model.place_sums(per_replica, whole, place)
        if self.document.by == "max":
            return amounts
        used = [(problem.application.by_name[name], *part) for name, part in parts.items()]
        varied = [part for part in used if part[0].min_replicas != part[0].max_replicas]
        if any(each for _, each, _ in varied):
            mean = amounts.sum() / len(amounts)
            return _around(amounts, mean) if self.document.by == "skew" else [amounts - mean == 0.0]
        total = sum(operator.max_replicas * each + whole_part for operator, each, whole_part in used)
        return self._around_constant(amounts, total, None if varied else common_step(amounts.matrix.data))

    def _around_constant(self, amounts: Expression, total: float, whole: Fraction | None) -> list[Rows]:
        """Rows around a constant mean, those for programs as tight as whole multiples of a step between which it lies allow.

        The largest is at least the multiple below the mean, and the smallest at most. The deviation of a multiple is at least the
        line through those of the multiples next to the mean, which adds up to what the most even of all sums has.
        """
        count, mean = len(amounts), total / len(amounts)
        steps, rest = divmod(round(total / whole), count) if whole else (0, 0)
        low = mean if whole is None else float(steps * whole)
        if self.document.by == "skew":
            return _around(amounts, low)
        if whole is None or not rest:
            return [amounts == mean]
        slope = 1 - Fraction(2 * rest, count)
        line = float((slope * steps - Fraction(rest, count)) * whole)  # without rounding, so that the rows have a common step
        return [Rows.jointly([amount <= mean, amount >= mean, amount * float(slope) <= line]) for amount in amounts]

    def zero_because(self, problem: Any) -> str:
        """There is one place."""
        alone = self.document.by != "max" and len(self.document.places(problem)) == 1
        return f"all nodes that may run the operators are one {self.document.per}" if alone else ""


def _around(amounts: Expression, level: Any) -> list[Rows]:
    """Rows whose violations are the largest minus a level, and the level minus the smallest."""
    above, below = amounts - level <= 0.0, amounts - level >= 0.0
    return [Rows(each.expression, each.lower, each.upper, shared=True) for each in (above, below)]


def evenness_metrics(problem: Any) -> dict[str, OwnMetric]:
    """Metrics by the names that weights, limits and priorities have for them."""
    found = [OwnMetric(EvennessOf(name, document)) for name, document in problem.evenness.items()]
    return {metric.name: metric for metric in found}
