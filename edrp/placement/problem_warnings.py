"""Statements of a placement without any effect, such as weights, limits and operators that no load reaches, and odd times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from edrp.core import plausible_magnitudes
from edrp.core.errors import Fault, numbered
from edrp.core.wording import enumerated
from edrp.placement.application import StreamGraph, Successors, successors
from edrp.placement.metrics import Downtime
from edrp.placement.metrics.moves import reads_state

OF_CHANGES = ("downtime", "moved_state", "moves")
"""Metrics of a change. Limits on them are right in an initial placement, which is followed by changes; only weights are not."""


def idle_terms(problem: Any) -> Iterator[Fault]:
    """Yield a fault for each metric with a weight, limit or priority of the user's that is 0 for every deployment.

    Downtime that is not 0 is looked at more closely: state may move in no time next to something that takes some.
    """
    stated = [(part, getattr(problem, part)) for part in ("weights", "limits") if part in problem.model_fields_set]
    for name, metric in problem.metrics.items():
        given = list(_given(problem, name, stated))
        if problem.current is None and name in OF_CHANGES and given and given[0][0].startswith("limits"):
            continue
        if given and (why := metric.zero_because(problem)):
            others = f"; neither has {' or '.join(place for place, _ in given[1:])}" if given[1:] else ""
            yield Fault(*given[0], f"has no effect: {why}{others}")
        elif isinstance(metric, Downtime) and not reads_state(problem):
            yield from metric.moving_for_nothing(problem)


def _given(problem: Any, metric: str, stated: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """Places and values, as text, of the priority, the weight and the limit that the user gives to a metric."""
    for index, priority in enumerate(getattr(problem, "priorities", ())):
        if priority.metric == metric:
            yield f"priorities[{index}]", metric
    for part, values in stated:
        name = problem.weight_name(metric) if part == "weights" else metric
        field, _, resource = name.partition(".")
        if field in values.model_fields_set:
            value = getattr(values, field).get(resource) if resource else getattr(values, field)
            if value:
                yield f"{part}.{name}", f"{value:g}"


def odd_times(problem: Any) -> Iterator[Fault]:
    """Ask whether delays, times of a reconfiguration and limits on times are in milliseconds."""
    network, limits = problem.network, getattr(problem, "limits", None)
    joined = {place: getattr(network, place) for place in ("store", "within_zone", "between_zones")}
    delays = {f"network.{place}.delay": [described.delay] for place, described in joined.items() if described is not None}
    delays["network.links[{}].delay"] = [link.delay for link in network.links]
    delays["network.nodes[{}].store_delay"] = [node.store_delay for node in network.nodes]
    for place, seconds in delays.items():
        yield from plausible_magnitudes.long_times(place, seconds, plausible_magnitudes.MAX_USUAL_DELAY, "delays")
    times = [
        ("network.nodes[{}].spawn_time", [node.spawn_time for node in network.nodes], plausible_magnitudes.MAX_USUAL_PREPARATION),
        ("synchronisation_time", [getattr(problem, "synchronisation_time", None)], plausible_magnitudes.MAX_USUAL_PREPARATION),
        ("limits.response_time", [getattr(limits, "response_time", None)], plausible_magnitudes.MAX_USUAL_RESPONSE_TIME),
        ("limits.downtime", [getattr(limits, "downtime", None)], plausible_magnitudes.MAX_USUAL_DOWNTIME),
    ]
    for place, seconds, usual in times:
        yield from plausible_magnitudes.long_times(place, seconds, usual, "times")


def idle_bandwidths(problem: Any) -> Iterator[Fault]:
    """Yield a fault where links have a bandwidth: no metric reads it, since state moves by way of the store.

    Of a routed network it may tell routes apart.
    """
    network = problem.network
    links = {f"links[{index}]": link for index, link in enumerate(network.links)}
    links |= {name: link for name in ("within_zone", "between_zones") if (link := getattr(network, name)) is not None}
    given = {place: link.bandwidth for place, link in links.items() if link.bandwidth is not None}
    if not given:
        return
    place, *others = given
    like = f", like {numbered(len(others), 'other link')}" if others else ""
    effect = "no effect but on which of equally long routes is taken" if network.routed else "no effect"
    limited = "what limits streams is their `usage` of a shared resource that nodes have a `capacity` of, such as a network card"
    yield Fault(f"network.{place}.bandwidth", f"{given[place]:g}", f"has {effect}{like}: {limited}")


def unreached_operators(application: StreamGraph, waiting: Iterable[str] = ()) -> Iterator[Fault]:
    """Yield a fault for operators that no load reaches: none has an external rate, or is joined by a stream with a rate.

    Parameters
    ----------
    application
        Operators and streams.
    waiting
        Operators at which items wait already.

    Examples
    --------
    >>> application = StreamGraph(
    ...     operators=[{"name": "read", "external_rate": 9}, {"name": "join"}, {"name": "rules"}],
    ...     streams=[{"source": "read", "target": "join"}, {"source": "rules", "target": "join"}],
    ... )
    >>> [fault.sentence for fault in unreached_operators(application)]
    ['application.operators[2] is rules, which no load reaches: neither it nor an operator upstream of it has an external_rate']
    """
    reached = {operator.name for operator in application.operators if operator.external_rate} | set(waiting)
    reached |= {end for stream in application.streams if stream.rate for end in (stream.source, stream.target)}
    if not reached:
        yield Fault("application", "", "has no load: no operator has an external_rate, and no stream a rate")
        return
    targets = successors(application.by_name, ((stream.source, stream.target) for stream in application.streams))
    frontier = list(reached)
    while frontier:
        following = [name for name in targets[frontier.pop()] if name not in reached]
        reached.update(following)
        frontier += following
    left = [(index, operator.name) for index, operator in enumerate(application.operators) if operator.name not in reached]
    if left:
        (index, first), others = left[0], [name for _, name in left[1:]]
        which = f"which no load reaches, like {enumerated(others)}" if others else "which no load reaches"
        without = "no operator upstream of them" if others else "neither it nor an operator upstream of it"
        why = f"is {first}, {which}: {without} has an external_rate{_reversal(application, targets)}"
        yield Fault(f"application.operators[{index}]", first, why)


def _reversal(application: StreamGraph, targets: Successors) -> str:
    """Asks whether all streams are the wrong way round, where no operator with an external rate sends anything."""
    sources = [operator.name for operator in application.operators if operator.external_rate]
    if not application.streams or not sources or any(targets[name] for name in sources):
        return ""
    return f"; no stream leaves {enumerated(sources)}: are the streams the wrong way round?"
