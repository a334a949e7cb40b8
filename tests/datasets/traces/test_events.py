"""Traces and node counts without Spark: rules, series, settings, and the folder that a trace is kept in."""

import json
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import parquet

from edrp.core.errors import InvalidInstanceError
from edrp.datasets.migration.node_counts import NodeRule, TransitionCounts
from edrp.datasets.traces.events import refuse_unreadable
from edrp.datasets.traces.flights import flights
from edrp.datasets.traces.load_series import LoadSeries, taxi_series, twitter_series
from edrp.datasets.traces.trace import Trace, TraceSettings, even_intervals, save_trace
from edrp.mdp.chain.transition_matrix import count_transitions

LOADS = arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1e6))


@pytest.fixture
def trace() -> Trace:
    nodes = np.array([1, 2, 3, 2])
    return Trace(
        settings=TraceSettings(tasks=3, interval=10.0, low=1, high=3),
        first=7,
        events=np.array([5, 10, 20, 12]),
        bytes=np.array([50.0, 100.0, 200.0, 120.0]),
        node_counts=nodes,
        work=np.array([7.0, 20.0, 20.0]),
        state_size=np.array([100.0, 300.0, 0.0]),
        keys=np.array([1, 3, 0]),
        transitions=TransitionCounts((1, 2, 3), count_transitions(nodes)[1]),
        malformed={"time": 2},
        loads=np.arange(12.0).reshape(4, 3),
    )


@given(LOADS, st.integers(1, 10), st.integers(0, 10), st.sampled_from([0.0, 0.1, 0.3]))
def test_normalised_nodes_rise_with_the_load_and_use_the_whole_range(loads, low, width, outliers):
    rule = NodeRule.normalised(loads, low, low + width, outliers)
    nodes = rule(loads)
    assert (np.diff(nodes[np.argsort(loads)]) >= 0).all()
    assert nodes.min() == low
    if loads.max() > loads.min() * (1 + 1e-9) and outliers == 0:
        assert nodes.max() == low + width


@given(LOADS, st.floats(0.1, 1e6))
def test_capacity_is_never_exceeded_below_the_greatest_count_and_no_node_is_too_many(loads, capacity):
    nodes = NodeRule.by_capacity(capacity, 1, 10**9)(loads)
    slack = 1e-9 * loads.max()
    assert (nodes * capacity >= loads - slack).all()
    assert (((nodes - 1) * capacity <= loads + slack) | (nodes == 1)).all()


@pytest.mark.parametrize(
    "make", [lambda: NodeRule(0, 1, 0, 3), lambda: NodeRule(0, 1, 3, 2), lambda: NodeRule.by_capacity(0, 1, 2)]
)
def test_impossible_rules_are_refused(make):
    with pytest.raises(ValueError, match=r"low|capacity"):
        make()


def test_constant_load_gets_the_least_nodes():
    assert NodeRule.normalised([5.0, 5.0], 8, 16)([5.0, 5.0]).tolist() == [8, 8]


def test_series_are_summed_over_whole_intervals_only():
    series = LoadSeries("tweets", 300.0, np.arange(25.0))
    assert series.per(3600.0).tolist() == [66.0, 210.0]
    for interval in (400.0, 100.0, 300.0 * 26):
        with pytest.raises(InvalidInstanceError, match="multiple of 300 s"):
            series.per(interval)


def test_twitter_series_puts_counts_at_their_times_and_zero_where_none_was_recorded(tmp_path):
    lines = ["timestamp,value", "2015-02-26 21:42:53,104", "2015-02-26 21:47:53,100", "2015-02-26 21:57:53,7"]
    file = tmp_path / "twitter_volume_AAPL.csv"
    file.write_text("\n".join(lines))
    assert twitter_series("AAPL", tmp_path).counts.tolist() == [104, 100, 0, 7]
    file.write_text("\n".join([*lines, "soon,many"]))
    with pytest.raises(InvalidInstanceError, match="line 5: must be a time and a count"):
        twitter_series("AAPL", tmp_path)
    with pytest.raises(InvalidInstanceError, match=r"give the folder that holds twitter_volume_GOOG\.csv"):
        twitter_series("GOOG", tmp_path)
    with pytest.raises(InvalidInstanceError, match="is no company with a series; there are AAPL"):
        twitter_series("EDRP", tmp_path)


def test_real_series_give_migrations(shared_data):
    nodes = taxi_series(shared_data).node_counts()
    assert (nodes.min(), nodes.max()) == (8, 16)
    assert nodes.size == 525_533 // 60
    for name in ("AAPL", "GOOG"):
        changes = np.diff(twitter_series(name, shared_data).node_counts(outliers=0.01)) != 0
        assert changes.sum() > 100


def test_flights_can_be_keyed_by_aircraft():
    stream = flights("aircraft")
    assert (len(stream.time), len(stream.names)) == (336_776 - 2_512, 4_043)
    assert stream.names[stream.key[0]] == "N14228"


def test_all_wrong_settings_are_named_at_once():
    with pytest.raises(InvalidInstanceError) as refused:
        TraceSettings(tasks=0, interval=-1.0, low=4, high=3, capacity=0.0, window=float("nan"), malformed_limit=-1.0)
    assert [fault.place for fault in refused.value.faults] == [
        "tasks",
        "interval",
        "high",
        "capacity",
        "window",
        "malformed_limit",
    ]


@pytest.mark.parametrize(("limit", "accepted"), [(0.0, False), (0.059, False), (0.06, True), (5, False), (6, True)])
def test_limit_of_unreadable_events_is_a_share_below_one_and_a_number_from_one_on(limit, accepted):
    with nullcontext() if accepted else pytest.raises(InvalidInstanceError, match="of 100 events at most"):
        refuse_unreadable({"time": 4, "key": 2}, 94, limit)


@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 100)), st.integers(1, 8))
def test_even_intervals_hold_every_task_once(work, nodes):
    intervals = even_intervals(work, nodes)
    assert len(intervals) == nodes
    assert [task for begin, end in intervals for task in range(begin, end)] == list(range(work.size))


def test_last_change_of_a_trace_becomes_a_problem(trace):
    problem = trace.migration_problem(tolerance=0.5)
    assert (len(problem.intervals), problem.nodes) == (3, 2)
    assert problem.state_size == (100.0, 300.0, 0.0)
    policy = trace.policy_problem((1, 2, 3), np.full((3, 3), 1 / 3), discount=0.5)
    assert (policy.nodes, policy.node_counts, policy.discount) == (2, (1, 2, 3), 0.5)
    quiet = replace(trace, node_counts=np.array([2, 2, 2, 2]))
    with pytest.raises(InvalidInstanceError, match="nothing migrates"):
        quiet.migration_problem()


def test_trace_becomes_tables_and_a_head(trace, tmp_path):
    save_trace(trace, tmp_path)
    tasks, intervals = (parquet.read_table(tmp_path / f"{name}.parquet").to_pydict() for name in ("tasks", "intervals"))
    assert (tasks["work"], tasks["state_size"], tasks["keys"]) == ([7, 20, 20], [100, 300, 0], [1, 3, 0])
    assert (intervals["start"], intervals["nodes"]) == ([70, 80, 90, 100], [1, 2, 3, 2])
    assert (intervals["events"], intervals["bytes"]) == ([5, 10, 20, 12], [50, 100, 200, 120])
    assert parquet.read_table(tmp_path / "loads.parquet").to_pydict()["work"] == trace.loads.tolist()
    head = json.loads((tmp_path / "trace.json").read_text())
    assert (head["settings"], head["first"], head["malformed"]) == (trace.settings.to_dict(), 7, {"time": 2})
    assert (head["node_counts"], head["transitions"]) == ([1, 2, 3], trace.transitions.counts.tolist())
    save_trace(replace(trace, loads=None, keys=None, bytes=None), tmp_path)
    assert not (tmp_path / "loads.parquet").exists()
    assert parquet.read_table(tmp_path / "tasks.parquet").column_names == ["task", "work", "state_size"]
