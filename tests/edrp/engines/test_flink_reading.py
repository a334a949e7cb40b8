"""From a capture of Flink to rates: differences of counters over the task's own clock, whatever is missing in between."""

import json

import pytest
from fake_flink import FakeFlink, serving, word_count

from edrp.engines.capture import Capture, RecordedAnswer
from edrp.engines.errors import EngineError
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.reading import operator_windows, read_observation


def observed(flink, rounds=4):
    with serving(flink) as address:
        return read_observation(capture_job(address, CaptureSettings(seconds=rounds - 1, every=1.0), sleep=lambda seconds: None))


def answered_folder(folder):
    """The capture in a folder of answers, a file each; captured answers of a real cluster are kept like that."""
    rows = sorted((json.loads(file.read_text()) for file in folder.glob("*.json")), key=lambda row: row["at_ms"])
    answers = []
    for row in rows:
        status = row["answer"].get("http", 200) if isinstance(row["answer"], dict) else 200
        answers.append(RecordedAnswer(row["path"], row["at_ms"], status, row["answer"] if status == 200 else None))
    job = next(row["path"].split("/")[2] for row in rows if row["path"].startswith("/jobs/"))
    return Capture("flink", "http://localhost:8081", job, tuple(answers), str(folder))


def test_operators_streams_and_nodes():
    seen = observed(FakeFlink(word_count(counter={"replicas": 2, "node": "tm-b"})))
    assert [(operator.name, operator.parallelism) for operator in seen.operators][2] == ("counter", 2)
    assert seen.operators[2].nodes == ("tm-b", "tm-b")
    assert [(s.source, s.target, s.partitioning) for s in seen.streams][1] == ("parser", "counter", "hash")
    assert [(node.name, node.slots, node.free_slots) for node in seen.nodes] == [("tm-a", 8, 7), ("tm-b", 8, 6)]
    assert seen.operators[2].state_sizes == (5_000_000, 5_000_000)
    assert seen.checkpoints.interval == 5.0
    assert seen.live
    assert seen.max_delay == 10.0


def test_rates_are_differences_over_the_own_clock():
    seen = observed(FakeFlink(rates=(50.0, 100.0, 150.0, 150.0)))
    windows = {operator.name: operator.windows for operator in seen.operators}["counter"]
    assert [window.subtasks[0].records_in / window.subtasks[0].clock for window in windows] == pytest.approx([100, 150, 150])
    assert [window.subtasks[0].busy / window.subtasks[0].clock for window in windows] == pytest.approx([0.5, 0.75, 0.75])


def test_the_engine_remembers_how_long_a_rescale_stopped_the_job():
    (rescale,) = observed(FakeFlink()).rescales
    assert (rescale.seconds, rescale.stopped) == (3.0, pytest.approx(0.2))


def test_the_default_scheduler_changes_nothing_live():
    seen = observed(FakeFlink(scheduler="Default"))
    assert not seen.live
    assert seen.operators[0].bounds is None
    assert seen.rescales == ()


def rounds_of(*samples):
    """Answers about a vertex of one subtask: attempt, records, busy milliseconds, complete."""
    flink = FakeFlink()
    answers = []
    for now, (attempt, records, busy, complete) in enumerate(samples):
        flink.totals["parser", 0] = [records, records, busy / 1000, 10.0 * (now + 1) - busy / 1000]
        answer = flink.vertex(flink.operators[1])
        answer["now"] = 1000 * 10 * now
        answer["subtasks"][0]["attempt"] = attempt
        answer["subtasks"][0]["metrics"]["read-records-complete"] = complete
        answers.append(answer)
    return answers


def test_no_window_spans_a_restart():
    windows = operator_windows(rounds_of((0, 100, 1000, True), (0, 300, 2000, True), (1, 20, 100, True), (1, 120, 1100, True)))
    assert [window.subtasks[0].records_in for window in windows] == [200, 100]


def test_rounds_with_missing_metrics_are_left_out():
    windows = operator_windows(rounds_of((0, 100, 1000, True), (0, 0, 0, False), (0, 300, 3000, True)))
    assert [window.subtasks[0].records_in for window in windows] == [200]


def test_a_single_round_counts_since_the_start():
    (window,) = operator_windows(rounds_of((0, 100, 1000, True)))
    assert window.subtasks[0].records_in == 100


def test_busy_time_may_be_no_number():
    answers = rounds_of((0, 100, 1000, True), (0, 200, 2000, True))
    for answer in answers:
        answer["subtasks"][0]["metrics"]["accumulated-busy-time"] = "NaN"
    (window,) = operator_windows(answers)
    assert window.subtasks[0].busy is None
    assert window.seconds == 10.0


def test_answers_of_another_shape_are_refused_in_one_line():
    answers = (RecordedAnswer("/jobs/x", 1, 200, {"name": "words", "vertices": [{"id": "v"}]}),)
    with pytest.raises(EngineError, match=r"lacks what Flink 1\.20 to 2\.3 answer"):
        read_observation(Capture("flink", "http://a", "x", answers, "c.zip"))
    with pytest.raises(EngineError, match="capture of storm, not of flink"):
        read_observation(Capture("storm", "http://a", "x", answers, "c.zip"))


def test_real_places_of_replicas(shared_data):
    seen = read_observation(answered_folder(shared_data / "flink" / "pinned-replicas"))
    assert {operator.name: operator.nodes for operator in seen.operators}["counter"] == ("node-e", "node-d", "node-d")
    assert not seen.live
    assert {node.name: dict(node.resources) for node in seen.nodes}["node-a"] == {"nodea": 4.0}


def test_a_real_job_whose_metrics_were_not_there_yet(shared_data):
    with pytest.raises(EngineError, match="metrics of operator 'Source: reader' are missing"):
        read_observation(answered_folder(shared_data / "flink" / "size-400000"))


def test_only_checkpoints_that_were_completed_tell_how_long_one_takes():
    class Failing(FakeFlink):
        def answer(self, path):
            found = super().answer(path)
            if path.endswith("/checkpoints"):
                row = found["history"][0]
                others = [{**row, "status": "FAILED"}, {**row, "status": "IN_PROGRESS"}, {**row, "is_savepoint": True}]
                found["history"] += [{**other, "end_to_end_duration": 60_000} for other in others]
            return found

    assert max(observed(Failing()).checkpoints.durations) < 60.0
