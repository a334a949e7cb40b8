"""A problem with what has been measured since: rates, needs, delays, capacities, vanished nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from edrp.core.document import Document
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import suggestion
from edrp.placement.application import Topology
from edrp.placement.delays import with_delays
from edrp.placement.devices import Units
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.network import Network, Node
from edrp.placement.rules import Forbidden, LinearRule, PlacementRule, Required

Amounts = float | Mapping[str, float]


def with_measurements(
    problem: LatencyAwareProblem,
    *,
    rates: Mapping[tuple[str, str], float] | None = None,
    external_rates: Mapping[str, float] | None = None,
    resources: Mapping[str, Amounts] | None = None,
    capacities: Mapping[str, Amounts] | None = None,
    delays: Mapping[tuple[str, str], float] | None = None,
    vanished: Collection[str] = (),
    network: Network | None = None,
) -> LatencyAwareProblem:
    """The problem as it is now; what is not given stays as it was.

    Parameters
    ----------
    problem
        As it was; its `current` is left out.
    rates
        Tuples/s by stream (source, target).
    external_rates
        Tuples/s that no stream brings, by operator.
    resources
        Needs of an instance, by operator; of named resources those that are given.
    capacities
        Amounts that a node offers, by node; of named resources those that are given.
    delays
        Seconds, one way, by pair of nodes; see `with_delays`.
    vanished
        Nodes that are no more. They are no candidates either, and rules are about the others.
    network
        Instead of the problem's; capacities, delays and vanished nodes are then of this one. For nodes that have come, or
        a whole matrix of delays (`LatencyEstimate.network`).

    Raises
    ------
    InvalidInstanceError
        Naming every unknown operator, stream and node, every value that cannot be, every operator all of whose candidates have
        vanished, and every rule that the nodes left cannot meet.

    Examples
    --------
    >>> problem = LatencyAwareProblem(
    ...     application={"operators": [{"name": "read"}, {"name": "write"}],
    ...                  "streams": [{"source": "read", "target": "write", "rate": 5.0}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"source": "a", "target": "b", "delay": 0.01}]},
    ... )
    >>> now = with_measurements(problem, rates={("read", "write"): 80.0}, delays={("a", "b"): 0.02})
    >>> now.application.rate("read", "write"), now.network.delay("b", "a")
    (80.0, 0.02)
    """
    before = problem.network if network is None else network
    streams = {(stream.source, stream.target) for stream in problem.application.streams}
    faults = [
        *_unknown("external_rates", external_rates or (), problem.application.by_name, "operator of the application"),
        *_unknown("resources", resources or (), problem.application.by_name, "operator of the application"),
        *_unknown("capacities", capacities or (), before.by_name, "node of the network"),
        *_unknown("vanished", vanished, before.by_name, "node of the network"),
        *(
            Fault(f"rates[{source} → {target}]", str(rate), "is the rate of no stream of the application")
            for (source, target), rate in (rates or {}).items()
            if (source, target) not in streams
        ),
        *([Fault("vanished", ", ".join(vanished), "no node is left")] if before.by_name.keys() <= set(vanished) else []),
    ]
    InvalidInstanceError.raise_if_any(faults)
    measured = _network(with_delays(before, delays or {}), capacities or {}, set(vanished))
    application = _application(problem.application, rates or {}, external_rates or {}, resources or {}, set(vanished))
    left = [node for node in before.nodes if node.name not in vanished]
    rules = [told for rule in problem.rules if (told := _rule_among(rule, left)) is not None]
    return problem.replace(application=application, network=measured, rules=rules, current=None)


def _unknown(place: str, names: Iterable[str], known: Collection[str], what: str) -> list[Fault]:
    return [Fault(f"{place}[{name}]", name, f"is no {what}{suggestion(name, known)}") for name in names if name not in known]


def _network(before: Network, capacities: Mapping[str, Amounts], vanished: set[str]) -> dict[str, Any]:
    nodes = [
        _changed(node, resources=_updated(node.resources, capacities[node.name])) if node.name in capacities else node
        for node in before.nodes
        if node.name not in vanished
    ]
    links = [link for link in before.links if link.source not in vanished and link.target not in vanished]
    zoned = any(node.zone is not None for node in before.nodes if node.name not in vanished)
    return _changed(before, nodes=nodes, links=links, within_zone=before.within_zone if zoned else None)


def _rule_among(rule: PlacementRule, nodes: Sequence[Node]) -> PlacementRule | None:
    """The rule without names of nodes that are no more; None where these leave nothing that could break it.

    A rule that could not be met any more stays as it is, for the problem to refuse it by name.
    """
    if isinstance(rule, LinearRule):
        terms = [term for whole in rule.terms if (term := whole.among(nodes)) is not None]
        if terms:
            return rule.replace(terms=terms)
        return None if (rule.lower or 0.0) <= 0.0 <= (rule.upper or 0.0) else rule
    if isinstance(rule, Forbidden):
        return rule.among(nodes)
    return rule.among(nodes) or rule if isinstance(rule, Required) else rule


def _application(
    before: Topology,
    rates: Mapping[tuple[str, str], float],
    external_rates: Mapping[str, float],
    resources: Mapping[str, Amounts],
    vanished: set[str],
) -> dict[str, Any]:
    operators, faults = [], []
    for index, operator in enumerate(before.operators):
        changes: dict[str, Any] = {}
        if operator.name in external_rates:
            changes["external_rate"] = external_rates[operator.name]
        if operator.name in resources:
            changes["resources"] = _updated(operator.resources, resources[operator.name])
        if operator.candidates is not None:
            changes["candidates"] = [name for name in operator.candidates if name not in vanished]
            if not changes["candidates"]:
                place, gone = f"application.operators[{index}].candidates", ", ".join(operator.candidates)
                faults.append(Fault(place, gone, f"all nodes that may run '{operator.name}' have vanished; name others"))
        operators.append(_changed(operator, **changes) if changes else operator)
    InvalidInstanceError.raise_if_any(faults)
    pairs = [(stream.source, stream.target) for stream in before.streams]
    streams = [
        _changed(stream, rate=rates[pair]) if pair in rates else stream
        for pair, stream in zip(pairs, before.streams, strict=True)
    ]
    return {"operators": operators, "streams": streams}


def _changed(document: Document, **changes: Any) -> dict[str, Any]:
    """The fields of a document with some changed: checked where it becomes part of a whole, so that faults have their place."""
    return {**{name: getattr(document, name) for name in type(document).model_fields}, **changes}


def _updated(before: Any, measured: Amounts) -> Any:
    """Amounts of resources with some of them changed; what came in units does so afterwards."""
    if isinstance(before, dict) and isinstance(measured, Mapping):
        in_units = {name: {"units": measured[name]} for name in measured if isinstance(before.get(name), Units)}
        return {**before, **measured, **in_units}
    return dict(measured) if isinstance(measured, Mapping) else measured
