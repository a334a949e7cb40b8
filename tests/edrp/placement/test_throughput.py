"""Predicted throughput: what full nodes, slow replicas and use without load leave of the load."""

import pytest

import edrp
from edrp.placement.throughput import predict_throughput

CPU = {"cpu": {"per_tuple": 0.02}}


def chain(service_rate: float | None = None, speedup: float = 1.0, per_replica: float = 0.0) -> edrp.EdrpProblem:
    """100 tuples/s through two operators on two nodes of 4 cores; a tuple costs 0.02 core seconds in each."""
    latency = None if service_rate is None else {"model": "mm1", "service_rate": service_rate}
    usage = {"cpu": {"per_replica": per_replica, "per_tuple": 0.02}}
    return edrp.EdrpProblem(
        application={
            "operators": [
                {"name": "a", "external_rate": 100.0, "max_replicas": 4, "usage": CPU},
                {"name": "b", "max_replicas": 8, "usage": usage, "latency": latency},
            ],
            "streams": [{"source": "a", "target": "b"}],
        },
        network={
            "nodes": [{"name": name, "speedup": speedup, "capacity": {"cpu": 3.0}} for name in "xy"],
            "between_zones": {"delay": 0.001},
        },
        weights={"peak_load": 1.0},
    )


def placed(a: str, b: str) -> dict[str, list[str]]:
    return {"a": list(a), "b": list(b)}


def test_a_full_node_holds_back_all():
    """On x: 2 cores for a and 2 for b, of 3."""
    throughput = predict_throughput(chain(), placed("x", "x"))
    assert throughput.share == pytest.approx(0.75)
    assert throughput.rates == pytest.approx({"a": 75.0, "b": 75.0})
    assert throughput.bottleneck == "cpu of node x, 133 % of its capacity"
    assert throughput.service_rates == pytest.approx({("a", "x"): 75.0, ("b", "x"): 75.0})


def test_throughput_is_one_over_the_peak_load_where_use_follows_load():
    for a, b in (("x", "x"), ("xy", "xx"), ("xxy", "xxy")):
        problem, deployment = chain(), placed(a, b)
        peak = problem.evaluate(deployment).metrics["peak_load"]
        assert predict_throughput(problem, deployment).share == pytest.approx(min(1.0, 1 / peak))


def test_what_is_used_without_load_is_not_freed_by_less_load():
    """b's four replicas take 0.25 cores each whatever comes: 4 × 0.25 + s (2 + 2) ≤ 3."""
    assert predict_throughput(chain(per_replica=0.25), placed("x", "xxxx")).share == pytest.approx(0.5)


def test_nothing_is_carried_where_the_use_without_load_is_too_much():
    assert predict_throughput(chain(per_replica=3.0), placed("x", "x")).share == 0.0


@pytest.mark.parametrize(("speedup", "share"), [(1.0, 0.6), (0.5, 0.3), (2.0, 0.6)])
def test_replicas_serve_no_more_than_their_service_rate(speedup, share):
    """30 tuples/s, less on a slow node and no more on a fast one, for each of two replicas, of which each receives 50."""
    throughput = predict_throughput(chain(service_rate=30.0, speedup=speedup), placed("x", "yy"))
    assert throughput.share == pytest.approx(share)
    if share < 1:
        assert throughput.bottleneck == f"service rate of b on node y, {30 * min(1.0, speedup):g} tuples/s"


def test_forward_between_unequal_numbers_of_replicas_is_allowed_and_explained(tmp_path, run):
    problem = chain()
    streams = tuple(stream.replace(partitioning="forward") for stream in problem.application.streams)
    forward = problem.replace(application=problem.application.replace(streams=streams))
    (said,) = predict_throughput(forward, placed("xxy", "xy")).unequal
    assert said.startswith("a → b is partitioned forward between 3 and 2 replicas")
    assert said.endswith("33.3 % of the stream")
    assert predict_throughput(forward, placed("xy", "xy")).unequal == ()
    edrp.save(forward, tmp_path / "forward.json")
    edrp.solve(forward.replace(weights={"peak_load": 1.0}), start=placed("xxy", "xy")).save(tmp_path / "solution.json")
    shown = run("explain", tmp_path / "forward.json", tmp_path / "solution.json").out
    assert "Throughput: 100.0 % of the load" in shown
    assert "Shared resources, fullest nodes first" in shown
