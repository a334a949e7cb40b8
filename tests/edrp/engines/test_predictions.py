"""Predictions of the next observation, judged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
from fake_flink import FakeFlink
from test_flink_fit import fitted

from edrp.engines.estimates import Estimate
from edrp.engines.predictions import Prediction, judge, throughput


@pytest.mark.parametrize(("predicted", "covered"), [(0.49, True), (0.47, False), (0.51, True), (0.53, False)])
def test_a_busy_share_may_be_two_points_outside_its_interval(predicted, covered):
    """The counter is 50 % busy; intervals of operators that do next to nothing are narrower than what can be measured."""
    fit = fitted(FakeFlink(rates=(100.0,)))
    rates = {operator.name: operator.rate for operator in fit.operators}
    total = Estimate(throughput(fit), 0.0, 1000.0)
    narrow = Estimate(predicted, predicted - 0.001, predicted + 0.001)
    found = {j.quantity: j for j in judge(Prediction({"counter": 1}, total, rates, {"counter": narrow}), fit)}
    assert found["counter"].measured == pytest.approx(0.5)
    assert found["counter"].covered is covered
