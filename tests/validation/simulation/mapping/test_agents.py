"""The mapping protocol of agents: against the compiled flood, over orders of delivery, and with tasks that race."""

from typing import Any

import pytest

from edrp.core.errors import InvalidInstanceError
from edrp.datasets.families.mapping.power_law_networks import mapping_problem
from edrp.heuristics.mapping.map_rules import Rules
from edrp.heuristics.mapping.methods import Flood
from edrp.mapping.mapping_arrays import path_map
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays
from edrp.mapping.path_tasks import PathTask
from edrp.mapping.server_network import ServerNetwork
from edrp.validation.oracles.mapping.protocol_audit import audit, audit_reservations, held_by_tasks, race, random_exchange
from edrp.validation.simulation.mapping.agents.agent import Map, MapAgent, Message
from edrp.validation.simulation.mapping.agents.exchange import Exchange, MappedTask, run_protocol

PRUNINGS: tuple[dict[str, Any], ...] = (
    {},
    {"split_by_hops": True},
    {"pruning": "annealed"},
    {"pruning": "random", "neighbours": 2, "max_messages": 300},
    {"pruning": "none", "max_messages": 400},
)
NAMES = ("least-cost", "least-cost split by hops", "annealed", "random", "none")


def problems(seed: int) -> list[MappingProblem]:
    """The tasks of a random race, each by itself."""
    return [
        MappingProblem(
            network=exchange.network,
            task=result.specification.task,
            max_empty_hops=exchange.rules.max_empty_hops,
            empty_hops="total" if exchange.rules.total_hops else "per_edge",
            bandwidth="cumulative" if exchange.rules.cumulative else "per_edge",
            cost=exchange.rules.cost,
            public_cost=0.5,
        )
        for exchange in [random_exchange(seed)]
        for result in exchange.results
    ]


@pytest.mark.parametrize("jitter", [0.0, 0.7])
@pytest.mark.parametrize("pruning", PRUNINGS, ids=NAMES)
def test_agents_and_compiled_flood_find_the_same_maps_with_the_same_messages(pruning: dict[str, Any], jitter: float) -> None:
    """Every map in the same order with the same facts, and as many messages, on random problems of every kind."""
    mapped = 0
    for seed in range(12):
        for problem in problems(seed):
            result = run_protocol(problem, jitter=jitter, seed=seed, **pruning)
            tables = mapping_arrays(problem)
            flood = Flood(tables.network, Rules.of(problem, **pruning), jitter=jitter).run(tables.task, seed)
            maps = tuple(path_map(tables.network, decision.nodes, decision.routes, decision.public) for decision in flood)
            assert result.maps == maps
            assert result.facts == tuple(decision.facts for decision in flood)
            assert {kind: result.messages[kind] for kind in flood.messages} == flood.messages
            mapped += len(maps) > 0
    assert mapped > 15


@pytest.mark.parametrize("pruning", PRUNINGS, ids=NAMES)
def test_the_best_map_is_reserved_and_feasible(pruning: dict[str, Any]) -> None:
    """On an idle network nothing can be short; a task that finds no map holds nothing."""
    accepted = 0
    for problem in (drawn for seed in range(20, 32) for drawn in problems(seed)):
        result = run_protocol(problem, **pruning)
        assert result.decision == (result.maps[0] if result.maps else None)
        assert (len(result.decided), result.short) == (1, ())
        if result.decision:
            evaluation = problem.evaluate(result.decision)
            assert evaluation.broken == ()
            assert evaluation.metrics["load_balance"] == pytest.approx(result.facts[0].load_balance)
            accepted += 1
    assert accepted > 15


def test_forty_orders_of_delivery_end_once_and_leak_nothing() -> None:
    """Messages overtake one another, and asking for the specification takes time; 40 instances are in the benchmark."""
    for problem in (mapping_problem(8, 3, seed) for seed in range(2)):
        counts = set()
        for order in range(40):
            exchange = Exchange(problem.network, Rules.of(problem), jitter=1.0, seed=order, ask_delay=0.001)
            task = exchange.submit(problem.task)
            exchange.run()
            assert list(audit(exchange)) == []
            counts.add(exchange.results[task].messages["map"])
        assert len(counts) > 10


def test_races_of_tasks_keep_reservations_and_accepted_tasks_equal() -> None:
    """After every message that can change a reservation."""
    races = [race(seed) for seed in range(50)]
    assert [outcome.faults for outcome in races if outcome.faults] == []
    assert sum(outcome.accepted for outcome in races) > 100
    assert sum(outcome.rollbacks for outcome in races) > 15
    assert sum(outcome.retried for outcome in races) > 5
    assert sum(outcome.overtaken for outcome in races) > 30


class Leaking(MapAgent):
    """Keeps what a probe reserved that is rolled back."""

    def receive(self, message: Message) -> list[Message]:
        held = dict(self.held)
        answers = super().receive(message)
        if message.kind == "rollback":
            self.held.update(held)
        return answers


TWO_WAYS = ServerNetwork(
    nodes=[{"name": "s", "capacity": 0}, *({"name": name, "capacity": 2} for name in "abt")],
    links=[
        {"source": source, "target": target, "bandwidth": 5, "cost": cost}
        for source, target, cost in [("s", "a", 1), ("a", "t", 1), ("s", "b", 2), ("b", "t", 2)]
    ],
)
"""From s to t by a for 2, by b for 4."""


def a_task(bandwidth: float = 1.0, needs: tuple[float, ...] = (2.0,)) -> PathTask:
    components = [{"name": f"c{position}", "capacity": need} for position, need in enumerate(needs)]
    return PathTask(source="s", delivery="t", components=components, bandwidths=[bandwidth] * (len(needs) + 1))


def raced(agent: type[MapAgent] = MapAgent, tasks: int = 2, **task: Any) -> Exchange:
    exchange = Exchange(TWO_WAYS, agent=agent)
    for _ in range(tasks):
        exchange.submit(a_task(**task))
    return exchange


def finished(exchange: Exchange) -> list[MappedTask]:
    exchange.run()
    return exchange.results


def test_the_audit_sees_what_is_not_released() -> None:
    exchange = raced(Leaking, tasks=3, bandwidth=4.0, needs=(0.5,))
    finished(exchange)
    assert [fault for fault in audit(exchange) if fault.startswith("task 2: holds 0.5 of capacity of t")]
    assert list(audit_reservations(exchange)) != []


def test_where_another_task_was_faster_the_probe_is_rolled_back_and_the_next_map_tried() -> None:
    """Both find the way by a best; its links carry one of them."""
    exchange = raced(bandwidth=4.0, needs=())
    first, second = finished(exchange)
    assert first.decision.routes == (("s", "a", "t"),)
    assert second.decision.routes == (("s", "b", "t"),)
    assert second.messages["rollback"] == 1
    assert held_by_tasks(exchange)[1] == {("bandwidth", "s", "b"): 4.0, ("bandwidth", "b", "t"): 4.0}


def test_a_task_for_which_nothing_is_left_is_rejected_with_what_each_map_lacked() -> None:
    *others, last = finished(exchange := raced(tasks=4))
    assert sorted(result.decision.nodes for result in others) == [("a",), ("b",), ("t",)]
    assert (last.decision, len(last.short)) == (None, len(last.maps))
    assert {"capacity of a", "capacity of b", "capacity of t"} == set(last.short)
    assert 3 not in held_by_tasks(exchange)


@pytest.mark.parametrize(("uplink", "downlink", "short"), [(1.0, None, "uplink of s"), (2.0, 1.0, "downlink of t")])
def test_access_to_the_public_network_is_reserved_at_both_ends(uplink: float, downlink: float | None, short: str) -> None:
    network = ServerNetwork(
        nodes=[{"name": "s", "capacity": 0, "uplink": uplink}, {"name": "t", "capacity": 9, "downlink": downlink}]
    )
    exchange = Exchange(network)
    for _ in range(2):
        exchange.submit(a_task())
    first, second = finished(exchange)
    assert (first.decision.public, second.decision, second.short) == ((True, False), None, (short,))
    assert list(audit(exchange)) == []


def test_a_task_that_comes_later_is_mapped_on_what_is_left() -> None:
    exchange = Exchange(TWO_WAYS)
    exchange.submit(a_task(bandwidth=4.0, needs=()))
    later = exchange.submit(a_task(bandwidth=4.0, needs=()), at=1.0)
    exchange.run()
    assert [decision.routes for decision in exchange.results[later].maps] == [(("s", "b", "t"),)]
    assert exchange.results[later].messages["rollback"] == 0


def test_a_server_gets_the_specification_once_by_each_neighbour() -> None:
    small = mapping_problem(10, 4, 0)
    exchange = Exchange(small.network, Rules.of(small))
    task = exchange.submit(small.task)
    informed = []
    while exchange.busy:
        message = exchange.step()
        if isinstance(message, Map) and message.specification:
            informed.append((message.sender, message.receiver))
    assert len(informed) == len(set(informed)) == exchange.results[task].messages["spec"]
    assert exchange.results[task].messages["forget"] == len(informed)


def test_bad_arguments_are_named_with_what_would_be_right() -> None:
    small = MappingProblem(network=TWO_WAYS, task=a_task())
    with pytest.raises(InvalidInstanceError, match="pruning") as caught:
        run_protocol(small, pruning="greedy", neighbours=0, max_messages=0)
    text = str(caught.value)
    assert "least-cost" in text
    assert "neighbours: must be at least 1 (got 0)" in text
    assert "max_messages" in text
