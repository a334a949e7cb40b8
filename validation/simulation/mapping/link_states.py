"""Flows of a simulated run at one moment, as a problem of link allocation."""

from __future__ import annotations

from typing import Any

from edrp.mapping.bimodal_run import BimodalRun
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.mapping.link_allocation import Flow, LinkAllocationProblem


def links_at(scenario: BimodalScenario, run: BimodalRun, time: float, **fields: Any) -> LinkAllocationProblem | None:
    """Return the hops between different servers of all tasks that run at a time, with their routes; None for no hops.

    Flows are named by the positions of task and hop. A change at exactly that time counts as still to be decided.

    Parameters
    ----------
    scenario, run
        The scenario and its simulated run.
    time
        Seconds from the start of the run.
    fields
        Fields of `LinkAllocationProblem` other than those of the scenario.

    Examples
    --------
    >>> from edrp.validation.simulation.mapping.bimodal_simulator import simulate
    >>> scenario = BimodalScenario(
    ...     network={"nodes": [{"name": "a", "capacity": 2, "uplink": 2e5}, {"name": "b", "capacity": 2, "uplink": 2e5}]},
    ...     services=[{"name": "decode", "capacity": 1, "shrinkage": 0.5}], variation=0,
    ...     tasks=[{"arrival": 0, "source": "a", "delivery": "b", "services": ["decode"], "rate": 1e5, "data": 1e7}],
    ... )
    >>> run = simulate(scenario, "public-hops", seed=1)
    >>> [(flow.name, flow.source, flow.target, flow.route) for flow in links_at(scenario, run, 50.0).flows]
    [('0.0', 'a', 'b', None)]
    >>> links_at(scenario, run, 100.0) is None
    True
    """
    changes = run.changes
    moved = {
        (task, hop): None if route < 0 else run.routes[route]
        for when, task, hop, route in zip(changes.time, changes.task, changes.hop, changes.route, strict=True)
        if when < time
    }
    flows = []
    for index, task in enumerate(run.tasks):
        if task.start is None or task.finish is None or not task.start <= time < task.finish:
            continue
        rates = scenario.path_task(index).hop_bandwidths
        for hop, (way, rate) in enumerate(zip(task.routes, rates, strict=True)):
            if len(way) > 1:
                admitted = None if task.public and task.public[hop] else way
                route = moved.get((index, hop), admitted)
                price = scenario.tasks[index].price
                flows.append(Flow(name=f"{index}.{hop}", source=way[0], target=way[-1], rate=rate, price=price, route=route))
    known = {"max_links": scenario.reallocation_links, "forwarding_price": scenario.forwarding_price}
    return LinkAllocationProblem(network=scenario.network, flows=tuple(flows), **(known | fields)) if flows else None
