"""Arrays of the label search (`expand_labels` and others, edrp/native/formulations/placement/beam.cpp).

A label is a choice of configurations for the first operators, with its exact arrival times and costs. What it takes of the
nodes follows from its configurations; it is counted where a label is looked at, not kept with it.

Labels that another one is nowhere worse than are removed. They are compared where the operators with open streams have the same
configurations. Of two of them, the better one must leave later operators as much room: it takes no more of a node, or so little
that whatever they may need still fits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.formulations.placement.elimination.rules import RuleStage


class BeamLabels(NamedTuple):
    """Labels as arrays, one row each.

    `chosen` (labels, operators) configurations; `finish` (labels, operators, arrivals) seconds, one for all replicas of an
    operator or, where paths run through instances, for each member of its configuration; `rules` (labels, sums of rules);
    `sums` (labels, 6 + flows): objective without response and downtime, money/h, tuples in flight, rent, downtime, latest
    finish of a sink, and for each flow the weighted finish of the sinks.
    """

    chosen: Ints32
    finish: Floats
    rules: Floats
    sums: Floats

    @classmethod
    def empty(cls, count: int, operators: int, arrivals: int, rules: int, flows: int) -> BeamLabels:
        """Room for `count` labels."""
        return cls(
            np.zeros((count, operators), np.int32),
            np.zeros((count, operators, arrivals)),
            np.zeros((count, rules)),
            np.zeros((count, SINK_FLOW + flows)),
        )

    def take(self, rows: Ints) -> BeamLabels:
        """The labels of these rows."""
        return BeamLabels(self.chosen[rows], self.finish[rows], self.rules[rows], self.sums[rows])


FIXED, MONEY, USAGE, RENT, DOWNTIME, SINK, SINK_FLOW = range(7)


class Configurations(NamedTuple):
    """Configurations of all operators one after another; those of operator i are `start[i]:start[i + 1]`.

    `members` (configurations, replicas) padded with -1; `degree`; `latency` seconds; `fixed` objective of the
    replicas (cost, prices, ties, penalties); `cost` money/h; `rent` price of the resources; `downtime` seconds; `tail`
    (configurations, arrivals) minimum of seconds behind the operator, one for all replicas or, where paths run through
    instances, for each member; `places` (configurations, replicas) the candidate of the plan that each member, as
    representative, stands for (-1 if none is left), `anchor` that of the most telling one, which is member `anchor_member`.
    """

    start: Ints
    members: Ints32
    degree: Ints
    latency: Floats
    fixed: Floats
    cost: Floats
    rent: Floats
    downtime: Floats
    tail: Floats
    places: Ints32
    anchor: Ints
    anchor_member: Ints


class OperatorStage(NamedTuple):
    """Placing one operator, the one that is `placed`: its configurations, its streams, and the bounds on what is still to come.

    `own` are the configurations of the operator alone. `tail_*` describe the streams into it:
    source operator, rate. `open_*` are the operators with streams still to come, without this one, and the
    flow out of each, shape (flows, operators), `own_flow` (flows,) that out of this one. `tables` (flows, states)
    are the backward tables after the operator, `constants` (flows,) what belongs to each; `stride` (operators,) and
    `own_stride` lead into it. `early` (flows, …) are the parts of open streams that the tables do not remember, by candidate of
    their sources `early_operator` from `early_start` on; `own_early` (flows, own candidates) those of streams out of this
    operator, and `goes_on` whether the bound counts anything out of it. `rest_*`
    are the least objective and money of the operators still to come. `limits`: response, cost, usage.
    """

    placed: int
    own: Configurations
    tail_source: Ints
    tail_rate: Floats
    open_operator: Ints
    open_flow: Floats
    own_flow: Floats
    is_sink: bool
    remembered: Ints
    stride: Ints
    own_stride: int
    tables: Floats
    rest_fixed: float
    rest_cost: float
    demand: Floats
    capacity: Floats
    nodes: Ints
    limits: Floats
    alpha: float
    money_price: float
    response: float
    weight_downtime: float
    least_downtime: float
    early_operator: Ints
    early_start: Ints
    early: Floats
    own_early: Floats
    goes_on: bool
    constants: Floats
    price_cost: float
    price_usage: float
    rules: RuleStage


class AllConfigurations(NamedTuple):
    """Configurations of all operators, the network, and what a replica takes, (operators, resources)."""

    choices: Configurations
    delay: Floats
    price: Floats
    demand: Floats


class Extensions(NamedTuple):
    """Labels extended by one configuration: the label, the configuration of the stage, and the bound."""

    parent: Ints
    choice: Ints
    bounds: Floats

    @classmethod
    def empty(cls, count: int) -> Extensions:
        """Room for `count` extensions."""
        return cls(np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count))

    def take(self, rows: Ints | slice) -> Extensions:
        """The extensions of these rows."""
        return Extensions(self.parent[rows], self.choice[rows], self.bounds[rows])


class Comparison(NamedTuple):
    """What matters of labels after an operator.

    `frontier`: operators with open streams. `pending`: sums of rules that still matter. `nodes`: those that later operators may
    use, `free` (nodes, resources) how much may be taken there without being in their way.
    """

    operators: int
    frontier: Ints
    pending: Ints
    nodes: Ints
    free: Floats
