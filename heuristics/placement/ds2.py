"""The DS2 rule: how many replicas the load needs (Kalavri et al., OSDI 2018), as Flink's autoscaler applies it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil, inf, isfinite
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from edrp.core.arrays import Ints
from edrp.core.tolerances import REPLICAS_SLACK
from edrp.heuristics.placement.filling import Filling, PlacementRule, even_shares, stable_degrees
from edrp.placement.application import Operator
from edrp.placement.compiled import Compiled
from edrp.placement.latency import CapacityCurveLatency


@dataclass(frozen=True, slots=True)
class Ds2Parameters:
    """Parameters of DS2; `utilisation` is the busy share of a replica's time, `job.autoscaler.utilization.target` in Flink."""

    utilisation: Annotated[float, Field(gt=0, le=1)] = 0.7


class Ds2(PlacementRule):
    """Replicas = ⌈load / (true processing rate × utilisation)⌉, new ones spread evenly (Kalavri et al., OSDI 2018).

    The load is what reaches the operator when nothing upstream holds it back, which DS2 computes along the
    application from the rates of the sources. Numbers of replicas stay between the least and the most that the
    operator may have and that keep it stable; where the rule asks for more, a note says so. Where the rate falls with the
    number of replicas (`capacity-curve`), it is the fewest replicas that serve the load at that utilisation, at which
    the rule comes to rest when it is applied again after each change.

    Present replicas stay as far as they are wanted: where there are too many replicas, nodes that hold the
    most of them give up theirs; where there are too few, each new one goes to the candidate with room that holds the
    fewest replicas of the whole application. Rules of the problem limit this room, but no replica moves because of one:
    where one is broken, the answer is that there is none, with its name. Delays and costs play no part.
    Flink's additions for working off a backlog, and its band within which nothing is changed, are left out.
    """

    name = "ds2"
    kinds = ("edrp",)  # numbers of replicas are what it decides
    summary = "the DS2 rule of Flink's autoscaler: replicas for a utilisation of 0.7, new ones spread evenly"
    parameters = Ds2Parameters

    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """Keep current replicas up to the targets, then add the missing ones."""
        needed = [_needed_replicas(compiled, operator, parameters.utilisation) for operator in compiled.operators]
        # Limit the numbers of replicas to those that each operator may have and that keep it stable.
        stable = stable_degrees(compiled)
        max_stable = stable.shape[1] - 1 - stable[:, ::-1].argmax(axis=1)
        targets = np.clip(np.minimum(needed, stable.shape[1]).astype(np.int64), stable.argmax(axis=1), max_stable)
        filling = Filling.of(compiled, _current_kept(compiled, targets))
        for operator, name in enumerate(compiled.operators):
            if needed[operator] > targets[operator]:
                more = f"{needed[operator]} replicas" if isfinite(needed[operator]) else "more than its curve ever reaches"
                filling.notes.append(f"{name} would need {more}, may have {targets[operator]}")
        for operator in np.flatnonzero(targets != filling.counts.sum(axis=1)).tolist():
            nodes = compiled.candidates(operator)
            filling.add(operator, nodes, int(targets[operator]), partial(_to_the_emptiest, filling, nodes))
        return filling


def true_rate(operator: Operator, replicas: int = 1) -> float:
    """Tuples/s that a replica processes when it never waits for input (DS2's true processing rate).

    That is the service rate of a queue (M/M/1), with `replicas` replicas where it follows a capacity curve, the largest
    measured rate of a table, and for a polynomial, which is stable at any rate, one over the latency without load.
    Without a latency model it is infinite.

    Examples
    --------
    >>> true_rate(Operator(name="parser", latency={"model": "table", "rates": [10, 80], "latencies": [0.01, 0.2]}))
    80.0
    """
    return inf if operator.latency is None else operator.latency.true_rate(replicas)


def _needed_replicas(compiled: Compiled, name: str, utilisation: float) -> float:
    """Number of replicas that the rule asks for; infinite where no number is enough."""
    application = compiled.problem.application
    load, operator = application.load(name), application.by_name[name]
    if load == 0:
        return 1
    if isinstance(operator.latency, CapacityCurveLatency):
        return max(1, operator.latency.fewest_replicas(load / utilisation * (1 - REPLICAS_SLACK)))
    return max(1, ceil(load / (true_rate(operator) * utilisation) * (1 - REPLICAS_SLACK)))


def _to_the_emptiest(filling: Filling, nodes: Ints, room: Ints, replicas: int) -> Ints:
    """Deal replicas to the nodes that hold the fewest replicas of the whole application."""
    return even_shares(filling.counts[:, nodes].sum(axis=0), room, replicas)


def _current_kept(compiled: Compiled, targets: Ints) -> Ints:
    """Current replicas per operator and node that stay, as evenly spread as the current ones allow."""
    if compiled.current is None:
        return np.zeros(compiled.candidate.shape, np.int64)
    none = np.zeros(len(compiled.nodes), np.int64)
    return np.array(
        [even_shares(none, current, number) for current, number in zip(compiled.current, targets.tolist(), strict=True)]
    )


METHODS = (Ds2(),)
"""Methods for problems of kind `edrp`."""
