"""`edrp observe`: what exports of monitoring tell of a job, and what they do not.

`flink_*.prom` are of a cluster of Flink 2.3.0, less what is not read; `spark_progress.jsonl` is of a query of Spark 4.1;
`kafka_streams*` are made up with the documented names.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from edrp.core.errors import BackendUnavailableError
from edrp.engines.advice import advise
from edrp.engines.errors import EngineError
from edrp.engines.exports import observe_files
from edrp.engines.fit import fit_job
from edrp.engines.metrics import Scrape, merge_scrapes, read_text

EXPORTS = Path(__file__).parent / "exports"
EXAMPLES = Path(__file__).parents[3] / "examples"
FLINK = [EXPORTS / f"flink_{process}_{round_}.prom" for round_ in (1, 2) for process in ("jobmanager", "taskmanager")]
KAFKA = [EXPORTS / f"kafka_streams_{round_}.json" for round_ in (1, 2)]
SPARK = EXAMPLES / "spark_progress.jsonl"


def fitted(*paths, job=None):
    fit = fit_job(observe_files(paths, job))
    return fit, {operator.name: operator for operator in fit.operators}


def matrix(paths, every=16.0):
    """The answer of Prometheus's HTTP API to a range query over what was scraped."""
    rounds = merge_scrapes(read_text(path.read_text(), str(path)) for path in paths)
    series = {}
    for number, scrape in enumerate(rounds):
        for (name, labels), value in scrape.values.items():
            row = series.setdefault((name, labels), {"metric": {"__name__": name, **dict(labels)}, "values": []})
            row["values"].append([1_795_400_000 + every * number, str(value)])
    return {"status": "success", "data": {"resultType": "matrix", "result": list(series.values())}}


def written(tmp_path, content, name="export.json"):
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return tmp_path / name


def test_flinks_counters_as_prometheus_scrapes_them():
    fit, operators = fitted(*FLINK)
    assert fit.observation.job == "lab"
    assert [(o.name, o.source, o.replicas) for o in fit.operators] == [
        ("Source:_reader", True, 1),
        ("Sink:_writer", False, 1),
        ("counter", False, 3),
        ("parser", False, 2),
    ]
    assert operators["Source:_reader"].rate == pytest.approx(150, abs=1)  # as the job was told to send
    assert operators["parser"].rate == pytest.approx(2 * 1208 / 16.16, abs=0.1)
    assert operators["parser"].busy == pytest.approx(5.629 / 16.162, abs=1e-3)
    assert operators["counter"].service.value == pytest.approx(146, abs=1)
    assert operators["counter"].skew == pytest.approx(2371 * 3 / (637 + 432 + 2371))
    assert fit.observation.checkpoints.state_size == 22_260


def test_the_http_api_of_prometheus_tells_the_same(tmp_path):
    _, scraped = fitted(*FLINK)
    _, asked = fitted(written(tmp_path, matrix(FLINK)))
    assert {name: (o.service, o.skew) for name, o in asked.items()} == {name: (o.service, o.skew) for name, o in scraped.items()}
    vector = matrix(FLINK)
    vector["data"]["resultType"] = "vector"
    for row in vector["data"]["result"]:
        row["value"] = row.pop("values")[-1]
    fit, once = fitted(written(tmp_path, vector))
    assert once["parser"].rate == pytest.approx(2 * 5848 / 45.5, rel=0.02)  # since the start
    assert any("one round of counters only" in remark and "export twice" in remark for remark in fit.remarks)


def test_a_restarted_task_is_not_compared_with_the_one_before(tmp_path):
    later = FLINK[3].read_text().replace('task_attempt_num="0"', 'task_attempt_num="1"')
    fit, _ = fitted(FLINK[1], written(tmp_path, later, "later.prom"))
    assert all(window.since_start for operator in fit.observation.operators for window in operator.windows)


def test_without_busy_time_there_is_no_service_rate(tmp_path):
    content = matrix(FLINK)
    rows = content["data"]["result"]
    content["data"]["result"] = [row for row in rows if "accumulate" not in row["metric"]["__name__"]]
    fit, operators = fitted(written(tmp_path, content))
    assert operators["counter"].service is None
    assert operators["counter"].busy is None
    assert operators["parser"].rate == pytest.approx(2 * 1208 / 16)
    assert any(remark.startswith("service rate of counter is not known") for remark in fit.remarks)
    lines = [line for line in "".join(path.read_text() for path in FLINK[:2]).splitlines() if "accumulate" not in line]
    with pytest.raises(EngineError, match=r"tells no time in which operator .* ran: export accumulateBusyTimeMs"):
        observe_files([written(tmp_path, "\n".join(lines) + "\n", "scrape.prom")])


def test_kafka_streams_by_jolokia():
    fit, operators = fitted(*KAFKA)
    assert (fit.observation.job, [node.slots for node in fit.observation.nodes]) == ("words", [1, 1])
    assert [(stream.source, stream.target) for stream in fit.observation.streams] == [
        ("topic clicks", "subtopology 0"),
        ("subtopology 0", "subtopology 1"),
    ]
    assert [(o.name, o.source, o.replicas) for o in fit.operators] == [
        ("topic clicks", True, 1),
        ("subtopology 0", False, 2),
        ("subtopology 1", False, 2),
    ]
    counts = operators["subtopology 1"]
    assert counts.rate == pytest.approx(200.0)
    assert counts.busy == pytest.approx(150 * 4e-3)
    assert counts.service.value == pytest.approx(250.0)
    assert counts.skew == pytest.approx(1.5)
    assert counts.state_sizes == (6_200_000 + 524_288, 5_900_000 + 524_288)
    assert [(s.name, s.partitions, s.rows) for s in fit.observation.stores] == [("counts", 2, 80_000)]
    assert [stream.bytes_per_tuple for stream in fit.streams] == [90.0, 40.0]


def test_kafka_streams_by_the_exporter_of_mbeans():
    """The text has no times, so that rates are those that Kafka Streams tells."""
    fit, operators = fitted(EXPORTS / "kafka_streams.prom")
    assert operators["subtopology 0"].rate == pytest.approx(200.0)
    assert operators["subtopology 0"].selectivity == pytest.approx(1.0)
    assert any("own means over 60 s" in remark for remark in fit.remarks)


def test_kafka_streams_without_latencies_have_no_service_rate(tmp_path):
    lines = (EXPORTS / "kafka_streams.prom").read_text().splitlines()
    text = "\n".join(line for line in lines if "latency" not in line) + "\n"
    fit, operators = fitted(written(tmp_path, text, "kafka.prom"))
    assert operators["subtopology 1"].service is None
    assert any("process-latency-avg is missing" in remark for remark in fit.remarks)
    info = "\n".join(line for line in lines if "process_total" not in line) + "\n"
    with pytest.raises(EngineError, match=r"lacks process-total of tasks; set metrics.recording.level=DEBUG"):
        observe_files([written(tmp_path, info, "kafka.prom")])


def test_a_task_that_is_on_two_threads_is_refused(tmp_path):
    text = (EXPORTS / "kafka_streams.prom").read_text()
    line = next(line for line in text.splitlines() if line.startswith("kafka_streams_stream_task_metrics_process_total"))
    with pytest.raises(EngineError, match=r"task 0_0 is on .*StreamThread-1 and on .*StreamThread-2 at once"):
        observe_files([written(tmp_path, text + line.replace("StreamThread-1", "StreamThread-2") + "\n", "kafka.prom")])


def test_progress_of_a_streaming_query_of_spark():
    """The first of eight batches compiles, and how long after the last one the next begins is not known."""
    fit, operators = fitted(SPARK)
    assert fit.observation.job == "words"
    assert [len(operator.windows) for operator in fit.observation.operators] == [6, 6]
    assert operators["RateStreamV2"].rate == pytest.approx(500, abs=2)
    assert operators["query"].busy == pytest.approx(0.36, abs=0.01)
    assert operators["query"].selectivity == pytest.approx(0.2)
    assert [(s.partitions, s.rows, s.size) for s in fit.observation.stores] == [(2, 1000, 278_584)]
    assert operators["query"].state_size == 278_584


def test_progress_may_be_a_list_or_a_log_of_lines(tmp_path):
    records = [json.loads(line) for line in SPARK.read_text().splitlines()]
    assert observe_files([written(tmp_path, records)]) == observe_files([SPARK])
    single = observe_files([written(tmp_path, records[5])])
    (window,) = single.operators[1].windows
    assert window.seconds == pytest.approx(records[5]["numInputRows"] / records[5]["inputRowsPerSecond"])
    with pytest.raises(EngineError, match="nor a batch with its rate; export recentProgress"):
        observe_files([written(tmp_path, records[0])])


def test_several_jobs_are_listed(tmp_path):
    records = [json.loads(line) for line in SPARK.read_text().splitlines()]
    records += [record | {"name": "clicks", "id": "other"} for record in records]
    path = written(tmp_path, records)
    with pytest.raises(EngineError, match="holds clicks, words; name one of them by --job"):
        observe_files([path])
    assert observe_files([path], "clicks").job == "clicks"


def test_no_advice_on_what_is_not_known():
    for paths in (FLINK, KAFKA, [SPARK]):
        with pytest.raises(EngineError, match="no advice; a model needs a capture, by `edrp capture flink`"):
            advise(fit_job(observe_files(paths)))


def test_the_command_says_what_was_read(run):
    result = run("observe", *FLINK)
    assert result.code == 0, result.err
    row = next(line.split() for line in result.out.splitlines() if line.startswith("counter"))
    assert row[:4] == ["counter", "3", "212", "100%"]
    assert "Flink's metrics do not tell streams" in " ".join(result.out.split())
    result = run("observe", SPARK)
    assert "stateStoreSave" in result.out
    assert "279 kB" in result.out


def test_the_command_reads_captures_too(run):
    result = run("observe", EXAMPLES / "flink_words.zip")
    assert result.code == 0, result.err
    assert result.out.startswith("Job words on flink 2.3.0")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("<html>not found</html>\n", "is neither JSON nor Prometheus's text format"),
        ("go_goroutines 12\n", "holds nothing of an engine that is known"),
        ({"jobs": []}, "holds nothing of an engine that is known"),
        ({"status": "error", "errorType": "bad_data", "error": "parse error"}, "is a refusal of Prometheus: parse error"),
        ({"status": "success", "data": {"resultType": "scalar", "result": [1, "1"]}}, "holds a scalar; ask for series"),
        (
            {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "2"]}]}},
            "holds series without names, as functions such as rate",
        ),
        ({"status": "success", "data": {"resultType": "vector", "result": [7]}}, "is no answer of Prometheus's HTTP API"),
        ({"request": {"mbean": "kafka.streams:*"}, "status": 404, "error": "not found"}, "is a refusal of Jolokia: not found"),
        ({"request": {"mbean": "a:type=b"}, "status": 200}, "is no answer of Jolokia to a read"),
        ('flink_taskmanager_job_task_numRecordsIn{job_name="x"} 1\n', "lacks what flink tells (KeyError"),
        ("", "is empty"),
    ],
)
def test_other_files_are_refused_in_one_line(run, tmp_path, content, sentence):
    path = written(tmp_path, content, "file")
    result = run("observe", path)
    assert result.code == 2
    assert sentence in " ".join(result.err.split())


def test_the_package_for_the_text_format_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client.parser", None)
    with pytest.raises(BackendUnavailableError, match=r"edrp\[metrics\]"):
        read_text("a 1\n", "scrape")


def test_processes_that_are_scraped_one_by_one_belong_together():
    a, b = (("metric", (("tm_id", name),)) for name in "ab")
    scrapes = [Scrape(None, {a: 1.0}), Scrape(None, {b: 2.0}), Scrape(None, {a: 3.0}), Scrape(None, {b: 4.0})]
    assert [scrape.values for scrape in merge_scrapes(scrapes)] == [{a: 1.0, b: 2.0}, {a: 3.0, b: 4.0}]
