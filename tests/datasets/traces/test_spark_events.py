"""The event pipeline on Spark, against the same sums in pandas."""

import json
from datetime import UTC, date, datetime
from functools import reduce

import numpy as np
import pandas as pd
import pyarrow
import pyspark.sql.functions as sf
import pytest
from pyarrow import parquet

import edrp
from edrp.core import spark as sessions
from edrp.core.errors import InvalidInstanceError, ProblemTooLargeError
from edrp.datasets.traces.events import EventColumns, keyed_events, prepare_trace, read_events, task_of_key
from edrp.datasets.traces.flights import flight_events, flight_table
from edrp.datasets.traces.trace import TraceSettings
from edrp.mdp.chain.transition_matrix import count_transitions

pytestmark = pytest.mark.xdist_group("spark")  # one session for all, in one worker


def twin(spark, events: pd.DataFrame, settings: TraceSettings) -> dict[str, np.ndarray]:
    """Expected result of the pipeline, for events that can all be read."""
    frame = spark.createDataFrame(events[["key"]].drop_duplicates())
    tasks = dict(frame.select("key", task_of_key(frame["key"], settings.tasks)).collect())
    task = events["key"].map(tasks).to_numpy()
    interval = np.floor(events["time"] / settings.interval).to_numpy(np.int64)
    first, size = interval.min(), interval.max() - interval.min() + 1
    measure = events["bytes"].to_numpy() if settings.work == "bytes" else np.ones(len(events))
    load = np.zeros((size, settings.tasks))
    np.add.at(load, (interval - first, task), measure)
    total = load.sum(axis=1)
    spread = settings.low + (total - total.min()) / (total.max() - total.min()) * (settings.high - settings.low)
    return {
        "loads": load,
        "events": np.bincount(interval - first),
        "work": load.sum(axis=0),
        "keys": np.bincount(list(tasks.values()), minlength=settings.tasks),
        "node_counts": np.ceil(spread - 0.5).astype(int),
    }


def assert_same(trace, expected):
    """A trace has the expected series, and the transitions that follow from its node counts."""
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(trace, name), values, rtol=1e-12, err_msg=name)
    known, transitions = count_transitions(trace.node_counts)
    assert trace.transitions.node_counts == tuple(known.tolist())
    np.testing.assert_array_equal(trace.transitions.counts, transitions)


def test_flights_by_aircraft_give_the_same_trace_as_in_pandas(spark):
    settings = TraceSettings(tasks=32, interval=7200.0, low=3, high=9)
    steps = []
    trace = prepare_trace(flight_events(spark, "aircraft"), settings, keep_loads=True, progress=steps.append)
    assert trace.malformed == {"key": 2512}
    assert_same(trace, twin(spark, flight_table("aircraft").dropna(), settings))
    assert trace.state_size.tolist() == (trace.keys * 100.0).tolist()
    assert len(steps) == 4
    assert trace.migration_problem().nodes in range(3, 10)


def test_keys_of_every_length_find_their_task(spark):
    texts = ["", "a", "Grüße", "x" * 4, "abcdefgh", "N14228-EWR-IAH", "0123456789" * 5, "ä" * 31]
    numbers = [0, 1, -1, 2**62, -(2**63)]
    table = pyarrow.table({"text": texts, "number": pyarrow.array(numbers + [7] * 3, pyarrow.int64())})
    frame = spark.createDataFrame(table)
    found = frame.select(task_of_key(frame["text"], 97).alias("a"), task_of_key(frame["number"], 97).alias("b")).toPandas()
    assert found["a"].tolist() == [93, 17, 65, 20, 62, 5, 94, 90]  # of XXH64 by its specification
    assert found["b"].tolist() == [95, 53, 87, 16, 72, 46, 46, 46]


LOG = """when,who,size
0.5,ann,10
1e1,bob,20
2015-02-26 21:42:53,ann,5
2015-02-26T21:42:53Z,bob,5
2015-02-26 22:42:53.5+01:00,cid,5
2015-02-26,ann,1
2015-02-26 00:30,ann,1
"""
WRONG = """soon,ann,1
,ann,1
nan,ann,1
12,,1
12,ann,-1
12,ann,many
"""
WHEN = datetime(2015, 2, 26, 21, 42, 53, tzinfo=UTC).timestamp()
COLUMNS = EventColumns("when", "who", "size")


@pytest.fixture
def log(spark, tmp_path):
    def events(text: str):
        (tmp_path / "log.csv").write_text(text)
        return keyed_events(read_events(spark, tmp_path / "log.csv"), COLUMNS)

    return events


def test_times_as_seconds_and_as_timestamps_with_and_without_zone(log):
    day = WHEN // 86_400 * 86_400
    times = [row["time"] for row in log(LOG).collect()]
    assert times == [0.5, 10.0, WHEN, WHEN, WHEN + 0.5, day, day + 1800]


def test_typed_times_agree_whatever_the_zone_of_the_session(spark, tmp_path):
    moment = datetime(2015, 2, 26, 21, 42, 53)
    table = pyarrow.table(
        {
            "zoned": pyarrow.array([moment.replace(tzinfo=UTC)], pyarrow.timestamp("us", "UTC")),
            "plain": pyarrow.array([moment], pyarrow.timestamp("us")),
            "day": pyarrow.array([date(2015, 2, 26)]),
            "text": ["2015-02-26 21:42:53"],
            "whole": pyarrow.array([int(WHEN)]),
            "listed": [[1]],
        }
    )
    parquet.write_table(table, tmp_path / "typed.parquet")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        frame = read_events(spark, tmp_path / "typed.parquet")
        names = ("zoned", "plain", "text", "whole", "day")
        times = [keyed_events(frame, EventColumns(name, "whole")).select(sf.col("time").alias(name)) for name in names]
        row = reduce(lambda left, right: left.crossJoin(right), times).first()
        assert row.asDict() == dict.fromkeys(names, WHEN) | {"day": WHEN // 86_400 * 86_400}
        with pytest.raises(InvalidInstanceError, match="time column: holds array"):
            keyed_events(frame, EventColumns("listed", "text"))
        with pytest.raises(InvalidInstanceError, match="key column: holds array"):
            keyed_events(frame, EventColumns("whole", "listed"))
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_unreadable_events_are_counted_and_refused_beyond_a_share_or_a_number(log):
    sound = "when,who,size\n" + "".join(f"{second},k{second % 7},{second}\n" for second in range(94))
    events = log(sound + WRONG)
    settings = {"tasks": 4, "interval": 10.0, "low": 1, "high": 4}
    trace = prepare_trace(events, TraceSettings(**settings, malformed_limit=0.06))
    assert trace.malformed == {"time": 3, "key": 1, "bytes": 2}
    assert trace.events.tolist() == [10] * 9 + [4]
    assert trace.bytes.sum() == sum(range(94))
    assert trace.keys.sum() == 7
    with pytest.raises(InvalidInstanceError) as refused:
        prepare_trace(events, TraceSettings(**settings, malformed_limit=5))
    assert {fault.place for fault in refused.value.faults} == {"time of 3 events", "key of 1 events", "bytes of 2 events"}


def test_work_in_bytes_and_state_of_the_last_window(spark):
    frame = pd.DataFrame({"time": np.arange(0.0, 100.0), "key": np.arange(100) % 9, "bytes": np.arange(100.0)})
    settings = TraceSettings(tasks=5, interval=10.0, low=1, high=4, work="bytes", state="window", window=25.0)
    trace = prepare_trace(spark.createDataFrame(frame), settings, keep_loads=True)
    expected = twin(spark, frame, settings)
    del expected["keys"]
    assert_same(trace, expected)
    assert trace.keys is None
    np.testing.assert_allclose(trace.state_size, expected["loads"][-3:].sum(axis=0))
    plain = TraceSettings(tasks=5, interval=10.0, low=1, high=4, state="window", window=10.0, bytes_each=8.0)
    last = prepare_trace(spark.createDataFrame(frame[["time", "key"]]), plain)
    assert last.state_size.sum() == 80.0
    with pytest.raises(InvalidInstanceError, match="needs events with sizes"):
        prepare_trace(spark.createDataFrame(frame[["time", "key"]]), settings)


def test_intervals_without_events_have_the_least_nodes(spark):
    frame = pd.DataFrame({"time": [5.0, 6.0, 41.0], "key": ["a", "b", "a"]})
    trace = prepare_trace(spark.createDataFrame(frame), TraceSettings(interval=10.0, low=1, high=3))
    assert trace.node_counts.tolist() == [3, 1, 1, 1, 2]
    assert trace.transitions.counts.tolist() == [[2, 1, 0], [0, 0, 0], [1, 0, 0]]


def test_impossible_traces_are_refused(spark, log, tmp_path, monkeypatch):
    with pytest.raises(InvalidInstanceError, match="3 unreadable"):
        prepare_trace(log("when,who,size\n" + "soon,ann,1\n" * 3))
    with pytest.raises(InvalidInstanceError, match="give times in seconds"):
        prepare_trace(log(LOG), TraceSettings(interval=1e-3))
    with pytest.raises(InvalidInstanceError, match=r"who.*did you mean|no such column among when, who, size"):
        keyed_events(read_events(spark, tmp_path / "log.csv"), EventColumns("when", "whom", "size"))
    with pytest.raises(InvalidInstanceError, match=r"nothing\.parquet: there is no such file"):
        read_events(spark, tmp_path / "nothing.parquet")
    (tmp_path / "broken.parquet").write_text("hello, I am no Parquet file at all")
    with pytest.raises(InvalidInstanceError, match="cannot be read"):
        read_events(spark, tmp_path / "broken.parquet")
    monkeypatch.setattr("edrp.core.budget.memory_limit", lambda: 1.0)
    with pytest.raises(ProblemTooLargeError, match="lengthen the interval"):
        prepare_trace(log(LOG), keep_loads=True)


def test_trace_prepare_writes_the_trace_and_the_problems(spark, run, tmp_path):
    frame = pd.DataFrame({"at": np.sort(np.random.default_rng(0).uniform(0, 3e4, 4000)), "user": np.arange(4000) % 900})
    frame.to_parquet(tmp_path / "events.parquet")
    out = tmp_path / "out"
    options = ["--time-column", "at", "--key-column", "user", "--tasks", "16", "--interval", "600", "--low", "2", "--high", "4"]
    done = run("trace", "prepare", tmp_path / "events.parquet", *options, "--loads", "--out", out).ended(0)
    assert "events/s" in done.out
    settings = TraceSettings(tasks=16, interval=600.0, low=2, high=4)
    expected = twin(spark, frame.rename(columns={"at": "time", "user": "key"}), settings)
    tasks, intervals = (parquet.read_table(out / f"{name}.parquet").to_pydict() for name in ("tasks", "intervals"))
    assert (tasks["work"], tasks["keys"]) == (expected["work"].tolist(), expected["keys"].tolist())
    assert (intervals["events"], intervals["nodes"]) == (expected["events"].tolist(), expected["node_counts"].tolist())
    assert parquet.read_table(out / "loads.parquet").to_pydict()["work"] == expected["loads"].tolist()
    assert edrp.load(out / "migration.json").kind == "migration"
    assert edrp.load(out / "migration-policy.json").node_counts == (2, 3, 4)
    assert json.loads((out / "trace.json").read_text())["loads"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "nothing.csv: there is no such file"),
        (["flights", "--tasks", "0", "--low", "0"], "must be at least 1"),
        (["flights", "--work", "bytes"], "needs events with sizes"),
    ],
)
def test_trace_prepare_refuses_bad_input(spark, run, arguments, message):
    assert message in run("trace", "prepare", *arguments).ended(2).err


def test_jobs_of_an_interrupted_block_are_cancelled(spark):
    tags, within = spark.getTags(), set()

    def interrupted():
        with sessions.cancelled_with_us(spark):
            within.update(spark.getTags())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(within) == len(tags) + 1
    assert spark.getTags() == tags
