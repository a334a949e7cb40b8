"""Runs on bi-modal networks: by hand where nothing is random, against quadrature and draws where something is."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, norm

import edrp
from edrp import _native
from edrp.core.errors import InvalidInstanceError, OutOfTimeError
from edrp.core.methods import Options
from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.validation.simulation.mapping.bimodal_simulator import METHODS, MappingChoice, simulate
from edrp.validation.simulation.mapping.stream_kernel import DONE, TOTAL, Physics, Streams, expected_fractions

RATE = 1e5
"""Bytes/s of every task below, so that data is a hundred thousand times its seconds."""


def server(name, **fields):
    """A server with an uplink for ten tasks."""
    return {"name": name, "capacity": 100.0, "uplink": 10 * RATE, **fields}


def task(arrival=0.0, seconds=100.0, source="a", delivery="b", services=()):
    """A task whose data take `seconds` at its rate."""
    return {
        "arrival": arrival,
        "source": source,
        "delivery": delivery,
        "services": services,
        "rate": RATE,
        "data": seconds * RATE,
    }


def scenario(*tasks, nodes=None, links=(), **fields):
    """Tasks from a to b over the public network, which is steady."""
    return BimodalScenario(
        **{
            "network": {"nodes": nodes or [server("a"), server("b")], "links": links},
            "services": [{"name": "f", "capacity": 1.0, "shrinkage": 0.5}],
            "tasks": tasks,
            "variation": 0.0,
            **fields,
        }
    )


def make_run(world, seed=0, cost="public-hops", **how):
    """A run that its own accounts find possible, and its metrics."""
    run = simulate(world, cost, seed, **how)
    evaluation = world.evaluate(run)
    assert evaluation.broken == ()
    return run, evaluation.metrics


def small(**fields):
    """A platform that is too small for its tasks, so that they share, wait for links and are refused."""
    return bimodal_scenario(**{"servers": 30, "links": 29, "tasks": 60, "rate": 120.0, "seed": 5, "flow_interval": 0.1, **fields})


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_run():
    first, again, other = (simulate(small(), "public-hops", seed).model_dump_json() for seed in (1, 1, 2))
    assert first == again != other


def test_two_streams_share_a_downlink_while_both_run():
    """Each gets 3/4 from 50 s, when the second comes, until the first has sent the 50 s that it has left; by hand."""
    world = scenario(task(), task(50.0), nodes=[server("a"), server("b", downlink=1.5 * RATE)], reallocation_interval=0)
    run, metrics = make_run(world)
    first, second = run.tasks
    assert first.finish == pytest.approx(50 + 50 / 0.75)
    assert second.finish == pytest.approx(50 + 50 / 0.75 + 50)
    assert (first.windows, second.windows) == (12, 12)
    assert first.shortfall == pytest.approx(6 * 0.25 + 0.25)  # the last window is two thirds of one, and as short
    assert second.shortfall == pytest.approx(6 * 0.25 + 0.25 * 2 / 3)  # its seventh is short for two thirds of it
    assert metrics["elongation"] == pytest.approx((50 / 0.75 - 50) / 100)


def test_expected_flows_and_drawn_ones_without_variation_are_the_same():
    nodes = [server("a"), server("b", downlink=1.5 * RATE)]
    drawn, expected = (make_run(scenario(task(), task(30.0), nodes=nodes, flow=flow))[0] for flow in ("drawn", "expected"))
    assert [task.finish for task in drawn.tasks] == pytest.approx([task.finish for task in expected.tasks])
    assert [task.shortfall for task in drawn.tasks] == pytest.approx([task.shortfall for task in expected.tasks])


def test_a_hop_is_moved_to_a_link_once_it_is_free():
    """The link carries one stream, the uplink one: the second goes public until the first ends, then the fourth in its place."""
    tasks = [task(), task(10.0, 200.0), task(50.0), task(120.0)]
    nodes = [server("a", uplink=RATE), server("b", downlink=RATE / 2)]
    world = scenario(*tasks, nodes=nodes, links=[{"source": "a", "target": "b", "bandwidth": RATE}], reallocation_interval=7.0)
    run, _ = make_run(world)
    assert [task.accepted for task in run.tasks] == [True, True, False, True]
    assert run.tasks[1].public == (True,)
    assert run.changes.model_dump() == {"time": (105.0, 259.0), "task": (1, 3), "hop": (0, 0), "route": (0, 0)}
    assert run.routes == (("a", "b"),)
    assert run.tasks[1].finish == pytest.approx(105 + 200 - 95 / 2)  # at half its rate until it is moved
    assert run.tasks[2].short is not None
    assert run.tasks[3].public == (True,)
    assert run.tasks[3].finish == pytest.approx(259 + 100 - 139 / 2)


def test_at_one_time_tasks_end_before_others_arrive_and_links_are_allocated_after_that():
    """Two streams that fill the uplink end when three come: two take their place. A link goes to who comes, not who waits."""
    tasks = [task(), task(), task(100.0, 50.0), task(100.0, 60.0), task(100.0)]
    nodes = [server("a", uplink=2 * RATE), server("b")]
    run, _ = make_run(scenario(*tasks, nodes=nodes))
    assert [task.finish for task in run.tasks] == [100.0, 100.0, 150.0, 160.0, None]
    links = [{"source": "a", "target": "b", "bandwidth": RATE}]
    run, _ = make_run(scenario(task(), task(0.0, 150.0), task(100.0, 50.0), nodes=nodes, links=links))
    assert [task.public for task in run.tasks] == [(), (True,), ()]


@pytest.mark.parametrize("how", [{"reallocation_interval": 0.0}, {}])
def test_without_reallocation_a_hop_stays(how):
    tasks = [task(), task(10.0, 200.0)]
    nodes = [server("a", uplink=RATE), server("b", downlink=RATE / 2)]
    world = scenario(*tasks, nodes=nodes, links=[{"source": "a", "target": "b", "bandwidth": RATE}], **how)
    run, metrics = make_run(world, reallocation=bool(how))
    assert (metrics["reallocations"], run.tasks[1].finish) == (0.0, pytest.approx(10 + 400))


def test_tasks_on_dedicated_links_keep_their_rate_and_capacity_decides():
    """Forty at once, each with a component: b has room for thirty-five."""
    nodes = [server("a", capacity=0.0), server("b", capacity=35.0)]
    tasks = [task(seconds=50.0 + index, services=("f",)) for index in range(40)]
    links = [{"source": "a", "target": "b", "bandwidth": 60 * RATE}]
    run, metrics = make_run(scenario(*tasks, nodes=nodes, links=links, networks="dedicated", variation=1.0))
    assert metrics["acceptance"] == 35 / 40
    assert [task.finish for task in run.tasks[:35]] == pytest.approx([50.0 + index for index in range(35)])
    assert all(task.short.startswith("capacity") for task in run.tasks[35:])
    assert metrics["deviation"] == 0.0


@pytest.mark.parametrize("networks", ["both", "dedicated", "public"])
@pytest.mark.parametrize("cost", ["load-balance", "public-hops", "public-hops-links"])
def test_all_data_arrives_and_no_stream_outruns_its_source(networks, cost):
    """Also that nothing is overbooked at any time, which the accounts check on all reservations and moves."""
    world = small(networks=networks)
    run, metrics = make_run(world, cost=cost)
    served = [(index, task) for index, task in enumerate(run.tasks) if task.accepted]
    assert 0 < len(served) < len(run.tasks)
    for index, record in served:
        assert record.delivered == pytest.approx(world.tasks[index].data * 0.95**10)
        assert record.finish - record.start >= world.tasks[index].nominal * (1 - 1e-9)
        assert record.windows == math.ceil((record.finish - record.start) / world.window - 1e-9)
    on_links = [task for _, task in served if not any(task.public)]
    assert (len(on_links) == len(served)) == (networks == "dedicated")
    assert all(task.shortfall == 0 for task in on_links)
    assert (metrics["reallocations"] > 0) == (networks == "both")  # what is on links has nowhere better to go


def test_links_are_reallocated_at_multiples_of_the_interval_and_lower_deviation():
    """Nothing is overbooked after any of hundreds of moves: see the accounts in `make_run`."""
    world = small(tasks=150, seed=6)
    run, metrics = make_run(world)
    assert len(run.changes.time) > 100
    assert all(time % world.reallocation_interval == 0 for time in run.changes.time)
    assert metrics["deviation"] < make_run(world, reallocation=False)[1]["deviation"]


def test_buffers_raise_throughput():
    """Data that a hop cannot pass at once, it passes later: with a second of buffer hardly anything is lost."""
    world = small(networks="public", seed=2)
    elongation = [make_run(world.replace(buffer=seconds))[1]["elongation"] for seconds in (0.0, 0.2, 2.0)]
    assert elongation[0] > elongation[1] > elongation[2]
    alone = scenario(task(seconds=500.0), variation=1.0, reallocation_interval=0)
    slow, fast = (make_run(alone.replace(buffer=seconds))[0].tasks[0].finish for seconds in (0.0, 5.0))
    assert slow > 600
    assert 500 <= fast < 501


def test_what_waits_before_a_hop_that_moves_to_a_link_is_delivered_too():
    """At half rate the buffer of 20 s fills in 40 s; moved at 107 s, the stream has lost what it could not send by then."""
    tasks = [task(), task(10.0, 200.0)]
    nodes = [server("a"), server("b", downlink=RATE / 2)]
    links = [{"source": "a", "target": "b", "bandwidth": RATE}]
    run, _ = make_run(scenario(*tasks, nodes=nodes, links=links, reallocation_interval=107.0, buffer=20.0))
    assert run.changes.time == (107.0,)
    assert run.tasks[1].finish == pytest.approx(107 + 200 - 97 / 2)


def test_what_is_drawn_for_a_task_depends_on_no_other():
    alone = scenario(task(20.0, 1500.0), variation=1.0)
    together = scenario(task(0.0, 3.0), task(20.0, 1500.0), task(333.3, 70.0), variation=1.0)
    first = simulate(alone, "public-hops", 4).tasks[0]
    other = simulate(together.replace(tasks=together.tasks[1:]), "public-hops", 4).tasks[0]
    assert first.finish == pytest.approx(other.finish, abs=1e-6)
    assert first.finish != pytest.approx(simulate(alone, "public-hops", 5).tasks[0].finish, abs=1e-3)


def draws(seed, hop, count, task=0):
    """First draws of a hop's stream, each from what a task delivers in one interval, over a hop that passes next to nothing."""
    keys = np.zeros(hop + 1, np.uint64)
    _native.write_stream_keys(np.array([seed], np.uint64), task, keys)
    rows = keys[hop] + np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # draw k is the first of that stream
    none, level, progress = np.zeros((count, 1)), -100.0, np.zeros((count, 7))
    progress[:, TOTAL] = 1.0
    hops, places = np.ones(count, np.int64), np.zeros((count, 1), np.int64)
    streams = Streams(hops, places, rows[:, None], none + level, np.full(count, -1.0), none, progress)
    _native.advance_tasks(streams, count, 0.0, 1.0, Physics(interval=1.0, scale=1.0, buffer=0.0, window=10.0))
    return np.log(progress[:, DONE]) - level


def test_draws_are_standard_normal_to_the_tail():
    drawn = draws(3, 4, 1_000_000, task=1)
    assert kstest(drawn[:200_000], "norm").pvalue > 1e-3
    for bound in (2.0, 3.0, 3.7, 4.2):  # the last two lie beyond the corner of the lowest layer
        expected = 2 * norm.sf(bound) * drawn.size
        assert (abs(drawn) > bound).sum() == pytest.approx(expected, abs=4 * expected**0.5)
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 4e-3


def expected_fraction(shares, variation=1.0):
    """Share of its rate that passes over hops with these shares, in the mean, where rates vary by powers of 2."""
    return expected_fractions(np.log([shares]), variation * math.log(2))[0]


@pytest.mark.parametrize("shares", [(1.0,), (1.0,) * 10, (0.3, 1.0, 0.7), (0.02, 0.03), (0.9,) * 11])
@pytest.mark.parametrize("variation", [0.05, 1.0, 1.4427, 3.0])
def test_the_expected_least_fraction_is_the_integral_of_the_probability_to_exceed(shares, variation):
    scale = variation * math.log(2)
    exact, _ = quad(
        lambda x: math.prod(norm.cdf((math.log(share) - math.log(x)) / scale) for share in shares),
        0,
        1,
        points=sorted({*shares} - {1.0}),
        epsabs=1e-12,
        limit=300,
    )
    assert expected_fraction(shares, variation) == pytest.approx(exact, rel=1e-8)


def test_a_stream_advances_at_the_pace_of_its_slowest_hop_in_each_interval():
    """The same by arrays: the least of three hops' draws and 1 in each interval, of which the first is cut by the arrival."""
    nodes = [server("a", services=()), server("b", services=("f",)), server("c", services=("g",))]
    world = BimodalScenario(
        network={"nodes": nodes},
        services=[{"name": "f", "capacity": 1.0}, {"name": "g", "capacity": 1.0, "shrinkage": 0.9}],
        tasks=[task(arrival=0.034, seconds=95.0, delivery="a", services=("f", "g"))],
    )
    record = make_run(world, seed=8)[0].tasks[0]
    drawn = np.array([draws(8, hop, 30_000) for hop in range(3)])
    times = np.maximum(0.034, 0.01 * np.arange(30_001))
    sent = np.concatenate([[0.0], np.cumsum(np.minimum(1.0, 2 ** drawn.min(axis=0)) * np.diff(times))])
    finish = np.interp(95.0, sent[3:], times[3:])
    assert record.finish == pytest.approx(finish)
    edges = np.append(np.arange(0.034, finish, world.window), finish)
    missing = 1 - np.diff(np.interp(edges, times[3:], sent[3:])) / np.diff(edges)
    assert (record.windows, record.shortfall) == (len(missing), pytest.approx(missing.sum()))


def test_methods_follow_their_parameters():
    world = small(flow="expected", max_empty_hops=3)
    for method in METHODS:
        answer = method.run(world, Options(parameters={"reallocation": False, "max_empty_hops": 0}))
        assert answer.objective == world.evaluate(answer.decision).objective
        assert not answer.decision.changes.time
        assert max(len(route) for record in answer.decision.tasks for route in record.routes) == 2


def test_messages_depend_on_how_maps_are_compared_and_in_which_order_they_come():
    world = small(flow="expected", tasks=20)
    variants = [{}, {"split_by_hops": True}, {"message_delays": False}]
    plain, split, at_once = (
        MappingChoice("public-hops").run(world, Options(parameters=parameters)).size["messages"] for parameters in variants
    )
    assert plain < min(split, at_once)


def test_maps_that_take_no_time_are_those_of_a_network_without_delays():
    world = small(flow="expected", tasks=20)
    nodes = tuple(server.replace(access_delay=0.0) for server in world.network.nodes)
    links = tuple(link.replace(delay=0.0) for link in world.network.links)
    without = world.replace(network=world.network.replace(nodes=nodes, links=links))
    assert simulate(world, "load-balance", 0, message_delays=False) == simulate(without, "load-balance", 0)


def test_a_method_refuses_more_empty_hops_than_the_scenario_allows():
    with pytest.raises(InvalidInstanceError, match="max_empty_hops: must be at most 1, the limit of the scenario"):
        MappingChoice("public-hops").run(small(), Options(parameters={"max_empty_hops": 2}))


def test_a_run_that_is_out_of_time_holds_nothing():
    with pytest.raises(OutOfTimeError, match="before the end of the run"):
        MappingChoice("load-balance").run(bimodal_scenario(), Options(work_limit=0.0))
    solution = edrp.solve(bimodal_scenario(), "load-balance-mapping", work_limit=0.0)
    assert (solution.status, solution.decision) == ("none", None)
