"""`edrp capture flink`: GET only, raw answers in one file, and one line with the remedy for whatever is wrong."""

import ast
import json
import socket
import zipfile
from pathlib import Path

import pytest
from fake_flink import JOB, FakeFlink, serving, word_count

from edrp.engines.capture import MANIFEST, read_capture
from edrp.engines.flink.reading import read_observation

QUICK = ("--seconds", "0.02", "--every", "0.01")


@pytest.fixture
def captured(run, tmp_path):
    """Capture a cluster by command; without a file where that failed."""

    def capture(flink, *options):
        file = tmp_path / "capture.zip"
        with serving(flink) as address:
            result = run("capture", "flink", "--rest", address, *QUICK, "-o", file, *options)
        return result, file

    return capture


def refused(result, file, *words):
    """Assert one line on standard error that says these words, bad input, and no file."""
    assert result.code == 2, result.err
    text = " ".join(result.err.split())
    assert all(word in text for word in words), result.err
    assert not file.exists()


def test_a_capture_holds_raw_answers_and_says_what_it_saw(captured):
    flink = FakeFlink()
    result, file = captured(flink)
    assert result.code == 0, result.err
    assert "job words of Flink 2.3.0, 4 operators with 4 replicas" in " ".join(result.out.split())
    capture = read_capture(file)
    assert capture.job == JOB
    assert capture.last("/config") == {"flink-version": "2.3.0"}
    assert len(capture.all(f"/jobs/{JOB}/vertices/{flink.key('counter')}")) == 3
    assert {method for method, _ in flink.asked} == {"GET"}


def test_no_configuration_that_may_hold_secrets_is_asked_for(captured):
    flink = FakeFlink()
    captured(flink)
    assert not [path for _, path in flink.asked if path.endswith(("/jobmanager/config", f"{JOB}/config", "/environment"))]


def test_hosts_are_masked_wherever_they_stand(captured):
    result, file = captured(FakeFlink(), "--mask-hosts")
    assert result.code == 0, result.err
    with zipfile.ZipFile(file) as archive:
        text = "".join(archive.read(name).decode() for name in archive.namelist())
    assert not [word for word in ("tm-a", "tm-b", "example.org", "127.0.0.1", "hdfs://") if word in text]
    seen = read_observation(read_capture(file))
    assert {node.name for node in seen.nodes} >= {node for operator in seen.operators for node in operator.nodes}
    assert [operator.name for operator in seen.operators] == [operator.name for operator in word_count()]


def test_a_file_that_is_there_is_replaced_only_with_force(captured, tmp_path):
    (tmp_path / "capture.zip").write_text("mine")
    result, file = captured(flink := FakeFlink())
    assert result.code == 2
    assert "--force" in result.err
    assert file.read_text() == "mine"
    assert not flink.asked
    assert captured(FakeFlink(), "--force")[0].code == 0


@pytest.mark.parametrize(
    "address",
    ["http://me:secret@127.0.0.1:1", "http://127.0.0.1:1/?token=abc", "http://token@127.0.0.1:1", "http://127.0.0.1:1/#abc"],
)
def test_addresses_with_credentials_are_refused(run, tmp_path, address):
    result = run("capture", "flink", "--rest", address, "-o", tmp_path / "c.zip")
    refused(result, tmp_path / "c.zip", "carries credentials")
    assert "secret" not in result.err


@pytest.mark.parametrize("address", ["localhost:8081", "ftp://localhost", "http://", "http://localhost:port"])
def test_what_is_no_address_is_refused(run, tmp_path, address):
    refused(run("capture", "flink", "--rest", address, "-o", tmp_path / "c.zip"), tmp_path / "c.zip", "http://HOST:PORT")


def test_nothing_listens(run, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    refused(run("capture", "flink", "--rest", address, "-o", tmp_path / "c.zip"), tmp_path / "c.zip", "cannot be reached")


def test_tls_against_plain_http(run, tmp_path):
    with serving(FakeFlink()) as address:
        result = run("capture", "flink", "--rest", address.replace("http", "https"), "-o", tmp_path / "c.zip")
    refused(result, tmp_path / "c.zip", "TLS fails", "http://")


WORDS = [
    ({"instead": {"/config": {"name": "another service"}}}, ("not the REST API of Flink", "flink-version")),
    ({"instead": {"/config": b"<html>"}}, ("no JSON", "Flink REST API")),
    ({"instead": {"/config": 401}}, ("HTTP 401",)),
    ({"jobs": []}, ("no job runs", "start one")),
    ({"state": "FINISHED", "jobs": [{"jid": JOB, "name": "words", "state": "RUNNING"}]}, ("words", "FINISHED")),
    ({"kind": "BATCH"}, ("batch job", "streaming")),
    ({"instead": {f"/jobs/{JOB}": 404}}, ("vanished", "again")),
]


@pytest.mark.parametrize(("changes", "words"), WORDS, ids=[" ".join(words) for _, words in WORDS])
def test_what_cannot_be_captured_is_said_in_one_line(captured, changes, words):
    refused(*captured(FakeFlink(**changes)), *words)


TWO = [{"jid": JOB, "name": "words", "state": "RUNNING"}, {"jid": "cd" * 16, "name": "clicks", "state": "RUNNING"}]


def test_several_jobs_are_listed_and_one_can_be_named(captured):
    refused(*captured(FakeFlink(jobs=TWO)), "2 jobs run", "words", "clicks", "--job")
    assert captured(FakeFlink(jobs=TWO), "--job", "words")[0].code == 0


def test_jobs_that_ended_or_never_were_are_told_apart(captured):
    ended = [{"jid": JOB, "name": "words", "state": "CANCELED"}, TWO[1]]
    refused(*captured(FakeFlink(jobs=ended), "--job", "words"), "'words' is CANCELED")
    refused(*captured(FakeFlink(jobs=ended), "--job", "word"), "no job 'word' runs", "clicks")


def test_missing_metrics_are_said(captured):
    flink = FakeFlink()
    vertex = flink.vertex(flink.operators[2])
    for subtask in vertex["subtasks"]:
        subtask["metrics"]["read-records-complete"] = False
    flink.instead[f"/jobs/{JOB}/vertices/{flink.key('counter')}"] = vertex
    refused(*captured(flink), "metrics of operator 'counter' are missing", "--seconds")


def test_a_job_that_is_being_deployed_is_said(captured):
    class Rescaling(FakeFlink):
        def vertex(self, operator):
            answer = super().vertex(operator)
            if self.rounds > 2 and operator.name == "counter":
                answer["subtasks"][0] |= {"status": "SCHEDULED", "taskmanager-id": "(unassigned)"}
            return answer

    refused(*captured(Rescaling()), "replica 0 of operator 'counter' was SCHEDULED at the end", "capture again")


LOCAL_ONLY = {
    "edrp/batch/worker.py",  # batches pair sockets with their children
    "edrp/engines/flink/local/processes.py",  # looks for free ports of the loopback address
    "edrp/engines/flink/local/rest.py",  # a cluster on the loopback address that this process has started
}
NETWORK_MODULES = {"http", "socket", "ssl", "urllib.request", "ftplib", "smtplib", "requests", "httpx", "aiohttp"}


def test_nothing_else_of_the_package_talks_to_a_network():
    root = Path(__file__).resolve().parents[3]
    rooms = ("edrp", "formulations", "heuristics", "mdp", "datasets", "validation")
    talking = set()
    for path in (path for room in rooms for path in (root / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in NETWORK_MODULES) else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name in NETWORK_MODULES or name.partition(".")[0] in NETWORK_MODULES for name in names):
                talking.add(str(path.relative_to(root)))
    assert talking - LOCAL_ONLY == {"edrp/engines/flink/client.py"}


def test_a_clock_that_runs_back_is_said(captured):
    class Backwards(FakeFlink):
        @property
        def now(self):
            return super().now - 3600_000 * (self.rounds > 2)

    refused(*captured(Backwards()), "clock of the JobManager ran back", "capture again")


@pytest.fixture
def capture_file(captured):
    result, file = captured(FakeFlink())
    assert result.code == 0, result.err
    return file


def test_a_capture_that_is_cut_off_is_refused(capture_file):
    content = capture_file.read_bytes()
    for length in (10, len(content) // 2, len(content) - 30):
        capture_file.write_bytes(content[:length])
        with pytest.raises(Exception, match="cut off or damaged; capture again"):
            read_capture(capture_file)


def rewritten(file, **changes):
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = {**json.loads(members[MANIFEST]), **changes}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {**members, MANIFEST: json.dumps(manifest)}.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "format version 2, this edrp reads version 1; capture again"),
        ({"format": "har"}, "is no capture"),
        ({"answers": 10_000}, "of 10000 answers"),
    ],
)
def test_other_formats_are_refused(capture_file, changes, words):
    rewritten(capture_file, **changes)
    with pytest.raises(Exception, match=words):
        read_capture(capture_file)


def test_observe_prints_a_capture_and_refuses_other_files(run, tmp_path):
    result = run("observe", Path(__file__).parents[3] / "examples" / "flink_words.zip").ended(0)
    assert result.out.startswith("Job words on flink 2.3.0")
    row = next(line.split() for line in result.out.splitlines() if line.startswith("counter"))
    assert row[:4] == ["counter", "2", "300", "90%"]
    (tmp_path / "export.prom").write_text('flink_taskmanager_job_task_numRecordsIn{job_name="x"} 1\n')
    result = run("observe", tmp_path / "export.prom").ended(2)
    assert "is no capture; write one with `edrp capture flink`" in " ".join(result.err.split())
