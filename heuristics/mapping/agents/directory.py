"""Who hosts which service, as servers know it of one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Directory:
    """Services of all servers, in the order in which servers are tried.

    Servers need it for the public network only, where everybody is everybody's neighbour (section 4.3). It may be out of date:
    whoever receives a map that it cannot extend drops it.

    Parameters
    ----------
    services
        What each server hosts, by its name; None for everything.

    Examples
    --------
    >>> Directory({"a": ("count",), "b": None, "c": ()}).hosts("count")
    ('a', 'b')
    """

    def __init__(self, services: Mapping[str, Iterable[str] | None]) -> None:
        self._services = {name: None if hosted is None else frozenset(hosted) for name, hosted in services.items()}
        self._hosts: dict[str | None, tuple[str, ...]] = {}

    def hosts(self, service: str | None) -> tuple[str, ...]:
        """Servers that host a service; None is any service."""
        if service not in self._hosts:
            self._hosts[service] = tuple(
                name for name, hosted in self._services.items() if service is None or hosted is None or service in hosted
            )
        return self._hosts[service]
