"""Runs on bi-modal networks: which scenarios are refused, and what an audit of the records finds."""

import pytest

from edrp import BimodalScenario
from edrp.core.errors import InvalidInstanceError
from edrp.mapping.bimodal_scenario import AllocationChanges, BimodalRun, TaskRecord

NODES = [
    {"name": "a", "capacity": 2.0, "uplink": 100.0},
    {"name": "b", "capacity": 2.0, "uplink": 60.0},
    {"name": "c", "capacity": 0.0},
]
LINKS = [{"source": "a", "target": "b", "bandwidth": 150.0}, {"source": "b", "target": "c", "bandwidth": 50.0}]
TASK = {"source": "a", "delivery": "c", "services": ["halve"], "rate": 100.0, "data": 1000.0, "price": 1.0}
TASKS = [{"arrival": 0.0, **TASK}, {"arrival": 5.0, **TASK}, {"arrival": 20.0, **TASK}]


def scenario(**fields):
    """Tasks of ten seconds through one component that halves the rate."""
    parts = {
        "network": {"nodes": NODES, "links": LINKS},
        "services": [{"name": "halve", "shrinkage": 0.5, "capacity": 1.0}],
        "tasks": TASKS,
    }
    return BimodalScenario(**(parts | fields))


def record(start, finish, **fields):
    """A task that runs on b and takes both links."""
    mapped = {"nodes": ("b",), "routes": (("a", "b"), ("b", "c")), "delivered": 500.0, "windows": 1}
    return TaskRecord(accepted=True, start=start, finish=finish, **(mapped | fields))


REFUSED = TaskRecord(accepted=False, short="bandwidth: none left", messages=3)
FIRST, LAST = record(0.0, 10.0, messages=6), record(20.0, 30.0)
RUN = BimodalRun(tasks=(FIRST, REFUSED, LAST))


def test_metrics_by_hand():
    """Until the last arrival at 20 s one task ran for 10 s: 1 of 4 units, and 150 bytes/s of 400 in both directions."""
    evaluation = scenario().evaluate(RUN)
    assert evaluation.broken == ()
    assert evaluation.objective == 500.0  # the task that was refused
    assert evaluation.metrics == pytest.approx(
        {
            "acceptance": 2 / 3,
            "throughput": 2 / 20 * 3600,
            "delivered_rate": 1000 / 30,
            "deviation": 0.0,
            "elongation": 0.0,
            "server_utilisation": 10 / (4 * 20),
            "server_work": 10 / (4 * 20),
            "link_utilisation": 150 * 10 / (400 * 20),
            "public_share": 0.0,
            "messages": 3.0,
            "reallocations": 0.0,
        }
    )


def test_a_slow_public_hop_costs_revenue_and_time():
    slow = record(20.0, 36.0, public=(False, True), windows=2, shortfall=0.6)
    run = BimodalRun(tasks=(FIRST, REFUSED, slow))
    evaluation = scenario().evaluate(run)
    assert evaluation.broken == ()
    assert evaluation.objective == pytest.approx(500 + 0.3 * 500)
    assert evaluation.metrics["deviation"] == pytest.approx(0.15)
    assert evaluation.metrics["elongation"] == pytest.approx(0.3)
    assert evaluation.metrics["public_share"] == 0.25


def test_moved_hops_are_followed():
    """The second hop of the first task begins on the public network and moves to its link after four seconds."""
    first = record(0.0, 10.0, public=(False, True))
    changes = AllocationChanges(time=(4.0,), task=(0,), hop=(1,), route=(0,))
    run = BimodalRun(tasks=(first, REFUSED, LAST), routes=(("b", "c"),), changes=changes)
    evaluation = scenario().evaluate(run)
    assert evaluation.broken == ()
    assert evaluation.metrics["link_utilisation"] == pytest.approx((100 * 10 + 50 * 6) / (400 * 20))
    assert scenario(reallocation_links=1).evaluate(run).broken == ()


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        ((FIRST, REFUSED), "2 records for 3 tasks"),
        ((FIRST, record(5.0, 15.0), LAST), "bandwidth of a → b: 200 reserved of 150"),
        ((FIRST, TaskRecord(accepted=False), LAST), "task 1: was refused, but"),
        ((FIRST, REFUSED, record(19.0, 30.0)), "task 2: starts at 19 s, before its arrival"),
        ((FIRST, REFUSED, record(20.0, 29.0)), "task 2: takes 9 s, less than its source needs"),
        ((FIRST, REFUSED, record(20.0, 30.0, delivered=400.0)), "task 2: delivers 400 bytes of 500"),
        ((FIRST, REFUSED, record(20.0, 30.0, shortfall=2.0)), "task 2: a shortfall of 2 in 1 windows"),
        ((FIRST, REFUSED, record(20.0, 30.0, windows=0)), "task 2: was accepted, but has"),
        ((FIRST, REFUSED, record(None, 30.0)), "task 2: was accepted, but has no start"),
        ((FIRST, REFUSED, record(20.0, None)), "task 2: was accepted, but has no start, no finish"),
        ((record(0.0, 0.0), REFUSED, LAST), "task 0: takes 0 s, less than its source needs"),
        (
            (FIRST, REFUSED, record(20.0, 30.0, nodes=("c",), routes=(("a", "b", "c"), ("c",)))),
            "task 2: capacity of c: 1 used of 0",
        ),
    ],
)
def test_what_cannot_have_been_is_found(tasks, why):
    broken = scenario().evaluate(BimodalRun(tasks=tasks)).broken
    assert any(fault.startswith(why) for fault in broken), broken


def test_a_task_may_wait_before_it_starts_and_rounding_is_no_fault():
    late = record(21.0, 31.0, shortfall=1.0 + 1e-12)
    assert scenario().evaluate(BimodalRun(tasks=(FIRST, REFUSED, late))).broken == ()


@pytest.mark.parametrize(("third", "broken"), [(7.0, ("capacity of b: 3 reserved of 2",)), (10.0, ())])
def test_servers_are_reserved_while_tasks_run(third, broken):
    """Two tasks of one unit of capacity run on b until 10 s; a third one comes."""
    links = [{**link, "bandwidth": 1e3} for link in LINKS]
    tasks = [{**TASK, "arrival": 0.0}, {**TASK, "arrival": 0.0}, {**TASK, "arrival": third}]
    run = BimodalRun(tasks=(record(0.0, 10.0), record(0.0, 10.0), record(third, third + 10.0)))
    assert scenario(network={"nodes": NODES, "links": links}, tasks=tasks).evaluate(run).broken == broken


def test_what_comes_after_a_refused_task_is_counted():
    tasks = [{**TASK, "arrival": arrival} for arrival in (0.0, 5.0, 5.0)]
    run = BimodalRun(tasks=(REFUSED, record(5.0, 15.0), record(5.0, 15.0)))
    assert "bandwidth of a → b: 200 reserved of 150" in scenario(tasks=tasks).evaluate(run).broken


def test_a_server_of_less_than_one_unit_can_be_reserved_whole():
    services = [{"name": "halve", "shrinkage": 0.5, "capacity": 0.25}]
    nodes = [{**node, "capacity": node["capacity"] / 4} for node in NODES]
    links = [{**link, "bandwidth": 1e3} for link in LINKS]
    run = BimodalRun(tasks=(record(0.0, 10.0), record(5.0, 15.0), LAST))
    assert scenario(services=services, network={"nodes": nodes, "links": links}).evaluate(run).broken == ()


def test_hops_within_a_server_are_on_no_network():
    """The first component runs on a; its second hop goes over both links, or over the public network."""
    within = {"nodes": ("a",), "routes": (("a",), ("a", "b", "c"))}
    found = scenario().evaluate(BimodalRun(tasks=(record(0.0, 10.0, **within), REFUSED, LAST)))
    assert found.metrics["link_utilisation"] == pytest.approx(2 * 50 * 10 / (400 * 20))
    assert found.metrics["public_share"] == 0.0
    within |= {"routes": (("a",), ("a", "c")), "public": (False, True)}
    found = scenario().evaluate(BimodalRun(tasks=(record(0.0, 10.0, **within), REFUSED, LAST)))
    assert found.metrics["public_share"] == pytest.approx(1 / 3)


def test_tasks_that_all_arrive_at_once_are_counted_until_the_last_of_them_ends():
    tasks = [{**TASK, "arrival": 0.0}] * 3
    found = scenario(tasks=tasks).evaluate(BimodalRun(tasks=(FIRST, REFUSED, record(5.0, 20.0))))
    assert found.metrics["throughput"] == pytest.approx(2 / 20 * 3600)


def test_without_servers_and_links_nothing_of_them_is_used():
    nodes = [{**node, "capacity": 0.0} for node in NODES]
    found = scenario(network={"nodes": nodes, "links": []}).evaluate(BimodalRun(tasks=(REFUSED, REFUSED, REFUSED)))
    assert [found.metrics[name] for name in ("server_utilisation", "server_work", "link_utilisation")] == [0.0, 0.0, 0.0]


def test_a_task_that_ends_as_it_begins_works_nothing_and_cannot_be_moved():
    changes = AllocationChanges(time=(0.5,), task=(0,), hop=(1,), route=(0,))
    run = BimodalRun(tasks=(record(0.0, 0.0), REFUSED, LAST), routes=(("b", "c"),), changes=changes)
    found = scenario().evaluate(run)
    assert found.metrics["server_work"] == 0.0
    assert "changes[0]: at 0.5 s task 0 does not run" in found.broken


@pytest.mark.parametrize("task", [(), (0, 1)])
def test_columns_of_changes_are_of_one_length(task):
    with pytest.raises(InvalidInstanceError, match="must be as many as times, of which there are 1"):
        AllocationChanges(time=(4.0,), task=task, hop=(1,), route=(0,))


def test_every_move_that_cannot_have_been_is_listed():
    changes = AllocationChanges(time=(4.0, 4.0, 5.0, 40.0), task=(1, 0, 3, 0), hop=(0, 1, 0, 1), route=(0, -1, 0, 0))
    broken = scenario().evaluate(BimodalRun(tasks=RUN.tasks, routes=(("b", "c"),), changes=changes)).broken
    assert broken == (
        "changes[0]: no such task, hop or route",
        "changes[1]: moves task 0 to the public network, which is worse than what it had",
        "changes[2]: no such task, hop or route",
        "changes[3]: at 40 s task 0 does not run",
    )


def test_a_hop_cannot_move_before_its_task_begins_but_as_it_begins():
    for time, broken in ((19.0, ("changes[0]: at 19 s task 2 does not run",)), (20.0, ())):
        changes = AllocationChanges(time=(time,), task=(2,), hop=(1,), route=(0,))
        run = BimodalRun(tasks=RUN.tasks, routes=(("b", "c"),), changes=changes)
        assert scenario().evaluate(run).broken == broken


@pytest.mark.parametrize(("hop", "broken"), [(0, "no such task, hop or route"), (1, "route a → b does not lead from a to c")])
def test_a_hop_moves_to_routes_between_its_ends_and_not_within_a_server(hop, broken):
    """The component runs on a, where the task comes from: its first hop has no link, its second passes b on its way to c."""
    first = record(0.0, 10.0, nodes=("a",), routes=(("a",), ("a", "b", "c")))
    changes = AllocationChanges(time=(4.0,), task=(0,), hop=(hop,), route=(0,))
    run = BimodalRun(tasks=(first, REFUSED, LAST), routes=(("a", "b"),), changes=changes)
    assert scenario().evaluate(run).broken == (f"changes[0]: {broken}",)


def test_uplinks_are_reserved_by_admission():
    over_air = {"public": (True, False)}
    two = (record(0.0, 10.0, **over_air), record(5.0, 15.0, **over_air), LAST)
    links = [{**link, "bandwidth": 1e3} for link in LINKS]
    broken = scenario(network={"nodes": NODES, "links": links}).evaluate(BimodalRun(tasks=two)).broken
    assert broken == ("uplink of a: 200 reserved of 100",)


@pytest.mark.parametrize(
    ("change", "routes", "why"),
    [
        (
            {"time": (4.0,), "task": (0,), "hop": (1,), "route": (0,)},
            (("b", "a", "c"),),
            "changes[0]: route b → a → c has no links",
        ),
        ({"time": (4.0, 3.0), "task": (0, 0), "hop": (0, 0), "route": (0, 0)}, (("a", "b"),), "changes: not in order of time"),
    ],
)
def test_moves_that_cannot_have_been_are_found(change, routes, why):
    run = BimodalRun(tasks=RUN.tasks, routes=routes, changes=AllocationChanges(**change))
    broken = scenario().evaluate(run).broken
    assert any(fault.startswith(why) for fault in broken), broken


@pytest.mark.parametrize(
    ("most", "broken"), [(1, ("changes[0]: route a → b → c has more than 1 links",)), (2, ())], ids=["too long", "long enough"]
)
def test_a_hop_moves_to_no_route_of_more_links_than_reallocation_finds(most, broken):
    """The component of the first task stays on a; its second hop begins on the public network."""
    first = record(0.0, 10.0, nodes=("a",), routes=(("a",), ("a", "c")), public=(False, True))
    changes = AllocationChanges(time=(4.0,), task=(0,), hop=(1,), route=(0,))
    run = BimodalRun(tasks=(first, REFUSED, LAST), routes=(("a", "b", "c"),), changes=changes)
    assert scenario(reallocation_links=most).evaluate(run).broken == broken


def test_without_a_network_nothing_may_use_it():
    over_air = BimodalRun(tasks=(record(0.0, 10.0, public=(False, True)), REFUSED, LAST))
    assert any(
        "is no connection over the public network" in fault for fault in scenario(networks="dedicated").evaluate(over_air).broken
    )
    assert any("no link a → b" in fault for fault in scenario(networks="public").evaluate(RUN).broken)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"tasks": [{**TASKS[0], "source": "x"}]}, "tasks[0].source"),
        ({"tasks": [{**TASKS[0], "services": ["x"]}]}, "tasks[0].services[0]"),
        ({"tasks": [TASKS[1], TASKS[0]]}, "tasks[1].arrival"),
        ({"tasks": []}, "tasks"),
        ({"services": [{"name": "halve"}, {"name": "halve"}]}, "services[1].name"),
        ({"flow": "expected", "buffer": 1.0}, "buffer"),
        ({"variation_base": 1.0}, "variation_base"),
        ({"flow_interval": 0.0}, "flow_interval"),
        ({"networks": "none"}, "networks"),
    ],
)
def test_bad_scenarios_are_refused_by_place(fields, place):
    with pytest.raises(InvalidInstanceError) as caught:
        scenario(**fields)
    assert place in [fault.place for fault in caught.value.faults]
