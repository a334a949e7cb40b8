"""The paper's equations, worked out by hand on three operators and three nodes."""

import math

import pytest

from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics import EDRP_METRICS, Cost, Downtime, ResponseTime


@pytest.fixture
def problem() -> EdrpProblem:
    return EdrpProblem(
        application={
            "operators": [
                {"name": "source", "external_rate": 60.0, "resources": 3.0, "cost": 2.0, "code_size": 1e5},
                {
                    "name": "work",
                    "latency": {"model": "mm1", "service_rate": 50.0},
                    "max_replicas": 3,
                    "state_size": 2e6,
                    "code_size": 3e5,
                    "cost": 1.5,
                },
                {"name": "sink", "latency": {"model": "polynomial", "coefficients": [0.001, 1e-4]}},
            ],
            "streams": [{"source": "source", "target": "work"}, {"source": "work", "target": "sink"}],
        },
        network={
            "nodes": [
                {"name": "a", "spawn_time": 0.5, "availability": 0.99},
                {"name": "b", "spawn_time": 0.5, "availability": 0.98, "speedup": 2.0},
                {"name": "c", "spawn_time": 0.5},
            ],
            "links": [
                {"source": "a", "target": "b", "delay": 0.01, "cost": 0.01, "availability": 0.999},
                {"source": "b", "target": "c", "delay": 0.02, "cost": 0.02, "availability": 0.9},
                {"source": "a", "target": "c", "delay": 0.025, "cost": 0.03},
            ],
            "store": {"delay": 0.005, "bandwidth": 1e6, "local_bandwidth": 1e8},
        },
        synchronisation_time=0.25,
        weights={"response_time": 0.5, "cost": 0.3, "downtime": 0.2},
        limits={"response_time": 0.1, "cost": 20.0, "downtime": 10.0},
        current={"source": ["a"], "work": ["a"], "sink": ["c"]},
    )


SPREAD = Deployment({"source": ["a"], "work": ["a", "b"], "sink": ["c"]})


def moved(work: list[str]) -> Deployment:
    return Deployment({"source": ["a"], "work": work, "sink": ["c"]})


def test_an_operator_is_as_slow_as_its_slowest_replica(problem):
    """Eq. 1: 60 tuples/s over two replicas, 1/(50 − 30) s on a, half of it on b."""
    timer = ResponseTime()
    assert timer.operator_latency(problem, SPREAD, "work") == pytest.approx(0.05)
    assert timer.operator_latency(problem, moved(["b", "b"]), "work") == pytest.approx(0.025)
    assert timer.operator_latency(problem, moved(["b"]), "work") == math.inf, "stability is that of the reference node"


def test_a_stream_is_as_slow_as_its_farthest_replicas(problem):
    """Eq. 3; loops have no delay."""
    assert ResponseTime().stream_delay(problem, SPREAD, "source", "work") == 0.01
    assert ResponseTime().stream_delay(problem, SPREAD, "work", "sink") == 0.025
    assert ResponseTime().stream_delay(problem, moved(["a"]), "source", "work") == 0.0


def test_response_time_is_the_critical_path(problem):
    """Eqs. 5–7: 0 + 10 + 50 + 25 + 7 ms."""
    assert ResponseTime().evaluate(problem, SPREAD) == pytest.approx(0.092)
    path = ResponseTime().critical_path(problem, SPREAD)
    assert [part.name for part in path] == ["source", "source → work", "work", "work → sink", "sink"]
    assert sum(part.seconds for part in path) == pytest.approx(0.092)


def test_cost_counts_replicas_and_traffic(problem):
    """Eqs. 2, 4, 8: 6 + 2·1.5 for replicas; 30 tuples/s at 0.01 and at 0.03 and at 0.02 between them."""
    cost = Cost()
    assert cost.operator_cost(problem, SPREAD, "source") == 6.0
    assert cost.operator_cost(problem, SPREAD, "work") == cost.operator_cost(problem, moved(["b", "b"]), "work") == 3.0
    assert cost.stream_cost(problem, moved(["b", "b"]), "source", "work") == pytest.approx(0.6)
    assert cost.stream_cost(problem, SPREAD, "source", "work") == pytest.approx(0.3)
    assert cost.stream_cost(problem, SPREAD, "work", "sink") == pytest.approx(0.9 + 0.6)
    assert cost.evaluate(problem, SPREAD) == pytest.approx(10.8)


@pytest.mark.parametrize(("node", "seconds"), [("a", 0.06), ("d", 0.032)])
@pytest.mark.parametrize("order", [("fast", "slow"), ("slow", "fast")])
def test_a_join_waits_for_the_latest_arrival(order, node, seconds):
    """Eqs. 5–7: two branches arrive at the join, in either order of the document; both ways of the slow one count.

    They take 30 and 30 ms to a, and 30 and 2 ms to d, where the last way of the fast one is the longer.
    """
    operators = [{"name": "source", "external_rate": 1.0}, *({"name": name} for name in (*order, "join"))]
    streams = [{"source": u, "target": v} for name in order for u, v in (("source", name), (name, "join"))]
    ends = [("a", "b", 0.01), ("a", "c", 0.03), ("b", "c", 0.05), ("a", "d", 0.1), ("b", "d", 0.02), ("c", "d", 0.002)]
    problem = EdrpProblem(
        application={"operators": operators, "streams": streams},
        network={
            "nodes": [{"name": name} for name in "abcd"],
            "links": [{"source": u, "target": v, "delay": delay} for u, v, delay in ends],
        },
        weights={"response_time": 1.0},
        limits={"response_time": 1.0},
    )
    deployment = Deployment({"source": ["a"], "fast": ["b"], "slow": ["c"], "join": [node]})
    assert ResponseTime().evaluate(problem, deployment) == pytest.approx(seconds)
    path = ResponseTime().critical_path(problem, deployment)
    assert [part.name for part in path if not part.is_stream] == ["source", "slow", "join"]
    assert problem.evaluate(deployment).metrics["response_time"] == pytest.approx(seconds)


def test_network_usage_is_rate_times_delay(problem):
    usage, (source, *others) = EDRP_METRICS["network_usage"], problem.application.operators
    assert usage.evaluate(problem, SPREAD) == pytest.approx(30 * 0.01 + 30 * 0.025 + 30 * 0.02)
    slower = problem.application.replace(operators=(source.replace(external_rate=45.0), *others))
    assert usage.evaluate(problem.replace(application=slower), SPREAD) == pytest.approx(0.75 * usage.evaluate(problem, SPREAD))


def test_availability_counts_every_node_and_link_once(problem):
    assert EDRP_METRICS["availability"].evaluate(problem, SPREAD) == pytest.approx(0.99 * 0.98 * 0.999 * 0.9)
    assert EDRP_METRICS["availability"].evaluate(problem, moved(["a", "a"])) == pytest.approx(0.99)
    assert EDRP_METRICS["availability"].scaled(0.5) == pytest.approx(math.log(2))


def test_availability_counts_a_link_in_both_directions_twice_and_for_two_streams_once(problem):
    """A link is directed: a → b and b → a fail independently; what uses a → b again does not make it fail more often."""
    value = EDRP_METRICS["availability"].evaluate
    apart = Deployment({"source": ["a", "b"], "work": ["a", "b"], "sink": ["b"]})
    assert value(problem, apart) == pytest.approx(0.99 * 0.98 * 0.999**2)
    there_and_back = Deployment({"source": ["a"], "work": ["b"], "sink": ["a"]})
    assert value(problem, there_and_back) == pytest.approx(0.99 * 0.98 * 0.999**2)
    one_way = Deployment({"source": ["a"], "work": ["a", "b"], "sink": ["b"]})
    assert value(problem, one_way) == pytest.approx(0.99 * 0.98 * 0.999)


SMALL_STATE = {"state_size": 10.0, "code_size": 0.0}
SLOW_STORE = {"delay": 0.005, "bandwidth": 1.0}
"""Ten bytes at one byte per second: shares of a small state need not be whole bytes (EDRP, eqs. 31 and 32)."""


def changed(problem: EdrpProblem, store: dict[str, float] | None = None, **work: float) -> EdrpProblem:
    """The problem with another store, and other fields of the operator `work`."""
    operators = [operator.replace(**work) if operator.name == "work" else operator for operator in problem.application.operators]
    network = problem.network if store is None else problem.network.replace(store=store)
    return problem.replace(application=problem.application.replace(operators=tuple(operators)), network=network)


@pytest.mark.parametrize(
    ("before", "after", "seconds", "changes"),
    [
        (["a"], ["a"], 0.0, {}),
        # Migration: state up and down, 2 MB each way at 1 MB/s, code meanwhile; spawn.
        (["a"], ["b"], 0.25 + 2.01 + 2.01 + 0.5, {}),
        # Scale-out (eqs. 31–32): half of the state to the new replica.
        (["a"], ["a", "b"], 0.25 + 1.01 + 1.01 + 0.5, {}),
        # Scale-in: half of the state back, nothing to start, code is there.
        (["a", "b"], ["a"], 0.25 + 1.01 + 1.01, {}),
        # On one node nothing travels.
        (["a"], ["a", "a"], 0.25, {}),
        (["a", "a"], ["a"], 0.25, {}),
        # Two replicas leave a together: all the state up, two thirds and one third down; b's share is larger.
        (["a", "a"], ["b", "b", "c"], 0.25 + (0.01 + 2 * (1 + 2 * 1 / 6)) + (0.01 + 2 * 2 / 3) + 0.5, {}),
        # The other way round: names do not matter.
        (["b"], ["a"], 0.25 + 2.01 + 2.01 + 0.5, {}),
        # Scale-out beside replicas that stay (eq. 32): what b keeps is no part of what it fetches.
        (["a", "b"], ["a", "b", "b"], 0.25 + (0.01 + 1 / 3) + (0.01 + 2 / 3) + 0.5, {}),
        # Scale-in (eq. 32): a third of the state leaves a, and the replica that stays on b takes up two thirds.
        (["a", "b", "b"], ["b"], 0.25 + (0.01 + 2 / 3) + (0.01 + 4 / 3), {}),
        (["a", "b", "b"], ["b"], 0.25 + (0.01 + 10 / 3) + (0.01 + 20 / 3), {"store": SLOW_STORE, **SMALL_STATE}),
        # A third of the state leaves a, and those that stay on b share it.
        (["a", "b", "b"], ["b", "b"], 0.25 + (0.01 + 10 / 3) + (0.01 + 10 / 3), {"store": SLOW_STORE, **SMALL_STATE}),
        # Two thirds go to the two new ones, one third to each.
        (["a"], ["a", "b", "c"], 0.25 + (0.01 + 20 / 3) + (0.01 + 10 / 3) + 0.5, {"store": SLOW_STORE, **SMALL_STATE}),
        # Eqs. 28–30 with an unlimited rate: there and back, up and down.
        (["a"], ["b"], 0.25 + 0.01 + 0.01 + 0.5, {"store": {"delay": 0.005}}),
        # Eq. 27: one replica on b is enough for the code to be there; 3 MB of it would take 3 s.
        (["a", "b"], ["b", "b"], 0.25 + (0.01 + 1) + (0.01 + 1) + 0.5, {"code_size": 3e6}),
        (["a", "b", "b"], ["b", "b", "b"], 0.25 + (0.01 + 2 / 3) + (0.01 + 2 / 3) + 0.5, {"code_size": 3e6}),
    ],
)
def test_downtime_of_pause_and_resume(problem, before, after, seconds, changes):
    """Eqs. 25–32, with scale-out and scale-in of eq. 25 the right way round."""
    problem = changed(problem, **changes).replace(current=moved(before))
    assert Downtime().operator_downtime(problem, moved(after), "work") == pytest.approx(seconds)


def test_a_local_disk_without_a_rate_costs_nothing(problem):
    """Eq. 40 with an unlimited rate: only the start is left."""
    unlimited = problem.replace(network=problem.network.replace(store={"delay": 0.005}), reconfiguration="storm")
    assert Downtime().evaluate(unlimited, moved(["a", "a"])) == pytest.approx(0.25 + 0.5)


@pytest.mark.parametrize("reconfiguration", ["pause-and-resume", "storm"])
def test_where_nothing_ran_or_nothing_changes_nothing_stops(problem, reconfiguration):
    described = problem.replace(reconfiguration=reconfiguration)
    current = described.current
    assert Downtime().evaluate(described, current) == 0.0
    assert Downtime().operator_downtime(described, current, "work") == 0.0
    fresh = described.replace(current=None)
    assert Downtime().evaluate(fresh, current) == 0.0
    assert Downtime().operator_downtime(fresh, current, "work") == 0.0


def test_code_that_takes_longer_than_state_decides(problem):
    """Eq. 27: code and state come at the same time; source has no state."""
    target = Deployment({"source": ["b"], "work": ["a"], "sink": ["c"]})
    assert Downtime().operator_downtime(problem, target, "source") == pytest.approx(0.25 + max(0.11, 0.01) + 0.01 + 0.5)


def test_operators_are_reconfigured_in_parallel(problem):
    """Eq. 10."""
    both = Deployment({"source": ["b"], "work": ["b"], "sink": ["c"]})
    assert Downtime().evaluate(problem, both) == pytest.approx(4.77)
    assert Downtime().evaluate(problem.replace(current=None), both) == 0.0


@pytest.mark.parametrize(
    ("before", "after", "seconds"),
    [
        (["a"], ["a"], 0.0),
        # Eqs. 34–38: the whole application's code to b, then state up, down, then the start.
        (["a"], ["b"], 0.25 + 0.41 + 2.01 + 2.01 + 0.5),
        # c has the code; both replicas there start one after the other.
        (["a"], ["c", "c"], 0.25 + 2.01 + 2.01 + 2 * 0.5),
        # Eq. 34: the slower of the two decides, b, which needs the code; half of the state goes to each.
        (["a"], ["b", "c"], 0.25 + 0.41 + 2.01 + 1.01 + 0.5),
        # Eqs. 33, 39–40: everything restarts, work's state goes to the local disk and back.
        (["a"], ["a", "a"], 0.25 + 2 * 2e6 / 1e8 + 0.5),
        # Eqs. 36–38: two thirds of the state leave a and come to c, where two replicas start.
        (["a", "a", "b"], ["b", "c", "c"], 0.25 + (0.01 + 4 / 3) + (0.01 + 4 / 3) + 2 * 0.5),
        # Scale-in: half of the state leaves b, and all of it comes to a, which starts again.
        (["a", "b"], ["a"], 0.25 + 1.01 + 2.01 + 0.5),
    ],
)
def test_downtime_of_storm(problem, before, after, seconds):
    storm = problem.replace(reconfiguration="storm", current=moved(before))
    assert Downtime().evaluate(storm, moved(after)) == pytest.approx(seconds)
    assert Downtime().operator_downtime(storm, moved(after), "work") == pytest.approx(seconds)


def test_any_change_makes_every_operator_of_storm_restart(problem):
    """Eq. 33: the indicator is 1 when any operator changes."""
    storm = problem.replace(reconfiguration="storm")
    target = Deployment({"source": ["a"], "work": ["a"], "sink": ["a"]})
    assert Downtime().operator_downtime(storm, target, "work") == pytest.approx(0.25 + 0.04 + 0.5)


def test_storm_restarts_the_replicas_of_a_node_one_after_the_other(problem):
    """Eq. 40: two of three replicas on a hold two thirds of a byte, to the local disk and back at a byte per second."""
    store = problem.network.store.replace(local_bandwidth=1.0)
    storm = changed(problem, store, state_size=1.0).replace(reconfiguration="storm", current=moved(["a", "a", "b"]))
    target = Deployment({"source": ["b"], "work": ["a", "a", "b"], "sink": ["c"]})
    assert Downtime().operator_downtime(storm, target, "work") == pytest.approx(0.25 + 2 * 2 / 3 + 2 * 0.5)


def test_objective_is_the_weighted_sum_over_the_limits(problem):
    """Eq. 12."""
    evaluation = problem.evaluate(SPREAD)
    assert evaluation.objective == pytest.approx(0.5 * 0.92 + 0.3 * 10.8 / 20 + 0.2 * 2.77 / 10)
    assert evaluation.feasible


def test_broken_limits_are_named(problem):
    """Eqs. 15–18."""
    tight = problem.replace(limits={"response_time": 0.09, "cost": 10.0, "downtime": 2.0})
    places = [text.split(":")[0] for text in tight.evaluate(SPREAD).broken]
    assert places == ["limits.response_time", "limits.cost", "limits.downtime"]
    nodes = [node.replace(resources=3.5) for node in problem.network.nodes]
    crowded = problem.replace(network=problem.network.replace(nodes=tuple(nodes)))
    assert crowded.evaluate(SPREAD).broken == ("resources of node a: 4 against 3.5",)


@pytest.mark.parametrize("metric", ["response_time", "cost", "downtime", "network_usage", "availability"])
def test_a_limit_is_broken_by_a_ten_thousandth(problem, metric):
    """A value that differs by rounding is within its limit, and no other is."""
    value = EDRP_METRICS[metric].evaluate(problem, SPREAD)
    beyond = 1 if metric == "availability" else -1  # its limit is a lower one

    def broken(share: float) -> list[str]:
        limits = problem.limits.replace(**{metric: value * (1 + beyond * share)})
        return [text.split(":")[0] for text in problem.replace(limits=limits).evaluate(SPREAD).broken]

    assert broken(1e-4) == broken(1e-6) == [f"limits.{metric}"]
    assert broken(-1e-4) == broken(0.0) == broken(1e-13) == []


def test_a_node_is_overfull_by_a_ten_thousandth(problem):
    """Source and one work on a take 4."""

    def broken(capacity: float) -> tuple[str, ...]:
        nodes = [node.replace(resources=capacity) for node in problem.network.nodes]
        return problem.replace(network=problem.network.replace(nodes=tuple(nodes))).evaluate(SPREAD).broken

    assert broken(4 * (1 - 1e-4)) == ("resources of node a: 4 against 3.9996",)
    assert broken(4.0) == broken(4 * (1 - 1e-13)) == ()


def test_every_limit_makes_the_normalised_term_1(problem):
    for term in problem.terms:
        if term.limit is not None:
            assert term.coefficient * EDRP_METRICS[term.metric].scaled(term.limit) == pytest.approx(term.weight)
