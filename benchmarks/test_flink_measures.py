"""Predictions that the benchmarks on Flink make next to the package, on a job whose truth is known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "edrp" / "engines"))
from fake_flink import FakeFlink, FakeOperator, word_count
from flink_measures import ds2_shares, moved_bytes, predicted_latency, predicted_moved_bytes
from test_flink_fit import fitted

from edrp.placement.deployment import Deployment


def with_replicas(fit, **replicas):
    """All operators on one node, with one replica each unless told."""
    return Deployment({operator.name: ("node",) * replicas.get(operator.name, 1) for operator in fit.operators})


def test_latency_is_that_of_queues_in_a_row_and_of_buffers():
    """Three M/M/1 queues by hand, and half a buffer timeout for each of three streams."""
    fit = fitted(FakeFlink(rates=(150.0,)))
    latency = predicted_latency(fit, with_replicas(fit, counter=2), buffer_timeout=0.01)
    assert latency.value == pytest.approx(1 / 250 + 1 / 125 + 1 / 9850 + 3 * 0.005, rel=1e-3)
    assert latency.low < latency.value < latency.high


def test_latency_of_branches_is_the_mean_of_their_tuples():
    """Branches count by the tuples that take them."""
    operators = [
        FakeOperator("source"),
        FakeOperator("fast", service_rate=1000.0, inputs=(("source", "REBALANCE"),)),
        FakeOperator("slow", service_rate=200.0, inputs=(("source", "REBALANCE"),)),
        FakeOperator("sink", service_rate=1e6, inputs=(("fast", "REBALANCE"), ("slow", "REBALANCE"))),
    ]
    fit = fitted(FakeFlink(operators, rates=(100.0,)))
    latency = predicted_latency(fit, with_replicas(fit))
    assert latency.value == pytest.approx((1 / 900 + 1 / 100) / 2, rel=1e-2)


def test_latency_of_what_does_not_keep_up_is_none():
    """No latency is predicted for an operator that is overloaded."""
    wide = {"counter": {"replicas": 2}}
    fit = fitted(FakeFlink(word_count(**wide), rates=(300.0,)))
    assert predicted_latency(fit, with_replicas(fit)) is None


def test_ds2_knows_nothing_of_skew():
    """DS2's busy share is that of an even split, whatever the replicas receive."""
    uneven = {"counter": {"replicas": 2, "shares": (0.7, 0.3)}}
    fit = fitted(FakeFlink(word_count(**uneven), rates=(150.0,)))
    assert ds2_shares(fit, with_replicas(fit, counter=2))["counter"] == pytest.approx(0.375, rel=1e-2)


def test_state_that_moves_is_that_of_groups_with_another_replica():
    """Key groups whose replica stays the same move nothing."""
    fit = fitted(FakeFlink())
    counter = fit.observation.operators[2]
    assert predicted_moved_bytes(counter, 2) == 5_000_000
    sizes = [1.0] * 64 + [3.0] * 64
    assert moved_bytes(sizes, 1, 2) == 192.0
    assert moved_bytes(sizes, 1, 2, (["a"], ["b", "a"])) == 64.0
