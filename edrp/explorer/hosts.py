"""Leased hosts as boxes with the instances that run on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edrp.enactment.containers import ContainerApplication, HostType, used_resources
from edrp.explorer.boxes import BOLD_LETTER, NO_ROOM, Content, Item, chips_of, fitted, rooms, shortened
from edrp.explorer.layout import in_grid
from edrp.explorer.quantities import figure
from edrp.explorer.view import Box, Detail, Graph, State

MAX_HOSTS = 160
"""Hosts that have a box each; beyond, hosts of one type that carry the same instances share one."""


class Carried(NamedTuple):
    """A host with its type, and the instances on it in each of the states."""

    name: str
    type: str
    instances: Sequence[Mapping[str, int]]


def host_graph(
    hosts: Sequence[Carried],
    times: Sequence[float],
    types: Mapping[str, HostType],
    application: ContainerApplication,
    details: dict[str, Detail],
) -> Graph:
    """Hosts with their instances from each of some times on; operators have the details `o<i>`, hosts `h<i>`."""
    number = {operator.name: index for index, operator in enumerate(application.operators)}
    shown, note = _shown(hosts)
    contents: list[Content] = [{} for _ in times]
    boxes, used = [], []
    for index, (host, count) in enumerate(shown):
        capacity = types[host.type].capacity if host.type in types else {}
        fullest = [used_resources(instances, application) for instances in host.instances]
        shares = [max((used.get(n, 0.0) / a for n, a in capacity.items() if a), default=0.0) for used in fullest]
        used.append(shares)
        peak = max(range(len(shares)), key=shares.__getitem__, default=0)
        rows = [("type", host.type)]
        if fullest:
            rows += [
                (name, f"{figure(fullest[peak].get(name, 0.0), 4)} of {figure(amount, 4)}") for name, amount in capacity.items()
            ]
        lines = [] if len(times) == 1 else ["In use when it is fullest."]
        details[f"h{index}"] = Detail(host.name if count == 1 else f"{count} hosts like {host.name}", rows, lines)
        label = shortened(host.name, 140, BOLD_LETTER) if count == 1 else f"{count} hosts"
        box = Box(f"h{index}", label, 162.0, 47.0, shortened(host.type, 140, 6.2), 0.0, detail=f"h{index}")
        for time, instances in enumerate(host.instances):
            items = [Item(f"h{index}o{number[n]}", n, number[n], c, f"o{number[n]}") for n, c in instances.items() if c]
            if items:
                contents[time][box.id] = items  # type: ignore[index]
        boxes.append(box)
    needed = rooms(contents)
    boxes = [fitted(box, needed.get(box.id, NO_ROOM)) for box in boxes]
    states = [
        State(time, chips_of(content, needed), shares=shares)
        for time, content, shares in zip(times, contents, zip(*used, strict=True), strict=True)
    ]
    place = in_grid("hosts", [(box.width, box.height) for box in boxes])
    return Graph(
        "Hosts and their instances", boxes, [place], states, note=note, legend=[("chip", "instances of an operator on a host")]
    )


def _shown(hosts: Sequence[Carried]) -> tuple[list[tuple[Carried, int]], str]:
    """Hosts, each with how many it stands for."""
    if len(hosts) <= MAX_HOSTS:
        return [(host, 1) for host in hosts], ""
    alike: dict[object, list[Carried]] = {}
    for host in hosts:
        alike.setdefault((host.type, tuple(tuple(sorted(i.items())) for i in host.instances)), []).append(host)
    groups = sorted(alike.values(), key=len, reverse=True)
    note = f"{len(hosts):,} hosts; those of one type with the same instances share a box."
    if len(groups) > MAX_HOSTS:
        note += f" The {MAX_HOSTS} most frequent of {len(groups):,} are drawn."
    return [(members[0], len(members)) for members in groups[:MAX_HOSTS]], note
