"""Problem of sharing dedicated links and the public network among flows (bi-modal networks, section 5)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from edrp.core.document import Document, Faults, Name, NonNegative, Outcome, Positive, Probability, checks, duplicates, unit
from edrp.core.errors import Fault, numbered
from edrp.core.limits import compared, exceeds, with_rounding
from edrp.core.problem import Evaluation, Margin, Problem, read_as
from edrp.core.solution import Solution
from edrp.core.tolerances import SUM_ROUNDING
from edrp.mapping.server_network import ServerNetwork, exceeded, free_rate, rate_margins

Route = tuple[Name, ...]


class Flow(Document):
    """A stream of data from one server to another, which runs the next component."""

    name: Name = Field(description="unique among the flows")
    source: Name = Field(description="server that sends")
    target: Name = Field(description="server that receives; another one")
    rate: Positive = Field(description="rate that the stream is due", **unit("bytes/s"))
    price: NonNegative = Field(description="paid for each byte that gets through", **unit("money/bytes"))
    route: Route | None = Field(
        None, description="servers on its dedicated links now, from source to target; null: over the public network"
    )


class FlowAllocation(Outcome):
    """The allocation of a flow: a route of dedicated links for all of its rate, or rate on the public network."""

    flow: Name = Field(description="its name")
    route: Route | None = Field(None, description="servers on its dedicated links, from source to target; null: none")
    public_rate: NonNegative = Field(0.0, description="rate into the public network; 0 with a route", **unit("bytes/s"))


class LinkAllocationSolution(Solution):
    """Solution of a problem of kind `link-allocation`: allocations, objective and proven bound."""

    metric_units: ClassVar[Mapping[str, str]] = {"lost_revenue": "money/s", "forwarding": "money/s"}

    kind: Literal["link-allocation-solution"] = Field("link-allocation-solution", description="says what the document is")
    objective: float | None = Field(description="revenue lost and price of forwarding, as re-evaluated", **unit("money/s"))
    bound: float | None = Field(description="proven: no less can be lost", **unit("money/s"))
    allocations: tuple[FlowAllocation, ...] | None = Field(description="what each flow is given")

    @property
    def decision(self) -> tuple[FlowAllocation, ...] | None:
        """The allocations."""
        return self.allocations


class LinkAllocationProblem(Problem):
    """Share dedicated links and the public network among flows, so that the least revenue is lost.

    A route of dedicated links carries all of a flow's rate, and each server that it passes is paid. Data on the
    public network is held up: in the mean a share of it gets through. The current allocations need not keep to the limits (a
    link may have lost bandwidth since); the decision must.

    Examples
    --------
    One flow can have the link; the one with the higher price gains more by it:

    >>> problem = LinkAllocationProblem(
    ...     network={
    ...         "nodes": [{"name": "a", "capacity": 0, "uplink": 3.0}, {"name": "b", "capacity": 0}],
    ...         "links": [{"source": "a", "target": "b", "bandwidth": 4.0}],
    ...     },
    ...     flows=[{"name": "cheap", "source": "a", "target": "b", "rate": 4.0, "price": 1.0},
    ...            {"name": "valuable", "source": "a", "target": "b", "rate": 3.0, "price": 2.0}],
    ...     public_share=0.5,
    ... )
    >>> linked, public = FlowAllocation(flow="valuable", route=("a", "b")), FlowAllocation(flow="cheap", public_rate=3.0)
    >>> problem.evaluate((linked, public)).objective
    2.5
    >>> [allocation.public_rate for allocation in problem.current]
    [1.7142857142857142, 1.2857142857142856]
    """

    objective_terms: ClassVar[tuple[str, ...]] = ("lost_revenue", "forwarding")
    decision_type: ClassVar[Any] = tuple[FlowAllocation, ...]

    kind: Literal["link-allocation"] = Field("link-allocation", description="says what the document is")
    network: ServerNetwork = Field(
        description="servers and dedicated links; rates are what these flows can have, including what they have now"
    )
    flows: Annotated[tuple[Flow, ...], Field(min_length=1)] = Field(description="flows between servers")
    max_links: Annotated[int, Field(ge=1, le=1000)] = Field(6, description="most links of a route", **unit("1"))
    forwarding_price: NonNegative = Field(
        0.0,
        description="paid for each byte to each server that a route passes; no more in all than the flow's price",
        **unit("money/bytes"),
    )
    public_share: Probability = Field(0.81, description="share of the rate on the public network that gets through", **unit("1"))
    keep: bool = Field(True, description="whether a flow that has a dedicated route keeps one, perhaps another")

    @checks()
    def _check(self, faults: Faults) -> None:
        names = [flow.name for flow in self.flows]
        faults.add_repeated_names("flows", names)
        for index, flow in enumerate(self.flows):
            ends = [end for end in ("source", "target") if getattr(flow, end) not in self.network.by_name]
            for end in ends:
                faults.add_unknown(("flows", index, end), getattr(flow, end), "node of the network", self.network.by_name)
            if flow.source == flow.target:
                faults.add(("flows", index, "target"), flow.target, "must be another server than the source")
            elif flow.route is not None and not ends:
                for why in self._no_route(flow, flow.route):
                    faults.add(("flows", index, "route"), list(flow.route), why)

    def _warnings(self) -> Iterator[Fault]:
        if not self.forwarding_price and not any(flow.price for flow in self.flows):
            yield Fault("flows", "", "have no price, so that every allocation loses nothing")
        if self.forwarding_price and self.max_links == 1:
            yield Fault("forwarding_price", f"{self.forwarding_price:g}", "has no effect: max_links is 1")
        senders = {flow.source for flow in self.flows}
        if "public_share" in self.model_fields_set and not any(self.network.by_name[name].uplink for name in senders):
            yield Fault("public_share", f"{self.public_share:g}", "has no effect: no server that sends has an uplink")

    @property
    def resolution(self) -> float:
        """Rounding of the value of all flows: what is lost is what is left of it."""
        return SUM_ROUNDING * sum(flow.rate * flow.price for flow in self.flows)

    @cached_property
    def by_name(self) -> dict[str, Flow]:
        """Flows by name."""
        return {flow.name: flow for flow in self.flows}

    @property
    def current(self) -> tuple[FlowAllocation, ...]:
        """The current allocations: routes of flows, and the public network in proportion."""
        return self.allocated({flow.name: flow.route for flow in self.flows})

    def allocated(self, routes: Mapping[str, Route | None]) -> tuple[FlowAllocation, ...]:
        """Allocations in which flows without a route share up- and downlinks in proportion to their rates."""
        up, down = dict.fromkeys(self.network.by_name, 0.0), dict.fromkeys(self.network.by_name, 0.0)
        for flow in self.flows:
            if routes[flow.name] is None:
                up[flow.source] += flow.rate
                down[flow.target] += flow.rate
        servers = self.network.by_name
        share_up = {name: min(1.0, servers[name].uplink / rate) for name, rate in up.items() if rate}
        share_down = {name: min(1.0, free_rate(self.network, "downlink", name) / rate) for name, rate in down.items() if rate}
        return tuple(
            FlowAllocation.model_construct(flow=flow.name, route=routes[flow.name])
            if routes[flow.name] is not None
            else FlowAllocation.model_construct(
                flow=flow.name, public_rate=flow.rate * min(share_up[flow.source], share_down[flow.target])
            )
            for flow in self.flows
        )

    def _check_decision(self, decision: tuple[FlowAllocation, ...], place: str, faults: Faults) -> None:
        for index, allocation in enumerate(decision):
            faults.add_unknown((place, index, "flow"), allocation.flow, "flow of the problem", self.by_name)
            for position, name in enumerate(allocation.route or ()):
                faults.add_unknown((place, index, "route", position), name, "node of the network", self.network.by_name)

    def evaluate(self, decision: Sequence[FlowAllocation | Mapping[str, Any]]) -> Evaluation:
        """Evaluate the allocations of all flows.

        Returns
        -------
        Evaluation
            Metrics: `lost_revenue` and `forwarding` (money/s), `compliance`, the share of the revenue that is earned,
            `delivered_share` of all rates, `dedicated_flows`, `public_flows`, and `changed_flows`, whose route is another
            than now.
        """
        allocations: tuple[FlowAllocation, ...] = read_as(self.decision_type, decision, "decision")
        malformed = tuple(self._malformed(allocations))
        if malformed:
            return Evaluation(math.inf, {}, malformed)
        allocated = [(self.by_name[allocation.flow], allocation) for allocation in allocations]
        delivered = [
            flow.rate if allocation.route else self.public_share * allocation.public_rate for flow, allocation in allocated
        ]
        revenue = math.fsum(flow.price * flow.rate for flow in self.flows)
        lost = math.fsum(flow.price * (flow.rate - through) for (flow, _), through in zip(allocated, delivered, strict=True))
        forwarding = math.fsum(
            self.forwarding_price * flow.rate * (len(allocation.route) - 2) for flow, allocation in allocated if allocation.route
        )
        dedicated = sum(allocation.route is not None for _, allocation in allocated)
        metrics = {
            "lost_revenue": lost,
            "forwarding": forwarding,
            "compliance": 1 - lost / revenue if revenue else 1.0,
            "delivered_share": math.fsum(delivered) / math.fsum(flow.rate for flow in self.flows),
            "dedicated_flows": float(dedicated),
            "public_flows": float(len(allocated) - dedicated),
            "changed_flows": float(sum(allocation.route != flow.route for flow, allocation in allocated)),
        }
        broken = (
            *(why for flow, allocation in allocated for why in self._broken_flow(flow, allocation)),
            *exceeded(self._rate_margins(allocated)),
        )
        return Evaluation(lost + forwarding, metrics, broken)

    def margins(self, decision: Any) -> Iterator[Margin]:
        """Yield what links, uplinks and downlinks carry against what they have."""
        yield from self._rate_margins(
            [(self.by_name[allocation.flow], allocation) for allocation in self.read_decision(decision)]
        )

    def _malformed(self, decision: tuple[FlowAllocation, ...]) -> Iterator[str]:
        """List why a decision is not one about these flows."""
        names = [allocation.flow for allocation in decision]
        yield from (f"flow {names[index]}: is there twice" for index in duplicates(names))
        yield from (f"no flow of the problem: {name}" for name in dict.fromkeys(names) if name not in self.by_name)
        yield from (f"flow {name}: is given nothing" for name in self.by_name if name not in set(names))
        for allocation in decision:
            if allocation.flow in self.by_name and allocation.route is not None:
                yield from (
                    f"flow {allocation.flow}: route {why}"
                    for why in self._no_route(self.by_name[allocation.flow], allocation.route)
                )

    def _no_route(self, flow: Flow, route: Route) -> Iterator[str]:
        """List why servers are not a route of a flow."""
        if len(route) < 2 or (route[0], route[-1]) != (flow.source, flow.target):
            yield f"must lead from {flow.source} to {flow.target}"
            return
        for u, v in pairwise(route):
            if (u, v) not in self.network.arcs:
                yield f"needs a link {u} → {v}, and there is none"

    def _broken_flow(self, flow: Flow, allocation: FlowAllocation) -> Iterator[str]:
        if allocation.route is None:
            if self.keep and flow.route is not None:
                yield f"keep: flow {flow.name} has a dedicated route and must keep one"
            if exceeds(allocation.public_rate, flow.rate):
                between = "on the public network against a rate of"
                yield f"flow {flow.name}: {compared(allocation.public_rate, flow.rate, between)}"
            return
        if allocation.public_rate:
            yield f"flow {flow.name}: is given a route, and rate on the public network too"
        links = len(allocation.route) - 1
        if links > self.max_links:
            yield f"max_links: flow {flow.name} has {links} links against {self.max_links}"
        price = (links - 1) * self.forwarding_price
        if exceeds(price, flow.price):
            yield f"forwarding_price: flow {flow.name} would pay {compared(price, flow.price, 'of its price')}"

    def _rate_margins(self, allocated: list[tuple[Flow, FlowAllocation]]) -> Iterator[Margin]:
        """Yield what links, uplinks and downlinks carry against what they have."""
        uses: list[tuple[tuple[str, ...], float]] = []
        for flow, allocation in allocated:
            if allocation.route is not None:
                uses += [(("bandwidth", *arc), flow.rate) for arc in pairwise(allocation.route)]
            elif allocation.public_rate:
                rate = allocation.public_rate
                uses += [(("uplink", flow.source), rate), (("downlink", flow.target), rate)]
        return rate_margins(self.network, uses)

    def solution(self, decision: tuple[FlowAllocation, ...] | None, fields: dict[str, Any]) -> LinkAllocationSolution:
        """The allocations."""
        return LinkAllocationSolution.model_construct(**fields, allocations=decision)

    def clashes(self) -> tuple[str, ...]:
        """Name the flows that must keep a dedicated route and find none, each considered alone."""
        lost = tuple(
            f"keep: no route of flow {flow.name} from {flow.source} to {flow.target} with at most "
            f"{numbered(max_links, 'link')} has {flow.rate:.6g} bytes/s"
            for flow in self.flows
            for max_links in [self._route_limit(flow)]
            if flow.route is not None and not self._routable(flow, max_links)
        )
        return lost or ("keep and bandwidth: each flow alone can keep a dedicated route, but not all of them together",)

    def _route_limit(self, flow: Flow) -> int:
        """Return the links that a route of the flow may have, by number and price."""
        if not self.forwarding_price:
            return self.max_links
        return int(min(self.max_links, 1 + with_rounding(flow.price) // self.forwarding_price))

    def _routable(self, flow: Flow, max_links: int) -> bool:
        """Tell whether some route has room for the flow alone."""
        import networkx as nx

        wide = nx.DiGraph([arc for arc, link in self.network.arcs.items() if not exceeds(flow.rate, link.bandwidth)])
        return flow.source in wide and flow.target in nx.single_source_shortest_path_length(wide, flow.source, cutoff=max_links)
