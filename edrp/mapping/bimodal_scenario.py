"""A run on servers joined by dedicated links and the public network (bi-modal networks, section 6.1).

Ways to choose among maps are its methods.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from edrp.core.document import RANGES, Faults, NonNegative, Positive, checks, unit
from edrp.core.errors import Fault
from edrp.core.plausible_magnitudes import MAX_USUAL_DELAY, long_times
from edrp.core.problem import Evaluation, Problem, read_as
from edrp.core.solution import Solution
from edrp.mapping.bimodal_run import BimodalRun, is_whole, run_faults, run_metrics
from edrp.mapping.path_tasks import BimodalTask, Component, PathTask, Service
from edrp.mapping.server_network import ServerNetwork

MAX_INTERVALS = 1_000_000_000
"""Most intervals of one kind in a run."""


class BimodalScenarioSolution(Solution):
    """Solution of a scenario: a run with its metrics."""

    metric_units: ClassVar[Mapping[str, str]] = {
        "throughput": "tasks/h",
        "delivered_rate": "bytes/s",
        "messages": "messages/task",
        "lost_revenue": "money",
    }

    kind: Literal["bimodal-scenario-solution"] = Field("bimodal-scenario-solution", description="says what the document is")
    objective: float | None = Field(
        description="revenue lost by refused tasks and by late data, as re-evaluated", **unit("money")
    )
    run: BimodalRun | None = Field(description="what became of each task")

    @property
    def decision(self) -> BimodalRun | None:
        """The run."""
        return self.run


class BimodalScenario(Problem):
    """Servers, dedicated links, the public network, and tasks that arrive.

    A task is mapped at its arrival on what is free, and holds computing capacity, links and uplinks until all its data is
    delivered. Streams over the public network share up- and downlinks in proportion to their rates; every
    `flow_interval` each such hop passes min(1, share × base^(variation × Z)) of its rate, Z standard normal. Without
    buffers a task advances at the pace of its slowest hop; with a buffer, what a hop cannot pass waits, up to `buffer`
    seconds of the hop's rate. Every `reallocation_interval` links are re-allocated (Alg. 4).

    Examples
    --------
    >>> scenario = BimodalScenario(
    ...     network={"nodes": [{"name": "a", "capacity": 2, "uplink": 2e5}, {"name": "b", "capacity": 2, "uplink": 2e5}]},
    ...     services=[{"name": "decode", "capacity": 1, "shrinkage": 0.5}],
    ...     tasks=[{"arrival": 0, "source": "a", "delivery": "b", "services": ["decode"], "rate": 1e5, "data": 1e7}],
    ... )
    >>> scenario.path_task(0).hop_bandwidths, scenario.tasks[0].nominal
    ((100000.0, 50000.0), 100.0)
    """

    objective_terms: ClassVar[tuple[str, ...]] = ("lost_revenue",)
    decision_type: ClassVar[Any] = BimodalRun

    kind: Literal["bimodal-scenario"] = Field("bimodal-scenario", description="says what the document is")
    network: ServerNetwork = Field(description="servers and dedicated links, all of it free at the start")
    services: tuple[Service, ...] = Field(description="what components there are")
    tasks: Annotated[tuple[BimodalTask, ...], Field(min_length=1)] = Field(description="in the order in which they arrive")
    networks: Literal["both", "dedicated", "public"] = Field("both", description="what may carry streams")
    max_empty_hops: Annotated[int, Field(ge=0, le=1000)] = Field(
        1, description="most servers that a map passes without hosting a component", **unit("1")
    )
    empty_hops: Literal["per_edge", "total"] = Field(
        "per_edge", description="whether each hop may pass so many servers, or all together"
    )
    reallocation_interval: NonNegative = Field(10.0, description="time between re-allocations of links; 0: never", **unit("s"))
    reallocation_links: Annotated[int, Field(ge=1, le=64)] = Field(
        6, description="most links of a route that re-allocation finds", **unit("1")
    )
    forwarding_price: NonNegative = Field(
        0.0, description="paid for each byte and server that forwards it", **unit("money/bytes")
    )
    flow_interval: Positive = Field(0.01, description="time for which the public network keeps its rate", **unit("s"))
    variation: Annotated[float, Field(ge=0, le=10)] = Field(
        1.0, description="standard deviation of the logarithm of the rate", **unit("1")
    )
    variation_base: Annotated[float, Field(gt=1, le=10)] = Field(2.0, description="base of that logarithm", **unit("1"))
    buffer: NonNegative = Field(0.0, description="rate that a hop can hold back, as a time", **unit("s"))
    window: Positive = Field(10.0, description="time over which a delivery rate is observed", **unit("s"))
    flow: Literal["drawn", "expected"] = Field(
        "drawn", description="whether the public network is drawn, or its expectation is taken; that knows no buffer"
    )

    @checks()
    def _check(self, faults: Faults) -> None:
        names = [service.name for service in self.services]
        faults.add_repeated_names("services", names)
        for index, task in enumerate(self.tasks):
            for end in ("source", "delivery"):
                if getattr(task, end) not in self.network.by_name:
                    faults.add_unknown(("tasks", index, end), getattr(task, end), "node of the network", self.network.by_name)
            for position, name in enumerate(task.services):
                if name not in self._services:
                    faults.add_unknown(("tasks", index, "services", position), name, "service of the scenario", names)
            self._check_sizes(index, faults)
            if index and task.arrival < self.tasks[index - 1].arrival:
                faults.add(("tasks", index, "arrival"), task.arrival, f"is before that of tasks[{index - 1}]; order them by time")
        self._check_intervals(faults)
        if self.flow == "expected" and self.buffer:
            faults.add(("buffer",), self.buffer, 'must be 0 with flow "expected", which knows no buffer')

    def _check_sizes(self, index: int, faults: Faults) -> None:
        """Note a task that takes too long, or whose rate or data becomes too large on its way: products of what is in range."""
        task = self.tasks[index]
        longest, largest = RANGES["s"].largest, RANGES["bytes"].largest
        if task.nominal > longest:
            why = f"takes {task.nominal:g} s at a rate of {task.rate:g} bytes/s; at most {longest:g} s are taken"
            faults.add(("tasks", index, "data"), task.data, why)
        grown = 1.0
        for position, name in enumerate(task.services):
            grown *= self._services[name].shrinkage if name in self._services else 1.0
            if not grown * max(task.rate, task.data) <= largest:
                why = f"makes data or a rate of {grown * max(task.rate, task.data):g}; at most {largest:g} is taken"
                faults.add(("tasks", index, "services", position), name, why)
                return

    def _check_intervals(self, faults: Faults) -> None:
        """Note intervals of which a run would have more than can be simulated."""
        latest = max((task.arrival + task.nominal for task in self.tasks), default=0.0)
        for place in ("flow_interval", "window", "reallocation_interval"):
            interval: float = getattr(self, place)
            if interval and latest > MAX_INTERVALS * interval:
                why = f"is {latest / interval:.3g} times in a run of {latest:g} s; at most {MAX_INTERVALS:,} are simulated"
                faults.add((place,), interval, why)

    def _warnings(self) -> Iterator[Fault]:
        network = self.network
        yield from long_times("network.links[{}].delay", [link.delay for link in network.links], MAX_USUAL_DELAY, "delays")
        access = [node.access_delay for node in network.nodes]
        yield from long_times("network.nodes[{}].access_delay", access, MAX_USUAL_DELAY, "delays")
        if not any(task.price for task in self.tasks):
            yield Fault("tasks", "", "have no price, so that no run loses anything")

    @cached_property
    def _services(self) -> dict[str, Service]:
        return {service.name: service for service in self.services}

    @cached_property
    def _path_tasks(self) -> tuple[PathTask, ...]:
        return tuple(self._path_task(task) for task in self.tasks)

    def path_task(self, index: int) -> PathTask:
        """Return a task in the terms of the mapping problem: components are named by their position."""
        return self._path_tasks[index]

    def _path_task(self, task: BimodalTask) -> PathTask:
        described = [self._services[name] for name in task.services]
        components = [
            Component(name=str(position), service=service.name, **service.model_dump(exclude={"name"}))
            for position, service in enumerate(described, start=1)
        ]
        return PathTask(
            source=task.source, delivery=task.delivery, components=tuple(components), rate=task.rate, price=task.price
        )

    def delivered(self, index: int) -> float:
        """Return the total bytes that a task delivers."""
        task = self.tasks[index]
        return task.data * math.prod(self._services[name].shrinkage for name in task.services)

    def evaluate(self, decision: BimodalRun | Mapping[str, Any]) -> Evaluation:
        """Compute the metrics of a run from its records, and check that the records are possible.

        Returns
        -------
        Evaluation
            Metrics (section 6.2): `acceptance`, `throughput` (accepted tasks per hour of arrivals), `delivered_rate`
            (bytes/s), `deviation` from the required rate and `elongation` of accepted tasks, `server_utilisation`
            (reserved), `server_work` (work done), `link_utilisation`, `public_share` of hops as admitted, `messages` per
            task, `reallocations`. The objective is revenue lost: of refused tasks all, of others their deviation's share.
        """
        decision = read_as(BimodalRun, decision, "decision")
        broken = tuple(run_faults(self, decision))
        if len(decision.tasks) != len(self.tasks) or not all(map(is_whole, decision.tasks)):
            return Evaluation(math.inf, {}, broken)
        metrics = run_metrics(self, decision)
        return Evaluation(metrics.pop("lost_revenue"), metrics, broken)

    def solution(self, decision: BimodalRun | None, fields: dict[str, Any]) -> BimodalScenarioSolution:
        """The run."""
        return BimodalScenarioSolution.model_construct(**fields, run=decision)
